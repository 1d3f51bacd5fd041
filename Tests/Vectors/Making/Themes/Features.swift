internal import TestSupport
internal import VaultBytes

/// What a reader must be able to read: every class, every shape that a writer makes.
extension Collection {
    mutating func addFeatures(_ bases: Bases) throws {
        folder = "features"
        try vault(
            "feature-empty", "R-1.2, R-3.1, R-5.21, R-5.22, R-7.1", .success, bases.empty,
            "Generation 1: no items, no tree, an empty keyring.")
        try vault(
            "feature-one-item", "R-1.1, R-1.3, R-1.6, R-1.7, R-2.3, R-5.3, R-5.11, R-5.18", .success, bases.one,
            "One item, compacted: every type of object once, but pasts.")
        try vault(
            "feature-generations", "R-2.3, R-5.10, R-5.21, R-5.22", .success, bases.grown,
            "Five commits: additions, a change, and a removal, which leaves nothing.")
        try vault("feature-tree", "R-5.5, R-5.7, R-5.8", .success, bases.tree, "A tree of two levels.")
        try vault(
            "feature-scoped-full", "R-3.3, R-3.14", .success, bases.scoped,
            "A vault with a scoped slot, opened by its full one.")
        try vault(
            "feature-scoped", "R-3.3, R-5.18", .success, bases.scoped,
            "The same opened by the scoped slot: one secret is not granted.",
            request: .raw(Base.scopedKey))
        try vault("feature-device", "R-5.14", .success, bases.device, "An item for one device, on that device.")
        try vault(
            "feature-device-absent", "R-5.14", .deviceBound, bases.device,
            "The same without the device: its secret is refused, and everything else is released.",
            request: .raw(Base.key))
        try vault(
            "feature-attributes", "R-6.3, R-6.5", .success, bases.attributes,
            "Attributes in the page, in the item's record (one sealed, one of 300 bytes) and in a record of its own.")
        try vault(
            "feature-past", "R-5.28, R-6.6, R-6.26", .success, bases.kept,
            "Three earlier secrets under group 0; two of them share a large attribute with the item.")
        try vault("feature-rotated", "R-7.8, R-7.17", .success, bases.rotated, "A vault after a rotation: a hand-over.")
        try addCausal(bases.causal)
        try addClasses()
        try addKeys()
        try addShapes(bases)
    }

    /// What copies that are changed and merged consist of.
    private mutating func addCausal(_ bases: CausalBases) throws {
        try vault(
            "feature-three-items", "R-1.9, R-1.10, R-5.35", .success, bases.three,
            "Three items of one commit and one id.")
        try vault(
            "feature-changed-item", "R-5.28, R-6.16, R-6.26", .success, bases.changed,
            "Two earlier secrets, one with the attributes of its time, and an earlier sealed attribute.")
        try vault(
            "feature-siblings", "R-5.29, R-6.22, R-8.22", .success, bases.siblings,
            "A merge left two items with two siblings each: a secret, and a secret and a place, are to settle.")
        try vault(
            "feature-vector-with-base", "R-5.34, R-5.36", .success, bases.based,
            "A vector frame with one changed and one further row on a base of 20 rows.")
        try vault(
            "feature-twins", "R-6.15", .success, bases.twins,
            "Three items of one key, and two others; two of the three have their ids in their keys.")
        try vault(
            "feature-forgotten", "R-6.14, R-6.19, R-6.20", .success, bases.forgotten,
            "A secret and an attribute are forgotten; the attribute is a field of a sibling.")
        try vault(
            "feature-restarted", "R-1.10, R-7.25", .success, bases.restarted,
            "A rotation restarted the vector: a floor, dots without ids, and a hand-over with three rows.")
        try vault(
            "feature-restarted-forgotten", "R-6.14, R-6.21, R-7.25", .success, bases.restartedForgotten,
            "Forgotten values, after a rotation that restarted the vector, have no ids.")
        try vault(
            "feature-two-scoped-slots", "R-3.15, R-5.31", .success, bases.granted,
            "Two scoped slots, for one and for two groups.")
        try vault(
            "feature-two-scoped-slots-scoped", "R-3.14, R-6.13", .success, bases.granted,
            "The same opened by the slot for two groups.", request: .raw(CausalBases.otherScopedKey))
        try vault(
            "feature-bound-siblings", "R-6.17, R-6.22", .success, bases.bound,
            "Items of a device: one with two siblings, and one without a secret and without a record.")
        try vault(
            "feature-bound-siblings-absent", "R-6.17", .deviceBound, bases.bound,
            "The same without the device: what has no record is no failure.", request: .raw(Base.key))
        try vault(
            "feature-siblings-compacted", "R-5.36, R-6.27, R-8.22", .success, try Bases.compacted("S compacted"),
            "The siblings of a merge after a compaction, which has no own id.")
    }

