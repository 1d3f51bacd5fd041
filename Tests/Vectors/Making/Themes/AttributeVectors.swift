internal import TestSupport
internal import VaultBytes

/// Attributes: in pages, in items' records, and in records of their own (section 6.2).
extension Collection {
    mutating func addAttributes(_ bases: Bases) throws {
        folder = "attributes"
        try addPageAttributes(bases)
        try addRecordAttributes(bases)
        try addLargeAttributes(bases)
        try addLargeRecords(bases)
    }

    /// The only item's attributes, as bytes after its fixed fields.
    private mutating func list(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ bytes: [UInt8]
    )
        throws
    {
        try forged("attribute-\(name)", spec, expect, bases.one, comment) {
            $0.onEntries(try $0.root()) { entries, _ in
                guard var item = ForgedItem(entries[0].value) else { return }
                item.attributes = []
                entries[0].value = item.encoded().dropLast() + bytes
            }
        }
    }

    private static func attribute(_ flags: UInt8, _ name: [UInt8], _ value: [UInt8]) -> [UInt8] {
        var out = [flags, UInt8(name.count)] + name
        out.append(varint: UInt64(value.count))
        return out + value
    }

    private mutating func addPageAttributes(_ bases: Bases) throws {
        let a = Self.attribute(0, [0x61], [1]), b = Self.attribute(0, [0x62], [2])
        try list("none", "R-6.4", .success, bases, "No attributes.", [0])
        try list("two", "R-6.4", .success, bases, "Two attributes.", [2] + a + b)
        try list("order", "R-6.4", .structureInvalid, bases, "Two attributes in descending order.", [2] + b + a)
        try list("twice", "R-6.4", .structureInvalid, bases, "One attribute twice.", [2] + a + a)
        try list(
            "twice-other-flags", "R-6.4", .structureInvalid, bases, "One name twice, with other flags.",
            [2] + a + Self.attribute(2, [0x61], [2]))
        try list(
            "prefix-order", "R-6.4", .success, bases, "A name that begins the next one comes before it.",
            [2] + a + Self.attribute(0, [0x61, 0x61], []))
        try list(
            "prefix-disorder", "R-6.4", .structureInvalid, bases, "A name that begins the one before it.",
            [2] + Self.attribute(0, [0x61, 0x61], []) + a)
        try list(
            "order-by-bytes", "R-6.4", .success, bases, "Names compare as bytes: Z comes before a.",
            [2] + Self.attribute(0, [0x5A], []) + a
        )
        try list(
            "not-normalised", "R-6.4", .success, bases, "Two names that only normalising would make equal.",
            [2] + Self.attribute(0, [0x61, 0xCC, 0x88], [1]) + Self.attribute(0, [0xC3, 0xA4], [2]))
        try list(
            "name-invalid-utf8", "R-1.4", .structureInvalid, bases, "A name that is not UTF-8.",
            [1] + Self.attribute(0, [0xFF], [1]))
        try list(
            "name-overlong-utf8", "R-1.4", .structureInvalid, bases, "A name with an overlong encoding.",
            [1] + Self.attribute(0, [0xC1, 0xA1], [1]))
        try list(
            "name-surrogate", "R-1.4", .structureInvalid, bases, "A name with an encoded surrogate.",
            [1] + Self.attribute(0, [0xED, 0xA0, 0x80], [1]))
        try list(
            "name-255", "R-11.1", .success, bases, "A name of 255 bytes.",
            [1] + Self.attribute(0, [0x6E].times(255), [1]))
        try list(
            "nameless", "R-11.1", .structureInvalid, bases, "An attribute without a name.",
            [1] + Self.attribute(0, [], [1]))
        try list(
            "name-zero-byte", "R-6.4", .success, bases, "A name that is a zero byte.", [1] + Self.attribute(0, [0], [1])
        )
        try list(
            "name-past-end", "R-2.2", .structureInvalid, bases, "A name that reaches past the end.", [1, 0, 40, 0x61])
        try list(
            "value-past-end", "R-2.2", .structureInvalid, bases, "A value that reaches past the end.",
            [1, 0, 1, 0x61, 40, 1])
        try list(
            "value-256", "R-6.3", .success, bases, "A value of 256 bytes, the longest in a page.",
            [1] + Self.attribute(0, [0x61], [7].times(256)))
        try list(
            "value-257", "R-6.3, R-11.1", .structureInvalid, bases, "A value of 257 bytes in a page.",
            [1] + Self.attribute(0, [0x61], [7].times(257)))
        try list("value-empty", "R-6.3", .success, bases, "An empty value.", [1] + Self.attribute(0, [0x61], []))
        try list(
            "value-varint-long", "R-1.1", .structureInvalid, bases, "A value's length is written with a byte too many.",
            [1, 0, 1, 0x61, 0x81, 0, 7])
        try list(
            "value-not-utf8", "R-6.3", .success, bases,
            "A value that is not UTF-8 and not marked as binary: what is in it is its author's business.",
            [1] + Self.attribute(0, [0x61], [0xFF]))
        let most = (0..<64).flatMap { Self.attribute(0, [0x61, UInt8($0 + 32)], []) }
        try list("64", "R-11.1", .success, bases, "64 attributes.", [64] + most)
        try list(
            "65", "R-11.1", .structureInvalid, bases, "65 attributes.", [65] + most + Self.attribute(0, [0x62], []))
        try list(
            "count-long", "R-1.1", .structureInvalid, bases,
            "The number of attributes is written with a byte too many.", [0x81, 0] + a)
        try list("count-more", "R-2.2", .structureInvalid, bases, "It counts two attributes and has one.", [2] + a)
        try list("count-fewer", "R-1.3", .structureInvalid, bases, "It counts one attribute and has two.", [1] + a + b)
        for flags in [2, 4, 6] as [UInt8] {
            try list(
                "flags-\(flags)", "R-6.3", .success, bases, "Flags \(flags), the value in the page.",
                [1] + Self.attribute(flags, [0x61], [1]))
        }
        for flags in [1, 3, 5, 7] as [UInt8] {
            try list(
                "flags-\(flags)", "R-6.3", .structureInvalid, bases, "Flags \(flags): a sealed value in the page.",
                [1] + Self.attribute(flags, [0x61], [1]))
        }
        for flags in [8, 0x40, 0x80, 0xFF] as [UInt8] {
            try list(
                "flags-\(flags)", "R-1.2", .structureInvalid, bases, "Flags \(flags), of which some are reserved.",
                [1] + Self.attribute(flags, [0x61], [1]))
        }
        try list(
            "flags-48", "R-1.2, R-5.4", .structureInvalid, bases, "Flags 30, a place that is reserved.",
            [1, 0x30, 1, 0x61])
    }

