internal import VaultBytes

/// What orders the values of one item on all machines: a revision, and the id of the device that made it.
struct Stamp: Hashable, Comparable, Sendable {
    let revision: UInt64
    /// Zero for a device without a name.
    let device: Bytes16

    static func < (left: Stamp, right: Stamp) -> Bool {
        (left.revision, left.device) < (right.revision, right.device)
    }
}

/// A value that lost in a merge, with the revision and device of the item that had it (specification, section 8).
struct LostValue: Sendable {
    /// What kind of field it was, as the attribute has it.
    enum Kind: UInt8 {
        case secret = 0
        case attribute = 1
        case keyField = 2
        case accessibility = 3
    }

    let stamp: Stamp
    let kind: Kind
    /// Of an attribute, without where its value was.
    var flags: AttributeFlags = []
    /// Of an attribute or a field of the key.
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

    /// The order of the entries: as bytes.
    static func precedes(_ left: LostValue, _ right: LostValue) -> Bool {
        let (one, other) = (left.head, right.head)
        guard one == other else { return ByteOrder.isLess(one, other) }
        return left.value.secret.compare(right.value.secret) < 0
    }

    func isSame(as other: LostValue) -> Bool { stamp == other.stamp && hasSameValue(as: other) }

    /// Whether it is the same value of the same field, whoever had it.
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

/// The attribute that holds what a merge left to settle: sealed, binary, and a sequence of entries in strictly
/// ascending order.
enum ConflictAttribute {
    static let name = "conflict"
    static let flags: Attribute.Flags = [.sealed, .binary]

    /// Throws `limitExceeded` for more than a value can hold.
    static func attribute(_ lost: [LostValue]) throws(VaultError) -> Attribute {
        let entries = lost.sorted(by: LostValue.precedes)
        let size = entries.reduce(0) { $0 + $1.size }
        guard size <= Format.Limit.attributeValue else {
            throw VaultError(.limitExceeded, "the values that an item lost in merges take \(size) bytes: settle some")
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

    /// The entries of both sides; what one side has settled, which the base had, stays settled.
    static func united(_ mine: [LostValue], _ other: [LostValue], base: [LostValue]) -> [LostValue] {
        var out: [LostValue] = []
        for entry in mine {
            if contains(other, entry) || !contains(base, entry) { out.append(entry) }
        }
        for entry in other where !contains(mine, entry) && !contains(base, entry) { out.append(entry) }
        return out
    }

    /// Without repetitions.
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
            throw cursor.error("a conflict of an unknown kind")
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
    /// Negative, zero or positive, as the bytes stand to others.
    borrowing func compare(_ other: borrowing Secret) -> Int {
        withSpan { own in other.withSpan { ByteOrder.compare(own, 0..<own.count, $0, 0..<$0.count) } }
    }
}
