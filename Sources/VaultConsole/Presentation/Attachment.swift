import CVaultShim
import Glibc
import VaultExchange
package import VaultFmt
import VaultLocal

/// A file stored with an item: a sealed binary attribute (`Docs/import.md`).
package enum Attachment {
    /// Reads a file. The attribute is named after the file or, for an argument `NAME=FILE`, gets that name, which a
    /// pipe such as `<(…)` or `/dev/stdin` needs. A pipe is read to its end, so this waits for a writer to open a named
    /// pipe.
    package static func read(_ argument: String) throws -> Attribute {
        let (given, path) = parts(of: argument)
        guard path != "-" else {
            let name = given.map { TerminalText.word($0) } ?? "NAME"
            throw CommandFailure(
                .usage,
                "'-' is not a file; '--attach \(name)=/dev/stdin' attaches standard input, and './-' is a file of that name"
            )
        }
        guard given != nil || hasName(path) else {
            throw CommandFailure(
                .usage,
                "\(TerminalText.path(path)) is not a file whose name the attachment could have; name it, as in '--attach NAME=\(TerminalText.word(path))'"
            )
        }
        let title = given ?? path.split(separator: "/").last.map(String.init) ?? path
        let name = AttributeName.filePrefix + title
        guard name.utf8.count <= 255 else {
            throw CommandFailure(
                .usage, "the name of the file \(TerminalText.path(path)) is too long for an attachment; rename it")
        }
        let bytes = try Descriptor.readFile(path, what: "file to attach,", limit: AttributeName.longestFile)
        return Attribute(name, secret: bytes, flags: [.sealed, .binary])
    }

    /// Splits an argument `NAME=FILE`. If a file has the whole argument as its path, the argument means that file.
    private static func parts(of argument: String) -> (name: String?, path: String) {
        var status = vault_status()
        guard vault_status_of(argument, true, &status) != 0, let sign = argument.firstIndex(of: "=") else {
            return (nil, argument)
        }
        let (name, path) = (String(argument[..<sign]), String(argument[argument.index(after: sign)...]))
        return name.isEmpty || name.contains("/") || path.isEmpty ? (nil, argument) : (name, path)
    }

    /// Returns whether a file has a name of its own: a pipe or a device does not, and `/dev/stdin` and `/dev/fd/63` are
    /// the names of descriptors. A missing file counts as having a name, so that opening it reports the error.
    private static func hasName(_ path: String) -> Bool {
        guard !["/dev/std", "/dev/fd/", "/proc/"].contains(where: { path.hasPrefix($0) }) else { return false }
        var status = vault_status()
        return vault_status_of(path, true, &status) != 0 || status.mode & S_IFMT == S_IFREG
    }

    /// Returns the file's name, which is part of the attribute's name.
    package static func title(_ name: String) -> String { String(name.dropFirst(AttributeName.filePrefix.count)) }
}
