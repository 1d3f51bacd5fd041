/// A slot as stored in the header: a cleartext part and two sealed parts (section 3.1).
///
/// Slots of unknown kinds and factors have the same layout, and are preserved unchanged.
package struct Slot: Equatable, Sendable {
    /// The kind of a slot, which determines the keys that it grants. Format 1 defines two kinds; all others are opaque.
    package struct Kind: RawRepresentable, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Grants the vault key.
        package static let full = Kind(rawValue: 0x01)
        /// Grants the index key, the owners' public key and the keys of some groups.
        package static let scoped = Kind(rawValue: 0x82)

        package var isKnown: Bool { self == .full || self == .scoped }
        /// True if the payload must be sealed again when the epoch changes.
        package var dependsOnEpoch: Bool { rawValue & 0x80 != 0 }
    }

    package var id: Bytes16
    package var kind: Kind
    package var factors: SlotFactors
    /// The bytes that describe how the slot's key is derived from its factors.
    package var parameters: [UInt8]
    /// The decoded `parameters`; nil in an opaque slot.
    package let known: SlotParameters?
    package var commitment: Bytes32
    /// Nonce ‖ sealed payload.
    package var payload: [UInt8]
    /// Nonce ‖ sealed owner part.
    package var owner: [UInt8]

    /// Creates a new slot that is not sealed yet. `ownerPart` is the length of its future owner part, on which the slot
    /// key depends.
    package init(id: Bytes16, kind: Kind, factors: SlotFactors, _ known: SlotParameters, ownerPart: Int) {
        self.id = id
        self.kind = kind
        self.factors = factors
        self.known = known
        parameters = known.encoded()
        commitment = .zero
        payload = [UInt8](repeating: 0, count: kind == .full ? Format.fullPayload : Format.scopedPayload)
        owner = [UInt8](repeating: 0, count: ownerPart)
    }

    /// True if this version does not know the kind or the factors; it then never tries to open the slot.
    package var isOpaque: Bool { known == nil }

    package init(_ bytes: Span<UInt8>, _ parent: inout Cursor) throws(FormatError) {
        let start = parent.position
        let length = try parent.u32(bytes)
        guard length >= 272, length <= UInt32(Format.Limit.slotSize) else {
            throw parent.error("a slot has \(length) bytes")
        }
        let body = try parent.slice(Int(length) - 4, "a slot")
        var cursor = Cursor(over: start + 4..<body.upperBound, of: parent)
        id = try cursor.bytes16(bytes)
        kind = Kind(rawValue: try cursor.u8(bytes))
        factors = SlotFactors(rawValue: try cursor.u8(bytes))
        try cursor.reserved(bytes, 2)
        let parameterCount = try cursor.u32(bytes)
        guard parameterCount <= UInt32(Format.Limit.slotParameters) else {
            throw cursor.error("a slot's parameters have \(parameterCount) bytes")
        }
        let ownerCount = try cursor.u32(bytes)
        guard ownerCount <= UInt32(Format.Limit.slotSize), Format.Limit.ownerPart.contains(Int(ownerCount)) else {
            throw cursor.error("a slot's owner part has \(ownerCount) bytes")
        }
        let range = try cursor.slice(Int(parameterCount), "a slot's parameters")
        parameters = cursor.copy(bytes, range)
        commitment = try cursor.bytes32(bytes)
        let payloadCount = cursor.remaining - Int(ownerCount)
        guard Slot.isPayload(payloadCount, kind) else { throw cursor.error("a slot's payload has the wrong length") }
        payload = cursor.copy(bytes, try cursor.slice(payloadCount, "a slot's payload"))
        owner = cursor.copy(bytes, try cursor.slice(Int(ownerCount), "a slot's owner part"))
        try cursor.finish()
        known =
            kind.isKnown && factors.isKnown ? try SlotParameters(bytes, Cursor(over: range, of: parent), factors) : nil
    }

    package func encode(into out: inout [UInt8]) {
        out.append(contentsOf: clear)
        out.append(contentsOf: payload)
        out.append(contentsOf: owner)
    }

    /// Bytes 0 to 32+p of the slot, which are an input to its key derivation.
    package var derivedOver: [UInt8] {
        var out: [UInt8] = []
        out.append(
            u32: UInt32(Format.slotParametersStart + parameters.count + Format.hashSize + payload.count + owner.count))
        out.append(id)
        out.append(kind.rawValue)
        out.append(factors.rawValue)
        out.append(u16: 0)
        out.append(u32: UInt32(parameters.count))
        out.append(u32: UInt32(owner.count))
        out.append(contentsOf: parameters)
        return out
    }

    /// Bytes 0 to 64+p, to which the payload is bound.
    package var clear: [UInt8] { derivedOver + commitment.bytes }

    /// Bytes 0 to s−o, to which the owner part is bound.
    package var beforeOwner: [UInt8] { clear + payload }

    /// Returns whether a nonce and sealed payload may have this length. Known kinds have a fixed length; others have a
    /// minimum length.
    private static func isPayload(_ count: Int, _ kind: Kind) -> Bool {
        switch kind {
        case .full: count == Format.fullPayload
        case .scoped: count == Format.scopedPayload
        default: count >= Format.nonceSize + Format.Limit.opaquePayload
        }
    }
}
