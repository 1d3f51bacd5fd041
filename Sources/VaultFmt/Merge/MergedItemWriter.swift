internal import VaultBytes
internal import VaultStore

/// Writes the record, the past and the entry of one merged item.
struct MergedItemWriter {
    private let transaction: Transaction
    private let item: MergedItem
    private let records: MergeRecords
    /// True if earlier values were dropped, because the item would have exceeded a limit.
    private(set) var hasDroppedValues = false

    init(_ transaction: Transaction, _ item: MergedItem, _ theirs: VaultCore) {
        self.transaction = transaction
        self.item = item
        records = MergeRecords(transaction, item, theirs)
    }

    /// Writes the record and the past, but not the entry. `state` refers to records in our file if our file has them.
    mutating func write(
        _ state: ItemState, _ view: ItemView
    ) throws(VaultError) -> (ItemEntry, Transaction.PlacedAttributes, Past?) {
        var state = state
        let shown = view.shown
        var (entry, placed) = try record(state, shown)
        let device = state.place(shown)?.device ?? .zero
        var sealing = OwnersSealing(
            transaction, item.id, placed, device: device, reader: records,
            referrer: transaction.appender.position
        ) { [records] (record) throws(VaultError) in try records.brought(record) }
        let before = state
        for (name, value) in state.values.sorted(by: { $0.key < $1.key }) where !shown.shows(name) {
            state.values[name] = try sealing.sealed(name, value, in: before)
        }
        let past = try finish(&state, view, &entry, placed.listed)
        entry.past = try past.map { (past) throws(VaultError) in try transaction.write(past) }
        return (entry, placed, past)
    }

    /// Sets the parts of the entry that depend on the item's state, and returns the item's past. If the past would
    /// exceed a limit, the item's oldest earlier values are dropped in a change.
    private mutating func finish(
        _ state: inout ItemState, _ view: ItemView, _ entry: inout ItemEntry, _ attributes: [PageAttribute]
    ) throws(VaultError) -> Past? {
        let states = ItemStates(transaction.next.vector)
        try states.fill(&entry, state, view.shown, hasMarks: !view.marks.isEmpty, attributes)
        if let past = try fitting(state, view.shown, states) { return past.past }
        let dot = try transaction.nextDot()
        hasDroppedValues = true
        let changed = ItemStates(transaction.next.vector)
        for limit in (0...transaction.limit).reversed() {
            let edited = try state.changed(
                ItemEdit(), dot: dot, time: state.modified, view, limit: limit
            ) { (name) throws(VaultError) in try item.classOf(name) }
            guard let past = try fitting(edited.state, view.shown, changed) else { continue }
            state = edited.state
            try changed.fill(&entry, state, view.shown, hasMarks: !view.marks.isEmpty, attributes)
            return past.past
        }
        throw VaultError(
            .limitExceeded,
            "an item has too many conflicts: settle some of them on one machine before merging")
    }

    /// Returns an item's past; nil if the past exceeds a limit.
    private func fitting(
        _ state: ItemState, _ shown: ShownItem, _ states: ItemStates
    ) throws(VaultError) -> (past: Past?, Void)? {
        guard let past = try states.past(state, shown, of: item.id) else { return (nil, ()) }
        do throws(FormatError) {
            _ = try past.encode()
            return (past, ())
        } catch {
            guard error.code == .limitExceeded else { throw VaultError(format: error) }
            return nil
        }
    }

    // MARK: shown values

