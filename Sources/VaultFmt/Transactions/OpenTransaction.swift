internal import Synchronization

/// A transaction with a begin and an end of its own, for callers that have no closures, as the C interface's.
///
/// Until it ends it holds the vault: what the thread that began it asks of the vault itself throws `invalidArgument`,
/// other threads wait for a limited time. It belongs to this object: any thread may use and end it, one at a time, and
/// without its last user it is rolled back.
package final class OpenTransaction: Sendable {
    private let vault: Vault
    private let thread: UInt64
    private let state: Mutex<State>

    private struct State: @unchecked Sendable {  // Only touched under the mutex.
        /// Nil once it has ended.
        var transaction: Transaction?
    }

    fileprivate init(_ vault: Vault, _ transaction: Transaction) {
        self.vault = vault
        thread = ThisThread.number
        state = Mutex(State(transaction: transaction))
    }

    deinit { state.withLock { rollBack(&$0) } }

    /// Whether this thread began it.
    package var isOfThisThread: Bool { thread == ThisThread.number }

    package var hasEnded: Bool { state.withLock { $0.transaction == nil } }

    /// Runs a part of it. Throws `invalidArgument` after its end, and while another thread is within it.
    package func perform<R: ~Copyable>(_ body: (Transaction) throws(VaultError) -> R) throws(VaultError) -> R {
        try using { (state) throws(VaultError) in
            guard let transaction = state.transaction else { throw Self.ended }
            return try body(transaction)
        }
    }

    /// Makes its changes durable. It has ended then, also if that fails; but for the errors of `perform`.
    package func commit() throws(VaultError) {
        try using { (state) throws(VaultError) in
            guard let transaction = state.transaction.take() else { throw Self.ended }
            defer { vault.exclusive.release() }
            vault.exclusive.endTransaction()
            try vault.core.commit(transaction)
        }
    }

    /// Gives up its changes.
    package func rollBack() throws(VaultError) {
        try using { (state) throws(VaultError) in
            guard state.transaction != nil else { throw Self.ended }
            rollBack(&state)
        }
    }

    private func rollBack(_ state: inout State) {
        guard let transaction = state.transaction.take() else { return }
        // In a child process, the transaction is its parent's.
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
    /// Whether this is the process that opened it, and not a child.
    package var isOfThisProcess: Bool { exclusive.isOfThisProcess }

    /// Starts a transaction. Throws as `transaction` does.
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
