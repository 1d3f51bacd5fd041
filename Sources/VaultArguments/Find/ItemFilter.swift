import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// Conditions that items must meet in addition to those of a `Query`.
package struct ItemFilter {
    /// The folder to search, including its subfolders.
    var folder: String?
    /// The tags to match, ignoring case.
    var tags: [String] = []
    /// The attributes to match, with their exact values.
    var attributes: [(name: String, value: [UInt8])] = []
    /// Words to search for.
    var words: [String] = []
    /// True to search the notes as well, which requires opening every item that has notes.
    package var searchesNotes = false

    package init(folder: String? = nil, tags: [String] = []) {
        self.folder = folder
        self.tags = tags
    }

    /// True if the filter accepts every item.
    var isEmpty: Bool { folder == nil && tags.isEmpty && attributes.isEmpty && words.isEmpty }

    /// Returns the matching items of a vault, sorted by key.
    package func items(in vault: Vault, _ query: Query) throws -> [Item] {
        var found: [Item] = []
        try forEach(in: vault, query) { item in found.append(item) }
        return found
    }

    /// Calls `body` with each matching item, in key order.
    package func forEach(in vault: Vault, _ query: Query, _ body: (Item) throws -> Void) throws {
        let matcher = Matcher(self, in: vault)
        var cursor = try vault.items(matching: query)
        while let item = try cursor.next() {
            if try matcher.matches(item) { try body(item) }
        }
    }

    /// A filter prepared for matching many items.
    struct Matcher {
        private let filter: ItemFilter
        private let vault: Vault
        private let folder: [String]
        private let tags: [String]
        private let search: SearchWords

        init(_ filter: ItemFilter, in vault: Vault) {
            self.filter = filter
            self.vault = vault
            folder = filter.folder.map(FolderPath.names) ?? []
            tags = filter.tags.map(TextFolding.folded)
            search = SearchWords(filter.words)
        }

        /// Returns whether an item meets all conditions.
        func matches(_ item: Item) throws -> Bool {
            guard !filter.isEmpty else { return true }
            guard isInFolder(item), hasTags(item),
                filter.attributes.allSatisfy({ has(item, $0.name, $0.value) })
            else { return false }
            guard !filter.words.isEmpty else { return true }
            return try search.matches(item, label: LongLabel.read(of: item, in: vault)) {
                guard filter.searchesNotes else { return nil }
                return try notes(of: item)
            }
        }

        /// Returns whether an item has an attribute with this value; if there are several addresses, one per line, any
        /// of them may match.
        private func has(_ item: Item, _ name: String, _ value: [UInt8]) -> Bool {
            guard let own = item.attributes[name] else { return false }
            guard own != value, name == AttributeName.address else { return own == value }
            return own.split(separator: 0x0A).contains { $0.elementsEqual(value) }
        }

        /// Returns an item's notes; nil if it has no notes, or if this slot or device cannot open them. The notes are
        /// searched as a `String`, because folding case and accents requires a `String`.
        private func notes(of item: Item) throws -> String? {
            do throws(VaultError) {
                return try vault.attribute(AttributeName.notes, of: item)?.withUnsafeBytes {
                    String(validating: $0, as: UTF8.self)
                }
            } catch {
                guard [.notPermitted, .deviceBound].contains(error.code) else { throw error }
                return nil
            }
        }

        /// Returns whether the item is in the folder. An empty folder name matches items without a folder.
        private func isInFolder(_ item: Item) -> Bool {
            guard filter.folder != nil else { return true }
            let names = ItemPlace.folder(of: item)
            return folder.isEmpty ? names.isEmpty : ItemPlace.isFolder(names, within: folder)
        }

        private func hasTags(_ item: Item) -> Bool {
            guard !tags.isEmpty else { return true }
            let own = Set(ItemPlace.tags(of: item).map(TextFolding.folded))
            return tags.allSatisfy(own.contains)
        }
    }
}

extension ItemFilter {
    /// Throws an error for a folder, tag or group that no item has: such a name is probably a mistake, and a list of
    /// the existing names is more helpful than an empty result.
    package func requireKnown(in vaults: Vault..., group: String?) throws { try requireKnown(in: vaults, group: group) }

    /// Returns whether the folder of this filter, or the group, exists.
    package func isKnown(in vault: Vault, group: String? = nil) throws -> Bool {
        do { try requireKnown(in: vault, group: group) } catch let failure as CommandFailure {
            guard failure.status == .noSuchItem else { throw failure }
            return false
        }
        return true
    }

    package func requireKnown(in vaults: [Vault], group: String?) throws {
        guard folder != nil || !tags.isEmpty || group != nil else { return }
        var known = KnownPlaces()
        for vault in vaults {
            var cursor = try vault.items()
            while let item = try cursor.next() { known.add(item) }
        }
        if let folder, !FolderPath.names(folder).isEmpty, !known.hasFolder(FolderPath.names(folder)) {
            throw Self.unknown("folder", folder, known.folders)
        }
        let folded = Set(known.tags.map(TextFolding.folded))
        if let tag = tags.first(where: { !folded.contains(TextFolding.folded($0)) }) {
            throw Self.unknown("tag", tag, known.tags)
        }
        if let group, !group.isEmpty, !known.groups.contains(group) {
            throw Self.unknown("group", group, known.groups)
        }
    }

    private static func unknown(_ what: String, _ name: String, _ known: Set<String>) -> CommandFailure {
        let message = "no item has the \(what) \(TerminalText.typed(name))"
        let sorted = known.sorted()
        if let place = Spelling.nearest(to: TextFolding.folded(name), among: sorted.map(TextFolding.folded)) {
            let meant = sorted.first { TextFolding.folded($0) == place } ?? place
            return CommandFailure(
                .noSuchItem, "\(message); did you mean \(TerminalText.typed(meant))? 'vaultfmt list' shows the others")
        }
        let most = 8
        let names = sorted.prefix(most).map { TerminalText.typed($0) }.joined(separator: ", ")
        let rest = known.count > most ? " and \(known.count - most) more" : ""
        return CommandFailure(
            .noSuchItem, "\(message); \(known.isEmpty ? "no item has any \(what)" : "choose from \(names)\(rest)")")
    }
}

/// The existing folders, tags and groups.
private struct KnownPlaces {
    var folders: Set<String> = []
    var tags: Set<String> = []
    var groups: Set<String> = []

    mutating func add(_ item: Item) {
        let names = ItemPlace.folder(of: item)
        if !names.isEmpty { folders.insert(FolderPath.text(names)) }
        tags.formUnion(ItemPlace.tags(of: item))
        if !item.key.group.isEmpty { groups.insert(item.key.group) }
    }

    func hasFolder(_ names: [String]) -> Bool {
        folders.contains { ItemPlace.isFolder(FolderPath.names($0), within: names) }
    }
}
