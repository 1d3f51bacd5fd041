internal import TestSupport
internal import VaultBytes

/// Earlier values (sections 5.3 and 6.4).
extension Collection {
    mutating func addVersions(_ bases: Bases) throws {
        folder = "versions"
        try addVersionFrames(bases)
        try addVersionBodies(bases)
        try addVersionRules(bases)
        try addVersionCompartments(bases)
        try addVersionRecords(bases)
        try addVersionLimits(bases)
    }

    private mutating func entry(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String,
        _ edit: @escaping (inout ItemEntry.Versions, ForgeLayout) throws -> Void
    ) throws {
        try forged("versions-\(name)", spec, expect, bases.versions, comment) {
            $0.onItem(try $0.root()) { item, layout in
                guard var versions = item.entry.versions else { throw ForgeError("no earlier values") }
                try edit(&versions, layout)
                item.entry.versions = versions
            }
        }
    }

    private mutating func addVersionFrames(_ bases: Bases) throws {
        let base = bases.versions
        try forged(
            "versions-tag", "R-1.6", .authenticationFailed, base,
            "The frame's tag is wrong: the earlier values cannot be listed, and nothing else fails."
        ) { $0.onSealed(try $0.last(.versions)) { $0.flip($0.count - 1) } }
        try forged("versions-bytes", "R-2.3", .authenticationFailed, base, "A bit of the frame is another one.") {
            $0.onReferenced(try $0.last(.versions)) { $0.flip(90) }
        }
        for (name, comment, edit) in [
            ("other-offset", "It was sealed for another offset.", { $0.x[1] ^= 1 }),
            ("other-vault", "It was sealed for another vault.", { $0.vault[15] ^= 1 }),
            ("other-label", "It was sealed as a page.", { $0.label = "vaultfmt-1 page" }),
            ("other-key", "It was sealed under another key.", { $0.key[31] ^= 1 }),
        ] as [(String, String, (inout SealRecipe) -> Void)] {
            try forged("versions-sealed-\(name)", "R-4.1", .authenticationFailed, base, comment) {
                $0.onRecipe(try $0.last(.versions)) { recipe, _ in edit(&recipe) }
            }
        }
        try forged(
            "versions-type", "R-2.3", .structureInvalid, base, "Its frame says that it is a page, and was sealed so."
        ) {
            $0.onRecipe(try $0.last(.versions)) { recipe, _ in
                recipe.head.put(Array("vPAG".utf8), at: 0)
                recipe.clearHead = recipe.head
            }
        }
        func ref(_ old: ObjectRef, offset: UInt64? = nil, length: Int? = nil) -> ObjectRef {
            ObjectRef(offset: offset ?? old.offset, length: length ?? old.length, hash: old.hash)
        }
        try entry("in-header", "R-2.3", .structureInvalid, bases, "The frame is in the header.") { versions, _ in
            versions.frame = ref(versions.frame, offset: 512)
        }
        try entry("is-page", "R-2.3", .structureInvalid, bases, "The frame is the page that refers to it.") {
            versions, layout in
            versions.frame = ref(versions.frame, offset: layout.offset)
        }
        try entry("beyond-page", "R-2.3", .structureInvalid, bases, "The frame ends a byte after the page begins.") {
            versions, layout in
            versions.frame = ref(versions.frame, offset: layout.offset + 1 - UInt64(versions.frame.length))
        }
        try entry("offset-2-62", "R-2.2", .structureInvalid, bases, "The frame is at 2^62.") { versions, _ in
            versions.frame = ref(versions.frame, offset: 1 << 62)
        }
        for length in [0, 255, 300, 2 << 20 + 256] {
            try entry("length-\(length)", "R-2.2, R-11.1", .structureInvalid, bases, "The frame has \(length) bytes.") {
                versions, _ in
                versions.frame = ref(versions.frame, length: length)
            }
        }
        try entry("hash", "R-2.3", .authenticationFailed, bases, "The frame's hash is another one.") { versions, _ in
            versions.frame = ObjectRef(offset: versions.frame.offset, length: versions.frame.length, hash: .zero)
        }
        try forged("versions-is-keyring", "R-2.3", .structureInvalid, base, "The frame is a record.") { forge in
            let record = try forge.first(.record)
            forge.onItem(try forge.root()) { item, layout in
                let ref = try layout.ref(record)
                item.entry.versions?.frame = ref
            }
        }
        try forged(
            "versions-of-other-item", "R-5.13", .structureInvalid, try Self.twoHistories(),
            "The frame is another item's."
        ) {
            forge in
            let frame = try forge.first(.versions)
            for index in [0, 1] {
                forge.onItem(try forge.root(), index) { item, layout in
                    item.entry.versions?.frame = try layout.ref(frame)
                }
            }
        }
    }

