internal import VaultBytes
internal import VaultStore

/// The values of one item that merges have left to settle.
public struct Conflict: Sendable {
    /// A value that the item does not show, because another one was set later, or at the same time on another machine.
    public struct Value: Sendable {
        let name: ValueName
        let held: HeldValue
        private let bytes: SecretBox?
        /// The place in which the value was set, if that place differs from the item's current place, in which other
        /// people may be able to read the value; only for secrets and for attributes that are sealed or longer than 256
        /// bytes. Nil if the place is the same or the value cannot be read. After a later change of the item, only the
        /// group and the device are those of the value; the accessibility is that of the item.
        public let otherPlace: Place?

        init(_ name: ValueName, _ held: HeldValue, _ otherPlace: Place?, _ bytes: consuming Secret?) {
            self.name = name
            self.held = held
            self.otherPlace = otherPlace
            if let bytes = consume bytes { self.bytes = SecretBox(bytes) } else { self.bytes = nil }
        }

        /// The field that the value belongs to.
        public var field: ConflictField { ConflictField(name.field) }
        /// The revision of the change that set the value (a hybrid logical clock).
        public var revision: UInt64 { name.dot.revision }
        /// The replica id under which the value was set. A value is identified by its revision, its replica id and its
        /// field.
        public var replica: UInt64 { name.dot.replica }
        /// The time at which the value was set, in milliseconds since 1970-01-01T00:00:00Z.
        public var time: Int64 { name.dot.time }
        /// The flags, if the field is an attribute.
        public var flags: Attribute.Flags {
            guard case .attribute(let flags, _) = held.content else { return [] }
            return Attribute.Flags(rawValue: flags.meaning.rawValue)
        }
        /// The bytes of a secret or an attribute; nil for another field, and for a value that cannot be read because
        /// the required device secret is missing or the value's record is damaged.
        public var value: Secret? { bytes.map { $0.secret.copy() } }

        /// Calls `body` with the bytes of `value` without copying them; returns nil if `value` would be nil. The bytes
        /// are valid only during the call.
        package func withValue<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R? {
            bytes.map { $0.secret.withUnsafeBytes(body) }
        }

        /// The item's key with this value for the field `key`, in the default group; nil for another field.
        public var key: ItemKey? {
            guard case .key(let bytes) = held.content else { return nil }
            do throws(VaultError) { return try ItemKey(bytes) } catch { return nil }
        }
        /// The access group, the accessibility and the device, if the field is `place`.
        public var place: Place? { held.place.flatMap { Place($0) } }
    }

    /// The properties that determine the readers of an item: its access group, its accessibility and its device.
    public struct Place: Sendable, Hashable {
        /// The access group; empty for the default group.
        public let group: String
        /// The accessibility.
        public let accessibility: Accessibility
        /// The device; nil for an item that every device can read.
        public let device: DeviceID?
    }

    /// The key under which the item is listed.
    public let key: ItemKey
    /// The item.
    public let item: ItemID
    /// The item's place.
    public let place: Place
    /// The values, sorted by field and then from the oldest to the newest.
    public let values: [Value]
}

extension Conflict.Place {
    init?(_ place: Place) {
        guard let accessibility = Accessibility(rawValue: place.accessibility) else { return nil }
        self.init(
            group: String(decoding: place.group, as: UTF8.self), accessibility: accessibility,
            device: place.isDeviceBound ? DeviceID(place.device) : nil)
    }
}

extension ItemState {
    /// Returns the places of the siblings that have a value, the best one first; empty if a later change has replaced
    /// the siblings.
    func places(of name: ValueName) -> [Place] {
        let dots = siblings.values.filter { $0.fields[name.field] == name.dot }.compactMap { $0.fields[.place] }
        return dots.sorted(by: >).compactMap { values[ValueName(.place, $0)]?.place }
    }
}

extension Vault {
    /// Returns all conflicts, sorted by item key. Throws the same errors as `items` and `get`, and `notPermitted` for a
    /// scoped slot.
    public func conflicts() throws(VaultError) -> [Conflict] {
        // Between two calls, another thread could rewrite the file.
        try withCore { (core) throws(VaultError) in
            var found: [Conflict] = []
            var cursor = ItemCursor(core, Query())
            while let item = try cursor.next() {
                guard item.needsSettling, let conflict = try core.conflict(in: item) else { continue }
                found.append(conflict)
            }
            return found
        }
    }

    /// Returns the conflicts in one item; nil if there are none. Throws `noSuchItem`, and the same errors as `get`.
    public func conflict(in key: ItemKey) throws(VaultError) -> Conflict? {
        try withCore { (core) throws(VaultError) in
            guard let item = try core.find(key) else { throw VaultError(.noSuchItem, "no such item") }
            return try core.conflict(in: item)
        }
    }

    /// Settles the conflicts of an item. Throws the same errors as `Transaction.settle`.
    public func settle(_ key: ItemKey, keeping values: [Conflict.Value] = []) throws(VaultError) {
        try transaction { (transaction) throws(VaultError) in try transaction.settle(key, keeping: values) }
    }
}

extension RecordReading {
    /// Returns the conflicts in an item; nil if there are none.
    func conflict(in item: Item) throws(VaultError) -> Conflict? {
        guard item.needsSettling else { return nil }
        let state = try state(of: item)
        let view = try view(of: item, state)
        let now = view.shown.fields[.place].flatMap { state.values[ValueName(.place, $0)]?.place }
        guard let now, let place = Conflict.Place(now) else { return nil }
        var values: [Conflict.Value] = []
        for name in view.marks {
            guard let held = state.values[name] else { continue }
            var sealed: ItemKey?
            let bytes = try bytes(ofConflict: name, held, item) { sealed = $0 }
            let places = held.isInRecord ? state.places(of: name) : []
            let other =
                places.isEmpty
                ? sealed.flatMap { self.other($0, held, than: place) }
                : places.contains(now) ? nil : places.first.flatMap { Conflict.Place($0) }
            values.append(Conflict.Value(name, held, other, bytes))
        }
        return values.isEmpty ? nil : Conflict(key: item.key, item: item.id, place: place, values: values)
    }

