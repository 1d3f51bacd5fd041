internal import VaultBytes
internal import VaultStore

/// Converts between the stored form of an item and its state (specification, sections 5.3, 6.3 and 6.4).
struct ItemStates {
    /// The vector whose positions the stored dots refer to.
    let vector: Vector

    init(_ vector: Vector) { self.vector = vector }

    /// Creates a substitute for a damaged vector, in which positions serve as replica ids. The result is only for
    /// reading; it must not be written or compared with another vault.
    init(standingInFor item: Item, _ past: Past?, floor: UInt64) throws(VaultError) {
        var dots = (past?.dots ?? []) + [item.entry.dot]
        dots += item.entry.further.map { StoredDot($0.revision(item.entry.dot), $0.position) }
        let most = dots.map(\.position).max() ?? 0
        let rows = most == 0 ? [] : (1...most).map { Vector.Row(UInt64($0), Format.Limit.number) }
        guard let vector = Vector(floor: floor, rows: rows) else {
            throw VaultError(.structureInvalid, "a dot has an invalid position", at: item.referrer)
        }
        self.init(vector)
    }

    // MARK: reading

    /// Returns the state of an item, given the checked past that its entry refers to, if any.
    func state(of item: Item, _ past: Past?) throws(VaultError) -> ItemState {
        let entry = item.entry
        var values: [ValueName: HeldValue] = [:]
        var fields: [FieldName: Dot] = [:]
        for (field, place, value) in Self.shown(item) {
            let dot = try dot(entry.dot(of: place), at: item.referrer)
            fields[field] = dot
            values[ValueName(field, dot)] = value
        }
        let dot = try dot(entry.dot, at: item.referrer)
        let sibling = Sibling(fields, created: entry.created, modified: entry.modified)
        var state = ItemState(dot, sibling, values)
        guard let past, let ref = entry.past else { return state }
        let names = try names(past, at: ref.offset)
        for (name, value) in zip(names, past.values) {
            if let held = Self.held(value) { state.values[name] = held }
            if value.flags.contains(.earlier) { state.siblings[dot]?.earlier.insert(name) }
        }
        let open = Set(zip(names, past.values).filter { $1.flags.contains(.open) }.map { $0.0 })
        guard !past.siblings.isEmpty else {
            // The only sibling has the values in the entry.
            state.open.formUnion(open)
            return state
        }
        state.open = open
        state.siblings = [:]
        for sibling in past.siblings {
            let held = Dictionary(
                sibling.fields.map { (names[$0].field, names[$0].dot) }, uniquingKeysWith: { first, _ in first })
            state.siblings[try self.dot(sibling.dot, at: ref.offset)] = Sibling(
                held, earlier: Set(sibling.earlier.map { names[$0] }), created: sibling.created,
                modified: sibling.modified)
        }
        state.setAttributesOfTime()
        return state
    }

    /// Returns the names of the values in an entry, which are all values of an item without a past.
    func shownNames(of item: Item) throws(VaultError) -> [ValueName] {
        func name(_ field: FieldName, _ place: Int) throws(VaultError) -> ValueName {
            ValueName(field, try dot(item.entry.dot(of: place), at: item.referrer))
        }
        var names = [try name(.key, FieldSet.key), try name(.place, FieldSet.place)]
        if !item.entry.lacksSecret { names.append(try name(.secret, FieldSet.secret)) }
        for (index, attribute) in item.attributes.listed.enumerated() {
            names.append(try name(.attribute(attribute.name), FieldSet.firstAttribute + index))
        }
        return names
    }

    /// The fields in an entry, their positions in its bitmaps, and their values.
    private static func shown(_ item: Item) -> [(FieldName, Int, HeldValue)] {
        let attributes = item.attributes.listed
        var all: [(FieldName, Int, HeldValue)] = [
            (.key, FieldSet.key, HeldValue(.key(item.storedKey.withoutGroup))),
            (.place, FieldSet.place, HeldValue(.place(item.place))),
        ]
        if !item.entry.lacksSecret {
            let plain = attributes.filter { !$0.flags.contains(.sealed) }
            all.append((.secret, FieldSet.secret, HeldValue(.secret(item.entry.own, attributes: plain))))
        }
        for (index, attribute) in attributes.enumerated() {
            let value = HeldValue(attribute, itemRecord: item.entry.own)
            all.append((.attribute(attribute.name), FieldSet.firstAttribute + index, value))
        }
        return all
    }

    private func names(_ past: Past, at offset: UInt64) throws(VaultError) -> [ValueName] {
        var names: [ValueName] = []
        names.reserveCapacity(past.values.count)
        for value in past.values {
            names.append(ValueName(Self.field(of: value), try dot(value.dot, at: offset)))
        }
        return names
    }

    /// Returns the field that a value of a past belongs to.
    static func field(of value: Past.Value) -> FieldName {
        switch value.kind {
        case .secret: .secret
        case .attribute: .attribute(value.name)
        case .key: .key
        case .place: .place
        }
    }

    /// Returns a value of a past; nil if it is stored in the item's entry.
    static func held(_ value: Past.Value) -> HeldValue? {
        let content: HeldValue.Content
        switch value.content {
        case .absent:
            guard value.flags.contains(.forgotten) else { return nil }
            content = .forgotten(value.attribute)
        case .secret(let record, let attributes): content = .secret(record, attributes: attributes)
        case .attribute(let bytes): content = .attribute(flags: value.attribute, .inPage(bytes))
        case .attributeInRecord(let record): content = .attribute(flags: value.attribute, .inRecord(record))
        case .key(let key): content = .key(key)
        case .place(let place): content = .place(place)
        }
        return HeldValue(content, replaced: value.replaced)
    }

