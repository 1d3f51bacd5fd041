internal import VaultBytes
internal import VaultStore

// Seals records of attributes, and records that move to other compartments.
extension Transaction {
    /// Attributes in the form stored in a page.
    struct PlacedAttributes {
        var listed: [PageAttribute] = []
        /// The records of large attributes.
        var large: [RecordRef] = []
        /// The records that were resealed: each new record, keyed by the old one.
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

    /// Seals the record of a large attribute whose value was read.
    func append(
        _ attribute: Attribute, of key: ItemKey, _ id: Bytes16, in compartment: UInt64
    ) throws(VaultError) -> RecordRef {
        let own = RecordRef(record: .zero, revision: try recordRevision(), compartment: compartment)
        let ref = try RecordCodec.append(attribute, of: key, try seal(own.identity(of: id)), to: appender)
        return RecordRef(record: ref, revision: own.revision, compartment: compartment)
    }

    /// Seals a record with a secret and attributes.
    func append(
        _ secret: borrowing Secret, _ attributes: [Attribute], of key: ItemKey, _ id: Bytes16, in compartment: UInt64
    ) throws(VaultError) -> RecordRef {
        var own = RecordRef(record: .zero, revision: try recordRevision(), compartment: compartment)
        own.record = try RecordCodec.append(key, secret, attributes, try seal(own.identity(of: id)), to: appender)
        return own
    }

    /// Returns an attribute's record, resealed if its compartment's readers differ from the given compartment's.
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
        try append(try body(own, of: id, before: appender.position), of: id, in: compartment)
    }

    /// Seals the body of a record.
    func append(
        _ body: borrowing Secret, of id: Bytes16, in compartment: UInt64
    ) throws(VaultError) -> RecordRef {
        var new = RecordRef(record: .zero, revision: try recordRevision(), compartment: compartment)
        new.record = try RecordCodec.append(body: body, try seal(new.identity(of: id)), to: appender)
        return new
    }
}

/// Seals, for owners, the values that an item does not show, each protected value in a separate record (R-6.10, R-6.11,
///
struct OwnersSealing {
    private let transaction: Transaction
    /// The reader of the existing records.
    private let reader: any RecordReading
    private let item: Bytes16
    /// The offset before which the existing records end.
    private let referrer: UInt64
    /// Returns the place of a record that is not resealed.
    private let kept: (RecordRef) throws(VaultError) -> RecordRef
    /// The records of large attributes that the item's new entry refers to, including resealed ones.
    private let shared: Set<RecordRef>
    private let moved: [RecordRef: RecordRef]
    /// The device to which the item is bound, if that is this device.
    private let bound: Bytes16?
    /// True if a change replaces the item's siblings, so that only the records tell the groups of values.
    private let replacesSiblings: Bool
    /// Records of attributes that were resealed: several values can share a record.
    private var done: [RecordRef: RecordRef] = [:]

    /// `placed`: the attributes that the item's entry will have.
    /// `device`: the device of the place that the item will have.
    init(_ transaction: Transaction, _ item: Bytes16, _ placed: Transaction.PlacedAttributes, device: Bytes16) {
        self.init(
            transaction, item, placed, device: device, reader: transaction, referrer: transaction.appender.position,
            replacesSiblings: true
        ) { (record) throws(VaultError) in record }
    }

    /// `reader`: reads the records, which may be in another file. `referrer`: the offset before which the records end.
    /// `kept`: returns the place of a record that is not resealed; a record from another file is copied first.
    init(
        _ transaction: Transaction, _ item: Bytes16, _ placed: Transaction.PlacedAttributes, device: Bytes16,
        reader: any RecordReading, referrer: UInt64, replacesSiblings: Bool = false,
        kept: @escaping (RecordRef) throws(VaultError) -> RecordRef
    ) {
        self.transaction = transaction
        self.reader = reader
        self.referrer = referrer
        self.kept = kept
        self.item = item
        self.replacesSiblings = replacesSiblings
        shared = Set(placed.large)
        moved = placed.moved
        bound = device != .zero && device == transaction.core.deviceID ? device : nil
    }

