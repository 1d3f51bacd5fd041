/// A slot as it stands in the header: clear parameters and two sealed parts (section 3.1).
package struct Slot: Equatable, Sendable {
    package enum Kind: UInt8, Sendable {
        case full = 1
        case scoped = 2
    }

    /// Argon2id's cost; nil where no factor needs stretching.
    package struct Cost: Hashable, Sendable {
        package var memoryKiB: UInt32
        package var passes: UInt32
        package var lanes: UInt32

        package init(memoryKiB: UInt32, passes: UInt32, lanes: UInt32) {
            self.memoryKiB = memoryKiB
            self.passes = passes
            self.lanes = lanes
        }
    }

    package static let passphrase: UInt8 = 1
    package static let generatedKeyFile: UInt8 = 2
    package static let otherKeyFile: UInt8 = 4
    package static let rawKey: UInt8 = 8
    package static func isStretched(_ factors: UInt8) -> Bool { factors & (passphrase | otherKeyFile) != 0 }

    package var id: Bytes16
    package var kind: Kind
    package var factors: UInt8
    package var cost: Cost?
    package var salt: Bytes16
    package var commitment: Bytes32
    /// Nonce ‖ sealed vault key or grants.
    package var payload: [UInt8]
    /// Nonce ‖ sealed name and wrapping key.
    package var owner: [UInt8]

    package init(id: Bytes16, kind: Kind, factors: UInt8, cost: Cost?, salt: Bytes16) {
        self.id = id
        self.kind = kind
        self.factors = factors
        self.cost = cost
        self.salt = salt
        commitment = .zero
        payload = []
        owner = []
    }

    package init(_ bytes: Span<UInt8>, _ parent: inout Cursor) throws(FormatError) {
        let start = parent.position
        let length = Int(try parent.u16(bytes))
        guard length >= Format.slotPayloadStart + Format.slotOwnerSize else { throw parent.error("a slot of \(length) bytes") }
        var cursor = Cursor(over: start + 2..<(try parent.take(length - 2, "a slot").upperBound), of: parent)
        id = try cursor.bytes16(bytes)
        guard let kind = Kind(rawValue: try cursor.u8(bytes)) else { throw cursor.error("a slot of an unknown kind") }
        self.kind = kind
        factors = try cursor.u8(bytes)
        guard [1, 2, 3, 4, 5, 8].contains(factors) else { throw cursor.error("a slot with unknown factors") }
        let figures = Cost(memoryKiB: try cursor.u32(bytes), passes: try cursor.u32(bytes), lanes: try cursor.u32(bytes))
        salt = try cursor.bytes16(bytes)
        cost = try Slot.checked(figures, salt, factors: factors, cursor)
        commitment = try cursor.bytes32(bytes)
        let nonce = try cursor.take(Format.nonceSize, "a slot's nonce")
        let size = try cursor.u32(bytes)
        guard Slot.isPayloadSize(size, kind) else { throw cursor.error("a slot's payload has \(size) bytes") }
        let sealed = try cursor.take(Int(size), "a slot's payload")
        payload = cursor.copy(bytes, nonce) + cursor.copy(bytes, sealed)
        owner = cursor.copy(bytes, try cursor.take(Format.slotOwnerSize, "a slot's owner part"))
        try cursor.finish()
    }

    package func encode(into out: inout [UInt8]) {
        out.append(u16: UInt16(Format.slotPayloadStart - Format.nonceSize + payload.count + owner.count))
        out.append(contentsOf: parameters)
        out.append(commitment)
        out.append(contentsOf: payload[..<Format.nonceSize])
        out.append(u32: UInt32(payload.count - Format.nonceSize))
        out.append(contentsOf: payload[Format.nonceSize...])
        out.append(contentsOf: owner)
    }

    /// Bytes 2 to 48 of the slot: what its key is derived over.
    package var parameters: [UInt8] {
        var out: [UInt8] = []
        out.append(id)
        out.append(kind.rawValue)
        out.append(factors)
        out.append(u32: cost?.memoryKiB ?? 0)
        out.append(u32: cost?.passes ?? 0)
        out.append(u32: cost?.lanes ?? 0)
        out.append(salt)
        return out
    }

    /// Bytes 2 to 80: what its sealed parts are bound to.
    package var clear: [UInt8] { parameters + commitment.bytes }

    ///
    private static func checked(_ cost: Cost, _ salt: Bytes16, factors: UInt8, _ cursor: Cursor) throws(FormatError) -> Cost? {
        guard isStretched(factors) else {
            guard cost == Cost(memoryKiB: 0, passes: 0, lanes: 0), salt == .zero else {
                throw cursor.error("a slot without a passphrase has KDF figures")
            }
            return nil
        }
        let isPossible = (1...0xFF_FFFF).contains(cost.lanes) && cost.passes >= 1 && UInt64(cost.memoryKiB) >= 8 * UInt64(cost.lanes)
        guard isPossible else {
            throw cursor.error(
                "a slot's KDF figures are out of range: memory \(cost.memoryKiB) KiB, passes \(cost.passes), lanes \(cost.lanes)")
        }
        return cost
    }

    /// Sealed: the vault key, or keys and at most 32 grants padded to the step.
    private static func isPayloadSize(_ sealed: UInt32, _ kind: Kind) -> Bool {
        let size = Int(sealed) - Format.tagSize
        switch kind {
        case .full: return size == Format.keySize
        case .scoped:
            let most = ScopedPayload.size(groups: Format.Limit.grantedGroups)
            return (Format.scopedPayloadStep...most).contains(size) && size % Format.scopedPayloadStep == 0
        }
    }
}

/// What a scoped slot unwraps to, but for the keys themselves: how the payload is laid out.
package enum ScopedPayload {
    /// 64 bytes of keys, a count, the grants, padded (section 3.1).
    package static func size(groups: Int) -> Int {
        let bytes = 2 * Format.keySize + 1 + groups * Format.groupGrantSize
        return (bytes + Format.scopedPayloadStep - 1) / Format.scopedPayloadStep * Format.scopedPayloadStep
    }
}
