internal import TestSupport
internal import VaultBytes

/// The vaults that most vectors are variations of.
struct Bases {
    /// Generation 1, no items.
    let empty: Base
    /// One item with one attribute, compacted: every type of object once, but pasts.
    let one: Base
    /// Five generations: two items, a change, a removal.
    let grown: Base
    /// The state of `grown` one generation before.
    let grownBefore: Base
    /// Twelve items with long names in a tree of two levels, compacted.
    let tree: Base
    /// Items in the groups "ci" and "web", and a scoped slot for "ci" with the raw key `Base.scopedKey`.
    let scoped: Base
    /// The same before it was compacted: each commit is signed.
    let scopedGrown: Base
    /// An item for one device only, and one that is not.
    let device: Base
    /// Attributes in the page, in the item's record, and in a record of its own.
    let attributes: Base
    /// An item with three earlier secrets, two of which share a large attribute with it.
    let kept: Base
    /// A vault that was rotated: a hand-over.
    let rotated: Base
    /// The state before the rotation, and its owners' public key.
    let beforeRotation: ReadRequest.Anchor
    /// Another vault, much like `grown`.
    let other: Base
    /// `grown`'s states, oldest first.
    let grownStates: [ReadRequest.Anchor]
    /// What groups.md calls P, Q, S and so on.
    let causal: CausalBases

    static let ann = DraftKey.generic("example.org", "ann")
    static let bob = DraftKey.generic("example.org", "bob")

    init() throws {
        empty = try Bases.base("empty") { _ in }
        one = try Bases.base("one") { draft in
            try draft.add(Bases.ann, "s3cret", ["label": "Example"])
            try draft.compact()
        }
        var states: [ReadRequest.Anchor] = []
        var grown = try Bases.grownDraft("grown", &states)
        grownBefore = Base(file: grown.file)
        try grown.remove(Bases.bob)
        try grown.commit()
        states.append(grown.remembered)
        self.grown = Base(file: grown.file)
        grownStates = states
        var others: [ReadRequest.Anchor] = []
        other = Base(file: try Bases.grownDraft("other", &others).file)
        tree = try Bases.base("tree", Bases.growTree)
        var scoped = try Bases.scopedDraft("scoped")
        try scoped.commit()
        scopedGrown = Base(file: scoped.file)
        try scoped.compact()
        self.scoped = Base(file: scoped.file)
        device = try Bases.base("device", device: true) { draft in
            try draft.add(
                DraftKey.generic("laptop", "ann"), Array("stays here".utf8), accessibility: 5, device: Base.device)
            try draft.add(Bases.ann, "goes everywhere")
            try draft.compact()
        }
        attributes = try Bases.base("attributes") { draft in
            try draft.add(
                Bases.ann, Array("s3cret".utf8),
                [
                    DraftAttribute("label", "In the page"), DraftAttribute("otp", "otpauth://totp/x", flags: 1),
                    DraftAttribute("photo", [0x50].times(5000), flags: 4), DraftAttribute("notice", [0x6C].times(300)),
                ])
            try draft.compact()
        }
        kept = try Bases.base("kept") { draft in try Bases.growKept(&draft) }
        var rotated = try Draft("rotated", key: Base.key)
        try rotated.add(Bases.ann, "s3cret", ["label": "Example"])
        try rotated.commit()
        try rotated.add(Bases.bob, "second")
        try rotated.commit()
        beforeRotation = rotated.remembered
        let slot = rotated.header.slots[0].id
        try rotated.rotate { try $0.addSlot(.rawKey(Base.key), name: "main", id: slot) }
        self.rotated = Base(file: rotated.file)
        causal = try CausalBases()
    }

    /// A vault whose generation 1 is empty.
    static func base(_ seed: String, device: Bool = false, _ body: (inout Draft) throws -> Void) throws -> Base {
        var draft = try Draft(seed, key: Base.key)
        var request = ReadRequest.raw(Base.key)
        if device {
            draft.keys.devices = [Base.device: Base.deviceSecret, Base.otherDevice: Base.otherDeviceSecret]
            request.device = (Base.device.bytes, Base.deviceSecret)
        }
        try draft.commit()
        try body(&draft)
        return Base(file: draft.file, request: request)
    }

    static func grownDraft(_ seed: String, _ states: inout [ReadRequest.Anchor]) throws -> Draft {
        var draft = try Draft(seed, key: Base.key)
        try draft.commit()
        states.append(draft.remembered)
        try draft.add(Bases.ann, "first of \(seed)", ["label": "Example"])
        try draft.commit()
        states.append(draft.remembered)
        try draft.add(Bases.bob, "second of \(seed)")
        try draft.commit()
        states.append(draft.remembered)
        try draft.set(Bases.ann, Array("changed".utf8))
        try draft.commit()
        states.append(draft.remembered)
        return draft
    }

    private static func growTree(_ draft: inout Draft) throws {
        for index in 0..<13 {
            let letter = String(UnicodeScalar(UInt8(97 + index)))
            try draft.add(DraftKey.generic(letter, String(repeating: letter, count: 260)), Array(letter.utf8))
        }
        try draft.commit()
        try draft.remove(DraftKey.generic("m", String(repeating: "m", count: 260)))
        try draft.compact()
    }

    static func scopedDraft(_ seed: String) throws -> Draft {
        var draft = try Draft(seed, key: Base.key)
        try draft.add(DraftKey.generic("deploy", "bot", group: "ci"), Array("for ci".utf8), group: "ci")
        try draft.add(DraftKey.generic("shop", "ann", group: "web"), Array("for web".utf8), group: "web")
        let group = draft.ring.groups.first { $0.name == "ci" }?.number ?? 0
        try draft.addSlot(.rawKey(Base.scopedKey), name: "builder", granting: [group])
        try draft.commit()
        return draft
    }

    static func growKept(_ draft: inout Draft) throws {
        draft.limit(to: 10)
        try draft.add(
            Bases.ann, Array("first".utf8),
            [DraftAttribute("otp", "otpauth://totp/1", flags: 1), DraftAttribute("photo", [7].times(5000))])
        try draft.commit()
        try draft.set(Bases.ann, Array("second".utf8), [DraftAttribute("photo", [9].times(5000))])
        try draft.commit()
        try draft.set(Bases.ann, Array("third".utf8))
        try draft.set(Bases.ann, Array("fourth".utf8))
        try draft.add(Bases.bob, "never changed")
        try draft.compact()
    }
}

extension Draft {
    /// The present state, to be remembered.
    var remembered: ReadRequest.Anchor { ReadRequest.Anchor(owner: keys.publicKey, chain: chain, vector: vector) }

    /// Sets the number of earlier values that are kept.
    mutating func limit(to count: Int) { ring.keeping = Keyring.Keeping(count: count, dot: dot()) }

    @discardableResult
    mutating func add(_ key: [UInt8], _ secret: String, _ attributes: KeyValuePairs<String, String> = [:]) throws
        -> Bytes16
    {
        try add(key, Array(secret.utf8), attributes.map { DraftAttribute($0.key, $0.value) })
    }

    mutating func set(_ key: [UInt8], _ secret: String, _ attributes: [DraftAttribute]? = nil) throws {
        try set(key, Array(secret.utf8), attributes)
    }
}
