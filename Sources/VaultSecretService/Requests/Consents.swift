internal import VaultFmt

/// What clients may do without a question although each item is locked for each client (`--confirm`).
struct Consents {
    /// The items that a person has let a client read and change, by the client's name.
    private var agreed: [String: Set<ItemID>] = [:]
    /// The items whose secret a client has stored itself, with the time of that: it knows this secret, and no later
    /// one.
    private var stored: [String: [ItemID: Int64]] = [:]
    /// The items that a client has made, and in which nobody else has stored a secret since.
    private var made: [String: Set<ItemID>] = [:]

    /// Whether a client may read and change an item.
    func allow(_ item: ListedItem, _ client: BusClient) -> Bool {
        agreed[client.name]?.contains(item.id) ?? false || hasStored(item, client)
    }

    /// Whether the secret of an item is one that a client has stored itself.
    private func hasStored(_ item: ListedItem, _ client: BusClient) -> Bool {
        stored[client.name]?[item.id] == item.secretChanged
    }

    /// Whether nothing of anybody else is lost if a client deletes an item. Whoever was only let into an item is asked:
    /// it has earlier values.
    func isOwn(_ item: ListedItem, _ client: BusClient) -> Bool {
        made[client.name]?.contains(item.id) ?? false && hasStored(item, client)
    }

    mutating func agree(to items: [ItemID], _ client: BusClient) {
        agreed[client.name, default: []].formUnion(items)
    }

    /// Notes that a client has stored an item's secret; returns the names of those who do not know it any longer.
    ///
    /// - `old`: The item before; nil if the client has made it.
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

    /// Takes back what a client may do with an item.
    mutating func takeBack(_ item: ItemID, from client: BusClient) {
        agreed[client.name]?.remove(item)
        stored[client.name]?[item] = nil
        made[client.name]?.remove(item)
    }

    /// Forgets an item that does not exist any longer.
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
