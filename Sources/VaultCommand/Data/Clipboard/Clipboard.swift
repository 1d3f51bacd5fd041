import CVaultShim
import Glibc
import VaultFmt

/// The clipboard of the desktop or, where there is none, of the terminal.
enum Clipboard {
    /// Puts a secret there. A process of its own takes it away after some seconds, if it is still there; this call does not wait for that.
    static func copy(_ secret: borrowing Secret, clearAfter seconds: Int) throws(CommandFailure) {
        let board = try ClipboardTool.find()
        try board.put(secret)
        try ClipboardClearing.start(board, secret, after: seconds)
        Terminal.note("copied to the clipboard; cleared in \(seconds) s\(board.canRead ? " if unchanged" : "")")
    }
}

/// The way to the clipboard.
enum ClipboardTool: String {
    case wayland = "wl-copy"
    case x11 = "xclip"
    /// The terminal's escape sequence OSC 52. It can only be written: most terminals do not say what their clipboard holds.
    case terminal

    /// What xterm takes in one sequence; in base 64.
    private static let longestSequence = 100_000

    var canRead: Bool { self != .terminal }

    /// The first that works here: Wayland, X11, the terminal.
    static func find() throws(CommandFailure) -> ClipboardTool {
        if Environment.nonEmpty("WAYLAND_DISPLAY") != nil, Subprocess.find("wl-copy") != nil { return .wayland }
        if Environment.nonEmpty("DISPLAY") != nil, Subprocess.find("xclip") != nil { return .x11 }
        let descriptor = vault_open("/dev/tty", O_WRONLY | O_NOCTTY, 0)
        guard descriptor >= 0 else {
            throw CommandFailure(
                .io, "there is no clipboard: neither wl-copy under Wayland, nor xclip under X11, nor a terminal; install one of them")
        }
        close(descriptor)
        return .terminal
    }

    /// Replaces what the clipboard holds.
    func put(_ secret: borrowing Secret) throws(CommandFailure) {
        switch self {
        case .wayland: try run([], secret)
        case .x11: try run(["-selection", "clipboard", "-in"], secret)
        case .terminal:
            guard secret.count <= Self.longestSequence / 4 * 3 else {
                throw CommandFailure(.usage, "\(secret.count) bytes are more than a terminal's clipboard takes; use a file or a pipe")
            }
            let descriptor = vault_open("/dev/tty", O_WRONLY | O_NOCTTY, 0)
            guard descriptor >= 0 else { throw CommandFailure(.io, "cannot open the terminal: \(Descriptor.message(-descriptor))") }
            defer { close(descriptor) }
            try Self.write(secret, to: descriptor)
        }
    }

    /// Empties the clipboard. For the terminal, through standard output, which was opened while there was a terminal.
    func clear() throws(CommandFailure) {
        switch self {
        case .wayland: try run(["--clear"], Secret(count: 0))
        case .x11: try run(["-selection", "clipboard", "-in"], Secret(count: 0))
        case .terminal: try Self.write(Secret(count: 0), to: STDOUT_FILENO)
        }
    }

    /// What the clipboard holds; nil where it holds nothing, or does not say.
    func contents(limit: Int) throws(CommandFailure) -> Secret? {
        let (program, arguments): (String, [String])
        switch self {
        case .wayland: (program, arguments) = ("wl-paste", ["--no-newline"])
        case .x11: (program, arguments) = ("xclip", ["-selection", "clipboard", "-out"])
        case .terminal: return nil
        }
        guard let path = Subprocess.find(program) else { return nil }
        return try Subprocess.read(path, arguments, limit: limit)
    }

    private func run(_ arguments: [String], _ secret: borrowing Secret) throws(CommandFailure) {
        guard let path = Subprocess.find(rawValue) else { throw CommandFailure(.io, "\(rawValue) is not there any more; install it") }
        let code = try Subprocess.feed(path, arguments, secret)
        guard code == 0 else { throw CommandFailure(.io, "\(rawValue) failed (exit \(code)); is the display reachable?") }
    }

    private static func write(_ secret: borrowing Secret, to descriptor: Int32) throws(CommandFailure) {
        let output = Output(descriptor: descriptor, name: "the terminal")
        try output.write("\u{1B}]52;c;")
        try secret.withUnsafeBytes { bytes throws(CommandFailure) in try output.write(base64: bytes) }
        try output.write("\u{07}")
        try output.flush()
    }
}