    // MARK: in the item's record

    /// Attributes in the page and in the record, as bytes.
    private mutating func both(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, page: [UInt8],
        record: [UInt8]
    ) throws {
        try forged("attribute-record-\(name)", spec, expect, bases.one, comment) { forge in
            try forge.onRecord(try forge.last(.record)) { $0.attributes = record }
            forge.onEntries(try forge.root()) { entries, _ in
                guard var item = ForgedItem(entries[0].value) else { return }
                item.attributes = []
                entries[0].value = item.encoded().dropLast() + page
            }
            forge.onBody(try forge.last(.commit)) { body, _ in body[80] = 1 }
        }
    }

    private mutating func addRecordAttributes(_ bases: Bases) throws {
        let page: [UInt8] = [1, 0x11, 1, 0x61]
        func held(_ flags: UInt8, _ value: [UInt8], name: [UInt8] = [0x61]) -> [UInt8] {
            [1] + Self.attribute(flags, name, value)
        }
        try both(
            "sealed", "R-6.3, R-6.5", .success, bases, "A sealed value of one byte.", page: page,
            record: held(0x11, [7]))
        try both(
            "sealed-empty", "R-6.3", .success, bases, "A sealed value without a byte.", page: page,
            record: held(0x11, []))
        try both(
            "sealed-4096", "R-6.3, R-11.1", .success, bases,
            "A sealed value of 4096 bytes, the longest in an item's record.", page: page,
            record: held(0x11, [7].times(4096)))
        try both(
            "sealed-4097", "R-6.3, R-11.1", .structureInvalid, bases,
            "A sealed value of 4097 bytes in an item's record.", page: page,
            record: held(0x11, [7].times(4097)))
        try both(
            "257", "R-6.3", .success, bases, "A value of 257 bytes that is not sealed.", page: [1, 0x10, 1, 0x61],
            record: held(0x10, [7].times(257)))
        try both(
            "256", "R-6.3", .structureInvalid, bases,
            "A value of 256 bytes that is not sealed: it belongs into the page.",
            page: [1, 0x10, 1, 0x61], record: held(0x10, [7].times(256)))
        try both(
            "4097", "R-6.3", .structureInvalid, bases, "A value of 4097 bytes that is not sealed.",
            page: [1, 0x10, 1, 0x61],
            record: held(0x10, [7].times(4097)))
        try both(
            "flags-all", "R-6.3", .success, bases, "Sealed, concealed and binary.", page: [1, 0x17, 1, 0x61],
            record: held(0x17, [0xFF]))
        try both(
            "flags-differ", "R-6.5", .structureInvalid, bases, "Concealed in the record, and not in the page.",
            page: page,
            record: held(0x13, [7]))
        try both(
            "flags-page-more", "R-6.5", .structureInvalid, bases, "Binary in the page, and not in the record.",
            page: [1, 0x15, 1, 0x61],
            record: held(0x11, [7]))
        try both(
            "flags-not-there", "R-6.3", .structureInvalid, bases, "The record's attribute has no flag 10.", page: page,
            record: held(0x01, [7]))
        try both(
            "flags-large", "R-6.3", .structureInvalid, bases, "The record's attribute has flag 20.", page: page,
            record: held(0x21, [7]))
        try both(
            "flags-reserved", "R-1.2", .structureInvalid, bases, "The record's attribute has a reserved flag.",
            page: page,
            record: held(0x19, [7]))
        try both(
            "name-differs", "R-6.5", .structureInvalid, bases, "Another name in the record than in the page.",
            page: page,
            record: held(0x11, [7], name: [0x62]))
        try both(
            "missing", "R-6.5", .structureInvalid, bases, "The page has it, and the record does not.", page: page,
            record: [0])
        try both(
            "more", "R-6.5", .structureInvalid, bases, "The record has it, and the page does not.", page: [0],
            record: held(0x11, [7]))
        try both(
            "one-of-two", "R-6.5", .structureInvalid, bases, "The page has two, the record one of them.",
            page: [2, 0x11, 1, 0x61, 0x11, 1, 0x62], record: held(0x11, [7]))
        let two = [2] + Self.attribute(0x11, [0x61], [1]) + Self.attribute(0x11, [0x62], [2])
        try both("two", "R-6.5", .success, bases, "Two of them.", page: [2, 0x11, 1, 0x61, 0x11, 1, 0x62], record: two)
        try both(
            "order", "R-6.4", .structureInvalid, bases, "Two of them, in the record in descending order.",
            page: [2, 0x11, 1, 0x61, 0x11, 1, 0x62],
            record: [2] + Self.attribute(0x11, [0x62], [2]) + Self.attribute(0x11, [0x61], [1]))
        try both(
            "twice", "R-6.4", .structureInvalid, bases, "One of them twice in the record.", page: page,
            record: [2] + Self.attribute(0x11, [0x61], [1]) + Self.attribute(0x11, [0x61], [1]))
        try both(
            "nameless", "R-11.1", .structureInvalid, bases, "One without a name.", page: page,
            record: held(0x11, [7], name: []))
        try both(
            "name-utf8", "R-1.4", .structureInvalid, bases, "A name in the record that is not UTF-8.", page: page,
            record: held(0x11, [7], name: [0xFF]))
        try both(
            "value-long", "R-1.1", .structureInvalid, bases, "A value's length is written with a byte too many.",
            page: page,
            record: [1, 0x11, 1, 0x61, 0x81, 0, 7])
        try both(
            "mixed", "R-6.5", .success, bases, "One in the page between two in the record.",
            page: [3, 0x11, 1, 0x61] + Self.attribute(0, [0x62], [9]) + [0x11, 1, 0x63],
            record: [2] + Self.attribute(0x11, [0x61], [1]) + Self.attribute(0x11, [0x63], [3]))
        let names = (0..<64).map { [0x61, UInt8($0 + 32)] as [UInt8] }
        try both(
            "64", "R-11.1", .success, bases, "64 attributes in a record.",
            page: [64] + names.flatMap { [0x11, 2] + $0 },
            record: [64] + names.flatMap { Self.attribute(0x11, $0, [5]) })
        try both(
            "64-of-4096", "R-11.1", .success, bases, "64 attributes of 4096 bytes in a record.",
            page: [64] + names.flatMap { [0x11, 2] + $0 },
            record: [64] + names.flatMap { Self.attribute(0x11, $0, [5].times(4096)) })
        try both(
            "not-normalised", "R-6.5", .structureInvalid, bases,
            "A name that only normalising would make equal to the page's.",
            page: [1, 0x11, 2, 0xC3, 0xA4], record: held(0x11, [1], name: [0x61, 0xCC, 0x88]))
    }

