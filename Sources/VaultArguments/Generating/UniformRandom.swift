import VaultFmt

/// Uniformly distributed random numbers from the library's random number generator.
struct UniformRandom: ~Copyable {
    private var pool = Secret.random(count: 256)
    private var position = 0

    /// Returns a number from 0 up to but not including `bound`.
    mutating func next(below bound: UInt32) -> UInt32 {
        // 2^32 is rarely a multiple of the bound. Numbers at or beyond the last multiple would favour small results, so
        // they are rejected and drawn again.
        let usable = UInt32.max - (UInt32.max % bound + 1) % bound
        while true {
            let number = nextWord()
            if number <= usable { return number % bound }
        }
    }

    private mutating func nextWord() -> UInt32 {
        if position + 4 > pool.count {
            pool = Secret.random(count: pool.count)
            position = 0
        }
        let at = position
        position += 4
        return pool.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: at, as: UInt32.self) }
    }
}
