package import VaultFmt
internal import VaultLocal
internal import VaultStore

/// The vault that the process's Keychain calls work on: either set by the program or specified by the environment and
/// opened when first needed.
package enum VaultInUse {
    private struct State {
        var vault: Vault?
        /// True if the program set the vault.
        var isGiven = false
        /// The path most recently opened or attempted, for messages.
        var path: String?
    }

    private static let state = Guarded(State())

    /// Makes every call use this vault from now on.
    package static func use(_ vault: Vault) {
        state.withLock { $0 = State(vault: vault, isGiven: true, path: vault.path) }
    }

    /// Makes the next call open the vault specified by the environment.
    package static func useEnvironment() { state.withLock { $0 = State() } }

    /// The path of the vault in use, or of the vault that could not be opened.
    package static var path: String? { state.withLock { $0.path } }

    /// Returns the vault, opened if necessary, in the state in which it was last used.
    package static func current() throws(KeychainFailure) -> Vault {
        var notices: [String] = []
        defer {
            notices.forEach(Notices.say)
            Notices.sayWaiting()
        }
        return try state.withLock { (state) throws(KeychainFailure) in
            if let vault = state.vault { return vault }
            return try open(&state, &notices)
        }
    }

    /// Returns the vault at its newest state. If a rotation replaced the vault's keys, the vault is reopened, provided
    /// that this module opened it; a rotation on another machine is refused until it has been accepted on this machine.
    package static func refreshed() throws(KeychainFailure) -> Vault {
        let vault = try current()
        defer { Notices.sayWaiting() }
        do throws(VaultError) {
            try vault.refresh()
            return vault
        } catch {
            guard [.noSlotOpens, .noSuchFile, .otherProcess].contains(error.code) else {
                throw KeychainFailure(error)
            }
            guard let reopened = try reopen(vault) else { throw KeychainFailure(error) }
            return reopened
        }
    }

    /// Creates this machine's device and opens the vault with it. Returns nil if the vault was set by the program or
    /// already has a device.
    package static func withNewDevice(_ vault: Vault) throws(KeychainFailure) -> Vault? {
        guard vault.device == nil, !state.withLock({ $0.isGiven }) else { return nil }
        try VaultOpener().makeDevice()
        Notices.sayWaiting()
        return try reopen(vault)
    }

    /// Locks the vault, opened if necessary. Throws `param` within this thread's own transaction.
    package static func lock() throws(KeychainFailure) {
        let vault = try current()
        try vaultCall { () throws(VaultError) in try vault.tryLock() }
    }

    /// Unlocks the vault with the factors from the environment. A vault set by the program must be unlocked by the
    /// program.
    package static func unlock() throws(KeychainFailure) {
        let (vault, isGiven) = state.withLock { ($0.vault, $0.isGiven) }
        guard let vault else { return _ = try current() }
        guard !isGiven else {
            throw KeychainFailure(.param, "this vault was set by the program, which must unlock it itself")
        }
        var opener = try VaultOpener(mayCreate: false)
        try opener.unlock(vault)
    }

    private static func reopen(_ old: Vault) throws(KeychainFailure) -> Vault? {
        var notices: [String] = []
        defer {
            notices.forEach(Notices.say)
            Notices.sayWaiting()
        }
        return try state.withLock { (state) throws(KeychainFailure) in
            guard !state.isGiven else { return nil }
            // Another thread may have reopened the vault in the meantime.
            if let vault = state.vault, vault !== old { return vault }
            return try open(&state, &notices, mayCreate: false)
        }
    }

    /// `mayCreate`: Whether the default vault is created if it does not exist. A vault that was in use may reappear
    /// soon, and must not be replaced with an empty one.
    private static func open(
        _ state: inout State, _ notices: inout [String], mayCreate: Bool = true
    ) throws(KeychainFailure) -> Vault {
        state.path = nil
        var opener = try VaultOpener(mayCreate: mayCreate)
        defer { notices = opener.notices }
        state.path = opener.machine.places.vault
        let vault = try opener.open()
        state.vault = vault
        return vault
    }
}
