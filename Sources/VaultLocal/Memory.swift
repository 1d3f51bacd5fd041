package import VaultFmt
package import VaultStore

/// The states of vaults that this machine remembers, stored in `anchors` in its state folder. `ID.owner` and
/// `ID.scoped` are the newest states seen as an owner and with a scoped slot. They reveal whether the file was replaced
/// with an older copy, another branch, or a different vault.
///
/// The scoped entry never restricts an owner, but the owner's entry restricts opening with a scoped slot.
package struct Memory: Sendable {
    let files: PrivateFiles
    let folder: String

    private var announcer: Announcer { files.announcer }
    private var lock: String { folder + "/.lock" }

    /// The remembered states of a vault whose file is about to be read.
    private struct Recalled {
        let owner: RememberedState?
        let scoped: RememberedState?
    }

    /// The ``StateWatch`` that stores call.
    package var watch: StateWatch {
        StateWatch(
            recall: { (vault) throws(VaultError) in
                let recalled = try recall(VaultID(vault))
                return { (watched) throws(VaultError) in try admit(watched, recalled) }
            },
            committed: { watched in
                record(watched)
                noteOwn(watched)
            })
    }

    // MARK: comparing

    /// Returns the remembered state of a vault, as seen by an owner or by the holder of a scoped slot. Throws
    /// `memoryDamaged`, `io`.
    package func state(of vault: VaultID, isOwner: Bool) throws(VaultError) -> RememberedState? {
        let path = path(vault, isOwner: isOwner)
        guard let contents = try files.read(path, what: "remembered state", limit: Self.longest) else { return nil }
        let text = contents.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
        guard let text, let state = RememberedState(line: text, of: vault) else {
            throw VaultError(.memoryDamaged, "the remembered state \(TerminalText.path(path)) is damaged")
        }
        return state
    }

    private func recall(_ vault: VaultID) throws(VaultError) -> Recalled {
        Recalled(owner: try state(of: vault, isOwner: true), scoped: try state(of: vault, isOwner: false))
    }

    /// Refuses a state that does not continue the remembered one, and remembers one that does. Returns true if it was
    /// compared with a remembered state.
    private func admit(_ watched: WatchedState, _ recalled: Recalled) throws(VaultError) -> Bool {
        if !watched.isOwner, let owner = recalled.owner {
            do throws(VaultError) { _ = try owner.judge(watched) } catch {
                // If the owner has not opened the vault for a long time, the states that the slot's holder has seen
                // since then are more relevant.
                guard error.code == .ancestryUnprovable, recalled.scoped != nil else { throw error }
            }
        }
        if watched.isOwner, recalled.owner == nil, let scoped = recalled.scoped {
            // States seen with a scoped slot never restrict an owner, except by establishing who owns the vault: anyone
            // can make a vault with this id for a public recipient.
            do throws(VaultError) { _ = try scoped.judge(watched) } catch {
                guard [.rolledBack, .forked, .ancestryUnprovable].contains(error.code) else { throw error }
            }
        }
        guard let own = watched.isOwner ? recalled.owner : recalled.scoped else {
            if try remember(watched, insteadOf: nil) {
                announcer.note(
                    "this machine has not seen this vault before (generation \(watched.generation)); its state is remembered from now on"
                )
            }
            return recalled.owner != nil
        }
        if try own.judge(watched) == .newer { _ = try remember(watched, insteadOf: own) }
        return true
    }

    // MARK: remembering

    /// Stores a state that was compared with an entry. If it cannot be stored, issues a notice and returns false.
    /// Throws only if another process has in the meantime remembered a state that this one does not continue.
    private func remember(_ watched: WatchedState, insteadOf compared: RememberedState?) throws(VaultError) -> Bool {
        do throws(VaultError) {
            // This comes first, because a state that is remembered but lost in a power failure would make a sound vault
            // look rolled back.
            try watched.makeDurable()
            return try files.locked(lock) { () throws(VaultError) in
                let now = try state(of: VaultID(watched.vault), isOwner: watched.isOwner)
                if let now, now != compared {
                    do throws(VaultError) {
                        guard try now.judge(watched) == .newer else { return true }
                    } catch {
                        // Another process remembered a later state first: either it is a state of the same file, or the
                        // file has been rolled back in the meantime.
                        guard error.code == .rolledBack,
                            try watched.isContinued(by: now.anchor.generation, now.anchor.value)
                        else {
                            throw error
                        }
                        return true
                    }
                }
                try store(watched)
                return true
            }
        } catch {
            guard !Self.isRefusal(error) else { throw error }
            sayForgotten(error)
            return false
        }
    }

    /// Remembers this machine's own commit. This is called under the vault's lock; the commit's predecessor has already
    /// been compared.
    private func record(_ watched: WatchedState) {
        do throws(VaultError) {
            try watched.makeDurable()
            try files.locked(lock) { () throws(VaultError) in
                let now = try state(of: VaultID(watched.vault), isOwner: watched.isOwner)
                if let now {
                    guard now.anchor.generation < watched.generation else { return }
                    // Another process may have remembered a different branch in the meantime.
                    guard try now.judge(watched) == .newer else { return }
                }
                try store(watched)
            }
        } catch { sayForgotten(error) }
    }

    /// Records, for use by `undo`, that this machine made a state.
    private func noteOwn(_ watched: WatchedState) {
        let entry = OwnCommits.Entry(generation: watched.generation, chain: watched.chain)
        // If the record is missing, `undo` asks for confirmation; nothing else depends on it.
        do throws(VaultError) { try ownCommits(of: VaultID(watched.vault)).note(entry) } catch {}
    }

    /// Returns the commits that this machine made to a vault.
    func ownCommits(of vault: VaultID) -> OwnCommits { OwnCommits(files: files, path: folder + "/\(vault).made") }

    /// Remembers a state, whatever was remembered before. If an owner accepts it, any states seen with scoped slots are
    /// dropped if they belong to another branch.
    ///
    /// Throws `io` or `outcomeUnknown` if it cannot be stored and, for a scoped slot, the errors of
    /// ``RememberedState/judge(_:)`` for the owner's entry.
    package func accept(_ watched: WatchedState) throws(VaultError) {
        let vault = VaultID(watched.vault)
        if !watched.isOwner, let owner = try state(of: vault, isOwner: true) { _ = try owner.judge(watched) }
        try watched.makeDurable()
        try files.locked(lock) { () throws(VaultError) in
            if try !isContinued(watched) { try store(watched) }
            guard watched.isOwner else { return }
            do throws(VaultError) { _ = try state(of: vault, isOwner: false)?.judge(watched) } catch {
                try files.remove(path(vault, isOwner: false))
            }
        }
    }

    /// Returns whether another process has in the meantime remembered a state that continues this one in the file.
    private func isContinued(_ watched: WatchedState) throws(VaultError) -> Bool {
        let now: RememberedState?
        do throws(VaultError) { now = try state(of: VaultID(watched.vault), isOwner: watched.isOwner) } catch {
            guard error.code == .memoryDamaged else { throw error }
            return false
        }
        guard let now, now.anchor.generation > watched.generation else { return false }
        return try watched.isContinued(by: now.anchor.generation, now.anchor.value)
    }

    /// Writes an entry, under the lock.
    private func store(_ watched: WatchedState) throws(VaultError) {
        let state = RememberedState(watched)
        try files.sweep(folder)
        try files.write(
            path(state.anchor.vault, isOwner: watched.isOwner), what: "remembered state", Secret(text: state.line))
    }

    // MARK: details

    private static let longest = 4096

    private func path(_ vault: VaultID, isOwner: Bool) -> String {
        folder + "/\(vault)." + (isOwner ? "owner" : "scoped")
    }

    private static func isRefusal(_ error: VaultError) -> Bool {
        [.rolledBack, .forked, .foreignOwner, .ancestryUnprovable, .memoryDamaged].contains(error.code)
    }

    private func sayForgotten(_ error: VaultError) {
        announcer.warning(
            "the vault's state could not be remembered, so a rollback will not be detected: \(error.description)")
    }
}
