internal import VaultBytes

/// A slot, as far as its reader may know it.
public struct SlotInfo: Sendable, Hashable {
    /// What a slot opens.
    public enum Kind: Sendable, Hashable {
        /// Everything.
        case full
        /// The index, and the secrets of some access groups.
        case scoped
        /// A kind that this version does not know: its number.
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

    /// How hard it is to open a slot without its factors.
    public enum Strength: Sendable, Hashable {
        /// As hard as its key is: nothing is stretched.
        case ofKey
        /// As hard as its passphrase or file, stretched at this cost.
        case stretched(KDFCost)
        /// Not known: the slot is of a kind, or takes factors, that this version does not know.
        case unknown
    }

    /// Random. It stays when the slot's name or grants change, and is new when its factors change.
    public let id: SlotID
    /// What it opens.
    public let kind: Kind
    /// What it takes to open it, all together.
    public let factors: FactorKinds
    /// How hard it is to open without them.
    public let strength: Strength
    /// Who makes its external key, if it has one.
    public let provider: String?
    /// Its name; nil for anyone but an owner.
    public let name: String?
    /// When it was made, or its name or grants were changed last (a hybrid logical clock); nil for anyone but an owner.
    public let revision: UInt64?
    /// The device that did that, if one was given; nil for anyone but an owner.
    public let device: DeviceID?
    /// The access groups that a scoped slot opens; nil for any other, and for anyone but an owner.
    public let groups: [String]?
    /// Whether it is the one that opened this vault.
    public let openedThis: Bool

    /// Whether it opens everything.
    public var isFull: Bool { kind == .full }
    /// Whether this version knows its kind and factors; it never tries to open another one.
    public var isKnown: Bool { strength != .unknown }

    /// The key derivation's cost, if there is one.
    public var cost: KDFCost? {
        if case .stretched(let cost) = strength { cost } else { nil }
    }

    /// Whether its key derivation is below the floor. Of an unknown slot nobody can tell.
    public var isWeak: Bool { cost?.isWeak ?? false }
}

extension SlotInfo {
    /// What a header shows of a slot, and what its owner part says, if that was read.
    init(_ slot: Slot, part: OwnerPart? = nil, groups: [String]? = nil, openedThis: Bool = false) {
        id = SlotID(slot.id)
        kind = Kind(slot.kind)
        factors = FactorKinds(slot.factors)
        if let known = slot.known {
            strength = known.stretch.map { .stretched(KDFCost($0.cost)) } ?? .ofKey
        } else {
            strength = .unknown
        }
        provider = slot.known?.provider?.name
        name = part?.name
        revision = part?.revision
        device = part.flatMap { $0.device == .zero ? nil : DeviceID($0.device) }
        self.groups = groups
        self.openedThis = openedThis
    }
}
