package import VaultBytes

/// An item of a draft: one sibling, all of whose fields are open, unless `siblings` says otherwise.
package struct DraftItem {
    package var id: Bytes16
    /// The key in the page.
    package var key: [UInt8]
    package var created: Int64
    package var value: DraftValue
    /// Earlier values, oldest first.
    package var versions: [DraftValue] = []
    /// What a merge or somebody else's change left besides.
    package var listing = DraftListing()
    /// Whether there is something to settle (flag 02).
    package var hasConflicts = false
    /// Where the past is; nil if it is to be written.
    package var frame: ObjectRef?

    package init(id: Bytes16, key: [UInt8], created: Int64, value: DraftValue) {
        self.id = id
        self.key = key
        self.created = created
        self.value = value
    }

    mutating func forgetPlaces() {
        frame = nil
        for place in places { self[place].forgetPlaces() }
    }

    /// All values: the live one (0), and the earlier ones.
    package subscript(_ place: Int) -> DraftValue {
        get { place == 0 ? value : versions[place - 1] }
        set { if place == 0 { value = newValue } else { versions[place - 1] = newValue } }
    }

    var places: Range<Int> { 0..<1 + versions.count }
}

/// What an item shows, or values that it does not show and that are in one record.
package struct DraftValue {
    package var secret: [UInt8]
    /// Whether it has a secret. A live value without one has no record if no attribute needs it.
    package var hasSecret = true
    /// In ascending order of names.
    package var attributes: [DraftAttribute]
    /// The dot of the change that left the item like this.
    package var dot: StoredDot
    package var keyDot: StoredDot
    package var placeDot: StoredDot
    package var secretDot: StoredDot
    package var modified: Int64
    /// Of an earlier value: when it ceased to be current.
    package var replaced: Int64 = 0
    /// The item key that its record has.
    package var key: [UInt8]
    package var compartment: UInt64
    package var recordRevision: UInt64
    /// Where its record is; nil if it is to be written.
    package var record: ObjectRef?

    package init(
        secret: [UInt8], attributes: [DraftAttribute], dot: StoredDot, modified: Int64, key: [UInt8],
        compartment: UInt64, recordRevision: UInt64
    ) {
        self.secret = secret
        self.attributes = attributes
        self.dot = dot
        (keyDot, placeDot, secretDot) = (dot, dot, dot)
        self.modified = modified
        self.key = key
        self.compartment = compartment
        self.recordRevision = recordRevision
        for index in attributes.indices where attributes[index].dot == nil { self.attributes[index].dot = dot }
    }

    mutating func forgetPlaces() {
        record = nil
        for index in attributes.indices { attributes[index].record = nil }
    }

    /// Moves its records to other compartments, under a new record revision.
    mutating func reseal(_ moved: [UInt64: UInt64], _ revision: UInt64) {
        forgetPlaces()
        recordRevision = revision
        compartment = moved[compartment] ?? compartment
        for index in attributes.indices where attributes[index].isLarge {
            if let old = attributes[index].compartment { attributes[index].compartment = moved[old] ?? old }
        }
    }

    /// The dots of its fields, in the order of an entry's bitmap.
    package var dots: [StoredDot] { [keyDot, placeDot, secretDot] + attributes.map { $0.dot ?? dot } }

    /// The dots that an entry lists besides its own.
    package var further: [FieldDots] {
        var fields: [StoredDot: [Int]] = [:]
        for (field, one) in dots.enumerated() where one != dot { fields[one, default: []].append(field) }
        return fields.map { one, fields in
            FieldDots(
                difference: dot.revision &- one.revision, position: one.position, fields: FieldSet(fields))
        }.sorted(by: FieldDots.precedes)
    }

    /// Whether it has a record.
    var needsRecord: Bool { hasSecret || attributes.contains { $0.flags & 0x10 != 0 } }

    package var own: RecordRef? {
        record.map { RecordRef(record: $0, revision: recordRevision, compartment: compartment) }
    }
}

