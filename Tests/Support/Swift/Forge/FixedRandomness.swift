internal import Synchronization
package import VaultCrypto

extension Randomness {
    /// The same bytes each time: `H(seed ‖ u64 0) ‖ H(seed ‖ u64 1) ‖ …`, drawn one after the other.
    package static func fixed(_ seed: [UInt8]) -> Randomness {
        let stream = Mutex(FixedStream(seed))
        return Randomness(fill: { out in
            let bytes = stream.withLock { [count = out.count] stream in stream.take(count) }
            out.copyBytes(from: bytes)
        })
    }

    package static func fixed(_ seed: String) -> Randomness { fixed(Array(seed.utf8)) }

    /// Always these bytes, for a nonce that is to be kept.
    static func repeating(_ bytes: [UInt8]) -> Randomness {
        Randomness(fill: { out in for index in out.indices { out[index] = bytes[index % bytes.count] } })
    }
}

private struct FixedStream {
    private let seed: [UInt8]
    private var counter: UInt64 = 0
    private var rest: ArraySlice<UInt8> = []

    init(_ seed: [UInt8]) { self.seed = seed }

    mutating func take(_ count: Int) -> [UInt8] {
        while rest.count < count {
            var hash = Blake2b()
            hash.update(seed)
            hash.update(counter)
            counter += 1
            rest += withUnsafeBytes(of: hash.finish(), Array.init)
        }
        let taken = Array(rest.prefix(count))
        rest = rest.dropFirst(count)
        return taken
    }
}
