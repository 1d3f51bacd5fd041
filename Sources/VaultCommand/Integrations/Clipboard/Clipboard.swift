import CVaultShim
import Glibc
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// The clipboard of the desktop or, without a desktop, of the terminal.
enum Clipboard {
    /// The default number of seconds after which a secret is cleared.
    static let standardSeconds = 45

    /// Copies a secret. A separate process clears the clipboard after `seconds` if the clipboard still contains the
    /// secret; this call does not wait for that.
    static func copy(_ secret: borrowing Secret, clearAfter seconds: Int) throws {
        let board = try ClipboardTool.find()
        try board.put(secret)
        try ClipboardClearing.start(board, secret, after: seconds)
        Terminal.note(board.message(seconds))
    }
}

/// The kinds of clipboards, of which the first one that works is used.
enum ClipboardTool: String {
    case wayland = "wl-copy"
    case x11 = "xclip"
    /// tmux's own buffer, which tmux may pass on to its terminal's clipboard. An escape sequence sent by a program
    /// running in tmux is dropped or stored in an unnamed buffer, depending on tmux's configuration.
    case tmux
    /// The terminal's escape sequence OSC 52. It is write-only: most terminals do not reveal the contents of their
    /// clipboard.
    case terminal

    /// The longest text that xterm accepts in one sequence, in Base64.
    private static let longestSequence = 100_000

    /// The name of tmux's buffer.
    private static let buffer = "vaultfmt"

    var canRead: Bool { self != .terminal }

    /// Returns a message that says whether and where the secret was copied, and when it will be cleared.
    func message(_ seconds: Int) -> String {
        switch self {
        case .wayland, .x11: "copied to the clipboard; cleared in \(seconds) s if unchanged"
        case .tmux:
            "copied to tmux's buffer '\(Self.buffer)'; tmux was asked to set the terminal's clipboard too, but does not report whether that worked; "
                + "the buffer is deleted and the clipboard overwritten in \(seconds) s"
        case .terminal:
            "sent to the terminal as OSC 52; the terminal does not report whether it was copied; it will be told to clear the clipboard in \(seconds) s"
        }
    }

