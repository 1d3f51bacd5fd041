internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// The object behind a `vaultfmt_vault`: an open vault, which other handles may share, and the transaction begun on
/// this handle.
final class VaultHandle: Sendable {
    let vault: Vault
    /// The machine that remembers the vault's states; nil if the caller remembers them.
    let machine: Machine?
    private let open = Guarded<OpenTransaction?>(nil)

    init(_ vault: Vault, _ machine: Machine? = nil) {
        self.vault = vault
        self.machine = machine
    }

    /// The transaction of this handle, if this thread began it.
    var transaction: OpenTransaction? {
        get throws(VaultError) {
            // This check precedes the mutex, which a thread of the parent process may have held during the fork.
            guard vault.isOfThisProcess else { throw VaultError.otherProcess }
            return open.withLock { $0 }.flatMap { $0.isOfThisThread ? $0 : nil }
        }
    }

    func begin() throws(VaultError) {
        let transaction = try vault.begin()
        // There cannot be another transaction, because this transaction has exclusive use of the vault until it ends.
        open.withLock { $0 = transaction }
    }

    func commit() throws(VaultError) { try end { (transaction) throws(VaultError) in try transaction.commit() } }

    func rollBack() throws(VaultError) { try end { (transaction) throws(VaultError) in try transaction.rollBack() } }

    private func end(_ body: (OpenTransaction) throws(VaultError) -> Void) throws(VaultError) {
        guard vault.isOfThisProcess else { throw VaultError.otherProcess }
        guard let transaction = open.withLock({ $0 }) else {
            throw VaultError(.invalidArgument, "no transaction is open on this handle")
        }
        defer { if transaction.hasEnded { open.withLock { if $0 === transaction { $0 = nil } } } }
        try body(transaction)
    }

    /// Runs changes in this thread's open transaction, or in a new one.
    func changing<R>(_ body: (Transaction) throws(VaultError) -> R) throws(VaultError) -> R {
        if let transaction = try transaction { return try transaction.perform(body) }
        return try vault.transaction(body)
    }
}

/// The object behind a `vaultfmt_cursor`.
final class CursorHandle: Sendable {
    private let cursor: Guarded<ItemCursor>
    let process = OwnProcess()

    init(_ cursor: ItemCursor) { self.cursor = Guarded(cursor) }

    func next() throws(VaultError) -> Item? {
        try process.require()
        let result = try cursor.withLockIfAvailable { (cursor) throws(VaultError) in Found(item: try cursor.next()) }
        guard let result else { throw VaultError(.invalidArgument, "another thread is using this cursor") }
        return result.item
    }

    private struct Found {
        let item: Item?
    }
}

/// Objects as seen by C: owning pointers.
enum Handle {
    static func owning(_ object: some AnyObject) -> OpaquePointer {
        OpaquePointer(Unmanaged.passRetained(object).toOpaque())
    }

    static func vault(_ pointer: OpaquePointer?) throws(VaultError) -> VaultHandle { try object(pointer, "vault") }

    /// Passes an object to a caller's function without transferring ownership.
    static func lent(_ object: some AnyObject) -> OpaquePointer {
        OpaquePointer(Unmanaged.passUnretained(object).toOpaque())
    }

    static func wrapped(_ pointer: OpaquePointer?) throws(VaultError) -> WrappedHandle {
        try object(pointer, "wrapped")
    }

    static func candidates(_ pointer: OpaquePointer?) throws(VaultError) -> CandidatesHandle {
        try object(pointer, "candidates")
    }

    static func cursor(_ pointer: OpaquePointer?) throws(VaultError) -> CursorHandle { try object(pointer, "cursor") }

    private static func object<Object: AnyObject>(_ pointer: OpaquePointer?, _ name: StaticString) throws(VaultError)
        -> Object
    {
        Unmanaged<Object>.fromOpaque(UnsafeRawPointer(try given(pointer, name))).takeUnretainedValue()
    }

    static func release<Object: AnyObject>(_ pointer: OpaquePointer?, _ type: Object.Type) {
        guard let pointer else { return }
        Unmanaged<Object>.fromOpaque(UnsafeRawPointer(pointer)).release()
    }
}
