internal import TestSupport
internal import VaultBytes

/// Records of items (section 5.1).
extension Collection {
    mutating func addRecords(_ bases: Bases) throws {
        folder = "records"
        try addRecordFrames(bases)
        try addRecordSeals(bases)
        try addRecordBodies(bases)
        try addSteps(bases)
        try addForms(bases)
    }

    private mutating func addRecordFrames(_ bases: Bases) throws {
        let one = bases.one
        try forged("record-tag", "R-1.6", .authenticationFailed, one, "A record's tag is wrong.") {
            $0.onSealed(try $0.last(.record)) { $0.flip($0.count - 1) }
        }
        try forged("record-nonce", "R-1.6", .authenticationFailed, one, "A record's nonce is another one.") {
            $0.onSealed(try $0.last(.record)) { $0.flip(10) }
        }
        try forged(
            "record-bytes", "R-2.3", .authenticationFailed, one, "A bit of a record is another one: its hash shows it."
        ) {
            $0.onReferenced(try $0.last(.record)) { $0.flip(120) }
        }
        try forged(
            "record-locator-bytes", "R-2.3", .authenticationFailed, one,
            "A bit of a record's locator is another one: its hash shows it."
        ) {
            $0.onReferenced(try $0.last(.record)) { $0.flip(40) }
        }
        try forged(
            "record-locator", "R-5.2", .success, one,
            "A locator that says another item: a reader that comes from a page does not use it."
        ) {
            $0.onRecipe(try $0.last(.record)) { recipe, _ in
                recipe.locator = .init(item: .zero, compartment: 7, revision: 9)
            }
        }
        try forged("record-locator-garbage", "R-5.2", .success, one, "A locator of arbitrary bytes.") {
            $0.onSealed(try $0.last(.record)) { $0.put([0x77].times(32), at: 32) }
        }
        for type in ["vPAG", "vPST", "vCHK", "vXYZ"] {
            try forged(
                "record-type-\(type)", "R-2.3", .structureInvalid, one,
                "A record's frame says that it is of the type \(type), and was sealed so."
            ) {
                $0.onRecipe(try $0.last(.record)) { recipe, _ in
                    recipe.head.put(Array(type.utf8), at: 0)
                    recipe.clearHead = recipe.head
                }
            }
        }
        try forged(
            "record-length-in-frame", "R-2.3", .structureInvalid, one,
            "A record's frame says another length than the page, and was sealed so."
        ) {
            $0.onRecipe(try $0.last(.record)) { recipe, _ in
                recipe.head.put(u32: 336, at: 4)
                recipe.clearHead = recipe.head
            }
        }
        try forged(
            "record-damaged-not-granted", "R-5.2", .authenticationFailed, bases.scoped,
            "A record of a group that is not granted is damaged: its hash is checked first.",
            request: .raw(Base.scopedKey)
        ) {
            for record in $0.all(.record) { $0.onReferenced(record) { $0.flip(100) } }
        }
        try forged(
            "record-damaged-device-absent", "R-2.3", .authenticationFailed, bases.device,
            "A record of a device that is absent is damaged.",
            request: .raw(Base.key)
        ) {
            for record in $0.all(.record) { $0.onReferenced(record) { $0.flip(100) } }
        }
        try forged(
            "record-replayed", "R-2.3", .authenticationFailed, bases.grown,
            "In place of an item's record are the bytes of its record of before."
        ) { forge in
            let records = forge.all(.record)
            let start = Int(forge[records[0]].origin ?? 0)
            let bytes = Array(bases.grown.file[start..<start + forge[records[0]].body.count + 80])
            forge.onReferenced(records[2]) { $0 = bytes }
        }
        try forged(
            "record-replayed-named", "R-4.1", .authenticationFailed, bases.grown,
            "An item's entry names its record of before, with the present record revision."
        ) { forge in
            let old = try forge.first(.record)
            forge.onItem(try forge.root()) { item, layout in item.entry.record = try layout.ref(old) }
        }
        try forged(
            "record-replayed-whole", "R-4.1", .success, bases.grown,
            "An owner let an entry name its record of before, with its record revision: a state like any other."
        ) { forge in
            let old = try forge.first(.record)
            let revision = forge[old].identity?.revision ?? 0
            forge.onItem(try forge.root()) { item, layout in
                item.entry.record = try layout.ref(old)
                item.entry.recordRevision = revision
            }
        }
    }

