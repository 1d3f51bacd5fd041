internal import VaultFmt

// The keys in a vault that are offered to clients of the SSH agent.
extension ServedVault {
    /// Returns the keys to offer; empty while the vault is locked.
    package func offers(now: UInt64) throws -> [OfferedKey] {
        guard let vault = current(now: now) else { return [] }
        return try keys(of: vault).filter { !hidden.contains($0.publicKey.blob) }
    }

    /// The keys that were last offered; empty while the vault is locked. This neither opens nor reads the vault.
    var lastOffers: [OfferedKey] {
        guard case .open(let opened) = state else { return [] }
        return (opened.offers?.keys ?? []).filter { !hidden.contains($0.publicKey.blob) }
    }

    /// Returns the keys to list: those that are offered or, while the vault is locked, those remembered for listing.
    func listed(now: UInt64) throws -> [ListedKey] {
        let offers = try offers(now: now)
        return lockedReason == nil ? offers.map(ListedKey.init) : remembered
    }

    /// The keys that were last listed. This neither opens nor reads the vault.
    var lastListed: [ListedKey] { lockedReason == nil ? lastOffers.map(ListedKey.init) : remembered }

    /// Descriptions of the items that cannot be offered although their attribute says that they should be, with the
    /// reasons.
    package var omitted: [String] {
        guard case .open(let opened) = state else { return [] }
        return opened.offers?.omitted ?? []
    }

    /// Problems with items whose keys are offered.
    var warnings: [String] {
        let time = AgentClock.calendarTime()
        return lastOffers.flatMap { $0.warnings(at: time) }
    }

    func keys(of vault: Vault) throws -> [OfferedKey] {
        guard case .open(var opened) = state else { return [] }
        let now = vault.state
        if let known = opened.offers, known.state == now { return known.keys }
        let found = try OfferedKeys.read(vault, groups: groups, known: opened.offers?.keys ?? [])
        opened.offers = (now, found.keys, found.omitted)
        state = .open(opened)
        return found.keys
    }

    /// The number of keys that are not offered because a client has removed them.
    var hiddenCount: Int { hidden.count }

    /// The keys whose items required confirmation when the vault was last read, including hidden keys. They remain
    /// known while the vault is locked, and this does not read the vault.
    var lastConfirmed: Set<[UInt8]> {
        guard case .open(let opened) = state else { return confirmedWhenLocked }
        return Set((opened.offers?.keys ?? []).filter(\.needsConfirmation).map(\.publicKey.blob))
    }

    /// Returns whether an item requires confirmation for its key, even if the key is hidden. If the vault is locked or
    /// cannot be read, this depends on the items as they were last read.
    func needsConfirmation(_ key: [UInt8], now: UInt64) throws -> Bool {
        guard let vault = current(now: now) else { return lastConfirmed.contains(key) }
        return try keys(of: vault).contains { $0.publicKey.blob == key && $0.needsConfirmation }
    }

    /// Returns the offered keys that match an identity. Several items may hold the same key, and a certificate in any
    /// of them identifies all of them.
    func offers(of identity: [UInt8], now: UInt64) throws -> [OfferedKey] {
        let all = try offers(now: now)
        guard let known = all.first(where: { $0.identities.contains(identity) }) else { return [] }
        return all.filter { $0.publicKey == known.publicKey }
    }

    /// Signs with an identity's key, using the first item whose secret is that key. Throws `unavailable` if the key is
    /// not offered.
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

    /// Stops offering a key until the vault is opened again; returns false if the key was neither offered nor listed.
    func hide(_ identity: [UInt8], now: UInt64) throws -> Bool {
        guard let key = try offers(of: identity, now: now).first else {
            let count = remembered.count
            remembered.removeAll { $0.identities.contains(identity) }
            return remembered.count < count
        }
        hidden.insert(key.publicKey.blob)
        return true
    }

    /// Stops offering all keys until the vault is opened again.
    func hideAll(now: UInt64) throws {
        hidden.formUnion(try offers(now: now).map(\.publicKey.blob))
        remembered = []
    }
}

/// The public part of a key: everything that is remembered while its vault is locked.
struct ListedKey: Sendable {
    let identities: [[UInt8]]
    let comment: String

    init(_ key: OfferedKey) { (identities, comment) = (key.identities, key.comment) }
}
