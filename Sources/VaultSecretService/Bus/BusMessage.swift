/// A client's connection to the bus.
package struct BusClient: Hashable, Sendable {
    /// The unique name, which the bus never reuses for another connection.
    package let name: String
    package let process: UInt32
    /// The name of the client's program, as the process reports it. The name is only for display, and no decision may
    /// depend on it.
    package let program: String

    package init(name: String, process: UInt32, program: String) {
        self.name = name
        self.process = process
        self.program = program
    }
}

/// A method call.
package struct BusCall: Sendable {
    package let client: BusClient
    package let path: String
    /// Empty if the call does not specify one.
    package let interface: String
    package let member: String
    package let arguments: [BusValue]

    package init(_ client: BusClient, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue]) {
        self.client = client
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
    }
}

/// A signal to all listening clients, or to a single one.
package struct BusSignal: Sendable {
    package let path: String
    package let interface: String
    package let member: String
    package let arguments: [BusValue]
    /// The unique name of the only receiver; nil if all clients receive the signal.
    package let receiver: String?

    init(_ path: String, _ interface: String, _ member: String, _ arguments: [BusValue], to receiver: String? = nil) {
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
        self.receiver = receiver
    }
}

/// The reason why a call fails: an error of D-Bus or of the Secret Service, with a one-line message that contains no
/// secrets.
package struct BusError: Error, Equatable, Sendable {
    package let name: String
    package let message: String

    package init(_ name: String, _ message: String) {
        self.name = name
        self.message = message
    }
}

extension BusError {
    static func isLocked(_ message: String = "the vault is locked") -> BusError {
        BusError("org.freedesktop.Secret.Error.IsLocked", message)
    }
    static let noSession = BusError("org.freedesktop.Secret.Error.NoSession", "there is no such session")
    static func noObject(_ message: String = "there is no such object") -> BusError {
        BusError("org.freedesktop.Secret.Error.NoSuchObject", message)
    }
    static let noMethod = BusError("org.freedesktop.DBus.Error.UnknownMethod", "the object has no such method")
    static let noProperty = BusError("org.freedesktop.DBus.Error.UnknownProperty", "the object has no such property")
    static let readOnlyProperty = BusError(
        "org.freedesktop.DBus.Error.PropertyReadOnly", "the property cannot be changed")
    package static func arguments(_ message: String) -> BusError {
        BusError("org.freedesktop.DBus.Error.InvalidArgs", message)
    }
    static func notSupported(_ message: String) -> BusError {
        BusError("org.freedesktop.DBus.Error.NotSupported", message)
    }
    package static func limit(_ message: String) -> BusError {
        BusError("org.freedesktop.DBus.Error.LimitsExceeded", message)
    }
    static func denied(_ message: String) -> BusError {
        BusError("org.freedesktop.DBus.Error.AccessDenied", message)
    }
    static func failed(_ message: String) -> BusError { BusError("org.freedesktop.DBus.Error.Failed", message) }
}
