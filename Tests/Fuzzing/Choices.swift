internal import TestSupport

/// Where a generator's decisions come from: a seed, or the bytes of a fuzzer's input.
package protocol Choices {
    /// A number from 0 to one below `end`, which is at least 1.
    mutating func below(_ end: Int) -> Int
    /// Whether nothing is left to decide with.
    var areOver: Bool { get }
}

extension Choices {
    /// True in one of so many cases.
    mutating func chance(_ one: Int) -> Bool { below(one) == 1 % one }

    package mutating func pick<T>(_ all: [T]) -> T { all[below(all.count)] }
}

/// Decisions from a seed; the same ones each time.
package struct SeededChoices: Choices, RandomNumberGenerator, Sendable {
    private var numbers: Numbers

    package init(seed: UInt64) { numbers = Numbers(seed) }

    package mutating func next() -> UInt64 { numbers.next() }

    package mutating func below(_ end: Int) -> Int { Int(next() >> 1) % max(end, 1) }

    package var areOver: Bool { false }

    package mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}

/// Decisions from bytes, as many of them as a decision needs; zeros where they have run out.
package struct ByteChoices: Choices {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    package mutating func below(_ end: Int) -> Int {
        var value = byte()
        if end > 256 { value = value << 8 | byte() }
        if end > 65_536 { value = value << 8 | byte() }
        return value % max(end, 1)
    }

    private mutating func byte() -> Int {
        guard position < bytes.count else { return 0 }
        position += 1
        return Int(bytes[position - 1])
    }

    package var areOver: Bool { position >= bytes.count }
}
