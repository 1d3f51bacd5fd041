import CVaultShim
import Glibc
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// A word list in the format of Debian's diceware package.
struct WordList {
    /// The folder in which the package installs its lists.
    static let folder = "/usr/lib/python3/dist-packages/diceware/wordlists"
    /// The EFF's long list: 7776 words.
    static let standard = "en_eff"

    /// The words, without duplicates.
    let words: [String]

    /// The entropy that each word adds, in bits.
    var bitsPerWord: Double { log2(Double(max(words.count, 1))) }

    /// Reads a list.
    /// - `name`: The name of one of the package's lists, such as "en_eff" or "de"; if it contains a slash, the path of
    ///   a file.
    init(_ name: String) throws {
        let path = try name.contains("/") ? name : Self.path(name)
        let text = try Descriptor.readFile(path, what: "word list", limit: 16 << 20)
            .withUnsafeBytes { String(validating: $0, as: UTF8.self) }
        guard let text else {
            throw CommandFailure(.damaged, "the word list \(TerminalText.path(path)) is not UTF-8; convert it first")
        }
        words = Self.words(of: text)
        guard words.count >= 2 else {
            throw CommandFailure(
                .damaged, "the word list \(TerminalText.path(path)) has fewer than two words; use another one")
        }
    }

    private static func path(_ name: String) throws -> String {
        let paths = ["txt", "asc"].map { "\(folder)/wordlist_\(name).\($0)" }
        if let path = paths.first(where: { access($0, R_OK) == 0 }) { return path }
        guard access(folder, R_OK) == 0 else {
            throw CommandFailure(
                .noSuchFile,
                "no word lists are installed on this machine; install the package 'diceware', or specify a file: --list ./words.txt"
            )
        }
        throw CommandFailure(
            .noSuchFile,
            "there is no word list \(TerminalText.quoted(name)); the lists are \(names().joined(separator: ", "))")
    }

    /// The names of the package's lists.
    private static func names() -> [String] {
        guard let folder = vault_open_directory(folder) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = vault_next_name(folder) {
            let file = String(cString: entry)
            guard file.hasPrefix("wordlist_"), let end = file.lastIndex(of: ".") else { continue }
            names.append(String(file[..<end].dropFirst("wordlist_".count)))
        }
        return names.sorted()
    }

    /// Parses a list with one word per line, possibly preceded by the dice rolls that select it. The list may be
    /// signed.
    private static func words(of text: String) -> [String] {
        var lines = text.split(whereSeparator: \.isNewline)[...]
        let isSigned = lines.first == "-----BEGIN PGP SIGNED MESSAGE-----"
        if isSigned { lines = lines.dropFirst().drop { $0.contains(": ") } }
        var seen: Set<Substring> = []
        var words: [String] = []
        for line in lines {
            if isSigned, line.hasPrefix("-----BEGIN PGP SIGNATURE") { break }
            let parts = line.split(whereSeparator: \.isWhitespace)
            let isNumbered = parts.count == 2 && parts[0].allSatisfy { $0.isASCII && ($0.isNumber || $0 == "-") }
            guard let word = isNumbered ? parts.last : parts.count == 1 ? parts.first : line, seen.insert(word).inserted
            else { continue }
            words.append(String(word))
        }
        return words
    }
}
