import CVaultShim
import Glibc
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// The agent in the background: a child process that opens the vault at this terminal, reports that it is ready, and
/// then detaches from the terminal. The process continues only if its report was passed on, because otherwise nobody
/// knows its process id.
enum BackgroundAgent {
    private static let mostText = 8192

    /// Starts the process with the same arguments, passes on its output, and exits with the same status.
    ///
    /// The process reads its factors from the same environment variables and descriptors as this one. It inherits no
    /// other descriptors: otherwise, it would keep the caller's locks and pipes open for as long as it runs.
    static func start(factors: [Int32]) throws -> Never {
        let pipe = try channel()
        try keepFromPrograms(allBut: Set(factors))
        _ = fcntl(pipe.writing, F_SETFD, 0)
        let process = try spawn(ready: pipe.writing)
        pipe.closeWriting()
        let text = try Descriptor.readAll(pipe.reading, name: "the agent's answer", limit: mostText)
        guard text.count > 0 else { exit(Subprocess.wait(process)) }
        do {
            let output = Output.standard()
            try output.write(text)
            try output.flush()
        } catch {
            pipe.closeReading()
            _ = Subprocess.wait(process)
            throw error
        }
        var word: UInt8 = 1
        guard send(pipe.reading, &word, 1, Int32(MSG_NOSIGNAL)) == 1 else { exit(Subprocess.wait(process)) }
        exit(ExitStatus.success.rawValue)
    }

    /// Returns two connected sockets. The process uses the second one to report that it is ready, and then waits for a
    /// byte.
    private static func channel() throws -> Pipe {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw CommandFailure(.io, "cannot create a socket: \(Descriptor.message(errno)); close some files")
        }
        return Pipe(reading: ends[0], writing: ends[1])
    }

    /// Starts the process from this program's file. The file has no path if it has been replaced in the meantime.
    private static func spawn(ready: Int32) throws -> pid_t {
        let arguments =
            [ProcessArguments.all.first ?? "vaultfmt"] + ProcessArguments.all.dropFirst() + [
                "--ready-fd", String(ready),
            ]
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        var failure = ENOENT
        for path in [OwnProgram.path, "/proc/self/exe"].compactMap({ $0 }) where failure != 0 {
            failure = posix_spawn(&process, path, nil, nil, words, environ)
        }
        guard failure == 0 else {
            throw CommandFailure(.io, "cannot start the agent: \(Descriptor.message(failure)); free some memory")
        }
        return process
    }

    /// Sets close-on-exec on all descriptors except the standard ones and the given ones.
    private static func keepFromPrograms(allBut kept: Set<Int32>) throws {
        guard let folder = vault_open_directory("/proc/self/fd") else {
            throw CommandFailure(system: errno, "cannot list this process's descriptors")
        }
        defer { closedir(folder) }
        while let name = vault_next_name(folder) {
            guard let descriptor = Int32(String(cString: name)), !kept.contains(descriptor) else { continue }
            FactorInput.closeOnExec(descriptor)
        }
    }

    /// Reports that this process is ready, and detaches from the terminal. Throws unless the parent process has passed
    /// on the report.
    static func leave(_ ready: Int32, saying text: String) throws {
        setsid()
        let null = vault_open("/dev/null", O_RDWR, 0)
        guard null >= 0 else { throw CommandFailure(system: -null, "cannot open '/dev/null'") }
        var text = text
        var failure = text.withUTF8 { Descriptor.writeAll(ready, UnsafeRawBufferPointer($0)) }
        if failure == 0, shutdown(ready, Int32(SHUT_WR)) != 0 { failure = errno }
        guard failure == 0 else { throw CommandFailure(system: failure, "cannot report that the agent is ready") }
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] { dup2(null, descriptor) }
        close(null)
        var word: UInt8 = 0
        var count = read(ready, &word, 1)
        while count < 0, errno == EINTR { count = read(ready, &word, 1) }
        close(ready)
        guard count == 1 else { throw CommandFailure(.io, "the agent cannot report that it is ready, so it exits") }
    }
}
