import VaultExchange
package import VaultFmt

/// An item's folder and tags, to the extent that the index contains them.
package enum ItemPlace {
    /// The names in the folder's path, outermost first; empty for an item without a folder.
    package static func folder(of item: Item) -> [String] {
        guard !isSealed(AttributeName.folder, of: item) else { return [] }
        return FolderPath.names(item.attributes.string(AttributeName.folder) ?? "")
    }

    /// The tags, without duplicates.
    static func tags(of item: Item) -> [String] {
        guard !isSealed(AttributeName.tags, of: item) else { return [] }
        return tags(in: item.attributes.string(AttributeName.tags) ?? "")
    }

    /// Returns the tags in a text that contains one tag per line.
    package static func tags(in text: String) -> [String] {
        var tags: [String] = []
        for line in text.split(whereSeparator: \.isNewline) where !tags.contains(String(line)) {
            tags.append(String(line))
        }
        return tags
    }

    /// Returns whether an item in these folders is in the given folder or one of its subfolders, ignoring case and
    /// accents.
    static func isFolder(_ names: [String], within folder: [String]) -> Bool {
        names.count >= folder.count
            && zip(names, folder).allSatisfy { TextFolding.folded($0) == TextFolding.folded($1) }
    }

    private static func isSealed(_ name: String, of item: Item) -> Bool {
        item.attributes.attribute(name)?.flags.isDisjoint(with: [.sealed, .concealed]) == false
    }
}