/// An attribute, and where its value is put.
package struct DraftAttribute {
    package var name: String
    /// With where the value is: 10 in the item's record, 20 in a record of its own.
    package var flags: UInt8
    package var value: [UInt8]
    /// The change that set it; nil for the change that its item is made by.
    package var dot: StoredDot?
    /// Of a large one: where its record is, and what it is bound to.
    package var record: ObjectRef?
    package var compartment: UInt64?
    package var revision: UInt64?

    /// - `flags`: 1 sealed, 2 concealed, 4 binary.
    package init(_ name: String, _ value: [UInt8], flags: UInt8 = 0) {
        self.name = name
        self.value = value
        self.flags = AttributeFlags(rawValue: flags).placed(size: value.count).rawValue
    }

    package init(_ name: String, _ text: String, flags: UInt8 = 0) { self.init(name, Array(text.utf8), flags: flags) }

    package var isLarge: Bool { flags & 0x20 != 0 }

    func isSameRecord(_ other: DraftAttribute) -> Bool {
        isLarge && other.isLarge && name == other.name && value == other.value && revision == other.revision
            && compartment == other.compartment
    }

    mutating func put(_ ref: ObjectRef, _ compartment: UInt64, _ revision: UInt64) {
        record = ref
        self.compartment = compartment
        self.revision = revision
    }

    /// As a page or a past has it; an earlier value may share the live item's record.
    func inPage(live: DraftValue) throws -> PageAttribute {
        let flags = AttributeFlags(rawValue: self.flags)
        guard isLarge else {
            return PageAttribute(
                name: name, flags: flags, value: flags.contains(.inItemRecord) ? .inItemRecord : .inPage(value))
        }
        let held = record == nil ? live.attributes.first { isSameRecord($0) } ?? self : self
        guard let record = held.record, let revision = held.revision, let compartment = held.compartment else {
            throw ForgeError("a large attribute without a record")
        }
        return PageAttribute(
            name: name, flags: flags,
            value: .inOwnRecord(RecordRef(record: record, revision: revision, compartment: compartment)))
    }
}

/// Item keys, put together from section 6.1.
package enum DraftKey {
    package static func field(_ bytes: [UInt8]) -> [UInt8] { bytes.flatMap { $0 == 0 ? [0, 0xFF] : [$0] } + [0, 0] }
    package static func text(_ text: String) -> [UInt8] { field(Array(text.utf8)) }
    package static func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

    package static func generic(_ service: String, _ account: String, group: String = "", sync: UInt8 = 0) -> [UInt8] {
        [1] + text(service) + text(account) + text(group) + [sync]
    }

    package static func internet(
        _ server: String, _ account: String, protocol scheme: String = "", port: UInt32 = 0, path: String = "",
        domain: String = "",
        authentication: String = "", group: String = "", sync: UInt8 = 0
    ) -> [UInt8] {
        let place = [2] + text(server) + text(scheme) + number(port) + text(path)
        return place + text(account) + text(domain) + text(authentication) + text(group) + [sync]
    }

    /// A certificate (3) or an identity (5).
    package static func certificate(
        _ itemClass: UInt8 = 3, type: UInt32 = 3, issuer: [UInt8], serial: [UInt8], group: String = "", sync: UInt8 = 0
    ) -> [UInt8] { [itemClass] + number(type) + field(issuer) + field(serial) + text(group) + [sync] }

    package static func key(
        keyClass: UInt32 = 1, type: UInt32, label: [UInt8], tag: [UInt8] = [], size: UInt32, effective: UInt32,
        group: String = "",
        sync: UInt8 = 0
    ) -> [UInt8] {
        [4] + number(keyClass) + number(type) + field(label) + field(tag) + number(size) + number(effective)
            + text(group) + [sync]
    }

    /// A reserved class, 6 to 63: text fields, of which the last is the group.
    package static func reserved(_ itemClass: UInt8, _ fields: [String], sync: UInt8 = 0) -> [UInt8] {
        [itemClass] + fields.flatMap { text($0) } + [sync]
    }
}
