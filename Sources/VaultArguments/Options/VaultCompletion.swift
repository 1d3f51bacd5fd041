import ArgumentParser
import VaultExchange
package import VaultFmt
import VaultLocal

/// Shell completions for the word being typed, from an unlocked vault. Completion never prompts, prints messages or
/// remembers anything.
package enum VaultCompletion {
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
    @Sendable package static func groups(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        names(words) { item in [item.key.group] }
    }

    /// Folders, and the folders that contain them.
    @Sendable package static func folders(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        names(words) { item in
            let folder = ItemPlace.folder(of: item)
            return folder.indices.map { FolderPath.text(Array(folder[...$0])) }
        }
    }

    /// Tags.
    @Sendable package static func tags(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        names(words) { item in ItemPlace.tags(of: item) }
    }

    /// Slots by name, or by the beginning of the id if a slot has no name.
    @Sendable package static func slots(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
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
    package static func names(_ words: [String], _ texts: (Item) -> [String]) -> [String] {
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
        let machine = try Machine(notices: { _ in })
        return try machine.openUnlocked(
            try VaultPath.resolve(vault(in: words)), options: OpenOptions(), place: machine.place)
    }

    /// Returns whether every shell reads the name as a single plain word. Other names are not offered: bash expands
    /// completions and would run any command between `$(` and `)` in a name.
    private static func isPlainWord(_ name: String) -> Bool {
        guard let first = name.unicodeScalars.first, first != "-", first != "=" else { return false }
        return name.unicodeScalars.allSatisfy { scalar in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-", "@", "/", "+", "%", ",", "=": true
            default: scalar.value > 0x7F && scalar.properties.isAlphabetic
            }
        }
    }

    /// The vault named on the command line, before or after the command.
    /// - `words`: The words as they were typed.
    static func vault(in words: [String]) -> String? {
        for (index, word) in words.enumerated() {
            let next = words.dropFirst(index + 1)
            switch word {
            case "--": return nil
            case "-f", "--vault":
                // bash treats the sign in --vault=FILE as a separate word.
                guard next.first == "=" else { return next.first.map { withHome(unquoted($0), typed: $0) } }
                return next.dropFirst().first.map { unquoted($0) }
            case _ where word.hasPrefix("--vault="): return unquoted(String(word.dropFirst("--vault=".count)))
            case _ where word.hasPrefix("-f="): return unquoted(String(word.dropFirst("-f=".count)))
            case _ where word.hasPrefix("-f"): return unquoted(String(word.dropFirst("-f".count)))
            default: continue
            }
        }
        return nil
    }

    /// Returns a word without its quotes and backslashes. Nothing in it is expanded.
    static func unquoted(_ word: String) -> String {
        // Before version 4, fish passes words with their quotes already removed.
        if CompletionShell.requesting == .fish, CompletionShell.requestingVersion?.hasPrefix("3.") ?? false {
            return word
        }
        var text = ""
        var quote: Character?
        var isEscaped = false
        for character in word {
            if isEscaped {
                // Within double quotes, a backslash before most characters is kept.
                if quote != nil, !"\\\"$`".contains(character) { text.append("\\") }
                text.append(character)
                isEscaped = false
            } else if character == "\\", quote != "'" {
                isEscaped = true
            } else if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
            } else {
                text.append(character)
            }
        }
        return text
    }

    /// Returns the path with an unquoted tilde at its start replaced by the home folder.
    private static func withHome(_ path: String, typed: String) -> String {
        guard typed.hasPrefix("~/"), let home = Environment.nonEmpty("HOME") else { return path }
        return home + path.dropFirst()
    }
}
