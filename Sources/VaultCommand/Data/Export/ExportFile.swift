import CVaultShim
import Glibc

/// A new file for an export: 0600, never over another one, and gone again if the export does not succeed.
struct ExportFile: ~Copyable {
    let output: Output
    private let path: String
    private let name: String
    private let descriptor: Int32
    private let signals: HeldSignals
    private var isComplete = false

    init(_ path: String) throws(CommandFailure) {
        let name = "export \(TerminalText.quoted(path))"
        let signals = try HeldSignals()
        descriptor = try Self.create(path, name)
        self.signals = signals
        self.path = path
        self.name = name
        output = Output(descriptor: descriptor, name: name, capacity: 65_536)
    }

    deinit {
        close(descriptor)
        if !isComplete { unlink(path) }
    }

    /// Refuses a path that is taken, before anybody is asked for a passphrase.
    static func check(_ path: String) throws(CommandFailure) {
        var info = stat()
        guard lstat(path, &info) != 0 else { throw exists(path) }
    }

    /// Ends early where somebody wants the process to end.
    borrowing func checkInterruption() throws(CommandFailure) {
        if signals.isInterrupted { throw CommandFailure(.interrupted, "interrupted; the export was removed") }
    }

    /// Makes sure that everything is on the disk.
    mutating func finish() throws(CommandFailure) {
        try output.flush()
        guard fsync(descriptor) == 0 else { throw CommandFailure(.io, "cannot write \(name): \(Descriptor.message(errno))") }
        isComplete = true
    }

    private static func create(_ path: String, _ name: String) throws(CommandFailure) -> Int32 {
        let descriptor = vault_open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor != -EEXIST else { throw exists(path) }
        guard descriptor >= 0 else {
            throw CommandFailure(.io, "cannot create \(name): \(Descriptor.message(-descriptor)); choose another place")
        }
        return descriptor
    }

    private static func exists(_ path: String) -> CommandFailure {
        CommandFailure(.outputExists, "\(TerminalText.quoted(path)) exists already; choose another name or move it away")
    }
}
