internal import CSodium

/// The source of nonces, ids and keys: the system's random number generator, except in generators of test vectors,
/// which need reproducible bytes.
package final class Randomness: Sendable {
    package static let system = Randomness(fill: { randombytes_buf($0.u8, $0.count) })

    private let fill: @Sendable (UnsafeMutableRawBufferPointer) -> Void

    package init(fill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) {
        _ = Sodium.isReady
        self.fill = fill
    }

    package func fill(_ bytes: UnsafeMutableRawBufferPointer) { fill(bytes) }

    package func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            fill(UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: count))
            used = count
        }
    }

    package func secret(_ count: Int) -> Secret {
        var secret = Secret(count: count)
        secret.withUnsafeMutableBytes { fill($0) }
        return secret
    }
}
