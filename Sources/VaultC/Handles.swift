internal import Glibc
internal import Synchronization
internal import VaultFmt

/// What a `vaultfmt_vault` is: a vault, and the transaction that a thread may have open on it.
final class VaultHandle: Sendable {
    let vault: Vault
    /// The thread whose transaction is open; 0 for none.
    private let owner = Atomic<UInt>(0)
    // Only touched by the thread that `owner` names.
    private nonisolated(unsafe) var open: Transaction?

    init(_ vault: consuming Vault) { self.vault = vault }

    private static var thread: UInt { UInt(pthread_self()) }

    /// The transaction that is open on this thread.
    var transaction: Transaction? { owner.load(ordering: .relaxed) == Self.thread ? open : nil }

    func begin() throws(VaultError) {
        let transaction = try vault.begin()
        open = transaction
        owner.store(Self.thread, ordering: .relaxed)
    }

    func commit() throws(VaultError) { try vault.commit(try takeTransaction()) }

    func rollBack() throws(VaultError) { vault.rollBack(try takeTransaction()) }

    private func takeTransaction() throws(VaultError) -> Transaction {
        guard let transaction else { throw VaultError(.invalidArgument, "no transaction is open on this thread") }
        open = nil
        owner.store(0, ordering: .relaxed)
        return transaction
    }

    /// Makes changes: in the transaction that is open on this thread, or in one of their own.
    func changing<R>(_ body: (Transaction) throws(VaultError) -> R) throws(VaultError) -> R {
        if let transaction { return try body(transaction) }
        return try vault.transaction(body)
    }
}

/// What a `vaultfmt_cursor` is.
final class CursorHandle {
    private var cursor: ItemCursor

    init(_ cursor: ItemCursor) { self.cursor = cursor }

    func next() throws(VaultError) -> Item? { try cursor.next() }
}

/// Objects as C sees them: pointers that own.
enum Handle {
    static func owning(_ object: some AnyObject) -> OpaquePointer { OpaquePointer(Unmanaged.passRetained(object).toOpaque()) }

    static func vault(_ pointer: OpaquePointer?) throws(VaultError) -> VaultHandle { try object(pointer, "vault") }

    static func cursor(_ pointer: OpaquePointer?) throws(VaultError) -> CursorHandle { try object(pointer, "cursor") }

    private static func object<Object: AnyObject>(_ pointer: OpaquePointer?, _ name: StaticString) throws(VaultError) -> Object {
        Unmanaged<Object>.fromOpaque(UnsafeRawPointer(try given(pointer, name))).takeUnretainedValue()
    }

    static func release<Object: AnyObject>(_ pointer: OpaquePointer?, _ type: Object.Type) {
        guard let pointer else { return }
        Unmanaged<Object>.fromOpaque(UnsafeRawPointer(pointer)).release()
    }
}
