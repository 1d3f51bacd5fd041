internal import TestSupport
internal import VaultBytes

/// Slots of the provider `age`: which open, and with what key (section 9.3). Their stanzas: AgeStanzaVectors.
extension Collection {
    mutating func addAge(_ bases: Bases) throws {
        folder = "age"
        try addAgeTypes(bases)
        try addAgeSeveral(bases)
        try addAgeSlots(bases)
        try addAgeKeys(bases)
        try addAgeText(bases)
        try addAgeLimits(bases)
        try addMalformedStanzas(bases)
        try addAlteredStanzas(bases)
        try addAgeBodies(bases)
    }

    static func request(_ identity: AgeIdentity) -> ReadRequest {
        var request = ReadRequest()
        request.ageIdentity = identity.text
        return request
    }

    /// A vault with one more slot, for the external key that a file key results in.
    mutating func age(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ parameters: [UInt8],
        _ identity: AgeIdentity = .x25519, fileKey: [UInt8] = AgeStanza.fileKey, provider: String = "age",
        key: (Bytes16, Bytes16) -> [UInt8]? = { _, _ in nil }
    ) throws {
        try forged("age-" + name, spec, expect, bases.one, comment, request: Self.request(identity)) { forge in
            try forge.addAge(1, parameters, fileKey, provider: provider, key: key)
        }
    }

    // MARK: what opens

    private static let kinds: [(name: String, own: AgeIdentity, other: AgeIdentity)] = [
        ("x25519", .x25519, .x25519Other), ("hybrid", .hybrid, .hybridOther), ("ssh", .ssh, .sshOther),
    ]

    private mutating func addAgeTypes(_ bases: Bases) throws {
        for (name, own, other) in Self.kinds {
            let type = own.stanza().arguments[0]
            try age(
                name, "R-9.2, R-9.4", .success, bases, "A stanza \(type), and its identity.", own.stanza().encoded, own)
            try age(
                "\(name)-other", "R-9.2", .noSlotOpens, bases, "A stanza \(type) for another identity of its type.",
                other.stanza().encoded, own)
            let both = own.stanza().encoded + other.stanza().encoded
            try age(
                "\(name)-two-first", "R-9.2", .success, bases, "Two stanzas \(type); the first one's identity.", both,
                own)
            try age(
                "\(name)-two-second", "R-9.2", .success, bases, "Two stanzas \(type); the second one's identity.", both,
                other)
        }
    }

    private mutating func addAgeSeveral(_ bases: Bases) throws {
        let all = Self.kinds.flatMap { $0.own.stanza().encoded }
        for (name, own, other) in Self.kinds {
            try age(
                "three-types-\(name)", "R-9.2", .success, bases,
                "A stanza of each type; the identity of the \(name) one.", all, own)
            try age(
                "three-types-\(name)-other", "R-9.2", .noSlotOpens, bases,
                "The same with an identity that none of them is for.", all, other)
        }
        let wrong = AgeIdentity.x25519.stanza([0x11].times(16)).encoded
        let right = AgeIdentity.x25519.stanza().encoded
        try age(
            "two-file-keys", "R-9.2", .success, bases,
            "Two stanzas for the identity; what the first one wraps opens nothing, the second one's does.",
            wrong + right)
        try age(
            "sixteenth", "R-3.10, R-11.1", .success, bases,
            "16 stanzas for the identity, each with another file key: the last one's opens.",
            Array(repeating: wrong, count: 15).joined() + right)
        try age(
            "seventeenth", "R-3.10, R-11.1", .noSlotOpens, bases,
            "17 stanzas for the identity: the last one's file key is a candidate too many.",
            Array(repeating: wrong, count: 16).joined() + right)
    }

    // MARK: which slot

