package import VaultBytes
public import VaultFmt
package import VaultStore

/// The newest state of a vault that this machine has authenticated at one path and knows to have reached the disk.
public struct RememberedState: Sendable {
    package let vault: VaultID
    package let point: AnchorPoint
    /// The canonical path of the file; empty if the user accepted another vault there, because the file may have been
    /// moved.
    public let path: String
    /// The changes that the user dropped by accepting states that lack them.
    package let dropped: [DroppedChanges]

    package init(vault: VaultID, point: AnchorPoint, path: String, dropped: [DroppedChanges] = []) {
        self.vault = vault
        self.point = point
        self.path = path
        self.dropped = dropped
    }

    /// The state, including the owners' public key under which the state was seen.
    public var anchor: Anchor { Anchor(vault: vault, point: point) }
}

extension RememberedState: Equatable {
    /// Compares everything that is remembered; paths are compared as bytes.
    public static func == (left: RememberedState, right: RememberedState) -> Bool {
        left.vault == right.vault && left.point == right.point
            && left.path.utf8.elementsEqual(right.path.utf8) && left.dropped == right.dropped
    }
}

/// Changes under one id that the user dropped, by accepting a state that lacks them (section 7.2).
package struct DroppedChanges: Sendable, Hashable {
    package let id: ReplicaID
    /// The id's last revision in the accepted state; 0 if there is none.
    package let taken: UInt64
    /// The id's last revision in the previously remembered state.
    package let dropped: UInt64
}

// MARK: dropped changes

extension RememberedState {
    /// Returns the ids of dropped changes that a state contains, at least in part.
    func returned(in seen: SeenRows) -> [ReplicaID] { dropped.filter { seen.last(of: $0.id) > $0.taken }.map(\.id) }

    /// Returns the changes that are still dropped after a state is used.
    func stillDropped(after seen: SeenRows) -> [DroppedChanges] {
        dropped.compactMap { one in
            let last = seen.last(of: one.id)
            guard last < one.dropped else { return nil }
            return DroppedChanges(id: one.id, taken: max(one.taken, last), dropped: one.dropped)
        }
    }

    /// Returns the changes that the user drops by accepting another state under the same key, excluding those dropped
    /// before.
    func newlyDropped(by accepted: AnchorPoint) -> [DroppedChanges] {
        guard accepted.ownersPublicKey == point.ownersPublicKey else { return [] }
        return point.vector.rows.compactMap { row in
            guard !accepted.vector.hasSeen(Dot(revision: row.revision, replica: row.id)) else { return nil }
            return DroppedChanges(
                id: row.id, taken: accepted.vector.row(of: row.id)?.revision ?? 0, dropped: row.revision)
        }
    }
}

/// The changes that a state includes under its own key, and those included at each hand-over.
struct SeenRows {
    private let vectors: [Vector]

    init(_ watched: WatchedState) throws(VaultError) {
        vectors = [try watched.point().vector] + (try watched.handOverVectors())
    }

    init(_ vectors: [Vector]) { self.vectors = vectors }

    /// The last revision of an id; 0 if there is none.
    func last(of id: ReplicaID) -> UInt64 { vectors.map { $0.row(of: id)?.revision ?? 0 }.max() ?? 0 }
}

// MARK: comparing

extension RememberedState {
    /// The relation of an accepted state to the remembered one.
    enum Standing: Sendable {
        case same
        case newer
    }

    /// Compares a state with this one. A state after a rotation with a hand-over is treated like any newer state
    ///
    ///
    /// - Throws: `rolledBack`, `forked`, `foreignOwner`.
    func judge(_ watched: WatchedState) throws(VaultError) -> Standing {
        switch try watched.verdict(on: point) {
        case .same:
            // A compaction does not change rows. Remembering its chain value saves later readers from reading the
            // vector.
            return watched.chain != point.chain && watched.generation > point.generation ? .newer : .same
        case .descends: return .newer
        case .older: throw refusal(ofOlder: watched)
        case .forked: throw refusal(ofForked: watched)
        case .foreign:
            throw VaultError(
                .foreignOwner,
                "the vault belongs to other owners: there is no proof of a hand-over after generation \(point.generation), "
                    + "which this machine has seen")
        }
    }

    /// Throws `forked` if a state has changes that the user has dropped here.
    func refuseDropped(_ watched: WatchedState) throws(VaultError) {
        guard !dropped.isEmpty else { return }
        let returned = returned(in: try SeenRows(watched))
        guard !returned.isEmpty else { return }
        throw VaultError(
            .forked,
            "the vault has changes that were dropped on this machine when a different state was accepted")
    }

    /// Returns " in" and the file in which the state was seen, if that is a different file.
    private func elsewhere(than watched: WatchedState) -> String {
        path.isEmpty || watched.path.utf8.elementsEqual(path.utf8) ? "" : " in \(TerminalText.path(path))"
    }

    private func refusal(ofForked watched: WatchedState) -> VaultError {
        let place = elsewhere(than: watched)
        return VaultError(
            .forked,
            "the vault lacks changes up to generation \(point.generation) that this machine has seen\(place), and has others: it is forked"
        )
    }

    /// If the file ends with an older state, that state was restored; otherwise, later data is damaged or truncated.
    /// Only the error for the latter case has an offset.
    private func refusal(ofOlder watched: WatchedState) -> VaultError {
        guard watched.path.utf8.elementsEqual(path.utf8) else {
            return VaultError(
                .rolledBack,
                "the vault is at generation \(watched.generation), but this machine has seen generation "
                    + "\(point.generation)\(elsewhere(than: watched)): it is an older copy")
        }
        let unreadable: String
        switch watched.tail {
        case .clean, .writeInProgress:
            return VaultError(
                .rolledBack,
                "the vault is at generation \(watched.generation), but this machine has seen generation \(point.generation): it was rolled back"
            )
        case .torn(let bytes), .damaged(let bytes):
            let last = watched.end.addingReportingOverflow(max(bytes, 1) - 1).partialValue
            unreadable = "its bytes \(watched.end) to \(last) are not part of any readable change"
        case .incomplete(let generation): unreadable = "generation \(generation) in it is incomplete"
        }
        return VaultError(
            .rolledBack,
            "the file is damaged or cut off: \(unreadable); it opens at generation \(watched.generation), but this machine has "
                + "seen \(point.generation); an older copy with other bytes appended would look the same",
            at: watched.end)
    }
}