    private func dot(_ stored: StoredDot, at offset: UInt64) throws(VaultError) -> Dot {
        guard let dot = vector.dot(stored) else {
            throw VaultError(.structureInvalid, "a dot belongs to a change that the vault does not include", at: offset)
        }
        return dot
    }

    // MARK: writing

    /// Sets the parts of an entry that depend on the item's state: its dots, times and flags. `attributes` are the
    /// entry's attributes. The caller sets `past` after writing the past.
    func fill(
        _ entry: inout ItemEntry, _ state: ItemState, _ shown: ShownItem, hasMarks: Bool, _ attributes: [PageAttribute]
    ) throws(VaultError) {
        let siblings = try state.siblings.keys.map(stored)
        guard let greatest = siblings.max(by: StoredDot.precedes) else {
            preconditionFailure("an item has at least one sibling")
        }
        entry.dot = greatest
        (entry.created, entry.modified) = (state.created, state.modified)
        entry.hasConflicts = hasMarks
        entry.lacksSecret = shown.fields[.secret] == nil
        var further: [StoredDot: FieldSet] = [:]
        func add(_ field: FieldName, _ place: Int) throws(VaultError) {
            guard let dot = shown.fields[field] else { return }
            let stored = try stored(dot)
            if stored != greatest { further[stored, default: FieldSet()].insert(place) }
        }
        try add(.key, FieldSet.key)
        try add(.place, FieldSet.place)
        try add(.secret, FieldSet.secret)
        for (index, attribute) in attributes.enumerated() {
            try add(.attribute(attribute.name), FieldSet.firstAttribute + index)
        }
        entry.further = further.map { dot, fields in
            FieldDots(difference: greatest.revision - dot.revision, position: dot.position, fields: fields)
        }
        entry.further.sort(by: FieldDots.precedes)
    }

    /// Returns the past of an item; nil if the item has none.
    func past(_ state: ItemState, _ shown: ShownItem, of item: Bytes16) throws(VaultError) -> Past? {
        let isPlain = Self.isPlain(state, shown)
        var values: [(name: ValueName, value: Past.Value)] = []
        for (name, held) in state.values where !(isPlain && shown.shows(name)) {
            values.append((name, try value(name, held, state, isPlain: isPlain, isShown: shown.shows(name))))
        }
        guard !values.isEmpty else { return nil }
        values.sort { Past.Value.precedes($0.value, $1.value) }
        var past = Past(item: item, values: values.map(\.value))
        guard !isPlain else { return past }
        var indices: [ValueName: Int] = [:]
        for (index, value) in values.enumerated() { indices[value.name] = index }
        for (dot, sibling) in state.siblings {
            let fields = sibling.fields.compactMap { indices[ValueName($0, $1)] }
            past.siblings.append(
                Past.Sibling(
                    dot: try stored(dot), created: sibling.created, modified: sibling.modified, fields: fields.sorted(),
                    earlier: sibling.earlier.compactMap { indices[$0] }.sorted()))
        }
        past.siblings.sort { StoredDot.precedes($0.dot, $1.dot) }
        return past
    }

    /// Returns whether the item has one sibling and shows exactly that sibling's values, all of which are open.
    private static func isPlain(_ state: ItemState, _ shown: ShownItem) -> Bool {
        guard state.siblings.count == 1, let sibling = state.siblings.values.first, sibling.fields == shown.fields
        else { return false }
        return sibling.fields.allSatisfy { state.open.contains(ValueName($0, $1)) }
    }

    private func value(
        _ name: ValueName, _ held: HeldValue, _ state: ItemState, isPlain: Bool, isShown: Bool
    ) throws(VaultError) -> Past.Value {
        var flags = Past.Flags()
        if state.open.contains(name) { flags.insert(.open) }
        if isPlain, !flags.contains(.open) || state.siblings.values.contains(where: { $0.earlier.contains(name) }) {
            flags.insert(.earlier)
        }
        var attribute: AttributeFlags = []
        var content: Past.Content
        switch held.content {
        case .secret(let record, let attributes): content = .secret(record, attributes)
        case .attribute(let flags, .inPage(let bytes)): (attribute, content) = (flags, .attribute(bytes))
        case .attribute(let flags, .inRecord(let record)): (attribute, content) = (flags, .attributeInRecord(record))
        case .key(let key): content = .key(key)
        case .place(let place): content = .place(place)
        case .forgotten(let known):
            (attribute, content) = (known, .absent)
            flags.insert(.forgotten)
        }
        if isShown {
            flags.insert(.shown)
            content = .absent
        }
        var bytes: [UInt8] = []
        if case .attribute(let name) = name.field { bytes = name }
        let replaced = content == .absent || flags.contains(.open) ? 0 : held.replaced
        return Past.Value(
            kind: name.field.kind, name: bytes, attribute: attribute, dot: try stored(name.dot), flags: flags,
            replaced: replaced, content: content)
    }

    private func stored(_ dot: Dot) throws(VaultError) -> StoredDot {
        guard let stored = vector.stored(dot) else {
            throw VaultError(.structureInvalid, "an item has a dot that the vault does not include")
        }
        return stored
    }
}

extension HeldValue {
    /// Makes the value of an attribute in a page. `itemRecord` is the record for values that are stored in the item's
    /// record.
    init(_ attribute: PageAttribute, itemRecord: RecordRef) {
        switch attribute.value {
        case .inPage(let value): self.init(.attribute(flags: attribute.flags, .inPage(value)))
        case .inItemRecord: self.init(.attribute(flags: attribute.flags, .inRecord(itemRecord)))
        case .inOwnRecord(let own): self.init(.attribute(flags: attribute.flags, .inRecord(own)))
        }
    }
}
