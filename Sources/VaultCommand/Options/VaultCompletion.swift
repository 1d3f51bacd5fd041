import ArgumentParser
import VaultExchange
import VaultFmt
import VaultLocal

/// Shell completions for the word being typed, from an unlocked vault. Completion never prompts, prints messages or
/// remembers anything.
enum VaultCompletion {
    private static let mostItems = 20_000

    /// Services and servers.
    @Sendable static func services(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        names(words) { item in [item.key.service ?? item.key.server ?? ""] }
    }

    /// Accounts of the services on the command line.
    @Sendable static func accounts(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        let given = Set(words)
        return names(words) { item in
            guard let service = item.key.service ?? item.key.server, given.contains(service) else { return [] }
            return [item.key.account ?? ""]
        }
    }

    /// Access groups that contain items.
    @Sendable static func groups(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        names(words) { item in [item.key.group] }
    }

    /// Folders, and the folders that contain them.
    @Sendable static func folders(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        names(words) { item in
            let folder = ItemPlace.folder(of: item)
            return folder.indices.map { FolderPath.text(Array(folder[...$0])) }
        }
    }

    /// Tags.
    @Sendable static func tags(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        names(words) { item in ItemPlace.tags(of: item) }
    }

    /// Slots by name, or by the beginning of the id if they have none.
    @Sendable static func slots(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        do {
            return try opened(words)?.slots().map { slot in
                guard let name = slot.name, isPlainWord(name) else { return String(slot.id.description.prefix(8)) }
                return name
            } ?? []
        } catch {
            // Completion has no way to report why there are no results.
            return []
        }
    }

    /// The plain words that `texts` finds in items, without duplicates.
    static func names(_ words: [String], _ texts: (Item) -> [String]) -> [String] {
        var found: Set<String> = []
        do {
            guard let opened = try opened(words) else { return [] }
            var cursor = try opened.items()
            for _ in 0..<mostItems {
                guard let item = try cursor.next() else { break }
                found.formUnion(texts(item).filter(isPlainWord))
            }
        } catch {
            return []
        }
        return found.sorted()
    }

    private static func opened(_ words: [String]) throws -> Vault? {
        try ThisMachine.current().openUnlocked(VaultPath.resolve(vault(in: words)))
    }

    /// Whether every shell reads the name as a single plain word. Other names are not offered: bash expands
    /// completions, and would run whatever a name contains between `$(` and `)`.
    private static func isPlainWord(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, first != "-", first != "=" else { return false }
        return name.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-", "@", "/", "+", "%", ",", "=": true
            default: scalar.value > 0x7F && scalar.properties.isAlphabetic
            }
        }
    }

    /// The vault named on the command line.
    private static func vault(in words: [String]) -> String? {
        for (index, word) in words.enumerated() {
            if ["-f", "--vault"].contains(word), index + 1 < words.count { return words[index + 1] }
            if word.hasPrefix("--vault=") { return String(word.dropFirst("--vault=".count)) }
        }
        return nil
    }
}