    /// Returns a value with records that only owners can open. A record that needs another device's secret is not
    /// resealed.
    ///
    /// `state`: the merged item, or the item before the change; it contains the attributes that are stored with a
    /// secret.
    mutating func sealed(
        _ name: ValueName, _ value: HeldValue, in state: ItemState
    ) throws(VaultError) -> HeldValue {
        var value = value
        let group = try otherGroup(of: name, value, in: state)
        switch (value.content, name.field) {
        case (.secret(let record, var attributes), _):
            let apart = Self.apart(name, value, in: state)
            var listed: [PageAttribute] = []
            let isChanged = group != nil || !apart.isEmpty
            let new = try sealed(record, always: isChanged) { (sealing, compartment) throws(VaultError) in
                try sealing.secret(record, attributes, apart, group, compartment)
            }
            // A record that could not be resealed does not contain values from other records.
            if new.isElsewhere { attributes.removeAll { attribute in apart.contains { $0.name == attribute.name } } }
            for attribute in attributes {
                guard let own = attribute.record else {
                    listed.append(attribute)
                    continue
                }
                let new = PageAttribute.Value.inOwnRecord(try sealed(ownRecord: own))
                listed.append(PageAttribute(name: attribute.name, flags: attribute.flags, value: new))
            }
            value.content = .secret(new.record, attributes: listed)
        case (.attribute(let flags, .inRecord(let record)), .attribute(let name)) where flags.contains(.inItemRecord):
            let new = try sealed(record, always: group != nil) { (sealing, compartment) throws(VaultError) in
                try sealing.attribute(name, flags, record, group, compartment)
            }
            value.content = .attribute(flags: flags, .inRecord(new.record))
        case (.attribute(let flags, .inRecord(let record)), .attribute(let bytes)) where group != nil:
            let new = try sealed(record, always: true) { (sealing, compartment) throws(VaultError) in
                try sealing.large(bytes, flags, record, group, compartment)
            }
            value.content = .attribute(flags: flags, .inRecord(new.record))
        case (.attribute(let flags, .inRecord(let record)), _):
            value.content = .attribute(flags: flags, .inRecord(try sealed(ownRecord: record)))
        default: break
        }
        return value
    }

    /// Returns the group in which the item had the value, if its record was sealed in another one: a sibling can move
    /// with the value while another copy keeps the value's former record.
    private func otherGroup(
        of name: ValueName, _ value: HeldValue, in state: ItemState
    ) throws(VaultError) -> [UInt8]? {
        guard replacesSiblings, state.siblings.count > 1, value.isInRecord else { return nil }
        let places = state.places(of: name)
        guard !places.isEmpty else { return nil }
        let now = state.place(state.shown())
        guard let place = places.first(where: { $0 == now }) ?? places.first else { return nil }
        var sealed: ItemKey?
        do throws(VaultError) {
            _ = try reader.bytes(name, value, of: item, before: referrer) { key, _ in sealed = key }
        } catch {
            // A value that is damaged or belongs to another device keeps its record.
            guard Transaction.cannotBeRead.contains(error.code) else { throw error }
        }
        guard let sealed, !sealed.group.utf8.elementsEqual(place.group) else { return nil }
        return place.group
    }

    private mutating func sealed(ownRecord own: RecordRef) throws(VaultError) -> RecordRef {
        if let known = done[own] { return known }
        let live = moved[own] ?? own
        guard !shared.contains(live) else { return live }
        let new = try sealed(own) { (sealing, compartment) throws(VaultError) in
            try sealing.resealed(own, compartment)
        }.record
        done[own] = new
        return new
    }

    /// Passes the owners' compartment to `seal`, unless the record is already in it or cannot be opened here.
    private func sealed(
        _ record: RecordRef, always: Bool = false, _ seal: (OwnersSealing, UInt64) throws(VaultError) -> RecordRef
    ) throws(VaultError) -> (record: RecordRef, isElsewhere: Bool) {
        guard let here = transaction.ring.compartment(record.compartment) else {
            throw VaultError(.structureInvalid, "a compartment does not exist")
        }
        if !always, here.isOwners, bound == nil || here.info.device == bound { return (try kept(record), false) }
        do throws(VaultError) {
            return (try seal(self, try transaction.ring.owners(bound ?? here.info.device)), false)
        } catch {
            guard error.code == .deviceBound, here.mayHoldPast else { throw error }
            return (try kept(record), true)
        }
    }

