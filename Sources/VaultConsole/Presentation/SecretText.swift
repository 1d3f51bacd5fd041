package import VaultExchange
package import VaultFmt

extension Output {
    /// Writes a value, and nothing else, to standard output. On a terminal, a newline is added, and only `force` writes
    /// anything that is not plain text.
    package static func deliver(_ value: borrowing Secret, force: Bool) throws {
        let isTerminal = Terminal.outputIsTerminal
        if isTerminal && !force && !SecretText.isPlain(value) {
            throw CommandFailure(
                .usage, "the value is not plain text; send it to a file or a pipe, or show it with --force")
        }
        let output = Output.standard()
        try output.write(value)
        if isTerminal { try output.write(byte: 0x0A) }
        try output.flush()
    }
}
