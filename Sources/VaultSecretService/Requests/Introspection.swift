/// Descriptions of objects, for tools that inspect the bus.
enum Introspection {
    /// - `hasChildren`: Whether to list the object's children.
    static func description(
        of object: ServiceObject, _ service: SecretService, hasChildren: Bool = true, now: UInt64
    ) -> String {
        var text = "<node>" + standard + interface(of: object)
        let children = hasChildren ? children(of: object, service, now: now) : []
        for child in children { text += "<node name=\"\(child)\"/>" }
        return text + "</node>"
    }

    /// Returns the description of an object above the service, which has only children; nil for any other path.
    static func ancestor(_ path: String) -> String? {
        let children = ["/": "org", "/org": "freedesktop", "/org/freedesktop": "secrets"]
        return children[path].map { "<node><node name=\"\($0)\"/></node>" }
    }

    /// The names of an object's children, which consist of letters, digits and `_`. Tools ask for the description of
    /// each child in turn, so every parent is listed. Sessions and prompts are not listed, because they are private to
    /// their clients.
    private static func children(of object: ServiceObject, _ service: SecretService, now: UInt64) -> [String] {
        switch object {
        case .service: return ["aliases", "collection"]
        case .aliases: return ([ServiceName.defaultAlias] + service.aliases.map(\.name)).map(PathElement.encode)
        case .collections: return service.collections.names.map(PathElement.encode)
        case .collection(let group):
            do throws(BusError) {
                let listing = try service.collections.listing(now: now) ?? service.collections.remembered
                return listing?.items(in: group).map { "\($0.id)" } ?? []
            } catch { return [] }
        case .item, .alias, .session, .prompt: return []
        }
    }

    private static func interface(of object: ServiceObject) -> String {
        switch object {
        case .service: service
        case .collection, .alias: collection
        case .item: item
        case .session: "<interface name=\"\(ServiceName.session)\"><method name=\"Close\"/></interface>"
        case .prompt: prompt
        case .collections, .aliases: ""
        }
    }

    private static func method(_ name: String, in inputs: String..., out outputs: String...) -> String {
        let inputs = inputs.map { "<arg type=\"\($0)\" direction=\"in\"/>" }
        let outputs = outputs.map { "<arg type=\"\($0)\" direction=\"out\"/>" }
        return "<method name=\"\(name)\">" + (inputs + outputs).joined() + "</method>"
    }

    private static func signal(_ name: String, _ arguments: String...) -> String {
        "<signal name=\"\(name)\">" + arguments.map { "<arg type=\"\($0)\"/>" }.joined() + "</signal>"
    }

    private static func property(_ name: String, _ type: String, _ access: String = "read") -> String {
        "<property name=\"\(name)\" type=\"\(type)\" access=\"\(access)\"/>"
    }

    private static let standard =
        "<interface name=\"\(ServiceName.introspectable)\">" + method("Introspect", out: "s") + "</interface>"
        + "<interface name=\"\(ServiceName.properties)\">" + method("Get", in: "s", "s", out: "v")
        + method("GetAll", in: "s", out: "a{sv}") + method("Set", in: "s", "s", "v")
        + signal("PropertiesChanged", "s", "a{sv}", "as") + "</interface>"

    private static let service =
        "<interface name=\"\(ServiceName.service)\">" + method("OpenSession", in: "s", "v", out: "v", "o")
        + method("CreateCollection", in: "a{sv}", "s", out: "o", "o")
        + method("SearchItems", in: "a{ss}", out: "ao", "ao") + method("Unlock", in: "ao", out: "ao", "o")
        + method("Lock", in: "ao", out: "ao", "o") + method("GetSecrets", in: "ao", "o", out: "a{o(oayays)}")
        + method("ReadAlias", in: "s", out: "o") + method("SetAlias", in: "s", "o") + signal("CollectionCreated", "o")
        + signal("CollectionDeleted", "o") + signal("CollectionChanged", "o") + property("Collections", "ao")
        + "</interface>"

    private static let collection =
        "<interface name=\"\(ServiceName.collection)\">" + method("Delete", out: "o")
        + method("SearchItems", in: "a{ss}", out: "ao")
        + method("CreateItem", in: "a{sv}", "(oayays)", "b", out: "o", "o")
        + signal("ItemCreated", "o") + signal("ItemDeleted", "o") + signal("ItemChanged", "o") + property("Items", "ao")
        + property("Label", "s") + property("Locked", "b") + property("Created", "t") + property("Modified", "t")
        + "</interface>"

    private static let item =
        "<interface name=\"\(ServiceName.item)\">" + method("Delete", out: "o")
        + method("GetSecret", in: "o", out: "(oayays)") + method("SetSecret", in: "(oayays)") + property("Locked", "b")
        + property("Attributes", "a{ss}", "readwrite") + property("Label", "s", "readwrite") + property("Type", "s")
        + property("Created", "t") + property("Modified", "t") + "</interface>"

    private static let prompt =
        "<interface name=\"\(ServiceName.prompt)\">" + method("Prompt", in: "s") + method("Dismiss")
        + signal("Completed", "b", "v") + "</interface>"
}
