import TestSupport
import VaultBytes
import VaultFmt
import VectorMaking

/// Two copies of one vault, each as the operations that made it.
struct MergingPair {
    var name: String
    var spec: String
    var comment: String
    var ours: [String]
    var theirs: [String]
    var base = Self.start
    /// Two copies of the base that are merged before ours and theirs begin.
    var first: (ours: [String], theirs: [String])?
    /// The suffix of the result's name: `merged`, `adopted`, `kept`, or none where the merge must be refused.
    var result: String? = "merged"
    /// Whether the device's secret is there: always, or only while a file is made.
    var isOnDevice = false
    var isDeviceThere = (base: false, ours: false, theirs: false)

    init(
        _ name: String, _ spec: String, _ comment: String, _ ours: [String], _ theirs: [String],
        base: [String] = Self.start
    ) {
        self.name = name
        self.spec = spec
        self.comment = comment
        self.ours = ours
        self.theirs = theirs
        self.base = base
    }

    /// Copies of a vault in which both sides had already set one secret.
    static func settling(
        _ name: String, _ spec: String, _ comment: String, _ ours: [String], _ theirs: [String]
    ) -> MergingPair {
        var pair = MergingPair(name, spec, comment, ours, theirs)
        pair.first = ([set(ann, "1")], [set(ann, "2")])
        return pair
    }

    // MARK: operations

    static let clock: Int64 = 1_750_000_000_000
    static let ann = known("ann")
    static let bob = known("bob")
    static let carol = known("carol")
    static let start = [
        "create", "add \(ann) \(hex("0")) 1 \(hex("label"))=\(hex("0"))", "add \(bob) \(hex("0")) 1",
    ]
    static let scoped = "add-slot \(Hex.encode(Base.scopedKey)) \(hex("builder")) -"
    static let full = "add-slot \(Hex.encode([UInt8](repeating: 7, count: 32))) \(hex("second"))"

    static func key(_ account: String, group: String = "") throws -> String {
        Hex.encode(try ItemKey.genericPassword(service: "example.org", account: account, group: group).bytes)
    }

    static func known(_ account: String, group: String = "") -> String {
        do { return try key(account, group: group) } catch { preconditionFailure("\(error)") }
    }

    static func hex(_ text: String) -> String { Hex.encode(Array(text.utf8)) }
    static func set(_ key: String, _ text: String) -> String { "set \(key) \(hex(text))" }
    static func label(_ key: String, _ text: String) -> String { update(key, "label", text) }
    static func update(_ key: String, _ name: String, _ text: String) -> String {
        "update \(key) \(hex(name))=\(hex(text))"
    }
    static func large(_ key: String, _ byte: UInt8) -> String {
        "update \(key) \(hex("photo"))=" + Hex.encode([UInt8](repeating: byte, count: 5000))
    }
    static func long(_ key: String, _ byte: UInt8) -> String {
        "update \(key) \(hex("text"))=" + Hex.encode([UInt8](repeating: byte, count: 300))
    }
}

/// The pairs, by what they show.
enum MergingPairs {
    private typealias Pair = MergingPair

