import VaultLocal

/// What people are told of folders in memory that held secrets.
extension MemoryFolder {
    /// Wipes what killed processes left, and says so.
    static func sweepAndTell() {
        for path in sweep() {
            Terminal.note("wiped \(TerminalText.quoted(path)), which an interrupted command had left")
        }
    }

    /// Wipes the folder; warns if something stays behind.
    consuming func wipeAndTell() {
        guard let left = wipe() else { return }
        Terminal.warning("could not remove \(TerminalText.quoted(left)), which may hold the secret; remove it yourself")
    }
}
