internal import CVaultShim
internal import Glibc

/// A running plugin. When the value is destroyed, the plugin is terminated and waited for.
struct PluginProcess: ~Copyable {
    private var process: pid_t
    /// This process's end of the plugin's standard input.
    private(set) var input: Int32
    /// This process's ends of the plugin's standard output and standard error.
    let output: Int32
    let errors: Int32

    /// Starts a program without the withheld environment variables. Throws `pluginFailed`.
    init(_ path: String, _ arguments: [String], withheld: Set<String>) throws(AgeError) {
        var ends: [Int32] = []
        do throws(AgeError) {
            for _ in 0..<3 { ends += try Self.pipe() }
            process = try Self.spawn(
                path, arguments, standard: [ends[0], ends[3], ends[5]], withheld: withheld)
        } catch {
            ends.forEach { _ = close($0) }
            throw error
        }
        for end in [ends[0], ends[3], ends[5]] { close(end) }
        (input, output, errors) = (ends[1], ends[2], ends[4])
        // A plugin that does not read must not block this process for longer than one that does not write.
        _ = fcntl(input, F_SETFL, O_NONBLOCK)
    }

    deinit {
        close(output)
        close(errors)
        if input >= 0 { close(input) }
        guard process > 0 else { return }
        _ = Self.end(process)
    }

    /// Closes the plugin's standard input, waits for the plugin to exit, and kills it if it does not.
    /// - Returns: The plugin's exit code; nil if a signal killed the plugin.
    mutating func finish() -> Int32? {
        close(input)
        input = -1
        defer { process = 0 }
        return Self.end(process)
    }

    /// Creates a pipe that other programs do not inherit; returns its read end and its write end.
    private static func pipe() throws(AgeError) -> [Int32] {
        var ends: [Int32] = [-1, -1]
        let failure = vault_pipe(&ends)
        guard failure >= 0 else {
            throw AgeError(.pluginFailed, "cannot create a pipe: \(message(-failure))")
        }
        return ends
    }

    private static func spawn(
        _ path: String, _ arguments: [String], standard: [Int32], withheld: Set<String>
    ) throws(AgeError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        for (target, descriptor) in standard.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(target))
        }
        // A factor that has not been read yet may be among the others.
        vault_spawn_without_others(&actions, -1)
        // The caller decides which signals it blocks or ignores. The plugin stays in this process group, so that Ctrl-C
        // reaches it and its own PIN dialogue can use the terminal.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, path, &actions, &attributes, words, environment(without: withheld))
        guard failure == 0 else {
            throw AgeError(.pluginFailed, "cannot start the plugin '\(path)': \(message(failure))")
        }
        return process
    }

    /// Returns this process's environment without these variables. The strings still belong to the environment.
    private static func environment(without names: Set<String>) -> [UnsafeMutablePointer<CChar>?] {
        var kept: [UnsafeMutablePointer<CChar>?] = []
        var next = environ
        while let entry = next.pointee {
            let name = UnsafeRawBufferPointer(start: entry, count: strcspn(entry, "="))
            if !names.contains(String(decoding: name, as: UTF8.self)) { kept.append(entry) }
            next += 1
        }
        return kept + [nil]
    }

    /// Waits two seconds for a process, then sends SIGTERM, and SIGKILL one second later.
    private static func end(_ process: pid_t) -> Int32? {
        for (signal, tenMilliseconds) in [(0, 200), (SIGTERM, 100), (SIGKILL, -1)] as [(Int32, Int)] {
            if signal != 0 { kill(process, signal) }
            var left = tenMilliseconds
            while left != 0 {
                var status: Int32 = 0
                let ended = waitpid(process, &status, left < 0 ? 0 : WNOHANG)
                if ended == process { return status & 0x7F == 0 ? status >> 8 & 0xFF : nil }
                // Other code has already waited for the process, or this program ignores SIGCHLD.
                if ended < 0, errno != EINTR { return nil }
                if left > 0 {
                    left -= 1
                    usleep(10_000)
                }
            }
        }
        return nil
    }

    static func message(_ number: Int32) -> String {
        strerror(number).map { String(cString: $0) } ?? "error \(number)"
    }
}
