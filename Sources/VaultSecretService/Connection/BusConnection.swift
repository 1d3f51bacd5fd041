internal import CUserBus
internal import Glibc
package import VaultAgent
internal import VaultLocal

/// A connection to the user's bus.
package final class BusConnection {
    private let bus: UnsafeMutableRawPointer
    let name: String
    let replaces: Bool
    /// The number of consecutive failures.
    private var failures = 0
    /// The size of the replies that may still be waiting to be sent, in bytes.
    private var unsent = 0

    private static let daemon = "org.freedesktop.DBus"

    /// Connects to the bus before anyone is asked for a passphrase. The service's name is requested later, once clients
    /// can be served.
    ///
    /// - `name`: The service's name on the bus.
    /// - `replaces`: Whether to take over the name from another service that allows it.
    /// - Throws: `unavailable` without libsystemd or a bus; `busy` if another service owns the name.
    package init(for name: String, replaces: Bool) throws(AgentError) {
        try Self.load(for: "the Secret Service")
        var opened: UnsafeMutableRawPointer?
        let failure = user_bus_open(&opened)
        guard failure >= 0, let opened else {
            throw AgentError(
                .unavailable,
                "cannot connect to the session's bus: \(Self.text(failure)); set DBUS_SESSION_BUS_ADDRESS, or start "
                    + "the agent with 'dbus-run-session'")
        }
        bus = opened
        self.name = name
        self.replaces = replaces
        if !replaces, let owner = credentials(of: name) { throw Self.refusal(-EEXIST, name, owner, replaces) }
    }

    /// Requests the service's name.
    ///
    /// - Throws: `busy` if another service owns the name; `unavailable` if the bus rejects the request.
    func takeName() throws(AgentError) {
        let result = user_bus_request_name(bus, name, replaces ? 1 : 0)
        guard result >= 0 else { throw Self.refusal(result, name, credentials(of: name), replaces) }
    }

    deinit { user_bus_close(bus) }

    /// Loads libsystemd for a purpose, which is named in errors. Throws `unavailable` if the library is not installed.
    static func load(for purpose: String) throws(AgentError) {
        var reason = [CChar](repeating: 0, count: 256)
        switch user_bus_load(&reason, reason.count) {
        case USER_BUS_LOADED: return
        case USER_BUS_FAILED:
            let words = String(decoding: reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw AgentError(.unavailable, "libsystemd cannot be loaded: \(TerminalText.singleLine(words))")
        default:
            throw AgentError(
                .unavailable,
                "\(purpose) needs a library that is not installed; install the Debian package 'libsystemd0'")
        }
    }

    private static func refusal(
        _ failure: Int32, _ name: String, _ owner: (user: UInt32, process: Int32)?, _ replaces: Bool
    ) -> AgentError {
        guard failure == -EEXIST else {
            return AgentError(.unavailable, "cannot take the name \(name) on the bus: \(text(failure))")
        }
        let who = owner.map { "\(TerminalText.quoted(AgentPeer.program(of: $0.process))) (process \($0.process))" }
        let advice =
            replaces
            ? "it does not let others replace it, which gnome-keyring never does; stop it first"
            : "stop it first; --replace helps only if it lets others replace it, which gnome-keyring never does"
        return AgentError(.busy, "\(who ?? "another service") has the name \(name) on the bus: \(advice)")
    }

    static func text(_ failure: Int32) -> String {
        guard let text = strerror(failure.magnitude == 0 ? 0 : -failure) else { return "error \(failure)" }
        return String(cString: text)
    }

    // MARK: receiving

    /// The descriptor and events to wait for, as for poll(2).
    var wait: (descriptor: Int32, events: Int16) {
        (user_bus_descriptor(bus), isCongested ? Int16(POLLOUT) : events)
    }

    private var events: Int16 { Int16(truncatingIfNeeded: max(user_bus_events(bus), 0)) }

    /// True if too much data is waiting to be sent, so that no more calls should be read. libsystemd limits the number
    /// of queued messages, but not their size.
    private var isCongested: Bool { unsent > BusLimits.unsent && events & Int16(POLLOUT) != 0 }

    /// True if the bus accepts data at the moment.
    private var canSend: Bool {
        var polled = pollfd(fd: user_bus_descriptor(bus), events: Int16(POLLOUT), revents: 0)
        return poll(&polled, 1, 0) > 0
    }

    /// The result of `next`.
    enum Received {
        case message(BusMessage)
        /// Something that libsystemd has handled itself.
        case other
        case nothing
        /// The connection was closed.
        case end
    }

    /// Returns the next message without waiting.
    func next() -> Received {
        if events & Int16(POLLOUT) == 0 { unsent = 0 }
        // Send what is queued before reading anything else, as long as the bus accepts it.
        guard !isCongested || canSend else { return .nothing }
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

    /// Returns the user and the process of a connection, as reported by the bus; nil if the connection is gone, or if the
    /// bus does not report them.
    func credentials(of name: String) -> (user: UInt32, process: Int32)? {
        var user: UInt32 = 0
        var process: Int32 = 0
        guard user_bus_credentials(bus, name, &user, &process) >= 0 else { return nil }
        return (user, process)
    }

    // MARK: sending

    /// Replies to a call, unless the sender does not expect a reply.
    func reply(to call: BusMessage, _ answer: Result<[BusValue], BusError>) {
        guard call.expectsReply else { return }
        if case .success(let values) = answer {
            var made: UnsafeMutableRawPointer?
            if user_bus_new_return(call.pointer, &made) >= 0, let made, send(BusMessage(made), values) { return }
        }
        let error: BusError
        if case .failure(let failure) = answer { error = failure } else { error = .failed("the answer cannot be sent") }
        var made: UnsafeMutableRawPointer?
        guard user_bus_new_error(call.pointer, &made, error.name, error.message) >= 0, let made else { return }
        // If the client is gone, it does not need the reply.
        _ = send(BusMessage(made), [])
    }

    /// The possible replies to a call that is answered later. They are kept in place of the call, because the call may
    /// be large.
    struct HeldCall {
        fileprivate let success: BusMessage
        fileprivate let refusal: BusMessage
    }

    /// Prepares the replies to a call that will be answered later; returns nil if the sender does not expect a reply.
    func hold(_ call: BusMessage, refusal: BusError) -> HeldCall? {
        var (success, failure): (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?)
        guard call.expectsReply, user_bus_new_return(call.pointer, &success) >= 0, let success else { return nil }
        let answer = BusMessage(success)
        guard user_bus_new_error(call.pointer, &failure, refusal.name, refusal.message) >= 0, let failure else {
            return nil
        }
        return HeldCall(success: answer, refusal: BusMessage(failure))
    }

    /// Answers a call that was held; nil values refuse the call.
    func reply(to call: HeldCall, _ values: [BusValue]?) {
        if let values, send(call.success, values) { return }
        _ = send(call.refusal, [])
    }

    func send(_ signal: BusSignal) {
        var made: UnsafeMutableRawPointer?
        guard user_bus_new_signal(bus, &made, signal.path, signal.interface, signal.member) >= 0, let made else {
            return
        }
        let message = BusMessage(made)
        if let receiver = signal.receiver {
            guard withExtendedLifetime(message, { user_bus_set_destination(made, receiver) }) >= 0 else { return }
        }
        _ = send(message, signal.arguments)
    }

    /// Starts or stops watching for the end of a connection.
    func watch(_ name: String, _ isWatched: Bool) {
        let rule =
            "type='signal',sender='\(Self.daemon)',interface='\(Self.daemon)',member='NameOwnerChanged',arg0='\(name)'"
        var made: UnsafeMutableRawPointer?
        let result = user_bus_new_call(
            bus, &made, Self.daemon, "/org/freedesktop/DBus", Self.daemon, isWatched ? "AddMatch" : "RemoveMatch")
        guard result >= 0, let made else { return }
        _ = send(BusMessage(made), [.text(rule)])
    }

    /// Appends the values to a message and sends it; returns false if that fails.
    private func send(_ message: BusMessage, _ values: [BusValue]) -> Bool {
        // Without the extended lifetime, Swift could free the message as soon as the pointer has been read.
        unsent = min(unsent, BusLimits.unsent) + values.reduce(BusLimits.overhead) { $0 + $1.size }
        return withExtendedLifetime(message) {
            MessageWriter(message.pointer).append(values) && user_bus_send(bus, message.pointer) >= 0
        }
    }

    /// If a message reports the end of a connection, returns that connection's name. Only messages from the bus itself
    /// count.
    static func ended(_ message: BusMessage) -> String? {
        guard message.kind == .signal, message.sender == daemon, message.member == "NameOwnerChanged" else {
            return nil
        }
        do throws(BusError) {
            let values = try message.values()
            guard values.count == 3, case .text(let name) = values[0], case .text("") = values[2] else { return nil }
            return name
        } catch { return nil }
    }
}

/// A message, whose memory is erased when it is freed.
final class BusMessage {
    enum Kind {
        case call, signal, other
    }

    let pointer: UnsafeMutableRawPointer

    /// Takes ownership of a message.
    init(_ pointer: UnsafeMutableRawPointer) {
        self.pointer = pointer
        // This cannot fail for a valid message.
        _ = user_bus_message_sensitive(pointer)
    }

    deinit { user_bus_message_free(pointer) }

    var kind: Kind {
        switch user_bus_message_type(pointer) {
        case USER_BUS_CALL: .call
        case USER_BUS_SIGNAL: .signal
        default: .other
        }
    }

    var expectsReply: Bool { user_bus_message_expects_reply(pointer) > 0 }
    var path: String { Self.text(user_bus_message_path(pointer)) }
    var interface: String { Self.text(user_bus_message_interface(pointer)) }
    var member: String { Self.text(user_bus_message_member(pointer)) }
    var sender: String { Self.text(user_bus_message_sender(pointer)) }

    /// - `most`: The maximum number of values to read, including nested ones.
    func values(most: Int = BusLimits.values) throws(BusError) -> [BusValue] {
        defer { withExtendedLifetime(self) {} }
        var reader = MessageReader(pointer, most: most)
        return try reader.all()
    }

    private static func text(_ start: UnsafePointer<CChar>?) -> String { start.map { String(cString: $0) } ?? "" }
}