    private mutating func addAgeSlots(_ bases: Bases) throws {
        let (right, other) = (AgeIdentity.x25519.stanza().encoded, AgeIdentity.x25519Other.stanza().encoded)
        var withPassphrase = Self.request(.x25519)
        withPassphrase.passphrase = Array("words".utf8)
        try forged(
            "age-and-passphrase", "R-3.10, R-9.2", .success, bases.one, "A slot for an identity and a passphrase.",
            request: withPassphrase
        ) { try $0.addAge(1, right, passphrase: "words") }
        try forged(
            "age-and-passphrase-without", "R-3.10, R-9.2", .noSlotOpens, bases.one,
            "The slot takes both, and only the identity is given.", request: Self.request(.x25519)
        ) { try $0.addAge(1, right, passphrase: "words") }
        try forged(
            "age-second-slot", "R-9.2", .success, bases.one, "Two slots of the provider; the second one opens.",
            request: Self.request(.x25519)
        ) {
            try $0.addAge(1, other)
            try $0.addAge(2, right)
        }
        try forged(
            "age-second-slot-malformed-first", "R-9.1", .success, bases.one,
            "Two slots of the provider; the first one's parameters are no stanzas, the second one opens.",
            request: Self.request(.x25519)
        ) {
            try $0.addAge(1, Array("not a stanza".utf8))
            try $0.addAge(2, right)
        }
        try forged(
            "age-malformed-for-owner", "R-9.1", .success, bases.one,
            "An owner with a raw key sees a slot whose parameters are no stanzas: it is not damage.",
            request: .raw(Base.key)
        ) { try $0.addAge(1, Array("not a stanza".utf8), recipients: "not a recipient") }
        try forged(
            "age-for-owner", "R-9.2", .success, bases.one,
            "An owner with a raw key sees an age slot and its recipient.",
            request: .raw(Base.key)
        ) { try $0.addAge(1, right, recipients: "age1example\n") }
        try forged(
            "age-scoped", "R-3.10, R-3.14, R-9.2", .success, bases.scoped, "A scoped slot for an identity.",
            request: Self.request(.x25519)
        ) { forge in
            let known = SlotParameters(stretch: nil, provider: .init(name: "age", parameters: right))
            let clear = Slots.clear(7, .externalKey([]), kind: .scoped, known)
            let factors = ForgeFactors.externalKey(
                AgeStanza.externalKey(AgeStanza.fileKey, forge.keys.vault, clear.id))
            let group = forge.keys.groups.keys.sorted()[0]
            forge.grants[clear.id] = [group]
            forge.header.slots.append(
                try forge.keys.slot(
                    clear, factors, payload: try forge.keys.scopedPayload([group]), part: Slots.part("robot"),
                    nonce: Slots.nonce(7)))
        }
        for (name, provider) in [("case", "Age"), ("longer", "age2"), ("domain", "age.example.org")] {
            try age(
                "provider-\(name)", "R-3.10", .noSlotOpens, bases,
                "The stanza is right, and the provider's name is \(provider).", right, provider: provider)
        }
    }

    // MARK: the external key

    private mutating func addAgeKeys(_ bases: Bases) throws {
        let right = AgeIdentity.x25519.stanza().encoded
        let fileKey = AgeStanza.fileKey
        let (noID, otherID) = (Bytes16.zero, Bytes16(high: 0xAB, low: 0xCD))
        let wrongs: [(String, String, (Bytes16, Bytes16) -> [UInt8])] = [
            ("other-vault", "with another vault's id", { AgeStanza.externalKey(fileKey, otherID, $1) }),
            ("other-slot", "with another slot's id", { vault, _ in AgeStanza.externalKey(fileKey, vault, otherID) }),
            ("no-ids", "with ids of zeros", { _, _ in AgeStanza.externalKey(fileKey, noID, noID) }),
            ("ids-swapped", "with both ids in the other order", { AgeStanza.externalKey(fileKey, $1, $0) }),
            (
                "vault-only", "with the vault's id only",
                { vault, _ in Plain.mac(fileKey, "vaultfmt-1 age", vault.bytes) }
            ),
            ("slot-only", "with the slot's id only", { Plain.mac(fileKey, "vaultfmt-1 age", $1.bytes) }),
            ("no-label", "without the label", { Plain.mac(fileKey, "", $0.bytes + $1.bytes) }),
            ("other-label", "with another label", { Plain.mac(fileKey, "vaultfmt-1 slot key", $0.bytes + $1.bytes) }),
            ("plain", "as the file key and 16 zeros", { _, _ in fileKey + [0].times(16) }),
        ]
        for (name, what, key) in wrongs {
            try age(
                "key-\(name)", "R-3.13", .noSlotOpens, bases, "The external key is derived \(what).", right, key: key)
        }
    }
}

extension Forge {
    /// Adds a slot of the provider `age`, for the external key that its file key results in, or for another one.
    mutating func addAge(
        _ number: UInt64, _ parameters: [UInt8], _ fileKey: [UInt8] = AgeStanza.fileKey, passphrase: String? = nil,
        recipients: String = "", provider: String = "age", key: (Bytes16, Bytes16) -> [UInt8]? = { _, _ in nil }
    ) throws {
        let id = Slots.clear(number, .externalKey([])).id
        let external = key(keys.vault, id) ?? AgeStanza.externalKey(fileKey, keys.vault, id)
        let factors = ForgeFactors.externalKey(external, passphrase: passphrase.map { Array($0.utf8) })
        let known = Slots.parameters(factors.kinds, provider: .init(name: provider, parameters: parameters))
        try addSlot(number, factors, known, name: "token", data: Array(recipients.utf8))
    }
}
