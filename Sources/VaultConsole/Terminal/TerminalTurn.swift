import CVaultShim
import Glibc
import VaultExchange
import VaultFmt
import VaultLocal

/// This process's turn at its terminal: from its first question to its last, no other process of this program prompts
/// there, and typed text is echoed only for questions that show it. The terminal is restored regardless of how the
/// process ends.
final class TerminalTurn {
    /// True if another process had its turn first, in which case the answer may already be known.
    let hadToWait: Bool
    let terminal: Int32
    private let lock: Int32
    let notes: Pipe
    private var guardian: TerminalGuardian?

    /// How an attempt to read a line ended.
    enum Outcome {
        case line(Int)
        case end
        case failed(Int32)
        case signal(Int32)
    }

    /// Waits for the turn; returns nil if the process has no terminal. A background job is stopped, as if it had read
    /// from the terminal.
    static func begin() throws -> TerminalTurn? {
        let terminal = vault_open("/dev/tty", O_RDWR | O_NOCTTY, 0)
        guard terminal >= 0 else { return nil }
        let lock = openLock(terminal)
        let guardian = TerminalGuardian.start(terminal: terminal, lock: lock >= 0 ? lock : terminal)
        var hadToWait = false
        // A job cannot be stopped after its shell has exited.
        for _ in 0..<100 {
            if vault_terminal_is_foreground(terminal) == 1 {
                if lock >= 0, vault_wait_for_lock(lock) == 1 { hadToWait = true }
                if vault_terminal_is_foreground(terminal) == 1 {
                    return try TerminalTurn(terminal, lock, guardian, hadToWait)
                }
                if lock >= 0 { flock(lock, LOCK_UN) }
            }
            kill(0, SIGTTIN)
        }
        guardian?.dismiss()
        guardian?.wait()
        close(terminal)
        if lock >= 0 { close(lock) }
        throw CommandFailure(
            .noAccess, "the terminal belongs to another job, so there is no prompt; run this in the foreground")
    }

    /// Returns whether another process has its turn at the terminal, so that nothing should be drawn there.
    static func isAnothers() -> Bool {
        guard vault_turn_state() == Int32(VAULT_TURN_NONE.rawValue) else { return false }
        let terminal = vault_open("/dev/tty", O_RDWR | O_NOCTTY, 0)
        guard terminal >= 0 else { return false }
        defer { close(terminal) }
        let lock = openLock(terminal)
        guard lock >= 0 else { return false }
        defer { close(lock) }
        return vault_is_locked_elsewhere(lock) == 1
    }

    /// Opens the path to lock: the terminal's device or, if that cannot be opened by name (after su, for example), the
    /// folder that holds what this machine remembers for the user.
    private static func openLock(_ terminal: Int32) -> Int32 {
        let itself = vault_terminal_open_itself(terminal)
        if itself >= 0 { return itself }
        do throws(VaultError) {
            return vault_open(try Places().stateFolder, O_RDONLY | O_DIRECTORY, 0)
        } catch { return -1 }
    }

    private init(_ terminal: Int32, _ lock: Int32, _ guardian: TerminalGuardian?, _ hadToWait: Bool)
        throws
    {
        self.hadToWait = hadToWait
        self.terminal = terminal
        self.lock = lock
        self.guardian = guardian
        notes = try Pipe()
        for end in [notes.reading, notes.writing] { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
        let failure = vault_turn_begin(terminal, lock, notes.writing)
        guard failure == 0 else { throw CommandFailure(system: -failure, "cannot prompt on the terminal") }
        guardian?.tellModes()
    }

    deinit {
        close(terminal)
        if lock >= 0 { close(lock) }
    }

    /// Restores the terminal and ends the turn; no questions may follow.
    func end() {
        // The order matters: if the process is killed in between, the guardian cannot interfere with another process's
        // turn.
        vault_turn_end()
        guardian?.dismiss()
        if lock >= 0 { flock(lock, LOCK_UN) }
        guardian?.wait()
        guardian = nil
    }

    /// True if the turn ended because the process was stopped.
    var isLost: Bool { vault_turn_state() == Int32(VAULT_TURN_LOST.rawValue) }

    /// Shows a prompt and reads a line. Anything typed before the prompt is discarded.
    /// - `isHidden`: Whether to turn off echo while the user types.
    /// - `buffer`: Receives the line. If the line is longer than the buffer, the buffer's last byte is the last byte
    ///   typed.
    func ask(_ prompt: String, isHidden: Bool, into buffer: inout Secret) -> Outcome {
        let failure = vault_turn_ask(isHidden ? 1 : 0)
        guard failure == 0 else { return .failed(-failure) }
        show(prompt)
        let outcome = read(into: &buffer, isOneLine: true)
        vault_turn_work()
        if case .line = outcome, !isHidden { return notedSignal() ?? outcome }
        show("\n")
        return notedSignal() ?? outcome
    }

    /// Shows a prompt and reads lines until the end of input, without showing them.
    ///
    /// Anything typed before the prompt is discarded. Lines are stored in the buffer with their line endings; if the
    /// text is longer than the buffer, the buffer's last byte is the last byte typed.
    func askForText(_ prompt: String, into buffer: inout Secret) -> Outcome {
        let failure = vault_turn_ask(1)
        guard failure == 0 else { return .failed(-failure) }
        show(prompt)
        let outcome = read(into: &buffer, isOneLine: false)
        vault_turn_work()
        return notedSignal() ?? outcome
    }

    private func read(into buffer: inout Secret, isOneLine: Bool) -> Outcome {
        var count = 0
        while true {
            var ready = [
                pollfd(fd: terminal, events: Int16(POLLIN), revents: 0),
                pollfd(fd: notes.reading, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&ready, 2, -1) < 0 {
                if errno == EINTR { continue }
                return .failed(errno)
            }
            if let signal = notedSignal() { return signal }
            let position = min(count, buffer.count - 1)
            let got = buffer.withUnsafeMutableBytes { Glibc.read(terminal, $0.baseAddress?.advanced(by: position), 1) }
            if got < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                return .failed(errno)
            }
            if got == 0 { return count == 0 ? .end : .line(count) }
            if isOneLine, buffer.withUnsafeBytes({ $0[position] }) == 0x0A { return .line(count) }
            count += 1
        }
    }

    func notedSignal() -> Outcome? {
        var signal: UInt8 = 0
        return Glibc.read(notes.reading, &signal, 1) == 1 ? .signal(Int32(signal)) : nil
    }

    func show(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            // If a prompt cannot be shown, reading reports the problem with the terminal.
            _ = Descriptor.writeAll(terminal, UnsafeRawBufferPointer(utf8))
        }
    }
}
