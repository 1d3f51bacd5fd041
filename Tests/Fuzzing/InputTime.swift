internal import Glibc

/// What one input may cost. It is the processor's time that counts: on a busy machine the clock's says little.
public enum InputTime {
    private static let most = 5.0

    /// Runs what an input does; traps where it took too long. What does not end at all is libFuzzer's to end.
    public static func limited(_ body: () throws -> Void) rethrows {
        let start = clock()
        try body()
        let seconds = Double(clock() - start) / 1_000_000
        guard seconds < most else { fatalError("an input took \(seconds) s") }
    }
}
