internal import VaultExchange
package import VaultFmt
internal import VaultLocal

/// A vault and its keys, for the agent and the service attached to it, as long as it is open: until a time after it was
/// opened, or after its last use, has passed, until it is locked, or until the file is not the one that it was.
package final class ServedVault {
    /// When the vault is locked, in milliseconds.
    package struct Limits: Sendable {
        /// After it was opened.
        package var total: UInt64?
        /// After its last signature, or its last use by another service of the agent.
        package var idle: UInt64?

        package init(total: UInt64? = nil, idle: UInt64? = nil) {
            self.total = total
            self.idle = idle
        }
    }

    enum State {
        case open(Opened)
        /// The reason, for people.
        case locked(String)
    }

    struct Opened {
        let vault: Vault
        /// Whether it was opened with the key that `unlock` keeps, so that `lock` ends it.
        let isKept: Bool
        /// When the key that `unlock` keeps expires, as far as it was known last.
        var keptEnd: UInt64?
        let since: UInt64
        var lastUse: UInt64
        /// What was read of the vault in one of its states.
        var offers: (state: StateID, keys: [OfferedKey], omitted: [String])?
    }

    /// Its path, for people.
    package let path: String
    let groups: [String]
    private let limits: Limits
    private let reopening: Reopening?
    private let onDemand: OnDemand?
    /// When the factors that were given are tried again after they have failed.
    private var nextTry: UInt64 = 0
    private let keptEnds: KeptEnds
    var state: State
    /// Its path without symbolic links; nil as long as it cannot be resolved.
    private var place: String?
    /// The access of the slot that opened the vault first. A key that opens it again must not grant more.
    private var widest: Access?
    /// The vault that was open last.
    private var known: VaultID?
    /// The end of the key that `unlock` kept when a limit or `lock` locked the vault. This key does not open it again;
    /// one that is kept later does.
    private var spentEnd: UInt64?
    /// Why somebody has locked the vault, while that lasts: what was given does not open it then, and a person's
    /// passphrase or `vaultfmt unlock` does. Nil otherwise.
    private var hold: String?
    /// Whether what was given has opened the vault without asking anybody.
    private var opensUnasked = false
    /// Keys that a client has removed: they are not offered until the vault is opened again.
    var hidden: Set<[UInt8]> = []
    /// Whether the keys are listed while the vault is locked.
    private let listsLocked: Bool
    /// The keys that were offered when the vault was locked last, if it is locked and they are listed then.
    var remembered: [ListedKey] = []
    /// Why the open vault's file could not be read last, and since when, in seconds since 1970; nil if it could.
    private(set) var unreadable: (reason: String, since: UInt64)?
    /// Why the vault must stay locked for now; nil if it may be opened.
    private var barrier: String?
    /// How often the vault was locked, for those who must not miss that it was locked and opened again.
    package private(set) var lockCount: UInt64 = 0
    /// How often somebody has asked to lock it, also while it was locked: whoever is about to open it then must not.
    private(set) var lockRequests: UInt64 = 0

    /// How long factors that have failed are not tried again, in milliseconds: trying them may take a second.
    static let pause: UInt64 = 2000

    /// - `path`: The vault's file.
    /// - `groups`: The access groups whose keys are offered without an attribute.
    /// - `vault`: The vault, if it is open already.
    /// - `reopening`: Nil if the key that `unlock` keeps does not open it.
    /// - `onDemand`: Nil if it is not opened because a client needs it.
    /// - `listsLocked`: Whether its public keys and their comments are listed while it is locked, once it was open.
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
        (hidden, remembered, unreadable, hold) = ([], [], nil, nil)
        place = vault.path
        known = vault.id
        widest = widest ?? vault.access
        spentEnd = nil
        let keptEnd = isKept ? keptEnd(vault, now: now) ?? now : nil
        state = .open(Opened(vault: vault, isKept: isKept, keptEnd: keptEnd, since: now, lastUse: now))
        // So that the state can be told without reading the file. An error is reported to the first client.
        do { _ = try keys(of: vault) } catch {}
    }

    // MARK: locking

    /// The reason why the vault is locked; nil if it is open.
    package var lockedReason: String? {
        guard case .locked(let reason) = state else { return nil }
        return barrier ?? reason
    }

    /// Whether the vault must stay locked for now.
    package var isBarred: Bool { barrier != nil }

    /// Locks the vault, and keeps it locked until `allowOpening`, whatever `vaultfmt unlock` keeps, is given or is
    /// typed.
    package func bar(_ reason: String) {
        // A key that 'unlock' keeps meanwhile opens the vault when it may be opened.
        if barrier == nil { _ = lock(at: nil, reason) }
        barrier = reason
    }

    /// Ends what `bar` has begun: the vault is locked as after any other `lock(at:_:)`.
    package func allowOpening() { barrier = nil }

    /// Whether it is open, and its file could not be read last.
    package var isUnreadable: Bool { unreadable != nil }

    /// Forgets the vault's keys, until it is unlocked again.
    package func lock(_ reason: String) {
        if case .open(let opened) = state {
            if listsLocked { remembered = lastOffers.map(ListedKey.init) }
            opened.vault.lock()
            lockCount &+= 1
        }
        state = .locked(reason)
        (hidden, unreadable) = ([], nil)
    }

    /// Says how a vault that was locked for a reason is opened again.
    private func advised(_ reason: String) -> String {
        if hold != nil, opensUnasked {
            return reason + "; it is opened again after 'vaultfmt unlock', or when the agent is started again"
        }
        if onDemand != nil { return reason + "; it is opened again when a client needs it" }
        return reason + (reopening == nil ? "; start the agent again" : "; 'vaultfmt unlock' opens it again")
    }

    /// Locks the vault, and does not open it again with the key that `unlock` keeps now.
    private func lockUntilUnlocked(_ reason: String) {
        lock(advised(reason))
        spentEnd = known.flatMap(keptEnds.any)
    }

    /// Locks the vault if it may be the one at a path without symbolic links; nil stands for any. What cannot be
    /// compared is locked: that does no harm. What opens it on demand without asking anybody does not until `vaultfmt
    /// unlock` is run: the next request would undo the lock.
    ///
    /// - Returns: Whether it was open.
    package func lock(at other: String?, _ reason: String) -> Bool {
        if let other, let place, other != place, other != path { return false }
        lockRequests &+= 1
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

    /// The id in the vault's file, before the vault was open; nil if it cannot be read.
    private var idOfFile: VaultID? {
        do throws(VaultError) { return try Vault.id(at: path) } catch { return nil }
    }

    /// Locks the vault if its time has passed.
    package func expire(now: UInt64) {
        guard let (end, reason) = ends.min(by: { $0.time < $1.time }), end <= now, case .open(var opened) = state
        else { return }
        // 'unlock' may have been run again.
        if opened.keptEnd == end, let later = keptEnd(opened.vault, now: now), later > now {
            opened.keptEnd = later
            state = .open(opened)
        } else {
            // With the key that is still kept, the next request would open it again: the limit would have no effect.
            lockUntilUnlocked(reason)
        }
    }

    /// When the vault will be locked, in milliseconds of the agent's clock.
    package var nextEnd: UInt64? { ends.map(\.time).min() }

    /// When the vault would be locked, and why.
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

    /// Returns the open vault in its newest state; nil if it is locked, or if its file cannot be read now.
    func current(now: UInt64) -> Vault? {
        compareKept(now: now)
        expire(now: now)
        if case .locked = state, !isBarred { reopen(now: now) }
        guard case .open(let opened) = state else { return nil }
        do throws(VaultError) { try opened.vault.refresh() } catch {
            // The file may be readable again with the next request; whatever else it is, it is not the vault.
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

    /// Returns the vault after its keys were replaced. `vaultfmt unlock` may keep the new ones already, and the request
    /// that notices the change must not fail then.
    private func reopened(now: UInt64) -> Vault? {
        reopen(now: now)
        guard case .open(let opened) = state else { return nil }
        return opened.vault
    }

    /// Returns the open vault in its newest state, for another service of the agent; nil if it is locked, or if its
    /// file cannot be read now. It is opened on demand if nobody has to be asked.
    package func openVault(now: UInt64) -> Vault? { demand(now: now) == .open ? current(now: now) : nil }

    /// What the slot that has opened the vault grants, and whether the vault can be changed; nil while it is locked.
    /// The file is not read.
    package var openAccess: (access: Access, isWritable: Bool)? {
        guard case .open(let opened) = state else { return nil }
        return (opened.vault.access, opened.vault.isWritable)
    }

    /// Notes that the vault has been used, so that its idle time begins again.
    package func noteUse(now: UInt64) {
        guard case .open(var opened) = state else { return }
        opened.lastUse = now
        state = .open(opened)
    }

    /// Locks the vault if `unlock` does not keep the key that has opened it; notes the key's end, which may have
    /// changed.
    private func compareKept(now: UInt64) {
        guard case .open(var opened) = state, opened.isKept else { return }
        guard let end = keptEnd(opened.vault, now: now) else {
            return lock(advised("'vaultfmt unlock' does not keep it unlocked any longer"))
        }
        opened.keptEnd = end
        state = .open(opened)
    }

    /// Opens the vault with the key that `unlock` keeps, unless that was kept already when it was locked.
    private func reopen(now: UInt64) {
        if let spentEnd, let known, keptEnds.any(known) == spentEnd { return }
        do {
            guard let vault = try reopening?() else { return }
            guard widest?.includes(vault.access) ?? true else {
                vault.lock()
                return lock("the key that 'vaultfmt unlock' keeps grants more than the one that opened it first")
            }
            open(vault, isKept: true, now: now)
        } catch { lock(Self.text(error)) }
    }

    // MARK: on demand

    /// Opens the vault because a client needs it, if it is opened on demand and nobody has to be asked.
    package func demand(now: UInt64) -> Readiness {
        if lockedReason != nil { _ = current(now: now) }
        guard lockedReason != nil else { return .open }
        noteUnlock()
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

    /// Opens the vault with a passphrase that was typed because a client needs it.
    func open(typed passphrase: SharedSecret, now: UInt64) -> Typed {
        guard lockedReason != nil else { return .opened }
        guard let onDemand, !isBarred else { return .refused(barrier ?? "it is not opened on demand") }
        do throws(AgentError) {
            let vault = try onDemand.typed(passphrase)
            return admit(vault, now: now) ? .opened : .refused(lockedReason ?? "it is locked")
        } catch {
            guard error.code != .refused else { return .wrong }
            lock(error.message)
            return .refused(error.message)
        }
    }

    /// Ends the hold after somebody has locked the vault, once `unlock` keeps a key that it did not keep then.
    private func noteUnlock() {
        guard hold != nil, let known, let end = keptEnds.any(known), end != spentEnd else { return }
        hold = nil
    }

    /// Admits a vault that was opened without asking anybody, unless somebody has locked it.
    private func admitGiven(_ vault: Vault, now: UInt64) -> Bool {
        opensUnasked = true
        known = vault.id
        // Before it was open for the first time, nobody knew which vault's keys to look for.
        noteUnlock()
        guard let hold else { return admit(vault, now: now) }
        vault.lock()
        lock(advised(hold))
        return false
    }

    private func admit(_ vault: Vault, now: UInt64) -> Bool {
        guard widest?.includes(vault.access) ?? true else {
            vault.lock()
            lock("what was given grants more than what opened it first")
            return false
        }
        open(vault, isKept: false, now: now)
        return true
    }

    /// Returns when the key that `unlock` keeps expires, in milliseconds of the agent's clock; nil if it does not keep
    /// that of the slot that has opened the vault.
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
    /// Whether it grants at least what another one does.
    fileprivate func includes(_ other: Access) -> Bool {
        switch (self, other) {
        case (.owner, _): true
        case (.scoped, .owner): false
        case (.scoped(let own), .scoped(let others)): Set(others).isSubset(of: own)
        }
    }
}
