import ArgumentParser
import VaultFmt

/// The names of items, offered by shells while a vault is unlocked. Nothing is ever asked, said or remembered here.
enum ItemCompletion {
    private static let mostItems = 20_000

    /// Services and servers.
    @Sendable static func services(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        names(words) { key in key.service ?? key.server }
    }

    /// Accounts of the services that stand in the line.
    @Sendable static func accounts(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        let given = Set(words)
        return names(words) { key in
            guard let service = key.service ?? key.server, given.contains(service) else { return nil }
            return key.account
        }
    }

    private static func names(_ words: [String], _ name: (ItemKey) -> String?) -> [String] {
        var found: Set<String> = []
        do {
            let path = try VaultPath.resolve(vault(in: words))
            guard let opened = try Vault.openKept(path) else { return [] }
            var cursor = try opened.items()
            for _ in 0..<mostItems {
                guard let item = try cursor.next() else { break }
                // What a shell could take for something else than a word of its line is not offered.
                guard let name = name(item.key), !name.isEmpty else { continue }
                if !name.unicodeScalars.contains(where: TerminalText.isHarmful) { found.insert(name) }
            }
        } catch {
            // A completion has nobody to tell why there is none.
            return []
        }
        return found.sorted()
    }

    /// What the line says of the vault.
    private static func vault(in words: [String]) -> String? {
        for (index, word) in words.enumerated() {
            if ["-f", "--vault"].contains(word), index + 1 < words.count { return words[index + 1] }
            if word.hasPrefix("--vault=") { return String(word.dropFirst("--vault=".count)) }
        }
        return nil
    }
}
