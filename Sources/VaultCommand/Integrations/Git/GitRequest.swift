import VaultFmt

/// A request that git writes to a credential helper's standard input (git-credential(1), "INPUT/OUTPUT FORMAT"): lines
/// of the form `name=value`, ended by an empty line. Unknown attributes are ignored, as the protocol requires.
struct GitRequest: ~Copyable {
    private(set) var networkProtocol: String?
    private(set) var host: String?
    private(set) var path: String?
    private(set) var username: String?
    private(set) var password: Secret?
    private(set) var refreshToken: Secret?
    /// The time at which the credential expires, in seconds since 1970.
    private(set) var expiry: String?
    /// The scheme of `credential`, such as "Bearer".
    private(set) var authenticationType: String?
    /// The value of the `Authorization` header after the scheme.
    private(set) var credential: Secret?
    /// True if the credential is short-lived and should not be stored.
    private(set) var isEphemeral = false
    /// The schemes that the server offers, in lower case.
    private(set) var offeredSchemes: [String] = []
    private var capabilities: [String] = []
    /// The reason why the request is unusable, or nil if the request is usable. A field that is present but malformed
    /// must not be treated as missing: a missing field matches any value, so the wrong password would be returned or
    /// erased.
    private(set) var flaw: String?
    private var seen: Set<String> = []

    /// True if git understands `authtype` and `credential`.
    var knowsAuthenticationTypes: Bool { capabilities.contains("authtype") }

    init(_ input: borrowing Secret) throws {
        let lines = input.withUnsafeBytes { bytes in Self.lines(bytes) }
        for line in lines {
            guard let name = input.withUnsafeBytes({ String(validating: $0[line.name], as: UTF8.self) }) else {
                continue
            }
            guard let range = line.value else {
                if Self.fields.contains(name) { flaw = flaw ?? "a '\(name)' without a value" }
                continue
            }
            note(name, input, range)
            let line = (name: line.name, value: range)
            switch name {
            case "password": password = Self.secret(input, line.value)
            case "oauth_refresh_token": refreshToken = Self.secret(input, line.value)
            case "credential": credential = Self.secret(input, line.value)
            default:
                // All values that are used, except lists, have been checked to be UTF-8.
                take(name, input.withUnsafeBytes { String(decoding: $0[line.value], as: UTF8.self) })
            }
        }
    }

    /// The fields that select a password and determine what happens to it; each may occur only once. `url` is meant for
    /// git's own commands and is not parsed here.
    private static let fields: Set = [
        "protocol", "host", "path", "username", "password", "password_expiry_utc", "oauth_refresh_token", "authtype",
        "credential",
        "ephemeral", "url",
    ]
    private static let binary: Set = ["password", "oauth_refresh_token", "credential"]

    private mutating func note(_ name: String, _ input: borrowing Secret, _ range: Range<Int>) {
        guard Self.fields.contains(name), flaw == nil else { return }
        let isText = input.withUnsafeBytes { String(validating: $0[range], as: UTF8.self) != nil }
        if name == "url" {
            flaw = "'url'"
        } else if !seen.insert(name).inserted {
            flaw = "'\(name)' twice"
        } else if !isText && !Self.binary.contains(name) {
            flaw = "a '\(name)' that is not UTF-8"
        } else if input.withUnsafeBytes({ $0[range].contains(0) }) {
            flaw = "a '\(name)' with a zero byte"
        }
    }

    private mutating func take(_ name: String, _ value: String) {
        switch name {
        case "protocol": networkProtocol = value
        case "host": host = value
        case "path": path = value
        case "username": username = value
        case "password_expiry_utc":
            expiry = value.isEmpty || !value.allSatisfy { $0.isASCII && $0.isNumber } ? nil : value
        case "authtype": authenticationType = value.isEmpty ? nil : value
        case "ephemeral": isEphemeral = ["1", "true", "yes", "on"].contains(value.lowercased())
        case "capability[]": Self.add(value, to: &capabilities)
        case "wwwauth[]": Self.add(value.prefix { $0 != " " }.lowercased(), to: &offeredSchemes)
        default: break
        }
    }

    /// Adds a value to a list; an empty value clears the list.
    private static func add(_ value: String, to list: inout [String]) {
        if value.isEmpty { list = [] } else { list.append(value) }
    }

    private static func secret(_ input: borrowing Secret, _ range: Range<Int>) -> Secret {
        input.withUnsafeBytes { Secret(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// A line without "=" has no value.
    private typealias Line = (name: Range<Int>, value: Range<Int>?)

    private static func lines(_ bytes: UnsafeRawBufferPointer) -> [Line] {
        var lines: [Line] = []
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
            if end == start { break }
            let sign = bytes[start..<end].firstIndex(of: UInt8(ascii: "="))
            lines.append((start..<(sign ?? end), sign.map { $0 + 1..<end }))
            start = end + 1
        }
        return lines
    }
}
