internal import VaultFmt

/// The actions that clients may perform without asking when each item is locked for each client (`--confirm`).
struct Consents {
    /// The items that a person has allowed a client to read and change, by the client's name.
    private var agreed: [String: Set<ItemID>] = [:]
    /// The items whose secrets a client has set itself, with the times at which it set them: the client knows these
    /// secrets, but no later ones.
    private var stored: [String: [ItemID: Int64]] = [:]
    /// The items that a client has created and in which no other client has stored a secret since.
    private var made: [String: Set<ItemID>] = [:]

    /// Returns whether a client may read and change an item.
    func allow(_ item: ListedItem, _ client: BusClient) -> Bool {
        agreed[client.name]?.contains(item.id) ?? false || hasStored(item, client)
    }

    /// Returns whether a client has set the current secret of an item itself.
    private func hasStored(_ item: ListedItem, _ client: BusClient) -> Bool {
        stored[client.name]?[item.id] == item.secretChanged
    }

    /// Returns whether a client can delete an item without losing anyone else's data. A client that was merely allowed
    /// to use the item must ask, because the item has earlier values.
    func isOwn(_ item: ListedItem, _ client: BusClient) -> Bool {
        made[client.name]?.contains(item.id) ?? false && hasStored(item, client)
    }

    mutating func agree(to items: [ItemID], _ client: BusClient) {
        agreed[client.name, default: []].formUnion(items)
    }

    /// Records that a client has set an item's secret; returns the names of the clients that no longer know the secret.
    ///
    /// - `old`: The item before the change; nil if the client has created it.
    mutating func noteStored(_ item: ListedItem, replacing old: ListedItem?, by client: BusClient) -> [String] {
        let isOwn = old.map { self.isOwn($0, client) } ?? true
        for name in made.keys { made[name]?.remove(item.id) }
        if isOwn { made[client.name, default: []].insert(item.id) }
        var others: [String] = []
        for name in stored.keys where name != client.name {
            guard stored[name]?.removeValue(forKey: item.id) != nil else { continue }
            if !(agreed[name]?.contains(item.id) ?? false) { others.append(name) }
        }
        stored[client.name, default: [:]][item.id] = item.secretChanged
        return others
    }

    /// Revokes a client's permission to use an item.
    mutating func takeBack(_ item: ItemID, from client: BusClient) {
        agreed[client.name]?.remove(item)
        stored[client.name]?[item] = nil
        made[client.name]?.remove(item)
    }

    /// Forgets an item that no longer exists.
    mutating func forget(_ item: ItemID) {
        for name in agreed.keys { agreed[name]?.remove(item) }
        for name in stored.keys { stored[name]?[item] = nil }
        for name in made.keys { made[name]?.remove(item) }
    }

    /// Forgets a client.
    mutating func forget(client: String) {
        agreed[client] = nil
        stored[client] = nil
        made[client] = nil
    }
}
