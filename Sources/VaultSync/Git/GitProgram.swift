import Glibc
import VaultConsole
import VaultFmt
import VaultLocal

/// The program git, run in a vault's folder.
struct GitProgram {
    private let path: String
    private let folder: String

    init(folder: String) throws {
        guard let path = Subprocess.find("git") else {
            throw CommandFailure(
                .noSuchProgram, "git was not found in PATH (only absolute folders are searched); install it")
        }
        self.path = path
        self.folder = folder
    }

    /// Git's output and exit status.
    struct Answer {
        let code: Int32
        let text: String
        /// The text that git wrote to standard error. It is kept apart from the output, because a remote can make git
        /// print warnings.
        let errors: String

        var isSuccess: Bool { code == 0 }

        /// The first line of the output, without its newline.
        var line: String { String(text.prefix { $0 != "\n" }) }

        /// The whole output, without the newline at the end: a folder's name can contain other newlines.
        var path: String { text.hasSuffix("\n") ? String(text.dropLast()) : text }
    }

    /// Settings that override any configuration. A folder that looks like a repository without a work tree is not
    /// treated as a repository, because anyone who can push can add such a folder, together with a configuration that
    /// names programs to run.
    private static let settings = ["-c", "safe.bareRepository=explicit"]

    /// The maximum length of git's output; a remote can write any number of messages.
    private static let limit = 64 << 20

    /// Runs git.
    ///
    /// The factors that open vaults are withheld from git, its hooks, filters and helpers.
    /// - `settings`: Environment variables for git.
    func run(_ arguments: [String], settings: [String: String] = [:]) throws -> Answer {
        let (output, errors) = (GitOutput(try Pipe()), GitOutput(try Pipe()))
        let process = try Subprocess.start(
            path, Self.settings + ["-C", folder] + arguments, input: nil, output: output.pipe.writing,
            error: errors.pipe.writing, settings: settings)
        output.pipe.closeWriting()
        errors.pipe.closeWriting()
        // A process that git leaves running may keep a pipe open: a hook's child, or the master of an ssh connection.
        var ending: Subprocess.Ending?
        while try GitOutput.read([output, errors], isLast: ending != nil) {
            guard output.bytes.count + errors.bytes.count <= Self.limit else {
                Subprocess.end(process)
                throw CommandFailure(.io, "git writes more than \(Self.limit >> 20) MiB of output; see 'git status'")
            }
            if ending == nil { ending = Subprocess.poll(process) }
        }
        return Answer(code: ending?.code ?? Subprocess.wait(process), text: output.text, errors: errors.text)
    }

    /// Runs git and, if git fails, throws a failure with git's messages.
    @discardableResult
    func require(_ arguments: [String], _ purpose: String, settings: [String: String] = [:]) throws -> Answer {
        let answer = try run(arguments, settings: settings)
        guard answer.isSuccess else { throw Self.failure(answer, purpose) }
        return answer
    }

    /// Returns a failure that describes the failed operation and the reason in one line.
    static func failure(_ answer: Answer, _ purpose: String) -> CommandFailure {
        CommandFailure(.io, "git could not \(purpose): \(reason(answer)); see 'git status'")
    }

    /// Returns the first of git's messages as one line.
    static func reason(_ answer: Answer) -> String {
        let said = (answer.errors + answer.text).split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("hint:") }
        let reason = said.isEmpty ? "exit \(answer.code)" : said.prefix(4).joined(separator: "; ")
        return TerminalText.singleLine(String(reason.prefix(1000)))
    }

    /// Runs git and writes its output to a descriptor.
    func write(_ arguments: [String], to descriptor: Int32) throws -> Int32 {
        Subprocess.wait(
            try Subprocess.start(
                path, Self.settings + ["-C", folder] + arguments, input: nil, output: descriptor, error: STDERR_FILENO))
    }
}

/// One of the two streams that git writes to.
private final class GitOutput {
    let pipe: Pipe
    private(set) var bytes: [UInt8] = []
    private var isAtEnd = false

    init(_ pipe: Pipe) { self.pipe = pipe }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Reads a piece of the available output.
    /// - `isLast`: Whether git has ended, so that there is nothing more to wait for.
    /// - Returns: False if there is nothing more to read.
    static func read(_ all: [GitOutput], isLast: Bool) throws -> Bool {
        let open = all.filter { !$0.isAtEnd }
        guard !open.isEmpty else { return false }
        var ready = open.map { pollfd(fd: $0.pipe.reading, events: Int16(POLLIN), revents: 0) }
        let count = poll(&ready, nfds_t(ready.count), isLast ? 0 : 100)
        guard count >= 0 || errno == EINTR else { throw failure }
        guard count > 0 else { return !isLast || count < 0 }
        for (output, found) in zip(open, ready) where found.revents != 0 { try output.readPiece() }
        return true
    }

    private func readPiece() throws {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        let length = Glibc.read(pipe.reading, &piece, piece.count)
        guard length >= 0 else {
            if errno == EINTR { return }
            throw Self.failure
        }
        bytes += piece[..<length]
        isAtEnd = length == 0
    }

    private static var failure: CommandFailure { CommandFailure(system: errno, "cannot read git's output") }
}
