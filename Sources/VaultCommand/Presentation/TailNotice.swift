import VaultFmt
import VaultLocal

/// What every command says of a vault whose file does not end with the state that is read.
enum TailNotice {
    static func show(_ vault: Vault) {
        let served = vault.anchor.generation
        switch vault.tail {
        case .clean, .writeInProgress: return
        case .torn(let bytes):
            Terminal.note(
                "\(bytes) bytes after generation \(served) belong to no change, as an interrupted one leaves them; the next change removes them"
            )
        case .damaged:
            Terminal.warning(
                "the change after generation \(served) does not open: it was damaged, or somebody else wrote it; generation \(served) is read, "
                    + "and nothing can be changed until 'vaultfmt repair' has put the rest aside; 'vaultfmt salvage' recovers what authenticates"
            )
        case .incomplete(let generation):
            Terminal.warning(
                "generation \(generation) is incomplete: it was damaged, or did not all reach the disk; generation \(served) is read. "
                    + "The next change keeps the rest in \(TerminalText.quoted("\(vault.path).incomplete-\(generation)")); "
                    + "'vaultfmt salvage' recovers what authenticates")
        }
    }
}
