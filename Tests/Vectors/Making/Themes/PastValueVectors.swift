internal import TestSupport
internal import VaultBytes

/// The values in a past: attributes, keys, places, and the records that have them.
extension Collection {
    mutating func addPastContents(_ bases: Bases) throws {
        try addReplaced(bases)
        try addPastAttributes(bases)
        try addPastKeys(bases)
        try addPastPlaces(bases)
    }

    private mutating func addReplaced(_ bases: Bases) throws {
        let changed = bases.causal.changed
        for (name, time, expect) in [
            ("0", 0, .success), ("greatest", 1 << 61 - 1, .success), ("least", -(1 << 61), .success),
            ("beyond", 1 << 61, .structureInvalid), ("below", -(1 << 61) - 1, .structureInvalid),
        ] as [(String, Int64, Verdict)] {
            try past("replaced-\(name)", "R-6.18", expect, changed, "An earlier secret was replaced at \(time).") {
                $0.values[0].replaced = time
            }
        }
        try past("replaced-of-open", "R-5.28", .structureInvalid, changed, "An open secret was replaced.", isOpen: true)
        {
            ($0.values[0].flags, $0.values[0].replaced) = (.open, 1)
        }
    }

    private mutating func addPastAttributes(_ bases: Bases) throws {
        let changed = bases.causal.changed
        // Replaced at 0; then its size and its bytes.
        let cases: [(String, String, Verdict, String, [UInt8])] = [
            (
                "256-in-page", "R-5.30", .success, "A value of 256 bytes in the frame",
                [0, 1, 0x74, 0, 0x80, 2] + [7].times(256)
            ),
            (
                "257-in-page", "R-5.30, R-6.3", .structureInvalid, "A value of 257 bytes in the frame",
                [0, 1, 0x74, 0, 0x81, 2] + [7].times(257)
            ),
            ("flags-48", "R-5.30", .structureInvalid, "Flags 10 and 20", [0x30, 1, 0x74, 0, 1, 7]),
            ("flags-8", "R-1.2", .structureInvalid, "Flag 08, which is reserved", [0x08, 1, 0x74, 0, 1, 7]),
            ("flags-64", "R-1.2", .structureInvalid, "Flag 40, which is reserved", [0x40, 1, 0x74, 0, 1, 7]),
            (
                "sealed-in-page", "R-5.30, R-6.3", .structureInvalid, "A sealed value in the frame",
                [1, 1, 0x74, 0, 1, 7]
            ),
            ("nameless", "R-5.30", .structureInvalid, "No name", [0, 0, 0, 1, 7]),
            (
                "name-invalid-utf8", "R-1.4, R-5.30", .structureInvalid, "A name that is not UTF-8",
                [0, 1, 0xFF, 0, 1, 7]
            ),
            ("past-end", "R-2.2", .structureInvalid, "A value that reaches past the end", [0, 1, 0x74, 0, 0xFF, 1]),
        ]
        for (name, spec, expect, comment, rest) in cases {
            try past(
                "attribute-\(name)", spec, expect, changed, "\(comment), of an open attribute.", isOpen: true,
                raw: { raw in raw.values.append(.init(index: 0, kind: 1, flags: 1, rest: rest)) })
        }
        func listed(
            _ name: String, _ spec: String, _ comment: String, _ edit: @escaping (inout [PageAttribute]) -> Void
        ) throws {
            try past("secret-attributes-\(name)", spec, .structureInvalid, changed, comment) { past in
                guard case .secret(let own, var attributes) = past.values[0].content else {
                    throw ForgeError("no secret")
                }
                edit(&attributes)
                past.values[0].content = .secret(own, attributes)
            }
        }
        try listed("order", "R-5.30, R-6.4", "The attributes of a secret's time in descending order.") { $0.reverse() }
        try listed("twice", "R-5.30, R-6.4", "An attribute of a secret's time twice.") { $0.append($0[1]) }
        try listed("sealed", "R-5.30", "The attributes of a secret's time have a sealed one.") {
            $0[0] = PageAttribute(name: $0[0].name, flags: [.sealed, .inItemRecord], value: .inItemRecord)
        }
        try listed("65", "R-11.1", "65 attributes of a secret's time.") { attributes in
            attributes = (0..<65).map { index in
                PageAttribute(name: index < 10 ? "a0\(index)" : "a\(index)", flags: [], value: .inPage([]))
            }
        }
        try past("secret-attributes-64", "R-5.30, R-11.1", .success, changed, "64 attributes of a secret's time.") {
            past in
            guard case .secret(let own, _) = past.values[0].content else { throw ForgeError("no secret") }
            let attributes = (0..<64).map { index in
                PageAttribute(name: index < 10 ? "a0\(index)" : "a\(index)", flags: [], value: .inPage([]))
            }
            past.values[0].content = .secret(own, attributes)
        }
    }

