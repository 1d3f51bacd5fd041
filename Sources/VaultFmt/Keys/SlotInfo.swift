internal import VaultBytes

/// The information about a slot that a program can see.
public struct SlotInfo: Sendable, Hashable {
    /// The kind of a slot, which determines the keys that it grants.
    public enum Kind: Sendable, Hashable {
        /// The slot grants access to everything.
        case full
        /// The slot grants access to the index and the secrets of some access groups.
        case scoped
        /// A kind that this version does not know, with its number.
        case unknown(UInt8)

        init(_ kind: Slot.Kind) {
            switch kind {
            case .full: self = .full
            case .scoped: self = .scoped
            default: self = .unknown(kind.rawValue)
            }
        }

        /// The number of the kind in the file (specification, section 3.1).
        public var number: UInt8 {
            switch self {
            case .full: Slot.Kind.full.rawValue
            case .scoped: Slot.Kind.scoped.rawValue
            case .unknown(let number): number
            }
        }

        /// The name of the kind: `full`, `scoped`, or `unknown kind 17`.
        public var name: String {
            switch self {
            case .full: "full"
            case .scoped: "scoped"
            case .unknown(let number): "unknown kind \(number)"
            }
        }
    }

    /// The difficulty of opening a slot without its factors.
    public enum Strength: Sendable, Hashable {
        /// As difficult as guessing its key, which is not stretched.
        case ofKey
        /// As difficult as guessing its passphrase or file, at this cost for each guess.
        case stretched(KDFCost)
        /// Unknown, because this version does not know the slot's kind or one of its factors.
        case unknown
    }

    /// The slot's random id, which does not change with its name, factors or grants.
    public let id: SlotID
    /// The kind of the slot.
    public let kind: Kind
    /// The factors that together open the slot.
    public let factors: FactorKinds
    /// The difficulty of opening the slot without its factors.
    public let strength: Strength
    /// The provider of the slot's external key, if it has one.
    public let provider: String?
    /// The data that the provider stored for everyone; for `age`, the stanzas.
    public let providerParameters: [UInt8]?
    /// The data that the provider stored for owners; for `age`, the recipients. Nil unless an owner opened the vault.
    public let providerData: [UInt8]?
    /// The slot's name; nil unless an owner opened the vault.
    public let name: String?
    /// The revision of the slot's creation, or of the last change to its name, factors or provider's data (a hybrid
    /// logical clock value).
    public let revision: UInt64
    /// The access groups that a scoped slot opens; nil for any other slot, or unless an owner opened the vault.
    public let groups: [String]?
    /// True if the vault was opened with this slot.
    public let openedThis: Bool

    /// True if the slot grants access to everything.
    public var isFull: Bool { kind == .full }
    /// True if this version knows the slot's kind and factors; other slots are never tried.
    public var isKnown: Bool { strength != .unknown }

    /// The cost of the slot's key derivation, if it has one.
    public var cost: KDFCost? {
        if case .stretched(let cost) = strength { cost } else { nil }
    }

    /// True if the cost of the slot's key derivation is below the floor; false for an unknown slot.
    public var isWeak: Bool { cost?.isWeak ?? false }
}

extension SlotInfo {
    /// Combines the header's and the keyring's information about a slot with the slot's owner part, if that was read.
    init(
        _ slot: Slot, part: OwnerPart? = nil, dots: SlotDots?, groups: [String]? = nil, openedThis: Bool = false
    ) {
        id = SlotID(slot.id)
        kind = Kind(slot.kind)
        factors = FactorKinds(slot.factors)
        if let known = slot.known {
            strength = known.stretch.map { .stretched(KDFCost($0.cost)) } ?? .ofKey
        } else {
            strength = .unknown
        }
        provider = slot.known?.provider?.name
        providerParameters = slot.known?.provider?.parameters
        providerData = slot.known?.provider == nil ? nil : part?.providerData
        name = part?.name
        revision = dots?.changed.revision ?? 0
        self.groups = groups
        self.openedThis = openedThis
    }
}
