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

    /// Opens the vault with the key that `vaultfmt unlock` keeps; returns nil if it keeps none.
    package typealias Reopening = () throws -> Vault?

    /// Until when `vaultfmt unlock` keeps a key, in seconds since 1970; nil if it keeps none.
    package struct KeptEnds {
        /// A key of any slot of a vault.
        let any: (VaultID) -> UInt64?
        /// The key of the slot that has opened a vault: another one must not keep that open.
        let ofSlot: (Vault) -> UInt64?

        package init(any: @escaping (VaultID) -> UInt64?, ofSlot: @escaping (Vault) -> UInt64?) {
            self.any = any
            self.ofSlot = ofSlot
        }

        /// What is in the kernel's keyring. What cannot be read there is not kept.
        package static var ofKernel: KeptEnds {
            KeptEnds { vault in
                do throws(VaultError) { return try Machine.unlockedUntil(vault) } catch { return nil }
            } ofSlot: { vault in
                do throws(VaultError) { return try Machine.unlockedUntil(asOpened: vault) } catch { return nil }
            }
        }
    }

    private enum State {
        case open(Opened)
        /// The reason, for people.
        case locked(String)
    }

    private struct Opened {
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
    private let groups: [String]
    private let limits: Limits
    private let reopening: Reopening?
    private let keptEnds: KeptEnds
    private var state: State
    /// Its path without symbolic links; nil as long as it cannot be resolved.
    private var place: String?
    /// The access of the slot that opened the vault first. A key that opens it again must not grant more.
    private var widest: Access?
    /// The vault that was open last.
    private var known: VaultID?
    /// The end of the key that `unlock` kept when a limit or `lock` locked the vault. This key does not open it again; one
    /// that is kept later does.
    private var spentEnd: UInt64?
    /// Keys that a client has removed: they are not offered until the vault is opened again.
    private var hidden: Set<[UInt8]> = []
    /// Why the open vault's file could not be read last, and since when, in seconds since 1970; nil if it could.
    private(set) var unreadable: (reason: String, since: UInt64)?
    /// Why the vault must stay locked for now; nil if it may be opened.
    private var barrier: String?
    /// How often the vault was locked, for those who must not miss that it was locked and opened again.
    package private(set) var lockCount: UInt64 = 0

    /// - `path`: The vault's file.
    /// - `groups`: The access groups whose keys are offered without an attribute.
    /// - `vault`: The vault, if it is open already.
    /// - `reopening`: Nil if it is opened only once.
    package init(
        path: String, groups: [String], limits: Limits, vault: Vault?, isKept: Bool, now: UInt64,
        keptEnds: KeptEnds = .ofKernel, reopening: Reopening?
    ) {
        self.path = path
        self.groups = groups
        self.limits = limits
        self.reopening = reopening
        self.keptEnds = keptEnds
        place = Places.resolved(path)
        state = .locked("it has not been unlocked; 'vaultfmt unlock' opens it")
        if let vault { open(vault, isKept: isKept, now: now) }
    }

    private func open(_ vault: Vault, isKept: Bool, now: UInt64) {
        (hidden, unreadable) = ([], nil)
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

    /// Locks the vault, and keeps it locked until `allowOpening`, whatever `vaultfmt unlock` keeps.
    package func bar(_ reason: String) {
        // A key that 'unlock' has kept since then opens the vault when it may be opened.
        if barrier == nil { _ = lock(at: nil, reason) }
        barrier = reason
    }

    /// Ends what `bar` has begun: the next `vaultfmt unlock` opens the vault again.
    package func allowOpening() { barrier = nil }

    /// Whether it is open, and its file could not be read last.
    package var isUnreadable: Bool { unreadable != nil }

    /// Forgets the vault's keys, until it is unlocked again.
    package func lock(_ reason: String) {
        if case .open(let opened) = state {
            opened.vault.lock()
            lockCount &+= 1
        }
        state = .locked(reason)
        (hidden, unreadable) = ([], nil)
    }

    /// Says how a vault that was locked for a reason is opened again.
    private func advised(_ reason: String) -> String {
        reason + (reopening == nil ? "; start the agent again" : "; 'vaultfmt unlock' opens it again")
    }

    /// Locks the vault, and does not open it again with the key that `unlock` keeps now.
    private func lockUntilUnlocked(_ reason: String) {
        lock(advised(reason))
        spentEnd = known.flatMap(keptEnds.any)
    }

    /// Locks the vault if it may be the one at a path without symbolic links; nil stands for any. What cannot be compared
    /// is locked: that does no harm.
    ///
    /// - Returns: Whether it was open.
    package func lock(at other: String?, _ reason: String) -> Bool {
        if let other, let place, other != place, other != path { return false }
        guard lockedReason == nil else {
            spentEnd = known.flatMap(keptEnds.any)
            return false
        }
        lockUntilUnlocked(reason)
        return true
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
    private func current(now: UInt64) -> Vault? {
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

    /// Returns the open vault in its newest state, for another service of the agent; nil if it is locked, or if its file
    /// cannot be read now.
    package func openVault(now: UInt64) -> Vault? { current(now: now) }

    /// What the slot that has opened the vault grants, and whether the vault can be changed; nil while it is locked. The
    /// file is not read.
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

    /// Locks the vault if `unlock` does not keep the key that has opened it; notes the key's end, which may have changed.
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

    /// Returns when the key that `unlock` keeps expires, in milliseconds of the agent's clock; nil if it does not keep that
    /// of the slot that has opened the vault.
    private func keptEnd(_ vault: Vault, now: UInt64) -> UInt64? {
        guard let end = keptEnds.ofSlot(vault) else { return nil }
        let (left, isTooMuch) = (end - min(end, AgentClock.calendarTime())).multipliedReportingOverflow(by: 1000)
        return Self.sum(now, isTooMuch ? .max : left)
    }

    private static func sum(_ time: UInt64, _ duration: UInt64) -> UInt64 {
        let (sum, isTooMuch) = time.addingReportingOverflow(duration)
        return isTooMuch ? .max : sum
    }

    // MARK: keys

    /// Returns the keys that are offered now; none while the vault is locked.
    package func offers(now: UInt64) throws -> [OfferedKey] {
        guard let vault = current(now: now) else { return [] }
        return try keys(of: vault).filter { !hidden.contains($0.publicKey.blob) }
    }

    /// The keys that were offered last; none while the vault is locked. It is neither opened nor read.
    var lastOffers: [OfferedKey] {
        guard case .open(let opened) = state else { return [] }
        return (opened.offers?.keys ?? []).filter { !hidden.contains($0.publicKey.blob) }
    }

    /// What has the attribute and cannot be offered, with the reasons.
    package var omitted: [String] {
        guard case .open(let opened) = state else { return [] }
        return opened.offers?.omitted ?? []
    }

    /// What is wrong with items whose keys are offered.
    var warnings: [String] {
        let time = AgentClock.calendarTime()
        return lastOffers.flatMap { $0.warnings(at: time) }
    }

    private func keys(of vault: Vault) throws -> [OfferedKey] {
        guard case .open(var opened) = state else { return [] }
        let now = vault.state
        if let known = opened.offers, known.state == now { return known.keys }
        let found = try OfferedKeys.read(vault, groups: groups, known: opened.offers?.keys ?? [])
        opened.offers = (now, found.keys, found.omitted)
        state = .open(opened)
        return found.keys
    }

    /// How many keys are not offered because a client has removed them.
    var hiddenCount: Int { hidden.count }

    /// The keys for which items demanded confirmation last, also while they are hidden. The vault is not read.
    var lastConfirmed: Set<[UInt8]> {
        guard case .open(let opened) = state else { return [] }
        return Set((opened.offers?.keys ?? []).filter(\.needsConfirmation).map(\.publicKey.blob))
    }

    /// Whether an item demands confirmation for its key, also while it is hidden.
    func needsConfirmation(_ key: [UInt8], now: UInt64) throws -> Bool {
        guard let vault = current(now: now) else { return false }
        return try keys(of: vault).contains { $0.publicKey.blob == key && $0.needsConfirmation }
    }

    /// Returns the offers of the key of an identity. Several items may hold the same key; a certificate of one of them
    /// identifies the key of all.
    func offers(of identity: [UInt8], now: UInt64) throws -> [OfferedKey] {
        let all = try offers(now: now)
        guard let known = all.first(where: { $0.identities.contains(identity) }) else { return [] }
        return all.filter { $0.publicKey == known.publicKey }
    }

    /// Signs with the key of an identity, of the first item whose secret is that key. Throws `unavailable` if it is not
    /// offered.
    func sign(
        _ data: UnsafeRawBufferPointer, identity: [UInt8], flags: UInt32, now: UInt64
    ) throws -> [UInt8] {
        let keys = try offers(of: identity, now: now)
        guard case .open(var opened) = state else { throw Self.noKey }
        var failure: (any Error)?
        for key in keys {
            do {
                let signature = try key.sign(data, flags: flags, in: opened.vault)
                opened.lastUse = now
                state = .open(opened)
                return signature
            } catch { failure = failure ?? error }
        }
        throw failure ?? Self.noKey
    }

    private static let noKey = AgentError(.unavailable, "there is no such key")

    /// Stops offering a key until the vault is opened again; returns false if it is not offered.
    func hide(_ identity: [UInt8], now: UInt64) throws -> Bool {
        guard let key = try offers(of: identity, now: now).first else { return false }
        hidden.insert(key.publicKey.blob)
        return true
    }

    /// Stops offering all keys until the vault is opened again.
    func hideAll(now: UInt64) throws { hidden.formUnion(try offers(now: now).map(\.publicKey.blob)) }

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
