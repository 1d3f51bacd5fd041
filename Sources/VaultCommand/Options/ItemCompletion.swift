import ArgumentParser
import VaultFmt
import VaultLocal

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
            guard let opened = try ThisMachine.current().openUnlocked(path) else { return [] }
            var cursor = try opened.items()
            for _ in 0..<mostItems {
                guard let item = try cursor.next() else { break }
                if let name = name(item.key), isPlainWord(name) { found.insert(name) }
            }
        } catch {
            // A completion has nobody to tell why there is none.
            return []
        }
        return found.sorted()
    }

    /// Whether every shell takes the name for one word of a line, and for nothing else. Others are not offered: bash
    /// expands what it is given, and would run what a name has between `$(` and `)`.
    private static func isPlainWord(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, first != "-", first != "=" else { return false }
        return name.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-", "@", "/", "+", "%", ",", "=": true
            default: scalar.value > 0x7F && scalar.properties.isAlphabetic
            }
        }
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
