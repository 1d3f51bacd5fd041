internal import TestSupport
internal import VaultBytes

/// Items that share a key, and forgotten values (sections 6.1 and 6.5).
extension Collection {
    mutating func addTwins(_ bases: Bases) throws {
        let base = bases.causal.twins
        func twins(
            _ name: String, _ spec: String, _ expect: Verdict, _ comment: String, fewer: UInt64 = 0,
            _ edit: @escaping (inout [PageEntry]) -> Void
        ) throws {
            try forged("twins-\(name)", spec, expect, base, comment) { forge in
                forge.onEntries(try forge.root()) { entries, _ in edit(&entries) }
                guard fewer > 0 else { return }
                forge.onCommit(try forge.last(.commit)) { commit, _ in commit.items -= fewer }
            }
        }
        try vault(
            "twins", "R-6.15", .success, base, "Three items of one key: that with the least id has it plain.")
        try vault(
            "twins-sync", "R-6.15", .success,
            Base(file: try CausalBases.twinsDraft("twins sync", second: 5).file),
            "The item of the same fields that is synchronizable has a twin of its own.")
        try twins("without-plain", "R-6.15", .structureInvalid, "No item has the key plain.", fewer: 2) {
            $0.removeSubrange(0..<2)
        }
        try twins(
            "plain-of-other-sync", "R-6.15", .structureInvalid,
            "Only the item that is synchronizable has its key plain.", fewer: 1
        ) { $0.removeFirst() }
        try vault(
            "twins-plain-greater", "R-6.15", .structureInvalid,
            Base(file: try CausalBases.twinsDraft("twins greater", first: 9).file),
            "The item that has the key plain has the greatest id.")
        try vault(
            "twins-plain-between", "R-6.15", .structureInvalid,
            Base(file: try CausalBases.twinsDraft("twins between", first: 2, second: nil, others: (1, 3)).file),
            "The item that has the key plain has a greater id than one of the others.")
        try twins("id-differs", "R-6.15", .structureInvalid, "The id in a key is not that of its entry.") {
            $0[3].key[$0[3].key.count - 1] = 5
        }
        for (name, sync, what) in [("4", 4, "4"), ("6", 6, "6"), ("0", 0, "0")] as [(String, UInt8, String)] {
            try twins(
                "sync-\(name)", "R-6.1, R-6.15", .structureInvalid, "The byte before the id in a key is \(what)."
            ) { entries in
                // What is not in its order then goes where it belongs.
                entries[2].key[entries[2].key.count - 17] = sync
                entries.sort { ByteOrder.isLess($0.key, $1.key) }
            }
        }
        try twins("id-15-bytes", "R-6.1, R-6.15", .structureInvalid, "A key has only 15 bytes of an id.") {
            $0[2].key.removeLast()
        }
        try twins("id-17-bytes", "R-6.1, R-6.15", .structureInvalid, "A key has a byte after an id.") {
            $0[2].key.append(0)
        }
        let long = String(repeating: "a", count: 4096)
        let key = DraftKey.generic(long, String(repeating: "b", count: 8176 - 8 - 4096))
        try vault(
            "twins-8192-bytes", "R-11.1", .success, Base(file: try CausalBases.twinsDraft("long twins", key: key).file),
            "Items of one key of 8176 bytes: with an id it has 8192.")
    }

    // MARK: forgotten values

    mutating func addForgotten(_ bases: Bases) throws {
        let base = bases.causal.forgotten
        try vault("forgotten", "R-6.14, R-6.19", .success, base, "A secret and an attribute are forgotten.")
        try vault(
            "forgotten-below-floor", "R-6.14, R-6.21", .success, bases.causal.restartedForgotten,
            "The same after a rotation that restarted the vector: they have no ids.")
        try forged(
            "forgotten-attribute", "R-6.14", .success, bases.causal.three,
            "A forgotten attribute that no item has."
        ) { forge in
            try forge.forget(
                ForgottenValue(
                    dot: Dot(revision: 1, replica: CausalBases.first), kind: .attribute, name: Array("pin".utf8)))
        }
        try addForgottenKeys(bases)
        try addForgottenDots(bases)
        try addForgottenOrNot(bases)
    }

    private mutating func forgotten(
        _ name: String, _ spec: String, _ base: Base, _ comment: String, attribute: Bool = true,
        _ edit: @escaping (inout PageEntry) -> Void
    ) throws {
        try forged("forgotten-\(name)", spec, .structureInvalid, base, "A forgotten value: \(comment)") {
            $0.onEntries(try $0.root()) { entries, _ in edit(&entries[entries.count - (attribute ? 1 : 2)]) }
        }
    }

    private mutating func addForgottenKeys(_ bases: Bases) throws {
        let base = bases.causal.forgotten
        for kind in [2, 3, 255] as [UInt8] {
            try forgotten("kind-\(kind)", "R-6.14", base, "the kind \(kind).") { $0.key[17] = kind }
        }
        try forgotten("secret-named", "R-6.14", base, "a secret with a name.", attribute: false) { $0.key.append(0x61) }
        try forgotten("attribute-nameless", "R-6.14", base, "an attribute without a name.") {
            $0.key = Array($0.key[..<18])
        }
        try forgotten("name-256", "R-6.14", base, "a name of 256 bytes.") {
            $0.key = $0.key[..<18] + [0x6E].times(256)
        }
        try forgotten("name-invalid-utf8", "R-1.4, R-6.14", base, "a name that is not UTF-8.") { $0.key[18] = 0xFF }
        try forgotten("short", "R-6.14", base, "a key that ends within the id.", attribute: false) {
            $0.key = Array($0.key[..<12])
        }
        try forgotten("without-kind", "R-6.14", base, "a key that ends before the kind.", attribute: false) {
            $0.key = Array($0.key[..<17])
        }
        try forgotten("value", "R-6.14", base, "a value that is not empty.") { $0.value = [1, 2, 3] }
        try forged(
            "forgotten-name-255", "R-6.14, R-11.1", .success, bases.causal.three,
            "A forgotten attribute with a name of 255 bytes."
        ) { forge in
            try forge.forget(
                ForgottenValue(
                    dot: Dot(revision: 1, replica: CausalBases.first), kind: .attribute, name: [0x6E].times(255)))
        }
    }

