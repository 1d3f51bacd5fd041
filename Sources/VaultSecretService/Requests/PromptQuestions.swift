internal import VaultAgent
internal import VaultFmt
internal import VaultLocal

// The questions to a person.
extension SecretService {
    /// Returns the question to ask a person, and the items that it names; nil if no question is necessary.
    func question(_ prompt: ServicePrompts.Prompt) -> (text: String, items: [ItemID])? {
        guard confirms, let subject = subject(prompt) else { return nil }
        return (Self.sentence(subject.text, prompt.client), subject.items)
    }

    private static func sentence(_ subject: String, _ client: BusClient) -> String {
        "Allow \(TerminalText.quoted(client.program)) (process \(client.process)) to \(subject)?"
    }

    /// Describes what a prompt allows its client to do, and with which items; nil if there is nothing.
    func subject(_ prompt: ServicePrompts.Prompt) -> (text: String, items: [ItemID])? {
        switch prompt.action {
        case .unlock(let paths): return reading(paths.compactMap(listed), prompt.client)
        case .read(let group, let id, _):
            return reading([collections.remembered?.item(group, id)].compactMap { $0 }, prompt.client)
        case .replace(let id, let new):
            guard let item = collections.remembered?.item(new.group, id), isLocked(item, for: prompt.client) else {
                return nil
            }
            return ("replace the secret \(Self.name(item))", [id])
        case .repeated: return nil
        case .deleteItem(let group, let id):
            guard let item = collections.remembered?.item(group, id), !mayDelete(item, prompt.client) else {
                return nil
            }
            return ("delete the item \(Self.name(item))", [id])
        case .deleteCollection(let group):
            let items = collections.remembered?.items(in: group).map(\.id) ?? []
            let name = TerminalText.quoted(group, limit: .max)
            return ("delete the collection \(name) \(Self.countText(items.count))", items)
        }
    }

    /// Everything that a person agrees to is named; what does not fit in one question is asked in the next.
    private func reading(_ items: [ListedItem], _ client: BusClient) -> (text: String, items: [ItemID])? {
        let locked = items.filter { isLocked($0, for: client) }
        guard !locked.isEmpty else { return nil }
        var count = min(locked.count, BusLimits.questionItems)
        while true {
            let named = locked.prefix(count)
            let names = named.map(Self.name).joined(separator: ", ")
            let more = locked.count > count ? " (\(count) of \(locked.count))" : ""
            let text = "read and change the \(locked.count == 1 ? "secret" : "secrets") \(names)\(more)"
            guard count > 1, !QuestionText.fits(Self.sentence(text, client)) else { return (text, named.map(\.id)) }
            count -= 1
        }
    }

    /// Describes the number of items in a collection.
    static func countText(_ items: Int) -> String {
        switch items {
        case 0: "without items"
        case 1: "with its item"
        default: "with its \(items) items"
        }
    }

    private func listed(_ path: String) -> ListedItem? {
        guard case .item(let group, let id) = resolved(path) else { return nil }
        return collections.remembered?.item(group, id)
    }

    /// Returns an item's label and its access group, because a client can create a collection with the same label as
    /// another collection. The names are not shortened, because items whose names differ only at the end would look the
    /// same.
    static func name(_ item: ListedItem) -> String {
        "\(TerminalText.quoted(item.label, limit: .max)) in \(TerminalText.quoted(item.group, limit: .max))"
    }
}
