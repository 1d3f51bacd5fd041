import TestSupport
import VaultBytes
import VaultFmt
import VectorMaking

/// The writer's requirements: each starts from a vector or from nothing.
enum OperationsVectors {
    private static let clock: Int64 = 1_750_000_000_000

    private static func key(_ account: String, service: String = "example.org", group: String = "") throws -> String {
        Hex.encode(try ItemKey.genericPassword(service: service, account: account, group: group).bytes)
    }

    private static func hex(_ text: String) -> String { Hex.encode(Array(text.utf8)) }

    static func all() throws -> [OperationsVector] {
        let ann = try key("ann")
        let bob = try key("bob")
        let secret = hex("s3cret")
        let label = hex("label") + "=" + hex("Example")
        var all: [OperationsVector] = []
        func add(
            _ name: String, _ spec: String, _ base: String, _ operations: [String], _ comment: String,
            clock: Int64 = clock,
            isOnDevice: Bool = false
        ) {
            all.append(
                OperationsVector(
                    name: name, spec: spec, base: base, random: name, clock: clock,
                    device: isOnDevice ? (Base.device.bytes, Base.deviceSecret) : nil, operations: operations,
                    comment: comment))
        }
        func changed(_ account: String, _ text: String) -> String { "set \(account) \(hex(text))" }
        add(
            "create", "R-1.5", "-", ["create"],
            "A new vault: ids, epoch, vault key and nonces, drawn one after the other.")
        add(
            "add", "R-1.5, R-5.12", "create", ["add \(ann) \(secret) 1 \(label)"],
            "The first item: record, page, keyring, commit.")
        add("add-again", "R-2.4", "add", ["add \(bob) \(secret) 1"], "A second one; what was there stays as it is.")
        add(
            "set", "R-2.4, R-6.9, R-6.10", "add-again", [changed(ann, "changed")],
            "Another secret: the same id, and an earlier value under group 0.")
        add(
            "set-again", "R-6.10", "set", [changed(ann, "2"), changed(ann, "3")],
            "Two further changes: three earlier values.")
        add(
            "update", "R-6.3", "add-again", ["update \(ann) \(hex("label"))=\(hex("Other"))"],
            "Another attribute: only the page changes.")
        add(
            "move", "R-6.9", "set", ["move \(ann) \(try key("carol"))"],
            "Another key: the id and the earlier values stay.")
        add(
            "remove", "R-6.12", "set", ["remove \(ann)"],
            "A removal: nothing of the item or of earlier values is left, and the vector has the change.")
        add(
            "together", "R-5.12", "add-again",
            ["begin", "add \(try key("dave")) \(secret) 1", "remove \(ann)", "set \(bob) -", "end"],
            "Three changes in one commit.")
        add(
            "clock-behind", "R-1.8", "add-again", [changed(ann, "again")],
            "The clock was put back by a day: revisions go on from the greatest that there is.",
            clock: clock - 86_400_000)
        add(
            "clock-ahead", "R-1.8", "add-again", [changed(ann, "again"), changed(bob, "again")],
            "The clock is a day ahead, and stands still for two changes.", clock: clock + 86_400_000)
        add(
            "groups", "R-3.26", "add-again",
            [
                "add \(try key("ann", group: "ci")) \(secret) 1", "remove \(try key("ann", group: "ci"))",
                "add \(try key("ann", group: "web")) \(secret) 2",
            ], "New groups and compartments get numbers of their own.")
        add(
            "device", "R-5.14", "add-again", ["add \(try key("here")) \(secret) 5"],
            "An item for one device: a compartment with its id.", isOnDevice: true)
        add(
            "compact", "R-7.13, R-7.16", "together", ["compact"],
            "A compaction: records in the order of their nonces, and no change.")
        add(
            "compact-again", "R-7.16", "compact", [changed(bob, "again"), "compact"],
            "A second one, after a change.")
        add(
            "compact-pasts", "R-7.16", "set-again", [changed(bob, "again"), "compact"],
            "A compaction keeps earlier values, in the order of item ids.")
        add(
            "slot-added", "R-2.4, R-3.5, R-3.6", "add-again",
            ["add-slot \(Hex.encode([UInt8](repeating: 7, count: 32))) \(hex("second"))"],
            "A slot more: another header and copy, the same body, one commit more.")
        add(
            "slot-removed", "R-3.6", "slot-added", ["remove-slot \(hex("second"))"],
            "It is removed from the header and the keyring, and the vector has the change.")
        add(
            "slot-factors", "R-5.31", "slot-added",
            ["change-slot \(hex("second")) \(Hex.encode([UInt8](repeating: 9, count: 32)))"],
            "Other factors: the slot keeps its id and the dot of its making.")
        add(
            "slot-scoped", "R-3.14, R-3.27, R-5.19", "groups",
            ["add-slot \(Hex.encode(Base.scopedKey)) \(hex("builder")) \(hex("web")) \(hex("ci"))"],
            "A scoped slot, under new keys and numbers of its groups; commits are signed from now on.")
        add(
            "slot-scoped-changed", "R-5.19", "slot-scoped", [changed(bob, "again")],
            "A change of a vault with a scoped slot is signed.")
        add(
            "slot-scoped-removed", "R-3.27, R-5.19", "slot-scoped", ["remove-slot \(hex("builder"))"],
            "It is removed: new epoch, group and compartment keys, and its records resealed.")
        add(
            "slot-renamed", "R-3.15", "slot-added", ["rename-slot \(hex("second")) \(hex("other"))"],
            "Another name: only the owner part is sealed again.")
        add(
            "rotate", "R-7.17", "slot-added", ["rotate"],
            "A rotation with one slot's factors: all keys are new, a hand-over is appended, and the other slot is gone."
        )
        add("rotate-pasts", "R-7.17", "set-again", ["rotate"], "A rotation reseals earlier values.")
        add(
            "opaque-kept", "R-3.16, R-3.25", "slot-opaque-long", [changed(ann, "again"), "compact"],
            "An opaque slot survives a change and a compaction, byte for byte.")
        add(
            "opaque-rotated", "R-3.16, R-7.17", "slot-kind-131", ["rotate"],
            "A rotation drops what it cannot make again: an opaque slot.")
        add("tail-cut", "R-7.10", "tail-1000-bytes", ["remove \(ann)"], "A torn tail is cut off before the change.")
        add(
            "incomplete-cut", "R-7.10", "commit-digest-newest", ["remove \(ann)"],
            "An incomplete generation is cut off (and kept aside, in another file).")
        add(
            "reserve-used", "R-2.5", "reserve-4096", ["remove \(ann)"],
            "A reserve is written over, and what is left of it cut off at the end.")
        add(
            "extension-kept", "R-3.25", "extension-header", [changed(ann, "again"), "compact"],
            "An unknown extension of the header survives a compaction.")
        add(
            "extension-kept-in-keyring", "R-3.25", "keyring-extension",
            ["add \(try key("x", group: "new")) \(secret) 1", "compact"],
            "One of the keyring survives a change of the keyring and a compaction.")
        try addCausal(add, ann: ann, bob: bob)
        let bytes = Hex.encode([UInt8](repeating: 7, count: 33_000))
        add(
            "large", "R-7.12", "add-again", ["set \(ann) \(bytes)"],
            "More than 32 KiB: synced first, and the commit says so.")
        let long = try (0..<9).map {
            "add \(try key(String(repeating: "\($0)", count: 400), service: "\($0)")) \(secret) 1"
        }
        add(
            "split", "R-5.12", "add-again", ["begin"] + long + ["end"],
            "A leaf outgrows 2048 bytes: pages are split, and get a parent.")
        add(
            "attributes", "R-6.3", "add-again",
            [
                "update \(ann) \(hex("text"))=" + Hex.encode([UInt8](repeating: 7, count: 257)),
                "update \(ann) \(hex("otp"))=\(hex("x"))",
                "update \(ann) \(hex("photo"))=" + Hex.encode([UInt8](repeating: 7, count: 5000)),
            ],
            "Attributes that belong into the item's record, and one that belongs into a record of its own.")
        add(
            "attribute-shared", "R-6.11", "attributes",
            [changed(ann, "again"), "update \(ann) \(hex("photo"))=\(hex("small"))"],
            "An earlier value shares a large attribute with its item, until the item has another: then it is resealed under group 0."
        )
        return all
    }