    // MARK: in a record of its own

    private static func largeIndex(_ item: ForgedItem) throws -> Int {
        guard let index = item.attributes.firstIndex(where: { $0.flags.contains(.inOwnRecord) }) else {
            throw ForgeError("no large attribute")
        }
        return index
    }

    private mutating func large(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String,
        _ edit: @escaping (inout RecordRef, ForgeLayout) throws -> Void
    ) throws {
        try forged("large-\(name)", spec, expect, bases.attributes, comment) { forge in
            let find = Self.largeIndex
            forge.onItem(try forge.root()) { item, layout in
                let index = try find(item)
                let old = item.attributes[index]
                guard case .inOwnRecord(var own) = old.value else { return }
                try edit(&own, layout)
                item.attributes[index] = PageAttribute(name: old.name, flags: old.flags, value: .inOwnRecord(own))
            }
        }
    }

    private mutating func addLargeAttributes(_ bases: Bases) throws {
        try large(
            "hash", "R-2.3", .authenticationFailed, bases,
            "The hash of its record is another one: it fails, the secret does not."
        ) {
            own, _ in
            own.record = ObjectRef(offset: own.record.offset, length: own.record.length, hash: .zero)
        }
        try large("in-header", "R-2.3", .structureInvalid, bases, "Its record is in the header.") { own, _ in
            own.record = ObjectRef(offset: 300, length: own.record.length, hash: own.record.hash)
        }
        try large("after-page", "R-2.3", .structureInvalid, bases, "Its record is its page.") { own, layout in
            own.record = ObjectRef(offset: layout.offset, length: own.record.length, hash: own.record.hash)
        }
        try large("length-207", "R-2.2", .structureInvalid, bases, "Its record has 207 bytes.") { own, _ in
            own.record = ObjectRef(offset: own.record.offset, length: 207, hash: own.record.hash)
        }
        try large("length-20-mib", "R-2.2, R-11.1", .structureInvalid, bases, "Its record has a byte more than 20 MiB.")
        { own, _ in
            own.record = ObjectRef(offset: own.record.offset, length: 20 << 20 + 1, hash: own.record.hash)
        }
        try large("revision-0", "R-6.8", .structureInvalid, bases, "Its record revision is 0.") { own, _ in
            own.revision = 0
        }
        try large(
            "revision-future", "R-6.8", .structureInvalid, bases,
            "Its record revision is greater than the commit's clock."
        ) {
            own, _ in own.revision = Draft.clock + 1000
        }
        try large("revision-2-63", "R-6.8", .structureInvalid, bases, "Its record revision is 2^63.") { own, _ in
            own.revision = 1 << 63
        }
        try large(
            "revision-other", "R-4.1", .authenticationFailed, bases,
            "Its record revision is another one than it was sealed under."
        ) {
            own, _ in own.revision = 1
        }
        try large("compartment-0", "R-6.6", .structureInvalid, bases, "Compartment 0.") { own, _ in own.compartment = 0
        }
        try large("compartment-unknown", "R-6.6", .structureInvalid, bases, "A compartment that does not exist.") {
            own, _ in
            own.compartment ^= 2
        }
        try forged(
            "large-compartment-of-owners", "R-6.6", .structureInvalid, bases.kept,
            "A live item's attribute is in a compartment of group 0."
        ) { forge in
            let owners = try Self.owners(forge)
            let find = Self.largeIndex
            forge.onItem(try forge.root()) { item, _ in
                let index = try find(item)
                guard case .inOwnRecord(var own) = item.attributes[index].value else { return }
                own.compartment = owners
                item.attributes[index] = PageAttribute(
                    name: item.attributes[index].name, flags: item.attributes[index].flags, value: .inOwnRecord(own))
            }
        }
        try forged(
            "large-is-item-record", "R-5.4", .authenticationFailed, bases.attributes,
            "It refers to the item's record, whose record revision is another one."
        ) { forge in
            let find = Self.largeIndex
            forge.onItem(try forge.root()) { item, _ in
                let index = try find(item)
                let old = item.attributes[index]
                let own = RecordRef(record: item.entry.record, revision: 1, compartment: item.entry.compartment)
                item.attributes[index] = PageAttribute(name: old.name, flags: old.flags, value: .inOwnRecord(own))
            }
        }
        try forged(
            "large-is-item-record-form", "R-5.4", .structureInvalid, bases.attributes,
            "It refers to the item's record as it was sealed: that has form 0."
        ) { forge in
            let find = Self.largeIndex
            forge.onItem(try forge.root()) { item, _ in
                let index = try find(item)
                let old = item.attributes[index]
                let own = RecordRef(
                    record: item.entry.record, revision: item.entry.recordRevision, compartment: item.entry.compartment)
                item.attributes[index] = PageAttribute(name: old.name, flags: old.flags, value: .inOwnRecord(own))
            }
        }
        try forged(
            "large-record-as-item", "R-5.4", .structureInvalid, bases.attributes,
            "The item refers to the record of its attribute: that has form 1."
        ) { forge in
            let find = Self.largeIndex
            forge.onItem(try forge.root()) { item, _ in
                guard case .inOwnRecord(let own) = item.attributes[try find(item)].value else { return }
                item.entry.record = own.record
                item.entry.recordRevision = own.revision
            }
        }
        try list(
            "large-cut", "R-2.2", .structureInvalid, bases, "A large attribute whose compartment is cut off.",
            [1, 0x20, 1, 0x61, 1, 1] + [0].times(32) + [0].times(12))
        try list(
            "large-reference-long", "R-1.1", .structureInvalid, bases,
            "A large attribute whose record's offset is written with a byte too many.",
            [1, 0x20, 1, 0x61, 0x81, 0, 1] + [0].times(48))
        let device = try Bases.base("large device", device: true) { draft in
            try draft.add(
                Bases.ann, Array("s3cret".utf8), [DraftAttribute("photo", [3].times(5000))], accessibility: 5,
                device: Base.device)
            try draft.commit()
        }
        try vault("large-device", "R-6.3", .success, device, "An item of a device with a large attribute.")
        try vault(
            "large-device-absent", "R-6.3", .deviceBound, device, "The same without the device: both are refused.",
            request: .raw(Base.key))
        var scoped = try Bases.scopedDraft("large scoped")
        try scoped.add(
            DraftKey.generic("a", "", group: "web"), Array("no".utf8),
            [DraftAttribute("photo", [3].times(5000)), DraftAttribute("otp", "x", flags: 1)], group: "web")
        try scoped.add(
            DraftKey.generic("b", "", group: "ci"), Array("yes".utf8),
            [DraftAttribute("photo", [4].times(5000)), DraftAttribute("otp", "y", flags: 1)], group: "ci")
        try scoped.commit()
        try vault(
            "large-scoped", "R-6.3", .success, Base(file: scoped.file),
            "Large and sealed attributes of a group that is granted, and of one that is not.",
            request: .raw(Base.scopedKey))
        let sizes = try Bases.base("large sizes") { draft in
            try draft.add(
                Bases.ann, Array("s3cret".utf8),
                [
                    DraftAttribute("a", [1].times(4096)), DraftAttribute("b", [2].times(4097)),
                    DraftAttribute("c", [3].times(4097), flags: 7),
                ])
            try draft.commit()
        }
        try vault(
            "large-4097", "R-6.3, R-11.1", .success, sizes,
            "A value of 4096 bytes in the item's record, and two of 4097 in records of their own.")
    }

