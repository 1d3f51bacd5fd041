internal import Glibc

/// A generator that gives the same numbers in each run with one seed (SplitMix64). Keys and nonces come from elsewhere.
package struct Numbers: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(_ seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension Numbers {
    /// The seed of random choices that decide what a test does: `VAULTFMT_SEED`, or 1. A failure has to name it.
    package static let seed: UInt64 = getenv("VAULTFMT_SEED").flatMap { UInt64(String(cString: $0)) } ?? 1
}
