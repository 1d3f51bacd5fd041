internal import VaultFmt

/// The items in the served collections, in one state of the vault.
struct Listing: Sendable {
    let state: StateID
    /// The access groups: the default one first, and then the others in the order of their names.
    let groups: [String]
    /// The items, in the vault's order.
    let items: [ListedItem]
    /// True if the listing includes all items and groups that belong to it.
    let isComplete: Bool
    private let places: [ItemID: Int]

    init(state: StateID, groups: [String], items: [ListedItem], isComplete: Bool) {
        self.state = state
        self.groups = groups
        self.items = items
        self.isComplete = isComplete
        places = Dictionary(items.enumerated().map { ($1.id, $0) }) { first, _ in first }
    }

    /// Returns a listing with the same items and other collections.
    func with(groups: [String]) -> Listing {
        Listing(state: state, groups: groups, items: items, isComplete: isComplete)
    }

    func has(group: String) -> Bool { groups.contains { $0.isSame(as: group) } }

    /// Returns the item with the given id.
    subscript(id: ItemID) -> ListedItem? { places[id].map { items[$0] } }

    /// Returns the item with the given id in a group.
    func item(_ group: String, _ id: ItemID) -> ListedItem? {
        guard let item = self[id], item.group.isSame(as: group) else { return nil }
        return item
    }

    func items(in group: String) -> [ListedItem] { items.filter { $0.group.isSame(as: group) } }

    /// Returns the item that a new item replaces: the item in the same group with exactly the same attributes or,
    /// failing that, an item without attributes of its own that has the same service and account. If the new item has
    /// no attributes, the labels must match as well, because two clients that specify no attributes may mean different
    /// items.
    func replaced(by new: NewItem) -> ListedItem? {
        let all = items(in: new.group)
        guard !new.attributes.all.isEmpty else {
            guard let label = new.label else { return nil }
            return all.first { item in
                item.hasOwnAttributes && item.attributes.all.isEmpty && item.label.isSame(as: label)
            }
        }
        return all.first { $0.attributes == new.attributes } ?? all.first { $0.isNamed(by: new.attributes) }
    }

    /// Returns the items that have all of the given attributes. The item whose secret was set last comes first, because
    /// clients that expect a single item take the first one.
    func matching(_ attributes: LookupAttributes) -> [ListedItem] {
        let found = items.filter { $0.attributes.include(attributes) }.enumerated()
        return found.sorted { (one, other) in
            (one.element.secretChanged, one.element.revision, other.offset)
                > (other.element.secretChanged, other.element.revision, one.offset)
        }.map(\.element)
    }
}
