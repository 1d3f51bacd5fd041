internal import CVaultShim
internal import Glibc
internal import VaultExchange
internal import VaultFmt

/// A running program that asks a person: the conversation with it, and how it ends. Only `deinit` waits for it.
final class AskingProcess {
    private enum Form {
        case askpass(AskpassAnswer)
        case pinentry(PinentryDialog)
    }

    private let process: pid_t
    private var form: Form
    /// A socket rather than a pipe: writing to it after the other end has been closed returns an error and raises no
    /// signal. Nil once it is closed.
    private var input: Int32?
    /// The program's output; nil once it has ended.
    private var output: Int32?
    private let ended: () -> Void
    /// True if the program was told to terminate.
    private var isUnwanted = false
    /// True if the process has been waited for.
    private(set) var hasEnded = false
    /// True if processes that it started have been killed and have not exited yet.
    private(set) var hasRest = false
    /// The answer; nil until there is one.
    private(set) var answer: PersonAnswer?
    private var buffer = Secret(count: 1024)

    private static let mostReads = 64

    /// Starts a program with a question.
    ///
    /// - Throws: An `AgentError` with a reason to show to the user, or the error that kept the program from starting.
    static func start(_ program: AskingProgram, _ query: PersonQuery, seconds: UInt64) throws -> AskingProcess {
        var ends: [Int32] = [-1, -1]
        guard vault_pipe(&ends) == 0 else { throw noDescriptors }
        let (output, writing) = (ends[0], ends[1])
        defer { close(writing) }
        _ = fcntl(output, F_SETFL, O_NONBLOCK)
        do {
            switch program {
            case .askpass(let start):
                return AskingProcess(try start(query.text, writing), .askpass(AskpassAnswer()), nil, output) {}
            case .pinentry(let pinentry):
                guard let dialog = PinentryDialog(query, options: pinentry.options, seconds: seconds) else {
                    throw AgentError(.refused, "the question is too long to be shown in full, so it was not asked")
                }
                var pair: [Int32] = [-1, -1]
                let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
                guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else { throw noDescriptors }
                defer { close(pair[1]) }
                do throws(AgentError) {
                    let process = try pinentry.start(pair[1], writing)
                    return AskingProcess(process, .pinentry(dialog), pair[0], output, pinentry.ended)
                } catch {
                    close(pair[0])
                    throw error
                }
            }
        } catch {
            close(output)
            throw error
        }
    }

    private static let noDescriptors = AgentError(.system, "no file descriptors are left for the program that asks")

    private init(_ process: pid_t, _ form: Form, _ input: Int32?, _ output: Int32, _ ended: @escaping () -> Void) {
        self.process = process
        self.form = form
        self.input = input
        self.output = output
        self.ended = ended
    }

    deinit {
        guard !hasEnded else { return }
        (input, output) = (Self.closed(input), Self.closed(output))
        kill(-process, SIGTERM)
        // The agent is exiting, so it waits only briefly. Processes that the program started may outlive it, so the
        // whole group is killed.
        for _ in 0..<20 where vault_child_has_ended(process) == 0 { usleep(10_000) }
        kill(-process, SIGKILL)
        waitpid(process, nil, 0)
        ended()
    }

    /// The descriptor to poll, or nil if there is none.
    var descriptor: Int32? { output }

    private var isPinentry: Bool { if case .pinentry = form { true } else { false } }

    /// Reads everything that the program has written so far, and only then sends it the next commands, so that nothing
    /// it has written before can answer them.
    func readOutput() {
        var told: [UInt8] = []
        for _ in 0..<Self.mostReads {
            guard let output else { break }
            let count = buffer.withUnsafeMutableBytes { read(output, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { break }
            guard count > 0 else {
                self.output = Self.closed(output)
                break
            }
            told += take(count)
        }
        tell(told)
    }

    /// Processes the contents of the buffer, and wipes them. Returns the bytes to send to the program next.
    private func take(_ count: Int) -> [UInt8] {
        let form = form
        let told = buffer.withUnsafeMutableBytes { bytes -> (Form, [UInt8]) in
            let piece = UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
            defer { piece.initializeMemory(as: UInt8.self, repeating: 0) }
            switch form {
            case .askpass(var answer):
                answer.receive(UnsafeRawBufferPointer(piece))
                return (.askpass(answer), [])
            case .pinentry(let dialog): return (form, dialog.receive(UnsafeRawBufferPointer(piece)))
            }
        }
        self.form = told.0
        if case .pinentry(let dialog) = form, let answer = dialog.answer { self.answer = answer }
        return told.1
    }

    private func tell(_ bytes: [UInt8]) {
        guard let input, answer == nil, !bytes.isEmpty else { return }
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        let count = bytes.withUnsafeBytes { send(input, $0.baseAddress, $0.count, flags) }
        // The commands are shorter than the socket's buffer, so a short write means that the program has exited.
        if count != bytes.count { self.input = Self.closed(input) }
        if case .pinentry(let dialog) = form { dialog.noteSent() }
    }

    /// Returns the passphrase that was typed; nil unless a passphrase was asked for and the answer is yes.
    func takePassphrase() -> SharedSecret? {
        if case .pinentry(let dialog) = form { dialog.takePassphrase() } else { nil }
    }

    /// Checks whether the program has exited. A program can close its output before it exits, and its output can stay
    /// open after it has exited.
    func noteEnd() {
        if hasRest { hasRest = isGroupLeft }
        guard !hasEnded, vault_child_has_ended(process) != 0 else { return }
        readOutput()
        // Kill what the program started, unless it is an askpass that exited by itself, which may leave a process
        // running on purpose. The process id cannot be reused as a group id until the process has been waited for.
        let isKilled = isUnwanted || isPinentry
        if isKilled { kill(-process, SIGKILL) }
        var status: Int32 = -1
        if waitpid(process, &status, 0) != process { status = -1 }
        hasEnded = true
        hasRest = isKilled && isGroupLeft
        (input, output) = (Self.closed(input), Self.closed(output))
        switch form {
        case .askpass(let answer): self.answer = answer.answer(endedWith: status)
        case .pinentry(let dialog):
            dialog.end()
            answer = dialog.answer
        }
        ended()
    }

    /// True if a process remains in the program's group. The group's id cannot be reused while one does.
    private var isGroupLeft: Bool { kill(-process, 0) == 0 || errno != ESRCH }

    /// Sends a signal to the program and to everything it has started.
    func end(_ signal: Int32) {
        guard !hasEnded else { return }
        // A pinentry that is waiting for its next command exits when its input is closed.
        input = Self.closed(input)
        isUnwanted = true
        kill(-process, signal)
    }

    private static func closed(_ descriptor: Int32?) -> Int32? {
        if let descriptor { close(descriptor) }
        return nil
    }
}