    private mutating func addForgottenDots(_ bases: Bases) throws {
        let (base, restarted) = (bases.causal.forgotten, bases.causal.restartedForgotten)
        func put(_ revision: UInt64, _ id: UInt64) -> (inout PageEntry) -> Void {
            { entry in
                var bytes: [UInt8] = []
                bytes.append(u64: revision.byteSwapped)
                bytes.append(u64: id.byteSwapped)
                entry.key.put(bytes, at: 1)
            }
        }
        let clock = try base.clock()
        let (first, second) = (CausalBases.first, CausalBases.second)
        let made = try Self.madeRevision(base)
        try forgotten("id-0", "R-6.14", base, "the id 0 above the floor.", attribute: false, put(made, 0))
        let old = try Self.madeRevision(restarted)
        try forgotten("id-below-floor", "R-6.14", restarted, "an id below the floor.", put(old, first))
        try forgotten("id-unknown", "R-6.7", base, "an id without a row.", put(made, 0x9999))
        let row = try Self.row(first, base)
        try forgotten(
            "not-seen", "R-6.7", base, "a revision greater by 1 than the row of its id.", put(row + 1, first))
        try forgotten("future", "R-6.8", base, "a revision greater by 1 than the clock.", put(clock + 1, second))
        try forgotten("revision-2-63", "R-6.8", base, "the revision 2^63.", put(1 << 63, second))
        try forgotten("revision-0", "R-6.8", base, "the revision 0.", attribute: false, put(0, first))
    }

    /// The revision of the first forgotten value.
    private static func madeRevision(_ base: Base) throws -> UInt64 {
        let forge = try base.forge()
        let entries = try PageEntry.all(forge[try forge.root()].body, at: 0)
        return entries[entries.count - 1].key[1..<9].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// what an owner finds who has read everything.
    private mutating func addForgottenOrNot(_ bases: Bases) throws {
        let base = bases.causal.forgotten
        var removed = try CausalBases.forgottenDraft("forgotten of none")
        try removed.remove(CausalBases.a)
        try removed.commit()
        try vault(
            "forgotten-of-no-item", "R-6.21", .success, Base(file: removed.file),
            "The item of two forgotten values was removed: they stay.")
        let shown = try Self.secretDot(base, inPast: false)
        try forged(
            "forgotten-is-shown", "R-6.19", .structureInvalid, base,
            "The secret that an item shows is listed as forgotten: the numbers are right, and there is no end."
        ) { try $0.forget(ForgottenValue(dot: shown, kind: .secret)) }
        let kept = try Self.secretDot(base, inPast: true)
        try forged(
            "forgotten-in-past", "R-6.19", .structureInvalid, base,
            "An earlier secret is listed as forgotten, and is still there."
        ) { try $0.forget(ForgottenValue(dot: kept, kind: .secret)) }
        try forged(
            "forgotten-not-listed", "R-6.19", .structureInvalid, base,
            "A value that a sibling has had is gone as if it were forgotten, and is not listed."
        ) { forge in
            forge.onEntries(try forge.root()) { entries, _ in entries.removeLast() }
            forge.onCommit(try forge.last(.commit)) { commit, _ in commit.forgotten -= 1 }
        }
        var scoped = try CausalBases.forgottenDraft("forgotten scoped")
        try scoped.addSlot(
            .rawKey(Base.scopedKey), name: "reader", granting: scoped.ring.groups.map(\.number))
        try scoped.compact()
        let seen = Base(file: scoped.file)
        let dot = try Self.secretDot(seen, inPast: true)
        try forged(
            "forgotten-seen-by-scoped", "R-6.19", .success, seen,
            "The same as forgotten-in-past, seen by a scoped slot: it reads no past.", request: .raw(Base.scopedKey)
        ) { try $0.forget(ForgottenValue(dot: dot, kind: .secret)) }
    }

    /// The dot of the secret that the first item shows, or of an earlier one; all are of the first id.
    private static func secretDot(_ base: Base, inPast: Bool) throws -> Dot {
        let forge = try base.forge()
        var revision: UInt64?
        if inPast {
            let past = try Past(forge[try forge.last(.past)].body.span, at: 0)
            revision = past.values.first { $0.kind == .secret && !$0.flags.contains(.shown) }?.dot.revision
        } else {
            let entries = try PageEntry.all(forge[try forge.root()].body, at: 0)
            revision = ForgedItem(entries[0].value)?.entry.dot(of: FieldSet.secret).revision
        }
        guard let revision else { throw ForgeError("no secret") }
        return Dot(revision: revision, replica: CausalBases.first)
    }
}

extension Forge {
    /// Lists a value as forgotten.
    fileprivate mutating func forget(_ value: ForgottenValue) throws {
        onEntries(try root()) { entries, _ in
            entries.append(PageEntry(key: value.key, value: []))
            entries.sort { ByteOrder.isLess($0.key, $1.key) }
        }
        onCommit(try last(.commit)) { commit, _ in commit.forgotten += 1 }
    }
}