    /// Fields, earlier values, removals and keys.
    static func ofItems() -> [MergingPair] {
        let (ann, bob, carol) = (Pair.ann, Pair.bob, Pair.carol)
        let (dave, worker) = (Pair.known("dave"), Pair.known("dave", group: "work"))
        func set(_ key: String, _ text: String) -> String { Pair.set(key, text) }
        func label(_ key: String, _ text: String) -> String { Pair.label(key, text) }
        let grown = Pair.start + [set(ann, "00")]
        let many = { (kind: String) in
            "update \(ann) " + (10..<50).map { "\(Pair.hex("\(kind)\($0)"))=\(Pair.hex("x"))" }.joined(separator: " ")
        }
        return [
            Pair("merge-ours", "R-8.12", "Ours has seen all of theirs: it stays.", [set(ann, "1")], []),
            Pair("merge-theirs", "R-8.12", "Theirs has seen all of ours: it takes its place.", [], [set(ann, "1")]),
            Pair("merge-two-items", "R-8.13", "Each side changed another item.", [set(ann, "1")], [set(bob, "2")]),
            Pair(
                "merge-fields", "R-8.13, R-6.22", "One side changed the secret, the other an attribute and the key.",
                [set(ann, "1")], [label(ann, "2"), "move \(ann) \(carol)"]),
            Pair(
                "merge-secret", "R-8.13, R-6.22", "Both changed the secret and an attribute: the later one is shown.",
                [set(ann, "1"), label(ann, "1")], [set(ann, "2"), label(ann, "2")]),
            Pair(
                "merge-equal-values", "R-6.23", "Both set the same secret: nothing is left to settle.",
                [set(ann, "1")], [set(ann, "1")]),
            Pair(
                "merge-keys", "R-8.13, R-6.22", "Both gave an item another key.", ["move \(ann) \(carol)"],
                ["move \(ann) \(dave)"]),
            Pair(
                "merge-large", "R-8.15, R-6.11", "Both changed a large attribute, one also the secret.",
                [Pair.large(ann, 1), set(ann, "1")], [Pair.large(ann, 2)], base: grown + [Pair.large(ann, 0)]),
            Pair(
                "merge-long-plain", "R-6.22", "A long attribute here, another secret there.", [Pair.long(ann, 1)],
                [set(ann, "2")], base: grown + [Pair.long(ann, 0)]),
            Pair(
                "merge-compacted", "R-8.13", "Both copies were compacted: records move, dots stay.",
                [set(ann, "1"), "compact"], [label(ann, "2"), "compact"], base: grown),
            Pair(
                "merge-earlier", "R-8.15, R-6.26", "Earlier values of both, united.",
                [set(ann, "1"), set(ann, "2")], [set(ann, "3"), set(ann, "4")]),
            Pair(
                "merge-limit", "R-6.27", "The limit was lowered here: what both keep is united, and nothing dropped.",
                ["limit 1", set(ann, "1")], [set(ann, "2"), set(ann, "3"), set(ann, "4")]),
            Pair(
                "merge-absent", "R-6.22", "One side drops an attribute, the other changes the secret.",
                ["update \(ann) \(Pair.hex("label"))"], [set(ann, "2")]),
            Pair(
                "merge-absent-changed", "R-6.22", "One side drops an attribute, the other changes it: it is shown.",
                ["update \(ann) \(Pair.hex("label"))"], [label(ann, "2")]),
            Pair(
                "merge-attributes-65", "R-6.22, R-11.1", "40 attributes here and 40 others there: 64 are shown.",
                [many("a")], [many("b")]),
            Pair("merge-removed", "R-8.13", "A removal that saw the item holds.", ["remove \(ann)"], [set(bob, "2")]),
            Pair(
                "merge-removed-compacted", "R-8.13", "The same after both were compacted.",
                ["remove \(ann)", "compact"], [set(bob, "2"), "compact"]),
            Pair(
                "merge-change-beats-removal", "R-8.13", "A change that the removal did not see keeps the item.",
                ["remove \(ann)"], [set(ann, "2")]),
            Pair("merge-both-removed", "R-8.13", "Both removed an item.", ["remove \(ann)"], ["remove \(ann)"]),
            Pair(
                "merge-added", "R-8.13", "Only theirs has an item.", [set(ann, "1")],
                ["add \(carol) \(Pair.hex("c")) 1"]),
            Pair(
                "merge-twins", "R-6.15", "Two new items with one key.", ["add \(carol) \(Pair.hex("1")) 1"],
                ["add \(carol) \(Pair.hex("2")) 1"]),
            Pair(
                "merge-twins-renamed", "R-6.15", "Two items got one key.", ["move \(ann) \(carol)"],
                ["move \(bob) \(carol)"]),
            Pair(
                "merge-groups", "R-8.17, R-8.18", "Both made a group of one name: the smaller number stays.",
                ["add \(worker) \(Pair.hex("1")) 1"], ["add \(Pair.known("erin", group: "work")) \(Pair.hex("2")) 1"]),
            Pair(
                "merge-vector", "R-8.22", "Each side has an id that the other lacks, and changes both know.",
                [set(ann, "1"), label(bob, "1")], [set(bob, "2"), label(ann, "2")], base: grown),
            Pair(
                "merge-place-secret", "R-6.22, R-6.10, R-8.16", "Moved to a group here, a new secret there.",
                ["move \(ann) \(Pair.known("ann", group: "work"))"], [set(ann, "2")],
                base: grown + ["add \(worker) \(Pair.hex("1")) 1"]),
            Pair(
                "merge-place-sealed", "R-6.22, R-6.10",
                "Moved and a new secret here; a new sealed attribute there, which does not follow.",
                [
                    "begin", "move \(ann) \(Pair.known("ann", group: "work"))",
                    set(Pair.known("ann", group: "work"), "1"), "end",
                ],
                [Pair.update(ann, "otp", "2")], base: grown + ["add \(worker) \(Pair.hex("1")) 1"]),
            Pair(
                "merge-place-long", "R-6.22, R-6.10",
                "Moved and a new secret here; a new long attribute there, which does not follow, though it is not sealed.",
                [
                    "begin", "move \(ann) \(Pair.known("ann", group: "work"))",
                    set(Pair.known("ann", group: "work"), "1"), "end",
                ],
                [Pair.long(ann, 2)], base: grown + ["add \(worker) \(Pair.hex("1")) 1"]),
            Pair(
                "merge-place-long-alike", "R-6.22",
                "Moved to the same group on both sides, under two dots; a new long attribute there is shown.",
                [
                    "begin", "move \(ann) \(Pair.known("ann", group: "work"))",
                    set(Pair.known("ann", group: "work"), "1"), "end",
                ],
                [
                    "begin", "move \(ann) \(Pair.known("ann", group: "work"))",
                    Pair.long(Pair.known("ann", group: "work"), 2), "end",
                ], base: grown + ["add \(worker) \(Pair.hex("1")) 1"]),
            Pair(
                "merge-place-moved", "R-6.22", "Moved to a group here, another label there: nothing is to settle.",
                ["move \(ann) \(Pair.known("ann", group: "work"))"], [label(ann, "2")],
                base: grown + ["add \(worker) \(Pair.hex("1")) 1"]),
            Pair("merge-setting", "R-8.13", "Both set the number of earlier values.", ["limit 3"], ["limit 5"]),
        ]
    }