    /// Adds an open value of another dot.
    private mutating func open(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ kind: FieldKind,
        _ content: Past.Content
    ) throws {
        let base = bases.causal.changed
        let dot = try base.forge().readPast().values[1].dot
        try past(name, spec, expect, base, comment, isOpen: true) { past in
            past.values.append(Past.Value(kind: kind, dot: dot, flags: .open, content: content))
        }
    }

    private mutating func addPastKeys(_ bases: Bases) throws {
        let long = (String(repeating: "a", count: 4096), String(repeating: "b", count: 8176 - 8 - 4096))
        let cases: [(String, String, Verdict, String, [UInt8])] = [
            ("8176", "R-5.30, R-11.1", .success, "A key of 8176 bytes.", DraftKey.generic(long.0, long.1)),
            (
                "8177", "R-5.30, R-11.1", .structureInvalid, "A key of 8177 bytes.",
                DraftKey.generic(long.0, long.1 + "b")
            ),
            (
                "with-group", "R-5.30", .structureInvalid, "A key with a group.",
                DraftKey.generic("a", "", group: "work")
            ),
            ("sync-2", "R-5.30, R-6.1", .structureInvalid, "A key that ends in 2.", DraftKey.generic("a", "", sync: 2)),
            ("malformed", "R-5.30, R-6.1", .structureInvalid, "A key that is none.", [1, 0x61, 0, 0, 1]),
            (
                "class-64", "R-5.30, R-6.1", .structureInvalid, "A key of class 64.",
                [64] + DraftKey.generic("a", "").dropFirst()
            ),
            ("3-bytes", "R-5.30, R-11.1", .structureInvalid, "A key of three bytes.", [6, 0, 0]),
            (
                "other-class", "R-5.30", .success, "A key of another class.",
                DraftKey.certificate(issuer: [1], serial: [2])
            ),
        ]
        for (name, spec, expect, comment, key) in cases {
            try open("key-\(name)", spec, expect, bases, comment, .key, .key(key))
        }
    }

    private mutating func addPastPlaces(_ bases: Bases) throws {
        let name = [UInt8]("work".utf8)
        let cases: [(String, String, Verdict, String, Past.Place)] = [
            (
                "unknown-group", "R-5.30", .success, "A place in a group that does not exist.",
                .init(group: name, accessibility: 1, device: .zero)
            ),
            (
                "device", "R-5.30", .success, "A place of a device.",
                .init(group: [], accessibility: 7, device: Base.otherDevice)
            ),
            (
                "device-missing", "R-5.30", .structureInvalid, "Accessibility 5 without a device.",
                .init(group: [], accessibility: 5, device: .zero)
            ),
            (
                "device-more", "R-5.30", .structureInvalid, "Accessibility 3 with a device.",
                .init(group: [], accessibility: 3, device: Base.device)
            ),
            (
                "accessibility-0", "R-5.30", .structureInvalid, "Accessibility 0.",
                .init(group: [], accessibility: 0, device: .zero)
            ),
            (
                "accessibility-8", "R-5.30", .structureInvalid, "Accessibility 8.",
                .init(group: [], accessibility: 8, device: Base.device)
            ),
            (
                "group-invalid-utf8", "R-1.4, R-5.30", .structureInvalid, "A group's name is not UTF-8.",
                .init(group: [0xFF], accessibility: 1, device: .zero)
            ),
            (
                "group-4096", "R-5.30, R-11.1", .success, "A group's name of 4096 bytes.",
                .init(group: [0x67].times(4096), accessibility: 1, device: .zero)
            ),
            (
                "group-4097", "R-5.30, R-11.1", .structureInvalid, "A group's name of 4097 bytes.",
                .init(group: [0x67].times(4097), accessibility: 1, device: .zero)
            ),
        ]
        for (name, spec, expect, comment, place) in cases {
            try open("place-\(name)", spec, expect, bases, comment, .place, .place(place))
        }
    }

