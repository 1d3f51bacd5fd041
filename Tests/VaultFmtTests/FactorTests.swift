import TestSupport
import Testing
import VaultBytes

@testable import VaultFmt

@Suite("Factors")
struct FactorTests {
    private func create(_ path: String, _ factors: borrowing Factors) throws -> Vault {
        var options = CreateOptions()
        options.cost = .testing
        options.allowWeak = true
        return try Vault.create(at: path, factors: factors, options: options)
    }

    @Test("open what they made, all together and nothing less")
    func combinations() throws {
        let folder = try Folder()
        let generated = KeyFile.generate()
        let all: [(String, () throws -> Factors)] = [
            ("passphrase", { try Factors(passphrase: Secret(text: "pw")) }),
            ("other passphrase", { try Factors(passphrase: Secret(text: "pW")) }),
            ("generated", { try Factors(keyFile: try KeyFile(contents: generated)) }),
            ("other file", { try Factors(keyFile: try KeyFile(contents: Secret(text: "any content"))) }),
            ("both", { try Factors(passphrase: Secret(text: "pw"), keyFile: try KeyFile(contents: generated)) }),
            (
                "both, other",
                {
                    try Factors(
                        passphrase: Secret(text: "pw"), keyFile: try KeyFile(contents: Secret(text: "any content")))
                }
            ),
            ("raw", { try Factors(rawKey: Secret(bytes: [UInt8](repeating: 1, count: 32))) }),
            ("raw, of the file", { try Factors(rawKey: Secret(bytes: [UInt8](repeating: 2, count: 32))) }),
        ]
        for (name, factors) in all {
            let path = folder.file(name)
            let vault = try create(path, try factors())
            #expect(try vault.slots().map(\.factors) == [try factors().kinds])
            #expect(try (vault.slots()[0].cost != nil) == !["generated", "raw", "raw, of the file"].contains(name))
            for (other, tried) in all {
                if other == name {
                    #expect(try Vault.open(path, factors: try tried()).anchor == vault.anchor)
                } else {
                    fails(.noSlotOpens) { _ = try Vault.open(path, factors: try tried()) }
                }
            }
        }
    }

