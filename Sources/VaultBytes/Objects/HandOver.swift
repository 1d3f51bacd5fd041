/// A statement, signed by an owner, that a new key replaces the owners' key after the state with a certain vector
/// (section 7.3).
package struct HandOver: Hashable, Sendable {
    /// The owners' public key that is replaced.
    package let publicKey: Bytes32
    /// The owners' public key that replaces the previous key.
    package let next: Bytes32
    /// The frame that contains the vector of the last state under the replaced key.
    package var vector: ObjectRef
    /// The floor of the last state under the replaced key.
    package let floor: UInt64
    /// The signature, 64 bytes.
    package let signature: [UInt8]

    package init(publicKey: Bytes32, next: Bytes32, vector: ObjectRef, floor: UInt64, signature: [UInt8]) {
        self.publicKey = publicKey
        self.next = next
        self.vector = vector
        self.floor = floor
        self.signature = signature
    }

    package init(_ bytes: Span<UInt8>, _ cursor: inout Cursor) throws(FormatError) {
        publicKey = try cursor.bytes32(bytes)
        next = try cursor.bytes32(bytes)
        floor = try cursor.u64(bytes)
        guard floor <= Format.Limit.number else { throw cursor.error("a hand-over's floor is out of range") }
        guard publicKey != next else { throw cursor.error("the two keys in a hand-over are identical") }
        vector = try ObjectRef(bytes, &cursor)
        signature = cursor.copy(bytes, try cursor.slice(Format.signatureSize, "a hand-over's signature"))
    }

    /// Returns whether a keyring lists this hand-over before the other.
    package static func precedes(_ left: HandOver, _ right: HandOver) -> Bool {
        let (own, others) = (left.publicKey.bytes + left.next.bytes, right.publicKey.bytes + right.next.bytes)
        let (one, other) = (own + left.signature, others + right.signature)
        return ByteOrder.compare(one.span, 0..<one.count, other.span, 0..<other.count) < 0
    }

    package func encode(into out: inout [UInt8]) {
        out.append(publicKey)
        out.append(next)
        out.append(u64: floor)
        vector.encode(into: &out)
        out.append(contentsOf: signature)
    }
}
