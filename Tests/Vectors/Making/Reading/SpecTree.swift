internal import TestSupport
internal import VaultBytes
internal import VaultCrypto

/// An item's entry, checked as far as the entry and the vector show it.
struct SpecItem {
    /// The key in the page.
    let key: [UInt8]
    let entry: ItemEntry
    let attributes: [PageAttribute]
    /// The offset of the page.
    let page: UInt64
}

/// What the tree of the served state has (sections 5.2 and 6).
struct SpecTree {
    let reader: SpecReader
    let vector: Vector

    enum Entry {
        case item(SpecItem)
        case forgotten(ForgottenValue)
    }

    init(_ reader: SpecReader, _ vector: Vector) {
        self.reader = reader
        self.vector = vector
    }

    /// A dot as a dump has it.
    static func text(_ dot: StoredDot, _ vector: Vector) -> String {
        guard let full = vector.dot(dot) else { return "\(dot.revision).?" }
        return "\(full.revision).\(full.replica)"
    }

    func text(_ dot: StoredDot) -> String { Self.text(dot, vector) }

    func isDeviceBound(_ compartment: UInt64) -> Bool {
        reader.keyring.compartments.contains { $0.number == compartment && $0.isDeviceBound }
    }

    // MARK: pages

    /// Passes all entries, in their order.
    func walk(_ body: (Entry) throws(Refusal) -> Void) throws(Refusal) {
        let commit = reader.state.commit
        guard let root = commit.root else { return }
        var plain: [[UInt8]: Bytes16] = [:]
        try walk(root.ref, root.level, before: commit.offset, nil, nil) { (key, value, page) throws(Refusal) in
            if key.first == Format.forgottenTag {
                try body(.forgotten(try forgotten(key, value, at: page)))
            } else {
                let item = try item(key, value, at: page)
                try SpecTree.check(item, &plain)
                try body(.item(item))
            }
        }
    }

    private func walk(
        _ ref: ObjectRef, _ level: UInt8, before referrer: UInt64, _ low: [UInt8]?, _ high: [UInt8]?,
        _ entry: ([UInt8], [UInt8], UInt64) throws(Refusal) -> Void
    ) throws(Refusal) {
        let body = try reader.body(ref, .page, before: referrer)
        let layout = try Refusal.of { () throws(FormatError) in try PageLayout(body.span, at: ref.offset) }
        try Refusal.unless(layout.level == level)
        let keys = layout.entries.enumerated().map { index, entry in
            layout.isLeaf || index > 0 ? Array(body[layout.prefix] + body[entry.rest]) : []
        }
        for key in layout.isLeaf ? keys[...] : keys.dropFirst() {
            if let low { try Refusal.unless(!ByteOrder.isLess(key, low)) }
            if let high { try Refusal.unless(ByteOrder.isLess(key, high)) }
        }
        if layout.isLeaf {
            for (key, one) in zip(keys, layout.entries) { try entry(key, Array(body[one.value]), ref.offset) }
            return
        }
        for index in layout.entries.indices {
            let child = try Refusal.of { () throws(FormatError) in try layout.child(index, body.span) }
            let first = index == 0 ? low : keys[index]
            let last = index + 1 < keys.count ? keys[index + 1] : high
            try walk(child, level - 1, before: ref.offset, first, last, entry)
        }
    }

    private func forgotten(_ key: [UInt8], _ value: [UInt8], at page: UInt64) throws(Refusal) -> ForgottenValue {
        let commit = reader.state.commit
        try Refusal.unless(value.isEmpty)
        let found = try Refusal.of { () throws(FormatError) in
            try ForgottenValue(key: key.span, clock: commit.clock, floor: commit.floor, at: page)
        }
        try Refusal.unless(vector.hasSeen(found.dot))
        return found
    }

