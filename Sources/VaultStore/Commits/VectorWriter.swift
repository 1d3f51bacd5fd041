internal import VaultBytes
internal import VaultCrypto

/// Writes the vector of a new state unless a frame of the file already contains it.
enum VectorWriter {
    /// Returns the stored form of a vector, after writing it if necessary. Usually, only the row for the writer's id
    /// has changed since the last frame, so nothing is written.
    ///
    /// `vector`: the vector of the new state; its rows have the same positions as in `stored`. `own`: the writer's id;
    /// nil if the commit makes no change. `stored`: the vector of the previous state.
    static func write(
        _ vector: Vector, own: ReplicaID?, after stored: StoredVector, _ appender: Appender, key: borrowing Secret
    ) throws(VaultError) -> StoredVector {
        if serves(stored.rows, vector, own: own) { return stored }
        let base = stored.base ?? (stored.ref, stored.rows.rows)
        let whole = VectorFrame(vector.rows)
        let based = VectorFrame(vector.rows, on: base)
        guard based.isPossible, try length(based) < length(whole) else {
            return try append(whole, base: nil, vector, appender, key: key)
        }
        return try append(based, base: base, vector, appender, key: key)
    }

    /// Writes a vector that does not depend on other frames.
    static func writeWhole(
        _ vector: Vector, _ appender: Appender, key: borrowing Secret
    ) throws(VaultError) -> StoredVector {
        try append(VectorFrame(vector.rows), base: nil, vector, appender, key: key)
    }

    /// Returns whether a frame contains every row of the vector except the writer's own.
    private static func serves(_ rows: Vector, _ vector: Vector, own: ReplicaID?) -> Bool {
        guard rows.rows.count == vector.rows.count, rows.floor == vector.floor else { return false }
        return zip(rows.rows, vector.rows).allSatisfy { old, new in
            old == new || new.id == own && old.id == new.id && !old.isSplit && !new.isSplit
        }
    }

    private static func length(_ frame: VectorFrame) throws(VaultError) -> Int {
        try decoding { () throws(FormatError) in try frame.encode() }.count
    }

    private static func append(
        _ frame: VectorFrame, base: (ref: ObjectRef, rows: [Vector.Row])?, _ vector: Vector, _ appender: Appender,
        key: borrowing Secret
    ) throws(VaultError) -> StoredVector {
        let body = try decoding { () throws(FormatError) in try frame.encode() }
        let ref = try appender.append(body, as: .vector, .vector, key: key)
        return StoredVector(ref: ref, base: base, rows: vector)
    }
}
