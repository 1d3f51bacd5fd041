package import VaultBytes

/// A vault's id: 16 random bytes, chosen when it is created and never changed (specification, section 3).
public struct VaultID: Hashable, Sendable, CustomStringConvertible {
    package let bytes: Bytes16

    package init(_ bytes: Bytes16) { self.bytes = bytes }

    /// Reads 32 hexadecimal digits; nil if it is anything else.
    public init?(hex: String) {
        guard let bytes = Hex.decode(hex).flatMap({ Bytes16($0) }) else { return nil }
        self.bytes = bytes
    }

    /// 32 hexadecimal digits.
    public var description: String { Hex.encode(bytes.bytes) }
}

/// An item's id: 16 random bytes, kept as long as the item is, also when it is renamed.
public struct ItemID: Hashable, Sendable, CustomStringConvertible {
    package let bytes: Bytes16

    init(_ bytes: Bytes16) { self.bytes = bytes }

    /// Reads 32 hexadecimal digits; nil if it is anything else.
    public init?(hex: String) {
        guard let bytes = Hex.decode(hex).flatMap({ Bytes16($0) }) else { return nil }
        self.bytes = bytes
    }

    /// 32 hexadecimal digits.
    public var description: String { Hex.encode(bytes.bytes) }
}

/// A slot's id: 16 random bytes.
public struct SlotID: Hashable, Sendable, CustomStringConvertible {
    package let bytes: Bytes16

    init(_ bytes: Bytes16) { self.bytes = bytes }

    /// Reads 32 hexadecimal digits; nil if it is anything else.
    public init?(hex: String) {
        guard let bytes = Hex.decode(hex).flatMap({ Bytes16($0) }) else { return nil }
        self.bytes = bytes
    }

    /// 32 hexadecimal digits.
    public var description: String { Hex.encode(bytes.bytes) }
}

/// A device's id: 16 random bytes, not zero; the device's secret belongs to it.
public struct DeviceID: Hashable, Sendable, CustomStringConvertible {
    package let bytes: Bytes16

    init(_ bytes: Bytes16) { self.bytes = bytes }

    /// Reads 32 hexadecimal digits; nil if it is anything else, or zero.
    public init?(hex: String) {
        guard let bytes = Hex.decode(hex).flatMap({ Bytes16($0) }), bytes != .zero else { return nil }
        self.bytes = bytes
    }

    /// 32 hexadecimal digits.
    public var description: String { Hex.encode(bytes.bytes) }
}
