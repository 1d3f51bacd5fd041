import Foundation
import Testing

@Suite("The map of the code")
struct ArchitectureTests {
    /// Returns the words in backticks that name a file or folder that does not exist.
    ///
    /// A word with a slash is a path below the root or below `Sources`; a word without one that ends in `.swift` is the
    /// name of a file anywhere below `Sources`.
    private static func wrongNames(in text: String) throws -> [String] {
        let root = Readers.root
        let sources = root.appendingPathComponent("Sources").path
        let files = try FileManager.default.subpathsOfDirectory(atPath: sources)
        let names = Set(files.compactMap { $0.split(separator: "/").last.map(String.init) })
        let words = text.matches(of: /`([^`\n]+)`/).flatMap { $0.output.1.split(separator: " ") }.map(String.init)
        return words.filter { word in
            guard word.contains("/") else { return word.hasSuffix(".swift") && !names.contains(word) }
            return ![root.path, sources].contains { FileManager.default.fileExists(atPath: "\($0)/\(word)") }
        }
    }

    @Test("names only files and folders that exist")
    func names() throws {
        let text = try String(contentsOf: Readers.root.appendingPathComponent("ARCHITECTURE.md"), encoding: .utf8)
        #expect(text.contains("`VaultFmt/Vault/Opening.swift`"))
        #expect(try Self.wrongNames(in: text) == [])
    }

    @Test("would not pass with a name that does not exist")
    func wrongNames() throws {
        let text = """
            `VaultFmt/Vault/Opening.swift`, `Store.swift`, `Tools/checks/promises json --update`, `Tests/Support`,
            `VaultFmt/Opening.swift`, `Stores.swift`, `Tools/checks/promise json`, `Tests/Supports`, `no.file`, no/file
            """
        #expect(
            try Self.wrongNames(in: text) == [
                "VaultFmt/Opening.swift", "Stores.swift", "Tools/checks/promise", "Tests/Supports",
            ])
    }
}
