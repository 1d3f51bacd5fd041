import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// Headers that nobody has authenticated ask for work, memory and lengths: refused before any key is derived. Each
/// error here has a code of its own: had the KDF run first, it would be `noSlotOpens`.
@Suite("A hostile header")
struct HostileHeaderTests {
    private let bytes: [UInt8]

    init() throws {
        let folder = try Folder()
        var options = CreateOptions()
        options.cost = .testing
        options.allowWeak = true
        let vault = try Vault.create(at: folder.file("a.vault"), factors: try Fast.factors(), options: options)
        _ = try vault.addSlot(try Fast.factors("second"), cost: .testing, allowWeak: true)
        bytes = try contents(folder.file("a.vault"))
    }

    private func open(_ bytes: [UInt8], limits: ReaderLimits = .init(), passphrase: String = "correct horse") throws {
        var options = OpenOptions()
        options.limits = limits
        _ = try Vault.open(
            "in memory", factors: try Fast.factors(passphrase), options: options,
            place: Store.Place(fileSystem: ByteFileSystem(bytes)))
    }

    /// With other bytes in the header, and its hash made again: anybody can.
    private func patched(_ at: Int, _ new: [UInt8]) -> [UInt8] {
        var out = bytes
        out.replaceSubrange(at..<at + new.count, with: new)
        return Self.hashed(out)
    }

    private static func hashed(_ file: [UInt8]) -> [UInt8] {
        let place = Format.headerStep - Format.headerProofSize
        let hash = file[..<place].withUnsafeBytes { HeaderProof.hash($0) }
        return Array(file[..<place]) + hash.bytes + file[(place + Format.hashSize)...]
    }

    private func u32(_ values: UInt32...) -> [UInt8] {
        var out: [UInt8] = []
        for value in values { out.append(u32: value) }
        return out
    }

    /// A full slot with a passphrase: 32 bytes, 44 of parameters, commitment, nonce and payload, and the owner part.
    private static let slotSize = 32 + 44 + 32 + 24 + 48 + 168
    /// Where the KDF figures of the two slots are.
    private static let figures = [68 + 32, 68 + slotSize + 32]

    @Test("is not what the untouched one is")
    func untouched() throws {
        try open(bytes)
        try open(bytes, passphrase: "second")
        fails(.noSlotOpens) { try open(bytes, passphrase: "third") }
    }

    @Test(
        "asking for more memory, passes or lanes than allowed is refused with value and limit (R-3.11)",
        arguments: [0, 1])
    func cost(slot: Int) {
        let place = Self.figures[slot]
        for (figures, phrase) in [
            (u32(.max, 1, 1), "memory 4294967295 KiB, limit 2097152 KiB"),
            (u32((2 << 20) + 1, 1, 1), "memory 2097153 KiB"),
            (u32(8, .max, 1), "passes 4294967295, limit 16"), (u32(8, 17, 1), "passes 17"),
            (u32(8 * 17, 1, 17), "lanes 17, limit 16"),
            (u32(8 * 0xFF_FFFF, 1, 0xFF_FFFF), "KiB, limit"), (u32(.max, .max, 1), "limit"),
        ] {
            // Also where the other slot is the one that would open, and comes first.
            for passphrase in ["correct horse", "second"] {
                fails(.kdfLimit, phrase) { try open(patched(place, figures), passphrase: passphrase) }
            }
        }
    }

    @Test("with figures that Argon2 cannot take is malformed (R-3.9)", arguments: [0, 1])
    func figures(slot: Int) {
        for figures in [
            u32(8, 1, 0), u32(8, 0, 1), u32(7, 1, 1), u32(0, 0, 0), u32(.max, 1, 0x100_0000), u32(.max, .max, .max),
        ] {
            fails(.headerInvalid, "KDF parameters") { try open(patched(Self.figures[slot], figures)) }
        }
    }