    private mutating func addLargeRecords(_ bases: Bases) throws {
        func body(
            _ name: String, _ spec: String, _ expect: Verdict, _ comment: String,
            _ edit: @escaping (inout RawAttributeRecord) -> Void
        ) throws {
            try forged("large-record-\(name)", spec, expect, bases.attributes, comment) { forge in
                guard let id = forge.all(.record).first(where: { forge[$0].body[0] == 1 }) else {
                    throw ForgeError("no attribute's record")
                }
                forge.onBody(id) { body, _ in
                    var record = try RawAttributeRecord(body)
                    edit(&record)
                    body = record.encoded()
                }
            }
        }
        for form in [2, 3, 255] as [UInt8] {
            try body("form-\(form)", "R-5.4", .unsupportedForm, "Its record has the unknown form \(form).") {
                $0.form = form
            }
        }
        try body(
            "form-0", "R-5.4", .structureInvalid,
            "Its record has form 0, which is known and not the one that is called for."
        ) {
            $0.form = 0
        }
        try body("other-key", "R-5.3", .success, "The item key in it is another one: it is not compared.") {
            $0.key = Bases.bob
        }
        try body("key-empty", "R-5.3, R-6.1", .structureInvalid, "The item key in it is empty.") { $0.key = [] }
        try body("key-malformed", "R-5.3, R-6.1", .structureInvalid, "The item key in it is no key.") {
            $0.key = [1].times(20)
        }
        try body("key-class-64", "R-5.3, R-6.1", .structureInvalid, "The item key in it is of class 64.") {
            $0.key[0] = 64
        }
        try body("key-class-0", "R-5.3, R-6.1", .structureInvalid, "The item key in it is of class 0.") {
            $0.key[0] = 0
        }
        try body("other-name", "R-6.5", .structureInvalid, "Another name than the page says.") {
            $0.name = Array("phota".utf8)
        }
        try body("name-empty", "R-11.1", .structureInvalid, "No name.") { $0.name = [] }
        try body("name-utf8", "R-1.4", .structureInvalid, "A name that is not UTF-8.") {
            $0.name = [0xFF, 0xFE, 0xFD, 0xFC, 0xFB]
        }
        try body("flags-other", "R-6.5", .structureInvalid, "Concealed in the record, and not in the page.") {
            $0.flags |= 2
        }
        try body("flags-10", "R-6.3", .structureInvalid, "It has flag 10 in place of 20.") { $0.flags = 0x14 }
        try body("flags-0", "R-6.3", .structureInvalid, "It has no flag 20.") { $0.flags = 4 }
        try body("flags-48", "R-1.2", .structureInvalid, "It has flags 10 and 20.") { $0.flags = 0x34 }
        try body("flags-reserved", "R-1.2", .structureInvalid, "It has a reserved flag.") { $0.flags |= 8 }
        try body(
            "value-4096", "R-6.3", .structureInvalid, "A value of 4096 bytes, which belongs into the item's record."
        ) {
            $0.value = [1].times(4096)
        }
        try body("value-empty", "R-6.3", .structureInvalid, "An empty value.") { $0.value = [] }
        try body("value-4097", "R-6.3", .success, "A value of 4097 bytes, the shortest.") { $0.value = [1].times(4097) }
        try body("step-later", "R-5.1", .success, "A later step than the least.") { $0.step = 8192 }
        try body("no-step", "R-5.1", .structureInvalid, "A length that is no step.") { $0.step = 5200 }
        try body("padding", "R-1.2", .structureInvalid, "A byte of the padding is 1.") { $0.end = [1] }
        try body("longer", "R-1.2", .structureInvalid, "Attributes after the value.") {
            $0.end = [1, 0x11, 1, 0x61, 1, 7]
        }
        try body("value-2-62", "R-2.2, R-11.1", .structureInvalid, "A value of 2^62 bytes.") {
            $0.stated = [0x80].times(8) + [0x40]
        }
        try body("value-long", "R-1.1", .structureInvalid, "Its length is written with a byte too many.") {
            $0.stated = [0x88, 0xA7, 0x00]
        }
        try body("value-past-end", "R-2.2", .structureInvalid, "A value that reaches past the end.") {
            $0.stated = [0xFF, 0x7F]
        }
        try forged(
            "large-record-tag", "R-1.6", .authenticationFailed, bases.attributes,
            "Its tag is wrong: it fails, the secret does not."
        ) { forge in
            guard let id = forge.all(.record).first(where: { forge[$0].body[0] == 1 }) else {
                throw ForgeError("no attribute's record")
            }
            forge.onSealed(id) { $0.flip($0.count - 1) }
        }
        try forged(
            "large-record-other-item", "R-4.1", .authenticationFailed, bases.attributes,
            "It was sealed for another item."
        ) {
            forge in
            guard let id = forge.all(.record).first(where: { forge[$0].body[0] == 1 }) else {
                throw ForgeError("no attribute's record")
            }
            forge.onRecipe(id) { recipe, _ in recipe.x.flip(3) }
        }
        try forged(
            "large-secret-tag", "R-1.6", .authenticationFailed, bases.attributes,
            "The tag of the item's record is wrong: the secret and the attributes in it fail, the large one does not."
        ) { forge in
            guard let id = forge.all(.record).first(where: { forge[$0].body[0] == 0 }) else {
                throw ForgeError("no item's record")
            }
            forge.onSealed(id) { $0.flip($0.count - 1) }
        }
        try addBothFail(bases)
    }

