import VaultExchange
package import VaultFmt
import VaultLocal

/// A file stored with an item: a sealed binary attribute (`Docs/import.md`).
package enum Attachment {
    /// Reads a file and names the attribute after it. A pipe, such as `<(…)` or `/dev/stdin`, is read to its end, so a
    /// named pipe that nobody writes to is waited for.
    package static func read(_ path: String) throws -> Attribute {
        let title = path.split(separator: "/").last.map(String.init) ?? path
        let name = AttributeName.filePrefix + title
        guard name.utf8.count <= 255 else {
            throw CommandFailure(
                .usage, "the name of the file \(TerminalText.path(path)) is too long for an attachment; rename it")
        }
        let bytes = try Descriptor.readFile(path, what: "file to attach,", limit: AttributeName.longestFile)
        return Attribute(name, secret: bytes, flags: [.sealed, .binary])
    }

    /// Returns the file's name, which is part of the attribute's name.
    package static func title(_ name: String) -> String { String(name.dropFirst(AttributeName.filePrefix.count)) }
}
