import ArgumentParser
import VaultExchange
package import VaultFmt

/// The order of a listing.
package enum ListOrder: String, CaseIterable, ExpressibleByArgument {
    case name, account, label, folder, group, `class`, created, modified

    /// Reads a name, including other programs' names.
    package init?(argument: String) {
        let synonyms: [String: ListOrder] = [
            "service": .name, "server": .name, "title": .label, "user": .account, "username": .account,
            "changed": .modified, "updated": .modified, "date": .modified, "time": .modified, "recent": .modified,
            "newest": .modified, "kind": .class, "type": .class,
        ]
        guard let order = ListOrder(rawValue: argument.lowercased()) ?? synonyms[argument.lowercased()] else {
            return nil
        }
        self = order
    }

    /// Returns the items in this order: times from newest to oldest, names alphabetically, ignoring case. Items that
    /// compare equal keep their order.
    package func sorted(_ items: [Item]) -> [Item] {
        switch self {
        case .created:
            sorted(items) {
                $0.created > $1.created
            } key: {
                $0
            }
        case .modified:
            sorted(items) {
                $0.modified > $1.modified
            } key: {
                $0
            }
        case .name: byText(items) { ItemText.name($0.key).first ?? "" }
        case .account: byText(items) { $0.key.account ?? "" }
        case .label: byText(items) { $0.attributes.label ?? "" }
        case .folder: byText(items) { FolderPath.text(ItemPlace.folder(of: $0)) }
        case .group: byText(items) { $0.key.group }
        case .class:
            sorted(items) {
                $0 < $1
            } key: {
                $0.key.itemClass
            }
        }
    }

    /// Sorts by a text; items without that text come last.
    private func byText(_ items: [Item], _ text: (Item) -> String) -> [Item] {
        sorted(items) { (left, right) in
            left.isEmpty == right.isEmpty ? left < right : right.isEmpty
        } key: {
            TextFolding.folded(text($0))
        }
    }

    private func sorted<Key>(
        _ items: [Item], _ precedes: (Key, Key) -> Bool, key: (Item) -> Key
    ) -> [Item] {
        let keyed = items.enumerated().map { (key: key($1), place: $0, item: $1) }
        return keyed.sorted { left, right in
            if precedes(left.key, right.key) { return true }
            return !precedes(right.key, left.key) && left.place < right.place
        }.map(\.item)
    }
}
