import CVaultShim
import Glibc
import VaultLocal

/// A new file for an export: 0600, never over another one, and without a name until the export has succeeded.
struct ExportFile: ~Copyable {
    let output: Output
    private let file: NewFile
    private let signals: HeldSignals

    init(_ path: String) throws {
        let signals = try HeldSignals()
        let file = try NewFile(path, what: "export")
        output = Output(descriptor: file.descriptor, name: "export \(TerminalText.quoted(path))", capacity: 65_536)
        self.signals = signals
        self.file = file
    }

    /// Refuses a path that is taken, before anybody is asked for a passphrase.
    static func check(_ path: String) throws { try NewFile.check(path, what: "export") }

    /// Ends early where somebody wants the process to end.
    borrowing func checkInterruption() throws {
        if signals.isInterrupted { throw CommandFailure(.interrupted, "interrupted; the export was removed") }
    }

    /// Makes sure that everything is on the disk, the name too.
    consuming func finish() throws {
        try output.flush()
        try file.finish()
    }
}
