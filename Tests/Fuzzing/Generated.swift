/// Sequences of operations made from seeds.
package enum Generated {
    /// Runs one sequence in memory; if it fails, what is wrong, and the smallest sequence found that fails as well.
    package static func failure(seed: UInt64, changes: Int) -> String? {
        var choices = SeededChoices(seed: seed)
        let operations = Operation.sequence(&choices, changes: changes)
        guard let first = failure(operations, seed) else { return nil }
        let small = Shrinker.shrink(operations) { failure($0, seed) != nil }
        return "\(first)\nsmallest sequence found, of \(small.count) operations: \(failure(small, seed) ?? "")\n"
            + small.map { "  \($0)" }.joined(separator: "\n")
    }

    private static func failure(_ operations: [Operation], _ seed: UInt64) -> String? {
        do {
            try OperationRunner.runInMemory(operations, seed: seed)
            return nil
        } catch { return "\(error)" }
    }
}
