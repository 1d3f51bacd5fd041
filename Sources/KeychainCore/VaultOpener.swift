internal import Glibc
internal import VaultFmt

/// Opens the vault that the environment names, or the default one, which it makes on first use.
///
/// Any number of processes may do so at once: key file and vault get their names complete and only once, and whoever comes second uses what is there.
struct VaultOpener {
    let places: Places
    /// What was made, one line each, to be said once no lock is held.
    private(set) var notices: [String] = []

    init() throws(KeychainFailure) { places = try Places() }

    /// Opens it; for changing, if its file may be changed.
    mutating func open() throws(KeychainFailure) -> Vault {
        if let kept = try openKept() { return kept }
        let factors = try factors()
        return try vaultCall { () throws(VaultError) in
            try factors.open { (factors) throws(VaultError) in try Vault.open(places.vault, factors: factors, options: options()) }
        }
    }

    /// Opens a vault that `vaultfmt unlock` keeps open, where nothing else opens it; nil if it does not.
    private func openKept() throws(KeychainFailure) -> Vault? {
        guard try GivenFactors().isEmpty, access(places.vault, F_OK) == 0, !places.isDefault || access(places.generatedKeyFile, F_OK) != 0
        else { return nil }
        do throws(VaultError) { return try Vault.openKept(places.vault, options: options()) } catch {
            guard error.code == .noKernelKeyring else { throw KeychainFailure(error) }
            return nil
        }
    }

    private func options() throws(VaultError) -> OpenOptions {
        var options = OpenOptions()
        options.writable = access(places.vault, W_OK) == 0
        options.device = try device()
        return options
    }

    /// Unlocks a vault that this opened.
    mutating func unlock(_ vault: Vault) throws(KeychainFailure) {
        let factors = try factors()
        try vaultCall { () throws(VaultError) in try factors.open { (factors) throws(VaultError) in try vault.unlock(factors) } }
    }

    // MARK: factors

    private mutating func factors() throws(KeychainFailure) -> GivenFactors {
        let given = try GivenFactors()
        let isThere = access(places.vault, F_OK) == 0
        if !given.isEmpty {
            guard isThere else { throw KeychainFailure(.noSuchKeychain, "there is no such file; make one with 'vaultfmt create'") }
            return given
        }
        guard places.isDefault else {
            guard isThere else { throw KeychainFailure(.noSuchKeychain, "there is no such file; make one with 'vaultfmt create'") }
            throw KeychainFailure(
                .authFailed,
                "no factor is given; set VAULTFMT_KEY_FILE, VAULTFMT_PASSPHRASE_FILE or VAULTFMT_PASSPHRASE, or unlock it with 'vaultfmt unlock'"
            )
        }
        return GivenFactors(keyFile: isThere ? try existingKey() : try firstUse())
    }

    private func existingKey() throws(KeychainFailure) -> Secret {
        guard let key = try readKey() else {
            throw KeychainFailure(
                .authFailed,
                "its key file \(OneLine.quoted(places.generatedKeyFile)) does not exist; restore it, or set VAULTFMT_KEY_FILE, "
                    + "VAULTFMT_PASSPHRASE_FILE or VAULTFMT_PASSPHRASE")
        }
        return key
    }

    private func readKey() throws(KeychainFailure) -> Secret? {
        try SmallFile.read(places.generatedKeyFile, what: "key file", limit: 4096)
    }

    // MARK: first use

    /// Makes the key file and the default vault, whichever is not there yet; returns the key file's contents.
    private mutating func firstUse() throws(KeychainFailure) -> Secret {
        var madeKey = false
        if try readKey() == nil {
            madeKey = try SmallFile.create(places.generatedKeyFile, what: "key file", KeyFile.generate())
        }
        let key = try existingKey()
        try SmallFile.makeFolder(SmallFile.parent(of: places.vault))
        let madeVault = try vaultCall { () throws(VaultError) in try createVault(key) }
        note(madeKey: madeKey, madeVault: madeVault)
        return key
    }

    /// False if another process was faster.
    private func createVault(_ key: borrowing Secret) throws(VaultError) -> Bool {
        let factors = try Factors(keyFile: KeyFile(contents: key))
        var options = CreateOptions()
        options.slotName = "default key file"
        do throws(VaultError) {
            _ = try Vault.create(at: places.vault, factors: factors, options: options)
            return true
        } catch {
            guard error.code == .fileExists else { throw error }
            return false
        }
    }

    private mutating func note(madeKey: Bool, madeVault: Bool) {
        let vault = "the vault \(OneLine.quoted(places.vault))"
        let key = "its key file \(OneLine.quoted(places.generatedKeyFile))"
        let keep = "keep a copy of the key file elsewhere: without it, the vault stays closed"
        switch (madeVault, madeKey) {
        case (true, true): notices.append("made \(vault) and \(key), both readable by you alone; \(keep)")
        case (true, false): notices.append("made \(vault), which \(key) opens; \(keep)")
        case (false, true): notices.append("made \(key) of \(vault), readable by you alone; \(keep)")
        case (false, false): break
        }
    }

    // MARK: this device

    /// This machine's device, if it has one: what the command keeps in `$XDG_STATE_HOME/vaultfmt/device`.
    private func device() throws(VaultError) -> Device? {
        let contents: Secret?
        do throws(KeychainFailure) { contents = try SmallFile.read(places.device, what: "device file", limit: 4096) } catch {
            throw VaultError(.io, error.reason)
        }
        switch contents {
        case .some(let contents): return try Device(fileContents: contents)
        case .none: return nil
        }
    }

    /// Makes this machine's device, for items of this device only, if it has none.
    mutating func makeDevice() throws(KeychainFailure) {
        guard try SmallFile.create(places.device, what: "device file", Device.random().fileContents()) else { return }
        notices.append(
            "made this machine's device file \(OneLine.quoted(places.device)); items of this device only cannot be read without it")
    }
}
