internal import VaultBytes
internal import VaultStore

/// A change to an existing item.
struct ItemChange {
    let old: Item
    /// The item's attributes before the change; unread values are missing.
    var before: Attributes
    var key: ItemKey
    var attributes: Attributes
    var accessibility: Accessibility
    var created: Int64?
    var modified: Int64?
    /// True if the secret is changed, or a conflict in it is settled.
    var writesSecret = false
    /// Attributes that are set, and therefore settled, even if their values are unchanged.
    var setAttributes: Set<[UInt8]> = []
    /// Attributes of another state of the item; their values need not be read.
    var keepsUnread = Attributes()
    /// True if the values that the item does not show are dropped, because they cannot be read.
    var losesPast = false
    /// Losing values that are renamed to a dot of this change: their old names, keyed by the new names.
    var kept: [ValueName: ValueName] = [:]
    /// Further effects on the item's values: they are settled, forgotten or added.
    var edit = ItemEdit()

    init(_ old: Item) {
        self.old = old
        before = old.attributes
        key = old.storedKey
        attributes = before
        accessibility = old.accessibility
    }

    /// The attributes that may be present without a value. If both states have an attribute of the same name in
    /// different records, the change has the other state's attribute.
    var mayStayUnread: Attributes { keepsUnread.isEmpty ? before : Attributes(before.all + keepsUnread.all) }

    /// True if the item shows no secret after the change, although it showed one before.
    var dropsSecret: Bool { edit.dropped.contains(.secret) }

    /// Returns the fields whose open values the change replaces: those that it writes, drops or settles.
    /// `attributes`: the attributes after the change.
    func closedFields(_ written: WrittenFields, _ attributes: Attributes) -> Set<FieldName> {
        var closed = edit.settled.union(edit.dropped)
        if written.key { closed.insert(.key) }
        if written.place { closed.insert(.place) }
        if written.secret { closed.insert(.secret) }
        for (index, attribute) in attributes.all.enumerated() where written.attributes[index] {
            closed.insert(.attribute(attribute.name))
        }
        for name in before.names where attributes.index(of: name) == nil { closed.insert(.attribute(name)) }
        return closed
    }

    /// Records that these attributes are set, which matters only for conflicts.
    mutating func settles(_ set: [Attribute]) {
        if old.needsSettling { setAttributes.formUnion(set.map { Array($0.name.utf8) }) }
    }
}

/// The fields whose values a change modifies.
struct WrittenFields {
    var key = false
    var place = false
    var secret = false
    /// For each attribute after the change, whether it is written.
    var attributes: [Bool] = []
}

/// The frames that an item needs. Each is counted once, because several values can share a record.
enum ItemFrames {
    /// Returns the total length of an item's frames; `past` is the past that the item's entry refers to.
    static func bytes(_ entry: ItemEntry, _ large: [RecordRef], _ past: Past?) -> Int64 {
        // Most items have neither large attributes nor a past.
        if large.isEmpty, entry.past == nil { return possible(entry.record.length) }
        var lengths = [entry.record.offset: entry.record.length]
        func add(_ ref: ObjectRef) { lengths[ref.offset] = ref.length }
        for record in large { add(record.record) }
        if let frame = entry.past { add(frame) }
        for value in past?.values ?? [] { for record in value.records { add(record.record) } }
        return lengths.values.reduce(0) { $0 + possible($1) }
    }

    /// Returns a length if it is valid, otherwise 0. References are checked when they are followed; until then, they
    /// can contain any length.
    private static func possible(_ length: Int) -> Int64 {
        (0...Format.Limit.recordFrame).contains(length) ? Int64(length) : 0
    }
}

extension Attributes {
    /// True if any attribute has a value that belongs in the item's record but was not read.
    var needsRecord: Bool { all.contains { $0.fileFlags.contains(.inItemRecord) && !$0.isRead } }

    /// The attributes that are in the item's record.
    var inRecord: [Attribute] { all.filter { $0.fileFlags.contains(.inItemRecord) } }

    /// The attributes in the form of a page, in which all large attributes have their own records.
    var listed: [PageAttribute] {
        all.map { attribute in
            let value: PageAttribute.Value =
                switch attribute.content {
                case .inOwnRecord(let own): .inOwnRecord(own)
                case .inItemRecord: .inItemRecord
                case .bytes, .secret:
                    attribute.fileFlags.contains(.inItemRecord) ? .inItemRecord : .inPage(attribute.value ?? [])
                }
            return PageAttribute(name: attribute.name, flags: attribute.fileFlags, value: value)
        }
    }
}

extension AttributeChanges {
    /// Returns whether the attributes change the contents of an item's record other than its secret.
    func touchesRecord(of old: Attributes) -> Bool {
        let (before, now) = (old.inRecord, applied(to: old).inRecord)
        return before != now || now.contains(where: \.isRead)
    }
}

