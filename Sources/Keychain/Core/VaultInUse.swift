internal import Synchronization
package import VaultFmt
internal import VaultLocal

/// The vault that the process's Keychain calls work on: one that the program gave, or the one that the environment
/// says, opened when first needed.
package enum VaultInUse {
    private struct State {
        var vault: Vault?
        /// Whether the program gave it.
        var isGiven = false
        /// What tried to open it last, for messages.
        var path: String?
    }

    private static let state = Mutex(State())

    /// Makes every call from now on use this vault.
    package static func use(_ vault: Vault) {
        state.withLock { $0 = State(vault: vault, isGiven: true, path: vault.path) }
    }

    /// Makes the next call open the vault that the environment says.
    package static func useEnvironment() { state.withLock { $0 = State() } }

    /// The path of the vault in use, or of the one that could not be opened.
    package static var path: String? { state.withLock { $0.path } }

    /// The vault, opened if need be; in the state that it was used in last.
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

    /// The vault, at its newest state. One whose keys were replaced by a rotation is opened again, if this module
    /// opened it; where it was rotated on another machine, that is refused until it was accepted here.
    package static func refreshed() throws(KeychainFailure) -> Vault {
        let vault = try current()
        defer { Notices.sayWaiting() }
        do throws(VaultError) {
            try vault.refresh()
            return vault
        } catch {
            guard [.noSlotOpens, .noSuchFile, .ancestryUnprovable].contains(error.code) else {
                throw KeychainFailure(error)
            }
            guard let reopened = try reopen(vault) else { throw KeychainFailure(error) }
            return reopened
        }
    }

    /// Makes this machine's device, and opens the vault with it. Nil if the program gave the vault, or if it has a
    /// device already.
    package static func withNewDevice(_ vault: Vault) throws(KeychainFailure) -> Vault? {
        guard vault.device == nil, !state.withLock({ $0.isGiven }) else { return nil }
        try VaultOpener().makeDevice()
        Notices.sayWaiting()
        return try reopen(vault)
    }

    /// Unlocks the vault with what the environment says. A vault that the program gave it must unlock itself.
    package static func unlock() throws(KeychainFailure) {
        let (vault, isGiven) = state.withLock { ($0.vault, $0.isGiven) }
        guard let vault else { return _ = try current() }
        guard !isGiven else {
            throw KeychainFailure(.param, "the program gave this vault, and has the factors to unlock it")
        }
        var opener = try VaultOpener()
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
            // Another thread may have done so meanwhile.
            if let vault = state.vault, vault !== old { return vault }
            return try open(&state, &notices)
        }
    }

    private static func open(_ state: inout State, _ notices: inout [String]) throws(KeychainFailure) -> Vault {
        state.path = nil
        var opener = try VaultOpener()
        defer { notices = opener.notices }
        state.path = opener.machine.places.vault
        let vault = try opener.open()
        state.vault = vault
        return vault
    }
}
