import VaultLocal

/// Messages about in-memory folders that held secrets.
extension MemoryFolder {
    /// Wipes the folders of killed processes, and reports them.
    package static func sweepAndTell() {
        for path in sweep() {
            Terminal.note("wiped \(TerminalText.path(path)), which an interrupted command had left behind")
        }
    }

    /// Wipes the folder; warns if anything remains.
    package consuming func wipeAndTell() {
        guard let left = wipe() else { return }
        Terminal.warning("could not remove \(TerminalText.path(left)), which may hold the secret; remove it yourself")
    }
}