// Creates and changes items: their records, entries and counts.
extension Transaction {
    /// Creates an item.
    func make(
        _ key: ItemKey, _ secret: borrowing Secret, _ attributes: Attributes, _ accessibility: Accessibility,
        id: Bytes16? = nil, created: Int64?, modified: Int64?
    ) throws(VaultError) {
        guard key.itemClass.isDefined || makesAnyClass else {
            throw VaultError(.invalidArgument, "this version cannot create items of the class \(key.itemClass.name)")
        }
        try ItemLimits.check(secretBytes: secret.count, attributes, created: created, modified: modified)
        let compartment = try ring.compartment(key.group, accessibility)
        let now = core.store.fileSystem.now()
        let id = id ?? core.store.random.bytes16()
        let placed = try place(attributes, of: key, id, in: compartment)
        let dot = try nextDot()
        var entry = ItemEntry(
            record: .zero, id: id, dot: next.stored(dot), recordRevision: dot.revision, compartment: compartment,
            created: created ?? now, modified: modified ?? now)
        entry.record = try RecordCodec.append(
            key, secret, attributes.inRecord, try seal(entry.own.identity(of: id)), to: appender)
        changes.set(key.bytes, ItemCodec.encode(entry, placed.listed))
        tally.items += 1
        tally.liveBytes += ItemFrames.bytes(entry, placed.large, nil)
    }

    /// Changes an item without replacing its record.
    func apply(_ change: ItemChange) throws(VaultError) {
        try apply(change, compartment: change.old.entry.compartment) { (_, _, _) throws(VaultError) in }
    }

    /// Changes an item, and writes a new record if the record's contents differ. `secret` is empty if the item has no
    /// secret after the change.
    func apply(_ change: ItemChange, secret: borrowing Secret) throws(VaultError) {
        try ItemLimits.check(
            secretBytes: secret.count, change.attributes, replacing: change.mayStayUnread, created: change.created,
            modified: change.modified)
        let compartment = try ring.compartment(change.key.group, change.accessibility)
        try apply(change, compartment: compartment) { (entry, attributes, dot) throws(VaultError) in
            let inRecord = attributes.inRecord
            let isSame = compartment == entry.compartment && inRecord == change.before.inRecord
            if !change.writesSecret, !change.dropsSecret, isSame, !inRecord.contains(where: { !$0.isRead }) { return }
            entry.compartment = compartment
            if change.writesSecret { entry.lacksSecret = false }
            if change.dropsSecret { entry.lacksSecret = true }
            guard !entry.lacksSecret || !inRecord.isEmpty else {
                (entry.record, entry.recordRevision) = (.zero, 0)
                return
            }
            entry.recordRevision = dot.revision
            entry.record = try RecordCodec.append(
                change.key, secret, inRecord, try seal(entry.own.identity(of: entry.id)), to: appender)
        }
        try note(change.old, now: change.key, in: compartment)
    }

    private func apply(
        _ change: ItemChange, compartment: UInt64,
        _ record: (inout ItemEntry, Attributes, Dot) throws(VaultError) -> Void
    ) throws(VaultError) {
        let old = change.old
        try change.attributes.check(replacing: change.mayStayUnread)
        let (attributes, written) = try compared(change, compartment)
        let placed = try place(attributes, of: change.key, old.entry.id, in: compartment)
        var change = change
        try keepLosers(of: &change, written, attributes)
        let dot = try nextDot()
        var entry = old.entry
        try record(&entry, attributes, dot)
        let pasts: ChangedPast
        if needsState(change, written, placed) {
            pasts = try changePast(change, &entry, placed, written, dot)
        } else {
            setDots(change, &entry, written, dot)
            pasts = ChangedPast(before: nil, now: nil)
        }
        let value = ItemCodec.encode(entry, placed.listed)
        if change.key == old.storedKey {
            changes.set(old.pageName.bytes, value)
        } else {
            names.noteMove(of: old)
            try take(old)
            try put(value, for: old.entry.id, under: change.key)
        }
        tally.pasts += (entry.past == nil ? 0 : 1) - (old.hasPast ? 1 : 0)
        tally.liveBytes += ItemFrames.bytes(entry, placed.large, pasts.now)
        tally.liveBytes -= ItemFrames.bytes(old.entry, old.largeRecords, pasts.before)
        let sealed = zip(attributes.all, written.attributes).filter { $1 && $0.flags.contains(.sealed) }
        guard !sealed.isEmpty, let before = try committed(old) else { return }
        try note(sealed: sealed.map { $0.0.name }, before: before, now: change.key, in: compartment)
    }

    /// Writes the entry and the past of an item that does not exist, or no longer exists, with the records that an
    /// earlier entry refers to.
    func write(_ item: Item, _ state: ItemState, hasMarks: Bool) throws(VaultError) {
        let states = ItemStates(next.vector)
        let shown = state.shown()
        let listed = item.attributes.listed
        var entry = item.entry
        try states.fill(&entry, state, shown, hasMarks: hasMarks, listed)
        let past = try states.past(state, shown, of: entry.id)
        entry.past = try past.map { (past) throws(VaultError) in try write(past) }
        try put(ItemCodec.encode(entry, listed), for: entry.id, under: item.storedKey)
        tally.items += 1
        tally.pasts += past == nil ? 0 : 1
        tally.liveBytes += ItemFrames.bytes(entry, item.largeRecords, past)
    }

