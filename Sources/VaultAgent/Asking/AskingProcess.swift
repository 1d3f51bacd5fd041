internal import CVaultShim
internal import Glibc
internal import VaultExchange
internal import VaultFmt

/// A program that asks a person, while it runs: the conversation with it, and its end. Only `deinit` waits for it.
final class AskingProcess {
    private enum Form {
        case askpass(AskpassAnswer)
        case pinentry(PinentryDialog)
    }

    private let process: pid_t
    private var form: Form
    /// A socket, because writing to one whose other end is closed is an error and not a signal; nil once it is closed.
    private var input: Int32?
    /// Nil after the end of the output.
    private var output: Int32?
    private let ended: () -> Void
    /// Whether it was asked to end.
    private var isUnwanted = false
    /// Whether the process has been waited for.
    private(set) var hasEnded = false
    /// The answer; nil while there is none.
    private(set) var answer: PersonAnswer?
    private var buffer = Secret(count: 1024)

    private static let mostReads = 64

    /// Starts a program with a question.
    ///
    /// - Throws: `AgentError` with a reason for people, or why the program cannot be started.
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
                    throw AgentError(.refused, "the question is too long to be shown whole, and was not asked")
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

    private static let noDescriptors = AgentError(.system, "there are no descriptors for the program that asks")

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
        // An agent that ends waits only a moment, and what the program has started may not end with it.
        for _ in 0..<20 where vault_child_has_ended(process) == 0 { usleep(10_000) }
        kill(-process, SIGKILL)
        waitpid(process, nil, 0)
        ended()
    }

    /// The descriptor to poll; nil while there is none.
    var descriptor: Int32? { output }

    private var isPinentry: Bool { if case .pinentry = form { true } else { false } }

    /// Reads what the program has written so far, and tells it what comes next.
    func readOutput() {
        for _ in 0..<Self.mostReads {
            guard let output else { return }
            let count = buffer.withUnsafeMutableBytes { read(output, $0.baseAddress, $0.count) }
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            guard count > 0 else {
                self.output = Self.closed(output)
                return
            }
            tell(take(count))
        }
    }

    /// Takes what is in the buffer, and wipes it. Returns what the program is told next.
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
        guard let input, !bytes.isEmpty else { return }
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        let count = bytes.withUnsafeBytes { send(input, $0.baseAddress, $0.count, flags) }
        // A line is shorter than the buffer of a socket: one that cannot be sent means that the program has ended.
        if count != bytes.count { self.input = Self.closed(input) }
    }

    /// Returns the passphrase that was typed, once the answer to such a question is yes.
    func takePassphrase() -> SharedSecret? {
        if case .pinentry(let dialog) = form { dialog.takePassphrase() } else { nil }
    }

    /// Notes whether the program has ended: the end of its output is not its own end, nor the other way round.
    func noteEnd() {
        guard !hasEnded, vault_child_has_ended(process) != 0 else { return }
        readOutput()
        // Ends what the program has started, unless an askpass has ended by itself: it may leave something running.
        // Until the process is waited for, no other group has its number.
        if isUnwanted || isPinentry { kill(-process, SIGKILL) }
        var status: Int32 = -1
        if waitpid(process, &status, 0) != process { status = -1 }
        hasEnded = true
        (input, output) = (Self.closed(input), Self.closed(output))
        switch form {
        case .askpass(let answer): self.answer = answer.answer(endedWith: status)
        case .pinentry(let dialog):
            dialog.end()
            answer = dialog.answer
        }
        ended()
    }

    /// Asks the program, and what it has started, to end, or kills them.
    func end(_ signal: Int32) {
        guard !hasEnded else { return }
        // A pinentry that waits for its next command ends now.
        input = Self.closed(input)
        isUnwanted = true
        kill(-process, signal)
    }

    private static func closed(_ descriptor: Int32?) -> Int32? {
        if let descriptor { close(descriptor) }
        return nil
    }
}
