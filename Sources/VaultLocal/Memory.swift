internal import VaultBytes
package import VaultFmt
package import VaultStore

/// The states of vaults that this machine remembers, stored in `anchors` in its state folder: for each place, the
/// newest state seen as an owner and the newest state seen with a scoped slot (section 7.2). They make it possible to
/// detect that the file was replaced with an older copy, another branch, or a different vault.
///
/// The scoped entry restricts an owner only by the owners' public key; the owner's entry also restricts opening with a
/// scoped slot.
package struct Memory: Sendable {
    let remembered: RememberedPlaces
    let replicas: ReplicaFiles

    private var files: PrivateFiles { remembered.files }
    private var announcer: Announcer { files.announcer }
    private var lock: String { remembered.folder + "/.lock" }

    /// The remembered states of a vault whose file is about to be read.
    private struct Recalled {
        let owner: RememberedState?
        let scoped: RememberedState?
    }

    /// The ``StateWatch`` for stores.
    package var watch: StateWatch {
        StateWatch(
            recall: { (vault, path) throws(VaultError) in
                let recalled = try recall(VaultID(vault), path)
                return { (watched) throws(VaultError) in try admit(watched, recalled) }
            },
            committed: { (watched, isCopy) in
                record(watched)
                // If a merge takes over another copy, the newest change may have been made by another machine.
                if !isCopy { noteOwn(watched) }
            })
    }

    // MARK: comparing

    /// Returns the remembered state of a vault at a path, as seen by an owner or by the holder of a scoped slot. Throws
    /// `memoryDamaged`, `io`.
    package func state(of vault: VaultID, at path: String, isOwner: Bool) throws(VaultError) -> RememberedState? {
        try remembered.read(vault, at: path, isOwner: isOwner)
    }

    private func recall(_ vault: VaultID, _ path: String) throws(VaultError) -> Recalled {
        Recalled(
            owner: try state(of: vault, at: path, isOwner: true), scoped: try state(of: vault, at: path, isOwner: false)
        )
    }

    /// Remembers a state that continues the remembered one, and refuses any other. Returns true if the state was
    /// compared with a remembered one.
    private func admit(_ watched: WatchedState, _ recalled: Recalled) throws(VaultError) -> Bool {
        if !watched.isOwner, let owner = recalled.owner {
            _ = try owner.judge(watched)
            try owner.refuseDropped(watched)
        }
        guard let own = watched.isOwner ? recalled.owner : recalled.scoped else {
            let isKnown = try admitAtNewPlace(watched, recalled)
            return isKnown || recalled.owner != nil
        }
        let standing = try own.judge(watched)
        try own.refuseDropped(watched)
        nameSplitIDs(watched)
        if standing == .newer { _ = try remember(watched, insteadOf: own) }
        return true
    }

    /// Checks a state at a place without an entry for this role, using the entries for other places and roles.
    private func admitAtNewPlace(_ watched: WatchedState, _ recalled: Recalled) throws(VaultError) -> Bool {
        let vault = VaultID(watched.vault)
        // Anyone who can write to the folder may have another vault that the same passphrase opens, such as a team's
        // vault.
        if recalled.owner == nil, recalled.scoped == nil,
            let other = try remembered.other(than: vault, at: watched.path)
        {
            throw VaultError(
                .foreignOwner,
                "this is another vault (\(vault)), not the one that this machine has seen here (\(other.vault))")
        }
        let same = try remembered.newest(vault, isOwner: watched.isOwner)
        if let same {
            // Check this only now: another process that saw the vault first may have changed the vault in the meantime.
            _ = try isNewer(watched, than: same)
            try same.refuseDropped(watched)
        }
        var other = recalled.owner
        if other == nil { other = try remembered.newest(vault, isOwner: !watched.isOwner) }
        // Anyone can make a vault with this id for a public recipient, so the owners' key is compared with the other
        // role's entries.
        if recalled.owner == nil, let other {
            do throws(VaultError) { _ = try other.judge(watched) } catch {
                guard [.rolledBack, .forked].contains(error.code) else { throw error }
            }
        }
        nameSplitIDs(watched)
        // Changes dropped at the vault's former place remain dropped at this one.
        if try remember(watched, insteadOf: nil, dropped: same?.dropped ?? []), same == nil {
            // There is an entry for each role: a state seen with a scoped slot does not restrict an owner.
            let role = watched.isOwner ? "as an owner" : "with a slot for some groups"
            announcer.note(
                "this machine has not \(other == nil ? "seen this vault" : "opened this vault \(role)") before "
                    + "(generation \(watched.generation)); its state is remembered from now on")
        }
        return same != nil
    }

    // MARK: remembering

    /// Stores a state that was compared with an entry. If the state cannot be stored, issues a notice and returns
    /// false. Throws only if another process has meanwhile remembered a state that this one does not continue.
    ///
    /// `dropped`: changes that were dropped elsewhere and are not in the state.
    private func remember(
        _ watched: WatchedState, insteadOf compared: RememberedState?, dropped: [DroppedChanges] = []
    ) throws(VaultError) -> Bool {
        do throws(VaultError) {
            // This comes first: if a remembered state were lost in a power failure, an intact vault would look rolled
            // back.
            try watched.makeDurable()
            return try files.locked(lock) { () throws(VaultError) in
                let now = try entry(of: watched)
                if let now, now != compared, try !isNewer(watched, than: now) { return true }
                try store(watched, dropped: now?.dropped ?? dropped)
                return true
            }
        } catch {
            guard !Self.isRefusal(error) else { throw error }
            sayForgotten(error)
            return false
        }
    }

    /// Returns whether a state is newer than one that another process has remembered in the meantime. Throws if the
    /// state is older, unless the file has also changed since.
    private func isNewer(_ watched: WatchedState, than now: RememberedState) throws(VaultError) -> Bool {
        do throws(VaultError) { return try now.judge(watched) == .newer } catch {
            guard error.code == .rolledBack, try watched.isContinued(by: now.point) else { throw error }
            return false
        }
    }

    /// Remembers this machine's own commit. Called under the vault's lock; the commit's predecessor has already been
    /// compared.
    private func record(_ watched: WatchedState) {
        do throws(VaultError) {
            try watched.makeDurable()
            try files.locked(lock) { () throws(VaultError) in
                let now = try entry(of: watched)
                // Another process may have remembered a different branch in the meantime.
                if let now, try now.judge(watched) != .newer { return }
                // A commit of this machine contains dropped changes only if the user requested them.
                try store(watched, dropped: now?.stillDropped(after: try SeenRows(watched)) ?? [])
            }
        } catch { sayForgotten(error) }
    }

    /// Records that this machine made a state, for `undo`.
    private func noteOwn(_ watched: WatchedState) {
        let entry = OwnCommits.Entry(generation: watched.generation, chain: watched.chain)
        // If the record is missing, `undo` asks for confirmation; this is its only use.
        do throws(VaultError) { try ownCommits(of: VaultID(watched.vault)).note(entry) } catch {}
    }

    /// Returns the commits that this machine made to a vault.
    func ownCommits(of vault: VaultID) -> OwnCommits {
        OwnCommits(files: files, path: remembered.folder + "/\(vault).made")
    }

    // MARK: accepting

    /// Remembers a state, replacing the one remembered for its place. Under the same key, changes that the state lacks
    /// are recorded as dropped. If an owner accepts the state, the place's entry for scoped slots is removed if it
    /// belongs to another branch.
    ///
    /// Throws `io` or `outcomeUnknown` if the state cannot be stored and, for a scoped slot, the errors of
    /// ``RememberedState/judge(_:)`` for the owner's entry.
    package func accept(_ watched: WatchedState) throws(VaultError) {
        let vault = VaultID(watched.vault)
        if !watched.isOwner, let owner = try state(of: vault, at: watched.path, isOwner: true) {
            _ = try owner.judge(watched)
        }
        try watched.makeDurable()
        try files.locked(lock) { () throws(VaultError) in
            let before = try soundEntry(of: watched)
            if try !isContinued(watched, by: before) {
                try store(watched, dropped: try before?.droppedAfter(accepting: watched) ?? [])
            }
            guard watched.isOwner else { return }
            do throws(VaultError) { _ = try state(of: vault, at: watched.path, isOwner: false)?.judge(watched) } catch {
                try remembered.remove(vault, at: watched.path, isOwner: false)
            }
        }
    }

    /// Returns the entry for a state's place and role; nil if there is no entry or it is damaged.
    private func soundEntry(of watched: WatchedState) throws(VaultError) -> RememberedState? {
        do throws(VaultError) { return try entry(of: watched) } catch {
            guard error.code == .memoryDamaged else { throw error }
            return nil
        }
    }

    /// Returns whether another process has in the meantime remembered a state that continues this one in the file.
    private func isContinued(_ watched: WatchedState, by now: RememberedState?) throws(VaultError) -> Bool {
        guard let now, try watched.verdict(on: now.point) == .older else { return false }
        return try watched.isContinued(by: now.point)
    }

    /// Remembers the state of a new file for its final place, after the complete file was renamed.
    func move(_ vault: VaultID, from unfinished: String, to path: String) throws(VaultError) {
        try files.locked(lock) { () throws(VaultError) in
            guard let made = try state(of: vault, at: unfinished, isOwner: true) else { return }
            let moved = RememberedState(vault: vault, point: made.point, path: path)
            try remembered.write(moved, isOwner: true)
            try remembered.remove(vault, at: unfinished, isOwner: true)
        }
    }

    // MARK: other copies

    /// Checks another copy before it is merged into a vault or replaces it: changes that the user has dropped are
    /// refused unless the user requests them (section 7.2).
    ///
    /// - Parameters:
    ///   - other: The other copy.
    ///   - path: The place of the vault.
    ///   - takesDropped: Whether the user requests dropped changes. They are then no longer recorded as dropped.
    /// - Throws: `forked` if the copy has dropped changes; `memoryDamaged`, `io`.
    package func admit(_ other: WatchedState, into path: String, takesDropped: Bool) throws(VaultError) {
        let vault = VaultID(other.vault)
        guard let entry = try state(of: vault, at: path, isOwner: true), !entry.dropped.isEmpty else { return }
        guard takesDropped else { return try entry.refuseDropped(other) }
        let seen = try SeenRows(other)
        try files.locked(lock) { () throws(VaultError) in
            guard let now = try state(of: vault, at: path, isOwner: true) else { return }
            let changed = RememberedState(
                vault: vault, point: now.point, path: path, dropped: now.stillDropped(after: seen))
            if changed != now { try remembered.write(changed, isOwner: true) }
        }
    }

    /// Notifies the user if another machine makes changes under one of this machine's ids (section 7.5).
    private func nameSplitIDs(_ watched: WatchedState) {
        do throws(VaultError) {
            let vector = try watched.point().vector
            let split = try replicas.splitIDs(watched.vault) { vector.openRow(of: $0) }
            guard !split.isEmpty else { return }
            announcer.warning(
                "another machine, cloned from this one while it was running, has changed this vault under the same id: "
                    + "each copy may lack changes made in the other; merge the two copies")
        } catch { announcer.warning("the ids of this machine could not be compared: \(error.description)") }
    }

    // MARK: details

    private func entry(of watched: WatchedState) throws(VaultError) -> RememberedState? {
        try state(of: VaultID(watched.vault), at: watched.path, isOwner: watched.isOwner)
    }

    /// Writes an entry, under the lock.
    private func store(_ watched: WatchedState, dropped: [DroppedChanges]) throws(VaultError) {
        let state = RememberedState(
            vault: VaultID(watched.vault), point: try watched.point(), path: watched.path, dropped: dropped)
        try remembered.write(state, isOwner: watched.isOwner)
    }

    private static func isRefusal(_ error: VaultError) -> Bool {
        [.rolledBack, .forked, .foreignOwner, .memoryDamaged].contains(error.code)
    }

    private func sayForgotten(_ error: VaultError) {
        announcer.warning(
            "the vault's state could not be remembered, so a rollback will not be detected: \(error.description)")
    }
}

extension RememberedState {
    /// Returns the dropped changes of this place after the user has accepted a state.
    fileprivate func droppedAfter(accepting watched: WatchedState) throws(VaultError) -> [DroppedChanges] {
        var all: [ReplicaID: DroppedChanges] = [:]
        for one in stillDropped(after: try SeenRows(watched)) + newlyDropped(by: try watched.point()) {
            guard let known = all[one.id] else {
                all[one.id] = one
                continue
            }
            all[one.id] = DroppedChanges(
                id: one.id, taken: min(known.taken, one.taken), dropped: max(known.dropped, one.dropped))
        }
        return all.values.sorted { $0.id < $1.id }
    }
}