    // MARK: differences

    /// Returns whether a change modifies the value of any field.
    func differs(_ change: ItemChange) throws(VaultError) -> Bool {
        let compartment = try ring.compartment(change.key.group, change.accessibility)
        let written = try compared(change, compartment).1
        let isDropped = change.before.names.contains { change.attributes.index(of: $0) == nil }
        return written.key || written.place || written.secret || written.attributes.contains(true) || isDropped
    }

    /// Returns the fields whose open values a change replaces.
    func closedFields(_ change: ItemChange) throws(VaultError) -> Set<FieldName> {
        let compartment = try ring.compartment(change.key.group, change.accessibility)
        let (attributes, written) = try compared(change, compartment)
        return change.closedFields(written, attributes)
    }

    /// Returns the attributes after a change, in which unchanged large attributes refer to their old records, and the
    /// fields whose values differ.
    private func compared(_ change: ItemChange, _ compartment: UInt64) throws(VaultError) -> (
        Attributes, WrittenFields
    ) {
        guard let now = ring.compartment(compartment) else {
            throw VaultError(.structureInvalid, "a compartment does not exist")
        }
        var written = WrittenFields()
        written.key = change.key.withoutGroup != change.old.storedKey.withoutGroup
        written.place = now.place != change.old.place
        written.secret = change.writesSecret
        var attributes: [Attribute] = []
        for new in change.attributes.all {
            guard let old = change.before.attribute(new.name), new.flags == old.flags else {
                attributes.append(new)
                written.attributes.append(true)
                continue
            }
            var isSame = new == old
            if !isSame { isSame = try isSameLarge(old, new, of: change.old) }
            attributes.append(isSame && !new.hasSameValue(as: old) ? old : new)
            written.attributes.append(!isSame || change.setAttributes.contains(Array(new.name.utf8)))
        }
        return (Attributes(sorted: attributes), written)
    }

    /// Returns whether a given value, or that in another record of the item, is the same as the value in the old
    /// attribute's own record. A value that cannot be read counts as different.
    private func isSameLarge(_ old: Attribute, _ new: Attribute, of item: Item) throws(VaultError) -> Bool {
        guard case .inOwnRecord = old.content, new.fileFlags.contains(.inOwnRecord) else { return false }
        do throws(VaultError) {
            let before = try readLarge(old, of: item, before: item.referrer)
            // An undo refers to a record of an earlier state, which a move to another group has resealed since.
            let now = new.isRead ? new : try readLarge(new, of: item, before: appender.position)
            return before.hasSameValue(as: now)
        } catch {
            guard Self.cannotBeRead.contains(error.code) else { throw error }
            return false
        }
    }

    private func readLarge(
        _ attribute: Attribute, of item: Item, before referrer: UInt64
    ) throws(VaultError) -> Attribute {
        let value = try large(attribute, of: item.entry.id, before: referrer)
        return Attribute(attribute.name, secret: value, flags: attribute.flags)
    }

    /// Returns whether a change needs the item's full state, because the item has a past or will have one.
    private func needsState(_ change: ItemChange, _ written: WrittenFields, _ placed: PlacedAttributes) -> Bool {
        if change.old.hasPast || !change.edit.isEmpty { return true }
        guard ring.kept > 0 else { return false }
        if written.secret, !change.old.lacksSecret { return true }
        return change.before.all.contains { old in
            guard old.flags.contains(.sealed) else { return false }
            guard let index = change.attributes.index(of: old.name) else { return true }
            return written.attributes[index]
        }
    }

    /// Sets the dots and times in the entry of an item that has no past before or after the change.
    private func setDots(_ change: ItemChange, _ entry: inout ItemEntry, _ written: WrittenFields, _ dot: Dot) {
        let old = change.old.entry
        entry.dot = next.stored(dot)
        entry.created = change.created ?? entry.created
        entry.modified = change.modified ?? core.store.fileSystem.now()
        var further: [StoredDot: FieldSet] = [:]
        func keep(_ field: Int, _ before: Int) {
            further[old.dot(of: before), default: FieldSet()].insert(field)
        }
        if !written.key { keep(FieldSet.key, FieldSet.key) }
        if !written.place { keep(FieldSet.place, FieldSet.place) }
        if !written.secret, !entry.lacksSecret { keep(FieldSet.secret, FieldSet.secret) }
        for (index, attribute) in change.attributes.all.enumerated() where !written.attributes[index] {
            guard let before = change.before.index(of: attribute.name) else { continue }
            keep(FieldSet.firstAttribute + index, FieldSet.firstAttribute + before)
        }
        entry.further = further.map { before, fields in
            FieldDots(
                difference: entry.dot.revision - before.revision, position: before.position, fields: fields)
        }
        entry.further.sort(by: FieldDots.precedes)
    }
}
