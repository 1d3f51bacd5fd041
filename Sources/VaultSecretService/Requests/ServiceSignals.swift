/// The signals that tell clients what has changed.
enum ServiceSignals {
    /// Returns a signal for each change, followed by the new value of each list that has changed: GDBus discards a
    /// property that is merely invalidated, and libsecret has no other way to learn the new list.
    ///
    /// - `listing`: The listing after the changes.
    static func about(_ changes: [VaultCollections.Change], _ listing: Listing?) -> [BusSignal] {
        var groups: [String] = []
        var isListChanged = false
        let signals = changes.flatMap { change in
            switch change {
            case .created(let item), .deleted(let item):
                if !groups.contains(where: { $0.isSame(as: item.group) }) { groups.append(item.group) }
            case .collectionCreated, .collectionDeleted: isListChanged = true
            case .changed: break
            }
            return about(change)
        }
        guard let listing else { return signals }
        let lists = groups.filter(listing.has).map { items(of: $0, listing) }
        return signals + lists + (isListChanged ? [collections(listing)] : [])
    }

    private static func about(_ change: VaultCollections.Change) -> [BusSignal] {
        switch change {
        case .created(let item): [signal("ItemCreated", of: item)]
        case .deleted(let item): [signal("ItemDeleted", of: item)]
        case .changed(let item): [signal("ItemChanged", of: item), values(of: item)]
        case .collectionCreated(let group): [signal("CollectionCreated", of: group)]
        case .collectionDeleted(let group): [signal("CollectionDeleted", of: group)]
        }
    }

    /// Returns signals that a collection has been locked or unlocked.
    static func locking(_ group: String, isLocked: Bool) -> [BusSignal] {
        [
            signal("CollectionChanged", of: group),
            changed(ServiceObject.collection(group).path, ServiceName.collection, [("Locked", .boolean(isLocked))]),
        ]
    }

    /// Returns a signal that an item has been locked or unlocked, either for all clients or for a single one.
    static func locking(_ item: ListedItem, isLocked: Bool, to client: String? = nil) -> BusSignal {
        changed(item.path, ServiceName.item, [("Locked", .boolean(isLocked))], to: client)
    }

    /// Returns the signal that a prompt has ended. Only the client that owns the prompt receives it.
    static func completed(_ prompt: String, isDismissed: Bool, _ result: BusValue, to client: BusClient) -> BusSignal {
        BusSignal(
            prompt, ServiceName.prompt, "Completed", [.boolean(isDismissed), .variant(result)], to: client.name)
    }

    private static func signal(_ member: String, of item: ListedItem) -> BusSignal {
        BusSignal(ServiceObject.collection(item.group).path, ServiceName.collection, member, [.path(item.path)])
    }

    private static func signal(_ member: String, of group: String) -> BusSignal {
        BusSignal(ServiceName.path, ServiceName.service, member, [.path(ServiceObject.collection(group).path)])
    }

    private static func values(of item: ListedItem) -> BusSignal {
        changed(
            item.path, ServiceName.item,
            [
                ("Label", .text(item.label)), ("Attributes", .texts(item.attributes.all)),
                ("Modified", .number(item.modified)),
            ])
    }

    private static func items(of group: String, _ listing: Listing) -> BusSignal {
        changed(
            ServiceObject.collection(group).path, ServiceName.collection,
            [("Items", .paths(listing.items(in: group).map(\.path)))])
    }

    private static func collections(_ listing: Listing) -> BusSignal {
        changed(
            ServiceName.path, ServiceName.service,
            [("Collections", .paths(listing.groups.map { ServiceObject.collection($0).path }))])
    }

    private static func changed(
        _ path: String, _ interface: String, _ values: [(name: String, value: BusValue)], to receiver: String? = nil
    ) -> BusSignal {
        BusSignal(
            path, ServiceName.properties, "PropertiesChanged",
            [.text(interface), .properties(values), .array("s", [])], to: receiver)
    }
}
