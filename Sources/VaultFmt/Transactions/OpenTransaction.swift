internal import VaultStore

/// A transaction with an explicit beginning and end, for callers without closures, such as the C interface.
///
/// The transaction locks the vault until it ends: using the vault directly throws `invalidArgument` on the thread that
/// began the transaction, and other threads wait for a limited time. Any thread may use and end the transaction, one at
/// a time. The transaction is rolled back when its last reference is released.
package final class OpenTransaction: Sendable {
    private let vault: Vault
    private let thread: UInt64
    private let state: Guarded<State>

    private struct State: @unchecked Sendable {  // Accessed only under the mutex.
        /// The transaction; nil once it has ended.
        var transaction: Transaction?
    }

    fileprivate init(_ vault: Vault, _ transaction: Transaction) {
        self.vault = vault
        thread = ThisThread.number
        state = Guarded(State(transaction: transaction))
    }

    deinit { state.withLock { rollBack(&$0) } }

    /// True if this thread began the transaction.
    package var isOfThisThread: Bool { thread == ThisThread.number }

    package var hasEnded: Bool { state.withLock { $0.transaction == nil } }

    /// Runs a part of the transaction. Throws `invalidArgument` if the transaction has ended, or while another thread
    /// is using it.
    package func perform<R: ~Copyable>(_ body: (Transaction) throws(VaultError) -> R) throws(VaultError) -> R {
        try using { (state) throws(VaultError) in
            guard let transaction = state.transaction else { throw Self.ended }
            return try body(transaction)
        }
    }

    /// Makes the transaction's changes durable. The transaction ends even if this fails, except with an error of
    /// `perform`.
    package func commit() throws(VaultError) {
        try using { (state) throws(VaultError) in
            guard let transaction = state.transaction.take() else { throw Self.ended }
            defer { vault.exclusive.release() }
            vault.exclusive.endTransaction()
            try vault.core.commit(transaction)
        }
    }

    /// Discards the transaction's changes.
    package func rollBack() throws(VaultError) {
        try using { (state) throws(VaultError) in
            guard state.transaction != nil else { throw Self.ended }
            rollBack(&state)
        }
    }

    private func rollBack(_ state: inout State) {
        guard let transaction = state.transaction.take() else { return }
        // In a child process, the transaction belongs to the parent.
        guard vault.exclusive.isOfThisProcess else { return }
        vault.core.rollBack(transaction)
        vault.exclusive.release()
    }

    private func using<R: ~Copyable>(_ body: (inout State) throws(VaultError) -> R) throws(VaultError) -> R {
        guard vault.exclusive.isOfThisProcess else { throw .otherProcess }
        guard let result = try state.withLockIfAvailable({ (state) throws(VaultError) in try body(&state) }) else {
            throw VaultError(.invalidArgument, "another thread is using this transaction")
        }
        return result
    }

    private static var ended: VaultError { VaultError(.invalidArgument, "the transaction has ended") }
}

extension Vault {
    /// True if this process opened the vault, rather than its parent.
    package var isOfThisProcess: Bool { exclusive.isOfThisProcess }

    /// Begins a transaction. Throws the same errors as `transaction`.
    package func begin() throws(VaultError) -> OpenTransaction {
        try exclusive.acquire(waitingForTransaction: core.lockWait)
        do throws(VaultError) {
            let transaction = OpenTransaction(self, try core.begin())
            exclusive.beginTransaction()
            return transaction
        } catch {
            exclusive.release()
            throw error
        }
    }
}