    private typealias Adding = (String, String, String, [String], String, Int64, Bool) -> Void

    /// Dots, what is kept of earlier values, what is forgotten, and what is settled.
    private static func addCausal(_ adding: Adding, ann: String, bob: String) throws {
        func add(_ name: String, _ spec: String, _ base: String, _ operations: [String], _ comment: String) {
            adding(name, spec, base, operations, comment, clock, false)
        }
        func changed(_ account: String, _ text: String) -> String { "set \(account) \(hex(text))" }
        add(
            "second-run", "R-1.9, R-5.36, R-7.19", "add-again", [changed(ann, "again")],
            "A writer that has made none of the file's changes begins an id of its own.")
        add(
            "own-run", "R-5.36", "add-again", [changed(ann, "2"), changed(bob, "2")],
            "Two changes under one id: the second commit refers to the frame of the first.")
        let values = (1...9).flatMap { [changed(ann, "same"), changed(ann, "\($0)")] }
        add(
            "equal-values-9", "R-6.26", "add-again", values,
            "One secret is set nine times among others: it is kept under its eight newest dots.")
        add(
            "forget", "R-6.20, R-6.14", "set-again", ["forget \(ann) 1"],
            "An earlier secret is forgotten: it is listed, and nothing has it.")
        add(
            "forget-equal", "R-6.20", "equal-values-9", ["forget \(ann) 10"],
            "Forgetting a value under one dot forgets it under all.")
        add("forgotten-stays", "R-6.21", "forget", ["compact"], "A compaction keeps what is listed as forgotten.")
        add("restore", "R-6.26", "set-again", ["restore \(ann) 1"], "The oldest secret is set again, under a new dot.")
        add(
            "limit-lowered", "R-6.27", "set-again", ["limit 1", "compact"],
            "A lower number of earlier values: a compaction keeps what is there.")
        add(
            "limit-applied", "R-6.26, R-6.27", "limit-lowered", [changed(ann, "4")], "The next change drops the others."
        )
        add(
            "settle-shown", "R-6.25", "merge-secret-merged", ["settle \(try key("ann"))"],
            "What is shown is settled upon.")
        add(
            "settle-other", "R-6.25", "merge-secret-merged", ["settle \(try key("ann")) 1"],
            "The secret that is not shown is settled upon: it is set again, under a new dot.")
        add(
            "change-of-open", "R-6.24", "merge-secret-merged", [changed(try key("ann"), "3")],
            "A change of an item that is to settle: one sibling, and the losing secret is an earlier one.")
    }
}