    // MARK: records

    mutating func addPastRecords(_ bases: Bases) throws {
        let base = bases.kept
        func record(
            _ name: String, _ spec: String, _ expect: Verdict, _ comment: String,
            _ edit: @escaping (inout RawRecord) -> Void
        ) throws {
            try forged("past-record-\(name)", spec, expect, base, comment) { forge in
                try forge.onRecord(try forge.record(of: try forge.readPast().values[1]), edit)
            }
        }
        try record(
            "other-key", "R-5.3", .success,
            "The item key in an earlier secret's record is another one, as after a rename."
        ) {
            $0.key = Bases.bob
        }
        try record(
            "form-2", "R-5.4", .unsupportedForm,
            "An earlier secret's record has form 2: that value fails, the others do not."
        ) {
            $0.form = 2
        }
        try record("form-1", "R-5.4, R-5.30", .structureInvalid, "An earlier secret's record has form 1.") {
            $0.form = 1
        }
        try record(
            "key-malformed", "R-5.3, R-6.1", .structureInvalid, "The item key in an earlier secret's record is no key."
        ) {
            $0.key = [1].times(20)
        }
        for value in [64, 0] as [UInt8] {
            try record(
                "key-class-\(value)", "R-5.3, R-6.1", .structureInvalid,
                "The item key in an earlier secret's record is of class \(value)."
            ) { $0.key[0] = value }
        }
        try record(
            "attribute-more", "R-5.30", .success, "An earlier secret's record has an attribute that does not follow it."
        ) {
            $0.attributes = [1, 0x11, 1, 0x7A, 1, 0x76]
        }
        try record("length", "R-5.1", .structureInvalid, "An earlier secret's record has a length that is no step.") {
            $0.step = 300
        }
        try forged(
            "past-record-tag", "R-1.6", .authenticationFailed, base,
            "An earlier secret's record does not open: that value fails, the others do not."
        ) { forge in forge.onSealed(try forge.record(of: try forge.readPast().values[1])) { $0.flip($0.count - 1) } }
        try forged(
            "past-record-bytes", "R-2.3", .authenticationFailed, base,
            "A bit of an earlier secret's record is another one."
        ) {
            forge in forge.onReferenced(try forge.record(of: try forge.readPast().values[1])) { $0.flip(100) }
        }
        try addPastRecordReferences(base)
        try forged(
            "past-live-fails-first", "R-5.4", .unsupportedForm, base,
            "The live item's record has another form, and its past does not open: the first failure is the verdict."
        ) { forge in
            try forge.onRecord(try forge.recordOfFirstItem()) { $0.form = 2 }
            forge.onSealed(try forge.past()) { $0.flip($0.count - 1) }
        }
        try addPastAttributeRecords(bases)
    }

