internal import Glibc

/// The clock for lifetimes. It keeps running while the machine is suspended, and cannot be set back.
package enum AgentClock {
    /// The number of milliseconds since the machine booted.
    package static func now() -> UInt64 {
        var time = timespec()
        guard clock_gettime(CLOCK_BOOTTIME, &time) == 0 else { return 0 }
        return UInt64(clamping: time.tv_sec) &* 1000 &+ UInt64(clamping: time.tv_nsec) / 1_000_000
    }

    /// The number of seconds since 1970, for checking certificates and for display.
    package static func calendarTime() -> UInt64 { UInt64(clamping: time(nil)) }
}
