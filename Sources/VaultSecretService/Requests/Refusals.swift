internal import VaultFmt

// What `agent status` tells of calls that are refused.
extension SecretService {
    /// Notes that a call is refused. Calls that no state of the vault would allow, such as those of an object that does
    /// not exist, are mistakes of the program, and are not told.
    package func noteRefusal(of call: BusCall, _ error: BusError) {
        guard Self.refusals.contains(error.name) else { return }
        noteRefusal(attempt(call), error, call.client)
    }

    private static let refusals: Set<String> = [
        BusError.isLocked().name, BusError.denied("").name, BusError.limit("").name, BusError.failed("").name,
    ]

    /// Says what a client has tried.
    private func attempt(_ call: BusCall) -> String {
        switch (call.member, resolved(call.path)) {
        case ("GetSecret", .item(let group, let id)?): "read the secret \(known(group, id))"
        case ("SetSecret", .item(let group, let id)?): "change the secret \(known(group, id))"
        case ("Delete", .item(let group, let id)?): "delete the item \(known(group, id))"
        case ("Set", .item(let group, let id)?): "change the label or the attributes of \(known(group, id))"
        case ("CreateItem", .collection(let group)?):
            "store the secret \(Self.quoted(Self.label(ofNew: call))) in \(Self.quoted(group))"
        case ("Delete", .collection(let group)?): "delete the collection \(Self.quoted(group))"
        case ("CreateCollection", _): "make a collection"
        case ("SearchItems", _): "search"
        case ("GetSecrets", _): "read secrets"
        case ("Unlock", _): "unlock something"
        case ("Prompt", .prompt(let number)?):
            prompts[number].flatMap { $0.client == call.client ? subject($0)?.text : nil } ?? "show a prompt"
        case ("OpenSession", _): "open a session"
        default: call.member
        }
    }

    /// An item's name, or its id if the item is not known.
    private func known(_ group: String, _ id: ItemID) -> String {
        collections.remembered?.item(group, id).map(Self.name) ?? "\(id) in \(Self.quoted(group))"
    }

    /// The label that a client gives a new item; empty if it gives none.
    private static func label(ofNew call: BusCall) -> String {
        guard case .array("{sv}", let entries)? = call.arguments.first else { return "" }
        for case .entry(.text(let name), .variant(.text(let label))) in entries
        where name == ServiceName.item + ".Label" { return label }
        return ""
    }
}
