internal import VaultBytes
internal import VaultCrypto
internal import VaultExchange
internal import VaultFmt

/// The lock that `ssh-add -x` puts on the agent. The lock has a password of its own. Only a hash of the password is
/// kept.
struct AgentLock {
    private var salt: [UInt8] = []
    private var hash: SharedSecret?
    private var failures: UInt64 = 0
    /// No password is tried before this time.
    private var nextTry: UInt64 = 0

    private static let longestPassword = 1024
    private static let memoryKiB: UInt32 = 8192
    private static let passes: UInt32 = 2
    private static let longestDelay: UInt64 = 10_000

    var isLocked: Bool { hash != nil }

    /// Locks the agent. Throws if it is already locked.
    mutating func lock(_ password: UnsafeRawBufferPointer) throws(AgentError) {
        guard hash == nil else { throw AgentError(.refused, "the agent is already locked") }
        let salt = Randomness.system.bytes(16)
        hash = SharedSecret(try Self.stretched(password, salt))
        self.salt = salt
        (failures, nextTry) = (0, 0)
    }

    /// Unlocks the agent. Throws if the password is wrong, or if the attempt comes too soon after a failed one.
    mutating func unlock(_ password: UnsafeRawBufferPointer, now: UInt64) throws(AgentError) {
        guard let hash else { throw AgentError(.refused, "the agent is not locked") }
        guard now >= nextTry else { throw AgentError(.refused, "a wrong password was given a moment ago") }
        let given = try Self.stretched(password, salt)
        guard given.equals(hash.secret) else {
            failures = min(failures + 1, 16)
            nextTry = now + min(50 << failures, Self.longestDelay)
            throw AgentError(.refused, "the password is wrong")
        }
        self.hash = nil
    }

    private static func stretched(_ password: UnsafeRawBufferPointer, _ salt: [UInt8]) throws(AgentError) -> Secret {
        // As in OpenSSH, an empty password is not allowed.
        guard !password.isEmpty else { throw AgentError(.refused, "the password is empty") }
        guard password.count <= longestPassword else { throw AgentError(.refused, "the password is too long") }
        var digest = Blake2b()
        digest.update("vaultfmt agent lock")
        digest.update(password)
        var input = Secret(count: 32)
        let words = digest.finish().words
        withUnsafeBytes(of: words) { bytes in input.withUnsafeMutableBytes { $0.copyMemory(from: bytes) } }
        do throws(CryptoError) {
            return try Argon2.stretch(input, salt: salt, memoryKiB: memoryKiB, passes: passes, lanes: 1)
        } catch { throw AgentError(.system, "there is not enough memory to hash the password") }
    }
}