    private mutating func addPastRecordReferences(_ base: Base) throws {
        func reference(
            _ name: String, _ spec: String, _ expect: Verdict, _ comment: String,
            _ edit: @escaping (ObjectRef, ForgeLayout) throws -> ObjectRef
        ) throws {
            try forged("past-record-\(name)", spec, expect, base, comment) { forge in
                try forge.onNamedPast({ past, layout in
                    guard case .secret(var own, let attributes) = past.values[1].content else {
                        throw ForgeError("no secret")
                    }
                    own.record = try edit(own.record, layout)
                    past.values[1].content = .secret(own, attributes)
                })
            }
        }
        try reference(
            "in-header", "R-2.3", .structureInvalid, "An earlier secret's record is in the header: that value fails."
        ) {
            ref, _ in ObjectRef(offset: 1024, length: ref.length, hash: .zero)
        }
        try reference(
            "after-frame", "R-2.3", .structureInvalid, "An earlier secret's record ends a byte after the past begins."
        ) {
            ref, layout in ObjectRef(offset: layout.offset + 1 - UInt64(ref.length), length: ref.length, hash: ref.hash)
        }
        try reference("length-207", "R-2.2", .structureInvalid, "An earlier secret's record has 207 bytes.") { ref, _ in
            ObjectRef(offset: ref.offset, length: 207, hash: .zero)
        }
        try reference("absent", "R-2.2", .structureInvalid, "An earlier secret has no record.") { _, _ in .zero }
        let live = try base.forge().recordOfFirstItem()
        try reference("of-live", "R-4.1", .authenticationFailed, "An earlier secret's record is the live item's.") {
            _, layout in
            try layout.ref(live)
        }
    }

    /// The records that values of attributes refer to.
    private mutating func addPastAttributeRecords(_ bases: Bases) throws {
        let changed = bases.causal.changed
        func notes(
            _ name: String, _ spec: String, _ expect: Verdict, _ comment: String,
            _ edit: @escaping (inout RawRecord) -> Void
        ) throws {
            try forged("past-record-\(name)", spec, expect, changed, comment) { forge in
                let past = NamedPast(try forge.readPast())
                let value = past.values[try past.index(.attribute, "notes")]
                try forge.onRecord(try forge.record(of: value), edit)
            }
        }
        let other = [1, 0x11, 1, 0x7A, 1, 0x76] as [UInt8]
        try notes(
            "without-attribute", "R-5.30", .structureInvalid,
            "The record of an attribute has another one: that value fails."
        ) {
            $0.attributes = other
        }
        try notes(
            "attribute-other-flags", "R-5.30", .structureInvalid, "The attribute in the record is concealed, too."
        ) {
            $0.attributes[1] |= 2
        }
        try notes("attribute-next-to-others", "R-5.30", .success, "The record of an attribute has another one, too.") {
            $0.attributes = [2] + $0.attributes.dropFirst() + other.dropFirst()
        }
        try notes("attribute-with-secret", "R-5.30", .success, "The record of an attribute has a secret, too.") {
            $0.secret = [7]
        }
        try notes(
            "attribute-form-1", "R-5.4, R-5.30", .structureInvalid,
            "The record of an attribute with flag 10 has form 1."
        ) {
            $0.form = 1
        }
        try notes("attribute-form-2", "R-5.4", .unsupportedForm, "The record of an attribute has form 2.") {
            $0.form = 2
        }
        try notes(
            "attribute-large", "R-5.30, R-6.3", .structureInvalid,
            "The record of an attribute with flag 10 has a value of 4097 bytes."
        ) {
            $0.attributes = [1, 0x11, 5] + Array("notes".utf8) + [0x81, 0x20] + [7].times(4097)
        }
        try forged(
            "past-record-of-secret-without-attribute", "R-5.30", .structureInvalid, changed,
            "An attribute with flag 10 follows an earlier secret, and is not in its record: that value fails."
        ) { forge in
            try forge.onRecord(try forge.record(of: try forge.readPast().values[0])) { $0.attributes = [0] }
        }
        let large = try Bases.base("large earlier") { draft in
            draft.ring.keeping.count = 5
            try draft.add(Bases.ann, Array("one".utf8), [DraftAttribute("scan", [9].times(6000), flags: 5)])
            try draft.commit()
            try draft.set(Bases.ann, "one", [DraftAttribute("scan", [8].times(6000), flags: 5)])
            try draft.commit()
        }
        try vault(
            "past-large-attribute", "R-5.30", .success, large,
            "An earlier value of an attribute with a record of its own.")
        try forged(
            "past-record-form-0-for-large", "R-5.4, R-5.30", .structureInvalid, large,
            "The record of an attribute with flag 20 has form 0."
        ) { forge in
            forge.onBody(try forge.record(of: try forge.readPast().values[0])) { body, _ in
                body = Draft.body(
                    DraftValue(
                        secret: [7], attributes: [], dot: StoredDot(1, 1), modified: 0, key: Bases.ann, compartment: 0,
                        recordRevision: 1))
            }
        }
        try forged(
            "past-record-large-tag", "R-1.6", .authenticationFailed, large,
            "The record of an earlier large attribute does not open: that value fails."
        ) { forge in forge.onSealed(try forge.record(of: try forge.readPast().values[0])) { $0.flip($0.count - 1) } }
    }

