internal import Glibc

/// The clock for lifetimes, which goes on while the machine is suspended and which nobody can set back.
package enum AgentClock {
    /// The milliseconds since the machine was started.
    package static func now() -> UInt64 {
        var time = timespec()
        guard clock_gettime(CLOCK_BOOTTIME, &time) == 0 else { return 0 }
        return UInt64(clamping: time.tv_sec) &* 1000 &+ UInt64(clamping: time.tv_nsec) / 1_000_000
    }

    /// The seconds since 1970, for certificates and for what is shown to people.
    package static func calendarTime() -> UInt64 { UInt64(clamping: time(nil)) }
}
