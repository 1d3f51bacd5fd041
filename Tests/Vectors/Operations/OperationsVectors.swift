import VaultBytes
import VaultFmt
import VaultForge

/// The writer's requirements: each starts from a vector or from nothing.
enum OperationsVectors {
    private static let clock = Workshop.clock

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
            _ name: String, _ spec: String, _ base: String, _ operations: [String], _ comment: String, clock: Int64 = clock,
            isOnDevice: Bool = false
        ) {
            all.append(
                OperationsVector(
                    name: name, spec: spec, base: base, random: name, clock: clock,
                    device: isOnDevice ? (Base.device.bytes, Base.deviceSecret) : nil, operations: operations, comment: comment))
        }
        add("create", "R-1.5", "-", ["create"], "A new vault: ids, epoch, vault key and nonces, drawn one after the other.")
        add("add", "R-1.5, R-5.18", "create", ["add \(ann) \(secret) 1 \(label)"], "The first item: record, page, keyring, commit.")
        add("add-again", "R-2.4", "add", ["add \(bob) \(secret) 1"], "A second one; what was there stays as it is.")
        add("set", "R-2.4, R-6.10", "add-again", ["set \(ann) \(hex("changed"))"], "Another secret: a new record, the same id.")
        add("update", "R-6.3", "add-again", ["update \(ann) \(hex("label"))=\(hex("Other"))"], "Another attribute: only the page changes.")
        add("move", "R-6.10", "add-again", ["move \(ann) \(try key("carol"))"], "Another key: the id stays, and no tombstone is left.")
        add("remove", "R-6.9", "add-again", ["remove \(bob)"], "A removal: a tombstone of id, revision and device.")
        add(
            "together", "R-5.18", "add-again", ["begin", "add \(try key("dave")) \(secret) 1", "remove \(ann)", "set \(bob) -", "end"],
            "Three changes in one commit.")
        add(
            "clock-behind", "R-1.7", "add-again", ["set \(ann) \(secret)"],
            "The clock was put back by a day: revisions go on from the greatest that there is.", clock: clock - 86_400_000)
        add(
            "clock-ahead", "R-1.7", "add-again", ["set \(ann) \(secret)", "set \(bob) \(secret)"],
            "The clock is a day ahead, and stands still for two changes.", clock: clock + 86_400_000)
        add(
            "groups", "R-5.19", "add-again",
            [
                "add \(try key("ann", group: "ci")) \(secret) 1", "remove \(try key("ann", group: "ci"))",
                "add \(try key("ann", group: "web")) \(secret) 2",
            ], "New groups and compartments get numbers of their own; none is used again.")
        add(
            "device", "R-5.19", "add-again", ["add \(try key("here")) \(secret) 5"],
            "An item for one device: it is entered into the list of devices.", isOnDevice: true)
        add(
            "compact", "R-7.7, R-7.15", "together", ["compact"],
            "A compaction: records in the order of their ids, links of all generations.")
        add(
            "compact-again", "R-7.7", "compact", ["set \(bob) \(secret)", "compact"],
            "A second one: its links go on from those of the first.")
        add(
            "tombstones-kept", "R-6.9", "remove", ["compact"], "A compaction 179 days after a removal keeps the tombstone.",
            clock: clock + 179 * 86_400_000)
        add("tombstones-dropped", "R-6.9", "remove", ["compact"], "181 days after it, it does not.", clock: clock + 181 * 86_400_000)
        add(
            "slot-added", "R-2.4, R-3.12", "add-again", ["add-slot \(Hex.encode([7].times(32))) \(hex("second"))"],
            "A slot more: another header, the same body, one commit more.")
        add(
            "slot-scoped", "R-3.13, R-3.14, R-7.16", "groups",
            ["add-slot \(Hex.encode(Bases.scopedKey)) \(hex("builder")) \(hex("web")) \(hex("ci"))"],
            "A scoped slot, under new keys: its groups in the order of their numbers.")
        add(
            "slot-scoped-removed", "R-7.16", "slot-scoped", ["remove-slot \(hex("builder"))"],
            "It is removed: new epoch, group and compartment keys, and its records resealed.")
        add(
            "slot-renamed", "R-3.14", "slot-added", ["rename-slot \(hex("second")) \(hex("other"))"],
            "Another name: only the owner part is sealed anew.")
        add("rotate", "R-7.17", "slot-added", ["rotate"], "A rotation with one slot's factors: all keys are new, the other slot is gone.")
        add("tail-cut", "R-2.4, R-7.12", "tail-1000-bytes", ["remove \(ann)"], "A damaged tail is cut off before the change.")
        add(
            "incomplete-cut", "R-7.12", "digest-newest", ["remove \(ann)"],
            "An incomplete generation is cut off (and kept aside, in another file).")
        add(
            "reserve-used", "R-7.18", "tail-zeros-4096", ["remove \(ann)"],
            "A reserve is written over, and what is left of it cut off at the end.")
        add(
            "extension-kept", "R-3.11", "extension-header", ["set \(ann) \(secret)", "compact"],
            "An unknown extension of the header survives a compaction.")
        add(
            "extension-kept-in-keyring", "R-3.11", "keyring-extension", ["add \(try key("x", group: "new")) \(secret) 1", "compact"],
            "One of the keyring survives a change of the keyring and a compaction.")
        add(
            "large", "R-7.13", "add-again", ["set \(ann) " + Hex.encode([7].times(33_000))],
            "More than 32 KiB: synced first, and the commit says so.")
        let long = try (0..<9).map { "add \(try key(String(repeating: "\($0)", count: 400), service: "\($0)")) \(secret) 1" }
        add("split", "R-5.18", "add-again", ["begin"] + long + ["end"], "A leaf outgrows 2048 bytes: pages are split, and get a parent.")
        add(
            "large-attribute", "R-6.2", "add-again",
            ["update \(ann) \(hex("large"))=" + Hex.encode([7].times(257)), "update \(ann) \(hex("sealed:seed"))=\(hex("x"))"],
            "Attributes that belong into the record: it is sealed anew.")
        return all
    }
}
