import Glibc
import Synchronization
import VaultExchange

/// The progress of a long operation, on standard error: shown only on a terminal, and only if the operation takes more
/// than a second.
package final class Progress: Sendable {
    private struct State {
        var done: UInt64?
        var total: UInt64?
        var isFinished = false
        var isShown = false
    }

    private let title: String
    private let unit: String?
    private let state = Mutex(State())

    /// - `title`: The operation, such as "verifying".
    /// - `unit`: The unit that is counted, such as "items"; nil if the amounts mean nothing to users.
    package init(_ title: String, of unit: String? = nil) {
        self.title = title
        self.unit = unit
        guard Terminal.errorIsTerminal else { return }
        Task.detached { [self] in
            // If the sleep is cut short, the line appears early, which is harmless.
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
            while show() {
                do { try await Task.sleep(for: .milliseconds(200)) } catch { return }
            }
        }
    }

    /// Shows a title while the work is in progress.
    package static func during<Result: ~Copyable>(_ title: String, _ work: () throws -> Result) rethrows -> Result {
        let progress = Progress(title)
        defer { progress.finish() }
        return try work()
    }

    /// Keeps the line clear while a message or a question is shown in the middle of the work.
    static func holding<Result: ~Copyable>(_ question: () throws -> Result) rethrows -> Result {
        let wasShown = line.withLock { line in
            defer { line = Line(holds: line.holds + 1, isShown: false) }
            return line.isShown
        }
        if wasShown { write("\r\u{1B}[K") }
        defer { line.withLock { $0.holds -= 1 } }
        return try question()
    }

    /// The line of the terminal on which all progress is shown.
    private struct Line {
        var holds = 0
        var isShown = false
    }

    private static let line = Mutex(Line())

    /// Reports how much of the total is done.
    package func update(_ done: UInt64, of total: UInt64) {
        state.withLock { ($0.done, $0.total) = (done, total) }
    }

    /// Reports how many units are done when the total is unknown.
    package func count(_ done: Int) {
        state.withLock { ($0.done, $0.total) = (UInt64(max(done, 0)), nil) }
    }

    /// Removes the line; nothing is shown afterwards.
    package func finish() {
        state.withLock { state in
            if state.isShown { Self.write("\r\u{1B}[K") }
            state.isShown = false
            state.isFinished = true
        }
    }

    private func show() -> Bool {
        state.withLock { state in
            guard !state.isFinished else { return false }
            // Never draws over another process's question.
            if TerminalTurn.isAnothers() { return true }
            let isHeld = Self.line.withLock { line in
                if line.holds == 0 { line.isShown = true }
                return line.holds > 0
            }
            guard !isHeld else { return true }
            state.isShown = true
            Self.write("\r\u{1B}[Kvaultfmt: " + Self.text(title, unit, done: state.done, of: state.total))
            return true
        }
    }

    /// Returns text such as "rotating 45 %, 450 of 1000 items …", with only the parts that are known.
    static func text(_ title: String, _ unit: String?, done: UInt64?, of total: UInt64?) -> String {
        guard let done else { return "\(title) …" }
        guard let total else { return "\(title) \(done)\(unit.map { " \($0)" } ?? "") …" }
        let share = total == 0 ? 1 : Double(min(done, total)) / Double(total)
        let count = unit.map { ", \(min(done, total)) of \(total) \($0)" } ?? ""
        return "\(title) \(Int(share * 100)) %\(count) …"
    }

    private static func write(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            // Progress is optional; the work continues without it.
            _ = Descriptor.writeAll(STDERR_FILENO, UnsafeRawBufferPointer(utf8))
        }
    }
}
