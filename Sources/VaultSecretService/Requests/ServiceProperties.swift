internal import VaultFmt

// The properties of all objects.
extension SecretService {
    func properties(_ call: BusCall, of object: ServiceObject, now: UInt64) throws(BusError) -> [BusValue] {
        var arguments = BusArguments(call)
        let interface = try arguments.text()
        switch call.member {
        case "GetAll":
            try arguments.end()
            // Other interfaces have no properties, but clients such as busctl ask for the properties of every
            // interface.
            guard interface == object.interface || interface.isEmpty else { return [.properties([])] }
            return [.properties(try values(of: object, for: call.client, now: now))]
        case "Get":
            let name = try arguments.text()
            try arguments.end()
            let all = try values(of: object, for: call.client, now: now)
            guard interface == object.interface || interface.isEmpty, let found = all.first(where: { $0.name == name })
            else { throw .noProperty }
            return [.variant(found.value)]
        case "Set":
            let (name, value) = (try arguments.text(), try arguments.variant())
            try arguments.end()
            guard interface == object.interface || interface.isEmpty else { throw .noProperty }
            try set(name, value, of: object, for: call.client, now: now)
            return []
        default: throw .noMethod
        }
    }

    private func values(
        of object: ServiceObject, for client: BusClient, now: UInt64
    ) throws(BusError) -> [(name: String, value: BusValue)] {
        switch object {
        case .service:
            _ = try collections.listing(now: now)
            return [("Collections", .paths(collections.names.map { ServiceObject.collection($0).path }))]
        case .collection(let group): return try values(ofCollection: try existing(group, now: now), now: now)
        case .item(let group, let id): return values(of: try item(group, id, now: now), for: client)
        case .session, .prompt, .alias, .collections, .aliases: return []
        }
    }

    private func values(ofCollection group: String, now: UInt64) throws(BusError) -> [(name: String, value: BusValue)] {
        let items = (try collections.listing(now: now) ?? collections.remembered)?.items(in: group) ?? []
        return [
            ("Items", .paths(items.map(\.path))),
            ("Label", .text(collections.groups.label(group))),
            ("Locked", .boolean(collections.isLocked)),
            ("Created", .number(items.map(\.created).min() ?? 0)),
            ("Modified", .number(items.map(\.modified).max() ?? 0)),
        ]
    }

    private func values(of item: ListedItem, for client: BusClient) -> [(name: String, value: BusValue)] {
        [
            ("Locked", .boolean(isLocked(item, for: client))),
            ("Attributes", .texts(item.attributes.all)),
            ("Label", .text(item.label)),
            // Not part of the current specification, but clients still ask for it.
            ("Type", .text(item.attributes[LookupNames.schema] ?? "")),
            ("Created", .number(item.created)),
            ("Modified", .number(item.modified)),
        ]
    }

    private func set(
        _ name: String, _ value: BusValue, of object: ServiceObject, for client: BusClient, now: UInt64
    ) throws(BusError) {
        switch (object, name, value) {
        case (.collection, "Label", _):
            throw .notSupported("a collection's label is the name of its access group; move its items with vaultfmt")
        case (.item(let group, let id), "Label", .text(let label)):
            let item = try item(group, id, now: now)
            try requireUnlocked(item, for: client)
            try collections.change(item, label: try checkedLabel(label), now: now)
            note("changed the label of \(item.label)", by: client)
        case (.item(let group, let id), "Attributes", _):
            let (item, attributes) = (try item(group, id, now: now), try BusArguments.attributes(in: value))
            try requireUnlocked(item, for: client)
            try collections.change(item, attributes: attributes, now: now)
            note("changed the attributes of \(item.label)", by: client)
        default:
            let all = try values(of: object, for: client, now: now)
            guard all.contains(where: { $0.name == name }) else { throw .noProperty }
            throw .readOnlyProperty
        }
    }
}
