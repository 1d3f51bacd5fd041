internal import CUserBus
internal import Glibc
internal import VaultExchange
internal import VaultFmt

/// Reads the values of a bus message within limits. libsystemd has already checked that the message is well-formed.
struct MessageReader {
    private let message: UnsafeMutableRawPointer
    private let most: Int
    private var values = 0
    private var textBytes = 0
    private var secretBytes = 0

    /// - `most`: The maximum number of values to read, including nested ones.
    init(_ message: UnsafeMutableRawPointer, most: Int) { (self.message, self.most) = (message, most) }

    /// Returns all values of the message. Throws `LimitsExceeded` if a limit is exceeded.
    mutating func all() throws(BusError) -> [BusValue] { try rest(depth: 0) }

    /// Returns the remaining values in the current container.
    private mutating func rest(depth: Int) throws(BusError) -> [BusValue] {
        guard depth <= BusLimits.depth else {
            throw .limit("the call is too deep; at most \(BusLimits.depth) levels are read")
        }
        var all: [BusValue] = []
        var type: CChar = 0
        var contents: UnsafePointer<CChar>?
        while true {
            let result = user_bus_peek(message, &type, &contents)
            guard result >= 0 else { throw Self.malformed }
            guard result > 0 else { return all }
            values += 1
            guard values <= most else {
                throw .limit("the call has too many values; at most \(most) are read")
            }
            // The text is copied, because the next call into libsystemd changes it.
            let inner = contents.map { String(cString: $0) } ?? ""
            all.append(try value(type, inner, depth: depth))
        }
    }

    private mutating func value(_ type: CChar, _ contents: String, depth: Int) throws(BusError) -> BusValue {
        switch UnicodeScalar(UInt8(bitPattern: type)) {
        case "s": return .text(try text(type))
        case "o": return .path(try text(type))
        case "b":
            var value: CInt = 0
            guard user_bus_read(message, type, &value) > 0 else { throw Self.malformed }
            return .boolean(value != 0)
        case "t":
            var value: UInt64 = 0
            guard user_bus_read(message, type, &value) > 0 else { throw Self.malformed }
            return .number(value)
        case "a" where contents == "y": return .bytes(try bytes())
        case "a": return .array(contents, try inside(type, contents, depth))
        case "r": return .structure(try inside(type, contents, depth))
        case "v":
            let parts = try inside(type, contents, depth)
            guard parts.count == 1 else { throw Self.malformed }
            return .variant(parts[0])
        case "e":
            let parts = try inside(type, contents, depth)
            guard parts.count == 2 else { throw Self.malformed }
            return .entry(parts[0], parts[1])
        default:
            let skipped = [type, 0]
            guard user_bus_skip(message, skipped) > 0 else { throw Self.malformed }
            return .other
        }
    }

    private mutating func inside(_ type: CChar, _ contents: String, _ depth: Int) throws(BusError) -> [BusValue] {
        guard user_bus_enter(message, type, contents) > 0 else { throw Self.malformed }
        let values = try rest(depth: depth + 1)
        guard user_bus_exit(message) >= 0 else { throw Self.malformed }
        return values
    }

    private mutating func text(_ type: CChar) throws(BusError) -> String {
        var start: UnsafePointer<CChar>?
        guard user_bus_read(message, type, &start) > 0, let start else { throw Self.malformed }
        // Check the length before copying anything.
        textBytes += strnlen(start, BusLimits.text + 1)
        guard textBytes <= BusLimits.text else {
            throw .limit("the call has too much text; at most \(BusLimits.text) bytes are read")
        }
        guard let text = String(validatingCString: start) else { throw Self.malformed }
        return text
    }

    private mutating func bytes() throws(BusError) -> SharedSecret {
        var start: UnsafeRawPointer?
        var size = 0
        guard user_bus_read_bytes(message, &start, &size) >= 0 else { throw Self.malformed }
        guard size <= BusLimits.encryptedSecret - min(secretBytes, BusLimits.encryptedSecret) else {
            throw .limit("a secret can have at most \(BusLimits.secret) bytes")
        }
        secretBytes += size
        return SharedSecret(Secret(copying: UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : size)))
    }

    private static let malformed = BusError.arguments("the message is malformed")
}