    /// Returns an entry with the item's own record, and the item's attributes.
    private func record(
        _ state: ItemState, _ shown: ShownItem
    ) throws(VaultError) -> (ItemEntry, Transaction.PlacedAttributes) {
        guard let place = state.place(shown) else { throw Self.noPlace }
        let values = attributes(state, shown, place)
        var entry = ItemEntry(
            record: .zero, id: item.id, dot: StoredDot(0, 0), recordRevision: 0, compartment: 0, created: 0,
            modified: 0)
        entry.lacksSecret = shown.fields[.secret] == nil
        if let kept = keptRecord(state, shown, place) {
            entry.compartment = kept.compartment
            if let record = kept.record { entry.own = try records.brought(record) }
            let canSeal = !place.isDeviceBound || place.device == transaction.core.deviceID
            guard try hasOtherReaders(values, than: entry.compartment) else {
                return (entry, try keptAttributes(values, state))
            }
            guard canSeal else { throw Self.noPlace }
            let attributes = try opened(values, state, in: entry.compartment)
            let placed = try transaction.place(attributes, of: try state.key(shown), item.id, in: entry.compartment)
            return (entry, Self.noting(placed, values, state))
        }
        guard !place.isDeviceBound || place.device == transaction.core.deviceID else { throw Self.noPlace }
        return try sealedRecord(entry, values, state, shown, place)
    }

    private static let noPlace = VaultError(
        .deviceBound, "an item that is bound to another device combines several records")

    /// An attribute that the item shows, and the name of its value.
    private typealias Shown = (name: ValueName, attribute: PageAttribute)

    /// The attributes that an item shows, in the order of their names. If a copy has the item in the same place, its
    /// records of large attributes are under the right keys; another copy can have the same values under other keys.
    private func attributes(_ state: ItemState, _ shown: ShownItem, _ place: Place) -> [Shown] {
        let there = [item.ours, item.theirs].compactMap(\.self).filter { $0.item.place == place }
            .map { (state: $0.state, shown: $0.state.shown()) }
        var all: [Shown] = []
        for (field, dot) in shown.fields.sorted(by: { $0.key < $1.key }) {
            let name = ValueName(field, dot)
            let held = there.first { $0.shown.shows(name) }?.state.values[name] ?? state.values[name]
            guard case .attribute(let bytes) = field, case .attribute(let flags, let value)? = held?.content
            else { continue }
            let content: PageAttribute.Value =
                switch value {
                case .inPage(let bytes): .inPage(bytes)
                case .inRecord where flags.contains(.inItemRecord): .inItemRecord
                case .inRecord(let own): .inOwnRecord(own)
                }
            let text = String(decoding: bytes, as: UTF8.self)
            all.append((name, PageAttribute(name: text, flags: flags, value: content)))
        }
        return all
    }

    /// Returns a record from one of the copies that contains exactly the shown values for the same readers, or a record
    /// of another device that contains at least these values; nil if there is none.
    private func keptRecord(
        _ state: ItemState, _ shown: ShownItem, _ place: Place
    ) -> (record: RecordRef?, compartment: UInt64)? {
        let wanted = Self.inRecord(state, shown)
        for held in [item.ours, item.theirs].compactMap(\.self) where held.item.place == place {
            guard Self.inRecord(held.state, held.state.shown()) == wanted else { continue }
            return (held.item.entry.hasRecord ? held.item.entry.own : nil, held.item.entry.compartment)
        }
        guard place.isDeviceBound, place.device != transaction.core.deviceID else { return nil }
        // Only the device could combine two records, so all values are in the same record.
        let records = Set(wanted.compactMap { state.values[$0]?.record })
        guard let record = records.first else {
            return transaction.ring.compartment(of: place).map { (nil, $0) }
        }
        return records.count == 1 ? (record, record.compartment) : nil
    }

    /// The secret and attributes of an item that are in its own record.
    private static func inRecord(_ state: ItemState, _ shown: ShownItem) -> Set<ValueName> {
        Set(
            shown.fields.map { ValueName($0, $1) }.filter { name in
                switch state.values[name]?.content {
                case .secret: true
                case .attribute(let flags, .inRecord): flags.contains(.inItemRecord)
                default: false
                }
            })
    }

    /// The unchanged attributes, with references to our file.
    private func keptAttributes(
        _ values: [Shown], _ state: ItemState
    ) throws(VaultError) -> Transaction.PlacedAttributes {
        var placed = Transaction.PlacedAttributes()
        for value in values {
            guard let record = value.attribute.record else {
                placed.listed.append(value.attribute)
                continue
            }
            let new = try records.brought(record)
            placed.large.append(new)
            placed.listed.append(
                PageAttribute(name: value.attribute.name, flags: value.attribute.flags, value: .inOwnRecord(new)))
        }
        return Self.noting(placed, values, state)
    }

