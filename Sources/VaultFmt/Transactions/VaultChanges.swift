internal import VaultBytes
internal import VaultStore

extension Vault {
    /// Runs changes that become durable together in one commit, or not at all.
    ///
    /// `body` runs under the writer's lock and on the newest state; if it throws, nothing changes. Within `body`, use
    /// the transaction rather than the vault. Throws `readOnly`, `locked`, `notPermitted`, `busy`, `noSpace`, `io`, and
    /// `outcomeUnknown` if syncing failed. Other threads that use the vault meanwhile wait as long as they would for
    /// another process; then `busy` is thrown.
    public func transaction<R>(_ body: (Transaction) throws(VaultError) -> R) throws(VaultError) -> R {
        try withCore { (core) throws(VaultError) in
            try core.transaction { (transaction) throws(VaultError) in
                // The limit for waiting applies only while the caller's code runs; the other steps always end.
                exclusive.beginTransaction()
                defer { exclusive.endTransaction() }
                return try body(transaction)
            }
        }
    }

    /// Runs changes like `transaction`, with a body that can throw any error.
    ///
    /// If `body` throws, nothing changes and its error is rethrown unchanged. Throws the same errors as `transaction`.
    public func transaction<R>(rethrowing body: (Transaction) throws -> R) throws -> R {
        var failure: (any Error)?
        do throws(VaultError) {
            return try transaction { (transaction) throws(VaultError) in
                do { return try body(transaction) } catch {
                    failure = error
                    throw VaultError(.invalidArgument, "the body of the transaction failed")
                }
            }
        } catch { throw failure ?? error }
    }

    /// Adds an item. Throws `duplicateItem` if the key exists, and the same errors as `transaction`.
    public func add(
        _ key: ItemKey, secret: borrowing Secret, attributes: Attributes = .init(),
        accessibility: Accessibility = .whenUnlocked,
        created: Int64? = nil, modified: Int64? = nil
    ) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in
            try transaction.add(
                key, secret: secret, attributes: attributes, accessibility: accessibility, created: created,
                modified: modified)
        }
    }

    /// Adds an item, or replaces an existing item's secret and the given attributes; all other attributes are kept.
    public func set(
        _ key: ItemKey, secret: borrowing Secret, attributes: AttributeChanges = .init(),
        accessibility: Accessibility? = nil,
        created: Int64? = nil, modified: Int64? = nil
    ) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in
            try transaction.set(
                key, secret: secret, attributes: attributes, accessibility: accessibility, created: created,
                modified: modified)
        }
    }

    /// Changes the attributes or accessibility of an item, but not its secret. Throws `noSuchItem`.
    public func update(_ key: ItemKey, attributes: AttributeChanges = .init(), accessibility: Accessibility? = nil)
        throws(VaultError)
    {
        try transaction { (transaction) throws(VaultError) in
            try transaction.update(key, attributes: attributes, accessibility: accessibility)
        }
    }

    /// Changes an item's key to another key of the same class. Throws `noSuchItem`, `duplicateItem`.
    public func move(_ key: ItemKey, to newKey: ItemKey) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.move(key, to: newKey) }
    }

    /// Removes an item; returns false if the item does not exist. The item's ciphertext remains in the file until
    /// `compact()`, and in any copies of the file.
    @discardableResult
    public func remove(_ key: ItemKey) throws(VaultError) -> Bool {
        try transaction { (transaction) throws(VaultError) in try transaction.remove(key) }
    }

    /// Sets the number of earlier values that each field of an item keeps, 0 to 50. Existing excess values are dropped
    /// when their item is changed.
    public func keepVersions(_ count: Int) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.keepVersions(count) }
    }

    /// Restores an earlier secret or sealed attribute of an item. Throws the same errors as `Transaction.restore`.
    public func restore(_ value: EarlierValue, of key: ItemKey) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.restore(value, of: key) }
    }

    /// Forgets the given earlier values of an item, or all of them, and returns how many were forgotten. Throws the
    /// same errors as `Transaction.forgetEarlierValues`.
    @discardableResult
    public func forgetEarlierValues(of key: ItemKey, _ values: [EarlierValue]? = nil) throws(VaultError) -> Int {
        try transaction { (transaction) throws(VaultError) in try transaction.forgetEarlierValues(of: key, values) }
    }

    /// Checks whether `Transaction.add` would accept an item (limits, dates, and the rights of the slot and the device)
    /// without changing anything.
    ///
    /// Throws the same errors as `add`, except `duplicateItem`.
    package func rehearseAdding(
        secretBytes: Int, attributes: Attributes, accessibility: Accessibility, group: String, created: Int64?,
        modified: Int64?
    ) throws(VaultError) {
        try ItemLimits.check(secretBytes: secretBytes, attributes, created: created, modified: modified)
        try withCore { (core) throws(VaultError) in
            try core.requireOwner()
            if accessibility.isThisDeviceOnly && core.deviceID == .zero { throw ItemLimits.noDevice }
            guard group.utf8.count <= Format.Limit.field else { throw ItemLimits.groupTooLong }
        }
    }
}

extension VaultCore {
    /// Runs a transaction, followed by a compaction if one is due.
    func transaction<R>(_ body: (Transaction) throws(VaultError) -> R) throws(VaultError) -> R {
        let transaction = try begin()
        let result: R
        do throws(VaultError) { result = try body(transaction) } catch {
            rollBack(transaction)
            throw error
        }
        try commit(transaction)
        return result
    }

    /// Begins a transaction, which is ended by `commit` or `rollBack`.
    func begin() throws(VaultError) -> Transaction {
        try beginWriting()
        do throws(VaultError) { return try Transaction(self) } catch {
            store.endWriting()
            throw error
        }
    }

    /// Ends a transaction, regardless of whether its changes became durable.
    func commit(_ transaction: Transaction) throws(VaultError) {
        defer { store.endWriting() }
        do throws(VaultError) { try transaction.commit() } catch {
            transaction.end()
            throw error
        }
        compactIfDue()
    }

    func rollBack(_ transaction: Transaction) {
        transaction.end()
        store.endWriting()
    }

    /// Compacts the file once dead bytes exceed live bytes by 4 MiB. The commit remains valid even if the compaction
    /// fails; the compaction is tried again once the dead bytes have doubled, since it reads and writes everything.
    func compactIfDue() {
        let dead = deadBytes
        // The file has been compacted since.
        if dead < deadWhenBlocked { deadWhenBlocked = 0 }
        guard dead > store.state.commit.liveBytes + (4 << 20), dead / 2 >= deadWhenBlocked else { return }
        do throws(VaultError) {
            try Rebuild.compact(self)
            (compactionBlocked, deadWhenBlocked) = (nil, 0)
        } catch { (compactionBlocked, deadWhenBlocked) = (error.description, dead) }
    }
}