    // MARK: compartments

    mutating func addPastCompartments(_ bases: Bases) throws {
        let base = bases.kept
        let forge = try base.forge()
        let body = forge[try forge.last(.keyring)].body
        let ring = try Keyring(body.span, at: 0)
        let items = ring.compartments.first { $0.group != 0 }?.number ?? 0
        func own(
            _ name: String, _ comment: String, _ spec: String = "R-6.6", at index: Int = 1,
            _ edit: @escaping (inout RecordRef) -> Void
        ) throws {
            try past(name, spec, .structureInvalid, base, comment) { past in
                guard case .secret(var own, let attributes) = past.values[index].content else {
                    throw ForgeError("no secret")
                }
                edit(&own)
                past.values[index].content = .secret(own, attributes)
            }
        }
        try own("compartment-unknown", "An earlier secret in a compartment that does not exist.") {
            $0.compartment ^= 2
        }
        try own("compartment-0", "An earlier secret in compartment 0.") { $0.compartment = 0 }
        try own("record-revision-0", "An earlier secret with the record revision 0.", "R-6.8") { $0.revision = 0 }
        let clock = try base.clock()
        try own("record-revision-future", "An earlier secret with a record revision greater than the clock.", "R-6.8") {
            $0.revision = clock + 1
        }
        try forged(
            "past-compartment-of-group", "R-6.6", .structureInvalid, base,
            "An earlier secret was sealed under the compartment of its item's group."
        ) { forge in
            let id = try forge.record(of: try forge.readPast().values[1])
            forge[id].identity?.compartment = items
            try forge.onNamedPast({ past, _ in
                guard case .secret(var own, let attributes) = past.values[1].content else { return }
                own.compartment = items
                past.values[1].content = .secret(own, attributes)
            })
        }
        try addSharedAttributes(base)
        let bound = try Bases.base("past of a device", device: true) { draft in
            draft.ring.keeping.count = 3
            try draft.add(Bases.ann, Array("first".utf8), accessibility: 5, device: Base.device)
            try draft.commit()
            let live = draft.items[0].value.compartment
            try draft.set(Bases.ann, "second")
            // It was another device's, and could not be resealed.
            draft.items[0].versions[0].compartment = live
            try draft.commit()
        }
        try vault(
            "past-left-with-device", "R-6.6, R-6.10", .success, bound,
            "An earlier secret under its item's compartment, which has a device.")
        try vault(
            "past-left-with-device-absent", "R-6.10", .deviceBound, bound, "The same without the device.",
            request: .raw(Base.key))
        try addPastStates()
    }

