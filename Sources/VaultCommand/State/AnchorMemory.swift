import VaultFmt

/// The newest state of each vault that this machine authenticated or durably wrote, in `$XDG_STATE_HOME/vaultfmt/anchors`, one file per
/// vault id and key fingerprint. It shows when somebody puts back an older copy, or continues another branch.
enum AnchorMemory {
    /// Compares an opened vault with what is remembered, and remembers it. Older and forked are refused.
    static func check(_ vault: Vault) throws(CommandFailure) {
        guard let remembered = try recall(vault) else {
            Terminal.note(
                "first sight of this vault on this machine (generation \(vault.anchor.generation)); its state is remembered from now on")
            return remember(vault)
        }
        switch try verdict(vault, on: remembered) {
        case .same: return
        case .descends: remember(vault)
        case .unprovable:
            Terminal.warning(
                "the file no longer proves that it continues generation \(remembered.generation), which this machine saw last; "
                    + "now at generation \(vault.anchor.generation)")
            remember(vault, replacing: remembered)
        case .older:
            throw CommandFailure(
                .damaged,
                "the vault is at generation \(vault.anchor.generation), but this machine saw \(remembered.generation): it was rolled back; "
                    + "restore the newest copy, or accept this one with 'vaultfmt anchor --accept'")
        case .forked:
            throw CommandFailure(
                .damaged,
                "the vault was continued from another state than generation \(remembered.generation), which this machine saw: it is forked; "
                    + "restore the right copy, or accept this one with 'vaultfmt anchor --accept'")
        }
    }

    /// Remembers the state that a vault is in; call it after each durable commit. A newer state that another process
    /// remembered meanwhile stays, unless it is `replacing`.
    static func remember(_ vault: Vault, replacing: Anchor? = nil) {
        do throws(CommandFailure) {
            let anchor = vault.anchor
            if let known = try recall(vault), known != replacing, known.generation >= anchor.generation { return }
            try write(anchor, to: path(vault.id, vault.fingerprint))
        } catch {
            Terminal.warning("the vault's state could not be remembered, so a rollback will not be noticed: \(error.message)")
        }
    }

    /// Remembers the state after a rotation, also under the key from before: who puts back a copy from then is found out.
    static func supersede(_ vault: Vault, oldFingerprint: String) {
        do throws(CommandFailure) {
            try write(vault.anchor, to: path(vault.id, vault.fingerprint))
            try write(vault.anchor, to: path(vault.id, oldFingerprint))
        } catch {
            Terminal.warning("the vault's state could not be remembered, so a rollback will not be noticed: \(error.message)")
        }
    }

    /// Remembers the state that a vault is in, whatever was remembered.
    static func accept(_ vault: Vault) throws(CommandFailure) {
        try write(vault.anchor, to: path(vault.id, vault.fingerprint))
    }

    /// The state remembered for a vault.
    static func recall(_ vault: Vault) throws(CommandFailure) -> Anchor? {
        let path = try path(vault.id, vault.fingerprint)
        guard let contents = try StateFolder.read(path, what: "anchor", limit: 4096) else { return nil }
        let text = FactorSources.withoutNewline(contents).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
        guard let text, let anchor = Anchor(text), anchor.vault == vault.id else {
            throw CommandFailure(
                .damaged,
                "the remembered state \(TerminalText.quoted(path)) is damaged; look at the vault, then accept it with 'vaultfmt anchor --accept'"
            )
        }
        return anchor
    }

    /// The verdict on a remembered state. A vault opened before another process committed and remembered is read again first.
    static func verdict(_ vault: Vault, on anchor: Anchor) throws(CommandFailure) -> Anchor.Verdict {
        try attempt { () throws(VaultError) in
            let verdict = try vault.verdict(on: anchor)
            guard verdict == .older else { return verdict }
            try vault.refresh()
            return try vault.verdict(on: anchor)
        }
    }

    private static func write(_ anchor: Anchor, to path: String) throws(CommandFailure) {
        try StateFolder.write(path, what: "anchor", Secret(text: anchor.description + "\n"))
    }

    private static func path(_ vault: VaultID, _ fingerprint: String) throws(CommandFailure) -> String {
        try VaultPath.state() + "/anchors/\(vault)-\(fingerprint)"
    }
}
