internal import VaultBytes

/// A vault's plaintext, to be altered and sealed again: header, and the bodies of its objects. References between
/// objects are resolved when it is sealed, so that an alteration of one does not merely break the hashes of others.
package struct Recipe: Equatable, Sendable {
    package enum Kind: UInt8, CaseIterable, Sendable {
        case record
        case page
        case past
        case keyring
        case vector
        case commit
        /// Bytes as they are: between objects, or at the end.
        case raw
    }

    package struct Object: Equatable, Sendable {
        package var kind: Kind
        /// What is not made right when it is sealed: bits of `Flag`.
        package var flags: UInt8
        /// What references name it by; the last one with a number holds.
        package var id: UInt8
        /// Without padding. A record's begins with what its locator says, 32 bytes; a commit's is its core.
        package var body: [UInt8]
    }

    package enum Flag {
        /// The padding: the body is sealed as it is.
        static let padding: UInt8 = 1
        /// References, or a keyring's wrapped keys.
        static let references: UInt8 = 2
        /// A commit's own offset and start.
        static let place: UInt8 = 4
        /// A commit's digest.
        static let digest: UInt8 = 8
        /// A commit's hash of the header.
        static let header: UInt8 = 16
        /// A commit's predecessor.
        static let chain: UInt8 = 32
        /// A commit's owner MAC and signature; of the header, hash and MAC.
        static let proofs: UInt8 = 64
        /// A commit's place at a multiple of 512.
        static let alignment: UInt8 = 128
    }

    package var headerFlags: UInt8 = 0
    /// The header without the zeros, hash and MAC at its end.
    package var header: [UInt8]
    package var objects: [Object]

    // MARK: as a fuzzer's input

    /// Any bytes are a recipe: lengths are cut to what is there.
    package init(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        func take(_ count: Int) -> [UInt8] {
            let end = min(position + count, bytes.count)
            defer { position = end }
            return Array(bytes[position..<end])
        }
        func number(_ count: Int) -> Int { take(count).reversed().reduce(0) { $0 << 8 | Int($1) } }
        headerFlags = UInt8(number(1))
        header = take(number(3))
        objects = []
        while position < bytes.count {
            let kind = Kind(rawValue: UInt8(number(1)) % UInt8(Kind.allCases.count)) ?? .raw
            let flags = UInt8(number(1))
            let id = UInt8(number(1))
            objects.append(Object(kind: kind, flags: flags, id: id, body: take(number(3))))
        }
    }

    package init(header: [UInt8], objects: [Object]) {
        self.header = header
        self.objects = objects
    }

    package var encoded: [UInt8] {
        var out: [UInt8] = [headerFlags]
        out += Self.length(header)
        out += header
        for object in objects {
            out += [object.kind.rawValue, object.flags, object.id]
            out += Self.length(object.body)
            out += object.body
        }
        return out
    }

    private static func length(_ part: [UInt8]) -> [UInt8] {
        (0..<3).map { UInt8(truncatingIfNeeded: part.count >> (8 * $0)) }
    }
}

/// A hash that stands for another object until the recipe is sealed: a mark, the object's number, and how wide the
/// offset and length before it are.
struct Reference {
    static let mark = Array("vaultfmt fuzzing".utf8)
    let id: UInt8
    /// Bytes of the varint offset and length right before the hash; both 0 in a commit, where they have fixed widths.
    let offsetWidth: UInt8
    let lengthWidth: UInt8

    init(id: UInt8, offsetWidth: Int, lengthWidth: Int) {
        self.id = id
        self.offsetWidth = UInt8(offsetWidth)
        self.lengthWidth = UInt8(lengthWidth)
    }

    init(_ bytes: ArraySlice<UInt8>) {
        let start = bytes.startIndex + Self.mark.count
        id = bytes[start]
        offsetWidth = bytes[start + 1]
        lengthWidth = bytes[start + 2]
    }

    var placeholder: [UInt8] {
        Self.mark + [id, offsetWidth, lengthWidth] + [UInt8](repeating: 0, count: Format.hashSize - Self.mark.count - 3)
    }

    /// Puts an object's offset, length and hash where the placeholder at `position` says, as far as they fit there.
    func resolve(_ ref: ObjectRef, at position: Int, in body: inout [UInt8]) {
        for (index, byte) in ref.hash.bytes.enumerated() { body[position + index] = byte }
        if offsetWidth == 0, lengthWidth == 0 {
            guard position >= 16 else { return }
            for index in 0..<8 {
                body[position - 16 + index] = UInt8(truncatingIfNeeded: ref.offset >> (8 * UInt64(index)))
            }
            for index in 0..<4 { body[position - 8 + index] = UInt8(truncatingIfNeeded: ref.length >> (8 * index)) }
            return
        }
        var offset: [UInt8] = []
        var length: [UInt8] = []
        offset.append(varint: ref.offset)
        length.append(varint: UInt64(ref.length))
        guard offset.count == offsetWidth, length.count == lengthWidth, position >= offset.count + length.count else {
            return
        }
        for (index, byte) in (offset + length).enumerated() {
            body[position - offset.count - length.count + index] = byte
        }
    }
}