    ///
    private static func check(_ item: SpecItem, _ plain: inout [[UInt8]: Bytes16]) throws(Refusal) {
        let key = PageKey.itemKey(item.key, item.entry.id)
        guard key != item.key else {
            plain[key] = item.entry.id
            return
        }
        guard let first = plain[key] else { throw Refusal(.structureInvalid) }
        try Refusal.unless(first < item.entry.id)
    }

    private func item(_ key: [UInt8], _ value: [UInt8], at page: UInt64) throws(Refusal) -> SpecItem {
        let item = try Refusal.of { () throws(FormatError) in
            var cursor = Cursor(value.span, at: page, else: .structureInvalid)
            var entry = try ItemEntry(value.span, &cursor)
            let attributes = try PageAttributes.decode(value.span, &cursor)
            try entry.finish(value.span, &cursor, attributes: attributes.count)
            return ForgedItem(entry: entry, attributes: attributes)
        }
        let entry = item.entry
        let group = try SpecKey.group(PageKey.itemKey(key, entry.id))
        try check([entry.dot] + entry.further.map { StoredDot($0.revision(entry.dot), $0.position) })
        // a record is there if the secret or an attribute needs one.
        let needsRecord = !entry.lacksSecret || item.attributes.contains { $0.flags.contains(.inItemRecord) }
        try Refusal.unless(entry.hasRecord == needsRecord)
        let records = (entry.hasRecord ? [entry.own] : []) + item.attributes.compactMap(\.record)
        try check(revisions: records)
        func isOfGroup(_ compartment: UInt64) -> Bool {
            let ring = reader.keyring
            guard let info = ring.compartments.first(where: { $0.number == compartment }) else { return false }
            return ring.groups.contains { $0.number == info.group && Array($0.name.utf8) == group }
        }
        try Refusal.unless(isOfGroup(entry.compartment))
        for own in records { try Refusal.unless(isOfGroup(own.compartment)) }
        return SpecItem(key: key, entry: entry, attributes: item.attributes, page: page)
    }

    ///
    private func check(_ dots: [StoredDot]) throws(Refusal) {
        try reader.check(dots)
        for dot in dots { try Refusal.unless(vector.dot(dot) != nil) }
    }

    private func check(revisions records: [RecordRef]) throws(Refusal) {
        for own in records { try Refusal.unless((1...reader.state.commit.clock).contains(own.revision)) }
    }

    // MARK: pasts

    /// What an item keeps; for owners only.
    func past(_ item: SpecItem, _ frame: ObjectRef) throws(Refusal) -> Past {
        guard let owner = reader.owner else { throw Refusal.noKey }
        let body = try reader.body(frame, .past, before: item.page, key: owner.past)
        let past = try Refusal.of { () throws(FormatError) in
            let past = try Past(body.span, at: frame.offset)
            try past.check(item.entry, item.attributes, at: frame.offset)
            return past
        }
        try check(past.dots)
        let shared = Set(item.attributes.compactMap(\.record))
        for value in past.values {
            if case .key(let key) = value.content { try Refusal.unless(try SpecKey.group(key).isEmpty) }
            for (own, isLarge) in SpecTree.records(value) {
                try check(revisions: [own])
                try Refusal.unless(isForOwners(own.compartment) || isLarge && shared.contains(own))
            }
        }
        return past
    }

    /// The records of a value, and whether they are an attribute's own.
    private static func records(_ value: Past.Value) -> [(RecordRef, isLarge: Bool)] {
        switch value.content {
        case .secret(let own, let attributes): [(own, false)] + attributes.compactMap(\.record).map { ($0, true) }
        case .attributeInRecord(let own): [(own, value.attribute.contains(.inOwnRecord))]
        case .absent, .attribute, .key, .place: []
        }
    }

    private func isForOwners(_ number: UInt64) -> Bool {
        reader.keyring.compartments.contains {
            $0.number == number && ($0.group == Keyring.ownersGroup || $0.isDeviceBound)
        }
    }

    // MARK: records

