internal import VaultBytes
internal import VaultStore

/// Which of an item's earlier values is meant, for callers that hold no `EarlierValue`: an item has no two of one
/// revision and device.
package struct EarlierValueID: Sendable, Hashable {
    /// The revision that the item had when this was its value.
    package let revision: UInt64
    /// The device that made it, if it had a name then.
    package let device: DeviceID?

    package init(revision: UInt64, device: DeviceID?) {
        self.revision = revision
        self.device = device
    }

    private func names(_ value: EarlierValue) -> Bool { value.revision == revision && value.device == device }

    /// The value among those of an item. Throws `noSuchItem`.
    package func find(among values: [EarlierValue]) throws(VaultError) -> EarlierValue {
        guard let found = values.first(where: { names($0) }) else {
            throw VaultError(.noSuchItem, "the item has no such earlier value")
        }
        return found
    }
}

// Reading by names alone: each call finds the item and reads from one and the same state, whatever other threads do.
extension Vault {
    /// The value of an attribute, of any size; nil if the item has none of this name. Throws `noSuchItem`, else as
    /// `get` does.
    package func attribute(_ name: String, of key: ItemKey) throws(VaultError) -> Secret? {
        try withCore { (core) throws(VaultError) in
            let item = try core.existing(key)
            guard let attribute = item.attributes.attribute(name) else { return nil }
            switch attribute.content {
            case .bytes, .secret: return attribute.secret
            case .inItemRecord: return try core.open(item).item.attributes.attribute(name)?.secret
            case .inOwnRecord: return try core.open(large: attribute, of: item.entry.id, before: item.referrer)
            }
        }
    }

    /// An earlier value with its secret. Throws `noSuchItem`, else as `open` does.
    package func openEarlierValue(_ id: EarlierValueID, of key: ItemKey) throws(VaultError) -> OpenedEarlierValue {
        try withCore { (core) throws(VaultError) in try core.open(try core.earlierValue(id, of: key)) }
    }

    /// The value of an attribute that an item had, of any size; nil if it had none of this name. Throws `noSuchItem`,
    /// else as `open` does.
    package func attribute(_ name: String, of id: EarlierValueID, of key: ItemKey) throws(VaultError) -> Secret? {
        try withCore { (core) throws(VaultError) in
            let value = try core.earlierValue(id, of: key)
            guard let attribute = value.attributes.attribute(name) else { return nil }
            switch attribute.content {
            case .bytes, .secret: return attribute.secret
            case .inItemRecord: return try core.open(value).attributes.attribute(name)?.secret
            case .inOwnRecord: return try core.open(large: attribute, of: value.item.bytes, before: value.referrer)
            }
        }
    }
}

extension VaultCore {
    fileprivate func existing(_ key: ItemKey) throws(VaultError) -> Item {
        guard let item = try find(key) else { throw VaultError(.noSuchItem, "no such item") }
        return item
    }

    fileprivate func earlierValue(_ id: EarlierValueID, of key: ItemKey) throws(VaultError) -> EarlierValue {
        try requireEarlierValues()
        return try id.find(among: try earlierValues(of: try existing(key)))
    }
}

extension Transaction {
    /// The value of an attribute that an item had, of any size; nil if it had none of this name.
    package func attribute(_ name: String, of value: EarlierValue) throws(VaultError) -> Secret? {
        try requireOpen()
        guard let attribute = value.attributes.attribute(name) else { return nil }
        switch attribute.content {
        case .bytes, .secret: return attribute.secret
        case .inItemRecord: return try open(value).attributes.attribute(name)?.secret
        case .inOwnRecord(let own):
            var body = try body(own.record, own.identity(of: value.item.bytes), before: value.referrer)
            let opened = try body.withSpan { (bytes) throws(VaultError) in
                try RecordCodec.readLarge(bytes, attribute, at: own.record.offset)
            }
            body.keep(opened)
            return body
        }
    }
}
