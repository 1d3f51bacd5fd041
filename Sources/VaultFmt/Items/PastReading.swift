internal import VaultBytes
internal import VaultStore

// Reads the values that items do not show, which only owners can do.
extension RecordReading {
    /// Returns the checked past of an item; nil if it has none.
    func past(of item: Item) throws(VaultError) -> Past? {
        guard let ref = item.entry.past else { return nil }
        let key = try pastKey()
        let frame = try frame(ref, .past, before: item.referrer)
        let body = try pages.open(frame, .past, at: ref.offset, key: key.secret)
        let past = try decoding { () throws(FormatError) in
            let past = try Past(body.span, at: ref.offset)
            try past.check(item.entry, item.attributes.listed, at: ref.offset)
            return past
        }
        try entryCheck.check(past, item.largeRecords, at: ref.offset)
        return past
    }

    /// Returns the whole state of an item. If the vector is damaged, positions serve as replica ids, so all values can
    /// still be read but not written.
    func state(of item: Item) throws(VaultError) -> ItemState {
        let past: Past?
        do throws(VaultError) { past = try self.past(of: item) } catch {
            throw error.naming(.past, of: item.key, in: path)
        }
        let states: ItemStates
        do throws(VaultError) { states = ItemStates(try vector()) } catch {
            guard error.code == .authenticationFailed || error.code == .structureInvalid else { throw error }
            states = try ItemStates(standingInFor: item, past, floor: entryCheck.floor)
        }
        return try states.state(of: item, past)
    }

    /// Returns the values that an item shows, its values to settle, and its earlier values.
    ///
    /// `most`: the maximum number of different earlier values for each field; nil for as many as the vault keeps.
    func view(of item: Item, _ state: ItemState, most: Int? = nil) throws(VaultError) -> ItemView {
        try state.view(limit: most ?? limit) { (name) throws(VaultError) in
            try classOf(name, state.values[name], of: item, before: item.referrer)
        }
    }

    /// Returns an item's earlier values, oldest first. `most` is the maximum number of different values for each field;
    /// nil for the vault's setting. If the setting was greater before, excess values remain until the item changes
    ///
    func allEarlierValues(of item: Item, most: Int? = nil) throws(VaultError) -> [EarlierValue] {
        guard let ref = item.entry.past else { return [] }
        let state = try state(of: item)
        let names = try view(of: item, state, most: most).earlier.sorted { ($0.dot, $0.field) < ($1.dot, $1.field) }
        return names.compactMap { name in
            state.values[name].map { EarlierValue(name, $0, of: item.entry.id, referrer: ref.offset) }
        }
    }

    /// Returns the protected values that are left to settle in an item, oldest first.
    func allUnsettledValues(of item: Item) throws(VaultError) -> [EarlierValue] {
        guard item.needsSettling, let ref = item.entry.past else { return [] }
        let state = try state(of: item)
        return try view(of: item, state).marks.sorted { ($0.dot, $0.field) < ($1.dot, $1.field) }.compactMap { name in
            guard let value = state.values[name], value.isProtected, value.isInRecord else { return nil }
            return EarlierValue(name, value, of: item.entry.id, referrer: max(ref.offset, item.referrer))
        }
    }

    // MARK: bytes

    /// Opens an earlier value, with the attributes that the item had at the time, except large ones.
    func opened(_ value: EarlierValue) throws(VaultError) -> OpenedEarlierValue {
        var key: ItemKey?
        var attributes = Attributes()
        let secret = try bytes(value.name, value.value, of: value.item.bytes, before: value.referrer) {
            (key, attributes) = ($0, $1)
        }
        guard let key else { throw Self.noBytes }
        let info = value.value.record.flatMap { entryCheck.view.compartment($0.compartment)?.info }
        let device = info.flatMap { $0.isDeviceBound ? DeviceID($0.device) : nil }
        return OpenedEarlierValue(value: value, key: key, attributes: attributes, device: device, secret: secret)
    }

