import VaultBytes
import VaultFmt
import VaultForge

/// Headers (section 3): each is altered in one place, and has right MACs unless they are what is wrong.
extension Collection {
    mutating func addHeaders(_ bases: Bases) throws {
        try addBeginnings(bases)
        try addHeaderFields(bases)
        try addSlotFields(bases)
        try addHeaderExtensions(bases)
        try addHeaderMACs(bases)
    }

    private mutating func addBeginnings(_ bases: Bases) throws {
        let one = bases.one
        try bytes("start-empty-file", "R-3.1", .notAVault, one, "No bytes at all.") { $0 = [] }
        try bytes("start-15-bytes", "R-3.1", .notAVault, one, "One byte less than what tells a vault.") { $0 = Array($0[..<15]) }
        try bytes("start-text", "R-3.1", .notAVault, one, "A text file.") { $0 = Array("-----BEGIN PGP MESSAGE-----\n".utf8) }
        try bytes("start-magic-7-bits", "R-3.1", .notAVault, one, "The magic after a transfer that drops eighth bits.") { $0[0] = 0x09 }
        try bytes("start-magic-newline", "R-3.1", .notAVault, one, "The magic after a transfer that makes CR LF an LF.") {
            $0.remove(at: 6)
        }
        try bytes("start-magic-last-byte", "R-3.1", .notAVault, one, "The magic's last byte is another one.") { $0[7] = 0x0B }
        for version in [0, 2, 0xFFFF] as [UInt16] {
            try forged("start-version-\(version)", "R-3.1", .unsupportedVersion, one, "Version \(version), with right MACs.") {
                $0.editHeader.append { $0.put(u16: version, at: 8) }
            }
        }
        try bytes(
            "start-version-first", "R-3.1, R-3.2", .unsupportedVersion, one,
            "Version 2 and an impossible header length: the version is the answer."
        ) {
            $0.put(u16: 2, at: 8)
            $0.put(u32: 7, at: 12)
        }
        try bytes("start-16-bytes", "R-2.2, R-3.2", .headerInvalid, one, "Cut off after magic, version and length.") {
            $0 = Array($0[..<16])
        }
        try bytes("start-cut-in-header", "R-2.2, R-3.2", .headerInvalid, one, "Cut off one byte before the header's end.") {
            $0 = Array($0[..<4095])
        }
    }

    private mutating func addHeaderFields(_ bases: Bases) throws {
        try header("header-reserved-10", "R-1.2", bases, "A reserved byte at 10 is 1.") { $0[10] = 1 }
        try header("header-reserved-66", "R-1.2", bases, "A reserved byte at 66 is 1.") { $0[66] = 1 }
        try header("header-padding", "R-1.2", bases, "A byte of the padding is 1.") { $0[2000] = 1 }
        try header("header-padding-first", "R-1.2, R-1.3", bases, "The first byte after the slots is 1.") { $0[360] = 1 }
        for length in [0, 4095, 4100, 69632, 0xFFFF_F000] as [UInt32] {
            try header("header-length-\(length)", "R-2.2, R-3.2", bases, "The header says that it has \(length) bytes.") {
                $0.put(u32: length, at: 12)
            }
        }
        try header("header-length-beyond-file", "R-2.2, R-3.2", bases, "The header says 65,536 bytes; the file has less.") {
            $0.put(u32: 65_536, at: 12)
        }
        try header("header-no-slot", "R-3.2", bases, "No slots; what was one is padding that is not zero, so it is gone too.") {
            $0[64] = 0
            $0.put([UInt8](repeating: 0, count: 292), at: 68)
        }
        try header("header-17-slots", "R-3.2", bases, "17 slots, all of them well-formed, with ids of their own.") { bytes in
            let slot = Array(bytes[68..<360])
            bytes[64] = 17
            bytes.put(u32: 8192, at: 12)
            bytes += [UInt8](repeating: 0, count: 4096)
            for index in 0..<17 {
                var one = slot
                one[2] = UInt8(index)
                bytes.put(one, at: 68 + index * 292)
            }
        }
        try header("header-one-slot-more", "R-1.3, R-3.2", bases, "It counts two slots and has one: the next one's length is 0.") {
            $0[64] = 2
        }
        try forged("header-same-slot-ids", "R-3.5", .headerInvalid, bases.scoped, "Two slots have one id.") {
            $0.editHeader.append { $0.put(Array($0[70..<86]), at: 68 + 292 + 2) }
        }
        for (name, length) in [("longer", 8192), ("longest", 65_536)] {
            try forged("header-\(name)", "R-3.2", .success, bases.one, "A header of \(length) bytes, of which few are used.") {
                $0.header.length = length
            }
        }
    }

