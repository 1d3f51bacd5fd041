import CVaultShim
import Glibc
import VaultConsole
import VaultExchange
import VaultLocal

/// A new file for an export. It has mode 0600, never replaces an existing file, and gets its name only after the export
/// has succeeded.
struct ExportFile: ~Copyable {
    let output: Output
    private let file: NewFile
    private let signals: HeldSignals

    init(_ path: String) throws {
        let signals = try HeldSignals()
        let file = try NewFile(path, what: "export")
        output = Output(descriptor: file.descriptor, name: "export \(TerminalText.path(path))", capacity: 65_536)
        self.signals = signals
        self.file = file
    }

    /// Throws an error if a path already exists, before prompting for a passphrase.
    static func check(_ path: String) throws { try NewFile.check(path, what: "export") }

    /// Throws if a signal has asked the process to end.
    borrowing func checkInterruption() throws {
        if signals.isInterrupted { throw CommandFailure(.interrupted, "interrupted; the export was removed") }
    }

    /// Makes sure that the contents and the name are on disk.
    consuming func finish() throws {
        try output.flush()
        try file.finish()
    }
}