    private mutating func addRecordSeals(_ bases: Bases) throws {
        let recipes: [(String, String, (inout SealRecipe) -> Void)] = [
            ("other-item", "for another item", { $0.x.flip(0) }),
            ("other-compartment", "for another compartment", { $0.x.flip(16) }),
            ("other-revision", "for another record revision", { $0.x.flip(24) }),
            (
                "revision-before-compartment", "with the record revision before the compartment",
                { $0.x = Array($0.x[..<16] + $0.x[24...] + $0.x[16..<24]) }
            ),
            ("compartment-u32", "with a compartment of four bytes", { $0.x = Array($0.x[..<20] + $0.x[24...]) }),
            ("other-vault", "for another vault", { $0.vault.flip(2) }),
            ("without-vault", "without the vault's id", { $0.vault = [] }),
            ("other-label", "as a page", { $0.label = "vaultfmt-1 page" }),
            ("other-key", "under another key", { $0.key.flip(5) }),
            ("other-length", "as a frame of another length", { $0.head.flip(5) }),
            ("without-head", "without the frame's first bytes", { $0.head = [] }),
        ]
        for (name, what, edit) in recipes {
            try forged(
                "record-sealed-\(name)", "R-4.1", .authenticationFailed, bases.one, "A record was sealed \(what)."
            ) {
                $0.onRecipe(try $0.last(.record)) { recipe, _ in edit(&recipe) }
            }
        }
        try forged(
            "record-of-other-vault", "R-4.1", .authenticationFailed, bases.one,
            "A record of another vault, which is as long."
        ) {
            forge in
            let other = try bases.other.forge()
            let id = try other.first(.record)
            let start = Int(other[id].origin ?? 0)
            let bytes = Array(bases.other.file[start..<start + other[id].body.count + 80])
            forge.onSealed(try forge.last(.record)) { $0 = bytes }
        }
    }

