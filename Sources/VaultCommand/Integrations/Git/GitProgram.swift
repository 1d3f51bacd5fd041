import Glibc
import VaultFmt
import VaultLocal

/// The program git, run in the folder of a vault.
struct GitProgram {
    private let path: String
    private let folder: String

    init(folder: String) throws {
        guard let path = Subprocess.find("git") else {
            throw CommandFailure(.noSuchProgram, "git is not in PATH; install it")
        }
        self.path = path
        self.folder = folder
    }

    /// Git's output and exit status.
    struct Answer {
        let code: Int32
        let text: String

        var isSuccess: Bool { code == 0 }

        /// The first line, without its newline.
        var line: String { String(text.prefix { $0 != "\n" }) }
    }

    /// Runs git and returns its output; error messages go to standard error.
    ///
    /// Git, its hooks, filters and helpers get none of the factors that open vaults.
    /// - `withErrors`: Whether error messages are included in the output.
    /// - `settings`: Environment variables for git.
    func run(
        _ arguments: [String], withErrors: Bool = false, limit: Int = 1 << 20, settings: [String: String] = [:]
    ) throws -> Answer {
        let pipe = try Pipe()
        let process = try Subprocess.start(
            path, ["-C", folder] + arguments, input: nil, output: pipe.writing,
            error: withErrors ? pipe.writing : STDERR_FILENO, settings: settings)
        pipe.closeWriting()
        let found = try Descriptor.readAll(pipe.reading, name: "git's output", limit: limit)
        pipe.closeReading()
        let text = found.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        return Answer(code: Subprocess.wait(process), text: text)
    }

    /// Runs git and throws a failure with its messages if it fails. Waits a moment for another git to finish.
    @discardableResult
    func require(_ arguments: [String], _ purpose: String, settings: [String: String] = [:]) throws -> Answer {
        var answer = try run(arguments, withErrors: true, settings: settings)
        for _ in 0..<Self.mostWaits where !answer.isSuccess && Self.lock(in: answer) != nil {
            usleep(Self.wait)
            answer = try run(arguments, withErrors: true, settings: settings)
        }
        guard answer.isSuccess else { throw Self.failure(answer, purpose) }
        return answer
    }

    private static let mostWaits = 20
    /// In microseconds.
    private static let wait: useconds_t = 100_000

    /// The path of the lock file that kept git from its work; nil if it was something else.
    private static func lock(in answer: Answer) -> String? {
        for line in answer.text.split(separator: "\n") where line.contains(".lock': File exists") {
            guard let start = line.firstIndex(of: "'"), let end = line.lastIndex(of: "'"), start < end else { continue }
            return String(line[line.index(after: start)..<end])
        }
        return nil
    }

    /// Returns a failure that says in one line what git could not do, and why.
    static func failure(_ answer: Answer, _ purpose: String) -> CommandFailure {
        if let lock = lock(in: answer) {
            return CommandFailure(
                .busy,
                "git could not \(purpose): another git is running, or was killed and left \(TerminalText.path(lock)); if none is running, delete that file and try again"
            )
        }
        let said = answer.text.split(separator: "\n").filter { !$0.hasPrefix("hint:") && !$0.isEmpty }
        let reason = said.isEmpty ? "exit \(answer.code)" : said.prefix(4).joined(separator: "; ")
        return CommandFailure(.io, "git could not \(purpose): \(TerminalText.singleLine(reason)); see 'git status'")
    }

    /// Runs git and writes its output to a descriptor.
    func write(_ arguments: [String], to descriptor: Int32) throws -> Int32 {
        Subprocess.wait(
            try Subprocess.start(
                path, ["-C", folder] + arguments, input: nil, output: descriptor, error: STDERR_FILENO))
    }
}

/// A vault as a file in a git repository.
struct GitFile {
    let git: GitProgram
    /// The vault's path, as the user gave it.
    let path: String
    /// The vault's path relative to the top of the repository.
    let name: String
    /// The top of the repository.
    let top: String

    init(_ path: String) throws {
        guard try UserFiles.exists(path) else {
            throw CommandFailure(.noSuchFile, "there is no vault \(TerminalText.path(path)); check the path")
        }
        self.path = path
        let here = try GitProgram(folder: UserFiles.parent(of: path))
        let answer = try here.run(["rev-parse", "--show-toplevel", "--show-prefix"], withErrors: true)
        let lines = answer.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard answer.isSuccess, lines.count >= 2 else {
            throw CommandFailure(
                .usage, "\(TerminalText.path(path)) is not in a git repository; create one with 'git init'")
        }
        top = lines[0]
        name = lines[1] + String(path[(path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex)...])
        git = try GitProgram(folder: top)
    }

    /// The name as a pathspec that matches only this file.
    var pathspec: String { Self.pathspec(name) }

    /// Returns a pathspec that matches only the file of this name.
    static func pathspec(_ name: String) -> String { ":(literal,top)" + name }
}
