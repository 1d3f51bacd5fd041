import Foundation
import TestSupport
import Testing

@testable import VaultAgent

@Suite("Asking a person")
struct ConfirmationTests {
    private let client = ClientConnection(open("/dev/null", O_RDWR), .test)
    private let now: UInt64 = 1_000_000

    /// Questions that a shell script answers.
    private func asking(_ script: String) -> Confirmations {
        let confirmations = Confirmations { _, output in try Shell.start(script, output: output) }
        confirmations.add("Allow?", from: client)
        #expect(confirmations.askNext(now: now) == nil)
        return confirmations
    }

    /// A program that ignores the signal, as its output tells, and so do those that it starts.
    private static let stubborn = "trap '' TERM; echo ready; sleep 1000"

    private func awaitOutput(_ confirmations: Confirmations) {
        var polled = pollfd(fd: confirmations.descriptor ?? -1, events: Int16(POLLIN), revents: 0)
        #expect(poll(&polled, 1, 120_000) == 1)
    }

    /// Waits for the answer, as a server does that each event wakes.
    private func answer(_ confirmations: Confirmations, now: UInt64? = nil) throws -> Bool {
        try Wait.until("the answer") {
            confirmations.readOutput()
            return confirmations.takeAnswer(now: now ?? self.now).map { $0.answer == .yes }
        }
    }

    @Test(
        "Only the exit code 0 with nothing or with 'yes' is a yes",
        arguments: [
            ("true", true), ("echo yes", true), ("printf Yes", true), ("echo", true), ("printf 'YES\\r\\n'", true),
            ("false", false), ("echo no", false), ("echo yes; exit 1", false), ("echo 'yes '", false),
            ("echo; echo", false), ("echo password", false), ("head -c 100000 /dev/zero", false),
            ("kill -TERM $$", false),
        ])
    func answers(script: String, isYes: Bool) throws {
        #expect(try answer(asking(script)) == isYes)
    }

    @Test("The end of the output is not the answer, and a program that has left the output to another one has answered")
    func ends() throws {
        let confirmations = asking("exec >&-; sleep 1000 & wait")
        try Wait.until("the end of the output") {
            confirmations.readOutput()
            return confirmations.descriptor == nil ? true : nil
        }
        #expect(confirmations.takeAnswer(now: now) == nil)
        confirmations.forget(client, now: now)
        #expect(try answer(asking("sleep 5 & exit 0")))
    }

    @Test("Questions of ssh's clients come before those of desktop programs, which may be many")
    func order() throws {
        var asked: [String] = []
        let confirmations = Confirmations { question, output in
            asked.append(question)
            return try Shell.start("true", output: output)
        }
        for number in 1...3 { confirmations.add("desktop \(number)", from: .attached(UInt64(number))) }
        for number in 1...2 { confirmations.add("ssh \(number)", from: client) }
        for _ in 1...5 {
            #expect(confirmations.askNext(now: now) == nil)
            #expect(try answer(confirmations))
        }
        #expect(asked == ["ssh 1", "ssh 2", "desktop 1", "desktop 2", "desktop 3"])
    }

    @Test("Without an answer in time, it is no, and a program that does not end is killed")
    func deadline() throws {
        let confirmations = asking(Self.stubborn)
        awaitOutput(confirmations)
        #expect(confirmations.nextEnd == now + Confirmations.patience)
        #expect(confirmations.takeAnswer(now: now + Confirmations.patience - 1) == nil)
        let late = now + Confirmations.patience
        let denied = try #require(confirmations.takeAnswer(now: late))
        guard case .connection(let asker) = denied.asker else { throw NotInTime(what: "the client's answer") }
        #expect(asker === client && denied.answer == .late)
        // The next one waits until this program has gone.
        confirmations.add("Again?", from: client)
        #expect(confirmations.nextEnd == late + Confirmations.grace)
        #expect(confirmations.askNext(now: late) == nil)
        #expect(confirmations.takeAnswer(now: late + Confirmations.grace) == nil)
        #expect(confirmations.nextEnd == nil)
        try Wait.until("the end of the program") {
            #expect(confirmations.takeAnswer(now: late + Confirmations.grace) == nil)
            _ = confirmations.askNext(now: late)
            return confirmations.nextEnd.map { _ in true }
        }
    }

    @Test("The program of a client that has gone is ended, with what it has started")
    func gone() throws {
        let confirmations = asking("sleep 1000 & echo $!; wait")
        confirmations.forget(client, now: now)
        #expect(confirmations.nextEnd == now + Confirmations.grace)
        try Wait.until("the end of the program") {
            #expect(confirmations.takeAnswer(now: now) == nil)
            return confirmations.nextEnd == nil ? true : nil
        }
    }

    @Test("An agent that ends leaves nothing behind that a program has started")
    func leftBehind() throws {
        let folder = try Folder()
        // The program ends with the signal, and what it has started ignores it.
        var confirmations: Confirmations? = asking(
            "trap '' TERM; sleep 1000 >&- & trap - TERM; echo $! > \(folder.file("pid")); echo ready; wait")
        confirmations.map(awaitOutput)
        let pid = try #require(Int32(String(decoding: try folder.read("pid"), as: UTF8.self).dropLast()))
        confirmations = nil
        try Wait.until("the end of process \(pid)") {
            guard let stat = FileManager.default.contents(atPath: "/proc/\(pid)/stat"), !stat.isEmpty else {
                return true
            }
            return String(decoding: stat, as: UTF8.self).contains(") Z") ? true : nil
        }
    }

    @Test("An agent that ends does not wait for a program that does not")
    func ending() throws {
        let start = ContinuousClock.now
        var confirmations: Confirmations? = asking(Self.stubborn)
        confirmations.map(awaitOutput)
        confirmations = nil
        #expect(ContinuousClock.now - start < .seconds(60))
    }
}

/// Programs that ask.
private enum Shell {
    /// Starts a script in a process group of its own.
    static func start(_ script: String, output: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        // The threads of tests block signals.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        var words: [UnsafeMutablePointer<CChar>?] = (["/bin/bash", "-c", script] as [String]).map { strdup($0) }
        words.append(nil)
        defer { words.forEach { free($0) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, "/bin/bash", &actions, &attributes, &words, environ)
        guard failure == 0 else { throw NotStarted(number: failure) }
        return process
    }
}

private struct NotStarted: Error { let number: Int32 }
private struct NotInTime: Error { let what: String }

private enum Wait {
    /// Waits until there is a value, however long a busy machine needs.
    @discardableResult
    static func until<R>(_ what: String, _ value: () throws -> R?) throws -> R {
        let end = ContinuousClock.now + .seconds(120)
        while true {
            if let found = try value() { return found }
            guard ContinuousClock.now < end else { throw NotInTime(what: what) }
            usleep(2000)
        }
    }
}
