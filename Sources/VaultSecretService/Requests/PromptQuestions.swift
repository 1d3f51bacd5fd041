internal import VaultAgent
internal import VaultFmt
internal import VaultLocal

// The questions to a person.
extension SecretService {
    /// Returns the question that a person must agree to, and the items that it names; nil if there is nothing to ask.
    func question(_ prompt: ServicePrompts.Prompt) -> (text: String, items: [ItemID])? {
        guard confirms, let subject = subject(prompt) else { return nil }
        return (Self.sentence(subject.text, prompt.client), subject.items)
    }

    private static func sentence(_ subject: String, _ client: BusClient) -> String {
        "Allow \(quoted(client.program)) (process \(client.process)) to \(subject)?"
    }

    /// Says what a prompt lets its client do, and with which items; nil if that is nothing.
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
            return ("delete the collection \(Self.quoted(group)) \(Self.countText(items.count))", items)
        }
    }

    /// Everything that is agreed to is named: what does not fit in one question is asked in the next one.
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

    /// Says how many items a collection has.
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

    /// An item's label, and the access group, since a client can make a collection with the label of another.
    static func name(_ item: ListedItem) -> String { "\(quoted(item.label)) in \(quoted(item.group))" }

    /// Returns a name in quotes, escaped and shortened. A quote in it is escaped, too: it would look like the end of
    /// the name.
    static func quoted(_ name: String) -> String {
        let escaped = TerminalText.escaped(name).unicodeScalars
        var text = "'"
        for scalar in escaped.prefix(longestName) {
            if scalar == "'" { text += "\\" }
            text.unicodeScalars.append(scalar)
        }
        return text + (escaped.count > longestName ? "…'" : "'")
    }

    private static let longestName = 80
}
