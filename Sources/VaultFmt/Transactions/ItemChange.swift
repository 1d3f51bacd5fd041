internal import VaultBytes
internal import VaultStore

/// A change to an existing item.
struct ItemChange {
    let old: Item
    var key: ItemKey
    var attributes: Attributes
    /// Attributes of an earlier value being restored, whose values may remain unread, like those of the old attributes.
    var restored = Attributes()
    var accessibility: Accessibility
    var created: Int64?
    var modified: Int64?
    /// Whether the item's secret or a sealed value is replaced, so that there is an earlier value to keep.
    var replaces = false

    init(_ old: Item, _ attributes: Attributes) {
        self.old = old
        key = old.key
        self.attributes = attributes
        accessibility = old.accessibility
    }
}

/// The frames that an item needs. Each is counted once, because several versions can share the record of an attribute.
enum ItemFrames {
    /// Returns the total length of an item's frames.
    static func bytes(_ item: Item, _ versions: Versions?) -> Int64 { bytes(item.entry, item.largeRecords, versions) }

    static func bytes(_ entry: ItemEntry, _ large: [RecordRef], _ versions: Versions?) -> Int64 {
        // This is the case for most items.
        if large.isEmpty, entry.versions == nil { return possible(entry.record.length) }
        var lengths = [entry.record.offset: entry.record.length]
        func add(_ ref: ObjectRef) { lengths[ref.offset] = ref.length }
        for record in large { add(record.record) }
        if let frame = entry.versions?.frame { add(frame) }
        for version in versions?.versions ?? [] {
            add(version.record)
            for record in version.largeRecords { add(record.record) }
        }
        return lengths.values.reduce(0) { $0 + possible($1) }
    }

    /// Returns a length if it is valid, otherwise 0. References are checked when they are followed; until then, they
    /// can contain any length.
    private static func possible(_ length: Int) -> Int64 {
        (0...Format.Limit.recordFrame).contains(length) ? Int64(length) : 0
    }
}

extension Attributes {
    /// Whether any attribute has a value that belongs in the item's record but was not read.
    var needsRecord: Bool { all.contains { $0.fileFlags.contains(.inItemRecord) && !$0.isRead } }

    /// The attributes that are in the item's record.
    var inRecord: [Attribute] { all.filter { $0.fileFlags.contains(.inItemRecord) } }

}

extension AttributeChanges {
    /// Returns whether the attributes change the contents of an item's record other than its secret.
    func touchesRecord(of old: Item) -> Bool {
        let new = applied(to: old.attributes)
        let (before, now) = (old.attributes.inRecord, new.inRecord)
        return before != now || now.contains(where: \.isRead)
    }
}

// Creates and changes items: their records, earlier values, entries and counts.
extension Transaction {
    /// Returns whether an item would lose a sealed value. Large values are read to find out, provided that earlier
    /// values are kept.
    func losesSealedValue(_ item: Item, in new: Attributes) throws(VaultError) -> Bool {
        guard ring.kept > 0 else { return false }
        for old in item.attributes.all where old.flags.contains(.sealed) {
            guard let now = new.attribute(old.name) else { return true }
            if now.hasSameValue(as: old) { continue }
            guard case .inOwnRecord = old.content, now.size ?? 0 > Format.Limit.attributeInItemRecord,
                let value = try readIfWhole(old, of: item), value.hasSameValue(as: now)
            else { return true }
        }
        return false
    }

    /// Returns a large attribute with its value; nil if that is damaged or belongs to another device.
    private func readIfWhole(_ attribute: Attribute, of item: Item) throws(VaultError) -> Attribute? {
        do throws(VaultError) {
            let value = try large(attribute, of: item.entry.id, before: item.referrer)
            return Attribute(attribute.name, secret: value, flags: attribute.flags)
        } catch {
            guard Self.cannotBeRead.contains(error.code) else { throw error }
            return nil
        }
    }

    /// Creates an item.
    func make(
        _ key: ItemKey, _ secret: borrowing Secret, _ attributes: Attributes, _ accessibility: Accessibility,
        created: Int64?,
        modified: Int64?
    ) throws(VaultError) {
        guard key.itemClass.isDefined || makesAnyClass else {
            throw VaultError(.invalidArgument, "this version cannot create items of the class \(key.itemClass.name)")
        }
        try ItemLimits.check(secretBytes: secret.count, attributes, created: created, modified: modified)
        let compartment = try ring.compartment(key.group, accessibility)
        let now = core.store.fileSystem.now()
        let id = core.store.random.bytes16()
        let placed = try place(attributes, of: key, id, in: compartment)
        let revision = try core.tick()
        var entry = ItemEntry(
            record: .none, id: id, revision: revision, device: ring.devicePosition(), recordRevision: revision,
            compartment: compartment,
            created: created ?? now, modified: modified ?? now)
        entry.record = try RecordCodec.append(
            key, secret, attributes.inRecord, try seal(entry.own.identity(of: id)), to: appender)
        changes.set(key.bytes, ItemCodec.encode(entry, placed.listed))
        tally.items += 1
        tally.liveBytes += ItemFrames.bytes(entry, placed.large, nil)
    }

