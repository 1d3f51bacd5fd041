internal import CUserBus
internal import VaultAgent

/// A connection to the system bus, for signals and for asynchronous calls.
final class SystemBus {
    private let bus: UnsafeMutableRawPointer
    /// The number of consecutive failures.
    private var failures = 0

    /// The name of the bus itself.
    static let daemon = "org.freedesktop.DBus"

    /// Throws `unavailable` without libsystemd or a bus.
    init() throws(AgentError) {
        try BusConnection.load(for: "locking with the session")
        var opened: UnsafeMutableRawPointer?
        let failure = user_bus_open_system(&opened)
        guard failure >= 0, let opened else {
            throw AgentError(
                .unavailable,
                "cannot connect to the system bus: \(BusConnection.text(failure)); locking with the session needs D-Bus "
                    + "and systemd-logind")
        }
        bus = opened
    }

    deinit { user_bus_close(bus) }

    /// The descriptor and events to wait for, as for poll(2).
    var wait: (descriptor: Int32, events: Int16) {
        (user_bus_descriptor(bus), Int16(truncatingIfNeeded: max(user_bus_events(bus), 0)))
    }

    /// Returns the next message without waiting.
    func next() -> BusConnection.Received {
        var message: UnsafeMutableRawPointer?
        let result = user_bus_process(bus, &message)
        guard result < 0 else {
            failures = 0
            if let message { return .message(BusMessage(message)) }
            return result > 0 ? .other : .nothing
        }
        // If libsystemd fails for one message, that message is gone. A failure that keeps repeating blocks all other
        // messages.
        failures += 1
        return user_bus_is_open(bus) != 0 && failures < BusLimits.busFailures ? .other : .end
    }

    /// Calls a method. Returns the number of the call, which identifies its reply; nil if the call cannot be sent.
    func call(_ method: BusMethod, _ arguments: [String]) -> UInt64? {
        var made: UnsafeMutableRawPointer?
        let result = user_bus_new_call(bus, &made, method.owner, method.path, method.interface, method.member)
        guard result >= 0, let made else { return nil }
        let message = BusMessage(made)
        var number: UInt64 = 0
        let isSent = withExtendedLifetime(message) {
            MessageWriter(made).append(arguments.map { .text($0) }) && user_bus_send_call(bus, made, &number) >= 0
        }
        return isSent ? number : nil
    }
}

/// A method of an object on the bus.
struct BusMethod: Equatable {
    /// The name of the connection that owns the object.
    let owner: String
    let path: String
    let interface: String
    let member: String
}

extension BusMessage {
    /// The number of the call that this message replies to; nil if it is not a reply.
    var repliedCall: UInt64? {
        var number: UInt64 = 0
        return user_bus_message_call(pointer, &number) >= 0 ? number : nil
    }

    var isError: Bool { user_bus_message_type(pointer) == USER_BUS_ERROR }

    /// Returns a copy of the descriptor in the message, which the caller must close; nil if there is none.
    func takeDescriptor() -> Int32? {
        let descriptor = user_bus_read_descriptor(pointer)
        return descriptor >= 0 ? descriptor : nil
    }
}
