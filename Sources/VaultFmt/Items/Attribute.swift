package import VaultBytes
internal import VaultStore

/// An attribute of an item: its name, its flags and, if it was read, its value.
///
/// A sealed value that was read is kept in memory that is wiped after use, unless it is requested as an array.
public struct Attribute: Sendable, Equatable {
    /// The kind of an attribute's value (specification, section 6.2).
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The flags as stored in the file.
        public let rawValue: UInt8

        /// Makes flags from their stored value.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The value is protected like the item's secret: it is never stored in the index, and its earlier values are
        /// kept.
        public static let sealed = Flags(rawValue: AttributeFlags.sealed.rawValue)
        /// The value is shown only on request.
        public static let concealed = Flags(rawValue: AttributeFlags.concealed.rawValue)
        /// The value is not text.
        public static let binary = Flags(rawValue: AttributeFlags.binary.rawValue)

        /// Returns the default flags of an attribute: `notes`, `otp` and all names that start with `sealed:` are
        /// sealed.
        public static func usual(for name: String) -> Flags {
            switch name {
            case "notes", "otp": .sealed
            default: name.utf8.starts(with: "sealed:".utf8) ? .sealed : []
            }
        }
    }

    /// The value or its storage location.
    package enum Content: Sendable {
        /// An unsealed value in ordinary memory.
        case bytes([UInt8])
        /// A value in memory that is wiped after use.
        case secret(SecretBox)
        /// A value in the item's record, which was not opened.
        case inItemRecord
        /// A value in a separate record.
        case inOwnRecord(RecordRef)
    }

    /// The name: 1 to 255 bytes of UTF-8.
    public let name: String
    /// The kind of the value.
    public let flags: Flags
    package let content: Content
    /// True if the caller gave flags; if false, the attribute keeps its flags in the vault.
    package let areFlagsStated: Bool

    init(_ name: String, _ content: Content, flags: Flags?) {
        self.name = name
        self.content = content
        self.flags = flags ?? .usual(for: name)
        areFlagsStated = flags != nil
    }

    /// Makes an attribute. If no flags are given, an existing attribute with this name keeps its flags, and a new one
    /// gets the default flags.
    ///
    /// The value is held in ordinary memory until it is stored in a vault; for a secret value, use
    /// `init(_:secret:flags:)`.
    public init(_ name: String, _ value: [UInt8], flags: Flags? = nil) { self.init(name, .bytes(value), flags: flags) }

    /// Makes an attribute whose value is kept in memory that is wiped after use. The attribute is sealed unless other
    /// flags are given.
    public init(_ name: String, secret value: consuming Secret, flags: Flags = .sealed) {
        self.init(name, .secret(SecretBox(value)), flags: flags)
    }

    /// Makes an attribute whose value is kept in memory that is wiped after use. Omitted flags are treated as in
    /// `init(_:_:flags:)`, for callers that do not know yet whether the attribute will be sealed.
    package init(_ name: String, keeping value: consuming Secret, flags: Flags?) {
        self.init(name, .secret(SecretBox(value)), flags: flags)
    }

    /// True if the value was read. A listing reads unsealed values of at most 256 bytes; opening an item reads values
    /// of at most 4096 bytes; `Vault.attribute(_:of:)` reads any value.
    public var isRead: Bool {
        switch content {
        case .bytes, .secret: true
        case .inItemRecord, .inOwnRecord: false
        }
    }

    /// The value; nil if it was not read. A sealed value is copied into ordinary memory; use `secret` to avoid this.
    public var value: [UInt8]? {
        switch content {
        case .bytes(let value): value
        case .secret(let box): box.secret.withUnsafeBytes { Array($0) }
        case .inItemRecord, .inOwnRecord: nil
        }
    }

    /// A copy of the value in memory that is wiped after use; nil if the value was not read.
    public var secret: Secret? {
        switch content {
        case .bytes(let value): Secret(bytes: value)
        case .secret(let box): box.secret.copy()
        case .inItemRecord, .inOwnRecord: nil
        }
    }

    /// Passes the value to a closure; returns nil if the value was not read.
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R? {
        switch content {
        case .bytes(let value): value.withUnsafeBytes { body($0) }
        case .secret(let box): box.secret.withUnsafeBytes { body($0) }
        case .inItemRecord, .inOwnRecord: nil
        }
    }

    /// The length of the value in bytes; nil if the value was not read.
    public var size: Int? {
        switch content {
        case .bytes(let value): value.count
        case .secret(let box): box.secret.count
        case .inItemRecord, .inOwnRecord: nil
        }
    }

    /// The flags as stored in the file, including those that indicate where the value is stored.
    package var fileFlags: AttributeFlags {
        let meaning = AttributeFlags(rawValue: flags.rawValue)
        return switch content {
        case .bytes(let value): meaning.placed(size: value.count)
        case .secret(let box): meaning.placed(size: box.secret.count)
        case .inItemRecord: meaning.union(.inItemRecord)
        case .inOwnRecord: meaning.union(.inOwnRecord)
        }
    }

    /// Returns a copy with different flags.
    package func with(flags: Flags) -> Attribute { Attribute(name, content, flags: flags) }

    /// Compares names (bytewise), flags and values. The time taken to compare secret values depends only on their
    /// lengths.
    public static func == (left: Attribute, right: Attribute) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8) && left.flags == right.flags && left.hasSameValue(as: right)
    }

    /// Returns whether both values were read and have the same bytes, in a time that depends only on their lengths.
    private func hasEqualBytes(as other: Attribute) -> Bool {
        let isEqual = withUnsafeBytes { own in
            other.withUnsafeBytes { others in
                own.count == others.count && zip(own, others).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
            }
        }
        return isEqual == .some(.some(true))
    }

    /// Returns whether both attributes have the same value: both values were read and are equal, or both attributes
    /// refer to the same stored value.
    func hasSameValue(as other: Attribute) -> Bool {
        switch (content, other.content) {
        case (.inItemRecord, .inItemRecord): true
        case (.inOwnRecord(let left), .inOwnRecord(let right)): left == right
        default: hasEqualBytes(as: other)
        }
    }
}
