import CVaultShim
import Glibc
import VaultFmt
import VaultLocal

/// The clipboard of the desktop or, where there is none, of the terminal.
enum Clipboard {
    /// After how many seconds a secret is taken away again where nobody says.
    static let standardSeconds = 45

    /// Puts a secret there. A process of its own takes it away after some seconds, if it is still there; this call does
    /// not wait for that.
    static func copy(_ secret: borrowing Secret, clearAfter seconds: Int) throws {
        let board = try ClipboardTool.find()
        try board.put(secret)
        try ClipboardClearing.start(board, secret, after: seconds)
        Terminal.note(board.message(seconds))
    }
}

/// The way to the clipboard: the first that is there.
enum ClipboardTool: String {
    case wayland = "wl-copy"
    case x11 = "xclip"
    /// Tmux's own buffer, which tmux may send on to its terminal's clipboard. What a program within tmux sends itself
    /// is dropped or kept in a buffer that it cannot name, as tmux is set up.
    case tmux
    /// The terminal's escape sequence OSC 52. It can only be written: most terminals do not say what their clipboard
    /// holds.
    case terminal

    /// What xterm takes in one sequence; in base 64.
    private static let longestSequence = 100_000

    /// The name of tmux's buffer.
    private static let buffer = "vaultfmt"

    var canRead: Bool { self != .terminal }

    /// What is known of a secret that was put there.
    func message(_ seconds: Int) -> String {
        switch self {
        case .wayland, .x11: "copied to the clipboard; cleared in \(seconds) s if unchanged"
        case .tmux:
            "copied to tmux's buffer '\(Self.buffer)', and tmux was asked to set the terminal's clipboard, which it does not report; "
                + "the buffer is deleted and the clipboard overwritten in \(seconds) s"
        case .terminal:
            "sent to the terminal as OSC 52; whether it is in the clipboard, the terminal does not say; it is told to clear it in \(seconds) s"
        }
    }

    /// The first that works here: Wayland, X11, tmux, the terminal.
    static func find() throws -> ClipboardTool {
        if Environment.nonEmpty("WAYLAND_DISPLAY") != nil, Subprocess.find("wl-copy") != nil { return .wayland }
        if Environment.nonEmpty("DISPLAY") != nil, Subprocess.find("xclip") != nil { return .x11 }
        if Environment.nonEmpty("TMUX") != nil, Subprocess.find("tmux") != nil { return .tmux }
        let descriptor = vault_open("/dev/tty", O_WRONLY | O_NOCTTY, 0)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .io,
                "there is no clipboard: neither wl-copy under Wayland, nor xclip under X11, nor a terminal; install one of them"
            )
        }
        close(descriptor)
        return .terminal
    }

    /// Replaces what the clipboard holds.
    func put(_ secret: borrowing Secret) throws {
        switch self {
        case .wayland: try run(Self.canMarkSensitive() ? ["--sensitive"] : [], secret)
        case .x11: try run(["-selection", "clipboard", "-in"], secret)
        case .tmux: try loadBuffer(secret)
        case .terminal:
            guard secret.count <= Self.longestSequence / 4 * 3 else {
                throw CommandFailure(
                    .usage, "\(secret.count) bytes are more than a terminal's clipboard takes; use a file or a pipe")
            }
            let descriptor = vault_open("/dev/tty", O_WRONLY | O_NOCTTY, 0)
            guard descriptor >= 0 else {
                throw CommandFailure(.io, "cannot open the terminal: \(Descriptor.message(-descriptor))")
            }
            defer { close(descriptor) }
            try Self.write(secret, to: descriptor)
        }
    }

    /// Empties the clipboard. For the terminal, through standard output, which was opened while there was a terminal.
    func clear() throws {
        switch self {
        case .wayland: try run(["--clear"], Secret(count: 0))
        case .x11: try run(["-selection", "clipboard", "-in"], Secret(count: 0))
        case .tmux:
            // Tmux sends nothing for an empty buffer.
            try loadBuffer(Secret(text: " "))
            try run(["delete-buffer", "-b", Self.buffer], Secret(count: 0))
        case .terminal: try Self.write(Secret(count: 0), to: STDOUT_FILENO)
        }
    }

    /// What the clipboard holds; nil where it holds nothing, or does not say.
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

    /// Whether this wl-copy (2.3.0 and later) can mark what it offers, so that histories of clipboards leave it out
    /// (x-kde-passwordManagerHint). Xclip offers one form of a selection, so it cannot.
    private static func canMarkSensitive() throws -> Bool {
        guard let path = Subprocess.find("wl-copy"), let help = try Subprocess.read(path, ["--help"], limit: 65_536)
        else { return false }
        return help.withUnsafeBytes { String(decoding: $0, as: UTF8.self).contains("--sensitive") }
    }

    /// Before tmux 3.2 there is no `-w`, and the terminal's clipboard is not set.
    private func loadBuffer(_ secret: borrowing Secret) throws {
        do {
            try run(["load-buffer", "-w", "-b", Self.buffer, "-"], secret)
        } catch {
            try run(["load-buffer", "-b", Self.buffer, "-"], secret)
        }
    }

    private func run(_ arguments: [String], _ secret: borrowing Secret) throws {
        guard let path = Subprocess.find(rawValue) else {
            throw CommandFailure(.io, "\(rawValue) is not there any more; install it")
        }
        let code = try Subprocess.feed(path, arguments, secret)
        guard code == 0 else {
            throw CommandFailure(.io, "\(rawValue) failed (exit \(code)); is the display reachable?")
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