    private mutating func addSlotFields(_ bases: Bases) throws {
        for length in [0, 1, 107, 219, 291, 293, 0xFFFF] as [UInt16] {
            try header("slot-length-\(length)", "R-1.3, R-3.2", bases, "A slot says that it has \(length) bytes, and has 292.") {
                $0.put(u16: length, at: 68)
            }
        }
        for kind in [0, 3, 255] as [UInt8] {
            try header("slot-kind-\(kind)", "R-3.2", bases, "A slot of kind \(kind).") { $0[68 + 18] = kind }
        }
        for factors in [0, 6, 7, 9, 10, 12, 16, 128] as [UInt8] {
            try header("slot-factors-\(factors)", "R-3.4", bases, "A slot with factors \(factors).") { $0[68 + 19] = factors }
        }
        try header("slot-raw-memory", "R-3.4", bases, "A raw-key slot with a KDF memory.") { $0.put(u32: 8, at: 68 + 20) }
        try header("slot-raw-passes", "R-3.4", bases, "A raw-key slot with passes.") { $0.put(u32: 1, at: 68 + 24) }
        try header("slot-raw-lanes", "R-3.4", bases, "A raw-key slot with lanes.") { $0.put(u32: 1, at: 68 + 28) }
        try header("slot-raw-salt", "R-3.4", bases, "A raw-key slot with a salt.") { $0[68 + 40] = 1 }
        try header("slot-payload-size-large", "R-2.2, R-3.2", bases, "A slot's payload reaches past the slot.") {
            $0.put(u32: 0xFFFF_FFF0, at: 68 + 104)
        }
        try header("slot-payload-size-47", "R-3.2", bases, "A full slot's payload of 47 bytes, in a slot that is as much shorter.") {
            $0.put(u32: 47, at: 68 + 104)
            $0.put(u16: 291, at: 68)
            $0.remove(at: 68 + 120)
            $0.append(0)
        }
        try header("slot-payload-size-full-272", "R-3.2", bases, "A full slot with a scoped slot's payload size.") { bytes in
            bytes.put(u32: 272, at: 68 + 104)
            bytes.put(u16: 516, at: 68)
            bytes.insert(contentsOf: [UInt8](repeating: 7, count: 224), at: 68 + 120)
            bytes.removeLast(224)
        }
        try forged(
            "slot-payload-size-scoped-48", "R-3.2", .headerInvalid, bases.one,
            "A full slot that calls itself scoped: its payload has no such size."
        ) {
            $0.editHeader.append { $0[68 + 18] = 2 }
        }
    }

    private mutating func addHeaderExtensions(_ bases: Bases) throws {
        let plain = Extension(name: "example.org/note", isCritical: false, value: [1, 2, 3])
        try extended(
            "extension-header", "R-3.10, R-3.11", .success, bases, "An unknown extension in the header that is not critical.", [plain])
        try extended(
            "extension-header-critical", "R-3.10", .unsupportedCritical, bases, "An unknown critical extension in the header.",
            [Extension(name: "example.org/note", isCritical: true, value: [1, 2, 3])])
        try extended(
            "extension-header-critical-second", "R-3.10", .unsupportedCritical, bases, "A critical extension after one that is not.",
            [plain, Extension(name: "example.org/other", isCritical: true, value: [])])
        try extended(
            "extension-header-largest", "R-3.10", .success, bases, "16 extensions, names of 64 bytes, one value of 4096, one empty.",
            (0..<16).map { index in
                let name = String(UnicodeScalar(UInt8(97 + index))) + String(repeating: "~", count: 63)
                return Extension(name: name, isCritical: false, value: index == 0 ? [UInt8](repeating: 9, count: 4096) : [])
            })
        try extended(
            "extension-header-order", "R-3.2", .headerInvalid, bases, "Two extensions out of order.",
            [plain, Extension(name: "example.org/a", isCritical: false, value: [])])
        try extended("extension-header-twice", "R-3.2", .headerInvalid, bases, "One extension twice.", [plain, plain])
        let odd: [(String, String, String, ([UInt8]) -> [UInt8])] = [
            ("flags", "R-1.2", "An extension with a reserved flag.", { [2] + $0.dropFirst() }),
            ("nameless", "R-3.2", "An extension without a name.", { _ in [0, 0, 0, 0] }),
            ("name-65", "R-3.2", "An extension with a name of 65 bytes.", { _ in [0, 65] + [97].times(65) + [0, 0] }),
            ("name-space", "R-3.2", "An extension with a space in its name.", { $0.prefix(5) + [32] + $0.dropFirst(6) }),
            ("name-delete", "R-3.2", "An extension with a byte 127 in its name.", { $0.prefix(5) + [127] + $0.dropFirst(6) }),
            (
                "value-4097", "R-3.2", "An extension with a value of 4097 bytes, which the header has room for.",
                { _ in [0, 1, 97, 1, 16] + [7].times(4097) }
            ),
        ]
        for (name, spec, comment, change) in odd {
            try forged("extension-header-\(name)", spec, .headerInvalid, bases.one, comment) { forge in
                forge.header.length = 12_288
                forge.editHeader.append { bytes in
                    var encoded: [UInt8] = []
                    plain.encode(into: &encoded)
                    bytes[65] = 1
                    bytes.put(change(encoded), at: 360)
                }
            }
        }
        try header("extension-header-17", "R-3.2", bases, "17 extensions.") { bytes in
            bytes[65] = 17
            for index in 0..<17 { bytes.put([0, 1, 65 + UInt8(index), 0, 0], at: 360 + index * 5) }
        }
        try header("extension-header-past-end", "R-2.2, R-3.2", bases, "An extension's value reaches past the header.") { bytes in
            bytes[65] = 1
            bytes.put([0, 1, 97, 0x00, 0x10], at: 360)
        }
    }

