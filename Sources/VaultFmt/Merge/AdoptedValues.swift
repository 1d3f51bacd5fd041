internal import VaultBytes
internal import VaultStore

/// Reseals the values of an item from a vault under another key (a branch or a damaged vault) for the owners of this
/// vault.
struct AdoptedValues {
    private let transaction: Transaction
    private let reader: any RecordReading
    /// The item's ids in the other vault and in this one.
    private let source: Bytes16
    private let item: Bytes16
    /// The device to which the item is bound in this vault.
    private let device: Bytes16
    /// Copies records of other devices, which cannot be opened here.
    private let records: DeviceRecords?

    init(
        _ transaction: Transaction, from reader: any RecordReading, _ source: Bytes16, to item: Bytes16,
        device: Bytes16, records: DeviceRecords? = nil
    ) {
        self.transaction = transaction
        self.reader = reader
        self.source = source
        self.item = item
        self.device = device
        self.records = records
    }

    /// Returns the value with records in our file. Throws if the value is damaged, or if it belongs to another device
    /// and is not copied.
    ///
    /// `referrer`: the offset before which the value's records end.
    func sealed(_ name: ValueName, _ value: HeldValue, before referrer: UInt64) throws(VaultError) -> HeldValue {
        do throws(VaultError) {
            switch (value.content, name.field) {
            case (.secret(let record, _), _): return try secret(name, value, record, referrer)
            case (.attribute(let flags, .inRecord(let record)), .attribute(let bytes)):
                return try attribute(name, value, bytes, flags, record, referrer)
            default: return value
            }
        } catch {
            guard error.code == .deviceBound, let records else { throw error }
            return try value.mapped { (record) throws(VaultError) in
                guard let brought = try records.brought(record) else { throw error }
                return brought
            }
        }
    }

    /// Returns the owners' compartment for a value that was under a compartment of the other vault. A value bound to
    /// this device remains bound to it.
    private func owners(_ record: RecordRef) throws(VaultError) -> UInt64 {
        try owners(of: reader.entryCheck.view.compartment(record.compartment)?.info.device ?? .zero)
    }

    /// Returns the owners' compartment for a value that was set in a place with or without a device.
    func owners(of other: Bytes16) throws(VaultError) -> UInt64 {
        let own = transaction.core.deviceID
        return try transaction.ring.owners(own != .zero && (device == own || other == own) ? own : .zero)
    }

    private func secret(
        _ name: ValueName, _ value: HeldValue, _ record: RecordRef, _ referrer: UInt64
    ) throws(VaultError) -> HeldValue {
        var found: (key: ItemKey, attributes: Attributes)?
        let secret = try reader.bytes(name, value, of: source, before: referrer) { found = ($0, $1) }
        guard let found else { throw Self.withoutKey }
        var attributes: [Attribute] = []
        for attribute in found.attributes.all {
            guard case .inOwnRecord = attribute.content else {
                attributes.append(attribute)
                continue
            }
            let value = try reader.large(attribute, of: source, before: referrer)
            attributes.append(Attribute(attribute.name, secret: value, flags: attribute.flags))
        }
        return try sealed(
            secret, Attributes(sorted: attributes), of: found.key, in: try owners(record), replaced: value.replaced)
    }

    private func attribute(
        _ name: ValueName, _ value: HeldValue, _ bytes: [UInt8], _ flags: AttributeFlags, _ record: RecordRef,
        _ referrer: UInt64
    ) throws(VaultError) -> HeldValue {
        var key: ItemKey?
        let opened = try reader.bytes(name, value, of: source, before: referrer) { found, _ in key = found }
        guard let key else { throw Self.withoutKey }
        let attribute = Attribute(
            String(decoding: bytes, as: UTF8.self), secret: opened,
            flags: Attribute.Flags(rawValue: flags.meaning.rawValue))
        return try sealed(attribute, of: key, in: try owners(record), replaced: value.replaced)
    }

    private static let withoutKey = VaultError(.structureInvalid, "a record has no key")

    // MARK: sealing

    /// Seals a secret with the attributes that the item had at the same time.
    func sealed(
        _ secret: borrowing Secret, _ attributes: Attributes, of key: ItemKey, in compartment: UInt64, replaced: Int64
    ) throws(VaultError) -> HeldValue {
        let placed = try transaction.place(attributes, of: key, item, in: compartment)
        let own = try transaction.append(secret, attributes.inRecord, of: key, item, in: compartment)
        return HeldValue(.secret(own, attributes: placed.listed), replaced: replaced)
    }

    /// Seals an attribute. If it is too short for an attribute's record, it is stored alone in a record that has the
    /// form of an item's record.
    func sealed(
        _ attribute: Attribute, of key: ItemKey, in compartment: UInt64, replaced: Int64
    ) throws(VaultError) -> HeldValue {
        let flags = attribute.fileFlags
        guard flags.contains(.inItemRecord) || flags.contains(.inOwnRecord) else {
            return HeldValue(.attribute(flags: flags, .inPage(attribute.value ?? [])), replaced: replaced)
        }
        let own =
            flags.contains(.inOwnRecord)
            ? try transaction.append(attribute, of: key, item, in: compartment)
            : try transaction.append(Secret(count: 0), [attribute], of: key, item, in: compartment)
        return HeldValue(.attribute(flags: flags, .inRecord(own)), replaced: replaced)
    }
}

extension Transaction {
    /// Writes an item whose shown values are unchanged, or a new item that shows only its key and place. All other
    /// values are already in our file.
    ///
    /// `reader`: reads the old item's past.
    /// `compartment`: the compartment of a new item.
    func write(
        _ state: ItemState, of id: Bytes16, insteadOf old: Item?, _ reader: some RecordReading,
        compartment: UInt64 = 0
    ) throws(VaultError) {
        let shown = state.shown()
        var entry: ItemEntry
        if let old {
            entry = old.entry
        } else {
            entry = ItemEntry(
                record: .zero, id: id, dot: StoredDot(0, 0), recordRevision: 0, compartment: compartment, created: 0,
                modified: 0)
        }
        let attributes = old?.attributes.listed ?? []
        let states = ItemStates(next.vector)
        let hasMarks = state.open.contains { !shown.shows($0) && !(state.values[$0]?.isForgotten ?? true) }
        try states.fill(&entry, state, shown, hasMarks: hasMarks, attributes)
        if entry.lacksSecret, !attributes.contains(where: { $0.flags.contains(.inItemRecord) }) {
            (entry.record, entry.recordRevision) = (.zero, 0)
        }
        let past = try states.past(state, shown, of: id)
        entry.past = try past.map { (past) throws(VaultError) in try write(past) }
        let value = ItemCodec.encode(entry, attributes)
        if let old {
            // A new item with the same key may now be listed under the plain key.
            guard let now = try current(old) else {
                throw VaultError(.structureInvalid, "an item is not where it is listed", at: old.referrer)
            }
            changes.set(now.pageName.bytes, value)
            tally.liveBytes -= ItemFrames.bytes(old.entry, old.largeRecords, try reader.past(of: old))
        } else {
            try put(value, for: id, under: try state.key(shown))
        }
        tally.items += old == nil ? 1 : 0
        tally.pasts += (past == nil ? 0 : 1) - (old?.hasPast ?? false ? 1 : 0)
        tally.liveBytes += ItemFrames.bytes(entry, old?.largeRecords ?? [], past)
    }
}
