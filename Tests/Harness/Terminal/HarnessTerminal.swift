internal import CTestSupport
internal import Glibc

/// A pseudo-terminal with a session on it.
final class HarnessTerminal {
    private let master: Int32
    /// Kept open, so that the terminal keeps its settings.
    private let side: Int32
    private let leader: pid_t
    private var status: Int32?
    /// Everything that the terminal was sent.
    private(set) var bytes: [UInt8] = []

    init(_ arguments: [String], environment: [String], directory: String) throws {
        var path = [CChar](repeating: 0, count: 128)
        master = test_open_terminal(&path, path.count)
        guard master >= 0 else { throw Wrong("no pseudo-terminal: error \(-master)") }
        let name = path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let terminal = String(decoding: name, as: UTF8.self)
        side = open(terminal, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard side >= 0 else { throw Wrong("cannot open \(terminal)") }
        var words = arguments.map { strdup($0) } + [nil]
        var values = environment.map { strdup($0) } + [nil]
        defer { for word in words + values { free(word) } }
        var pid: pid_t = 0
        let failure = test_spawn(&pid, "/bin/bash", &words, &values, directory, -1, terminal, terminal, terminal)
        guard failure == 0 else { throw Wrong("cannot start bash: error \(-failure)") }
        leader = pid
    }

    deinit {
        killAll()
        close(side)
        close(master)
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    func count(of word: String) -> Int {
        let word = Array(word.utf8)
        guard bytes.count >= word.count else { return 0 }
        return (0...(bytes.count - word.count)).count {
            bytes[$0] == word[0] && bytes[$0..<$0 + word.count].elementsEqual(word)
        }
    }

    /// Whether the terminal shows what is typed.
    var echoes: Bool {
        var settings = termios()
        return tcgetattr(side, &settings) == 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Reads what the terminal is sent for so long.
    func read(milliseconds: Int32) {
        let end = ContinuousClock.now + .milliseconds(Int(milliseconds))
        repeat {
            var ready = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, milliseconds) > 0 else { continue }
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = Glibc.read(master, &buffer, buffer.count)
            guard count > 0 else { return }
            bytes += buffer.prefix(count)
        } while ContinuousClock.now < end
    }

    func type(_ bytes: [UInt8]) throws {
        guard write(master, bytes, bytes.count) == bytes.count else { throw Wrong("cannot type: error \(errno)") }
    }

    /// Whether the script has ended.
    var hasEnded: Bool {
        if status != nil { return true }
        var raw: Int32 = 0
        guard waitpid(leader, &raw, WNOHANG) == leader, test_exit_status(raw) >= 0 else { return false }
        status = test_exit_status(raw)
        return true
    }

    /// Waits until no process of the session is left.
    func waitForEnd(seconds: Int) -> Bool {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            read(milliseconds: 20)
            if hasEnded && members().isEmpty && asking() == nil { return true }
        }
        return false
    }

    /// The process whose turn it is.
    func asking() -> pid_t? { Self.lock(of: side).holder }

    /// Those that wait for their turn.
    func waiting() -> [pid_t] { Self.lock(of: side).waiters }

    func killAll() {
        for _ in 0..<Int(test_patience) * 100 {
            let all = members()
            for pid in all { kill(pid, SIGKILL) }
            if hasEnded && all.isEmpty { return }
            usleep(10_000)
        }
    }

    /// Of this session, and not yet dead.
    private func members() -> [pid_t] {
        Files.names(in: "/proc").compactMap { pid_t($0) }.filter { pid in
            guard let stat = try? Files.read("/proc/\(pid)/stat"), let end = stat.lastIndex(of: UInt8(ascii: ")"))
            else { return false }
            let fields = String(decoding: stat[(end + 1)...], as: UTF8.self).split(separator: " ")
            return fields.count > 3 && pid_t(fields[3]) == leader && fields[0] != "Z"
        }
    }

    /// Who holds the lock of a terminal and who waits for it, as /proc/locks has it.
    private static func lock(of terminal: Int32) -> (holder: pid_t?, waiters: [pid_t]) {
        var status = stat()
        var found: (holder: pid_t?, waiters: [pid_t]) = (nil, [])
        guard fstat(terminal, &status) == 0, let locks = try? Files.read("/proc/locks") else { return found }
        for line in String(decoding: locks, as: UTF8.self).split(separator: "\n") {
            let isWaiting = line.contains("->")
            let fields = line.split(separator: " ").filter { $0 != "->" }
            guard fields.count >= 8, fields[1] == "FLOCK", fields[5].hasSuffix(":\(status.st_ino)"),
                let pid = pid_t(fields[4])
            else {
                continue
            }
            if isWaiting { found.waiters.append(pid) } else { found.holder = pid }
        }
        return found
    }
}
