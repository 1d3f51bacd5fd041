import CTestSupport
import Foundation

/// Waiting for events, however long a busy machine needs.
enum Patience {
    /// How long a test waits for one event before it fails.
    static let limit: Duration = .seconds(Int(test_patience))

    /// Waits until the condition holds.
    /// - Throws: ``Failure`` if it does not hold within ``limit``.
    static func until(_ what: String, _ condition: () throws -> Bool) throws {
        let end = ContinuousClock.now + limit
        while try !condition() {
            guard ContinuousClock.now < end else { throw Failure("not within \(limit): \(what)") }
            usleep(5000)
        }
    }

    /// Waits until a process that is not a child has ended.
    static func untilEnd(of pid: pid_t) throws {
        try until("the end of process \(pid)") {
            guard let stat = FileManager.default.contents(atPath: "/proc/\(pid)/stat"), !stat.isEmpty else {
                return true
            }
            return String(decoding: stat, as: UTF8.self).split(separator: ")").last?.hasPrefix(" Z") == true
        }
    }
}
