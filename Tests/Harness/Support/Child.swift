internal import Glibc

/// A process that the harness has started: itself in another role, or another program.
final class Child {
    let pid: pid_t
    private var status: Int32?

    /// Starts the harness in a role.
    static func role(_ name: String, _ arguments: [String]) throws -> Child {
        try Child("/proc/self/exe", ["harness", "--role", name] + arguments)
    }

    /// Starts a program; its output goes to a file, and it inherits an opening of the harness under a number, if these
    /// are given.
    init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], output: String? = nil,
        inherited: (descriptor: Int32, number: Int32)? = nil
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        if let output {
            posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            posix_spawn_file_actions_adddup2(&actions, 1, 2)
        }
        if let inherited { posix_spawn_file_actions_adddup2(&actions, inherited.descriptor, inherited.number) }
        let variables = Child.environment.merging(environment) { _, new in new }.map { "\($0.key)=\($0.value)" }
        var argv = arguments.map { strdup($0) } + [nil]
        var envp = variables.map { strdup($0) } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var pid: pid_t = 0
        let failure = posix_spawn(&pid, program, &actions, nil, &argv, &envp)
        guard failure == 0 else { throw Wrong("cannot start \(program): \(String(cString: strerror(failure)))") }
        self.pid = pid
    }

    deinit { if status == nil { end() } }

    private static var environment: [String: String] {
        var out: [String: String] = [:]
        for name in ["PATH", "HOME", "TMPDIR", "VAULTFMT_MUTANT", "VAULTFMT_RELEASE_BINARY"] {
            if let value = getenv(name) { out[name] = String(cString: value) }
        }
        return out
    }

    func signal(_ number: Int32) { kill(pid, number) }

    /// Kills it and waits for its end.
    @discardableResult
    func end() -> Int32 {
        signal(SIGKILL)
        return wait()
    }

    /// Its exit code; 128 and the number for a signal.
    @discardableResult
    func wait() -> Int32 {
        if let status { return status }
        var raw: Int32 = 0
        while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
        let code = raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + (raw & 0x7F)
        status = code
        return code
    }

    /// Its exit code, if it has ended.
    func poll() -> Int32? {
        if let status { return status }
        var raw: Int32 = 0
        guard waitpid(pid, &raw, WNOHANG) == pid else { return nil }
        status = raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + (raw & 0x7F)
        return status
    }
}

/// Runs a line of shell; its exit code.
@discardableResult
func shell(_ line: String, output: String = "/dev/null") throws -> Int32 {
    try Child("/bin/sh", ["sh", "-c", line], output: output).wait()
}
