import VaultBytes
import VaultFmt
import VaultForge

/// The vaults that most vectors are variations of.
struct Bases {
    /// Generation 1, no items.
    let empty: Base
    /// One item with one attribute, compacted: every type of object once.
    let one: Base
    /// Four generations: two items, a change, a removal.
    let grown: Base
    /// The state of `grown` one generation before.
    let grownBefore: Base
    /// Twelve items with long names in a tree of two levels, compacted, and a tombstone.
    let tree: Base
    /// Items in the groups "ci" and "web", and a scoped slot for "ci" with the raw key `scopedKey`.
    let scoped: Base
    /// An item for one device only, and one that is not.
    let device: Base
    /// A large attribute, a sealed one and one in the page.
    let attributes: Base
    /// Another vault, much like `grown`.
    let other: Base

    static let scopedKey: [UInt8] = Array(128..<160)

    init() throws {
        empty = try Workshop.make("empty")
        one = try Workshop.make("one") { vault, _ in
            try vault.add("ann", "s3cret", ["label": "Example"])
            _ = try vault.compact()
        }
        grownBefore = try Workshop.make("grown") { vault, _ in
            try vault.add("ann", "first", ["label": "Example"])
            try vault.add("bob", "second")
            _ = try vault.set(.genericPassword(service: "example.org", account: "ann"), secret: Secret(text: "changed"))
        }
        grown = try Workshop.change(grownBefore, "grown further") { vault, _ in
            _ = try vault.remove(.genericPassword(service: "example.org", account: "bob"))
        }
        other = try Workshop.make("other") { vault, _ in
            try vault.add("ann", "other first", ["label": "Example"])
            try vault.add("bob", "other second")
            _ = try vault.set(.genericPassword(service: "example.org", account: "ann"), secret: Secret(text: "changed"))
        }
        tree = try Workshop.make("tree") { vault, _ in
            try vault.transaction { (transaction) throws(VaultError) in
                for index in 0..<13 {
                    let letter = String(UnicodeScalar(UInt8(97 + index)))
                    try transaction.add(
                        try .genericPassword(service: letter, account: String(repeating: letter, count: 260)), secret: Secret(text: letter))
                }
                _ = try transaction.remove(.genericPassword(service: "m", account: String(repeating: "m", count: 260)))
            }
            _ = try vault.compact()
        }
        scoped = try Workshop.make("scoped") { vault, _ in
            try vault.add(try .genericPassword(service: "deploy", account: "bot", group: "ci"), secret: Secret(text: "for ci"))
            try vault.add(try .genericPassword(service: "shop", account: "ann", group: "web"), secret: Secret(text: "for web"))
            _ = try vault.addSlot(try Workshop.factors(Bases.scopedKey), name: "builder", grantedGroups: ["ci"])
            _ = try vault.compact()
        }
        device = try Workshop.make("device", device: true) { vault, _ in
            try vault.add(
                try .genericPassword(service: "laptop", account: "ann"), secret: Secret(text: "stays here"),
                accessibility: .whenUnlockedThisDeviceOnly)
            try vault.add("ann", "goes everywhere")
            _ = try vault.compact()
        }
        attributes = try Workshop.make("attributes") { vault, _ in
            var all: Attributes = ["label": "In the page", "sealed:seed": "of one-time passwords"]
            all["large"] = [UInt8](repeating: 0x6C, count: 300)
            try vault.add("ann", "s3cret", all)
            _ = try vault.compact()
        }
    }
}