    private mutating func addRecordBodies(_ bases: Bases) throws {
        // The record of `one`: form 0, key of 20 bytes, secret of 6, no attributes.
        let bodies: [(String, String, String, (inout [UInt8]) -> Void)] = [
            ("padding", "R-1.2", "A byte of its padding is 1.", { $0[$0.count - 1] = 1 }),
            (
                "padding-first", "R-1.2", "The first byte of its padding is 1.",
                { $0[($0.lastIndex { $0 != 0 } ?? 0) + 2] = 1 }
            ),
            (
                "key-varint-long", "R-1.1", "The key's length is written with a byte too many.",
                { $0.exchange(1, 1, [$0[1] | 0x80, 0]) }
            ),
            ("key-past-end", "R-2.2", "The key reaches past the end.", { $0.exchange(1, 1, [0x80, 2]) }),
            ("key-empty", "R-5.3", "An empty key.", { $0 = [0, 0] + $0[(2 + Int($0[1]))...] + [0].times(Int($0[1])) }),
            (
                "secret-varint-long", "R-1.1", "The secret's length is written with a byte too many.",
                { $0.exchange(2 + Int($0[1]), 1, [$0[2 + Int($0[1])] | 0x80, 0]) }
            ),
            (
                "secret-past-end", "R-2.2", "The secret reaches past the end.",
                { $0.exchange(2 + Int($0[1]), 1, [0x80, 1]) }
            ),
            (
                "secret-17-mib", "R-2.2, R-11.1", "A secret of 17 MiB.",
                { $0.exchange(2 + Int($0[1]), 1, [0x80, 0x80, 0xC0, 0x08]) }
            ),
            (
                "secret-2-62", "R-2.2, R-11.1", "A secret of 2^62 bytes.",
                { $0.exchange(2 + Int($0[1]), 1, [0x80].times(8) + [0x40]) }
            ),
            ("attributes-65", "R-11.1", "It counts 65 attributes.", { $0[2 + Int($0[1]) + 1 + 6] = 65 }),
            (
                "attributes-past-end", "R-1.3", "It counts an attribute, and has zeros.",
                { $0[2 + Int($0[1]) + 1 + 6] = 1 }
            ),
            ("zeros", "R-5.1", "Nothing but zeros: an empty key.", { $0 = [0].times($0.count) }),
        ]
        for (name, spec, comment, edit) in bodies {
            try forged("record-\(name)", spec, .structureInvalid, bases.one, comment) {
                $0.onBody(try $0.last(.record)) { body, _ in edit(&body) }
            }
        }
        func part(
            _ name: String, _ spec: String, _ expect: Verdict, _ comment: String,
            _ edit: @escaping (inout RawRecord) -> Void
        ) throws {
            try forged("record-\(name)", spec, expect, bases.one, comment) {
                try $0.onRecord(try $0.last(.record), edit)
            }
        }
        try part("other-key", "R-5.3", .success, "Its key is another item's, as after a rename.") { $0.key = Bases.bob }
        try part("key-other-class", "R-5.3", .success, "Its key is of another class.") {
            $0.key = DraftKey.certificate(issuer: [1], serial: [2])
        }
        try part("key-other-group", "R-5.3", .success, "Its key names another group.") {
            $0.key = DraftKey.generic("example.org", "ann", group: "other")
        }
        try part("key-sync-2", "R-5.3, R-6.1", .structureInvalid, "Its key ends in 2, as the key in a page can.") {
            $0.key[$0.key.count - 1] = 2
        }
        let long = (String(repeating: "a", count: 4096), String(repeating: "b", count: 8176 - 8 - 4096))
        try part("key-8176", "R-5.3, R-6.1, R-11.1", .success, "A key of 8176 bytes.") {
            $0.key = DraftKey.generic(long.0, long.1)
        }
        try part("key-8177", "R-6.1, R-11.1", .structureInvalid, "A key of 8177 bytes.") {
            $0.key = DraftKey.generic(long.0, long.1 + "b")
        }
        try part("key-longer", "R-5.3", .structureInvalid, "Its key has a byte more.") { $0.key.append(0) }
        try part("key-shorter", "R-5.3", .structureInvalid, "Its key has a byte less.") { $0.key.removeLast() }
        try part(
            "key-shorter-by-zero", "R-5.3", .structureInvalid,
            "Its key lacks the last byte, which is 0, as is the length of the empty secret that follows."
        ) {
            $0.key.removeLast()
            $0.secret = []
        }
        try part("key-sync", "R-5.3", .success, "Its key differs in being synchronizable.") {
            $0.key[$0.key.count - 1] = 1
        }
        try part("secret-empty", "R-5.1, R-11.1", .success, "An empty secret.") { $0.secret = [] }
        try part("secret-zeros", "R-5.1", .success, "A secret of zeros: its length tells it from padding.") {
            $0.secret = [0].times(40)
        }
        try part("attribute-not-in-page", "R-6.5", .structureInvalid, "An attribute that the page does not have.") {
            $0.attributes = [1, 0x11, 1, 0x7A, 1, 0x76]
        }
    }

    private mutating func addSteps(_ bases: Bases) throws {
        func record(
            _ name: String, _ spec: String, _ expect: Verdict, _ comment: String, secret: Int? = nil, step: Int? = nil
        ) throws {
            try forged("record-\(name)", spec, expect, bases.one, comment) {
                try $0.onRecord(try $0.last(.record)) { record in
                    if let secret {
                        // Up to the body's length: form, lengths, key and the number of attributes are 24 or 25 bytes.
                        record.secret = []
                        let fixed = 1 + 1 + record.key.count + 1
                        let count = secret - fixed
                        record.secret = [0x73].times(count - (count < 128 ? 1 : count < 16_384 ? 2 : 3))
                    }
                    record.step = step
                }
                $0.onBody(try $0.last(.commit)) { body, _ in body[80] = 1 }
            }
        }
        for length in [128, 256, 512, 1024, 1088, 5120] {
            try record(
                "content-\(length)", "R-5.1", .success, "A content of \(length) bytes, which is a step: no padding.",
                secret: length)
        }
        for (length, step) in [(129, 256), (257, 512), (513, 1024), (1025, 1088), (1089, 1152), (5000, 5120)] {
            try record(
                "content-\(length)", "R-5.1", .success, "A content of \(length) bytes, in the least step, \(step).",
                secret: length)
        }
        for step in [256, 512, 1024, 1088, 1152, 4096, 65_536] {
            try record(
                "step-\(step)", "R-5.1", .success, "A small content in a later step, \(step): a writer may hide more.",
                step: step)
        }
        for length in [129, 192, 255, 384, 1025, 1087, 1089, 1100, 2049, 5000, 65_537] {
            try record(
                "length-\(length)", "R-5.1", .structureInvalid, "A body of \(length) bytes, which is no step.",
                step: length)
        }
        try forged(
            "record-length-127", "R-2.2, R-5.1", .structureInvalid, bases.one,
            "A body of 127 bytes: no record is so short."
        ) {
            try $0.onRecord(try $0.last(.record)) { $0.step = 127 }
        }
        try forged(
            "record-content-cut", "R-5.1", .structureInvalid, bases.one, "A content that is longer than its step."
        ) { forge in
            forge.onBody(try forge.last(.record)) { body, _ in
                var record = try RawRecord(body)
                record.secret = [0x73].times(200)
                body = Array(record.encoded()[..<128])
            }
        }
    }

