internal import VaultFmt
internal import VaultLocal

// What `agent status` reports about refused calls.
extension SecretService {
    /// Records that a call was refused. Calls that would fail in any state of the vault, such as those to nonexistent
    /// objects, are programming errors and are not reported.
    package func noteRefusal(of call: BusCall, _ error: BusError) {
        guard Self.refusals.contains(error.name) else { return }
        noteRefusal(attempt(call), error, call.client)
    }

    private static let refusals: Set<String> = [
        BusError.isLocked().name, BusError.denied("").name, BusError.limit("").name, BusError.failed("").name,
    ]

    /// Describes what a client has tried to do.
    private func attempt(_ call: BusCall) -> String {
        switch (call.member, resolved(call.path)) {
        case ("GetSecret", .item(let group, let id)?): "read the secret \(known(group, id))"
        case ("SetSecret", .item(let group, let id)?): "change the secret \(known(group, id))"
        case ("Delete", .item(let group, let id)?): "delete the item \(known(group, id))"
        case ("Set", .item(let group, let id)?): "change the label or the attributes of \(known(group, id))"
        case ("CreateItem", .collection(let group)?):
            "store the secret \(TerminalText.quoted(Self.label(ofNew: call))) in \(TerminalText.quoted(group))"
        case ("Delete", .collection(let group)?): "delete the collection \(TerminalText.quoted(group))"
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

    /// Returns an item's name, or its id if the item is unknown.
    private func known(_ group: String, _ id: ItemID) -> String {
        collections.remembered?.item(group, id).map(Self.name) ?? "\(id) in \(TerminalText.quoted(group))"
    }

    /// Returns the label that a client has given a new item; empty if there is none.
    private static func label(ofNew call: BusCall) -> String {
        guard case .array("{sv}", let entries)? = call.arguments.first else { return "" }
        for case .entry(.text(let name), .variant(.text(let label))) in entries
        where name == ServiceName.item + ".Label" { return label }
        return ""
    }
}