    /// Records the new places of large attributes' records, because values that the item does not show can share them.
    /// The item can have each attribute in two records, one from each copy.
    private static func noting(
        _ placed: Transaction.PlacedAttributes, _ values: [Shown], _ state: ItemState
    ) -> Transaction.PlacedAttributes {
        var placed = placed
        for (value, listed) in zip(values, placed.listed) {
            guard let new = listed.record else { continue }
            for old in [value.attribute.record, state.values[value.name]?.record].compactMap(\.self) where old != new {
                placed.moved[old] = new
            }
        }
        return placed
    }

    /// Returns whether a large attribute has a record whose readers differ from a compartment's readers.
    private func hasOtherReaders(_ values: [Shown], than compartment: UInt64) throws(VaultError) -> Bool {
        guard let there = transaction.ring.compartment(compartment) else { throw Self.noPlace }
        return !values.compactMap(\.attribute.record).allSatisfy {
            transaction.ring.compartment($0.compartment)?.isLike(there) ?? false
        }
    }

    /// Seals a record with the shown values.
    private func sealedRecord(
        _ entry: ItemEntry, _ values: [Shown], _ state: ItemState, _ shown: ShownItem, _ place: Place
    ) throws(VaultError) -> (ItemEntry, Transaction.PlacedAttributes) {
        let key = try state.key(shown)
        var entry = entry
        guard let accessibility = Accessibility(rawValue: place.accessibility) else { throw Self.noPlace }
        entry.compartment = try transaction.ring.compartment(key.group, accessibility)
        let attributes = try opened(values, state, in: entry.compartment)
        let placed = Self.noting(
            try transaction.place(attributes, of: key, item.id, in: entry.compartment), values, state)
        guard !entry.lacksSecret || !attributes.inRecord.isEmpty else { return (entry, placed) }
        var secret = Secret(count: 0)
        if let dot = shown.fields[.secret] { secret = try bytes(ValueName(.secret, dot), state) }
        entry.own = try transaction.append(secret, attributes.inRecord, of: key, item.id, in: entry.compartment)
        return (entry, placed)
    }

    /// Returns attributes with their values, or with their records if those can be reused.
    private func opened(
        _ values: [Shown], _ state: ItemState, in compartment: UInt64
    ) throws(VaultError) -> Attributes {
        guard let there = transaction.ring.compartment(compartment) else { throw Self.noPlace }
        var all: [Attribute] = []
        for (name, attribute) in values {
            let flags = Attribute.Flags(rawValue: attribute.flags.meaning.rawValue)
            switch attribute.value {
            case .inPage(let bytes): all.append(Attribute(attribute.name, bytes, flags: flags))
            case .inOwnRecord(let record) where transaction.ring.compartment(record.compartment)?.isLike(there) ?? false:
                all.append(Attribute(attribute.name, .inOwnRecord(try records.brought(record)), flags: flags))
            case .inItemRecord, .inOwnRecord:
                all.append(Attribute(attribute.name, secret: try bytes(name, state), flags: flags))
            }
        }
        return Attributes(sorted: all)
    }

    private func bytes(_ name: ValueName, _ state: ItemState) throws(VaultError) -> Secret {
        guard let value = state.values[name] else { throw Self.noPlace }
        return try records.bytes(name, value, of: item.id, before: transaction.appender.position)
    }
}

extension WritableKeyring {
    /// Returns a compartment for a place, even if the compartment's key is unavailable; nil if there is none.
    func compartment(of place: Place) -> UInt64? {
        keyring.compartments.first { info in
            guard let found = compartment(info.number) else { return false }
            // The owners' group has an empty name, like the default group.
            return !found.isOwners && found.place == place
        }?.number
    }
}
