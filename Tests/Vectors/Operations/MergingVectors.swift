import TestSupport
import VaultBytes
import VaultFmt
import VaultStore
import VectorMaking

/// Section 8: pairs of copies, and what their merge must hold. The reference implementation merges them on its own.
enum MergingVectors {
    /// One pair.
    private struct Pair {
        let name: String
        let spec: String
        let comment: String
        var base: [String] = []
        var ours: [String] = []
        var theirs: [String] = []
        /// What to merge with: the suffix of the result's name, or none where the merge must be refused.
        var results = ["merged"]
        /// How much later each branch goes on, in milliseconds.
        var later: (ours: Int64, theirs: Int64) = (1000, 2000)
        var isOnDevice = false
    }

    private static let clock: Int64 = 1_750_000_000_000
    private static let day: Int64 = 86_400_000

    private static func key(_ account: String, group: String = "") throws -> String {
        Hex.encode(try ItemKey.genericPassword(service: "example.org", account: account, group: group).bytes)
    }

    private static func hex(_ text: String) -> String { Hex.encode(Array(text.utf8)) }

    static func all() throws -> [ConformanceVector] {
        var all: [ConformanceVector] = []
        for pair in try pairs() { all += try vectors(pair) }
        return all
    }

    private static func pairs() throws -> [Pair] {
        let (ann, bob, carol) = (try key("ann"), try key("bob"), try key("carol"))
        let start = ["create", "add \(ann) \(hex("0")) 1 \(hex("label"))=\(hex("0"))", "add \(bob) \(hex("0")) 1"]
        func set(_ key: String, _ text: String) -> String { "set \(key) \(hex(text))" }
        func label(_ key: String, _ text: String) -> String { "update \(key) \(hex("label"))=\(hex(text))" }
        let photo = hex("photo")
        func large(_ key: String, _ byte: UInt8) -> String {
            "update \(key) \(photo)=" + Hex.encode([UInt8](repeating: byte, count: 5000))
        }
        let scoped = "add-slot \(Hex.encode(Base.scopedKey)) \(hex("builder")) -"
        let full = "add-slot \(Hex.encode([UInt8](repeating: 7, count: 32))) \(hex("second"))"
        func pair(
            _ name: String, _ spec: String, _ comment: String, _ ours: [String], _ theirs: [String],
            base: [String]? = nil
        ) -> Pair {
            Pair(
                name: name, spec: spec, comment: comment, base: base ?? start, ours: ours, theirs: theirs)
        }
        var all = [
            pair("merge-ours", "R-8.2", "Theirs is an ancestor: ours stays.", [set(ann, "1")], []),
            pair("merge-theirs", "R-8.2", "Ours is an ancestor: theirs takes its place.", [], [set(ann, "1")]),
            pair(
                "merge-two-items", "R-8.3, R-8.5", "Each side changed another item.", [set(ann, "1")], [set(bob, "2")]),
            pair(
                "merge-fields", "R-8.5", "One side changed the secret, the other an attribute and the key.",
                [set(ann, "1")], [label(ann, "2"), "move \(ann) \(carol)"]),
            pair(
                "merge-conflict", "R-8.5", "Both changed the secret and an attribute: the later one wins.",
                [set(ann, "1"), label(ann, "1")], [set(ann, "2"), label(ann, "2")]),
            pair(
                "merge-key-conflict", "R-8.5", "Both gave an item another key.", ["move \(ann) \(carol)"],
                ["move \(ann) \(try key("dave", group: "work"))"]),
            pair(
                "merge-large", "R-8.5, R-8.6", "Both changed a large attribute, one also the secret.",
                [large(ann, 1), set(ann, "1")], [large(ann, 2)], base: start + [large(ann, 0), set(ann, "00")]),
            pair(
                "merge-compacted", "R-8.5", "No copy has the base any more: values that both hold take its place.",
                [set(ann, "1"), "compact"], [label(ann, "2"), "compact"], base: start + [set(ann, "00")]),
            pair(
                "merge-versions", "R-8.6", "Earlier values of both, united.",
                [set(ann, "1"), set(ann, "2")], [set(ann, "3"), set(ann, "4")]),
            pair("merge-removed", "R-8.7", "A removal holds.", ["remove \(ann)"], [set(bob, "2")]),
            pair(
                "merge-removed-compacted", "R-8.7", "It does without the base, too.",
                ["remove \(ann)", "compact"], [set(bob, "2"), "compact"]),
            pair("merge-change-beats-removal", "R-8.7", "A change beats it.", ["remove \(ann)"], [set(ann, "2")]),
            pair("merge-both-removed", "R-8.7", "Both removed an item.", ["remove \(ann)"], ["remove \(ann)"]),
            pair(
                "merge-clash", "R-8.8", "Two new items with one key.", ["add \(carol) \(hex("1")) 1"],
                ["add \(carol) \(hex("2")) 1"]),
            pair(
                "merge-groups", "R-8.10", "Both made a group of one name.",
                ["add \(try key("o", group: "work")) \(hex("1")) 1"],
                ["add \(try key("t", group: "work")) \(hex("2")) 1"]),
            pair(
                "merge-slot-renamed", "R-8.9", "One side gave a slot another name.",
                ["rename-slot \(hex("main")) \(hex("renamed"))"], [set(ann, "2")]),
            pair(
                "merge-slot-removed", "R-8.9, R-7.18", "One side removed a slot.",
                ["remove-slot \(hex("second"))"], [set(ann, "2")], base: start + [full]),
            pair(
                "merge-scoped-removed", "R-8.9, R-8.10", "One side removed a scoped slot: no key that it held stays.",
                ["remove-slot \(hex("builder"))"], [set(ann, "2")], base: start + [scoped]),
            pair("merge-rotated", "R-8.1", "Ours was rotated, theirs went on: refused.", ["rotate"], [set(ann, "2")]),
        ]
        all[all.count - 1].results = ["adopted"]
        var other = pair(
            "merge-other-slot", "R-8.9", "Only theirs has a slot: taken only if the user agrees.", [set(ann, "1")],
            [full])
        other.results = ["merged", "taking"]
        all.append(other)
        var horizon = pair(
            "merge-horizon", "R-8.7", "The tombstone is gone, and the horizon tells of the removal.",
            ["remove \(ann)"], [set(bob, "2"), "compact"])
        horizon.later = (0, 181 * day)
        all.append(horizon)
        var device = pair(
            "merge-device", "R-8.5, R-8.11", "One side bound an item to this device, the other changed it.",
            ["add \(carol) \(hex("c")) 5", set(ann, "1")], [set(ann, "2")])
        device.isOnDevice = true
        all.append(device)
        return all
    }

