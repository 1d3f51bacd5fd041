package import VaultAgent
internal import VaultFmt
internal import VaultLocal

/// Locks the vault when logind reports that a session of the user is locked or ends, or that the machine is about to
/// sleep.
///
/// This has the same effect as `vaultfmt lock`. The vault is also locked, and kept locked, while logind cannot be
/// followed, because a session could be locked without this process noticing.
package final class SessionLock: LockWatch {
    private let session: String?
    private var link: LoginLink?
    /// When to try the bus again; nil while there is a connection.
    private var retry: UInt64?
    /// The pause before the next attempt, in milliseconds.
    private var pause = SessionLock.firstPause
    /// True if there may be more messages than have been processed.
    private var hasMore = true

    private static let mostAtOnce = 256
    private static let firstPause: UInt64 = 1000
    private static let longestPause: UInt64 = 60_000
    /// How long logind may take to answer when the agent starts, in milliseconds.
    private static let patience: UInt64 = 10_000

    /// Connects to the system bus, and waits until logind has described the user's sessions.
    ///
    /// - `session`: The id of the session in which the agent was started, as in XDG_SESSION_ID; nil if it is unknown.
    /// - Throws: `unavailable` without libsystemd, without a system bus, or without logind.
    package init(session: String?) throws(AgentError) {
        self.session = session
        let link = try LoginLink(session: session)
        try link.waitUntilWatching(Self.patience)
        self.link = link
    }

    /// True if there is a session that can be locked.
    package var hasSession: Bool { link?.watch.hasSession ?? false }

    /// True if the machine waits until the vault is locked before it goes to sleep.
    package var delaysSleep: Bool { link?.delaysSleep ?? false }

    package var wait: (descriptor: Int32, events: Int16)? { link?.wait }

    package var nextEnd: UInt64? { hasMore && link != nil ? 0 : retry }

    package func serve(_ vault: ServedVault, now: UInt64) {
        do throws(AgentError) {
            if let retry, retry <= now {
                self.link = try LoginLink(session: session)
                self.retry = nil
            }
            guard let link else { return }
            hasMore = true
            for _ in 0..<Self.mostAtOnce where hasMore { hasMore = try link.serveNext() }
            if let reason = link.takeReason() { lock(vault, reason) }
            link.letSleep()
            guard link.watch.isWatching else { return }
            pause = Self.firstPause
            vault.allowOpening()
        } catch {
            // Lock only once, rather than with each failed attempt to reconnect.
            if !vault.isBarred { lock(vault, error.message) }
            vault.bar("\(error.message): a locked session would go unnoticed")
            link = nil
            retry = AgentClock.now() + pause
            pause = min(pause * 2, Self.longestPause)
        }
    }

    /// Locks the vault for every program on this machine that uses it.
    private func lock(_ vault: ServedVault, _ reason: String) {
        _ = vault.lock(at: nil, reason)
        // Without a keyring, no key is kept.
        do throws(VaultError) { try Machine.lock(vault.path) } catch {}
    }
}
