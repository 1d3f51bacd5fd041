internal import Foundation
internal import Synchronization
internal import VaultLocal

/// What these APIs say to a person: what was made on first use, and why a call failed.
package enum Notices {
    private struct State {
        var handler: (@Sendable (String) -> Void)?
        var last = ""
        /// To be said once no lock is held.
        var waiting: [String] = []
    }

    private static let state = Mutex(State())
    private static let failureKey = "org.vaultfmt.keychain.failure"

    /// Who gets each line; nil for standard error.
    package static var handler: (@Sendable (String) -> Void)? {
        get { state.withLock { $0.handler } }
        set { state.withLock { $0.handler = newValue } }
    }

    /// Says one line, in which names are escaped. On standard error a line that repeats the one before is said once.
    package static func say(_ line: String) {
        let (handler, isRepeated) = state.withLock { state in
            defer { state.last = line }
            return (state.handler, state.last == line)
        }
        if let handler { return handler(line) }
        guard !isRepeated else { return }
        FileHandle.standardError.write(Data("vaultfmt: \(line)\n".utf8))
    }

    /// Keeps a line until `sayWaiting`: whoever is told may use the vault, which its caller holds.
    static func wait(_ line: String) { state.withLock { $0.waiting.append(line) } }

    /// Says what waits.
    package static func sayWaiting() {
        let lines = state.withLock { state in
            defer { state.waiting.removeAll() }
            return state.waiting
        }
        lines.forEach(say)
    }

    /// Notes why a call of this thread failed, and says so unless that is an answer like any other.
    package static func report(_ failure: KeychainFailure, vault: String?) {
        let place = vault.map { "the vault \(TerminalText.path($0)): " } ?? ""
        let line = "\(place)\(TerminalText.singleLine(failure.reason)) (\(failure.status))"
        Thread.current.threadDictionary[failureKey] = line
        if !failure.isPlainOutcome { say(line) }
    }

    /// Why the last call of this thread that failed did so.
    package static var lastFailure: String? { Thread.current.threadDictionary[failureKey] as? String }
}
