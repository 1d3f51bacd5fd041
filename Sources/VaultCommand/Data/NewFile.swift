import CVaultShim
import Glibc
import VaultFmt
import VaultLocal

/// A new file, 0600, that has no name before all of it is on the disk: whoever finds the name finds the whole file, and a killed process leaves nothing. Never over
/// another file.
struct NewFile: ~Copyable {
    /// Where to write.
    let descriptor: Int32
    private let path: String
    private let what: String
    /// What the file is called until it is whole, where the file system cannot keep it without a name.
    private let temporary: String?

    /// - Parameter what: What it is, for messages, such as "key file".
    init(_ path: String, what: String) throws(CommandFailure) {
        self.path = path
        self.what = what
        try Self.check(path, what: what)
        let folder = StateFolder.parent(of: path)
        let unnamed = vault_open_unnamed(folder)
        if unnamed >= 0 {
            descriptor = unnamed
            temporary = nil
            return
        }
        // A file system or kernel that cannot do so.
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let temporary = "\(folder)/.\(name).vaultfmt-\(String(UInt32.random(in: 0x1000_0000...(.max)), radix: 16))"
        let named = vault_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        guard named >= 0 else {
            let message = "cannot create \(what) \(TerminalText.quoted(path))"
            // The file that is missing is the folder, which is not the one that was asked for.
            throw named == -ENOENT ? CommandFailure(.io, "\(message): there is no such folder") : CommandFailure(system: -named, message)
        }
        descriptor = named
        self.temporary = temporary
    }

    deinit {
        close(descriptor)
        if let temporary { unlink(temporary) }
    }

    /// Refuses a path that is taken.
    static func check(_ path: String, what: String) throws(CommandFailure) {
        var info = stat()
        guard lstat(path, &info) == 0 else {
            guard errno == ENOENT else { throw CommandFailure(system: errno, "cannot create \(what) \(TerminalText.quoted(path))") }
            return
        }
        throw exists(path, what)
    }

    /// Makes all of it durable and gives it its name, and makes that durable too.
    consuming func finish() throws(CommandFailure) {
        guard fsync(descriptor) == 0 else { throw failure(errno) }
        let result = temporary.map { vault_rename_noreplace($0, path) } ?? vault_link_open(descriptor, path)
        guard result == 0 else { throw result == -EEXIST ? Self.exists(path, what) : failure(-result) }
        let synced = vault_sync_directory(StateFolder.parent(of: path))
        guard synced == 0 else {
            let name = TerminalText.quoted(path)
            throw CommandFailure(.io, "\(what) \(name) is written, but its folder could not be synced: \(Descriptor.message(-synced))")
        }
    }

    private borrowing func failure(_ number: Int32) -> CommandFailure {
        CommandFailure(system: number, "cannot write \(what) \(TerminalText.quoted(path))")
    }

    private static func exists(_ path: String, _ what: String) -> CommandFailure {
        CommandFailure(.outputExists, "\(what) \(TerminalText.quoted(path)) exists already; choose another name or move it away")
    }
}