    private static func twoHistories() throws -> Base {
        try Bases.base("two histories") { draft in
            draft.ring.keeping.count = 3
            try draft.add(Bases.ann, "first")
            try draft.add(Bases.bob, "second")
            try draft.commit()
            try draft.set(Bases.ann, Array("third".utf8))
            try draft.set(Bases.bob, Array("fourth".utf8))
            try draft.commit()
        }
    }

    private mutating func addVersionBodies(_ bases: Bases) throws {
        let bodies: [(String, String, String, (inout [UInt8]) -> Void)] = [
            ("item-id", "R-5.13", "The item's id in it is another one.", { $0.flip(0) }),
            ("count-0", "R-11.1", "It has no versions.", { $0[16] = 0 }),
            ("count-more", "R-1.3, R-2.2", "It counts a version more than it has.", { $0[16] += 1 }),
            ("count-fewer", "R-1.2, R-5.13", "It counts a version less than it has.", { $0[16] -= 1 }),
            ("count-51", "R-11.1", "It counts 51 versions.", { $0[16] = 51 }),
            ("padding", "R-1.2", "A byte of its padding is 1.", { $0[$0.count - 1] = 1 }),
            ("longer", "R-5.11", "256 bytes of padding too many.", { $0 += [0].times(256) }),
            ("device-long", "R-1.1", "A device is written with a byte too many.", { $0.exchange(25, 1, [0x80, 0]) }),
            ("device-1025", "R-6.7, R-11.1", "Device 1025.", { $0.exchange(25, 1, [0x81, 8]) }),
        ]
        for (name, spec, comment, edit) in bodies {
            try forged("versions-\(name)", spec, .structureInvalid, bases.versions, comment) {
                $0.onBody(try $0.last(.versions)) { body, _ in edit(&body) }
            }
        }
    }

    private mutating func versions(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, request: ReadRequest? = nil,
        _ edit: @escaping (inout Versions, ForgeLayout) throws -> Void
    ) throws {
        try forged("versions-\(name)", spec, expect, base, comment, request: request) { forge in
            forge.onBody(try forge.last(.versions)) { body, layout in
                var versions = try Versions(body.span, at: layout.offset)
                try edit(&versions, layout)
                body = try versions.encode()
            }
        }
    }