    func record(
        _ item: Bytes16, _ own: RecordRef, _ attributes: [PageAttribute], before referrer: UInt64, _ use: SpecRecord.Use
    ) throws(Refusal) -> SpecRecord {
        try SpecRecord(try open(item, own, before: referrer), attributes, use)
    }

    /// The value of an attribute with a record of its own.
    func large(
        _ item: Bytes16, _ name: String, _ flags: AttributeFlags, _ own: RecordRef, before referrer: UInt64
    ) throws(Refusal) -> [UInt8] {
        try SpecRecord.large(try open(item, own, before: referrer), Array(name.utf8), flags)
    }

    /// The value of an attribute in a past.
    func attribute(
        _ item: Bytes16, _ value: Past.Value, _ own: RecordRef, before referrer: UInt64
    ) throws(Refusal) -> [UInt8] {
        let body = try open(item, own, before: referrer)
        guard value.attribute.contains(.inItemRecord) else {
            return try SpecRecord.large(body, value.name, value.attribute)
        }
        let record = try SpecRecord(body)
        guard record.flags[value.name] == value.attribute, let found = record.values[value.name] else {
            throw Refusal(.structureInvalid)
        }
        return found
    }

    /// A record's body.
    private func open(_ item: Bytes16, _ own: RecordRef, before referrer: UInt64) throws(Refusal) -> [UInt8] {
        let frame = try reader.frame(own.record, .record, before: referrer)
        guard let key = try reader.compartmentKey(own.compartment) else { throw Refusal.noKey }
        let name = ForgedObject.RecordName(item: item, compartment: own.compartment, revision: own.revision)
        let sealed = Array(frame[8..<32] + frame[64...])
        guard let body = Plain.open(sealed, key: key, bound: Bindings.record(reader.vault, name, length: frame.count))
        else {
            throw Refusal(.authenticationFailed)
        }
        return body
    }

    // MARK: counts

    /// What a reader compares after the walk.
    struct Counts {
        private struct Name: Hashable {
            let kind: FieldKind
            let name: [UInt8]
            let dot: Dot?
        }

        fileprivate private(set) var items: UInt64 = 0
        fileprivate private(set) var forgotten: UInt64 = 0
        fileprivate private(set) var pasts: UInt64 = 0
        /// Whether every past was read.
        private var isWhole = true
        private var present: Set<Name> = []
        private var gone: Set<Name> = []
        private var listed: Set<Name> = []

        mutating func add(_ value: ForgottenValue) {
            forgotten += 1
            listed.insert(Name(kind: value.kind, name: value.name, dot: value.dot))
        }

        mutating func add(_ item: SpecItem, _ past: Past?, isOwner: Bool, _ tree: SpecTree) {
            let entry = item.entry
            items += 1
            pasts += entry.past == nil ? 0 : 1
            isWhole = isWhole && isOwner && (entry.past == nil || past != nil)
            if !entry.lacksSecret {
                let dot = tree.vector.dot(entry.dot(of: FieldSet.secret))
                present.insert(Name(kind: .secret, name: [], dot: dot))
            }
            for (index, attribute) in item.attributes.enumerated() {
                let dot = tree.vector.dot(entry.dot(of: FieldSet.firstAttribute + index))
                present.insert(Name(kind: .attribute, name: Array(attribute.name.utf8), dot: dot))
            }
            for value in past?.values ?? [] {
                let name = Name(kind: value.kind, name: value.name, dot: tree.vector.dot(value.dot))
                if value.flags.contains(.forgotten) { gone.insert(name) } else { present.insert(name) }
            }
        }

        ///
        fileprivate var areForgottenGone: Bool {
            !isWhole || gone.isSubset(of: listed) && listed.isDisjoint(with: present)
        }
    }

    ///
    func check(_ counts: Counts) throws(Refusal) {
        let commit = reader.state.commit
        try Refusal.unless(
            counts.items == commit.items && counts.forgotten == commit.forgotten && counts.pasts == commit.pasts)
        try Refusal.unless(counts.areForgottenGone)
    }
}