    /// Returns the place in which a record was sealed, with the details that are known, if the item's current place has
    /// other readers.
    private func other(_ sealed: ItemKey, _ held: HeldValue, than place: Conflict.Place) -> Conflict.Place? {
        let info = held.record.flatMap { entryCheck.view.compartment($0.compartment) }?.info
        let device = info.flatMap { $0.isDeviceBound ? DeviceID($0.device) : nil }
        let isBoundElsewhere = device != nil && device != place.device
        guard isBoundElsewhere || !sealed.group.utf8.elementsEqual(place.group.utf8) else { return nil }
        return Conflict.Place(
            group: sealed.group,
            accessibility: isBoundElsewhere ? .whenUnlockedThisDeviceOnly : place.accessibility,
            device: device ?? place.device)
    }

    /// `sealed` is called with the item's key at the time of sealing.
    private func bytes(
        ofConflict name: ValueName, _ held: HeldValue, _ item: Item, _ sealed: (ItemKey) -> Void
    ) throws(VaultError) -> Secret? {
        switch held.content {
        case .attribute(_, .inPage(let bytes)): return Secret(bytes: bytes)
        case .key, .place, .forgotten: return nil
        case .secret, .attribute(_, .inRecord):
            do throws(VaultError) {
                let end = max(item.entry.past?.offset ?? 0, item.referrer)
                return try bytes(name, held, of: item.entry.id, before: end) { key, _ in sealed(key) }
            } catch {
                guard Transaction.cannotBeRead.contains(error.code) else { throw error }
                return nil
            }
        }
    }
}

extension Transaction {
    /// Returns the conflicts in one item; nil if there are none. Throws `noSuchItem`, and the same errors as `get`.
    public func conflict(in key: ItemKey) throws(VaultError) -> Conflict? { try conflict(in: try existing(key)) }

    /// Settles the conflicts of an item. Each field with a conflict keeps only the given value or, if none is given,
    /// the shown value. Secrets and sealed attributes that are not kept become earlier values.
    ///
    /// A secret, or an attribute that is sealed or longer than 256 bytes, moves to the item's place, regardless of its
    /// `otherPlace`: ask the user before making it readable to other people.
    ///
    /// Throws `noSuchItem`; `invalidArgument` for a value that is not among the item's conflicts, or if two values are
    /// given for the same field; `duplicateItem` if the resulting key exists; `deviceBound` for a value that cannot be
    /// read here, or for another device's place.
    public func settle(_ key: ItemKey, keeping values: [Conflict.Value] = []) throws(VaultError) {
        let item = try existing(key)
        guard let conflict = try conflict(in: item) else {
            guard values.isEmpty else { throw Self.notAmong }
            return
        }
        var change = ItemChange(item)
        change.edit.settled = Set(conflict.values.map(\.name.field))
        for value in values {
            guard conflict.values.contains(where: { $0.name == value.name }) else { throw Self.notAmong }
            guard change.edit.settled.remove(value.name.field) != nil else {
                throw VaultError(.invalidArgument, "two values were given for the same field")
            }
        }
        try settle(change, values)
    }

    private static let notAmong = VaultError(.invalidArgument, "a value is not among the item's conflicts")

    private func settle(_ change: ItemChange, _ values: [Conflict.Value]) throws(VaultError) {
        var change = change
        let needsRecord = values.contains { value in
            switch value.field {
            case .secret, .attribute, .place: true
            case .key: false
            }
        }
        var secret = Secret(count: 0)
        if needsRecord {
            let opened = try openedRecord(change.old)
            change.before = opened.item.attributes
            change.attributes = opened.item.attributes
            secret = opened.takeSecret()
        }
        for value in values { try choose(value, &change, &secret) }
        if change.key != change.old.storedKey, try self.item(change.key) != nil {
            throw VaultError(.duplicateItem, "another item has the key that would be chosen")
        }
        if needsRecord { try apply(change, secret: secret) } else { try apply(change) }
    }

    /// Adds a chosen value to a change.
    private func choose(
        _ value: Conflict.Value, _ change: inout ItemChange, _ secret: inout Secret
    ) throws(VaultError) {
        switch value.held.content {
        case .secret:
            guard let chosen = value.value else { throw Self.unreadable }
            secret = chosen
            change.writesSecret = true
        case .attribute:
            guard case .attribute(let name) = value.field, let chosen = value.value else { throw Self.unreadable }
            change.attributes.set(Attribute(name, secret: chosen, flags: value.flags))
            change.setAttributes.insert(Array(name.utf8))
        case .key(let bytes):
            change.key = try ItemKey(bytes, group: Array(change.key.group.utf8))
        case .place(let place):
            guard let accessibility = value.place?.accessibility,
                !place.isDeviceBound || place.device == core.deviceID
            else {
                throw VaultError(.deviceBound, "a device-bound place can be chosen only on its device")
            }
            change.accessibility = accessibility
            change.key = try ItemKey(change.key.withoutGroup, group: place.group)
        case .forgotten: throw Self.unreadable
        }
    }

    private static let unreadable = VaultError(
        .deviceBound, "this value cannot be read here: its device's secret is missing, or its record is damaged")
}
