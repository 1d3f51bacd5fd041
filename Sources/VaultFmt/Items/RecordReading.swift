internal import VaultBytes
internal import VaultStore

/// Opens the records that items refer to, in a vault's current state, within a transaction, or in a damaged file.
protocol RecordReading {
    var sealing: Sealing { get }
    /// The source of the index's pages.
    var pages: PageSource { get }
    /// The check for entries and earlier values.
    var entryCheck: EntryCheck { get }

    /// Reads a frame that another frame, at `referrer`, refers to; checks the reference, hash and head.
    func frame(_ ref: ObjectRef, _ type: FrameType, before referrer: UInt64) throws(VaultError) -> [UInt8]
    /// Returns the key of a compartment.
    func key(_ compartment: UInt64) throws(VaultError) -> SecretBox
    /// Opens a record of an item that a frame at `referrer` refers to.
    func body(_ record: RecordRef, of item: Bytes16, before referrer: UInt64) throws(VaultError) -> Secret
}

extension RecordReading {
    func body(_ record: RecordRef, of item: Bytes16, before referrer: UInt64) throws(VaultError) -> Secret {
        try open(try frame(record.record, .record, before: referrer), record, of: item)
    }

    /// Opens a record whose frame was already checked.
    func open(_ frame: [UInt8], _ record: RecordRef, of item: Bytes16) throws(VaultError) -> Secret {
        let key = try key(record.compartment)
        return try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
            try RecordCodec.open(
                frame, record.identity(of: item), key: key.secret, sealing, at: record.record.offset)
        }
    }

    /// Opens an item's secret and its attributes, except large ones.
    func opened(_ item: Item) throws(VaultError) -> OpenedItem {
        var body = try body(item.entry.own, of: item.entry.id, before: item.referrer)
        let (secret, attributes) = try body.withSpan { (bytes) throws(VaultError) in try RecordCodec.read(bytes, item) }
        body.narrow(to: secret)
        return OpenedItem(item: attributes.map { Item(item, $0) } ?? item, secret: body)
    }

    /// Opens an item's secret and all of its attributes, including large ones.
    func whole(_ item: Item) throws(VaultError) -> OpenedItem {
        let opened = try opened(item)
        guard opened.item.unreadAttributes > 0 else { return opened }
        var attributes = opened.item.attributes
        for attribute in attributes.all where !attribute.isRead {
            let value = try large(attribute, of: item.entry.id, before: item.referrer)
            attributes.set(Attribute(attribute.name, secret: value, flags: attribute.flags))
        }
        return OpenedItem(item: Item(opened.item, attributes), secret: opened.takeSecret())
    }

    /// Opens the value of an attribute that has a record of its own.
    func large(_ attribute: Attribute, of item: Bytes16, before referrer: UInt64) throws(VaultError) -> Secret {
        guard case .inOwnRecord(let own) = attribute.content else {
            throw VaultError(.invalidArgument, "the attribute \"\(attribute.name)\" has no record of its own")
        }
        var body = try body(own, of: item, before: referrer)
        let value = try body.withSpan { (bytes) throws(VaultError) in
            try RecordCodec.readLarge(bytes, attribute, at: own.record.offset)
        }
        body.narrow(to: value)
        return body
    }

    /// Returns the value of an item's attribute, whatever its size; nil if the item has no attribute of this name.
    func value(of name: String, _ item: Item) throws(VaultError) -> Secret? {
        guard let attribute = item.attributes.attribute(name) else { return nil }
        switch attribute.content {
        case .bytes, .secret: return attribute.secret
        case .inItemRecord: return try opened(item).item.attributes.attribute(name)?.secret
        case .inOwnRecord: return try large(attribute, of: item.entry.id, before: item.referrer)
        }
    }

    // MARK: earlier values

    /// Returns the checked frame with an item's earlier values; nil if it has none.
    func versions(of item: Item) throws(VaultError) -> Versions? {
        guard let ref = item.entry.versions?.frame else { return nil }
        return try VersionsReader.read(try frame(ref, .versions, before: item.referrer), ref, item, pages, entryCheck)
    }

    /// Returns an item's earlier values, oldest first.
    func allEarlierValues(of item: Item) throws(VaultError) -> [EarlierValue] {
        guard let versions = try versions(of: item), let frame = item.entry.versions?.frame else { return [] }
        return versions.versions.map { EarlierValue($0, of: item.entry.id, entryCheck.view, referrer: frame.offset) }
    }

    /// Opens the secret of an earlier value and its attributes, except large ones.
    func opened(_ value: EarlierValue) throws(VaultError) -> OpenedEarlierValue {
        let version = value.version
        var body = try body(version.own, of: value.item.bytes, before: value.referrer)
        let (secret, key, attributes) = try body.withSpan { (bytes) throws(VaultError) in
            try RecordCodec.readEarlier(bytes, value.attributes, at: version.record.offset)
        }
        body.narrow(to: secret)
        return OpenedEarlierValue(value: value, key: key, attributes: attributes, secret: body)
    }

    /// Returns the value that an attribute had at the time, whatever its size; nil if the item had no attribute of this
    /// name.
    func value(of name: String, _ earlier: EarlierValue) throws(VaultError) -> Secret? {
        guard let attribute = earlier.attributes.attribute(name) else { return nil }
        switch attribute.content {
        case .bytes, .secret: return attribute.secret
        case .inItemRecord: return try opened(earlier).attributes.attribute(name)?.secret
        case .inOwnRecord: return try large(attribute, of: earlier.item.bytes, before: earlier.referrer)
        }
    }
}
