internal import VaultBytes

/// A revision and the id of the device that made it, which order the values of an item identically on all machines.
struct Stamp: Hashable, Comparable, Sendable {
    let revision: UInt64
    /// The device; zero if it is unknown.
    let device: Bytes16

    static func < (left: Stamp, right: Stamp) -> Bool {
        (left.revision, left.device) < (right.revision, right.device)
    }
}

/// A value that lost in a merge, with the revision and device of its item (specification, section 8).
struct LostValue: Sendable {
    /// The kind of the field, as encoded in the attribute.
    enum Kind: UInt8 {
        case secret = 0
        case attribute = 1
        case keyField = 2
        case accessibility = 3
    }

    let stamp: Stamp
    let kind: Kind
    /// The flags of an attribute, without those that indicate where its value was stored.
    var flags: AttributeFlags = []
    /// The name of an attribute or of a field of the key.
    var name = ""
    let value: SecretBox

    var field: ConflictField {
        switch kind {
        case .secret: .secret
        case .attribute: .attribute(name)
        case .keyField: .keyField(name)
        case .accessibility: .accessibility
        }
    }

    init(_ stamp: Stamp, _ kind: Kind, flags: AttributeFlags = [], name: String = "", _ value: SecretBox) {
        self.stamp = stamp
        self.kind = kind
        self.flags = flags
        self.name = name
        self.value = value
    }

    /// The size of the entry.
    var size: Int { 31 + name.utf8.count + value.secret.count }

    /// The entry up to its value.
    private var head: [UInt8] {
        var out: [UInt8] = []
        out.append(u64: stamp.revision.byteSwapped)
        out.append(stamp.device)
        out += [kind.rawValue, flags.rawValue, UInt8(name.utf8.count)]
        out += Array(name.utf8)
        out.append(u32: UInt32(value.secret.count))
        return out
    }

    /// Orders entries by their bytes.
    static func precedes(_ left: LostValue, _ right: LostValue) -> Bool {
        let (one, other) = (left.head, right.head)
        guard one == other else { return ByteOrder.isLess(one, other) }
        return left.value.secret.compare(right.value.secret) < 0
    }

    func isSame(as other: LostValue) -> Bool { stamp == other.stamp && hasSameValue(as: other) }

    /// Returns whether both are the same value of the same field, whatever their revisions and devices.
    func hasSameValue(as other: LostValue) -> Bool {
        kind == other.kind && flags == other.flags && name.utf8.elementsEqual(other.name.utf8)
            && value.secret.equals(other.value.secret)
    }

    fileprivate func write(to out: UnsafeMutableRawBufferPointer) {
        let head = head
        out.copyBytes(from: head)
        value.secret.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: out[head.count...]).copyMemory(from: $0)
        }
    }
}

/// The attribute that holds the values that a merge left for the user to settle. It is sealed and binary, and contains
/// entries in strictly ascending order.
enum ConflictAttribute {
    static let name = "conflict"
    static let flags: Attribute.Flags = [.sealed, .binary]

    /// Makes the attribute. Throws `limitExceeded` if the entries do not fit in a value.
    static func attribute(_ lost: [LostValue]) throws(VaultError) -> Attribute {
        let entries = lost.sorted(by: LostValue.precedes)
        let size = entries.reduce(0) { $0 + $1.size }
        guard size <= Format.Limit.attributeValue else {
            throw VaultError(
                .limitExceeded, "an item's conflicts take up \(size) bytes, which is too much: settle some of them")
        }
        var value = try Secret(allocating: size)
        value.withUnsafeMutableBytes { out in
            var position = 0
            for entry in entries {
                entry.write(to: UnsafeMutableRawBufferPointer(rebasing: out[position..<position + entry.size]))
                position += entry.size
            }
        }
        return Attribute(name, secret: value, flags: flags)
    }

    static func decode(_ value: borrowing Secret) throws(VaultError) -> [LostValue] {
        try value.withSpan { (bytes) throws(VaultError) in
            var lost: [LostValue] = []
            var cursor = Cursor(bytes, at: 0, else: .structureInvalid)
            while cursor.remaining > 0 {
                let entry = try decoding { () throws(FormatError) in try LostValue(bytes, &cursor) }
                if let last = lost.last, !LostValue.precedes(last, entry) {
                    throw VaultError(.structureInvalid, "the entries of a conflict are out of order")
                }
                lost.append(entry)
            }
            return lost
        }
    }

    /// Returns the entries of both sides, except those of the base that one side has settled.
    static func united(_ mine: [LostValue], _ other: [LostValue], base: [LostValue]) -> [LostValue] {
        var out: [LostValue] = []
        for entry in mine {
            if contains(other, entry) || !contains(base, entry) { out.append(entry) }
        }
        for entry in other where !contains(mine, entry) && !contains(base, entry) { out.append(entry) }
        return out
    }

    /// Returns the entries without duplicates.
    static func union(_ all: [LostValue]) -> [LostValue] {
        all.reduce(into: []) { out, entry in if !contains(out, entry) { out.append(entry) } }
    }

    private static func contains(_ all: [LostValue], _ entry: LostValue) -> Bool {
        all.contains { $0.isSame(as: entry) }
    }
}

extension LostValue {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        let revision = try cursor.u64(bytes).byteSwapped
        stamp = Stamp(revision: revision, device: try cursor.bytes16(bytes))
        guard let kind = Kind(rawValue: try cursor.u8(bytes)) else {
            throw cursor.error("a conflict has an unknown kind")
        }
        self.kind = kind
        flags = AttributeFlags(rawValue: try cursor.u8(bytes))
        let length = Int(try cursor.u8(bytes))
        name = try cursor.text(bytes, try cursor.slice(length, "a conflict's name"))
        let size = Int(try cursor.u32(bytes))
        let value = try cursor.slice(size, "a conflict's value")
        self.value = SecretBox(bytes.extracting(value).bytes.withUnsafeBytes { Secret(copying: $0) })
    }
}

extension Secret {
    /// Returns a negative number, zero or a positive number, depending on the order of the bytes.
    borrowing func compare(_ other: borrowing Secret) -> Int {
        withSpan { own in other.withSpan { ByteOrder.compare(own, 0..<own.count, $0, 0..<$0.count) } }
    }
}
