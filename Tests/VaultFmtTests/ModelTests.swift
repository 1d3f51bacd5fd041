import Foundation
import Fuzzing
import TestSupport
import Testing
import VaultStore

@testable import VaultFmt

@Suite("A vault of random operations")
struct ModelTests {
    /// In a real file, with the checks of a debug build: round-trip runs more of them, in memory.
    private static let sequences: UInt64 = 5
    private static let changes = 500

    /// Runs operations on a vault in a real file; what is wrong, if anything is.
    private func failure(_ operations: [Fuzzing.Operation]) -> String? {
        do {
            let folder = try Folder()
            let clock = SettableClock()
            let start: Int64 = 1_700_000_000_000
            clock.set(start)
            var passed: Int64 = 0
            let runner = try OperationRunner(path: folder.file("a.vault"), place: Store.Place(fileSystem: clock)) {
                milliseconds in
                passed += milliseconds
                clock.set(start + passed)
            }
            try runner.run(operations)
            #expect(folder.names == ["a.vault"])
            return nil
        } catch { return "\(error)" }
    }

    @Test(
        "equals a plain model of it, however it is opened, changed, compacted, locked and rotated in between; a failing sequence is made small"
    )
    func model() {
        let seed = Numbers.seed
        for number in 0..<Self.sequences { check(seed &+ number) }
    }

    private func check(_ seed: UInt64) {
        var choices = SeededChoices(seed: seed)
        let operations = Fuzzing.Operation.sequence(&choices, changes: Self.changes)
        guard let wrong = failure(operations) else { return }
        let small = Shrinker.shrink(operations, tries: 500) { failure($0) != nil }
        let steps = small.map { "\n  \($0)" }.joined()
        Issue.record(
            "VAULTFMT_SEED=\(seed): \(wrong)\n\(small.count) operations are enough: \(failure(small) ?? "")\(steps)")
    }

    @Test("that fails is made as small as it gets")
    func shrinking() {
        var choices = SeededChoices(seed: 3)
        let operations = Fuzzing.Operation.sequence(&choices, changes: 400)
        // A bug that would need a compaction after an item was moved.
        let fails = { (operations: [Fuzzing.Operation]) -> Bool in
            let move = operations.firstIndex { $0.changes.contains { if case .move = $0 { true } else { false } } }
            let compaction = operations.lastIndex(of: .compact)
            guard let move, let compaction else { return false }
            return move < compaction
        }
        #expect(fails(operations))
        let small = Shrinker.shrink(operations, fails: fails)
        #expect(small.count == 2)
        #expect(small.first?.changes.count == 1)
        #expect(small.last == .compact)
    }
}
