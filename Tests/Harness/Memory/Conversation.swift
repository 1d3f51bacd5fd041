internal import CTestSupport
internal import Glibc

/// Another process, over whose standard input and output one talks with it, line by line.
final class Conversation {
    let pid: pid_t
    private let input: Int32
    private let output: UnsafeMutablePointer<FILE>?

    /// This program in a role.
    convenience init(_ arguments: [String]) throws {
        let mutant = getenv("VAULTFMT_MUTANT").map { ["VAULTFMT_MUTANT=\(String(cString: $0))"] } ?? []
        try self.init("/proc/self/exe", ["harness", "--role"] + arguments, environment: mutant, directory: "/")
    }

    /// A Python program of this repository that uses the reference implementation, started in the repository's folder.
    convenience init(reference program: String) throws {
        // The second is where a copy of the tree with planted bugs finds it.
        let line =
            "for p in .python/bin/python ../../.python/bin/python python3; do [ ! -x $p ] || break; done; exec $p \(program)"
        let path = "PATH=" + (getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin")
        try self.init(
            "/bin/sh", ["sh", "-c", line],
            environment: [path, "PYTHONPATH=Spec/reference", "PYTHONDONTWRITEBYTECODE=1"], directory: ".")
    }

    private init(_ program: String, _ arguments: [String], environment: [String], directory: String) throws {
        let toChild = try StartedProgram.pipe()
        let fromChild = try StartedProgram.pipe()
        pid = try StartedProgram.start(
            program, arguments, environment: environment, directory: directory, input: toChild.read,
            output: fromChild.write,
            error: STDERR_FILENO)
        close(toChild.read)
        close(fromChild.write)
        input = toChild.write
        output = fdopen(fromChild.read, "r")
    }

    deinit {
        close(input)
        if let output { fclose(output) }
    }

    func say(_ line: String) {
        var line = line + "\n"
        line.withUTF8 { _ = write(input, $0.baseAddress, $0.count) }
    }

    /// The next line; nil at the end.
    func hear() -> String? {
        var line: UnsafeMutablePointer<CChar>?
        var size = 0
        defer { free(line) }
        guard let output, getline(&line, &size, output) > 0, let line else { return nil }
        return String(cString: line).split(separator: "\n").first.map(String.init) ?? ""
    }

    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return test_exit_status(status)
    }
}

/// Starting other programs.
enum StartedProgram {
    static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard test_pipe(&ends) == 0 else { throw Wrong("no pipe") }
        return (ends[0], ends[1])
    }

    static func start(
        _ path: String, _ arguments: [String], environment: [String], directory: String, input: Int32, output: Int32,
        error: Int32,
        user: uid_t = 0, isTraced: Bool = false
    ) throws -> pid_t {
        let words = arguments.map { strdup($0) } + [nil]
        let values = environment.map { strdup($0) } + [nil]
        defer { for word in words + values { free(word) } }
        let pid = path.withCString { path in
            directory.withCString { directory in
                words.withUnsafeBufferPointer { words in
                    values.withUnsafeBufferPointer { values in
                        var program = test_program(
                            path: path, arguments: words.baseAddress, environment: values.baseAddress,
                            directory: directory, input: input,
                            output: output, error: error, user: user, is_traced: isTraced ? 1 : 0)
                        return test_start(&program)
                    }
                }
            }
        }
        guard pid > 0 else { throw Wrong("cannot start \(path): error \(-pid)") }
        return pid
    }
}