    static let everyKey: [(String, [UInt8])] = [
        ("1", DraftKey.generic("example.org", "ann")),
        (
            "2",
            DraftKey.internet(
                "example.org", "ann", protocol: "https", port: 443, path: "/login", domain: "staff",
                authentication: "form")
        ),
        ("3", DraftKey.certificate(issuer: [0x30, 0x03, 0, 1, 2], serial: [0, 0xFF, 0])),
        ("4", DraftKey.key(type: 73, label: [1, 2, 3], tag: [0], size: 256, effective: 256)),
        ("5", DraftKey.certificate(5, issuer: [0x30, 0x03, 0, 1, 2], serial: [0, 0xFF, 0])),
        ("6", DraftKey.reserved(6, ["relying party", "ann", ""])),
        ("63", DraftKey.reserved(63, [""])),
    ]

    private mutating func addClasses() throws {
        for (name, key) in Self.everyKey {
            let base = try Bases.base("class \(name)") { draft in
                try draft.add(key, "s3cret", ["label": "One of its class"])
                try draft.compact()
            }
            try vault(
                "feature-class-\(name)", key[0] > 5 ? "R-6.1, R-6.2" : "R-6.1", .success, base,
                key[0] > 5 ? "The reserved class \(name), which every reader lists and reads." : "Class \(name).")
        }
        let all = try Bases.base("every class", device: true) { draft in
            for (index, one) in Self.everyKey.enumerated() {
                let accessibility = UInt8(index + 1)
                try draft.add(
                    one.1, Array("\(accessibility)".utf8), [DraftAttribute("label", "Item \(index)")],
                    accessibility: accessibility,
                    device: accessibility >= 4 ? Base.device : .zero)
            }
            try draft.compact()
        }
        try vault(
            "feature-every-class", "R-5.14, R-6.1", .success, all,
            "An item of each class, each with another accessibility.")
        let fields = (0..<15).map { "field \($0)" } + [""]
        let many = try Bases.base("sixteen fields") { draft in
            try draft.add(DraftKey.reserved(40, fields), "s3cret")
            try draft.commit()
        }
        try vault(
            "feature-class-40-fields-16", "R-6.1, R-6.2", .success, many,
            "An item of class 40 with 16 fields, the most there may be.")
        let grouped = try Bases.base("grouped class") { draft in
            let key = DraftKey.reserved(41, ["thing", "passkeys"])
            try draft.add(key, Array("s3cret".utf8), group: "passkeys")
            try draft.commit()
        }
        try vault(
            "feature-class-41-group", "R-6.2, R-6.6", .success, grouped,
            "An item of class 41 whose last field is the name of its group.")
    }

