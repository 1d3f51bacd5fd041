package import CVaultShim
import Glibc
import VaultExchange
package import VaultFmt
import VaultLocal

/// Runs other programs with control over their standard descriptors.
package enum Subprocess {
    /// Returns the path of a program found in PATH, or nil. Folders that are not absolute are skipped, because they
    /// depend on the current folder, which others may be able to write to.
    package static func find(_ program: String) -> String? {
        (Environment.value("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
            .filter { $0.hasPrefix("/") }
            .map { "\($0)/\(program)" }
            .first { access($0, X_OK) == 0 }
    }

    /// How a program ended.
    package enum Ending {
        case code(Int32)
        case signal(Int32)
        /// It is not a child of this process, or has already been waited for.
        case unknown

        /// - `status`: The status returned by `waitpid` for a program that has ended.
        fileprivate init(_ status: Int32) {
            let signal = status & 0x7F
            self = signal == 0 ? .code((status >> 8) & 0xFF) : .signal(signal)
        }

        /// The exit code, or 128 plus the signal number as in a shell, or -1 if the exit code is not known.
        package var code: Int32 {
            switch self {
            case .code(let code): code
            case .signal(let signal): 128 + signal
            case .unknown: -1
            }
        }
    }

    /// Waits for a program to end; returns its exit code, or 128 plus the number of the signal that ended it.
    package static func wait(_ process: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            if errno != EINTR { return Ending.unknown.code }
        }
        return Ending(status).code
    }

    /// Returns how a program ended, or nil while it is running.
    package static func poll(_ process: pid_t) -> Ending? {
        var status: Int32 = 0
        let ended = waitpid(process, &status, WNOHANG)
        guard ended >= 0 else { return errno == EINTR ? nil : .unknown }
        return ended == 0 ? nil : Ending(status)
    }

    /// Returns how a program ended, or nil while it is running. If the program was stopped, for example by Ctrl-Z
    /// (which it may handle itself) or because it is in the background, this process stops as well, so that a shell
    /// notices; when this process continues, so does the program. Anyone who stops only the program must also continue
    /// it.
    package static func pollFollowingStops(_ process: pid_t) -> Ending? {
        var status: Int32 = 0
        let changed = waitpid(process, &status, WNOHANG | WUNTRACED)
        guard changed >= 0 else { return errno == EINTR ? nil : .unknown }
        guard changed != 0 else { return nil }
        guard status & 0xFF == 0x7F else { return Ending(status) }
        guard [SIGTSTP, SIGTTIN, SIGTTOU].contains((status >> 8) & 0xFF) else { return nil }
        raise(SIGSTOP)
        kill(process, SIGCONT)
        return nil
    }

    /// Asks a program to exit, and kills it after two seconds.
    package static func end(_ process: pid_t) {
        kill(process, SIGTERM)
        for _ in 0..<200 {
            if poll(process) != nil { return }
            usleep(10_000)
        }
        kill(process, SIGKILL)
        _ = wait(process)
    }

    /// Starts a program.
    /// - `input`, `output` and `error`: Its standard descriptors; nil means /dev/null.
    /// - `kept`: Another descriptor to pass to the program, which receives it as number 3.
    /// - `settings`: Environment variables for the program, which override this process's variables of the same names.
    package static func start(
        _ path: String, _ arguments: [String], input: Int32?, output: Int32?, error: Int32? = nil,
        kept: Int32? = nil, settings: [String: String] = [:]
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (descriptor, target) in [(input, STDIN_FILENO), (output, STDOUT_FILENO), (error, STDERR_FILENO)] {
            if let descriptor {
                posix_spawn_file_actions_adddup2(&actions, descriptor, target)
            } else {
                posix_spawn_file_actions_addopen(&actions, target, "/dev/null", O_RDWR, 0)
            }
        }
        // The other descriptors may include a factor that has not been read yet.
        vault_spawn_without_others(&actions, kept ?? -1)
        return try spawn(path, arguments, &actions, &attributes, settings: settings)
    }

    /// Starts a program that asks a person a question, or any program that must not outlive this process. The program
    /// leads its own session, without a controlling terminal, inherits only its standard descriptors, and receives a
    /// signal when the calling thread ends, even if this process is killed.
    /// - `input`, `output` and `error`: The program's standard descriptors; nil means /dev/null.
    /// - `settings`: As for `start`.
    /// - `ending`: The signal that the program receives.
    /// - `withholding`: Whether the environment variable with the given name is withheld from the program.
    package static func startAsking(
        _ path: String, _ arguments: [String] = [], input: Int32? = nil, output: Int32, error: Int32? = nil,
        settings: [String: String] = [:], ending: Int32 = SIGTERM,
        withholding isWithheld: (String) -> Bool = { _ in false }
    ) throws -> pid_t {
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        let added = settings.map { strdup("\($0)=\($1)") }
        defer { added.forEach { free($0) } }
        let inherited = ChildEnvironment.inherited(without: Set(settings.keys), withholding: isWithheld)
        let environment: [UnsafeMutablePointer<CChar>?] = inherited + added + [nil]
        let process = vault_spawn_with_thread(path, words, environment, input ?? -1, output, error ?? -1, ending)
        guard process > 0 else {
            throw CommandFailure(.io, "cannot start \(TerminalText.path(path)): \(Descriptor.message(-process))")
        }
        return process
    }

    /// The descriptor on which a program started by `startApart` finds this process's standard output.
    static let keptOutput: Int32 = 3

    /// Starts a program in its own session, with all blockable signals blocked.
    /// - `keepsOutput`: Whether the program also inherits this process's standard output, as `keptOutput`.
    static func startApart(
        _ path: String, _ arguments: [String], input: Int32, output: Int32, error: Int32, keepsOutput: Bool
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        let copy = keepsOutput ? vault_duplicate(STDOUT_FILENO, keptOutput + 1) : -1
        defer { if copy >= 0 { close(copy) } }
        for (descriptor, target) in [(input, STDIN_FILENO), (output, STDOUT_FILENO), (error, STDERR_FILENO)] {
            posix_spawn_file_actions_adddup2(&actions, descriptor, target)
        }
        // This action is last: the program's standard descriptors are in place, so the number can be reused.
        if copy >= 0 { posix_spawn_file_actions_adddup2(&actions, copy, keptOutput) }
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &all)
        vault_spawn_in_new_session(&attributes)
        return try spawn(path, arguments, &actions, &attributes)
    }

    /// Starts a program that takes over the terminal and inherits this process's standard descriptors.
    package static func startInForeground(_ path: String, _ arguments: [String]) throws -> pid_t {
        try spawn(path, arguments, nil)
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ actions: UnsafePointer<posix_spawn_file_actions_t>?,
        _ attributes: UnsafePointer<posix_spawnattr_t>? = nil, settings: [String: String] = [:]
    ) throws -> pid_t {
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        let inherited = ChildEnvironment.inherited(without: Set(settings.keys))
        let added = settings.map { strdup("\($0)=\($1)") }
        defer { added.forEach { free($0) } }
        let failure = posix_spawn(&process, path, actions, attributes, words, inherited + added + [nil])
        guard failure == 0 else {
            throw CommandFailure(.io, "cannot start \(TerminalText.path(path)): \(Descriptor.message(failure))")
        }
        return process
    }

    /// Runs a program that reads bytes from its standard input, and waits for it.
    /// - `kept`: The same as for `start`.
    /// - Returns: The same as `wait`.
    package static func feed(
        _ path: String, _ arguments: [String], _ bytes: borrowing Secret, kept: Int32? = nil,
        settings: [String: String] = [:]
    ) throws -> Int32 {
        let pipe = try Pipe()
        let process = try start(path, arguments, input: pipe.reading, output: nil, kept: kept, settings: settings)
        pipe.closeReading()
        let failure = bytes.withUnsafeBytes { pipe.write($0) }
        pipe.closeWriting()
        let code = wait(process)
        return failure == 0 || code != 0 ? code : -1
    }

    /// Runs a program and returns its output.
    /// - Returns: The output; nil if the program fails.
    package static func read(_ path: String, _ arguments: [String], limit: Int) throws -> Secret? {
        let pipe = try Pipe()
        let process = try start(path, arguments, input: nil, output: pipe.writing)
        pipe.closeWriting()
        let found = try Descriptor.readAll(pipe.reading, name: TerminalText.path(path), limit: limit)
        pipe.closeReading()
        guard wait(process) == 0 else { return nil }
        return found
    }
}

/// A pipe, or a terminal in its place. Its ends are inherited only by programs that are told to inherit them.
package final class Pipe {
    package private(set) var reading: Int32
    package private(set) var writing: Int32

    package convenience init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw CommandFailure(.io, "cannot create a pipe: \(Descriptor.message(errno)); close some files")
        }
        self.init(reading: ends[0], writing: ends[1])
    }

    /// Takes ownership of two descriptors: data written to the second can be read from the first.
    package init(reading: Int32, writing: Int32) {
        (self.reading, self.writing) = (reading, writing)
        for end in [reading, writing] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    deinit {
        closeReading()
        closeWriting()
    }

    package func closeReading() {
        if reading >= 0 { close(reading) }
        reading = -1
    }

    package func closeWriting() {
        if writing >= 0 { close(writing) }
        writing = -1
    }

    /// Writes everything. If the reader has gone away, the result is an ordinary error that does not end this process.
    /// - Returns: 0, or the error number.
    package func write(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        let before = signal(SIGPIPE, SIG_IGN)
        defer { signal(SIGPIPE, before) }
        return Descriptor.writeAll(writing, bytes)
    }
}