    // MARK: making

    private static func vectors(_ pair: Pair) throws -> [ConformanceVector] {
        let device = pair.isOnDevice ? (id: Base.device.bytes, secret: Base.deviceSecret) : nil
        let base = try run(pair.base, on: nil, pair.name + " base", clock, device)
        let ours = try run(pair.ours, on: base, pair.name + " ours", clock + pair.later.ours, device)
        let theirs = try run(pair.theirs, on: base, pair.name + " theirs", clock + pair.later.theirs, device)
        var request = ReadRequest.raw(Base.key)
        request.device = device
        func vector(_ suffix: String, _ file: [UInt8]) -> ConformanceVector {
            ConformanceVector(
                name: "\(pair.name)-\(suffix)", folder: "merging", spec: pair.spec, expect: .success, request: request,
                comment: pair.comment, file: file)
        }
        var out = [vector("ours", ours), vector("theirs", theirs)]
        for result in pair.results {
            var options = MergeOptions()
            options.takesSlots = result == "taking"
            options.acceptsOldKeys = result == "adopted"
            let (outcome, file) = try MergeCommand.merge(ours, theirs, request, options) { files in
                Store.Place(fileSystem: files, random: .fixed("\(pair.name) \(result)"))
            }
            guard let file else { throw ForgeError("\(pair.name): \(outcome)") }
            out.append(vector(result, file))
        }
        return out
    }

    private static func run(
        _ operations: [String], on base: [UInt8]?, _ random: String, _ clock: Int64,
        _ device: (id: [UInt8], secret: [UInt8])?
    ) throws -> [UInt8] {
        try OperationsVector(
            name: random, spec: "", base: "", random: random, clock: clock, device: device, operations: operations,
            comment: ""
        ).result(base)
    }
}
