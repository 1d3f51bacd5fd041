internal import Synchronization
package import VaultCrypto

extension Randomness {
    /// The same bytes for the same seed: so that an input does the same each time.
    package static func seeded(_ seed: UInt64) -> Randomness {
        let choices = SharedChoices(seed)
        return Randomness { choices.fill($0) }
    }
}

private final class SharedChoices: Sendable {
    private let choices: Mutex<SeededChoices>

    init(_ seed: UInt64) { choices = Mutex(SeededChoices(seed: seed)) }

    func fill(_ bytes: UnsafeMutableRawBufferPointer) {
        choices.withLock { choices in
            for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: choices.next()) }
        }
    }
}