    private mutating func addHeaderMACs(_ bases: Bases) throws {
        for (name, at, what) in [("reader", 4032, "reader"), ("owner", 4064, "owner")] {
            try forged(
                "header-mac-\(name)", "R-3.3", .authenticationFailed, bases.one,
                "The header's \(what) MAC is wrong; commits name this header."
            ) {
                $0.editHeaderSealed.append { $0.flip(at) }
            }
        }
        try forged(
            "header-mac-reader-scoped", "R-3.3", .authenticationFailed, bases.scoped,
            "The header's reader MAC is wrong, seen by who opens the scoped slot.", request: .raw(Bases.scopedKey)
        ) {
            $0.editHeaderSealed.append { $0.flip($0.count - 64) }
        }
        try forged(
            "header-mac-owner-scoped", "R-3.3", .success, bases.scoped,
            "The header's owner MAC is wrong: who opens the scoped slot cannot know.", request: .raw(Bases.scopedKey)
        ) {
            $0.editHeaderSealed.append { $0.flip($0.count - 1) }
        }
        try forged(
            "header-by-scoped-holder", "R-3.3", .authenticationFailed, bases.scoped,
            "The holder of a scoped slot took the other slot's id and made both MACs with the reader key."
        ) { forge in
            let reader = forge.keys.reader
            forge.editHeaderSealed.append { bytes in
                bytes.flip(68 + 292 + 2)
                let covered = Array(bytes[..<(bytes.count - 64)])
                bytes.put(
                    Plain.mac(reader, "vaultfmt-1 header reader", covered) + Plain.mac(reader, "vaultfmt-1 header owner", covered),
                    at: covered.count)
            }
        }
        try forged("header-macs-swapped", "R-3.3", .authenticationFailed, bases.one, "Reader and owner MAC stand in each other's place.") {
            $0.editHeaderSealed.append { $0 = $0.dropLast(64) + $0.suffix(32) + $0.dropLast(32).suffix(32) }
        }
        for (name, at, what) in [("padding-late", 4031, "the last byte of the padding"), ("epoch", 40, "the epoch")] {
            try bytes(
                "header-flip-\(name)", "R-3.3", name == "epoch" ? .authenticationFailed : .headerInvalid, bases.one,
                "A bit of \(what) is another one."
            ) { $0.flip(at) }
        }
        try bytes(
            "header-flip-owner-part", "R-3.3", .authenticationFailed, bases.one,
            "A bit of a slot's owner part, which opening does not need, is another one."
        ) { $0.flip(68 + 200) }
        try bytes("header-extension-added", "R-3.3", .authenticationFailed, bases.one, "Somebody without keys added an extension.") {
            $0[65] = 1
            $0.put([0, 1, 97, 0, 0], at: 360)
        }
        try bytes("header-slot-removed", "R-3.3", .authenticationFailed, bases.scoped, "Somebody without keys removed a slot.") {
            $0[64] = 1
            let slot = Int($0[360]) + Int($0[361]) << 8
            $0.put([UInt8](repeating: 0, count: slot), at: 360)
        }
    }

    /// A header that is malformed and has right MACs.
    private mutating func header(
        _ name: String, _ spec: String, _ bases: Bases, _ comment: String, _ edit: @escaping (inout [UInt8]) throws -> Void
    ) throws {
        try forged(name, spec, .headerInvalid, bases.one, comment) { $0.editHeader.append(edit) }
    }

    private mutating func extended(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ extensions: [Extension]
    ) throws {
        try forged(name, spec, expect, bases.one, comment) { $0.header.extensions = extensions }
    }
}