    private func resealed(_ own: RecordRef, _ compartment: UInt64) throws(VaultError) -> RecordRef {
        try transaction.append(try reader.body(own, of: item, before: referrer), of: item, in: compartment)
    }

    /// An attribute that is stored with a secret but whose value is in another record.
    private struct ApartAttribute {
        let name: String
        let valueName: ValueName
        let value: HeldValue
    }

    /// Returns the attributes of a secret that are in other records, which can result from merges.
    private static func apart(
        _ name: ValueName, _ secret: HeldValue, in state: ItemState
    ) -> [ApartAttribute] {
        guard state.values[name]?.replaced == 0, let list = state.attributesOfTime(name.dot) else { return [] }
        return list.compactMap { attribute, name in
            guard attribute.value == .inItemRecord, let value = state.values[name], value.record != secret.record
            else { return nil }
            return ApartAttribute(name: attribute.name, valueName: name, value: value)
        }
    }

    private func secret(
        _ record: RecordRef, _ attributes: [PageAttribute], _ apart: [ApartAttribute], _ group: [UInt8]?,
        _ compartment: UInt64
    ) throws(VaultError) -> RecordRef {
        var body = try reader.body(record, of: item, before: referrer)
        let together = attributes.filter { attribute in !apart.contains { $0.name == attribute.name } }
        let found = try body.withSpan { (bytes) throws(VaultError) in
            try RecordCodec.readEarlier(bytes, Attributes(inPage: together), at: record.record.offset)
        }
        body.narrow(to: found.secret)
        var inRecord = Attributes(sorted: found.attributes.inRecord)
        for one in apart {
            guard case .attribute(let flags, _) = one.value.content else { continue }
            let bytes = try reader.bytes(one.valueName, one.value, of: item, before: referrer)
            inRecord.set(
                Attribute(one.name, secret: bytes, flags: Attribute.Flags(rawValue: flags.meaning.rawValue)))
        }
        let key = try Self.key(found.key, group)
        return try transaction.append(body, inRecord.all, of: key, item, in: compartment)
    }

    private func attribute(
        _ name: [UInt8], _ flags: AttributeFlags, _ record: RecordRef, _ group: [UInt8]?, _ compartment: UInt64
    ) throws(VaultError) -> RecordRef {
        var body = try reader.body(record, of: item, before: referrer)
        let found = try body.withSpan { (bytes) throws(VaultError) in
            try RecordCodec.readAttribute(bytes, name, flags, at: record.record.offset)
        }
        body.narrow(to: found.value)
        let attribute = Attribute(
            String(decoding: name, as: UTF8.self), secret: body,
            flags: Attribute.Flags(rawValue: flags.meaning.rawValue))
        let key = try Self.key(found.key, group)
        return try transaction.append(Secret(count: 0), [attribute], of: key, item, in: compartment)
    }

    private func large(
        _ name: [UInt8], _ flags: AttributeFlags, _ record: RecordRef, _ group: [UInt8]?, _ compartment: UInt64
    ) throws(VaultError) -> RecordRef {
        var body = try reader.body(record, of: item, before: referrer)
        let found = try body.withSpan { (bytes) throws(VaultError) in
            try RecordCodec.readLarge(bytes, name, flags, at: record.record.offset)
        }
        body.narrow(to: found.value)
        let attribute = Attribute(
            String(decoding: name, as: UTF8.self), secret: body,
            flags: Attribute.Flags(rawValue: flags.meaning.rawValue))
        return try transaction.append(attribute, of: try Self.key(found.key, group), item, in: compartment)
    }

    /// Returns the key, in another group if one is given.
    private static func key(_ key: ItemKey, _ group: [UInt8]?) throws(VaultError) -> ItemKey {
        guard let group else { return key }
        do throws(VaultError) { return try ItemKey(key.withoutGroup, group: group) } catch {
            // The item was renamed since; its former name may be too long for this group.
            guard error.code == .limitExceeded else { throw error }
            return key
        }
    }
}
