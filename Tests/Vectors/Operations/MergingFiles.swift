import TestSupport
import VaultCrypto
import VaultFmt
import VaultStore
import VectorMaking

/// R-8.12: which of two files a merge leaves where one side has seen everything of the other.
extension MergingVectors {
    /// Whether a file that has seen all of ours takes its place: not if an earlier state in it may hold what ours erased.
    static func replacedFiles() throws -> [ConformanceVector] {
        let (ann, bob) = (MergingPair.ann, MergingPair.bob)
        func pair(_ name: String, _ comment: String) -> MergingPair {
            MergingPair(name, "R-8.12", comment, [], [])
        }
        let erased = pair(
            "merge-erased", "Theirs has seen all of ours, but has earlier states with an item that ours erased.")
        let base = try run(MergingPair.start, on: nil, erased, "base", 0)
        let ours = try run(["remove \(bob)", "compact"], on: base, erased, "ours", 1000)
        let copy = try run([MergingPair.set(ann, "1")], on: base, erased, "copy", 2000)
        let theirs = try merged(copy, ours, erased, MergeOptions(), "seen")

        let later = pair(
            "merge-erased-later",
            "Theirs was compacted under a greater generation, but before it had seen what ours erased.")
        let changes = ["1", "2", "3"].map { MergingPair.set(ann, $0) }
        let compacted = try run(changes + ["compact"], on: base, later, "copy", 3000)
        let seen = try merged(compacted, ours, later, MergeOptions(), "seen")

        let again = pair(
            "merge-erased-compacted", "That file, compacted with everything in it: it takes the place of ours.")
        let whole = try run(["compact", MergingPair.set(ann, "4")], on: seen, again, "theirs", 4000)

        let damaged = pair(
            "merge-first-damaged",
            "An earlier commit of ours is damaged, so nobody can tell what was erased before: theirs is not taken.")
        let newer = try run([MergingPair.set(ann, "1")], on: base, damaged, "theirs", 2000)
        return try vectors(erased, ours, theirs) + vectors(later, ours, seen) + vectors(again, ours, whole)
            + vectors(damaged, try damagingFirstCommit(base), newer) + splitFiles()
    }

    /// The rows of a split id say nothing about what a file contains; files that begin with the same state need no rows.
    private static func splitFiles() throws -> [ConformanceVector] {
        func pair(_ name: String, _ comment: String) -> MergingPair {
            MergingPair(name, "R-8.12, R-8.14", comment, [], [])
        }
        let apart = pair(
            "merge-first-split", "Ours and theirs were compacted apart, and the rows of both are those of a split id.")
        let (change, other) = ([MergingPair.set(MergingPair.ann, "1")], [MergingPair.set(MergingPair.ann, "2")])
        // The same id is in both memories.
        let memories = [ProcessReplicas(random: .fixed("split")), ProcessReplicas(random: .fixed("split"))]
        let starts = try memories.map { try run(MergingPair.start, on: nil, apart, "base", 0, memory: $0) }
        let first = try run(change, on: starts[0], apart, "a", 1000, memory: memories[0])
        let second = try run(other, on: starts[1], apart, "b", 2000, memory: memories[1])
        let both = try merged(first, second, apart, MergeOptions(), "noticed", memory: memories[0])
        let ours = try run(["compact"], on: both, apart, "ours", 3000)
        let theirs = try run(["compact"] + change, on: both, apart, "theirs", 4000)
        let together = pair(
            "merge-first-alike", "Ours and theirs have a split id, and begin with one state: theirs is taken.")
        return try vectors(apart, ours, theirs)
            + vectors(together, both, try run(change, on: both, together, "theirs", 4000))
    }

    /// The file with one bit of its first commit altered, which a reader of its newest state does not check.
    private static func damagingFirstCommit(_ file: [UInt8]) throws -> [UInt8] {
        let head: [UInt8] = [0x76, 0x43, 0x4D, 0x54, 0, 2, 0, 0]
        let places = stride(from: 0, to: file.count, by: 512).filter { file[$0...].starts(with: head) }
        guard let first = places.first, places.count >= 3 else { throw ForgeError("a file of three commits is needed") }
        var damaged = file
        damaged[first + 100] ^= 1
        return damaged
    }

    /// Two files with the same changes, which a program that exchanges whole files brings to one.
    static func unifiedFiles() throws -> [ConformanceVector] {
        let (ann, bob, carol) = (MergingPair.ann, MergingPair.bob, MergingPair.carol)
        func pair(_ name: String, _ comment: String) -> MergingPair {
            var pair = MergingPair(name, "R-8.12", comment, [], [])
            pair.result = "kept"
            return pair
        }
        let same = pair("merge-one-file", "Two machines made the same merge: the greater of both commits is kept.")
        let base = try run(MergingPair.start, on: nil, same, "base", 0)
        let left = try run([MergingPair.set(ann, "1")], on: base, same, "left", 1000)
        let right = try run([MergingPair.set(bob, "2")], on: base, same, "right", 2000)
        var all = try vectors(
            same, try merged(left, right, same, MergeOptions(), "ours"),
            try merged(right, left, same, MergeOptions(), "theirs"))

        let compacted = pair("merge-one-file-compacted", "One of both was compacted: it is kept.")
        all += try vectors(compacted, left, try run(["compact"], on: left, compacted, "theirs", 3000))

        let each = pair(
            "merge-one-file-erased", "Each has what the other erased before it saw it: neither is kept as it is.")
        let mine = try run(["remove \(bob)", "compact"], on: base, each, "first ours", 1000)
        let its = try run([MergingPair.set(ann, "2"), "compact"], on: base, each, "first theirs", 2000)
        all += try vectors(
            each, try merged(mine, its, each, MergeOptions(), "ours"),
            try merged(its, mine, each, MergeOptions(), "theirs"))

        let older = pair(
            "merge-one-file-older", "The file with nothing erased in it is kept, though its generation is less.")
        let changes = ["1", "2", "3", "4", "5"].map { MergingPair.set(ann, $0) }
        let long = try run(changes, on: base, older, "long", 1000)
        let added = try run(["add \(carol) \(MergingPair.hex("c")) 1"], on: mine, older, "added", 3000)
        let ours = try merged(added, long, older, MergeOptions(), "ours")
        let before = try merged(long, mine, older, MergeOptions(), "before")
        return all + (try vectors(older, ours, try merged(before, added, older, MergeOptions(), "theirs")))
    }
}
