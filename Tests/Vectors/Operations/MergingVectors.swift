import TestSupport
import VaultBytes
import VaultCrypto
import VaultFmt
import VaultStore
import VectorMaking

/// Section 8: pairs of copies, and what their merge must hold. The reference implementation merges them on its own.
enum MergingVectors {
    static func all() throws -> [ConformanceVector] {
        let pairs = MergingPairs.ofItems() + MergingPairs.ofSettling() + MergingPairs.ofSlots()
        return try (pairs + MergingPairs.ofReplacedKeys()).flatMap(vectors) + splits() + several() + replacedFiles()
            + unifiedFiles()
    }

    private static func vectors(_ pair: MergingPair) throws -> [ConformanceVector] {
        let base = try base(pair)
        let ours = try run(pair.ours, on: base, pair, "ours", 1000, device: pair.isDeviceThere.ours)
        let theirs = try run(pair.theirs, on: base, pair, "theirs", 2000, device: pair.isDeviceThere.theirs)
        return try vectors(pair, ours, theirs)
    }

    /// What both copies begin with: a vault, or the merge of two copies of one.
    private static func base(_ pair: MergingPair) throws -> [UInt8] {
        let start = try run(pair.base, on: nil, pair, "base", 0, device: pair.isDeviceThere.base)
        guard let first = pair.first else { return start }
        let left = try run(first.ours, on: start, pair, "first ours", 100)
        let right = try run(first.theirs, on: start, pair, "first theirs", 200)
        return try merged(left, right, pair, MergeOptions(), "first")
    }

    static func vectors(
        _ pair: MergingPair, _ ours: [UInt8], _ theirs: [UInt8]
    ) throws -> [ConformanceVector] {
        var out = [vector(pair, "ours", ours), vector(pair, "theirs", theirs)]
        if let result = pair.result {
            var options = MergeOptions()
            options.acceptsOldKeys = result == "adopted"
            options.unifiesFiles = result == "kept"
            out.append(vector(pair, result, try merged(ours, theirs, pair, options, result)))
        } else {
            let outcome = try MergeCommand.merge(ours, theirs, request(pair), MergeOptions()).outcome
            guard outcome.hasPrefix("refused") else { throw ForgeError("\(pair.name): \(outcome)") }
        }
        return out
    }

    private static func vector(_ pair: MergingPair, _ suffix: String, _ file: [UInt8]) -> ConformanceVector {
        // A reader does not need the secret of the device, and then reads less.
        let reading = SpecReading(file, request(pair))
        return ConformanceVector(
            name: "\(pair.name)-\(suffix)", folder: "merging", spec: pair.spec, expect: reading.verdict,
            request: request(pair), comment: pair.comment, file: file)
    }

    private static func request(_ pair: MergingPair) -> ReadRequest {
        var request = ReadRequest.raw(Base.key)
        request.device = pair.isOnDevice ? device : nil
        return request
    }

    private static let device = (id: Base.device.bytes, secret: Base.deviceSecret)

    static func merged(
        _ ours: [UInt8], _ theirs: [UInt8], _ pair: MergingPair, _ options: MergeOptions, _ what: String,
        memory: ProcessReplicas? = nil
    ) throws -> [UInt8] {
        let random = Randomness.fixed("\(pair.name) \(what)")
        let (outcome, file) = try MergeCommand.merge(
            ours, theirs, request(pair), options, random: random, memory: memory)
        guard let file else { throw ForgeError("\(pair.name): \(outcome)") }
        return file
    }

    static func run(
        _ operations: [String], on base: [UInt8]?, _ pair: MergingPair, _ what: String, _ later: Int64,
        device isThere: Bool = false, memory: ProcessReplicas? = nil
    ) throws -> [UInt8] {
        let device = isThere || pair.isOnDevice ? device : nil
        let random = "\(pair.name) \(what)"
        return try OperationsVector(
            name: random, spec: "", base: "", random: random, clock: MergingPair.clock + later, device: device,
            operations: operations, comment: ""
        ).result(base, memory: memory)
    }

    // MARK: more than one merge

    private static func several() throws -> [ConformanceVector] {
        let (ann, bob) = (MergingPair.ann, MergingPair.bob)
        var pair = MergingPair("merge-three", "R-8.13", "Of three copies, two were merged before.", [], [])
        let start = try run(MergingPair.start, on: nil, pair, "base", 0)
        let copies = try [
            [MergingPair.set(ann, "1")], [MergingPair.set(ann, "2"), MergingPair.label(ann, "2")],
            ["remove \(ann)", MergingPair.set(bob, "3")],
        ].enumerated().map { number, operations in
            try run(operations, on: start, pair, "copy \(number)", 1000 * Int64(number + 1))
        }
        let left = try merged(copies[0], copies[1], pair, MergeOptions(), "first")
        var all = try vectors(pair, left, copies[2])
        pair.name = "merge-three-later"
        pair.comment = "The same three copies, in another order."
        all += try vectors(pair, copies[0], try merged(copies[1], copies[2], pair, MergeOptions(), "first"))
        pair = MergingPair("merge-same-rows", "R-8.12", "Two machines made the same merge: ours stays.", [], [])
        all += try vectors(pair, left, try merged(copies[1], copies[0], pair, MergeOptions(), "second"))
        pair = MergingPair("merge-rotated-again", "R-8.24", "A branch was taken in before: nothing changes.", [], [])
        pair.result = "adopted"
        var options = MergeOptions()
        options.acceptsOldKeys = true
        let rotated = try run(["rotate"], on: start, pair, "rotated", 5000)
        return all + (try vectors(pair, try merged(rotated, copies[1], pair, options, "first"), copies[1]))
    }

    // MARK: split ids

    /// Two machines continue one id, because one was made from the other's backup.
    private static func splits() throws -> [ConformanceVector] {
        let (ann, bob) = (try MergingPair.key("ann"), try MergingPair.key("bob"))
        func pair(_ name: String, _ comment: String) -> MergingPair {
            MergingPair(name, "R-7.21, R-8.12, R-8.14", comment, [], [])
        }
        let split = pair("merge-split", "Ours knows that an id is split; theirs removed an item under it.")
        // The same id is in both memories.
        let memories = [ProcessReplicas(random: .fixed("split")), ProcessReplicas(random: .fixed("split"))]
        let starts = try memories.map { try run(MergingPair.start, on: nil, split, "base", 0, memory: $0) }
        guard starts[0] == starts[1] else { throw ForgeError("one seed made two vaults") }
        let first = try run([MergingPair.set(ann, "1")], on: starts[0], split, "a", 1000, memory: memories[0])
        let second = try run(["remove \(bob)"], on: starts[0], split, "b", 2000, memory: memories[1])
        let ours = try merged(first, second, split, MergeOptions(), "noticed", memory: memories[0])
        let theirs = try run([MergingPair.set(ann, "2")], on: second, split, "c", 3000, memory: memories[1])
        var again = split
        again.name = "merge-split-again"
        again.comment = "The result of a merge with a split id, merged with one of its sides: nothing changes."
        let result = try merged(ours, theirs, split, MergeOptions(), "merged")
        return try vectors(split, ours, theirs) + vectors(again, result, theirs)
    }
}