    /// Returns the first tool that works: Wayland, X11, tmux, the terminal.
    static func find() throws -> ClipboardTool {
        if Environment.nonEmpty("WAYLAND_DISPLAY") != nil, Subprocess.find("wl-copy") != nil { return .wayland }
        if Environment.nonEmpty("DISPLAY") != nil, Subprocess.find("xclip") != nil { return .x11 }
        if Environment.nonEmpty("TMUX") != nil, Subprocess.find("tmux") != nil { return .tmux }
        let descriptor = vault_open("/dev/tty", O_WRONLY | O_NOCTTY, 0)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .unavailable,
                "no clipboard is available: neither wl-copy (Wayland), nor xclip (X11), nor a terminal; install wl-copy or xclip"
            )
        }
        close(descriptor)
        let name = Environment.nonEmpty("TERM") ?? "dumb"
        guard !consoles.contains(name) else {
            throw CommandFailure(
                .unavailable,
                "no clipboard is available: there is no desktop, and a terminal of the type \(TerminalText.quoted(name)) has none; leave out --clip to show the secret"
            )
        }
        return .terminal
    }

    /// Types of terminals that have no clipboard: consoles and hardware.
    private static let consoles: Set<String> = [
        "ansi", "cons25", "dumb", "linux", "unknown", "vt52", "vt100", "vt102", "vt220",
    ]

    /// Replaces the contents of the clipboard.
    func put(_ secret: borrowing Secret) throws {
        switch self {
        case .wayland: try offer(secret)
        case .x11: try run(["-selection", "clipboard", "-in"], secret)
        case .tmux: try loadBuffer(secret)
        case .terminal:
            guard secret.count <= Self.longestSequence / 4 * 3 else {
                throw CommandFailure(
                    .usage, "\(secret.count) bytes is more than a terminal clipboard can hold; use a file or a pipe")
            }
            let descriptor = vault_open("/dev/tty", O_WRONLY | O_NOCTTY, 0)
            guard descriptor >= 0 else {
                throw CommandFailure(.io, "cannot open the terminal: \(Descriptor.message(-descriptor))")
            }
            defer { close(descriptor) }
            try Self.write(secret, to: descriptor)
        }
    }

    /// Offers a secret through wl-copy, which keeps it in a file. Without `--type`, another program would guess the
    /// file's type. In versions before 2.3.0, wl-copy keeps the file in /tmp, regardless of TMPDIR.
    private func offer(_ secret: borrowing Secret) throws {
        let isText = secret.withUnsafeBytes { String(validating: $0, as: UTF8.self) != nil }
        let canMark = try Self.canMarkSensitive()
        if !canMark, !MemoryFolder.isInMemory("/tmp") {
            Terminal.warning(
                "this wl-copy keeps the secret in a file in /tmp, which is on a disk; version 2.3.0 does not")
        }
        let type = isText ? "text/plain" : "application/octet-stream"
        try run(
            (canMark ? ["--sensitive"] : []) + ["--type", type], secret,
            settings: MemoryFolder.base.map { ["TMPDIR": $0] } ?? [:])
    }

    /// Empties the clipboard. A terminal's clipboard is emptied through standard output, which was opened while the
    /// terminal still existed.
    func clear() throws {
        switch self {
        case .wayland: try run(["--clear"], Secret(count: 0))
        case .x11: try run(["-selection", "clipboard", "-in"], Secret(count: 0))
        case .tmux:
            // tmux ignores an empty buffer.
            try loadBuffer(Secret(text: " "))
            try run(["delete-buffer", "-b", Self.buffer], Secret(count: 0))
        case .terminal: try Self.write(Secret(count: 0), to: STDOUT_FILENO)
        }
    }

    /// Returns the clipboard's contents, or nil if the clipboard is empty or write-only.
    func contents(limit: Int) throws -> Secret? {
        let (program, arguments): (String, [String])
        switch self {
        case .wayland: (program, arguments) = ("wl-paste", ["--no-newline"])
        case .x11: (program, arguments) = ("xclip", ["-selection", "clipboard", "-out"])
        case .tmux: (program, arguments) = ("tmux", ["save-buffer", "-b", Self.buffer, "-"])
        case .terminal: return nil
        }
        guard let path = Subprocess.find(program) else { return nil }
        return try Subprocess.read(path, arguments, limit: limit)
    }

    /// Returns whether this wl-copy (2.3.0 and later) can mark its contents so that clipboard managers omit them from
    /// their history (x-kde-passwordManagerHint). xclip cannot do so, because it offers a selection in only one format.
    private static func canMarkSensitive() throws -> Bool {
        guard let path = Subprocess.find("wl-copy"), let help = try Subprocess.read(path, ["--help"], limit: 65_536)
        else { return false }
        return help.withUnsafeBytes { String(decoding: $0, as: UTF8.self).contains("--sensitive") }
    }

    /// Loads tmux's buffer. Before tmux 3.2 there is no `-w`, so the terminal's clipboard is not set.
    private func loadBuffer(_ secret: borrowing Secret) throws {
        do {
            try run(["load-buffer", "-w", "-b", Self.buffer, "-"], secret)
        } catch {
            try run(["load-buffer", "-b", Self.buffer, "-"], secret)
        }
    }

    private func run(_ arguments: [String], _ secret: borrowing Secret, settings: [String: String] = [:]) throws {
        guard let path = Subprocess.find(rawValue) else {
            throw CommandFailure(.unavailable, "\(rawValue) is no longer installed; install it again")
        }
        let code = try Subprocess.feed(path, arguments, secret, settings: settings)
        guard code == 0 else {
            throw CommandFailure(.unavailable, "\(rawValue) failed (exit \(code)); is the display reachable?")
        }
    }

    private static func write(_ secret: borrowing Secret, to descriptor: Int32) throws {
        let output = Output(descriptor: descriptor, name: "the terminal")
        try output.write("\u{1B}]52;c;")
        try secret.withUnsafeBytes { bytes in try output.write(base64: bytes) }
        try output.write("\u{07}")
        try output.flush()
    }
}
