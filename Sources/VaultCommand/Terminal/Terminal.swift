import Glibc
import VaultLocal

/// Which of the standard descriptors a person is looking at, and lines for standard error.
enum Terminal {
    static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }
    static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Writes one line to standard error. What it holds is escaped, so it stays one line.
    static func errorLine(_ text: String) { write(TerminalText.singleLine(text) + "\n") }

    /// Something worth knowing that changes nothing.
    static func note(_ text: String) { errorLine("vaultfmt: \(text)") }

    /// Something that the person should act on.
    static func warning(_ text: String) {
        let word = Style.standardError.apply(.warning, to: "warning:")
        write("vaultfmt: \(word) \(TerminalText.singleLine(text))\n")
    }

    /// Why the command ends.
    static func failure(_ text: String) {
        let name = Style.standardError.apply(.failure, to: "vaultfmt:")
        write("\(name) \(TerminalText.singleLine(text))\n")
    }

    /// Columns of the terminal behind a descriptor, or nil where it has none.
    static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    private static func write(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            // Standard error is where failures go: there is nowhere left to report that it cannot be written.
            _ = Descriptor.writeAll(STDERR_FILENO, UnsafeRawBufferPointer(utf8))
        }
    }
}
