internal import CVaultShim
internal import Glibc

/// The process that made something which a child must not use.
package struct OwnProcess: Sendable {
    private let number = vault_process()

    package init() {}

    /// Whether this is that process.
    package var isThis: Bool { number == vault_process() }

    /// Throws `otherProcess` in a child.
    package func require() throws(VaultError) {
        guard isThis else { throw .otherProcess }
    }
}

/// The thread that runs.
package enum ThisThread {
    /// No other thread of this process has this number, or had it before.
    package static var number: UInt64 { vault_thread() }
}

/// Keeps forks out of calls: a fork in one thread waits until no other thread of a C program is inside the library.
/// Otherwise a lock of the Swift runtime that such a thread holds would stay locked in the child.
package enum ForkGate {
    /// Runs a call of a C program.
    package static func inside<R>(_ body: () throws -> R) rethrows -> R {
        vault_enter()
        defer { vault_leave() }
        return try body()
    }

    /// Runs a long wait, or a function of the caller's, for which no fork waits.
    package static func outside<R>(_ body: () -> R) -> R {
        let entered = vault_step_out()
        defer { vault_step_in(entered) }
        return body()
    }
}

/// Time that no one sets.
enum Clock {
    static var seconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