    /// What counts as the attribute's record that the live item has, too, and may stay in its group.
    private mutating func addSharedAttributes(_ base: Base) throws {
        func attribute(
            _ name: String, _ spec: String, _ comment: String, at index: Int = 2,
            _ edit: @escaping (inout RecordRef) -> Void
        ) throws {
            try past("attribute-\(name)", spec, .structureInvalid, base, comment) { past in
                guard case .secret(let own, let attributes) = past.values[index].content else {
                    throw ForgeError("no secret")
                }
                past.values[index].content = .secret(
                    own,
                    attributes.map { attribute in
                        guard var record = attribute.record else { return attribute }
                        edit(&record)
                        return PageAttribute(name: attribute.name, flags: attribute.flags, value: .inOwnRecord(record))
                    })
            }
        }
        func moved(_ old: ObjectRef, offset: UInt64 = 0, length: Int = 0, hash: Bytes32? = nil) -> ObjectRef {
            ObjectRef(offset: old.offset - offset, length: old.length - length, hash: hash ?? old.hash)
        }
        let parts: [(name: String, what: String, edit: (inout RecordRef) -> Void)] = [
            ("offset", "the offset of its record", { $0.record = moved($0.record, offset: 1) }),
            ("length", "the length of its record", { $0.record = moved($0.record, length: 1) }),
            ("hash", "the hash of its record", { $0.record = moved($0.record, hash: .zero) }),
            ("revision", "its record revision", { $0.revision = 1 }),
            ("compartment", "its compartment, which does not exist", { $0.compartment ^= 2 }),
        ]
        for part in parts {
            try attribute(
                "shared-other-\(part.name)", "R-6.6",
                "A large attribute that an earlier secret shares with the item, but for \(part.what).", part.edit)
        }
        try attribute("revision-0", "R-6.8", "A large attribute of a secret's time with record revision 0.", at: 0) {
            $0.revision = 0
        }
        let clock = try base.clock()
        try attribute(
            "revision-future", "R-6.8",
            "A large attribute of a secret's time with a record revision greater than the clock.",
            at: 0
        ) { $0.revision = clock + 1 }
        let forge = try base.forge()
        let body = forge[try forge.last(.keyring)].body
        let ring = try Keyring(body.span, at: 0)
        let items = ring.compartments.first { $0.group != 0 }?.number ?? 0
        try attribute(
            "compartment", "R-6.6", "A large attribute that only the past has is in a compartment of the item's group.",
            at: 0
        ) { $0.compartment = items }
        try past(
            "record-shared", "R-6.6", .structureInvalid, base,
            "An earlier secret's record is that of a large attribute that the live item has: only an attribute's may be."
        ) { past in
            guard case .secret(_, let shared) = past.values[2].content, let record = shared.compactMap(\.record).first,
                case .secret(_, let attributes) = past.values[1].content
            else { throw ForgeError("no shared attribute") }
            past.values[1].content = .secret(record, attributes)
        }
        try forged(
            "past-shared-tag", "R-1.6", .authenticationFailed, base,
            "The record of a large attribute that an item and its past share does not open."
        ) { forge in
            let entries = try PageEntry.all(try forge.rootBody(), at: 0)
            let record = ForgedItem(entries[0].value)?.attributes.compactMap(\.record).first
            guard let record else { throw ForgeError("no large attribute") }
            forge.onSealed(try forge.object(at: record.record.offset)) { $0.flip($0.count - 1) }
        }
    }

    /// Pasts after other changes.
    private mutating func addPastStates() throws {
        var removed = try CausalBases.changedDraft("past of removed")
        try removed.remove(CausalBases.a)
        try removed.commit()
        try vault(
            "past-of-removed", "R-6.12", .success, Base(file: removed.file),
            "An item with a past was removed: nothing of it is left.")
        var rotated = try CausalBases.siblingsDraft("past rotated")
        let slot = rotated.header.slots[0].id
        try rotated.rotate { try $0.addSlot(.rawKey(Base.key), name: "main", id: slot) }
        try vault(
            "past-rotated", "R-6.6, R-7.17", .success, Base(file: rotated.file),
            "Pasts after a rotation: all of their compartments are new, and so is their key.")
    }
}