    private mutating func addKeys() throws {
        let normal = try Bases.base("normal forms") { draft in
            try draft.add(DraftKey.generic("example.org", "K\u{E4}se"), "composed")
            try draft.add(DraftKey.generic("example.org", "Ka\u{308}se"), "decomposed")
            try draft.compact()
        }
        try vault(
            "feature-text-not-normalised", "R-6.1", .success, normal,
            "Two items whose accounts only normalising would make equal.")
        let synchronizable = try Bases.base("sync") { draft in
            try draft.add(DraftKey.generic("s", "", sync: 1), "one")
            try draft.add(DraftKey.generic("s", ""), "the other")
            try draft.compact()
        }
        try vault(
            "feature-synchronizable", "R-6.1", .success, synchronizable,
            "Two items that differ in being synchronizable only.")
        let mark = try Bases.base("byte order mark") { draft in
            try draft.add(DraftKey.generic("\u{FEFF}example.org", "ann"), "marked")
            try draft.add(Bases.ann, "not marked")
            try draft.compact()
        }
        try vault(
            "feature-leading-feff", "R-6.1", .success, mark,
            "A leading U+FEFF is a character like any other: these are two items.")
        let widest = try Bases.base("code points") { draft in
            try draft.add(DraftKey.generic("\u{10FFFF}\u{E000}\u{D7FF}\u{800}\u{7FF}\u{80}", "\u{1}\u{7F}"), "s3cret")
            try draft.compact()
        }
        try vault(
            "feature-utf8-bounds", "R-1.4, R-6.1", .success, widest,
            "Text with the first and last code points of each length.")
    }

    private mutating func addShapes(_ bases: Bases) throws {
        let tall = try Bases.base("tall") { draft in
            for index in 0..<9 {
                let letter = String(UnicodeScalar(UInt8(97 + index)))
                try draft.add(DraftKey.generic(letter, String(repeating: letter, count: 2000)), letter)
            }
            try draft.compact()
        }
        try vault(
            "feature-tree-of-long-keys", "R-5.9, R-5.12", .success, tall,
            "Nine items with keys of 2000 bytes: a page holds one each.")
        let renamed = try Bases.base("renamed") { draft in
            draft.limit(to: 5)
            try draft.add(Bases.ann, "first", ["label": "Example"])
            try draft.commit()
            try draft.set(Bases.ann, Array("second".utf8))
            try draft.commit()
            try draft.rename(Bases.ann, to: DraftKey.generic("example.com", "ann"))
            try draft.commit()
        }
        try vault(
            "feature-renamed", "R-5.3, R-6.9", .success, renamed,
            "An item that got another key and kept its id; its earlier secret's record has the old key.")
        try vault(
            "feature-scoped-generations", "R-5.18, R-5.19", .success, bases.scopedGrown,
            "Two commits, each of them signed.")
        try vault(
            "feature-scoped-generations-scoped", "R-5.18", .success, bases.scopedGrown,
            "The same, opened by the scoped slot.",
            request: .raw(Base.scopedKey))
        for accessibility in [2, 3] as [UInt8] {
            let base = try Bases.base("accessibility \(accessibility)") { draft in
                try draft.add(Bases.ann, Array("s3cret".utf8), accessibility: accessibility)
                try draft.commit()
            }
            try vault(
                "feature-accessibility-\(accessibility)", "R-5.14", .success, base, "Accessibility \(accessibility).")
        }
        let same = try Bases.base("same compartments") { draft in
            try draft.add(Bases.ann, "first")
            let second = try draft.addCompartment(draft.ring.groups[0].number)
            try draft.add(Bases.bob, "second")
            let index = try draft.index(Bases.bob)
            draft.items[index].value.compartment = second
            try draft.commit()
        }
        try vault(
            "feature-same-compartments", "R-5.14", .success, same,
            "Two compartments of one group and accessibility, as two branches can each make one.")
        let several = try Bases.base("two devices", device: true) { draft in
            try draft.add(Bases.ann, Array("here".utf8), accessibility: 5, device: Base.device)
            try draft.add(Bases.bob, Array("there".utf8), accessibility: 5, device: Base.otherDevice)
            try draft.commit()
        }
        try vault(
            "feature-two-devices", "R-5.14", .deviceBound, several,
            "Two devices have a compartment of one group and accessibility each; one of them reads.")
    }
}

extension Bases {
    fileprivate static func compacted(_ seed: String) throws -> Base {
        var draft = try CausalBases.siblingsDraft(seed)
        try draft.compact()
        return Base(file: draft.file)
    }
}
