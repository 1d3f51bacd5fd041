import Foundation
import VaultExchange

@testable import VaultAgent

extension PersonQuery {
    static func consent(_ text: String) -> PersonQuery { PersonQuery(text: text, wanted: .consent) }

    static func passphrase(_ text: String, wrong: Int = 0) -> PersonQuery {
        PersonQuery(text: text, wanted: .passphrase(wrong: wrong))
    }
}

/// Programs that ask.
enum Shell {
    /// The pinentry of a script, whose `$command` and `$rest` are what it is told; each command is accepted unless the
    /// script answers it.
    static func pinentry(_ answers: String) -> String {
        """
        echo 'OK Pleased to meet you'
        while IFS=' ' read -r command rest; do
            \(answers)
            echo OK
        done
        """
    }

    /// How a script is started as pinentry.
    static func program(_ script: String, ended: @escaping () -> Void = {}) -> Pinentry {
        Pinentry(options: []) { (input, output) throws(AgentError) in
            do { return try start(script, input: input, output: output) } catch {
                throw AgentError(.system, "\(error)")
            }
        } ended: {
            ended()
        }
    }

    /// Starts a script in a process group of its own, or in that of another program.
    static func start(
        _ script: String, input: Int32? = nil, output: Int32, inGroupOf program: pid_t = 0
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        if let input { posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) }
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        // The threads of tests block signals.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setpgroup(&attributes, program)
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

extension Shell {
    /// Starts a process that answers with the message that it reads, so that the test itself opens the vault with the
    /// passphrase in it.
    static func startEcho(_ socket: Int32) throws(AgentError) -> Int32 { try startOpening("exec cat", socket) }

    /// Starts a process that never answers.
    static func startSleeping(_ socket: Int32) throws(AgentError) -> Int32 {
        try startOpening("exec sleep 1000", socket)
    }

    private static func startOpening(_ script: String, _ socket: Int32) throws(AgentError) -> Int32 {
        do { return try start(script, input: socket, output: socket) } catch {
            throw AgentError(.system, "\(error)")
        }
    }
}

extension ServedVault {
    /// Tries a passphrase, and waits for the result.
    func open(typed passphrase: SharedSecret, now: UInt64) throws -> Typed {
        if let result = beginOpening(typed: passphrase, now: now) { return result }
        return try Wait.until("the result of a typed passphrase") { finishOpening(now: now) }
    }
}

struct NotStarted: Error { let number: Int32 }
struct NotInTime: Error { let what: String }

enum Wait {
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
