package import VaultFmt
internal import VaultLocal

/// A vault that the agent and its attached service use while it is open. It is locked when a time limit passes, on
/// request, and when the file at its path no longer opens as the same vault.
package final class ServedVault {
    /// The limits after which the vault is locked, in milliseconds.
    package struct Limits: Sendable {
        /// The limit since the vault was opened.
        package var total: UInt64?
        /// The limit since its last signature, or since its last use by another service of the agent.
        package var idle: UInt64?

        package init(total: UInt64? = nil, idle: UInt64? = nil) {
            self.total = total
            self.idle = idle
        }
    }

    enum State {
        case open(Opened)
        /// The vault is locked, for this reason.
        case locked(String)
    }

    struct Opened {
        let vault: Vault
        /// True if the vault was opened with the key that `unlock` keeps, so that `lock` closes it as well.
        let isKept: Bool
        /// When the key that `unlock` keeps expires, as last checked.
        var keptEnd: UInt64?
        let since: UInt64
        var lastUse: UInt64
        /// The keys that were last read from the vault, and the state from which they were read.
        var offers: (state: StateID, keys: [OfferedKey], omitted: [String])?
    }

    /// The path to show to users.
    package let path: String
    let groups: [String]
    private let limits: Limits
    private let reopening: Reopening?
    let onDemand: OnDemand?
    /// The earliest time to retry the given factors after they have failed.
    private var nextTry: UInt64 = 0
    private let keptEnds: KeptEnds
    /// The process that opens the vault with a typed passphrase; nil if there is none.
    var opening: Opening?
    var state: State
    /// The path without symbolic links; nil until it can be resolved.
    private var place: String?
    /// The access granted by the slot that first opened the vault. A key that reopens the vault must not grant more.
    private var widest: Access?
    /// The id of the vault that was last open.
    private var known: VaultID?
    /// When the vault was locked by a limit or by `lock`: the expiry of the key that `unlock` kept at the time. That
    /// key must not reopen the vault; a key kept later may.
    private var spentEnd: UInt64?
    /// The reason why someone locked the vault, as long as that is in effect; nil otherwise. While it is set, the given
    /// factors do not open the vault, but a typed passphrase or `vaultfmt unlock` does.
    private var hold: String?
    /// True if the given factors have opened the vault without asking anyone.
    private var opensUnasked = false
    /// Keys that a client has removed; they are not offered until the vault is opened again.
    var hidden: Set<[UInt8]> = []
    /// True if keys are listed while the vault is locked.
    private let listsLocked: Bool
    /// The keys to list while the vault is locked: those offered when it was last locked.
    var remembered: [ListedKey] = []
    /// The public keys whose items required confirmation when the vault was last locked. If a client has added one of
    /// these keys, it still requires confirmation, so locking the vault does not remove that protection.
    private(set) var confirmedWhenLocked: Set<[UInt8]> = []
    /// The reason the open vault's file could not be read the last time, and since when, in seconds since 1970; nil
    /// if it could be read.
    private(set) var unreadable: (reason: String, since: UInt64)?
    /// The reason the vault must stay locked for now; nil if it may be opened.
    private var barrier: String?
    /// How many times the vault has been locked. Comparing it reveals whether the vault was locked and reopened in
    /// between.
    package private(set) var lockCount: UInt64 = 0
    /// How many times someone has asked to lock the vault, even while it was locked. A question for its passphrase must
    /// be abandoned if this changes.
    private(set) var lockRequests: UInt64 = 0

    /// How long factors that have failed are not retried, in milliseconds, because trying them may take a second.
    static let pause: UInt64 = 2000

    /// - `path`: The vault's file.
    /// - `groups`: The access groups whose keys are offered even without an attribute.
    /// - `vault`: The vault, if it is already open.
    /// - `reopening`: Opens the vault with the key that `unlock` keeps; nil to disable this.
    /// - `onDemand`: Opens the vault when a client needs it; nil to disable this.
    /// - `listsLocked`: Whether to list the vault's public keys and their comments while it is locked, once it has been
    ///   open.
    package init(
        path: String, groups: [String], limits: Limits, vault: Vault?, isKept: Bool, now: UInt64,
        keptEnds: KeptEnds = .ofKernel, reopening: Reopening?, onDemand: OnDemand? = nil, listsLocked: Bool = false
    ) {
        self.path = path
        self.groups = groups
        self.limits = limits
        self.reopening = reopening
        self.onDemand = onDemand
        self.listsLocked = listsLocked
        self.keptEnds = keptEnds
        place = Places.resolved(path)
        state = .locked(
            onDemand == nil
                ? "it has not been unlocked; 'vaultfmt unlock' opens it" : "it is opened when a client needs it")
        if let vault { open(vault, isKept: isKept, now: now) }
    }

    private func open(_ vault: Vault, isKept: Bool, now: UInt64) {
        abandonOpening()
        (hidden, remembered, unreadable, hold) = ([], [], nil, nil)
        place = vault.path
        known = vault.id
        widest = widest ?? vault.access
        spentEnd = nil
        let keptEnd = isKept ? keptEnd(vault, now: now) ?? now : nil
        state = .open(Opened(vault: vault, isKept: isKept, keptEnd: keptEnd, since: now, lastUse: now))
        // Read the keys now, so that the state can be reported without reading the file. An error is reported to the
        // first client.
        do { _ = try keys(of: vault) } catch {}
    }

    // MARK: locking

    /// The reason why the vault is locked; nil if it is open.
    package var lockedReason: String? {
        guard case .locked(let reason) = state else { return nil }
        return barrier ?? reason
    }

    /// True while the vault must stay locked.
    package var isBarred: Bool { barrier != nil }

    /// Locks the vault and keeps it locked until `allowOpening` is called, regardless of kept keys, given factors and
    /// typed passphrases.
    package func bar(_ reason: String) {
        // A key that 'unlock' starts to keep in the meantime opens the vault once opening is allowed again.
        if barrier == nil { _ = lock(at: nil, reason) }
        barrier = reason
    }

    /// Ends the effect of `bar`; the vault remains locked as after any other `lock(at:_:)`.
    package func allowOpening() { barrier = nil }

    /// True if the vault is open but its file could not be read the last time.
    package var isUnreadable: Bool { unreadable != nil }

    /// Forgets the vault's keys until it is opened again.
    package func lock(_ reason: String) {
        if case .open(let opened) = state {
            if listsLocked { remembered = lastOffers.map(ListedKey.init) }
            confirmedWhenLocked = lastConfirmed
            opened.vault.lock()
            lockCount &+= 1
        }
        state = .locked(reason)
        (hidden, unreadable) = ([], nil)
    }

    /// Returns a reason with advice on how the vault is opened again.
    private func advised(_ reason: String) -> String {
        if hold != nil, opensUnasked {
            return reason + "; it is opened again after 'vaultfmt unlock', or when the agent is started again"
        }
        if onDemand != nil { return reason + "; it is opened again when a client needs it" }
        return reason + (reopening == nil ? "; start the agent again" : "; 'vaultfmt unlock' opens it again")
    }

    /// Locks the vault, and does not reopen it with the key that `unlock` currently keeps.
    private func lockUntilUnlocked(_ reason: String) {
        lock(advised(reason))
        spentEnd = known.flatMap(keptEnds.any)
    }

    /// Locks the vault if it may be the one at a path without symbolic links; a nil path means any vault. If the paths
    /// cannot be compared, the vault is locked, because that does no harm. Factors that open it on demand without
    /// asking anyone are not used again until `vaultfmt unlock` is run; otherwise the next request would undo the lock.
    ///
    /// - Returns: Whether the vault was open.
    package func lock(at other: String?, _ reason: String) -> Bool {
        if let other, let place, other != place, other != path { return false }
        lockRequests &+= 1
        // This must come before anyone is told that the vault is locked: a key that is still being derived must not
        // open it.
        abandonOpening()
        hold = reason
        if known == nil { known = idOfFile }
        guard lockedReason == nil else {
            if onDemand != nil { state = .locked(advised(reason)) }
            spentEnd = known.flatMap(keptEnds.any)
            return false
        }
        lockUntilUnlocked(reason)
        return true
    }

    /// The vault id read from the file, for a vault that has not been open yet; nil if it cannot be read.
    private var idOfFile: VaultID? {
        do throws(VaultError) { return try Vault.id(at: path) } catch { return nil }
    }

    /// Locks the vault if a limit has passed.
    package func expire(now: UInt64) {
        guard let (end, reason) = ends.min(by: { $0.time < $1.time }), end <= now, case .open(var opened) = state
        else { return }
        // 'unlock' may have been run again.
        if opened.keptEnd == end, let later = keptEnd(opened.vault, now: now), later > now {
            opened.keptEnd = later
            state = .open(opened)
        } else {
            // Otherwise the next request would reopen the vault with the key that is still kept, and the limit would
            // have no effect.
            lockUntilUnlocked(reason)
        }
    }

    /// When the vault will be locked, in milliseconds of the agent's clock.
    package var nextEnd: UInt64? { ends.map(\.time).min() }

    /// The times at which the vault would be locked, with the reasons.
    private var ends: [(time: UInt64, reason: String)] {
        guard case .open(let opened) = state else { return [] }
        var ends: [(time: UInt64, reason: String)] = []
        if let total = limits.total { ends.append((Self.sum(opened.since, total), "its time has passed (--time)")) }
        if let idle = limits.idle {
            ends.append((Self.sum(opened.lastUse, idle), "it was not used for a time (--idle)"))
        }
        if let end = opened.keptEnd { ends.append((end, "the time of 'vaultfmt unlock' has passed")) }
        return ends
    }

    /// Returns the open vault in its newest state; nil if it is locked or its file cannot be read.
    func current(now: UInt64) -> Vault? {
        compareKept(now: now)
        expire(now: now)
        if case .locked = state, !isBarred { reopen(now: now) }
        guard case .open(let opened) = state else { return nil }
        do throws(VaultError) { try opened.vault.refresh() } catch {
            // After these errors, the file may be readable again for the next request. After any other error, it is no
            // longer the vault that was open.
            guard [.io, .busy, .outOfMemory, .noSuchFile].contains(error.code) else {
                lock(advised(error.description))
                return error.code == .noSlotOpens ? reopened(now: now) : nil
            }
            let reason = error.code == .noSuchFile ? "the vault's file is missing" : error.description
            unreadable = (reason, unreadable?.since ?? AgentClock.calendarTime())
            return nil
        }
        unreadable = nil
        return opened.vault
    }

    /// Returns the vault after its keys were replaced. `vaultfmt unlock` may already keep the new key, and then the
    /// request that discovers the change must not fail.
    private func reopened(now: UInt64) -> Vault? {
        reopen(now: now)
        guard case .open(let opened) = state else { return nil }
        return opened.vault
    }

    /// Returns the open vault in its newest state, for another service of the agent; nil if it is locked or its file
    /// cannot be read. Opens the vault on demand if that requires no prompt.
    package func openVault(now: UInt64) -> Vault? { demand(now: now) == .open ? current(now: now) : nil }

    /// The access granted by the slot that opened the vault, and whether the vault can be changed; nil while it is
    /// locked. The file is not read.
    package var openAccess: (access: Access, isWritable: Bool)? {
        guard case .open(let opened) = state else { return nil }
        return (opened.vault.access, opened.vault.isWritable)
    }

    /// Records that the vault has been used, which restarts its idle time.
    package func noteUse(now: UInt64) {
        guard case .open(var opened) = state else { return }
        opened.lastUse = now
        state = .open(opened)
    }

    /// Locks the vault if `unlock` no longer keeps the key that opened it; otherwise updates the key's expiry, which
    /// may have changed.
    private func compareKept(now: UInt64) {
        guard case .open(var opened) = state, opened.isKept else { return }
        guard let end = keptEnd(opened.vault, now: now) else {
            return lock(advised("'vaultfmt unlock' does not keep it unlocked any longer"))
        }
        opened.keptEnd = end
        state = .open(opened)
    }

    /// Opens the vault with the key that `unlock` keeps, unless the same key was already kept when the vault was
    /// locked.
    private func reopen(now: UInt64) {
        if let spentEnd, let known, keptEnds.any(known) == spentEnd { return }
        do {
            guard let vault = try reopening?() else { return }
            guard widest?.includes(vault.access) ?? true else {
                vault.lock()
                return lock("the key that 'vaultfmt unlock' keeps grants more than the one that first opened it")
            }
            open(vault, isKept: true, now: now)
        } catch { lock(Self.text(error)) }
    }

    // MARK: on demand

    /// Opens the vault for a client, if it is opened on demand and that requires no prompt.
    package func demand(now: UInt64) -> Readiness {
        if lockedReason != nil { _ = current(now: now) }
        guard lockedReason != nil else { return .open }
        noteUnlock()
        // A passphrase was typed: nothing is to be opened until it is known whether it is right.
        guard opening == nil else { return .needsPassphrase }
        guard let onDemand, !isBarred, now >= nextTry, hold == nil || !opensUnasked else { return .closed }
        do throws(AgentError) {
            if let vault = try onDemand.asGiven() { return admitGiven(vault, now: now) ? .open : .closed }
            guard onDemand.canAsk else {
                throw AgentError(.unavailable, "it needs a passphrase, and no program can ask for it; name a pinentry")
            }
            return .needsPassphrase
        } catch {
            nextTry = Self.sum(now, Self.pause)
            lock(error.message)
            return .closed
        }
    }

    /// Ends the hold imposed by a lock request once `unlock` keeps a key that it did not keep when the request came.
    private func noteUnlock() {
        guard hold != nil, let known, let end = keptEnds.any(known), end != spentEnd else { return }
        hold = nil
    }

    /// Admits a vault that was opened without asking anyone, unless someone has locked it.
    private func admitGiven(_ vault: Vault, now: UInt64) -> Bool {
        opensUnasked = true
        known = vault.id
        // Until the vault was first opened, its id was unknown, so kept keys could not be looked up.
        noteUnlock()
        guard let hold else { return admit(vault, now: now) }
        vault.lock()
        lock(advised(hold))
        return false
    }

    /// Takes over a vault that was opened on demand, unless it grants more than the first one did; returns whether it
    /// was taken over.
    func admit(_ vault: Vault, now: UInt64) -> Bool {
        guard widest?.includes(vault.access) ?? true else {
            vault.lock()
            lock("the given factors grant more than those that first opened it")
            return false
        }
        open(vault, isKept: false, now: now)
        return true
    }

    /// Returns when the key that `unlock` keeps expires, in milliseconds of the agent's clock; nil if it does not keep
    /// a key of the slot that opened the vault.
    private func keptEnd(_ vault: Vault, now: UInt64) -> UInt64? {
        guard let end = keptEnds.ofSlot(vault) else { return nil }
        let (left, isTooMuch) = (end - min(end, AgentClock.calendarTime())).multipliedReportingOverflow(by: 1000)
        return Self.sum(now, isTooMuch ? .max : left)
    }

    private static func sum(_ time: UInt64, _ duration: UInt64) -> UInt64 {
        let (sum, isTooMuch) = time.addingReportingOverflow(duration)
        return isTooMuch ? .max : sum
    }

    static func text(_ error: any Error) -> String {
        switch error {
        case let error as VaultError: error.description
        case let error as AgentError: error.message
        default: TerminalText.singleLine("\(error)")
        }
    }
}

extension Access {
    /// Returns whether this access grants at least what another one does.
    fileprivate func includes(_ other: Access) -> Bool {
        switch (self, other) {
        case (.owner, _): true
        case (.scoped, .owner): false
        case (.scoped(let own), .scoped(let others)): Set(others).isSubset(of: own)
        }
    }
}
