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

/// Time that no one sets.
enum Clock {
    static var seconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
