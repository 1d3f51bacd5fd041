internal import VaultFmt
internal import VaultLocal

/// Opens the vault that the environment names, or the default one, which it makes on first use, as this machine:
/// compared with what it remembers.
///
/// Any number of processes may do so at once: key file and vault get their names complete and only once, and whoever
/// comes second uses what is there.
struct VaultOpener {
    let machine: Machine
    /// What was made, one line each, to be said once no lock is held.
    private(set) var notices: [String] = []

    private var places: Places { machine.places }

    init() throws(KeychainFailure) {
        machine = try vaultCall { () throws(VaultError) in try Machine { Notices.wait($0.text) } }
    }

    /// Opens it; for changing, if its file may be changed.
    mutating func open() throws(KeychainFailure) -> Vault {
        if let unlocked = try openUnlocked() { return unlocked }
        let factors = try factors()
        return try vaultCall { () throws(VaultError) in
            try factors.tryEach { (factors, _) throws(VaultError) in
                try machine.open(places.vault, factors: factors, options: options())
            }
        }
    }

    /// Opens a vault that `vaultfmt unlock` keeps unlocked, where nothing else opens it; nil if it does not.
    private func openUnlocked() throws(KeychainFailure) -> Vault? {
        guard !FactorSources.environment.isAnyGiven, machine.exists(places.vault),
            !places.isDefault || !machine.exists(places.generatedKeyFile)
        else { return nil }
        do throws(VaultError) { return try machine.openUnlocked(places.vault, options: options()) } catch {
            guard error.code == .noKernelKeyring else { throw KeychainFailure(error) }
            return nil
        }
    }

    private func options() -> OpenOptions {
        var options = OpenOptions()
        options.writable = machine.isWritable(places.vault)
        return options
    }

    /// Unlocks a vault that this opened.
    mutating func unlock(_ vault: Vault) throws(KeychainFailure) {
        let factors = try factors()
        try vaultCall { () throws(VaultError) in
            try factors.tryEach { (factors, _) throws(VaultError) in try vault.unlock(factors) }
        }
    }

    // MARK: factors

    private mutating func factors() throws(KeychainFailure) -> GivenFactors {
        let isThere = machine.exists(places.vault)
        if FactorSources.environment.isAnyGiven {
            guard isThere else {
                throw KeychainFailure(.noSuchKeychain, "there is no such file; make one with 'vaultfmt create'")
            }
            do throws(VaultError) { return try FactorSources.environment.read() } catch {
                guard error.code == .noSuchFile else { throw KeychainFailure(error) }
                throw KeychainFailure(
                    .authFailed, "\(error.description): the file that the environment names does not exist")
            }
        }
        guard places.isDefault else {
            guard isThere else {
                throw KeychainFailure(.noSuchKeychain, "there is no such file; make one with 'vaultfmt create'")
            }
            throw KeychainFailure(
                .authFailed,
                "no factor is given; set VAULTFMT_KEY_FILE, VAULTFMT_PASSPHRASE_FILE or VAULTFMT_PASSPHRASE, or unlock it with 'vaultfmt unlock'"
            )
        }
        return GivenFactors(passphrase: nil, keyFile: isThere ? try existingKey() : try firstUse(), rawKey: nil)
    }

    private func existingKey() throws(KeychainFailure) -> Secret {
        guard let key = try readKey() else {
            throw KeychainFailure(
                .authFailed,
                "its key file \(TerminalText.path(places.generatedKeyFile)) does not exist; restore it, or set VAULTFMT_KEY_FILE, "
                    + "VAULTFMT_PASSPHRASE_FILE or VAULTFMT_PASSPHRASE")
        }
        return key
    }

    private func readKey() throws(KeychainFailure) -> Secret? {
        try vaultCall { () throws(VaultError) in
            guard machine.exists(places.generatedKeyFile) else { return nil }
            return try FactorInput.file(places.generatedKeyFile, what: "key file", limit: 4096)
        }
    }

    // MARK: first use

    /// Makes the key file and the default vault, whichever is not there yet; returns the key file's contents.
    private mutating func firstUse() throws(KeychainFailure) -> Secret {
        var madeKey = false
        if try readKey() == nil {
            madeKey = try vaultCall { () throws(VaultError) in
                try machine.createPrivate(places.generatedKeyFile, what: "key file", KeyFile.generate())
            }
        }
        let key = try existingKey()
        let madeVault = try vaultCall { () throws(VaultError) in try createVault(key) }
        note(madeKey: madeKey, madeVault: madeVault)
        return key
    }

    /// False if another process was faster.
    private func createVault(_ key: borrowing Secret) throws(VaultError) -> Bool {
        try machine.makeFolder(of: places.vault)
        let factors = try Factors(keyFile: KeyFile(contents: key))
        var options = CreateOptions()
        options.slotName = "default key file"
        do throws(VaultError) {
            _ = try machine.create(at: places.vault, factors: factors, options: options)
            return true
        } catch {
            guard error.code == .fileExists else { throw error }
            return false
        }
    }

    private mutating func note(madeKey: Bool, madeVault: Bool) {
        let vault = "the vault \(TerminalText.path(places.vault))"
        let key = "its key file \(TerminalText.path(places.generatedKeyFile))"
        let keep = "keep a copy of the key file elsewhere: without it, the vault stays closed"
        switch (madeVault, madeKey) {
        case (true, true): notices.append("made \(vault) and \(key), both readable by you alone; \(keep)")
        case (true, false): notices.append("made \(vault), which \(key) opens; \(keep)")
        case (false, true): notices.append("made \(key) of \(vault), readable by you alone; \(keep)")
        case (false, false): break
        }
    }

    // MARK: this device

    /// Makes this machine's device, for items of this device only, if it has none.
    func makeDevice() throws(KeychainFailure) {
        try vaultCall { () throws(VaultError) in _ = try machine.deviceFile.loadOrCreate() }
    }
}