    @Test("with many costly slots is refused once their sum is over the limit (R-3.11)")
    func sum() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        var options = CreateOptions()
        options.cost = .testing
        options.allowWeak = true
        let vault = try Vault.create(at: path, factors: try Fast.factors("0"), options: options)
        for number in 1..<16 { _ = try vault.addSlot(try Fast.factors("\(number)"), cost: .testing, allowWeak: true) }
        let all = try contents(path)
        var limits = ReaderLimits()
        limits.totalKiBPasses = 16 * 8
        try open(all, limits: limits, passphrase: "15")
        limits.totalKiBPasses = 16 * 8 - 1
        fails(.kdfLimit, "of all slots 128 KiB, limit 127 KiB") { try open(all, limits: limits, passphrase: "15") }
        try open(all, limits: limits, passphrase: "14")
    }

    @Test("with counts and lengths that cannot be is malformed")
    func lengths() {
        for count in [0, 3, 65, 255] as [UInt8] { fails(.headerInvalid) { try open(patched(64, [count])) } }
        for count in [1, 17, 255] as [UInt8] { fails(.headerInvalid) { try open(patched(65, [count])) } }
        for length in [0, 8, 4095, 8192, 61_440, 65_536, 65_537, 1 << 20, 1 << 31, .max] as [UInt32] {
            fails(.headerInvalid) { try open(patched(12, u32(length))) }
        }
        let slot = UInt32(Self.slotSize)
        for length in [0, 1, 271, slot - 1, slot + 1, 4000, 65_535, 65_536, 65_537, .max] {
            fails(.headerInvalid) { try open(patched(68, u32(length))) }
        }
        for size in [0, 43, 45, 17_408, 17_409, .max] as [UInt32] {
            fails(.headerInvalid) { try open(patched(68 + 24, u32(size))) }
        }
        for size in [0, 167, 169, 17_408, 17_409, .max] as [UInt32] {
            fails(.headerInvalid) { try open(patched(68 + 28, u32(size))) }
        }
        for count in [0, 15] { fails(.notAVault) { try open(Array(bytes[..<count])) } }
        for count in [16, 100, 4095, 4096, 8192, 9215] {
            fails(.headerInvalid, "truncated") { try open(Array(bytes[..<count])) }
        }
    }

    @Test("is refused for its magic, its version and its critical extension, in this order")
    func kinds() {
        fails(.notAVault) { try open(patched(0, [0])) }
        fails(.unsupportedVersion, "format 2") { try open(patched(8, [2])) }
        fails(.unsupportedVersion, "format 513") { try open(patched(8, [1, 2])) }
        let end = 68 + 2 * Self.slotSize
        let critical: [UInt8] = [1, 4] + Array("must".utf8) + [0, 0]
        var withExtension = patched(end, critical)
        withExtension[65] = 1
        fails(.headerInvalid, "damaged") { try open(withExtension) }
        fails(.unsupportedCritical, "\"must\"") { try open(Self.hashed(withExtension)) }
        withExtension[end] = 0
        fails(.authenticationFailed, "header") { try open(Self.hashed(withExtension)) }
        withExtension[end] = 2
        fails(.authenticationFailed, "header") { try open(Self.hashed(withExtension)) }
        withExtension[end] = 4
        fails(.headerInvalid, "flags") { try open(Self.hashed(withExtension)) }
    }

    @Test("with any byte of its slots changed opens nothing, whatever it looks like")
    func everyByte() {
        for place in 16..<(68 + 2 * Self.slotSize) {
            for change in [1, 0x80] as [UInt8] {
                let bad = patched(place, [bytes[place] ^ change])
                // Small enough figures are tried: with them the KDF gives another key.
                var limits = ReaderLimits()
                limits.memoryKiB = 1024
                do {
                    try open(bad, limits: limits)
                    Issue.record("byte \(place) does not count")
                } catch let error as VaultError {
                    #expect(
                        [.headerInvalid, .kdfLimit, .noSlotOpens, .authenticationFailed].contains(error.code),
                        "\(error)")
                } catch { Issue.record("\(error)") }
            }
        }
    }

    @Test("before a file that claims to be larger than can be is refused at once")
    func size() {
        for size in [(1 << 48) + 1, 1 << 62, UInt64(Int64.max)] as [UInt64] {
            fails(.structureInvalid, "2^48") {
                _ = try Vault.open(
                    "in memory", factors: try Fast.factors(), options: OpenOptions(),
                    place: Store.Place(fileSystem: ByteFileSystem(bytes, size: size)))
            }
        }
    }

    @Test("is shown by inspecting as far as it can be, with the same errors")
    func inspecting() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        try write(bytes, path)
        let shown = try Vault.inspect(path)
        #expect(
            shown.slots.count == 2 && shown.slots.allSatisfy { $0.isWeak && $0.name == nil } && shown.tail == .clean)
        #expect(shown.objects.map(\.type) == ["keyring", "vector", "commit"])
        #expect(shown.objects.reduce(UInt64(shown.headerBytes)) { $0 + $1.bytes } <= shown.fileBytes)
        try write(patched(Self.figures[0], u32(.max, 1, 1)), path)
        #expect(try Vault.inspect(path).slots[0].cost?.memoryKiB == .max)
        try write(bytes + [1, 2, 3], path)
        #expect(try Vault.inspect(path).tail == .torn(bytes: 3))
        for (bad, code) in [
            (patched(64, [255]), VaultError.Code.headerInvalid), (patched(8, [9]), .unsupportedVersion),
            ([1, 2, 3], .notAVault),
            ([], .notAVault),
        ] {
            try write(bad, path)
            fails(code) { _ = try Vault.inspect(path) }
        }
        fails(.noSuchFile) { _ = try Vault.inspect(folder.file("absent")) }
        fails(.notAVault, "regular file") { _ = try Vault.inspect(folder.path) }
    }
}
