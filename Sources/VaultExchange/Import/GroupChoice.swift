import VaultFmt

/// The access group of an imported item.
package enum GroupChoice {
    /// The group given in the source, if any.
    case own
    case named(String)
    /// The path of the item's folder, if it has one.
    case folder

    /// True if the user named a group; existing items are then moved to that group. A group named by the source does
    /// not apply to existing items, because the author of the source could then choose who can read them.
    var movesItems: Bool { if case .named = self { true } else { false } }

    /// Returns the key of an item in its group.
    func key(_ key: ItemKey, _ attributes: Attributes) throws(VaultError) -> ItemKey {
        switch self {
        case .own: return key
        case .named(let name): return try key.replacing(group: name)
        case .folder:
            guard let folder = attributes.string(AttributeName.folder) else { return key }
            return try key.replacing(group: folder)
        }
    }
}
