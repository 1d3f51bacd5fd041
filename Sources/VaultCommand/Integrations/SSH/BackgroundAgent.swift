import CVaultShim
import Glibc
import VaultExchange
import VaultFmt
import VaultLocal

/// The agent in the background: a process of this program that opens the vault at this terminal, says that it is ready,
/// and then leaves the terminal.
enum BackgroundAgent {
    private static let mostText = 8192

    /// Starts the process with the arguments of this one, passes on what it says, and exits as it does.
    ///
    /// Its factors come from the same environment variables as those of this process, and from the same descriptors. It
    /// inherits no others: it would keep a lock or a pipe of the caller's for as long as it runs.
    static func start(factors: [Int32]) throws -> Never {
        let pipe = try Pipe()
        try keepFromPrograms(allBut: Set(factors))
        _ = fcntl(pipe.writing, F_SETFD, 0)
        let arguments =
            [ProcessArguments.all.first ?? "vaultfmt"] + ProcessArguments.all.dropFirst()
            + ["--ready-fd", String(pipe.writing)]
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, "/proc/self/exe", nil, nil, words, environ)
        guard failure == 0 else {
            throw CommandFailure(.io, "cannot start the agent: \(Descriptor.message(failure)); free some memory")
        }
        pipe.closeWriting()
        let text = try Descriptor.readAll(pipe.reading, name: "the agent's answer", limit: mostText)
        guard text.count > 0 else { exit(Subprocess.wait(process)) }
        let output = Output.standard()
        try output.write(text)
        try output.flush()
        exit(ExitStatus.success.rawValue)
    }

    /// Marks all descriptors but the standard ones and these to be closed in programs that are started.
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

    /// Says that this process is ready, and leaves the terminal.
    static func leave(_ ready: Int32, saying text: String) throws {
        setsid()
        let null = vault_open("/dev/null", O_RDWR, 0)
        guard null >= 0 else { throw CommandFailure(system: -null, "cannot open '/dev/null'") }
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] { dup2(null, descriptor) }
        close(null)
        var text = text
        let failure = text.withUTF8 { Descriptor.writeAll(ready, UnsafeRawBufferPointer($0)) }
        close(ready)
        guard failure == 0 else { throw CommandFailure(system: failure, "cannot say that the agent is ready") }
    }
}
