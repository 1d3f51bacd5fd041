internal import VaultFmt
internal import VaultLocal

/// Opens the vault named by the environment, or the default vault, which is created on first use. The vault is checked
/// against the state that this machine remembers.
///
/// Any number of processes may do this at the same time: the key file and the vault are given their names only when
/// complete, the first process wins, and later ones use the existing files.
struct VaultOpener {
    let machine: Machine
    /// Notices about the files that were created, one line each, to be written once no lock is held.
    private(set) var notices: [String] = []

    private let mayCreate: Bool

    private var places: Places { machine.places }

    /// `mayCreate`: Whether the default vault is created if it does not exist.
    init(mayCreate: Bool = true) throws(KeychainFailure) {
        self.mayCreate = mayCreate
        machine = try vaultCall { () throws(VaultError) in try Machine { Notices.wait($0.text) } }
    }

    /// Opens the vault, for changing if its file is writable.
    mutating func open() throws(KeychainFailure) -> Vault {
        if let unlocked = try openUnlocked() { return unlocked }
        let factors = try factors()
        return try vaultCall { () throws(VaultError) in
            try factors.tryEach { (factors, _) throws(VaultError) in
                try machine.open(places.vault, factors: factors, options: options())
            }
        }
    }

    /// If no factor is given, opens the vault with the key that `vaultfmt unlock` keeps; returns nil if no key is kept.
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

    /// Unlocks a vault opened by this type.
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
                throw KeychainFailure(.noSuchKeychain, "no such file; create a vault with 'vaultfmt create'")
            }
            do throws(VaultError) { return try FactorSources.environment.read() } catch {
                guard error.code == .noSuchFile else { throw KeychainFailure(error) }
                throw KeychainFailure(
                    .authFailed, "\(error.description): the file specified in the environment does not exist")
            }
        }
        guard places.isDefault, isThere || mayCreate else {
            guard isThere else {
                throw KeychainFailure(.noSuchKeychain, "no such file; create a vault with 'vaultfmt create'")
            }
            throw KeychainFailure(
                .authFailed,
                "no factor is given; set VAULTFMT_KEY_FILE, VAULTFMT_PASSPHRASE_FILE or VAULTFMT_PASSPHRASE, or unlock the vault with 'vaultfmt unlock'"
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

    /// Creates the key file and the default vault if they do not exist yet; returns the contents of the key file.
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

    /// Creates the vault; returns false if another process was faster.
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
        let keep = "keep a copy of the key file elsewhere: without it, the vault cannot be opened"
        switch (madeVault, madeKey) {
        case (true, true): notices.append("created \(vault) and \(key), both readable only by you; \(keep)")
        case (true, false): notices.append("created \(vault), which \(key) opens; \(keep)")
        case (false, true): notices.append("created \(key) of \(vault), readable only by you; \(keep)")
        case (false, false): break
        }
    }

    // MARK: this device

    /// Creates this machine's device, for device-only items, if it has none.
    func makeDevice() throws(KeychainFailure) {
        try vaultCall { () throws(VaultError) in _ = try machine.deviceFile.loadOrCreate() }
    }
}