    private mutating func addVersionRules(_ bases: Bases) throws {
        let base = bases.versions
        try versions("order", "R-5.13", .structureInvalid, base, "Two versions in descending order.") { versions, _ in
            versions.versions.swapAt(0, 1)
        }
        try versions("twice", "R-5.13", .structureInvalid, base, "Two versions have one revision and device.") {
            versions, _ in
            versions.versions[1].revision = versions.versions[0].revision
        }
        try versions("revision-0", "R-6.8", .structureInvalid, base, "A version with revision 0.") { versions, _ in
            versions.versions[0].revision = 0
        }
        try versions(
            "revision-item", "R-5.13", .structureInvalid, base, "A version with the item's revision and device."
        ) { versions, _ in
            versions.versions[2].revision = Draft.clock + 9
        }
        try versions(
            "revision-future", "R-5.13, R-6.8", .structureInvalid, base,
            "A version with a revision greater than the commit's clock."
        ) { versions, _ in versions.versions[2].revision = Draft.clock + 1000 }
        try versions(
            "revision-after-item", "R-5.13", .structureInvalid, base,
            "A version with a revision greater than the item's."
        ) {
            versions, _ in versions.versions[2].revision = Draft.clock + 10
        }
        try versions("record-revision-0", "R-6.8", .structureInvalid, base, "A version with record revision 0.") {
            versions, _ in
            versions.versions[0].recordRevision = 0
        }
        try versions(
            "record-revision-future", "R-6.8", .structureInvalid, base,
            "A version with a record revision greater than the commit's clock."
        ) { versions, _ in versions.versions[0].recordRevision = Draft.clock + 1000 }
        try versions("device-1", "R-6.7", .structureInvalid, base, "A version of a device that is not in the list.") {
            versions, _ in
            versions.versions[0].device = 1
        }
        for (name, time) in [("least", -(1 << 62)), ("greatest", 1 << 62 - 1)] as [(String, Int64)] {
            try versions("replaced-\(name)", "R-11.1", .success, base, "A version that was replaced at \(time).") {
                versions, _ in
                versions.versions[0].replaced = time
            }
        }
        let device = try Bases.base("version devices", device: true) { draft in
            draft.ring.devices.append(Base.otherDevice)
            draft.ring.keeping.count = 5
            try draft.add(Bases.ann, "first")
            try draft.commit()
            try draft.set(Bases.ann, Array("second".utf8))
            try draft.commit()
        }
        let revision = try ForgedItem(PageEntry.all(try device.forge().rootBody(), at: 0)[0].value)?.entry.revision ?? 0
        try versions(
            "revision-item-other-device", "R-5.13", .success, device,
            "A version with the item's revision and another device."
        ) {
            versions, _ in
            versions.versions[0].revision = revision
            versions.versions[0].device = 2
        }
        try versions(
            "revision-item-unnamed-device", "R-5.13", .success, device,
            "A version with the item's revision and device 0."
        ) {
            versions, _ in
            versions.versions[0].revision = revision
            versions.versions[0].device = 0
        }
        try versions(
            "revision-item-same-device", "R-5.13", .structureInvalid, device,
            "A version with the item's revision and device 1, which is the item's."
        ) { versions, _ in versions.versions[0].revision = revision }
        try forged(
            "versions-two-devices", "R-5.13", .success, device, "Two versions of one revision and ascending devices."
        ) { forge in
            try Self.doubled(&forge, devices: (1, 2))
        }
        try forged(
            "versions-two-devices-descending", "R-5.13", .structureInvalid, device,
            "Two versions of one revision and descending devices."
        ) { forge in
            try Self.doubled(&forge, devices: (2, 1))
        }
        try forged(
            "versions-two-devices-equal", "R-5.13", .structureInvalid, device,
            "Two versions of one revision and one device."
        ) {
            forge in
            try Self.doubled(&forge, devices: (1, 1))
        }
        try entry(
            "stated-fewer", "R-5.13", .structureInvalid, bases,
            "The item states two earlier values, and the frame has three."
        ) {
            versions, _ in versions.count = 2
        }
        try entry(
            "stated-more", "R-5.13", .structureInvalid, bases,
            "The item states four earlier values, and the frame has three."
        ) {
            versions, _ in versions.count = 4
        }
        try forged("versions-stated-51", "R-11.1", .structureInvalid, base, "The item states 51 earlier values.") {
            $0.onEntries(try $0.root()) { entries, _ in
                guard let item = ForgedItem(entries[0].value) else { return }
                var fixed: [UInt8] = []
                var entry = item.entry
                entry.versions = nil
                entry.encode(into: &fixed)
                entries[0].value[fixed.count - 1] = 51
            }
        }
        try forged(
            "versions-stated-0", "R-1.3", .structureInvalid, base,
            "The item states no earlier values, and a reference follows."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in
                guard let item = ForgedItem(entries[0].value) else { return }
                var fixed: [UInt8] = []
                var entry = item.entry
                entry.versions = nil
                entry.encode(into: &fixed)
                entries[0].value[fixed.count - 1] = 0
            }
        }
    }

    /// Two versions with one record, revision and these devices.
    private static func doubled(_ forge: inout Forge, devices: (Int, Int)) throws {
        forge.onVersions(try forge.last(.versions)) { versions, _ in
            var second = versions.versions[0]
            versions.versions[0].device = devices.0
            second.device = devices.1
            versions.versions.append(second)
        }
        forge.onItem(try forge.root()) { item, _ in item.entry.versions?.count = 2 }
        forge.onCommit(try forge.last(.commit)) { commit, _ in commit.versions = 2 }
    }

    private mutating func addVersionCompartments(_ bases: Bases) throws {
        let base = bases.versions
        let forge = try base.forge()
        let ring = try Keyring(forge[try forge.last(.keyring)].body.span, at: 0)
        let items = ring.compartments.first { $0.group != 0 }?.number ?? 0
        try versions(
            "compartment-unknown", "R-6.6", .structureInvalid, base, "A version in a compartment that does not exist."
        ) {
            versions, _ in versions.versions[0].compartment ^= 2
        }
        try versions("compartment-0", "R-6.6", .structureInvalid, base, "A version in compartment 0.") { versions, _ in
            versions.versions[0].compartment = 0
        }
        try forged(
            "versions-compartment-of-group", "R-6.6", .structureInvalid, base,
            "A version was sealed under the compartment of its item's group."
        ) { forge in
            let id = try forge.versionRecord(0)
            forge[id].identity?.compartment = items
            forge.onVersions(try forge.last(.versions)) { versions, _ in versions.versions[0].compartment = items }
        }
        try forged(
            "versions-attribute-compartment", "R-6.6", .structureInvalid, base,
            "A large attribute that only a version has is in a compartment of the item's group."
        ) { forge in
            let id = try forge.versionAttributeRecord(0)
            forge[id].identity?.compartment = items
            forge.onVersions(try forge.last(.versions)) { versions, _ in
                versions.versions[0].attributes = versions.versions[0].attributes.map { attribute in
                    guard case .inOwnRecord(var own) = attribute.value else { return attribute }
                    own.compartment = items
                    return PageAttribute(name: attribute.name, flags: attribute.flags, value: .inOwnRecord(own))
                }
            }
        }
        try versions(
            "attribute-shared-other-revision", "R-6.6", .structureInvalid, base,
            "A large attribute that a version shares with the item, but for its record revision."
        ) { versions, _ in
            versions.versions[2].attributes = versions.versions[2].attributes.map { attribute in
                guard case .inOwnRecord(var own) = attribute.value else { return attribute }
                own.revision = 1
                return PageAttribute(name: attribute.name, flags: attribute.flags, value: .inOwnRecord(own))
            }
        }
        try versions(
            "attribute-revision-0", "R-6.8", .structureInvalid, base,
            "A large attribute of a version with record revision 0."
        ) {
            versions, _ in
            versions.versions[0].attributes = versions.versions[0].attributes.map { attribute in
                guard case .inOwnRecord(var own) = attribute.value else { return attribute }
                own.revision = 0
                return PageAttribute(name: attribute.name, flags: attribute.flags, value: .inOwnRecord(own))
            }
        }
        try versions(
            "attribute-revision-future", "R-6.8", .structureInvalid, base,
            "A large attribute of a version with a record revision greater than the commit's clock."
        ) { versions, _ in
            versions.versions[0].attributes = versions.versions[0].attributes.map { attribute in
                guard case .inOwnRecord(var own) = attribute.value else { return attribute }
                own.revision = Draft.clock + 1000
                return PageAttribute(name: attribute.name, flags: attribute.flags, value: .inOwnRecord(own))
            }
        }
        try addSharedAttributes(base)
        let bound = try Bases.base("version of a device", device: true) { draft in
            draft.ring.keeping.count = 3
            try draft.add(Bases.ann, Array("first".utf8), accessibility: 5, device: Base.device)
            try draft.commit()
            let live = draft.items[0].value.compartment
            try draft.set(Bases.ann, Array("second".utf8))
            // It was another device's, and could not be resealed.
            draft.items[0].versions[0].compartment = live
            try draft.commit()
        }
        try vault(
            "versions-left-with-device", "R-6.6, R-6.10", .success, bound,
            "A version under its item's compartment, which has a device.")
        try vault(
            "versions-left-with-device-absent", "R-6.10", .deviceBound, bound, "The same without the device.",
            request: .raw(Base.key))
    }

    /// What counts as the attribute's record that the live item has, too, and may stay in its group.
    private mutating func addSharedAttributes(_ base: Base) throws {
        func ref(_ old: ObjectRef, offset: UInt64? = nil, length: Int? = nil, hash: Bytes32? = nil) -> ObjectRef {
            ObjectRef(offset: offset ?? old.offset, length: length ?? old.length, hash: hash ?? old.hash)
        }
        let parts: [(name: String, what: String, edit: (inout RecordRef) -> Void)] = [
            ("offset", "the offset of its record", { $0.record = ref($0.record, offset: $0.record.offset - 1) }),
            ("length", "the length of its record", { $0.record = ref($0.record, length: $0.record.length - 1) }),
            ("hash", "the hash of its record", { $0.record = ref($0.record, hash: .zero) }),
            ("compartment", "its compartment, which does not exist", { $0.compartment ^= 2 }),
        ]
        for part in parts {
            try versions(
                "attribute-shared-other-\(part.name)", "R-6.6", .structureInvalid, base,
                "A large attribute that a version shares with the item, but for \(part.what)."
            ) { versions, _ in
                versions.versions[2].attributes = versions.versions[2].attributes.map { attribute in
                    guard case .inOwnRecord(var own) = attribute.value else { return attribute }
                    part.edit(&own)
                    return PageAttribute(name: attribute.name, flags: attribute.flags, value: .inOwnRecord(own))
                }
            }
        }
        try versions(
            "record-shared", "R-6.6", .structureInvalid, base,
            "A version's record is that of a large attribute that the live item has: only an attribute's may be."
        ) { versions, _ in
            for attribute in versions.versions[2].attributes {
                guard case .inOwnRecord(let own) = attribute.value else { continue }
                versions.versions[1].record = own.record
                versions.versions[1].recordRevision = own.revision
                versions.versions[1].compartment = own.compartment
            }
        }
    }

    private mutating func addVersionRecords(_ bases: Bases) throws {
        let base = bases.versions
        func record(
            _ name: String, _ spec: String, _ expect: Verdict, _ comment: String,
            _ edit: @escaping (inout RawRecord) -> Void
        )
            throws
        {
            try forged("versions-record-\(name)", spec, expect, base, comment) { forge in
                try forge.onRecord(try forge.versionRecord(1), edit)
            }
        }
        try record(
            "other-key", "R-5.3", .success, "The item key in a version's record is another one, as after a rename."
        ) {
            $0.key = Bases.bob
        }
        try record(
            "form-2", "R-5.4", .unsupportedForm, "A version's record has form 2: that value fails, the others do not."
        ) {
            $0.form = 2
        }
        try record("key-malformed", "R-5.3, R-6.1", .structureInvalid, "The item key in a version's record is no key.")
        {
            $0.key = [1].times(20)
        }
        try record(
            "key-class-64", "R-5.3, R-6.1", .structureInvalid, "The item key in a version's record is of class 64."
        ) {
            $0.key[0] = 64
        }
        try record(
            "key-class-0", "R-5.3, R-6.1", .structureInvalid, "The item key in a version's record is of class 0."
        ) {
            $0.key[0] = 0
        }
        try record("form-1", "R-5.4", .structureInvalid, "A version's record has form 1.") { $0.form = 1 }
        try record(
            "attribute-more", "R-6.5", .structureInvalid,
            "A version's record has an attribute that the frame does not have."
        ) {
            $0.attributes = [1, 0x11, 1, 0x7A, 1, 0x76]
        }
        try record("length", "R-5.1", .structureInvalid, "A version's record has a length that is no step.") {
            $0.step = 300
        }
        try forged(
            "versions-record-tag", "R-1.6", .authenticationFailed, base,
            "A version's record does not open: that value fails, the others do not."
        ) { forge in
            forge.onSealed(try forge.versionRecord(1)) { $0.flip($0.count - 1) }
        }
        try forged(
            "versions-record-bytes", "R-2.3", .authenticationFailed, base, "A bit of a version's record is another one."
        ) { forge in
            forge.onReferenced(try forge.versionRecord(1)) { $0.flip(100) }
        }
        try versions(
            "record-in-header", "R-2.3", .structureInvalid, base,
            "A version's record is in the header: that value fails, the others do not."
        ) { versions, _ in
            versions.versions[1].record = ObjectRef(
                offset: 1024, length: versions.versions[1].record.length, hash: .zero)
        }
        try versions(
            "record-after-frame", "R-2.3", .structureInvalid, base,
            "A version's record ends a byte after the frame begins."
        ) {
            versions, layout in
            let old = versions.versions[1].record
            versions.versions[1].record = ObjectRef(
                offset: layout.offset + 1 - UInt64(old.length), length: old.length, hash: old.hash)
        }
        try versions("record-length-207", "R-2.2", .structureInvalid, base, "A version's record has 207 bytes.") {
            versions, _ in
            versions.versions[1].record = ObjectRef(
                offset: versions.versions[1].record.offset, length: 207, hash: .zero)
        }
        try forged(
            "versions-record-of-live", "R-4.1", .authenticationFailed, base, "A version's record is the live item's."
        ) { forge in
            guard let live = ForgedItem(try PageEntry.all(try forge.rootBody(), at: 0)[0].value) else { return }
            let id = try forge.object(at: live.entry.record.offset)
            forge.onVersions(try forge.last(.versions)) { versions, layout in
                versions.versions[1].record = try layout.ref(id)
            }
        }
        try forged(
            "versions-large-tag", "R-1.6", .authenticationFailed, base,
            "The record of a version's large attribute does not open: the secret does."
        ) { forge in
            forge.onSealed(try forge.versionAttributeRecord(0)) { $0.flip($0.count - 1) }
        }
        try forged(
            "versions-shared-tag", "R-1.6", .authenticationFailed, base,
            "The record of a large attribute that an item and its versions share does not open."
        ) { forge in
            guard let live = ForgedItem(try PageEntry.all(try forge.rootBody(), at: 0)[0].value),
                case .inOwnRecord(let own) = live.attributes.first(where: { $0.flags.contains(.inOwnRecord) })?.value
            else { return }
            forge.onSealed(try forge.object(at: own.record.offset)) { $0.flip($0.count - 1) }
        }
        try forged(
            "versions-live-fails-first", "R-5.4", .unsupportedForm, base,
            "The live item's record has another form, and its versions do not open: the first failure is the verdict."
        ) { forge in
            guard let live = ForgedItem(try PageEntry.all(try forge.rootBody(), at: 0)[0].value) else { return }
            try forge.onRecord(try forge.object(at: live.entry.record.offset)) { $0.form = 2 }
            forge.onSealed(try forge.last(.versions)) { $0.flip($0.count - 1) }
        }
    }

    private mutating func addVersionLimits(_ bases: Bases) throws {
        func many(_ count: Int) throws -> Base {
            try Bases.base("many versions \(count)") { draft in
                draft.ring.keeping.count = 50
                try draft.add(Bases.ann, "0")
                for index in 1...count { try draft.set(Bases.ann, Array("\(index)".utf8)) }
                try draft.commit()
            }
        }
        try vault("versions-50", "R-5.13, R-11.1", .success, try many(50), "50 earlier values, the most.")
        try vault("versions-1", "R-5.13", .success, try many(1), "One earlier value.")
        let kept = try Bases.base("kept two") { draft in
            draft.ring.keeping.count = 2
            try draft.add(Bases.ann, "0")
            for index in 1...4 { try draft.set(Bases.ann, Array("\(index)".utf8)) }
            try draft.commit()
        }
        try vault(
            "versions-oldest-gone", "R-6.10", .success, kept,
            "Four changes and a setting of 2: the oldest values are gone.")
        let off = try Bases.base("kept none") { draft in
            try draft.add(Bases.ann, "0")
            try draft.set(Bases.ann, [1])
            try draft.commit()
        }
        try vault("versions-none", "R-6.10", .success, off, "A change and a setting of 0.")
        let sealed = try Bases.base("version attributes") { draft in
            draft.ring.keeping.count = 5
            try draft.add(
                Bases.ann, Array("one".utf8),
                [
                    DraftAttribute("label", "in the page"), DraftAttribute("otp", "sealed", flags: 1),
                    DraftAttribute("text", [0x74].times(300)), DraftAttribute("photo", [9].times(6000), flags: 5),
                ])
            try draft.commit()
            try draft.set(Bases.ann, Array("two".utf8), [DraftAttribute("label", "another")])
            try draft.commit()
            try draft.remove(Bases.ann)
            try draft.add(Bases.bob, "unrelated")
            try draft.commit()
        }
        try vault(
            "versions-of-removed", "R-6.12", .success, sealed,
            "An item with an earlier value was removed: nothing of it is left but a tombstone.")
        let rotated = try Bases.base("versions rotated") { draft in
            try Bases.growVersions(&draft)
            let slot = draft.header.slots[0].id
            try draft.rotate { try $0.addSlot(.rawKey(Base.key), name: "main", id: slot) }
        }
        try vault(
            "versions-rotated", "R-6.6, R-7.17", .success, rotated,
            "Earlier values after a rotation: all of their compartments are new.")
    }
}

extension Forge {
    /// The root's body as it was.
    func rootBody() throws -> [UInt8] { self[try root()].body }

    private func version(_ index: Int) throws -> Versions.Version {
        try Versions(self[try last(.versions)].body.span, at: 0).versions[index]
    }

    /// The record of a version of the last versions frame.
    func versionRecord(_ index: Int) throws -> ForgedObject.ID { try object(at: try version(index).record.offset) }

    /// The record of a version's large attribute.
    func versionAttributeRecord(_ index: Int) throws -> ForgedObject.ID {
        for attribute in try version(index).attributes {
            if case .inOwnRecord(let own) = attribute.value { return try object(at: own.record.offset) }
        }
        throw ForgeError("no large attribute")
    }
}
