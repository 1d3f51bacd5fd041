import VaultBytes
import VaultFmt
import VaultForge

/// What a reader must be able to read: every class, every shape that a writer makes.
extension Collection {
    mutating func addFeatures(_ bases: Bases) throws {
        try vault("feature-empty", "R-5.10, R-7.1", .success, bases.empty, "Generation 1: no items, no tree, an empty keyring.")
        try vault("feature-one-item", "R-5.3, R-5.9", .success, bases.one, "One item, compacted: every type of object once.")
        try vault(
            "feature-generations", "R-5.10", .success, bases.grown,
            "Five commits: additions, a change, and a removal, which leaves a tombstone.")
        try vault("feature-tree", "R-5.4, R-5.6", .success, bases.tree, "A tree of two levels.")
        try vault("feature-scoped-full", "R-3.3, R-3.14", .success, bases.scoped, "A vault with a scoped slot, opened by its full one.")
        try vault(
            "feature-scoped", "R-3.3, R-5.9", .success, bases.scoped, "The same opened by the scoped slot: one secret is not granted.",
            request: .raw(Bases.scopedKey))
        try vault("feature-device", "R-5.8", .success, bases.device, "An item for one device, on that device.")
        try vault(
            "feature-device-absent", "R-5.8", .deviceBound, bases.device,
            "The same without the device: its secret is refused, all else is there.", request: .raw(Base.key))
        try vault("feature-attributes", "R-6.2, R-6.6", .success, bases.attributes, "A large attribute, a sealed one, and one in the page.")
        let every = try ItemKey.everyClass()
        for key in every {
            let base = try Workshop.make("class \(key.itemClass.rawValue)") { vault, _ in
                try vault.add(key, secret: Secret(text: "s3cret"), attributes: ["label": "One of its class"])
                _ = try vault.compact()
            }
            try vault(
                "feature-class-\(key.itemClass.rawValue)", "R-6.1", .success, base,
                "Class \(key.itemClass.rawValue), \(key.itemClass.name).")
        }
        let all = try Workshop.make("every class", device: true) { vault, _ in
            try vault.transaction { (transaction) throws(VaultError) in
                for (index, key) in every.enumerated() {
                    for accessibility in Accessibility.allCases where Int(accessibility.rawValue) % 5 == index {
                        try transaction.add(
                            key, secret: Secret(text: "\(accessibility.rawValue)"), attributes: ["label": "Item \(index)"],
                            accessibility: accessibility)
                        break
                    }
                }
            }
            _ = try vault.compact()
        }
        try vault("feature-every-class", "R-5.8, R-6.1", .success, all, "An item of each class, each with another accessibility.")
        try addRenamed(bases)
    }

    private mutating func addRenamed(_ bases: Bases) throws {
        let renamed = try Workshop.change(bases.grown, "renamed") { vault, _ in
            try vault.move(
                try .genericPassword(service: "example.org", account: "ann"),
                to: try .genericPassword(service: "example.com", account: "ann"))
        }
        try vault("feature-renamed", "R-6.10", .success, renamed, "An item that got another key, and kept its id.")
        let normal = try Workshop.make("normal forms") { vault, _ in
            try vault.add("K\u{E4}se", "composed")
            try vault.add("Ka\u{308}se", "decomposed")
            _ = try vault.compact()
        }
        try vault("feature-text-not-normalised", "R-6.1", .success, normal, "Two items whose accounts only normalising would make equal.")
        let synchronizable = try Workshop.make("sync") { vault, _ in
            try vault.add(try .genericPassword(service: "s", synchronizable: true), secret: Secret(text: "one"))
            try vault.add(try .genericPassword(service: "s"), secret: Secret(text: "the other"))
            _ = try vault.compact()
        }
        try vault("feature-synchronizable", "R-6.1", .success, synchronizable, "Two items that differ in being synchronizable only.")
        let tall = try Workshop.make("tall") { vault, _ in
            try vault.transaction { (transaction) throws(VaultError) in
                for index in 0..<9 {
                    let letter = String(UnicodeScalar(UInt8(97 + index)))
                    try transaction.add(
                        .genericPassword(service: letter, account: String(repeating: letter, count: 2000)), secret: Secret(text: letter))
                }
            }
            _ = try vault.compact()
        }
        try vault(
            "feature-tree-of-long-keys", "R-5.7, R-5.18", .success, tall, "Nine items with keys of 2000 bytes: a page holds one each.")
        let reserved = try Workshop.change(bases.grown, "many commits") { vault, _ in
            for index in 0..<3 { try vault.add("more \(index)", "\(index)") }
        }
        try vault("feature-more-generations", "R-5.10", .success, reserved, "Three more commits through one opening.")
    }
}

extension ItemKey {
    static func everyClass() throws -> [ItemKey] {
        [
            try .genericPassword(service: "example.org", account: "ann"),
            try .internetPassword(
                server: "example.org", account: "ann", protocol: "https", port: 443, path: "/login", securityDomain: "staff",
                authenticationType: "form"),
            try .certificate(type: 3, issuer: [0x30, 0x03, 0, 1, 2], serialNumber: [0, 0xFF, 0]),
            try .key(keyClass: 1, keyType: 73, applicationLabel: [1, 2, 3], applicationTag: [0], sizeInBits: 256, effectiveSize: 256),
            try .identity(type: 3, issuer: [0x30, 0x03, 0, 1, 2], serialNumber: [0, 0xFF, 0]),
        ]
    }
}