    /// Of several failures, the first in the dump counts, whichever record is read first.
    private mutating func addBothFail(_ bases: Bases) throws {
        let large = DraftAttribute("photo", [0x50].times(5000), flags: 4)
        let first = try Bases.base("large-first") { draft in
            try draft.add(Bases.ann, Array("s3cret".utf8), [large, DraftAttribute("site", [0x6C].times(300))])
            try draft.compact()
        }
        let comment = "The large attribute's record has another form, and the item's record does not open: "
        let cases: [(String, Verdict, Base, String)] = [
            ("large-both-fail", .authenticationFailed, bases.attributes, "one in that comes first in the dump."),
            ("large-both-fail-large-first", .unsupportedForm, first, "the large one comes first in the dump."),
        ]
        for (name, expect, base, which) in cases {
            try forged(name, "R-5.4", expect, base, comment + which) { forge in
                for id in forge.all(.record) {
                    if forge[id].body[0] == 1 {
                        forge.onBody(id) { body, _ in body[0] = 2 }
                    } else {
                        forge.onSealed(id) { $0.flip($0.count - 1) }
                    }
                }
            }
        }
    }
}

/// The body of an attribute's record, in parts.
struct RawAttributeRecord {
    var form: UInt8 = 1
    var key: [UInt8]
    var flags: UInt8
    var name: [UInt8]
    var value: [UInt8]
    /// In place of the value's length.
    var stated: [UInt8]?
    var end: [UInt8] = []
    var step: Int?

    init(_ body: [UInt8]) throws {
        let layout = try RecordLayout(body.span, .attribute, at: 0)
        guard case .attribute(let name, let flags, let value) = layout.content else {
            throw ForgeError("not an attribute's record")
        }
        key = Array(body[layout.key])
        self.flags = flags.rawValue
        self.name = Array(body[name])
        self.value = Array(body[value])
    }

    func encoded() -> [UInt8] {
        var out: [UInt8] = [form]
        out.append(varint: UInt64(key.count))
        out += key + [flags, UInt8(name.count)] + name
        if let stated { out += stated } else { out.append(varint: UInt64(value.count)) }
        out += value
        let length = step ?? Padding.record(out.count)
        out += end
        out.append(zeros: max(length - out.count, 0))
        return out
    }
}
