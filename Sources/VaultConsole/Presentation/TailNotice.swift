package import VaultFmt
import VaultLocal

/// The notice that every command prints if the vault file does not end with the state that was read.
package enum TailNotice {
    /// - `name`: The file's name in the notice; nil if the command has only one vault.
    package static func show(_ vault: Vault, called name: String? = nil) {
        let start = name.map { "\($0): " } ?? ""
        let served = vault.state.generation
        switch vault.tail {
        case .clean, .writeInProgress: return
        case .torn(let bytes):
            Terminal.note(
                "\(start)\(bytes) bytes after generation \(served) are not part of any change: they were left by an interrupted change, or the file was cut off; the next change removes them"
            )
        case .damaged(let bytes):
            Terminal.warning(
                "\(start)the file is damaged: the \(bytes) bytes after generation \(served) contain changes that do not open; they were altered, moved, or written "
                    + "by someone else. Generation \(served) is used, and nothing can be changed until 'vaultfmt repair' has set these bytes aside; "
                    + "look for an intact copy first; 'vaultfmt salvage' recovers intact data"
            )
        case .incomplete(let generation):
            Terminal.warning(
                "\(start)generation \(generation) is incomplete: it was damaged, or not completely written to disk; generation \(served) is used instead. "
                    + "The next change keeps the rest in \(TerminalText.path("\(vault.path).incomplete-\(generation)")); "
                    + "'vaultfmt salvage' recovers intact data")
        }
    }
}
