internal import VaultBytes
package import VaultFmt
package import VaultStore

/// What this machine remembers of vaults, in `anchors` in its state folder: `ID.owner` and `ID.scoped`, the newest state seen as an owner and with a
/// scoped slot. It shows when somebody puts back an older copy, continues another branch, or puts a file of his own in a vault's place.
///
/// Generations and the chain go on across rotations, epochs and slots, so there is one entry whatever the key. The scoped entry never binds an owner: what
/// a scoped slot authenticates, its other holders can make. The owner's entry binds a scoped opening.
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
            rekeying: { (vault, fingerprint) throws(VaultError) in try announce(VaultID(vault), Hex.encode(fingerprint)) },
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

    /// Refuses a state that does not continue what is remembered, and remembers one that does. True if it was compared with something.
    private func admit(_ watched: WatchedState, _ recalled: Recalled) throws(VaultError) -> Bool {
        if !watched.isOwner, let owner = recalled.owner {
            do throws(VaultError) { _ = try owner.judge(watched, isOwner: false) } catch {
                // An owner who has not looked for long binds less than what the slot's holder saw since.
                guard error.code == .ancestryUnprovable, recalled.scoped != nil else { throw error }
            }
        }
        var own = watched.isOwner ? recalled.owner : recalled.scoped
        if own == nil { own = try migrated(watched) }
        guard let own else {
            if try remember(watched, insteadOf: nil) {
                announcer.note(
                    "first sight of this vault on this machine (generation \(watched.generation)); its state is remembered from now on")
            }
            return recalled.owner != nil
        }
        if try own.judge(watched, isOwner: watched.isOwner) == .newer { _ = try remember(watched, insteadOf: own) }
        return true
    }

    // MARK: remembering

    /// Stores a state that was compared with an entry; false if it could not be stored, which is said. Throws only if another process has remembered
    /// something meanwhile that the state does not continue.
    private func remember(_ watched: WatchedState, insteadOf compared: RememberedState?) throws(VaultError) -> Bool {
        do throws(VaultError) {
            // First of all: what is remembered and then lost in a power cut would make a sound vault look rolled back.
            try watched.makeDurable()
            return try files.locked(lock) { () throws(VaultError) in
                let now = try state(of: VaultID(watched.vault), isOwner: watched.isOwner)
                if let now, now != compared {
                    do throws(VaultError) {
                        guard try now.judge(watched, isOwner: watched.isOwner) == .newer else { return true }
                    } catch {
                        // Another process was faster, with a later state: of the same file, or this one was put back meanwhile.
                        guard error.code == .rolledBack, try watched.isContinued(by: now.anchor.generation, now.anchor.value) else {
                            throw error
                        }
                        return true
                    }
                }
                try store(watched, over: now)
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
                if let now, now.anchor.generation >= watched.generation { return }
                try store(watched, over: now)
            }
        } catch { sayForgotten(error) }
    }

    /// Before a rotation's file gets the vault's name: the key to come, which no other machine has made. Where an entry cannot take it, this machine would refuse
    /// what it has made itself, so the rotation must not happen.
    private func announce(_ vault: VaultID, _ fingerprint: String) throws(VaultError) {
        guard try state(of: vault, isOwner: true) != nil else { return }
        do throws(VaultError) {
            try files.locked(lock) { () throws(VaultError) in
                guard let now = try state(of: vault, isOwner: true) else { return }
                try write(RememberedState(anchor: now.anchor, fingerprint: now.fingerprint, next: fingerprint), isOwner: true)
            }
        } catch {
            // Another process that holds the memory will give it up: trying again helps.
            let code = error.code == .busy ? VaultError.Code.busy : .io
            throw VaultError(code, "nothing was rotated, since this machine could not remember the key to come: \(error.description)")
        }
    }

    /// Remembers a state whatever was remembered. An owner's word ends what was seen with scoped slots, where that is of another branch.
    ///
    /// Throws `io` or `outcomeUnknown` where it cannot be stored; for a scoped slot, what ``RememberedState/judge(_:isOwner:)`` throws on the owner's entry.
    package func accept(_ watched: WatchedState) throws(VaultError) {
        let vault = VaultID(watched.vault)
        if !watched.isOwner, let owner = try state(of: vault, isOwner: true) { _ = try owner.judge(watched, isOwner: false) }
        try watched.makeDurable()
        try files.locked(lock) { () throws(VaultError) in
            try store(watched, over: nil)
            guard watched.isOwner else { return }
            do throws(VaultError) { _ = try state(of: vault, isOwner: false)?.judge(watched, isOwner: false) } catch {
                try files.remove(path(vault, isOwner: false))
            }
        }
    }

    /// Writes an entry, under the lock; what is over there may know a key to come, which stays as long as its vault's key does.
    private func store(_ watched: WatchedState, over old: RememberedState?) throws(VaultError) {
        var next: String?
        if let old, old.fingerprint == Hex.encode(watched.fingerprint) { next = old.next }
        try write(RememberedState(watched, next: next), isOwner: watched.isOwner)
        let migrated = oldPath(watched)
        if try files.read(migrated, what: "remembered state", limit: Self.longest) != nil { try files.remove(migrated) }
    }

    private func write(_ state: RememberedState, isOwner: Bool) throws(VaultError) {
        try files.sweep(folder)
        try files.write(path(state.anchor.vault, isOwner: isOwner), what: "remembered state", Secret(text: state.line))
    }

    // MARK: 0.1.0

    /// What 0.1.0 remembered under this very key. What it has under others stays unread: nothing tells whether an owner or the holder of a scoped slot saw
    /// it, and the latter must not bind an owner.
    private func migrated(_ watched: WatchedState) throws(VaultError) -> RememberedState? {
        let path = oldPath(watched)
        guard let contents = try files.read(path, what: "remembered state", limit: Self.longest) else { return nil }
        let text = contents.withUnsafeBytes { String(validating: $0, as: UTF8.self) }
        guard let text, text.hasSuffix("\n"), let anchor = Anchor(String(text.dropLast())), anchor.vault == VaultID(watched.vault) else {
            throw VaultError(.memoryDamaged, "the remembered state \(TerminalText.path(path)) is damaged")
        }
        // Its key is this one; but it is stored again, in its new place.
        return RememberedState(anchor: anchor, fingerprint: Self.none, next: Hex.encode(watched.fingerprint))
    }

    private func oldPath(_ watched: WatchedState) -> String { folder + "/\(VaultID(watched.vault))-\(Hex.encode(watched.fingerprint))" }

    // MARK: details

    private static let longest = 4096
    /// The fingerprint of no key.
    private static let none = String(repeating: "0", count: 32)

    private func path(_ vault: VaultID, isOwner: Bool) -> String { folder + "/\(vault)." + (isOwner ? "owner" : "scoped") }

    private static func isRefusal(_ error: VaultError) -> Bool {
        [.rolledBack, .forked, .foreignOwner, .ancestryUnprovable, .memoryDamaged].contains(error.code)
    }

    private func sayForgotten(_ error: VaultError) {
        announcer.warning("the vault's state could not be remembered, so a rollback will not be noticed: \(error.description)")
    }
}
