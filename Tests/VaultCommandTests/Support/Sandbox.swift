import CTestSupport
import Foundation
import Testing

/// A folder with its own home, data and state, in which the real binary runs without a terminal, as in a script.
final class Sandbox {
    let folder: String
    /// What the binary finds in its environment.
    var environment: [String: String]
    private var runs = 0

    static let passphrase = "correct horse battery staple"

    init() throws {
        var template = Array((NSTemporaryDirectory() + "vaultfmt-test-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure("cannot make a temporary folder: error \(errno)") }
        folder = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        environment = [
            "HOME": folder, "XDG_DATA_HOME": folder + "/data", "XDG_STATE_HOME": folder + "/state",
            "PATH": "/usr/bin:/bin",
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8", "VAULTFMT_PASSPHRASE": Sandbox.passphrase, "VAULTFMT_VAULT": folder + "/test.vault",
            "SWIFT_BACKTRACE": "enable=no",
        ]
    }

    deinit {
        // A process that is ending, such as an agent or a clipboard's program, may still add and remove files here. A
        // folder that cannot be removed is left to the system's own tidying.
        for _ in 0..<200 {
            test_remove_folder(folder)
            guard access(folder, F_OK) == 0 else { return }
            usleep(10_000)
        }
    }

    /// A sandbox with an empty vault at `VAULTFMT_VAULT`.
    static func withVault() throws -> Sandbox {
        let sandbox = try Sandbox()
        try sandbox.ok("create", "--kdf", "testing")
        return sandbox
    }

    /// Where a file of this name is.
    func path(_ name: String) -> String { folder + "/" + name }

    var vault: String { path("test.vault") }

    /// Writes a file, 0600.
    @discardableResult
    func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        try Child.starting.withLock { try Data(bytes).write(to: URL(fileURLWithPath: path(name))) }
        chmod(path(name), 0o600)
        return path(name)
    }

    /// A file's bytes.
    func read(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path(name)))) }

    /// Runs the binary; standard input is a pipe with these bytes.
    func run(_ arguments: String..., input: some Sequence<UInt8> = "".utf8) throws -> Run {
        try run(arguments, input: Array(input))
    }

    /// Runs the binary, or another program; standard input is a pipe with these bytes.
    func run(_ arguments: [String], program: String = Child.binary, input: [UInt8] = []) throws -> Run {
        runs += 1
        let output = path(".out-\(runs)")
        let error = path(".err-\(runs)")
        var ends: [Int32] = [0, 0]
        guard test_pipe(&ends) == 0 else { throw Failure("no pipe") }
        let child = try Child.start(
            arguments, program: program, environment: environment, directory: folder, input: ends[0], output: output,
            error: error)
        close(ends[0])
        let writer = ends[1]
        let feeder = Thread {
            signal(SIGPIPE, SIG_IGN)
            FileHandle(fileDescriptor: writer, closeOnDealloc: false).feed(input)
            close(writer)
        }
        feeder.start()
        let (status, peakKiB) = try child.waitMeasuring()
        return Run(
            arguments: arguments, status: status, peakKiB: peakKiB, bytes: try read(".out-\(runs)"),
            error: String(decoding: try read(".err-\(runs)"), as: UTF8.self))
    }

    /// Runs the binary and expects success.
    @discardableResult
    func ok(
        _ arguments: String..., input: some Sequence<UInt8> = "".utf8, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Run {
        let run = try run(arguments, input: Array(input))
        #expect(run.status == 0, "\(arguments): \(run.error)", sourceLocation: sourceLocation)
        return run
    }

    /// Does the same with arguments in an array.
    @discardableResult
    func ok(
        _ arguments: [String], input: some Sequence<UInt8> = "".utf8, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Run {
        let run = try run(arguments, input: Array(input))
        #expect(run.status == 0, "\(arguments): \(run.error)", sourceLocation: sourceLocation)
        return run
    }

    /// Runs the binary and expects a failure: this exit code, and one line on standard error that holds `message`.
    @discardableResult
    func fails(
        _ status: Int32, _ message: String, _ arguments: String..., input: some Sequence<UInt8> = "".utf8,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Run {
        let run = try run(arguments, input: Array(input))
        #expect(run.status == status, "\(arguments): \(run.error)", sourceLocation: sourceLocation)
        let lines = run.error.split(separator: "\n").filter { $0.hasPrefix("vaultfmt: ") }
        let last = lines.last ?? ""
        #expect(last.contains(message), "\(arguments): \(run.error)", sourceLocation: sourceLocation)
        #expect(
            run.error.hasSuffix(last + "\n"), "the failure is the last line: \(run.error)",
            sourceLocation: sourceLocation)
        return run
    }
}

extension FileHandle {
    /// Writes all bytes, or as many as the reader takes.
    fileprivate func feed(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.write(fileDescriptor, $0.baseAddress, $0.count) }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }
}

/// What a run of the binary gave.
struct Run {
    let arguments: [String]
    let status: Int32
    /// The most memory that it had at a time, or that the test's process had when it started it.
    let peakKiB: Int
    let bytes: [UInt8]
    let error: String

    /// Standard output as text.
    var output: String { String(decoding: bytes, as: UTF8.self) }
    /// Its lines.
    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: true).map(String.init) }

    /// Standard output as JSON.
    func json() throws -> Any { try JSONSerialization.jsonObject(with: Data(bytes)) }
}
