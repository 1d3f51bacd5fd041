package import VaultBytes
package import VaultStore

/// A state of a vault that a program can remember, in order to detect that the file was rolled back, forked, or
/// replaced by someone else (specification, section 7.2).
public struct Anchor: Equatable, Sendable, LosslessStringConvertible {
    /// The relation of the current state to an anchor (R-7.6).
    public enum Verdict: Sendable, Hashable {
        /// The current state is under a different owners' key, to which no hand-over leads: someone else made the
        /// vault.
        case foreign
        /// The current state includes the same changes as the anchor's state.
        case same
        /// The current state lacks changes that the anchor's state has, and has no others: the file was rolled back.
        case older
        /// The current state includes every change of the anchor's state.
        case descends
        /// Each of the two states has changes that the other one lacks, or the anchor's state is under a replaced key
        /// and has changes that were not handed over.
        case forked

        init(_ ancestry: Ancestry) {
            switch ancestry {
            case .foreign: self = .foreign
            case .same: self = .same
            case .older: self = .older
            case .descends: self = .descends
            case .forked: self = .forked
            }
        }
    }

    /// The vault.
    public let vault: VaultID
    package let point: AnchorPoint

    package init(vault: VaultID, point: AnchorPoint) {
        self.vault = vault
        self.point = point
    }

    /// The state's generation, which is at least 1 and greater than that of every state before it in the file.
    public var generation: UInt64 { point.generation }
    /// The chain value, 32 bytes.
    public var chain: [UInt8] { point.chain.bytes }
    /// The public key of the vault's owners.
    public var owners: OwnersPublicKey { OwnersPublicKey(point.ownersPublicKey) }
    /// The state.
    public var state: StateID { StateID(vault: vault, generation: generation, chainValue: point.chain) }

    /// Parses the form that `description` writes; returns nil for anything else.
    public init?(_ description: String) {
        let parts = description.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6, let state = StateID(parts[..<3].joined(separator: ":")),
            let owners = OwnersPublicKey(String(parts[3])), let floor = Decimal.parse(parts[4]),
            let rows = Self.rows(parts[5]), let vector = Vector(floor: floor, rows: rows)
        else { return nil }
        vault = state.vault
        point = AnchorPoint(
            ownersPublicKey: owners.value, generation: state.generation, chain: state.chainValue, vector: vector)
    }

    private static func rows(_ text: Substring) -> [Vector.Row]? {
        var rows: [Vector.Row] = []
        // A state has at least one row (R-5.33); every state would continue an anchor without rows.
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let halves = part.split(separator: "=", omittingEmptySubsequences: false)
            guard halves.count == 2, let revision = Decimal.parse(halves[1]), revision >= 1,
                let id = Hex.decode(halves[0].prefix(16)), id.count == 8, ["", "!"].contains(halves[0].dropFirst(16))
            else { return nil }
            let number = id.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            rows.append(Vector.Row(number, revision, isSplit: halves[0].count > 16))
        }
        return rows
    }

    /// `VAULT:GENERATION:CHAIN:OWNERS:FLOOR:ROWS`: the vault's id, 32 hexadecimal digits; the generation, decimal; the
    /// chain value and the owners' public key, 64 hexadecimal digits each; the floor, decimal; and the rows of the
    /// vector, separated by commas: the replica id, 16 hexadecimal digits, an exclamation mark if the id is split, an
    /// equals sign, and the revision, decimal. This form will not change.
    public var description: String {
        let rows = point.vector.rows.map { row in
            let digits = String(row.id, radix: 16)
            let id = String(repeating: "0", count: 16 - digits.count) + digits
            return "\(id)\(row.isSplit ? "!" : "")=\(row.revision)"
        }
        return "\(state):\(owners):\(point.vector.floor):\(rows.joined(separator: ","))"
    }
}

/// Identifies one state of a vault.
public struct StateID: Hashable, Sendable, LosslessStringConvertible {
    /// The vault.
    public let vault: VaultID
    /// The state's generation, which is at least 1 and greater than that of every state before it in the file.
    public let generation: UInt64
    package let chainValue: Bytes32

    package init(vault: VaultID, generation: UInt64, chainValue: Bytes32) {
        self.vault = vault
        self.generation = generation
        self.chainValue = chainValue
    }

    /// The chain value, 32 bytes, which is unique to the state.
    public var chain: [UInt8] { chainValue.bytes }

    /// Parses `VAULT:GENERATION:CHAIN`, as written by `description`; returns nil for anything else.
    public init?(_ description: String) {
        let parts = description.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let vault = VaultID(hex: String(parts[0])), let generation = Decimal.parse(parts[1]),
            generation >= 1, let chain = Hex.decode(parts[2]).flatMap({ Bytes32($0) })
        else { return nil }
        self.init(vault: vault, generation: generation, chainValue: chain)
    }

    /// `VAULT:GENERATION:CHAIN`: the vault's id, 32 hexadecimal digits; the generation, decimal; and the chain value,
    /// 64 hexadecimal digits. This form will not change.
    public var description: String { "\(vault):\(generation):\(Hex.encode(chain))" }
}

/// Parses decimal numbers in canonical form only.
private enum Decimal {
    static func parse(_ text: Substring) -> UInt64? {
        UInt64(text).flatMap { "\($0)" == text ? $0 : nil }
    }
}

/// The public key of a vault's owners. It is the same for all slots, and changes with a rotation (specification,
/// section 3.4).
///
/// It is not secret. A program that has this key can refuse a vault made by someone else, even the first time that it
/// opens the vault.
public struct OwnersPublicKey: Hashable, Sendable, LosslessStringConvertible {
    package let value: Bytes32

    package init(_ value: Bytes32) { self.value = value }

    /// Makes a key from its 32 bytes; returns nil for any other length.
    public init?(bytes: [UInt8]) {
        guard let value = Bytes32(bytes) else { return nil }
        self.value = value
    }

    /// Parses 64 hexadecimal digits; returns nil for anything else.
    public init?(_ description: String) {
        guard let bytes = Hex.decode(description) else { return nil }
        self.init(bytes: bytes)
    }

    /// The 32 bytes of the key.
    public var bytes: [UInt8] { value.bytes }

    /// The key as 64 lower-case hexadecimal digits.
    public var description: String { Hex.encode(value.bytes) }
}
