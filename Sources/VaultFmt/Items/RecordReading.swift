internal import VaultBytes
internal import VaultStore

/// Opens the records that items refer to, in a vault's current state, within a transaction, or in a damaged file.
protocol RecordReading {
    var sealing: Sealing { get }
    /// The source of the index's pages.
    var pages: PageSource { get }
    /// The check for entries and pasts.
    var entryCheck: EntryCheck { get }
    /// The number of earlier values that each field keeps.
    var limit: Int { get }
    /// The path of the file, for messages; nil if it is not known.
    var path: String? { get }

    /// Reads a frame that another frame, at `referrer`, refers to; checks the reference, hash and head.
    func frame(_ ref: ObjectRef, _ type: FrameType, before referrer: UInt64) throws(VaultError) -> [UInt8]
    /// Returns the key of a compartment.
    func key(_ compartment: UInt64) throws(VaultError) -> SecretBox
    /// Returns the key of pasts, which only an owner has.
    func pastKey() throws(VaultError) -> SecretBox
    /// Returns the vector whose positions the dots refer to.
    func vector() throws(VaultError) -> Vector
    /// Opens a record of an item; the frame at `referrer` refers to the record.
    func body(_ record: RecordRef, of item: Bytes16, before referrer: UInt64) throws(VaultError) -> Secret
}

extension RecordReading {
    var path: String? { nil }

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

    /// Opens an item's secret and its attributes, except large ones. Throws `noSecret` if the item has none.
    func opened(_ item: Item) throws(VaultError) -> OpenedItem {
        guard !item.lacksSecret else { throw VaultError.noSecret(try missingSecret(of: item)) }
        return try namedRecord(item)
    }

    /// Opens an item's record; if the item has no secret, the result's secret is empty.
    func openedRecord(_ item: Item) throws(VaultError) -> OpenedItem {
        guard item.entry.hasRecord else { return OpenedItem(item: item, secret: Secret(count: 0)) }
        var body = try body(item.entry.own, of: item.entry.id, before: item.referrer)
        let (secret, attributes) = try body.withSpan { (bytes) throws(VaultError) in try RecordCodec.read(bytes, item) }
        body.narrow(to: item.lacksSecret ? secret.lowerBound..<secret.lowerBound : secret)
        return OpenedItem(item: attributes.map { Item(item, $0) } ?? item, secret: body)
    }

    /// Opens an item's record, as `openedRecord` does, for a caller that is told which item is damaged.
    func namedRecord(_ item: Item) throws(VaultError) -> OpenedItem {
        do throws(VaultError) { return try openedRecord(item) } catch {
            throw error.naming(read: .secret, of: item.key)
        }
    }

    /// Opens an item's secret and all of its attributes, including large ones. If the item has no secret, the result's
    /// secret is empty.
    func whole(_ item: Item) throws(VaultError) -> OpenedItem {
        let opened = try openedRecord(item)
        guard opened.item.unreadAttributes > 0 else { return opened }
        var attributes = opened.item.attributes
        for attribute in attributes.all where !attribute.isRead {
            let value = try large(attribute, of: item.entry.id, before: item.referrer)
            attributes.set(Attribute(attribute.name, secret: value, flags: attribute.flags))
        }
        return OpenedItem(item: Item(opened.item, attributes), secret: opened.takeSecret())
    }

    /// Opens the value of an attribute that is stored in a separate record.
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

    /// Returns the value, of any size, of an item's attribute; nil if the item does not have this attribute.
    func value(of name: String, _ item: Item) throws(VaultError) -> Secret? {
        guard let attribute = item.attributes.attribute(name) else { return nil }
        switch attribute.content {
        case .bytes, .secret: return attribute.secret
        case .inItemRecord: return try namedRecord(item).item.attributes.attribute(name)?.secret
        case .inOwnRecord:
            do throws(VaultError) { return try large(attribute, of: item.entry.id, before: item.referrer) } catch {
                throw error.naming(read: .attribute, of: item.key)
            }
        }
    }
}
