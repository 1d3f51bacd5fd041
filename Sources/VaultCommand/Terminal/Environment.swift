import Glibc
import VaultFmt

/// Environment variables.
enum Environment {
    /// The value, or nil where it is not set. Never for secrets: a `String` is not wiped.
    static func value(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        return String(cString: value)
    }

    /// The value, or nil where it is not set or empty.
    static func nonEmpty(_ name: String) -> String? {
        guard let value = value(name), !value.isEmpty else { return nil }
        return value
    }

    /// A value that must be text, or nil where it is not set or empty.
    static func text(_ name: String) throws(CommandFailure) -> String? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        guard let text = String(validatingCString: value) else { throw CommandFailure(.usage, "\(name) is not UTF-8; set it anew") }
        return text
    }

    /// A value that is secret, copied into wiped memory. The environment itself keeps it for as long as the process lives.
    static func secret(_ name: String) -> Secret? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        return Secret(copying: UnsafeRawBufferPointer(start: value, count: strlen(value)))
    }
}
