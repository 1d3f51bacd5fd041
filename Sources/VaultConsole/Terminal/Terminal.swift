import Glibc
import VaultExchange
import VaultLocal

/// Tells which standard descriptors are terminals, and writes lines to standard error.
package enum Terminal {
    package static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }
    package static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
    package static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Writes one line to standard error. The text is escaped, so it stays on one line.
    package static func errorLine(_ text: String) { write(TerminalText.singleLine(text) + "\n") }

    /// Writes a message that requires no action.
    package static func note(_ text: String) { errorLine("vaultfmt: \(text)") }

    /// Writes a message that the user should act on.
    package static func warning(_ text: String) {
        let word = Style.standardError.apply(.warning, to: "warning:")
        write("vaultfmt: \(word) \(TerminalText.singleLine(text))\n")
    }

    /// Writes the reason why the command fails.
    package static func failure(_ text: String) {
        let name = Style.standardError.apply(.failure, to: "vaultfmt:")
        write("\(name) \(TerminalText.singleLine(text))\n")
    }

    /// Returns the number of columns of the terminal behind a descriptor, or nil if the descriptor does not refer to a
    /// terminal.
    package static func columns(of descriptor: Int32) -> Int? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    private static func write(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            // Failures are reported on standard error, so a failure to write to it cannot be reported.
            _ = Descriptor.writeAll(STDERR_FILENO, UnsafeRawBufferPointer(utf8))
        }
    }
}
