package import VaultBytes

/// The kinds of objects that an ``Identifier`` can identify.
public enum Identified {
    /// A vault; its id is chosen at creation and never changes (specification, section 3).
    public enum OfVault {}
    /// An item; its id never changes, even if the item is moved.
    public enum OfItem {}
    /// A slot.
    public enum OfSlot {}
    /// A device; its id is never zero and belongs to the device's secret.
    public enum OfDevice {}
}

/// The id of a vault, an item, a slot or a device: 16 random bytes.
public struct Identifier<Kind>: Hashable, Sendable, CustomStringConvertible {
    package let bytes: Bytes16

    package init(_ bytes: Bytes16) { self.bytes = bytes }

    /// Parses 32 hexadecimal digits. Returns nil for anything else, and for a device id of zero.
    public init?(hex: String) {
        guard let bytes = Hex.decode(hex).flatMap({ Bytes16($0) }),
            bytes != .zero || Kind.self != Identified.OfDevice.self
        else { return nil }
        self.bytes = bytes
    }

    /// The id as 32 hexadecimal digits.
    public var description: String { Hex.encode(bytes.bytes) }
}

/// The id of a vault.
public typealias VaultID = Identifier<Identified.OfVault>
/// The id of an item.
public typealias ItemID = Identifier<Identified.OfItem>
/// The id of a slot.
public typealias SlotID = Identifier<Identified.OfSlot>
/// The id of a device.
public typealias DeviceID = Identifier<Identified.OfDevice>
