internal import CVaultShim
internal import Glibc

/// A timer on the agent's clock that wakes a poll. The timeout of poll(2) stops while the machine is suspended.
struct BootTimer: ~Copyable {
    let descriptor: Int32

    init() throws(AgentError) {
        descriptor = vault_boot_timer()
        guard descriptor >= 0 else {
            throw AgentError(.system, "cannot create a timer: \(SystemText.error(-descriptor))")
        }
    }

    deinit { close(descriptor) }

    /// Sets when the timer expires, in milliseconds of the agent's clock; nil means never.
    func set(_ end: UInt64?) throws(AgentError) {
        // 0 would disable the timer.
        let result = vault_boot_timer_set(descriptor, end.map { max($0, 1) } ?? 0)
        guard result == 0 else { throw AgentError(.system, "cannot set a timer: \(SystemText.error(-result))") }
    }
}
