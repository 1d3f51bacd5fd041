internal import TestSupport
internal import VaultBytes

/// Headers (section 3): each is altered in one place, and has a right hash and MAC unless they are what is wrong.
extension Collection {
    /// Where the only slot of `one` starts, and where it ends.
    static let slot = 68
    static let slotEnd = 372

    mutating func addHeaders(_ bases: Bases) throws {
        folder = "header"
        try addBeginnings(bases)
        try addHeaderFields(bases)
        try addLengths(bases)
        try addHeaderExtensions(bases)
        try addHeaderProofs(bases)
        try addCopies(bases)
    }

    private mutating func addBeginnings(_ bases: Bases) throws {
        let one = bases.one
        try bytes("start-empty-file", "R-3.1", .notAVault, one, "No bytes at all.") { $0 = [] }
        try bytes("start-8-bytes", "R-3.1", .notAVault, one, "The magic and nothing else.") { $0 = Array($0[..<8]) }
        try bytes("start-15-bytes", "R-3.1", .notAVault, one, "One byte less than a vault's first fields have.") {
            $0 = Array($0[..<15])
        }
        try bytes("start-text", "R-3.1", .notAVault, one, "A text file.") {
            $0 = Array("-----BEGIN PGP MESSAGE-----\n".utf8)
        }
        try bytes("start-magic-7-bits", "R-3.1", .notAVault, one, "The magic after a transfer that drops eighth bits.")
        { $0[0] = 0x09 }
        try bytes(
            "start-magic-newline", "R-3.1", .notAVault, one, "The magic after a transfer that turns CR LF into LF."
        ) {
            $0.remove(at: 6)
        }
        try bytes("start-magic-last-byte", "R-3.1", .notAVault, one, "The magic's last byte is another one.") {
            $0[7] = 0x0B
        }
        try bytes(
            "start-magic-in-copy", "R-3.4", .notAVault, one,
            "The header is zeros, and its copy is right: a reader does not look there."
        ) {
            $0.put([0].times(4096), at: 0)
        }
        for version in [0, 2, 0x0100, 0xFFFF] as [UInt16] {
            try forged(
                "start-version-\(version)", "R-3.1", .unsupportedVersion, one,
                "Version \(version), with a right hash and MAC."
            ) {
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
        try bytes("start-version-16-bytes", "R-3.1", .unsupportedVersion, one, "16 bytes, of version 2.") {
            $0 = Array($0[..<16])
            $0.put(u16: 2, at: 8)
        }
        try bytes("start-16-bytes", "R-2.2, R-3.2", .headerInvalid, one, "Cut off after magic, version and length.") {
            $0 = Array($0[..<16])
        }
    }

    private mutating func addHeaderFields(_ bases: Bases) throws {
        try header("header-reserved-10", "R-1.2", bases, "A reserved byte at 10 is 1.") { $0[10] = 1 }
        try header("header-reserved-11", "R-1.2", bases, "A reserved byte at 11 is 128.") { $0[11] = 128 }
        try header("header-reserved-66", "R-1.2", bases, "A reserved byte at 66 is 1.") { $0[66] = 1 }
        try header("header-reserved-67", "R-1.2", bases, "A reserved byte at 67 is 1.") { $0[67] = 1 }
        try header("header-padding", "R-1.2, R-3.2", bases, "A byte of the padding is 1.") { $0[2000] = 1 }
        try header("header-padding-first", "R-1.2, R-1.3", bases, "The first byte after the slots is 1.") {
            $0[Self.slotEnd] = 1
        }
        try header("header-padding-last", "R-1.2", bases, "The last byte before the hash is 1.") { $0[4031] = 1 }
        try header("header-no-slot", "R-3.2, R-11.1", bases, "No slots; what was one is zeros.") {
            $0[64] = 0
            $0.put([0].times(304), at: 68)
        }
        try header(
            "header-one-slot-more", "R-1.3, R-3.2", bases,
            "It counts two slots and has one: the next one's length is 0."
        ) {
            $0[64] = 2
        }
        try header(
            "header-one-slot-fewer", "R-1.2, R-3.2", bases,
            "It counts one slot and has two: the second is padding that is not zero."
        ) {
            $0.put(Array($0[68..<372]), at: 372)
            $0.flip(376)
        }
        try header("header-255-slots", "R-11.1", bases, "It counts 255 slots and has one.") { $0[64] = 255 }
        try forged("header-same-slot-ids", "R-3.8", .headerInvalid, bases.scoped, "Two slots have one id.") {
            $0.editHeader.append { $0.put(Array($0[72..<88]), at: 68 + 304 + 4) }
        }
        try forged(
            "header-vault-id-zero", "R-3.10", .noSlotOpens, bases.one,
            "Another vault id: the slot was made for the right one."
        ) {
            $0.editHeader.append { $0.put([0].times(16), at: 16) }
        }
    }

    private mutating func addLengths(_ bases: Bases) throws {
        for length in [0, 1, 2048, 4095, 4097, 4160, 69632, 1_048_576, 1_052_672, 0xFFFF_F000, 0xFFFF_FFFF] as [UInt32]
        {
            try header("header-length-\(length)", "R-2.2, R-3.2", bases, "The header says that it has \(length) bytes.")
            {
                $0.put(u32: length, at: 12)
            }
        }
        try forged(
            "header-length-8192-says-4096", "R-3.2", .headerInvalid, bases.one,
            "A header of 8192 bytes that says 4096: no hash is where it should be."
        ) {
            $0.header.length = 8192
            $0.editHeader.append { $0.put(u32: 4096, at: 12) }
        }
        for (name, length) in [("8192", 8192), ("65536", 65_536)] {
            try forged(
                "header-of-\(name)", "R-3.2", .success, bases.one, "A header of \(length) bytes, of which few are used."
            ) {
                $0.header.length = length
            }
        }
        try forged(
            "header-of-1-mib", "R-3.2, R-11.1", .success, bases.empty, "A header of 1,048,576 bytes, the longest."
        ) {
            $0.header.length = 1 << 20
        }
        try forged(
            "header-of-4160", "R-3.2, R-11.1", .headerInvalid, bases.one,
            "A header of 4160 bytes, with everything where that puts it."
        ) { forge in
            forge.editHeader.append { bytes in
                bytes.append(zeros: 64)
                bytes.put(u32: 4160, at: 12)
            }
        }
        try forged(
            "header-of-1-mib-more", "R-3.2, R-11.1", .headerInvalid, bases.empty,
            "A header of 1,052,672 bytes, with everything where that puts it."
        ) { forge in
            forge.header.length = 1 << 20
            forge.editHeader.append { bytes in
                bytes.append(zeros: 4096)
                bytes.put(u32: 1_052_672, at: 12)
            }
        }
        for (name, count) in [("4095", 4095), ("4096", 4096), ("8191", 8191), ("8192", 8192), ("9215", 9215)] {
            try bytes(
                "header-file-\(name)", "R-2.2, R-3.2", .headerInvalid, bases.empty,
                "The file is cut off after \(name) bytes."
            ) {
                $0 = Array($0[..<count])
            }
        }
        try bytes(
            "header-file-9216", "R-3.2, R-7.1", .authenticationFailed, bases.one,
            "The file is cut off after 9216 bytes: it is long enough, and has no commit."
        ) { $0 = Array($0[..<9216]) }
        let least = bases.empty.file.count
        guard least == 9216 else { throw ForgeError("the least vault has \(least) bytes") }
    }

    // MARK: extensions

    private mutating func addHeaderExtensions(_ bases: Bases) throws {
        let plain = Extension(name: "example.org/note", isCritical: false, value: [1, 2, 3])
        try extended(
            "extension-header", "R-3.23, R-3.25", .success, bases,
            "An unknown extension in the header that is not critical.", [plain])
        try extended(
            "extension-header-read-only", "R-3.24", .success, bases,
            "An unknown extension with flag 2 in the header: it keeps writers away, not readers.",
            [Extension(name: "example.org/note", isCritical: false, isReadOnly: true, value: [1])])
        try extended(
            "extension-header-critical", "R-3.23", .unsupportedCritical, bases,
            "An unknown critical extension in the header.",
            [Extension(name: "example.org/note", isCritical: true, value: [1, 2, 3])])
        try extended(
            "extension-header-critical-read-only", "R-3.23", .unsupportedCritical, bases,
            "An unknown extension with both flags.",
            [Extension(name: "example.org/note", isCritical: true, isReadOnly: true, value: [])])
        try extended(
            "extension-header-critical-second", "R-3.23", .unsupportedCritical, bases,
            "A critical extension after one that is not.",
            [plain, Extension(name: "example.org/other", isCritical: true, value: [])])
        try forged(
            "extension-header-critical-wrong-key", "R-3.23", .unsupportedCritical, bases.one,
            "A critical extension, and a raw key that opens no slot: it is refused before any is tried.",
            request: .raw([5].times(32))
        ) { $0.header.extensions = [Extension(name: "a", isCritical: true, value: [])] }
        try extended(
            "extension-header-most", "R-3.22, R-11.1", .success, bases,
            "16 extensions, names of 64 bytes, one value of 4096 bytes, the others empty.",
            (0..<16).map { index in
                let name = String(UnicodeScalar(UInt8(97 + index))) + String(repeating: "~", count: 63)
                return Extension(name: name, isCritical: false, value: index == 0 ? [9].times(4096) : [])
            })
        try extended(
            "extension-header-name-prefix", "R-3.22", .success, bases,
            "A name that begins the next one comes before it.",
            [Extension(name: "a", isCritical: false, value: []), Extension(name: "aa", isCritical: false, value: [])])
        try extended(
            "extension-header-order", "R-3.22", .headerInvalid, bases, "Two extensions out of order.",
            [plain, Extension(name: "example.org/a", isCritical: false, value: [])])
        try extended("extension-header-twice", "R-3.22", .headerInvalid, bases, "One extension twice.", [plain, plain])
        let odd: [(String, String, String, ([UInt8]) -> [UInt8])] = [
            ("flag-4", "R-1.2", "An extension with flag 4.", { [4] + $0.dropFirst() }),
            ("flag-128", "R-1.2", "An extension with flag 128.", { [128] + $0.dropFirst() }),
            ("nameless", "R-11.1", "An extension without a name.", { _ in [0, 0, 0, 0] }),
            (
                "name-65", "R-11.1", "An extension with a name of 65 bytes.",
                { _ in [0, 65] + [97].times(65) + [0, 0] }
            ),
            (
                "name-space", "R-3.2", "An extension with a space in its name.",
                { $0.prefix(5) + [32] + $0.dropFirst(6) }
            ),
            (
                "name-127", "R-3.2", "An extension with a byte 127 in its name.",
                { $0.prefix(5) + [127] + $0.dropFirst(6) }
            ),
            (
                "name-195", "R-3.2", "An extension with a letter beyond ASCII in its name.",
                { $0.prefix(5) + [195, 164] + $0.dropFirst(7) }
            ),
            (
                "value-4097", "R-11.1", "An extension with a value of 4097 bytes, which the header has room for.",
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
                    bytes.put(change(encoded), at: Self.slotEnd)
                }
            }
        }
        try header("extension-header-17", "R-3.2, R-11.1", bases, "17 extensions.") { bytes in
            bytes[65] = 17
            for index in 0..<17 { bytes.put([0, 1, 65 + UInt8(index), 0, 0], at: Self.slotEnd + index * 5) }
        }
        try header("extension-header-past-end", "R-2.2, R-3.2", bases, "An extension's value reaches past the header.")
        { bytes in
            bytes[65] = 1
            bytes.put([0, 1, 97, 0x00, 0x10], at: Self.slotEnd)
        }
        try header(
            "extension-header-one-more", "R-1.3, R-3.2", bases,
            "It counts one extension, and has none: its name would be empty."
        ) {
            $0[65] = 1
        }
        try header(
            "extension-header-critical-and-padding", "R-3.2, R-3.23", bases,
            "A critical extension in a header whose padding is not zero: the header is wrong first."
        ) { bytes in
            bytes[65] = 1
            bytes.put([1, 1, 97, 0, 0], at: Self.slotEnd)
            bytes[3000] = 1
        }
    }

    // MARK: hash and MAC

    private mutating func addHeaderProofs(_ bases: Bases) throws {
        let one = bases.one
        for (name, at) in [("first", 0), ("last", 31)] {
            try forged(
                "header-hash-\(name)", "R-3.2", .headerInvalid, one,
                "The \(name) byte of the header hash is wrong; MAC and commits have that."
            ) {
                $0.editHeaderHashed.append { $0.flip(4032 + at) }
            }
            try forged(
                "header-mac-\(name)", "R-1.7, R-3.3", .authenticationFailed, one,
                "The \(name) byte of the header's MAC is wrong."
            ) {
                $0.editHeaderSealed.append { $0.flip(4064 + at) }
            }
        }
        try forged(
            "header-mac-scoped", "R-3.3", .authenticationFailed, bases.scoped,
            "The header's MAC is wrong, seen by a scoped slot.",
            request: .raw(Base.scopedKey)
        ) { $0.editHeaderSealed.append { $0.flip($0.count - 1) } }
        try forged("header-mac-zero", "R-3.3", .authenticationFailed, one, "The header's MAC is zeros.") {
            $0.editHeaderSealed.append { $0.put([0].times(32), at: 4064) }
        }
        try forged(
            "header-hash-unlabelled", "R-3.2", .headerInvalid, one, "The header hash was made without its label."
        ) {
            $0.editHeaderHashed.append { $0.put(Plain.hash(Array($0[..<4032])).bytes, at: 4032) }
        }
        try forged(
            "header-mac-over-header", "R-3.3", .authenticationFailed, one,
            "The header's MAC covers the header, and not its hash."
        ) {
            forge in
            let index = forge.keys.index
            forge.editHeaderSealed.append {
                $0.put(Plain.mac(index, "vaultfmt-1 header", Array($0[..<4032])), at: 4064)
            }
        }
        try forged(
            "header-mac-under-owner-key", "R-3.3", .authenticationFailed, one,
            "The header's MAC was made under the owner key."
        ) {
            forge in
            let owner = forge.keys.owner
            forge.editHeaderSealed.append {
                $0.put(Plain.mac(owner, "vaultfmt-1 header", Array($0[4032..<4064])), at: 4064)
            }
        }
        try forged(
            "header-mac-unlabelled", "R-3.3", .authenticationFailed, one,
            "The header's MAC was made under another label."
        ) {
            forge in
            let index = forge.keys.index
            forge.editHeaderSealed.append {
                $0.put(Plain.mac(index, "vaultfmt-1 chain", Array($0[4032..<4064])), at: 4064)
            }
        }
        for (name, at, what) in [
            ("padding-late", 4031, "the last byte of the padding"), ("epoch", 40, "the epoch"), ("slot", 100, "a slot"),
        ] {
            try bytes(
                "header-flip-\(name)", "R-3.2", .headerInvalid, one,
                "A bit of \(what) is another one: the hash shows it."
            ) {
                $0.flip(at)
            }
        }
        try forged(
            "header-epoch", "R-3.3", .authenticationFailed, one,
            "Somebody without keys changed the epoch and made the hash again."
        ) { forge in
            forge.editHeader.append { $0.flip(40) }
            // The MAC of the right header, which is all that such a person has.
            let index = forge.keys.index
            forge.editHeaderSealed.append { bytes in
                var right = Array(bytes[..<4032])
                right.flip(40)
                bytes.put(
                    Plain.mac(index, "vaultfmt-1 header", Plain.hash(Plain.label("vaultfmt-1 header") + right).bytes),
                    at: 4064)
            }
        }
        try strangers(
            "header-extension-added", one, "Somebody without keys added an extension and made the hash again."
        ) {
            $0[65] = 1
            $0.put([0, 1, 97, 0, 0], at: Self.slotEnd)
        }
        try strangers(
            "header-owner-part-changed", one, "Somebody without keys changed an owner part and made the hash again."
        ) {
            $0.flip(300)
        }
        try strangers(
            "header-slot-removed", bases.scoped, "Somebody without keys removed a slot and made the hash again."
        ) {
            let length = Int($0[372]) | Int($0[373]) << 8
            $0[64] = 1
            $0.put([0].times(length), at: 372)
        }
        try forged(
            "header-by-scoped-holder", "R-5.24", .authenticationFailed, bases.scoped,
            "The holder of a scoped slot changed a slot's id, and made hash and MAC again: no commit states this header."
        ) { forge in
            let index = forge.keys.index
            let state = try Self.stated(forge)
            forge.editHeaderSealed.append { bytes in
                bytes.flip(68 + 304 + 5)
                let hash = Plain.hash(Plain.label("vaultfmt-1 header") + bytes[..<(bytes.count - 64)]).bytes
                bytes.put(hash + Plain.mac(index, "vaultfmt-1 header", hash), at: bytes.count - 64)
            }
            forge.onCommit(try forge.last(.commit)) { commit, _ in commit.header = state }
        }
    }

    /// The header hash of a forge's header as it is.
    static func stated(_ forge: Forge) throws -> Bytes32 {
        var header = forge.header
        let bytes = try header.encodeWithoutProof()
        return Plain.hash(Plain.label("vaultfmt-1 header") + bytes)
    }

    /// A header that somebody changed who can make the hash, and not the MAC.
    private mutating func strangers(_ name: String, _ base: Base, _ comment: String, _ edit: (inout [UInt8]) -> Void)
        throws
    {
        try bytes(name, "R-3.3", .authenticationFailed, base, comment) { bytes in
            let length = Int(bytes[12]) | Int(bytes[13]) << 8
            edit(&bytes)
            bytes.put(Plain.hash(Plain.label("vaultfmt-1 header") + bytes[..<(length - 64)]).bytes, at: length - 64)
        }
    }

    // MARK: the copy

    private mutating func addCopies(_ bases: Bases) throws {
        try forged(
            "copy-flipped", "R-3.4, R-3.5", .success, bases.one,
            "A bit of the header's copy is another one: no reader that opens looks at it."
        ) {
            $0.editCopy.append { $0.flip(100) }
        }
        try forged("copy-zeros", "R-3.4", .success, bases.one, "The header's copy is zeros.") {
            $0.editCopy.append { $0 = [0].times($0.count) }
        }
        try forged(
            "copy-other-slots", "R-3.4", .noSlotOpens, bases.one,
            "A slot that is only in the header's copy opens nothing.",
            request: .raw([5].times(32))
        ) {
            forge in
            let keys = forge.keys
            forge.editCopy.append { bytes in
                let slot = Slot(
                    id: Bytes16(high: 5, low: 5), kind: .full, factors: .rawKey, SlotParameters(stretch: nil),
                    ownerPart: OwnerPart.size(providerData: 0))
                let made = try keys.slot(
                    slot, .rawKey([5].times(32)), part: OwnerPart(name: ""),
                    nonce: [3].times(24))
                var encoded: [UInt8] = []
                made.encode(into: &encoded)
                bytes.put(encoded, at: 68)
            }
        }
        try forged(
            "copy-heads", "R-3.4, R-7.1", .success, bases.empty,
            "The header's copy is full of heads of commits: the search does not get there."
        ) {
            $0.editCopy.append { bytes in
                for at in stride(from: 0, to: bytes.count, by: 512) {
                    bytes.put([0x76, 0x43, 0x4D, 0x54, 0, 2, 0, 0], at: at)
                }
            }
        }
        try forged(
            "copy-damaged-header", "R-3.4", .headerInvalid, bases.one,
            "A bit of the header is another one, and its copy is right."
        ) {
            $0.editHeaderSealed.append { $0.flip(100) }
            $0.editCopy.append { $0.flip(100) }
        }
    }

    /// A header that is malformed and has a right hash and MAC.
    private mutating func header(
        _ name: String, _ spec: String, _ bases: Bases, _ comment: String,
        _ edit: @escaping (inout [UInt8]) throws -> Void
    ) throws {
        try forged(name, spec, .headerInvalid, bases.one, comment) { $0.editHeader.append(edit) }
    }

    private mutating func extended(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ extensions: [Extension]
    ) throws {
        try forged(name, spec, expect, bases.one, comment) { $0.header.extensions = extensions }
    }
}
