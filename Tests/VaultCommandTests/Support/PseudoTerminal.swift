import CTestSupport
import Foundation
import Testing

/// The real binary on a real pseudo-terminal, driven as a person would.
final class PseudoTerminal {
    private let master: Int32
    private let path: String
    private let child: Child
    /// Everything that the terminal was sent.
    private(set) var screen = ""
    private var seen = 0
    private var pending: [UInt8] = []

    /// Starts the binary on a new terminal.
    /// - `output`: A file for standard output instead of the terminal.
    convenience init(_ sandbox: Sandbox, _ arguments: String..., output: String? = nil, columns: UInt16 = 200) throws {
        try self.init(sandbox, program: Child.binary, arguments, output: output, columns: columns)
    }

    /// Starts the binary on a new terminal, with arguments in an array.
    convenience init(_ sandbox: Sandbox, arguments: [String]) throws {
        try self.init(sandbox, program: Child.binary, arguments, output: nil, columns: 200)
    }

    /// Starts a shell on a new terminal; in the script `$0` is the binary.
    /// - `hasJobs`: Whether each of its commands is a job of its own, as at a prompt.
    convenience init(_ sandbox: Sandbox, shell script: String, hasJobs: Bool = true) throws {
        let script = (hasJobs ? "set -m; " : "") + script
        try self.init(sandbox, program: "/bin/bash", ["-c", script, Child.binary], output: nil, columns: 200)
    }

    private init(_ sandbox: Sandbox, program: String, _ arguments: [String], output: String?, columns: UInt16) throws {
        var path = [CChar](repeating: 0, count: 128)
        let opened = test_open_terminal(&path, path.count)
        guard opened >= 0 else { throw Failure("no pseudo-terminal: error \(-opened)") }
        master = opened
        var size = winsize(ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
        let terminal = String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.path = terminal
        child = try Child.start(
            arguments, program: program, environment: sandbox.environment, directory: sandbox.folder,
            terminal: terminal,
            output: output ?? terminal,
            error: terminal)
    }

    deinit { close(master) }

    /// The process on the terminal.
    var pid: pid_t { child.pid }

    /// Whether the terminal shows what is typed.
    var echoes: Bool {
        var settings = termios()
        return tcgetattr(master, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Waits until the terminal shows the text, after what was waited for before.
    func expect(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let end = ContinuousClock.now + Patience.limit
        while ContinuousClock.now < end {
            let rest = String(screen.dropFirst(seen))
            if let range = rest.range(of: text) {
                seen += rest.distance(from: rest.startIndex, to: range.upperBound)
                return
            }
            if case .closed = readSome(timeout: 50) { break }
        }
        throw Failure("the terminal never showed \(text.debugDescription), but \(screen.debugDescription)")
    }

    /// Waits until what is typed is hidden, then types a line.
    func answerHidden(_ text: String) throws { try typeHidden(text + "\r") }

    /// Waits until what is typed is hidden, then types.
    func typeHidden(_ text: String) throws {
        try Patience.until("the terminal hides what is typed") { !echoes }
        try type(text)
    }

    /// Waits until a process waits for its turn on the terminal.
    func expectWaiter() throws {
        // Not by `struct stat`, which next to Foundation is now Glibc's and now CoreFoundation's.
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        guard let number = attributes[.systemFileNumber] as? UInt64 else { throw Failure("cannot find \(path)") }
        try Patience.until("a process waits for its turn") {
            let locks = String(decoding: try Data(contentsOf: URL(fileURLWithPath: "/proc/locks")), as: UTF8.self)
            return locks.split(separator: "\n").contains { line in
                line.contains("-> FLOCK") && line.contains(":\(number) ")
            }
        }
    }

    /// Types.
    func type(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard write(master, bytes, bytes.count) == bytes.count else { throw Failure("cannot type: error \(errno)") }
    }

    /// Reads to the end, and returns the exit status.
    func finish() throws -> Int32 {
        let status = try child.wait()
        while case .some = readSome(timeout: 100) {}
        return status
    }

    private enum Reading {
        case some, nothing, closed
    }

    private func readSome(timeout: Int32) -> Reading {
        var ready = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, timeout) > 0 else { return .nothing }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(master, &buffer, buffer.count)
        guard count > 0 else { return .closed }
        pending += buffer.prefix(count)
        // A character may arrive in two pieces.
        if let text = String(validating: pending, as: UTF8.self) {
            screen += text
            pending = []
        }
        return .some
    }
}
