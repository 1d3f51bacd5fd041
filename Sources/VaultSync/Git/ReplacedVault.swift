import VaultConsole
import VaultFmt
import VaultLocal

/// A vault as `sync` has added it to git.
struct SyncedVault {
    let vault: Vault
    /// The object that git stores: the vault itself, unless a filter replaces the vault.
    let stored: String
    /// The object that the vault itself would be.
    let contents: String
    /// The generation of the state that was added.
    let generation: UInt64
}

/// Checks for changes that other programs make to a vault during a sync. Hooks, checkouts and file syncers ignore the
/// vault's lock: at any moment, they can replace or overwrite its file, or commit something else under its name.
extension SyncRound {
    /// Fails if a vault's file neither ends with the state that is known here nor continues it.
    func requireInPlace(_ name: String, _ vault: Vault) throws {
        do throws(VaultError) { try vault.refresh() } catch {
            // A checkout replaces the file with the other branch's vault.
            try requireBranch()
            throw replaced(name, error)
        }
    }

    /// Performs the same check on the vaults of all rounds once they have been pushed.
    func requireAllInPlace() throws {
        for (name, found) in synced.sorted(by: { $0.key < $1.key }) {
            do { try requireInPlace(name, found.vault) } catch let failure as CommandFailure {
                throw CommandFailure(
                    failure.status, "what was merged has been pushed, but \(failure.message)", code: failure.code)
            }
        }
    }

    /// Fails if a commit does not contain a vault in the form in which it was added: hooks can change what is
    /// committed, and other programs can move the branch.
    func requireSynced(_ name: String, in commit: String) throws {
        guard let found = synced[name] else { return }
        if let entry = try GitEntry(name, at: commit, git), entry.isFile {
            if entry.id == found.stored || entry.id == found.contents { return }
            if try givesBack(name, entry.id, found.contents) { return }
        }
        let id = try git.require(["rev-parse", "--verify", commit + "^{commit}"], "find the commit").line
        throw CommandFailure(
            .io,
            "the commit \(id.prefix(12)) does not have the \(TerminalText.quoted(name)) that was synced, because a git hook or another program "
                + "changed it; nothing was pushed, so stop that program and sync again")
    }

    /// The failure if another program interferes with a commit, although the vault has lost nothing.
    static func overwritten(_ name: String) -> CommandFailure {
        CommandFailure(
            .busy,
            "another program put a file in the place of \(TerminalText.quoted(name)), or wrote to it without its lock, while it was being committed; sync again"
        )
    }

    private func replaced(_ name: String, _ error: VaultError) -> CommandFailure {
        guard Self.showsAnotherFile(error) else { return CommandFailure(opened: error) }
        let keep = error.code == .noSuchFile ? "" : "keep that file under another name, and "
        return CommandFailure(
            ExitStatus(error),
            "\(TerminalText.quoted(name)) was replaced, overwritten or removed during the sync, by a git hook or another program (\(error.description)); "
                + keep + remedy(name),
            code: error.code)
    }

    /// The command that restores a vault. Git has the object even if no commit refers to it. The command works in the
    /// folder in which sync was started and, if git fails, leaves whatever is in the vault's place.
    private func remedy(_ name: String) -> String {
        guard let found = synced[name] else {
            return "restore the newest copy: sync had not added the vault to git yet"
        }
        let (path, new) = (TerminalText.word(found.vault.path), TerminalText.word(found.vault.path + ".new"))
        let form = found.stored == found.contents ? "blob" : "--filters --path=\(TerminalText.word(name))"
        let git = "git -C \(TerminalText.word(file.top)) cat-file \(form) \(found.stored)"
        let command = "(umask 077; \(git) >\(new)) && mv \(new) \(path)"
        return "get back generation \(found.generation), which sync had added to git, with '\(command)'"
    }

    /// True if the error means that the file is not the vault in its newest state, rather than that the file cannot be
    /// read or that the vault's keys were changed.
    private static func showsAnotherFile(_ error: VaultError) -> Bool {
        switch error.code {
        case .rolledBack, .forked, .foreignOwner, .tampered, .notAVault, .headerInvalid, .authenticationFailed,
            .structureInvalid, .damagedTail, .noSuchFile:
            true
        default: false
        }
    }
}