    /// Returns the value, of any size, that an attribute had at the time of an earlier secret; nil if the item did not
    /// have this attribute.
    func value(of name: String, _ earlier: EarlierValue) throws(VaultError) -> Secret? {
        guard let attribute = earlier.attributes.attribute(name) else { return nil }
        switch attribute.content {
        case .bytes, .secret: return attribute.secret
        case .inItemRecord: return try opened(earlier).attributes.attribute(name)?.secret
        case .inOwnRecord: return try large(attribute, of: earlier.item.bytes, before: earlier.referrer)
        }
    }

    /// Opens a value that is stored in a record. `told` is called with the item's key at the time of sealing and, for a
    /// secret, its attributes.
    func bytes(
        _ name: ValueName, _ value: HeldValue, of item: Bytes16, before referrer: UInt64,
        _ told: (ItemKey, Attributes) -> Void = { _, _ in }
    ) throws(VaultError) -> Secret {
        guard let record = value.record else { throw Self.noBytes }
        var body = try body(record, of: item, before: referrer)
        let offset = record.record.offset
        let range = try body.withSpan { (bytes) throws(VaultError) -> Range<Int> in
            switch (value.content, name.field) {
            case (.secret(_, let attributes), _):
                let found = try RecordCodec.readEarlier(bytes, Attributes(inPage: attributes), at: offset)
                told(found.key, found.attributes)
                return found.secret
            case (.attribute(let flags, _), .attribute(let name)) where flags.contains(.inItemRecord):
                let found = try RecordCodec.readAttribute(bytes, name, flags, at: offset)
                told(found.key, Attributes())
                return found.value
            case (.attribute(let flags, _), .attribute(let name)):
                let found = try RecordCodec.readLarge(bytes, name, flags, at: offset)
                told(found.key, Attributes())
                return found.value
            default: throw Self.noBytes
            }
        }
        body.narrow(to: range)
        return body
    }

    /// Opens a value of an item's past that is stored in a record. For a secret, `attributes` is called with the item's
    /// attributes at that time.
    func open(_ value: Past.Value, of item: Item, attributes: (Attributes) -> Void) throws(VaultError) -> Secret {
        guard let held = ItemStates.held(value) else { throw Self.noBytes }
        // The bytes do not depend on the dot, so any replica id will do.
        let name = ValueName(ItemStates.field(of: value), Dot(revision: value.dot.revision, replica: 0))
        return try bytes(name, held, of: item.entry.id, before: item.entry.past?.offset ?? item.referrer) {
            attributes($1)
        }
    }

    private static var noBytes: VaultError { VaultError(.invalidArgument, "the value is not in a record") }

    // MARK: comparing

    /// Classifies a value of an item by its bytes. A value whose record needs a device's secret, or that cannot be
    /// read, differs from all others.
    ///
    /// `referrer`: the offset before which the value's record ends.
    func classOf(
        _ name: ValueName, _ value: HeldValue?, of item: Item, before referrer: UInt64
    ) throws(VaultError) -> ValueClass {
        guard let value else { return .unknown(name) }
        if let plain = value.plainClass { return plain }
        guard let record = value.record, let compartment = entryCheck.view.compartment(record.compartment),
            !compartment.info.isDeviceBound
        else { return .unknown(name) }
        var flags: AttributeFlags = []
        if case .attribute(let known, _) = value.content { flags = known.meaning }
        do throws(VaultError) {
            let secret = try bytes(name, value, of: item.entry.id, before: referrer)
            return .digest(ValueDigest.of(secret), flags)
        } catch {
            guard [.authenticationFailed, .structureInvalid, .unsupportedForm].contains(error.code) else { throw error }
            return .unknown(name)
        }
    }
}

/// Keyed digests for comparing secret values. The key is random for each process, so a digest left in memory reveals
/// nothing about the value.
enum ValueDigest {
    private static let key = SecretBox(Secret.random(count: 32))

    static func of(_ secret: borrowing Secret) -> Bytes32 {
        var hash = Blake2b(key: key.secret)
        secret.withUnsafeBytes { hash.update($0) }
        return hash.finish()
    }
}
