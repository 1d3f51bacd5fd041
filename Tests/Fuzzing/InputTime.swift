internal import Glibc

/// What one input may cost. It is the processor's time that counts: on a busy machine the clock's says little.
public enum InputTime {
    private static let most = 5.0

    /// Runs what an input does; traps where it took too long. What does not end at all is libFuzzer's to end.
    /// - `bytes`: The input's length, for what is to take time that grows with it and not with its square; nil
    ///   for a fixed limit.
    public static func limited(bytes: Int? = nil, _ body: () throws -> Void) rethrows {
        let start = clock()
        try body()
        let seconds = Double(clock() - start) / 1_000_000
        let limit = bytes.map { 1 + Double($0) * secondsPerByte } ?? most
        guard seconds < limit else { fatalError("an input took \(seconds) s, of at most \(limit)") }
    }

    /// PEM took 112 µs a byte, of 160 KB, while the time of its splitter grew with the square.
    private static let secondsPerByte = 1e-5
}
