/// Transactions with a begin and an end of their own, for the C interface, whose callers have no closures. Between the two, the thread that began holds the
/// vault: other threads wait, and on its own everything but the transaction's functions throws `invalidArgument`.
extension Vault {
    /// Starts a transaction. It must be given to `commit` or `rollBack`, on this thread. Throws as `transaction` does.
    package func begin() throws(VaultError) -> Transaction {
        try exclusive.acquire()
        do throws(VaultError) { return try core.begin() } catch {
            exclusive.release()
            throw error
        }
    }

    /// Makes a transaction's changes durable. It has ended then, also if that fails.
    package func commit(_ transaction: Transaction) throws(VaultError) {
        defer { exclusive.release() }
        try core.commit(transaction)
    }

    /// Gives up a transaction's changes.
    package func rollBack(_ transaction: Transaction) {
        core.rollBack(transaction)
        exclusive.release()
    }
}