    /// What is left to settle, and what is forgotten.
    static func ofSettling() -> [MergingPair] {
        let (ann, bob) = (Pair.ann, Pair.bob)
        let earlier = Pair.start + [Pair.set(ann, "00"), Pair.set(ann, "000")]
        var device = Pair(
            "merge-device", "R-6.22, R-6.23, R-8.16",
            "An item of this device was changed here; the other side dropped its label without the device's secret.",
            [Pair.set(Pair.carol, "1")], [Pair.set(ann, "2")],
            base: Pair.start + ["add \(Pair.carol) \(Pair.hex("c")) 5 \(Pair.hex("label"))=\(Pair.hex("0"))"])
        device.isOnDevice = true
        var apart = Pair(
            "merge-device-apart", "R-6.22, R-6.23",
            "Both changed an item of a device; the merge does not have the device's secret.",
            [Pair.set(Pair.carol, "1")], [Pair.update(Pair.carol, "otp", "2")], base: device.base)
        apart.isDeviceThere = (base: true, ours: true, theirs: true)
        var twins = Pair(
            "merge-twins-removed", "R-6.15",
            "Of two items with one key the plain one was removed: the other becomes it.",
            ["remove \(Pair.carol)"], [Pair.set(ann, "2")])
        twins.first = (["add \(Pair.carol) \(Pair.hex("1")) 1"], ["add \(Pair.carol) \(Pair.hex("2")) 1"])
        return [
            Pair.settling(
                "merge-settled", "R-6.25, R-8.13", "One side settled what the other one has still open.",
                ["settle \(ann)"], [Pair.set(bob, "2")]),
            Pair.settling(
                "merge-settled-both", "R-6.25", "Both sides settled alike, under two dots.", ["settle \(ann)"],
                ["settle \(ann)"]),
            Pair.settling(
                "merge-settled-otherwise", "R-6.25, R-6.22", "The sides settled differently.", ["settle \(ann)"],
                ["settle \(ann) 1"]),
            Pair.settling(
                "merge-open", "R-6.22, R-6.24", "One side changed the secret, the other the label, of an open item.",
                [Pair.set(ann, "3")], [Pair.label(ann, "4")]),
            Pair(
                "merge-forgotten", "R-6.20, R-8.13", "An earlier secret was forgotten here, the label changed there.",
                ["forget \(ann) 1"], [Pair.label(ann, "2")], base: earlier),
            Pair(
                "merge-forgotten-equal", "R-6.20", "A secret that was set twice is forgotten here.",
                ["forget \(ann) 1"], [Pair.set(bob, "2")],
                base: Pair.start + [Pair.set(ann, "x"), Pair.set(ann, "y"), Pair.set(ann, "x"), Pair.set(ann, "z")]),
            Pair(
                "merge-forgotten-only-secret", "R-6.17, R-6.20", "What one side shows was forgotten on the other.",
                [Pair.set(ann, "1"), "forget \(ann) 1"], [Pair.label(ann, "2")]),
            Pair(
                "merge-restored", "R-6.26", "One side restored an earlier secret, the other set another one.",
                ["restore \(ann) 1"], [Pair.set(ann, "2")], base: earlier),
            device, apart, twins,
        ]
    }

