import CTestSupport
import Foundation
import Testing

/// A started process of the real binary.
struct Child {
    let pid: pid_t

    /// Held while a child is started and while a file is written: a script cannot be executed while a child of another
    /// test, not yet a program of its own, has it open for writing.
    static let starting = NSLock()

    /// The `vaultfmt` under test: the one of `VAULTFMT_RELEASE_BINARY`, which `Tools/test` builds as it is released and
    /// which starts ten times as fast, else the one that was built beside the tests.
    static let binary: String = {
        if let released = ProcessInfo.processInfo.environment["VAULTFMT_RELEASE_BINARY"] { return released }
        let folder = URL(fileURLWithPath: CommandLine.arguments.first ?? "").resolvingSymlinksInPath()
            .deletingLastPathComponent()
        return folder.appendingPathComponent("vaultfmt").path
    }()

    /// Starts a program, the binary unless another is named, in a session of its own.
    /// - `input`: A descriptor for standard input; if nil, `terminal` is.
    /// - `terminal`: The path of a terminal that becomes the process's own.
    static func start(
        _ arguments: [String], program: String = binary, environment: [String: String], directory: String,
        input: Int32? = nil,
        terminal: String? = nil,
        output: String, error: String
    ) throws -> Child {
        var pid: pid_t = 0
        let result = withCStrings([program] + arguments) { argv in
            withCStrings(environment.map { "\($0.key)=\($0.value)" }) { envp in
                starting.withLock {
                    test_spawn(
                        &pid, program, argv, envp, directory, input ?? -1, terminal ?? "/dev/null", output, error)
                }
            }
        }
        guard result == 0 else { throw Failure("cannot start \(program): error \(-result)") }
        return Child(pid: pid)
    }

    /// Waits for the end and returns the exit status, 128 and the number for a signal.
    /// - Throws: ``Failure`` if it does not end within ``Patience/limit``; its process group is then killed.
    func wait() throws -> Int32 { try waitMeasuring().status }

    /// Waits like ``wait()``, and returns the most memory that the process had at a time, too.
    func waitMeasuring() throws -> (status: Int32, peakKiB: Int) {
        var peak = 0
        let status = test_wait_measured(pid, &peak)
        if status >= 0 { return (status, peak) }
        guard status == -ETIMEDOUT else { throw Failure("cannot wait for a process: error \(-status)") }
        kill(-pid, SIGKILL)
        waitpid(pid, nil, 0)
        throw Failure("the process did not end within \(Patience.limit)")
    }
}

/// Why a test cannot go on.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Lends texts as a null-terminated array of C strings.
private func withCStrings<Result>(_ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result)
    -> Result
{
    var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    return body(pointers)
}
