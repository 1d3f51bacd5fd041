internal import VaultExchange
internal import VaultFmt

// The methods of a collection.
extension SecretService {
    func collectionCall(_ call: BusCall, of group: String, now: UInt64) throws(BusError) -> [BusValue] {
        var arguments = BusArguments(call)
        switch call.member {
        case "SearchItems":
            let attributes = try arguments.attributes()
            try arguments.end()
            return [.paths(try found(attributes, in: group, now: now).map(\.path))]
        case "CreateItem":
            let (properties, secret) = (try arguments.properties(), try arguments.secret())
            let replaces = try arguments.boolean()
            try arguments.end()
            return try create(properties, secret, in: group, replaces: replaces, call.client, now: now)
        case "Delete":
            try arguments.end()
            guard !collections.isLocked else { throw .isLocked() }
            guard !confirms else { return [try prompt(.deleteCollection(group), for: call.client)] }
            try deleteCollection(group, for: call.client, now: now)
            return [.noPath]
        default: throw .noMethod
        }
    }

    /// Stores an item; returns its path, or a prompt if a person must consent first.
    ///
    /// - Throws: `NoSession`; `IsLocked`; `LimitsExceeded`; `InvalidArgs`; `AccessDenied`.
    private func create(
        _ properties: [(name: String, value: BusValue)], _ secret: ServiceSecret, in group: String, replaces: Bool,
        _ client: BusClient, now: UInt64
    ) throws(BusError) -> [BusValue] {
        let cipher = try sessions.cipher(secret.session, of: client)
        guard let listing = try collections.listing(now: now) else { throw .isLocked() }
        var label: String?
        var attributes = LookupAttributes()
        for (name, value) in properties {
            switch (name, value) {
            case (ServiceName.item + ".Label", .text(let text)): label = try checkedLabel(text)
            case (ServiceName.item + ".Attributes", _): attributes = try BusArguments.attributes(in: value)
            default: continue
            }
        }
        let type = try checkedType(secret.contentType)
        let item = NewItem(
            group: group, label: label, attributes: attributes, contentType: type,
            secret: SharedSecret(try opened(secret, cipher)))
        let old = replaces ? listing.replaced(by: item) : nil
        if let old, isLocked(old, for: client) {
            return [.noPath, try prompt(.replace(old.id, item), for: client)]
        }
        return [.path(try store(item, replacing: old, for: client, now: now)), .noPath]
    }

    /// Stores an item and returns its path.
    ///
    /// - `old`: The item to replace.
    func store(
        _ item: NewItem, replacing old: ListedItem?, for client: BusClient, now: UInt64
    ) throws(BusError) -> String {
        let id = try collections.store(item, replacing: old, now: now)
        noteStored(id, replacing: old, by: client)
        note("stored the secret \(collections.remembered?[id]?.label ?? item.label ?? "")", by: client)
        return ServiceObject.item(group: item.group, id).path
    }

    /// Decrypts the secret that a client has sent.
    func opened(_ secret: ServiceSecret, _ cipher: SessionCipher) throws(BusError) -> Secret {
        let plain = try cipher.opened(secret)
        guard plain.count <= BusLimits.secret else {
            throw .limit("a secret can have at most \(BusLimits.secret) bytes")
        }
        return plain
    }

    func checkedLabel(_ label: String) throws(BusError) -> String {
        guard label.utf8.count <= BusLimits.label else {
            throw .limit("a label can have at most \(BusLimits.label) bytes")
        }
        return label
    }

    func checkedType(_ type: String) throws(BusError) -> String {
        guard type.utf8.count <= BusLimits.contentType else {
            throw .limit("a content type can have at most \(BusLimits.contentType) bytes")
        }
        return type
    }

    /// Deletes the items that clients see in a collection, and the collection itself if no other items remain.
    ///
    /// - `agreed`: The items that a person has agreed to delete, with the times at which their secrets were set; nil
    ///   deletes all. Anything stored after the question was asked is kept, even if it is the secret of one of these
    ///   items, and the collection is kept with it.
    func deleteCollection(
        _ group: String, agreed: [ItemID: Int64]? = nil, for client: BusClient, now: UInt64
    ) throws(BusError) {
        guard let listing = try collections.listing(now: now) else { throw .isLocked() }
        let all = listing.items(in: group)
        let items = all.filter { item in agreed.map { $0[item.id] == item.secretChanged } ?? true }
        try collections.delete(items, now: now)
        collections.forget(group)
        let label = collections.groups.label(group)
        let kept = all.count - items.count
        let others = kept == 0 ? "" : "; what was stored since the question stays: \(kept)"
        note("deleted the collection \(label) \(Self.countText(items.count))\(others)", by: client)
    }
}
