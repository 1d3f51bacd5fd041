package import VaultBytes
internal import VaultStore

/// One attribute of an item: a name, what kind of value it has, and the value as far as it was read.
///
/// A sealed value that was read is in wiped memory as long as nobody asks for it as an array.
public struct Attribute: Sendable, Equatable {
    /// What kind of value an attribute has (specification, section 6.2).
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The flags as the file has them.
        public let rawValue: UInt8

        /// Makes flags of what the file has.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// As secret as the item's secret: never in the index, and its earlier values are kept.
        public static let sealed = Flags(rawValue: AttributeFlags.sealed.rawValue)
        /// Shown only when asked for.
        public static let concealed = Flags(rawValue: AttributeFlags.concealed.rawValue)
        /// Not text.
        public static let binary = Flags(rawValue: AttributeFlags.binary.rawValue)

        /// Those of an attribute for which nobody states any: `notes` and `otp` are sealed, `conflict` is sealed and
        /// binary, and a name that starts with `sealed:` is sealed.
        public static func usual(for name: String) -> Flags {
            switch name {
            case "notes", "otp": .sealed
            case "conflict": [.sealed, .binary]
            default: name.utf8.starts(with: "sealed:".utf8) ? .sealed : []
            }
        }
    }

    /// Where the value is.
    package enum Content: Sendable {
        /// Here, and not secret.
        case bytes([UInt8])
        /// Here, in wiped memory.
        case secret(SecretBox)
        /// In the item's record, which was not opened.
        case inItemRecord
        /// In a record of its own.
        case inOwnRecord(RecordRef)
    }

    /// 1 to 255 bytes of UTF-8.
    public let name: String
    /// What kind of value it has.
    public let flags: Flags
    package let content: Content
    /// Whether the flags were stated: an attribute for which they were not keeps those that it has in the vault.
    let areFlagsStated: Bool

    init(_ name: String, _ content: Content, flags: Flags?) {
        self.name = name
        self.content = content
        self.flags = flags ?? .usual(for: name)
        areFlagsStated = flags != nil
    }

    /// Makes an attribute. Without flags it has those that the item's attribute of this name has, or the usual ones.
    ///
    /// The value is ordinary memory until it is in a vault: use `init(_:secret:flags:)` for one that is secret.
    public init(_ name: String, _ value: [UInt8], flags: Flags? = nil) { self.init(name, .bytes(value), flags: flags) }

    /// Makes an attribute with a value that stays in wiped memory; it is sealed unless the flags are stated.
    public init(_ name: String, secret value: consuming Secret, flags: Flags = .sealed) {
        self.init(name, .secret(SecretBox(value)), flags: flags)
    }

    /// The same, and without flags as `init(_:_:flags:)`: for callers that do not know yet whether it will be sealed.
    package init(_ name: String, keeping value: consuming Secret, flags: Flags?) {
        self.init(name, .secret(SecretBox(value)), flags: flags)
    }

    /// Whether the value is here. A listing reads values of at most 256 bytes that are not sealed, opening an item
    /// those of at most 4096 bytes; `Vault.attribute(_:of:)` reads any.
    public var isRead: Bool {
        switch content {
        case .bytes, .secret: true
        case .inItemRecord, .inOwnRecord: false
        }
    }

    /// The value; nil where it was not read. A sealed one is copied out of wiped memory: prefer `secret` for those.
    public var value: [UInt8]? {
        switch content {
        case .bytes(let value): value
        case .secret(let box): box.secret.withUnsafeBytes { Array($0) }
        case .inItemRecord, .inOwnRecord: nil
        }
    }

    /// A copy of the value in wiped memory; nil where it was not read.
    public var secret: Secret? {
        switch content {
        case .bytes(let value): Secret(bytes: value)
        case .secret(let box): box.secret.copy()
        case .inItemRecord, .inOwnRecord: nil
        }
    }

    /// Lends the value; nil where it was not read.
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R? {
        switch content {
        case .bytes(let value): value.withUnsafeBytes { body($0) }
        case .secret(let box): box.secret.withUnsafeBytes { body($0) }
        case .inItemRecord, .inOwnRecord: nil
        }
    }

    /// How many bytes the value has; nil where it was not read.
    public var size: Int? {
        switch content {
        case .bytes(let value): value.count
        case .secret(let box): box.secret.count
        case .inItemRecord, .inOwnRecord: nil
        }
    }

    /// The flags as they are in the file, with those that tell where the value is.
    package var fileFlags: AttributeFlags {
        let meaning = AttributeFlags(rawValue: flags.rawValue)
        return switch content {
        case .bytes(let value): meaning.placed(size: value.count)
        case .secret(let box): meaning.placed(size: box.secret.count)
        case .inItemRecord: meaning.union(.inItemRecord)
        case .inOwnRecord: meaning.union(.inOwnRecord)
        }
    }

    /// The same with these flags.
    func with(flags: Flags) -> Attribute { Attribute(name, content, flags: flags) }

    /// Compares names as bytes, flags, and values; secret ones in a time that depends on their lengths only.
    public static func == (left: Attribute, right: Attribute) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8) && left.flags == right.flags && left.hasSameValue(as: right)
    }

    /// Whether both were read, and have the same bytes; how long that takes depends on their number only.
    private func hasEqualBytes(as other: Attribute) -> Bool {
        let isEqual = withUnsafeBytes { own in
            other.withUnsafeBytes { others in
                own.count == others.count && zip(own, others).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
            }
        }
        return isEqual == .some(.some(true))
    }

    /// Whether both have the same value, as far as both were read, or both refer to the same one.
    func hasSameValue(as other: Attribute) -> Bool {
        switch (content, other.content) {
        case (.inItemRecord, .inItemRecord): true
        case (.inOwnRecord(let left), .inOwnRecord(let right)): left == right
        default: hasEqualBytes(as: other)
        }
    }
}
