internal import VaultBytes
internal import VaultStore

extension Vault {
    /// Runs changes that become durable together, in one commit, or not at all.
    ///
    /// `body` runs under the writer's lock and on the newest state; if it throws, nothing has changed. Within it, use
    /// the transaction and not the vault.
    /// Throws `readOnly`, `locked`, `notPermitted`, `busy`, `noSpace`, `io`, and `outcomeUnknown` if syncing failed.
    /// Other threads that use the vault meanwhile wait as long as they would for another process, and get `busy` then.
    public func transaction<R>(_ body: (Transaction) throws(VaultError) -> R) throws(VaultError) -> R {
        try withCore { (core) throws(VaultError) in
            try core.transaction { (transaction) throws(VaultError) in
                // Only while the caller's code runs: what comes before and after ends by itself.
                exclusive.beginTransaction()
                defer { exclusive.endTransaction() }
                return try body(transaction)
            }
        }
    }

    /// Adds an item. Throws `duplicateItem` if the key exists, else as `transaction`.
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

    /// Adds an item, or replaces its secret and the attributes named; those not named stay.
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

    /// Changes attributes or accessibility, not the secret. Throws `noSuchItem`.
    public func update(_ key: ItemKey, attributes: AttributeChanges = .init(), accessibility: Accessibility? = nil)
        throws(VaultError)
    {
        try transaction { (transaction) throws(VaultError) in
            try transaction.update(key, attributes: attributes, accessibility: accessibility)
        }
    }

    /// Gives an item another key of the same class. Throws `noSuchItem`, `duplicateItem`.
    public func move(_ key: ItemKey, to newKey: ItemKey) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.move(key, to: newKey) }
    }

    /// Removes an item; false if there is none. Its ciphertext stays in the file until `compact()`, and in copies of
    /// it.
    @discardableResult
    public func remove(_ key: ItemKey) throws(VaultError) -> Bool {
        try transaction { (transaction) throws(VaultError) in try transaction.remove(key) }
    }

    /// Sets how many earlier values an item keeps, 0 to 50. Those beyond that go when an item changes, or the vault is
    /// compacted.
    public func keepVersions(_ count: Int) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.keepVersions(count) }
    }

    /// Makes an item what it was. Throws as `Transaction.restore` does.
    public func restore(_ value: EarlierValue, of key: ItemKey) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.restore(value, of: key) }
    }

    /// Forgets earlier values of an item: these, or all of them. Returns how many. Throws as
    /// `Transaction.forgetEarlierValues` does.
    @discardableResult
    public func forgetEarlierValues(of key: ItemKey, _ values: [EarlierValue]? = nil) throws(VaultError) -> Int {
        try transaction { (transaction) throws(VaultError) in try transaction.forgetEarlierValues(of: key, values) }
    }

    /// Checks what `Transaction.add` would refuse of an item, and changes nothing: limits, dates, the rights of the
    /// slot and the device.
    ///
    /// Throws what `add` would throw, but for a key that exists.
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

    /// Commits that a branch was merged; `body` makes the changes. The commit is made even if there are none.
    package func merge<R>(_ branch: MergedBranch, _ body: (Transaction) throws(VaultError) -> R) throws(VaultError) -> R
    {
        try transaction { (transaction) throws(VaultError) in
            transaction.merge(branch)
            return try body(transaction)
        }
    }
}

extension VaultCore {
    /// Runs a transaction and, if that is due, a compaction after it was acknowledged.
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

    /// Starts a transaction, which `commit` or `rollBack` ends.
    func begin() throws(VaultError) -> Transaction {
        try beginWriting()
        do throws(VaultError) { return try Transaction(self) } catch {
            store.endWriting()
            throw error
        }
    }

    /// Ends a transaction, whether its changes became durable or not.
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

    /// Compacts the file once dead bytes exceed live ones by 4 MiB. The commit stands whatever becomes of it.
    func compactIfDue() {
        guard deadBytes > store.state.commit.liveBytes + (4 << 20) else { return }
        do throws(VaultError) {
            try Rebuild.compact(self)
            compactionBlocked = nil
        } catch { compactionBlocked = error.description }
    }
}
