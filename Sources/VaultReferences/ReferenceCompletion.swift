import ArgumentParser
import VaultArguments
import VaultFmt

/// Shell completion for references to items; see `VaultCompletion`.
///
/// bash treats a colon as the end of a word, so it completes references only within quotes.
enum ReferenceCompletion {
    /// Completes plain references: the argument of `read`.
    @Sendable static func references(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        all(words, before: "")
    }

    /// Completes references after the name of a variable: the value of `run --env`. Only the user knows which variable
    /// is meant.
    @Sendable static func assignments(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
        guard words.indices.contains(index), let sign = words[index].firstIndex(of: "=") else { return [] }
        let name = words[index][..<sign]
        guard !name.isEmpty, name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }) else {
            return []
        }
        return all(words, before: "\(name)=")
    }

    private static func all(_ words: [String], before: String) -> [String] {
        // zsh treats the text after a colon as a description, unless the colon is escaped with a backslash.
        let colon = CompletionShell.requesting == .zsh ? "\\:" : ":"
        let scheme = Reference.scheme.replacing(":", with: colon)
        return VaultCompletion.names(words) { item in
            guard let service = item.key.service ?? item.key.server, !service.isEmpty else { return [] }
            let account = item.key.account ?? ""
            return [Reference.encoded(service) + (account.isEmpty ? "" : "/" + Reference.encoded(account))]
        }.map { before + scheme + $0 }
    }
}
