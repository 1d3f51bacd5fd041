/// An owner's statement that another key succeeds theirs after the state with a certain vector (section 7.3).
package struct HandOver: Hashable, Sendable {
    /// The owners' public key that is replaced.
    package let publicKey: Bytes32
    /// The owners' public key that replaces it.
    package let next: Bytes32
    /// The frame with the vector of the last state under the replaced key.
    package var vector: ObjectRef
    /// The floor of that state.
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
        vector = try ObjectRef(bytes, &cursor)
        floor = try cursor.u64(bytes)
        guard floor <= Format.Limit.number else { throw cursor.error("a hand-over's floor is out of range") }
        signature = cursor.copy(bytes, try cursor.slice(Format.signatureSize, "a hand-over's signature"))
    }

    package func encode(into out: inout [UInt8]) {
        out.append(publicKey)
        out.append(next)
        vector.encode(into: &out)
        out.append(u64: floor)
        out.append(contentsOf: signature)
    }
}
