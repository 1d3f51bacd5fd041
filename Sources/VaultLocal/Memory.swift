package import VaultFmt
package import VaultStore

/// What this machine remembers of vaults, in `anchors` in its state folder: `ID.owner` and `ID.scoped`, the newest
/// state seen as an owner and with a scoped slot. It shows when somebody puts back an older copy, continues another
/// branch, or puts a vault of their own in its place.
///
/// The scoped entry never binds an owner; the owner's entry binds a scoped opening.
package struct Memory: Sendable {
    let files: PrivateFiles
    let folder: String

    private var announcer: Announcer { files.announcer }
    private var lock: String { folder + "/.lock" }

    /// What is remembered of a vault when its file is about to be read.
    private struct Recalled {
        let owner: RememberedState?
        let scoped: RememberedState?
    }

    /// What stores ask (``StateWatch``).
    package var watch: StateWatch {
        StateWatch(
            recall: { (vault) throws(VaultError) in
                let recalled = try recall(VaultID(vault))
                return { (watched) throws(VaultError) in try admit(watched, recalled) }
            },
            committed: { watched in record(watched) })
    }

    // MARK: comparing

    /// What is remembered of a vault, as its owner or as the holder of a scoped slot. Throws `memoryDamaged`, `io`.
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

    /// Refuses a state that does not continue what is remembered, and remembers one that does. True if it was compared
    /// with something.
    private func admit(_ watched: WatchedState, _ recalled: Recalled) throws(VaultError) -> Bool {
        if !watched.isOwner, let owner = recalled.owner {
            do throws(VaultError) { _ = try owner.judge(watched) } catch {
                // An owner who has not looked for long binds less than what the slot's holder saw since.
                guard error.code == .ancestryUnprovable, recalled.scoped != nil else { throw error }
            }
        }
        guard let own = watched.isOwner ? recalled.owner : recalled.scoped else {
            if try remember(watched, insteadOf: nil) {
                announcer.note(
                    "first sight of this vault on this machine (generation \(watched.generation)); its state is remembered from now on"
                )
            }
            return recalled.owner != nil
        }
        if try own.judge(watched) == .newer { _ = try remember(watched, insteadOf: own) }
        return true
    }

    // MARK: remembering

    /// Stores a state that was compared with an entry; false if it could not be stored, which is said. Throws only if
    /// another process has remembered something meanwhile that the state does not continue.
    private func remember(_ watched: WatchedState, insteadOf compared: RememberedState?) throws(VaultError) -> Bool {
        do throws(VaultError) {
            // First of all: what is remembered and then lost in a power cut would make a sound vault look rolled back.
            try watched.makeDurable()
            return try files.locked(lock) { () throws(VaultError) in
                let now = try state(of: VaultID(watched.vault), isOwner: watched.isOwner)
                if let now, now != compared {
                    do throws(VaultError) {
                        guard try now.judge(watched) == .newer else { return true }
                    } catch {
                        // Another process was faster, with a later state: of the same file, or this one was put back
                        // meanwhile.
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

    /// After a commit of this machine's own, under the vault's lock: what it continues was compared before.
    private func record(_ watched: WatchedState) {
        do throws(VaultError) {
            try watched.makeDurable()
            try files.locked(lock) { () throws(VaultError) in
                let now = try state(of: VaultID(watched.vault), isOwner: watched.isOwner)
                if let now {
                    guard now.anchor.generation < watched.generation else { return }
                    // Another process may have remembered another branch since.
                    guard try now.judge(watched) == .newer else { return }
                }
                try store(watched)
            }
        } catch { sayForgotten(error) }
    }

    /// Remembers a state whatever was remembered. An owner's word ends what was seen with scoped slots, where that is
    /// of another branch.
    ///
    /// Throws `io` or `outcomeUnknown` where it cannot be stored; for a scoped slot, what ``RememberedState/judge(_:)``
    /// throws on the owner's entry.
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

    /// Whether another process has remembered meanwhile what the file has gone on to from this state.
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
            "the vault's state could not be remembered, so a rollback will not be noticed: \(error.description)")
    }
}
