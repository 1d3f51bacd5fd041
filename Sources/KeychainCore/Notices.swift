internal import Foundation
internal import Synchronization

/// What these APIs say to a person: what was made on first use, and why a call failed.
package enum Notices {
    private struct State {
        var handler: (@Sendable (String) -> Void)?
        var last = ""
    }

    private static let state = Mutex(State())
    private static let failureKey = "org.vaultfmt.keychain.failure"

    /// Who gets each line; nil for standard error.
    package static var handler: (@Sendable (String) -> Void)? {
        get { state.withLock { $0.handler } }
        set { state.withLock { $0.handler = newValue } }
    }

    /// Says one line. On standard error a line that repeats the one before is said once.
    package static func say(_ line: String) {
        let (handler, isRepeated) = state.withLock { state in
            defer { state.last = line }
            return (state.handler, state.last == line)
        }
        if let handler { return handler(line) }
        guard !isRepeated else { return }
        FileHandle.standardError.write(Data("vaultfmt: \(OneLine.escaped(line))\n".utf8))
    }

    /// Notes why a call of this thread failed, and says so unless that is an answer like any other.
    package static func report(_ failure: KeychainFailure, vault: String?) {
        let place = vault.map { "the vault \(OneLine.quoted($0)): " } ?? ""
        let line = "\(place)\(failure.reason) (\(failure.status))"
        Thread.current.threadDictionary[failureKey] = line
        if !failure.isPlainOutcome { say(line) }
    }

    /// Why the last call of this thread that failed did so.
    package static var lastFailure: String? { Thread.current.threadDictionary[failureKey] as? String }
}

/// Text for one line of a message: names come from files that other people wrote.
enum OneLine {
    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isHarmful) else { return text }
        var out = ""
        for scalar in text.unicodeScalars {
            if isHarmful(scalar) { out += "\\u{" + String(scalar.value, radix: 16) + "}" } else { out.unicodeScalars.append(scalar) }
        }
        return out
    }

    static func quoted(_ text: String) -> String { "'\(escaped(text))'" }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value < 0x20 }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }
}
