package import VaultFmt
import VaultLocal

/// The notice that every command prints if the vault file does not end with the state that was read.
package enum TailNotice {
    /// - `name`: The name in the notice of a copy, which the command only reads; nil for the command's own vault, for
    ///   which the notice also says what the next change does.
    package static func show(_ vault: Vault, called name: String? = nil) {
        let (start, isCopy) = (name.map { "\($0): " } ?? "", name != nil)
        let served = vault.state.generation
        switch vault.tail {
        case .clean, .writeInProgress: return
        case .torn(let bytes):
            let next = isCopy ? "" : "; the next change removes them"
            Terminal.note(
                "\(start)\(bytes) bytes after generation \(served) are not part of any change: they were left by an interrupted change, or the file was cut off\(next)"
            )
        case .damaged(let bytes):
            let next =
                isCopy
                ? "" : ", and nothing can be changed until 'vaultfmt repair' has set these bytes aside"
            Terminal.warning(
                "\(start)the file is damaged: the \(bytes) bytes after generation \(served) contain changes that do not open; they were altered, moved, or written "
                    + "by someone else. Generation \(served) is used\(next); "
                    + "look for an intact copy first; 'vaultfmt salvage' recovers intact data"
            )
        case .incomplete(let generation):
            let next =
                isCopy
                ? ""
                : "The next change keeps the rest in \(TerminalText.path("\(vault.path).incomplete-\(generation)")); "
            Terminal.warning(
                "\(start)generation \(generation) is incomplete: it was damaged, or not completely written to disk; generation \(served) is used instead. "
                    + "\(next)'vaultfmt salvage' recovers intact data")
        }
    }
}
