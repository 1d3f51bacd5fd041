internal import Foundation
internal import Glibc
internal import VaultLocal
internal import VaultStore

/// The notices that these APIs show to the user about files created on first use and about failed calls.
package enum Notices {
    private struct State {
        var handler: (@Sendable (String) -> Void)?
        var last = ""
        /// Lines to be written once no lock is held.
        var waiting: [String] = []
    }

    private static let state = Guarded(State())
    private static let failureKey = "org.vaultfmt.keychain.failure"

    /// The handler for each line; nil for standard error.
    package static var handler: (@Sendable (String) -> Void)? {
        get { state.withLock { $0.handler } }
        set { state.withLock { $0.handler = newValue } }
    }

    /// Writes one line, in which names are escaped. On standard error, a line identical to the previous one is not
    /// repeated.
    package static func say(_ line: String) {
        let (handler, isRepeated) = state.withLock { state in
            defer { state.last = line }
            return (state.handler, state.last == line)
        }
        if let handler { return handler(line) }
        guard !isRepeated else { return }
        write(Array("vaultfmt: \(line)\n".utf8))
    }

    /// Writes to standard error, which can be closed, full, or a pipe without a reader. In that case, the notice is
    /// lost, but SIGPIPE does not kill the program; the handler for that signal belongs to the program.
    private static func write(_ bytes: [UInt8]) {
        var (signal, before) = (sigset_t(), sigset_t())
        sigemptyset(&signal)
        sigaddset(&signal, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signal, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
            let failure = errno
            if written > 0 { rest = rest.dropFirst(written) }
            if written < 0, failure == EPIPE {
                var atOnce = timespec()
                while sigtimedwait(&signal, nil, &atOnce) < 0 && errno == EINTR {}
            }
            guard written > 0 || (written < 0 && failure == EINTR) else { return }
        }
    }

    /// Holds a line back until `sayWaiting`: the handler may use the vault, which the caller has locked.
    static func wait(_ line: String) { state.withLock { $0.waiting.append(line) } }

    /// Writes the lines held back.
    package static func sayWaiting() {
        let lines = state.withLock { state in
            defer { state.waiting.removeAll() }
            return state.waiting
        }
        lines.forEach(say)
    }

    /// Records why a call on this thread failed, and writes a notice unless the failure is an ordinary outcome.
    package static func report(_ failure: KeychainFailure, vault: String?) {
        let place = vault.map { "the vault \(TerminalText.path($0)): " } ?? ""
        let line = "\(place)\(TerminalText.singleLine(failure.reason)) (\(failure.status))"
        Thread.current.threadDictionary[failureKey] = line
        if !failure.isPlainOutcome { say(line) }
    }

    /// The reason for the last failed call on this thread.
    package static var lastFailure: String? { Thread.current.threadDictionary[failureKey] as? String }
}