    private mutating func addForms(_ bases: Bases) throws {
        for form in [1, 2, 3, 255] as [UInt8] {
            try forged(
                "record-form-\(form)", "R-5.4", form == 1 ? .structureInvalid : .unsupportedForm, bases.one,
                form == 1
                    ? "An item's record of form 1, which is known and not the one that is called for."
                    : "An item's record of the unknown form \(form): that item is refused, with a reason of its own."
            ) {
                try $0.onRecord(try $0.last(.record)) { $0.form = form }
            }
        }
        try forged(
            "record-form-2-of-two", "R-5.4", .unsupportedForm, bases.grown,
            "The first of two items has a record of form 2: the others are released."
        ) {
            // The records of `grown`: ann's, bob's, ann's again.
            try $0.onRecord($0.all(.record)[2]) { $0.form = 2 }
        }
        try forged(
            "record-form-2-not-granted", "R-5.4", .success, bases.scoped,
            "A record of form 2 in a group that is not granted: it is not opened.", request: .raw(Base.scopedKey)
        ) { forge in
            let granted = try forge.scopedGroups()
            let ring = try Keyring(forge[try forge.last(.keyring)].body.span, at: 0)
            for record in forge.all(.record) {
                let group = ring.compartments.first { $0.number == forge[record].identity?.compartment }?.group ?? 0
                if !granted.contains(group) { try forge.onRecord(record) { $0.form = 2 } }
            }
        }
        try forged(
            "record-form-before-key", "R-5.4", .unsupportedForm, bases.one,
            "A record of form 2 whose rest is not one of form 0: only the form counts."
        ) {
            $0.onBody(try $0.last(.record)) { body, _ in body = [2] + [0xFF].times(127) }
        }
        try forged(
            "record-form-and-no-step", "R-5.1", .structureInvalid, bases.one,
            "A record of form 2 whose length is no step: the length is wrong first."
        ) {
            $0.onBody(try $0.last(.record)) { body, _ in body = [2] + [0].times(129) }
        }
        try forged(
            "record-form-2-and-extension", "R-3.24, R-5.4", .unsupportedForm, bases.one,
            "The same with the extension that such a vault has: readers go on, writers change nothing."
        ) { forge in
            try forge.onRecord(try forge.last(.record)) { $0.form = 2 }
            forge.onKeyring(try forge.last(.keyring)) {
                $0.extensions = [Extension(name: "chunks", isCritical: false, isReadOnly: true, value: [])]
            }
        }
    }
}

extension Forge {
    /// The groups that the scoped slot of `scoped` grants.
    fileprivate func scopedGroups() throws -> Set<UInt64> {
        let key = try ForgeFactors.rawKey(Base.scopedKey).slotKey(header.slots[1], keys.vault)
        guard
            let payload = Plain.open(
                header.slots[1].payload, key: ForgeFactors.wrappingKey(key),
                bound: Bindings.slot(keys.vault, header.slots[1]))
        else { throw ForgeError("the scoped slot does not open") }
        return Set(try ScopedPayloadLayout(payload.span).groups)
    }
}