    @Test("are told what the vault takes where they do not fit, and what is wrong where they do")
    func messages() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try create(path, try Fast.factors())
        fails(.noSlotOpens, "wrong passphrase") { _ = try Vault.open(path, factors: try Fast.factors("other")) }
        fails(.noSlotOpens, "the vault has slots for: passphrase") {
            _ = try Vault.open(path, factors: try Fast.rawKey())
        }
    }

    @Test("with a passphrase composed or decomposed open the same vault")
    func normalised() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try create(path, try Fast.factors("caf\u{E9} \u{AC01} \u{1EAD}"))
        for same in [
            "cafe\u{301} \u{1100}\u{1161}\u{11A8} a\u{323}\u{302}", "caf\u{E9} \u{AC00}\u{11A8} a\u{302}\u{323}",
        ] {
            #expect(try Vault.open(path, factors: try Fast.factors(same)).anchor == vault.anchor)
        }
        for other in ["cafe \u{AC01} \u{1EAD}", " caf\u{E9} \u{AC01} \u{1EAD}", "CAF\u{C9} \u{AC01} \u{1EAD}"] {
            fails(.noSlotOpens) { _ = try Vault.open(path, factors: try Fast.factors(other)) }
        }
    }

    @Test("with a passphrase that Unicode 13.0 does not have make no new slot, but open and keep an old one (R-3.18)")
    func unassigned() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let late = "late \u{1FAE0}"
        fails(.passphraseInvalid, "Unicode 13.0") { _ = try create(path, try Fast.factors(late)) }
        let old = folder.file("old.vault")
        let phrase = "a\u{898}\u{323}"
        var draft = try Draft("late", key: [UInt8](0..<32))
        let cost = SlotParameters.Cost(memoryKiB: 8, passes: 1, lanes: 1)
        let stretch = SlotParameters.Stretch(cost: cost, salt: .zero)
        try draft.addSlot(.passphrase(Array(phrase.utf8)), SlotParameters(stretch: stretch), name: "late")
        try draft.commit()
        try write(draft.file, old)
        var options = OpenOptions()
        options.writable = true
        let vault = try Vault.open(old, factors: try Fast.factors(phrase), options: options)
        fails(.passphraseInvalid, "Unicode 13.0") {
            try vault.addSlot(try Fast.factors(late), cost: .testing, allowWeak: true)
        }
        fails(.passphraseInvalid, "Unicode 13.0") {
            try vault.changeFactors(to: try Fast.factors(late), cost: .testing, allowWeak: true)
        }
        var rotation = try vault.rotation()
        try rotation.keep(try Fast.factors(phrase))
        _ = try rotation.run()
        #expect(try Vault.open(old, factors: try Fast.factors(phrase)).slots().count == 1)
    }

    @Test("that cannot be are refused before anything else")
    func impossible() throws {
        fails(.invalidArgument) { _ = try Factors() }
        fails(.passphraseInvalid) { _ = try Factors(passphrase: Secret(text: "")) }
        fails(.passphraseInvalid, "UTF-8") { _ = try Factors(passphrase: Secret(bytes: [0xC3, 0x28])) }
        fails(.passphraseInvalid) { _ = try Factors(passphrase: Secret(bytes: [UInt8](repeating: 97, count: 65_537))) }
        for count in [0, 31, 33, 64] {
            fails(.invalidArgument, "32 bytes") { _ = try Factors(rawKey: Secret(count: count)) }
        }
        fails(.keyFileInvalid) { _ = try KeyFile(contents: Secret(count: 0)) }
        fails(.keyFileInvalid) { _ = try KeyFile(contents: Secret(count: (64 << 20) + 1)) }
        fails(.keyFileInvalid, "damaged") { _ = try KeyFile(contents: Secret(text: "VAULTFMT-KEY-1-oops")) }
        let file = try KeyFile(contents: KeyFile.generate())
        #expect(file.isGenerated == true)
        let other = try KeyFile(contents: Secret(text: "x"))
        #expect(other.isGenerated == false)
    }

    @Test("have a cost with a floor for writers and a limit for readers")
    func costs() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        func create(_ cost: KDFCost, allowWeak: Bool = false) throws -> Vault {
            var options = CreateOptions()
            options.cost = cost
            options.allowWeak = allowWeak
            return try Vault.create(at: path, factors: try Fast.factors(), options: options)
        }
        for weak in [
            KDFCost.testing, KDFCost(memoryKiB: (19 << 10) - 1, passes: 2, lanes: 1),
            KDFCost(memoryKiB: 1 << 20, passes: 1, lanes: 1),
        ] {
            #expect(weak.isWeak)
            fails(.weakKDF) { _ = try create(weak) }
        }
        for impossible in [
            KDFCost(memoryKiB: 8, passes: 1, lanes: 0), KDFCost(memoryKiB: 8, passes: 0, lanes: 1),
            KDFCost(memoryKiB: 15, passes: 1, lanes: 2),
            KDFCost(memoryKiB: .max, passes: 1, lanes: .max),
        ] { fails(.invalidArgument) { _ = try create(impossible, allowWeak: true) } }
        for costly in [
            KDFCost(memoryKiB: (2 << 20) + 1, passes: 3, lanes: 4), KDFCost(memoryKiB: 1 << 20, passes: 17, lanes: 4),
            KDFCost(memoryKiB: 1 << 20, passes: 3, lanes: 17), KDFCost(memoryKiB: 2 << 20, passes: 9, lanes: 4),
            KDFCost(memoryKiB: .max, passes: .max, lanes: 1),
        ] { fails(.kdfLimit) { _ = try create(costly) } }
        #expect(folder.names.isEmpty)
        #expect(
            !KDFCost.floor.isWeak && !KDFCost.interactive.isWeak && !KDFCost.moderate.isWeak
                && !KDFCost.sensitive.isWeak)
        let vault = try create(.floor)
        #expect(try vault.slots()[0].cost == .floor && !vault.slots()[0].isWeak)
        // A reader can allow less.
        fails(.kdfLimit, "memory 19456 KiB, limit 18432 KiB") {
            var options = OpenOptions()
            options.limits.memoryKiB = 18 << 10
            _ = try Vault.open(path, factors: try Fast.factors(), options: options)
        }
    }

    @Test("that were calibrated are neither weak nor more than readers allow, whatever the machine's speed")
    func calibration() throws {
        for speed in [1e3, 1e5, 1e6, 1e7, 1e9, 1e15] {
            for seconds in [0.001, 0.1, 1, 10, 60] {
                for lanes in 1...16 {
                    let cost = KDFCost.fitting(kibPassesPerSecond: speed, seconds: seconds, lanes: UInt32(lanes))
                    #expect(!cost.isWeak && cost.lanes == UInt32(lanes))
                    #expect(throws: Never.self) { try cost.checked(for: .passphrase, allowWeak: false) }
                }
            }
        }
        #expect(
            KDFCost.fitting(kibPassesPerSecond: 1_500_000, seconds: 1, lanes: 4)
                == KDFCost(memoryKiB: 500_000, passes: 3, lanes: 4))
        for seconds in [0, -1, 61, Int64.max] as [Int64] {
            fails(.invalidArgument) { _ = try KDFCost.calibrated(to: .seconds(seconds)) }
        }
        for lanes in [0, 17] as [UInt32] {
            fails(.invalidArgument) { _ = try KDFCost.calibrated(to: .seconds(1), lanes: lanes) }
        }
    }
}