    /// Slots, grants and keys of groups.
    static func ofSlots() -> [MergingPair] {
        let (ann, bob) = (Pair.ann, Pair.bob)
        let scoped = Pair.start + [Pair.scoped]
        let builder = Pair.hex("builder")
        var last = Pair(
            "merge-both-slots-changed", "R-8.13", "A slot got other factors here, another name there.",
            ["change-slot \(Pair.hex("second")) \(Hex.encode([UInt8](repeating: 9, count: 32)))"],
            ["rename-slot \(Pair.hex("second")) \(Pair.hex("other"))"], base: Pair.start + [Pair.full])
        last.comment += " The later change holds."
        return [
            Pair(
                "merge-slot-renamed", "R-8.13", "One side gave a slot another name.",
                ["rename-slot \(Pair.hex("main")) \(Pair.hex("renamed"))"], [Pair.set(ann, "2")]),
            Pair("merge-slot-added", "R-8.13", "Only theirs has a slot.", [Pair.set(ann, "1")], [Pair.full]),
            Pair(
                "merge-slot-removed", "R-8.13", "One side removed a slot.", ["remove-slot \(Pair.hex("second"))"],
                [Pair.set(ann, "2")], base: Pair.start + [Pair.full]),
            Pair(
                "merge-slot-changed-and-removed", "R-8.13", "A removal of a slot holds over a change of it.",
                ["remove-slot \(Pair.hex("second"))"],
                ["rename-slot \(Pair.hex("second")) \(Pair.hex("other"))"], base: Pair.start + [Pair.full]),
            last,
            Pair(
                "merge-scoped-removed", "R-8.17, R-8.18", "One side removed a scoped slot: no key that it held stays.",
                ["remove-slot \(builder)"], [Pair.set(ann, "2")], base: scoped),
            Pair(
                "merge-group-key-kept", "R-8.17", "A full slot was added here, an item changed there: keys stay.",
                [Pair.full], [Pair.set(bob, "2")], base: scoped),
            Pair(
                "merge-grant-and-revocation", "R-8.13, R-8.17, R-8.18",
                "A group was revoked here; an item of it changed there.", ["grant \(builder)"], [Pair.set(ann, "2")],
                base: scoped),
            Pair(
                "merge-granted", "R-8.17, R-8.18", "A group was granted here, a slot renamed there.",
                ["grant \(builder) - \(Pair.hex("work"))"], ["rename-slot \(builder) \(Pair.hex("b"))"],
                base: scoped + ["add \(Pair.known("dave", group: "work")) \(Pair.hex("1")) 1"]),
        ]
    }

    /// Branches under a key that was replaced (section 8.2).
    static func ofReplacedKeys() -> [MergingPair] {
        let (ann, bob) = (Pair.ann, Pair.bob)
        var refused = Pair(
            "merge-rotated-refused", "R-8.1", "Ours was rotated, theirs went on under the old key: refused.",
            ["rotate"], [Pair.set(ann, "2")])
        refused.result = nil
        func adopted(
            _ name: String, _ spec: String, _ comment: String, _ ours: [String], _ theirs: [String],
            base: [String] = Pair.start
        ) -> MergingPair {
            var pair = Pair(name, spec, comment, ours, theirs, base: base)
            pair.result = "adopted"
            return pair
        }
        var device = adopted(
            "merge-rotated-device", "R-8.25, R-6.17", "The branch added an item of a device that is not here.",
            ["rotate"], ["add \(Pair.carol) \(Pair.hex("c")) 5"])
        device.isDeviceThere.theirs = true
        return [
            refused, device,
            adopted(
                "merge-both-rotated", "R-8.24", "Both rotated: the later key stays, whichever is ours.",
                ["rotate", Pair.set(ann, "1")], ["rotate", Pair.set(ann, "2")]),
            adopted(
                "merge-rotated", "R-8.1, R-8.24, R-8.26",
                "Ours was rotated; a secret of theirs comes in to be settled, and nothing shown changes.", ["rotate"],
                [Pair.set(ann, "2")]),
            adopted(
                "merge-rotated-covered", "R-8.24", "Everything that theirs has was handed over.",
                ["rotate", Pair.set(ann, "1")], []),
            adopted(
                "merge-rotated-removed", "R-8.25", "An item that the branch changed was removed after the rotation.",
                ["rotate", "remove \(ann)"], [Pair.set(ann, "2")]),
            adopted(
                "merge-rotated-forgotten", "R-8.27", "The branch has a value that was forgotten after the rotation.",
                ["rotate", "forget \(ann) 1"], [Pair.label(ann, "2")],
                base: Pair.start + [Pair.set(ann, "00")]),
            adopted(
                "merge-rotated-settings", "R-8.27", "The branch removed an item and set the limit: not carried out.",
                ["rotate"], ["remove \(bob)", "limit 1", Pair.set(ann, "2")]),
            adopted(
                "merge-rotated-added", "R-8.25", "The branch added an item.", ["rotate"],
                ["add \(Pair.carol) \(Pair.hex("c")) 1 \(Pair.hex("label"))=\(Pair.hex("1"))"]),
        ]
    }
}
