internal import CVaultShim
internal import Glibc

/// The process that created an object; child processes must not use that object.
package struct OwnProcess: Sendable {
    private let number = vault_process()

    package init() {}

    /// True if the current process is that process.
    package var isThis: Bool { number == vault_process() }

    /// Throws `otherProcess` in a child process.
    package func require() throws(VaultError) {
        guard isThis else { throw .otherProcess }
    }
}

/// The current thread.
package enum ThisThread {
    /// A number that no other thread of this process has or has had.
    package static var number: UInt64 { vault_thread() }
}

/// Prevents forks during calls: a fork in one thread waits until no other thread of a C program is inside the library.
/// Otherwise, a Swift runtime lock held by such a thread would remain locked in the child.
package enum ForkGate {
    /// Runs a call made by a C program.
    package static func inside<R>(_ body: () throws -> R) rethrows -> R {
        vault_enter()
        defer { vault_leave() }
        return try body()
    }

    /// Runs a helper thread's work, for which callers of the library wait. This function never waits for a fork,
    /// because the fork may be waiting for one of these callers.
    static func helping<R>(_ body: () -> R) -> R {
        vault_step_in(1)
        defer { _ = vault_step_out() }
        return body()
    }

    /// Runs a long wait, or one of the caller's functions, without making forks wait for it.
    package static func outside<R>(_ body: () -> R) -> R {
        let entered = vault_step_out()
        defer { vault_step_in(entered) }
        return body()
    }
}

/// A monotonic clock, which cannot be set.
enum Clock {
    static var seconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