    /// Changes an item without replacing its record.
    func apply(_ change: ItemChange) throws(VaultError) {
        try apply(change, compartment: change.old.entry.compartment) { (_) throws(VaultError) in }
    }

    /// Changes an item, giving it a new record.
    func apply(_ change: ItemChange, secret: borrowing Secret) throws(VaultError) {
        try ItemLimits.check(
            secretBytes: secret.count, change.attributes, replacing: change.mayStayUnread, created: change.created,
            modified: change.modified)
        let compartment = try ring.compartment(change.key.group, change.accessibility)
        try apply(change, compartment: compartment) { (entry) throws(VaultError) in
            entry.compartment = compartment
            entry.recordRevision = entry.revision
            entry.record = try RecordCodec.append(
                change.key, secret, change.attributes.inRecord, try seal(entry.own.identity(of: entry.id)), to: appender
            )
        }
        try note(change.old, now: change.key, in: compartment)
    }

    private func apply(
        _ change: ItemChange, compartment: UInt64, _ record: (inout ItemEntry) throws(VaultError) -> Void
    ) throws(VaultError) {
        let old = change.old
        try change.attributes.check(replacing: change.mayStayUnread)
        let now = core.store.fileSystem.now()
        let placed = try place(change.attributes, of: change.key, old.entry.id, in: compartment)
        let versions = try changedVersions(change, placed, compartment, at: now)
        var entry = old.entry
        entry.revision = try core.tick()
        entry.device = ring.devicePosition()
        entry.created = change.created ?? entry.created
        entry.modified = change.modified ?? now
        try record(&entry)
        entry.versions = versions.ref
        if change.key != old.key { changes.set(old.key.bytes, nil) }
        changes.set(change.key.bytes, ItemCodec.encode(entry, placed.listed))
        tally.versions += Int64(entry.versions?.count ?? 0) - Int64(old.earlierValues)
        tally.liveBytes += ItemFrames.bytes(entry, placed.large, versions.now) - ItemFrames.bytes(old, versions.before)
    }

    // MARK: attributes

    /// Attributes in the form stored in a page.
    struct PlacedAttributes {
        var listed: [PageAttribute] = []
        /// The records of large attributes.
        var large: [RecordRef] = []
        /// The records that were resealed: each new record, by the old one.
        var moved: [RecordRef: RecordRef] = [:]
    }

    /// Writes the records of large attributes that are new, or that are in a compartment not allowed for this item.
    func place(
        _ attributes: Attributes, of key: ItemKey, _ id: Bytes16, in compartment: UInt64
    ) throws(VaultError) -> PlacedAttributes {
        var out = PlacedAttributes()
        for attribute in attributes.all {
            let value: PageAttribute.Value
            let flags = attribute.fileFlags
            if flags.contains(.inOwnRecord) {
                let own: RecordRef
                if case .inOwnRecord(let old) = attribute.content {
                    own = try inCompartment(like: compartment, old, id)
                    if own != old { out.moved[old] = own }
                } else {
                    own = try append(attribute, of: key, id, in: compartment)
                }
                out.large.append(own)
                value = .inOwnRecord(own)
            } else if flags.contains(.inItemRecord) {
                value = .inItemRecord
            } else {
                value = .inPage(attribute.value ?? [])
            }
            out.listed.append(PageAttribute(name: attribute.name, flags: flags, value: value))
        }
        return out
    }

    private func append(
        _ attribute: Attribute, of key: ItemKey, _ id: Bytes16, in compartment: UInt64
    ) throws(VaultError) -> RecordRef {
        let own = RecordRef(record: .none, revision: try core.tick(), compartment: compartment)
        let ref = try RecordCodec.append(attribute, of: key, try seal(own.identity(of: id)), to: appender)
        return RecordRef(record: ref, revision: own.revision, compartment: compartment)
    }

    /// Returns an attribute's record, resealed if its compartment has different readers from the given one.
    private func inCompartment(
        like compartment: UInt64, _ own: RecordRef, _ id: Bytes16
    ) throws(VaultError) -> RecordRef {
        guard let here = ring.compartment(own.compartment), let there = ring.compartment(compartment) else {
            throw VaultError(.structureInvalid, "a compartment does not exist")
        }
        if here.isLike(there) { return own }
        return try resealed(own, of: id, in: compartment)
    }

    /// Reseals the same body in a record of another compartment.
    func resealed(
        _ own: RecordRef, of id: Bytes16, in compartment: UInt64
    ) throws(VaultError) -> RecordRef {
        let body = try body(own, of: id, before: appender.position)
        var new = RecordRef(record: .none, revision: try core.tick(), compartment: compartment)
        new.record = try RecordCodec.append(body: body, try seal(new.identity(of: id)), to: appender)
        return new
    }
}

extension ItemChange {
    /// The attributes that may be present without a value.
    var mayStayUnread: Attributes { restored.isEmpty ? old.attributes : Attributes(old.attributes.all + restored.all) }
}

extension ObjectRef {
    /// A reference to a frame that is yet to be written.
    static let none = ObjectRef(offset: 0, length: 0, hash: .zero)
}
