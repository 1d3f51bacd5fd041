import Glibc
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// Lets a user change a secret in their preferred editor.
enum SecretEditor {
    /// Opens the editor and waits for it.
    /// - Returns: The new secret, or nil if the secret is unchanged.
    static func edit(_ secret: borrowing Secret) throws -> Secret? {
        let editor = try command()
        MemoryFolder.sweepAndTell()
        let signals = try HeldSignals(ignoringKeys: true)
        let folder = try MemoryFolder(instead: "use 'vaultfmt get' and 'vaultfmt set' instead")
        let outcome: Outcome
        do {
            try NewFile.create(folder.file, what: "file in memory", secret)
            outcome = try run(editor, folder.file, signals)
        } catch {
            folder.wipeAndTell()
            throw error
        }
        let edited: Secret
        do {
            edited =
                try outcome == .done
                ? Descriptor.readFile(folder.file, what: "edited file", limit: longest) : Secret(count: 0)
        } catch {
            folder.wipeAndTell()
            throw error
        }
        folder.wipeAndTell()
        switch outcome {
        case .done: return changed(secret, edited)
        case .failed(let code):
            throw CommandFailure(.unavailable, "the editor failed (exit \(code)); the item was not changed")
        case .interrupted: throw CommandFailure(.interrupted, "interrupted; the item was not changed")
        }
    }

    /// The maximum size of a secret, plus a newline that the editor may add.
    private static let longest = 16 << 20 + 1

    private enum Outcome: Equatable {
        case done
        case failed(Int32)
        case interrupted
    }

    /// The editor named by VISUAL or EDITOR; otherwise vi, which hangs or fails without a terminal.
    private static func command() throws -> String {
        if let editor = Environment.nonEmpty("VISUAL") ?? Environment.nonEmpty("EDITOR") { return editor }
        guard let editor = Subprocess.find("vi") else {
            throw CommandFailure(.unavailable, "no editor was found; set EDITOR")
        }
        guard isatty(STDIN_FILENO) != 0, isatty(STDOUT_FILENO) != 0 else {
            throw CommandFailure(
                .usage, "an editor needs a terminal; set EDITOR to one that does not, or use 'vaultfmt set'")
        }
        return GitSetup.quoted(editor)
    }

    /// Runs the editor through the shell, since EDITOR may contain arguments. The editor handles Ctrl-C; a signal that
    /// would end this process ends the editor first.
    private static func run(_ editor: String, _ file: String, _ signals: borrowing HeldSignals) throws -> Outcome {
        let script = (isSimple(editor) ? "exec " : "") + editor + " \"$@\""
        let process = try Subprocess.startInForeground("/bin/sh", ["-c", script, editor, file])
        while true {
            signals.wait()
            if signals.isInterrupted {
                Subprocess.end(process)
                return .interrupted
            }
            if let code = Subprocess.pollFollowingStops(process)?.code { return code == 0 ? .done : .failed(code) }
        }
    }

    /// Returns whether the command is a single program with arguments. The shell then replaces itself with the editor,
    /// so that a signal reaches the editor directly.
    private static func isSimple(_ editor: String) -> Bool {
        let first = editor.prefix { $0 != " " }
        return !first.contains("=") && !editor.contains { ";&|<>()$`\n".contains($0) }
    }

    /// Returns the new secret, or nil if the secret is unchanged. If the original secret did not end with a newline, a
    /// newline that the editor added is removed.
    private static func changed(_ old: borrowing Secret, _ new: consuming Secret) -> Secret? {
        let hadNewline = old.withUnsafeBytes { $0.last == 0x0A }
        let hasNewline = new.withUnsafeBytes { $0.last == 0x0A }
        let kept = hasNewline && !hadNewline ? new.prefix(new.count - 1) : new.copy()
        if kept.equals(old) { return nil }
        return kept
    }
}
