internal import VaultFmt

/// What is fuzzed, by name. Each takes any bytes; what must not be ends the process, so that the fuzzer keeps the
/// input.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// A file's bytes.
    case open
    /// A recipe, which is sealed first.
    case sealed
    /// Choices that make a sequence of operations.
    case operations

    /// Runs one input; traps if a property does not hold, or if it takes too long.
    public func run(_ input: UnsafeRawBufferPointer) {
        do { try InputTime.limited { try check(input) } } catch { fatalError("\(rawValue): \(error)") }
    }

    /// Runs one input; throws if a property does not hold.
    public func check(_ input: UnsafeRawBufferPointer) throws {
        switch self {
        case .open:
            let bytes = Array(input)
            try Reading.everything(bytes, FuzzFactors(fitting: bytes))
        case .sealed: try Reading.everything(Recipe(input).sealed(), FuzzFactors())
        case .operations:
            var choices = ByteChoices(input)
            try OperationRunner.runInMemory(Operation.sequence(&choices, changes: 150), seed: 1)
        }
    }

    /// Another input of at most so many bytes, in a way that this target knows; nil if it has none of its own.
    /// - `mutateBytes`: The fuzzer's own mutation of some bytes, which may then have so many.
    public func mutation(
        of input: UnsafeRawBufferPointer, most: Int, seed: UInt64,
        mutateBytes: (_ bytes: inout [UInt8], _ most: Int) -> Void
    ) -> [UInt8]? {
        guard self == .sealed else { return nil }
        return RecipeMutation.mutate(Recipe(input), most: most, seed: seed, mutateBytes).encoded
    }
}
