internal import VaultStore

extension Vault {
    /// Opens a vault on a separate thread, so the key derivation does not block the caller.
    ///
    /// - Throws: The same errors as `open`.
    public static func openInBackground(
        _ path: String, factors: consuming Factors, options: consuming OpenOptions = .init()
    ) async throws(VaultError) -> Vault {
        let asked = Asked(factors, options)
        return try await asked.answered { (factors, options) throws(VaultError) in
            try open(path, factors: factors, options: options)
        }
    }

    /// Creates a vault on a separate thread, so the key derivation does not block the caller.
    ///
    /// - Throws: The same errors as `create`.
    public static func createInBackground(
        at path: String, factors: consuming Factors, options: consuming CreateOptions = .init()
    ) async throws(VaultError) -> Vault {
        let asked = Asked(factors, options)
        return try await asked.answered { (factors, options) throws(VaultError) in
            try create(at: path, factors: factors, options: options)
        }
    }
}

/// Passes factors and options to another thread.
private final class Asked<Options: ~Copyable & Sendable>: Sendable {
    private let factors: Factors
    private let options: Guarded<Options?>

    init(_ factors: consuming Factors, _ options: consuming Options) {
        self.factors = factors
        self.options = Guarded(options)
    }

    func answered(
        _ body: @escaping @Sendable (borrowing Factors, consuming Options) throws(VaultError) -> Vault
    ) async throws(VaultError) -> Vault {
        let result: Result<Vault, VaultError> = await withCheckedContinuation { continuation in
            BackgroundThread.run {
                guard let options = self.options.withLock({ $0.take() }) else {
                    preconditionFailure("the options have already been used")
                }
                do throws(VaultError) {
                    continuation.resume(returning: .success(try body(self.factors, options)))
                } catch { continuation.resume(returning: .failure(error)) }
            }
        }
        return try result.get()
    }
}
