package import VaultBytes
internal import VaultCrypto

/// The stored form of a state's vector: a frame, and its base frame if it has one (section 5.5).
package struct StoredVector: Sendable {
    package let ref: ObjectRef
    /// The base frame and its rows.
    let base: (ref: ObjectRef, rows: [Vector.Row])?
    /// The rows of the frame. In the row of the commit's own id, the state may have a different revision.
    package let rows: Vector

    /// The frames in which the vector is stored.
    package var frames: [ObjectRef] { [ref] + (base.map { [$0.ref] } ?? []) }

    /// Returns the vector of a state whose commit refers to the frame.
    package func vector(of commit: Commit) throws(VaultError) -> Vector {
        var vector = rows
        if let own = commit.own {
            guard let row = rows.row(of: own.id), !row.isSplit, row.revision <= own.revision else {
                throw VaultError(
                    .structureInvalid, "a commit's own id is not in its vector, or is split", at: commit.offset)
            }
            vector.include(own.id, own.revision)
        }
        guard vector.clock == commit.clock else {
            throw VaultError(.structureInvalid, "a commit's clock differs from its vector's clock", at: commit.offset)
        }
        return vector
    }
}

extension PageSource {
    /// Reads the vector of a state.
    package func vector(of commit: Commit) throws(VaultError) -> StoredVector {
        // The reference was checked when the commit was decoded.
        try vector(commit.vector, floor: commit.floor)
    }

    /// Reads the vector of a hand-over listed in the keyring at `referrer`.
    package func vector(of handOver: HandOver, before referrer: UInt64) throws(VaultError) -> StoredVector {
        try decoding { () throws(FormatError) in
            try handOver.vector.check(.vector, from: bodyStart, before: referrer)
        }
        return try vector(handOver.vector, floor: handOver.floor)
    }

    private func vector(_ ref: ObjectRef, floor: UInt64) throws(VaultError) -> StoredVector {
        let frame = try vectorFrame(ref)
        var base: (ref: ObjectRef, frame: VectorFrame)?
        if let below = frame.base {
            try decoding { () throws(FormatError) in try below.check(.vector, from: bodyStart, before: ref.offset) }
            base = (below, try vectorFrame(below))
        }
        let rows = try decoding { () throws(FormatError) in
            try frame.vector(on: base?.frame, floor: floor, at: ref.offset)
        }
        return StoredVector(ref: ref, base: base.map { ($0.ref, $0.frame.further) }, rows: rows)
    }

    private func vectorFrame(_ ref: ObjectRef) throws(VaultError) -> VectorFrame {
        let body = try open(try FrameReader.read(ref, .vector, file), .vector, at: ref.offset)
        return try decoding { () throws(FormatError) in try VectorFrame(body.span, at: ref.offset) }
    }
}

/// A hand-over with a valid signature, and the vector that the signature covers.
package struct ProvenHandOver: Sendable {
    package let handOver: HandOver
    package let stored: StoredVector

    package var vector: Vector { stored.rows }
}

extension PageSource {
    /// Reads a hand-over's vector. Returns nil if the signature is not valid.
    package func prove(_ handOver: HandOver, before referrer: UInt64) throws(VaultError) -> ProvenHandOver? {
        let stored = try vector(of: handOver, before: referrer)
        return handOver.isValid(vault: sealing.vault, vector: stored.rows)
            ? ProvenHandOver(handOver: handOver, stored: stored) : nil
    }
}
