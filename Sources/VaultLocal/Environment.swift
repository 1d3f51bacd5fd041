internal import Glibc
package import VaultFmt

/// Environment variables.
package enum Environment {
    /// The value, or nil where it is not set. Never for secrets: a `String` is not wiped.
    package static func value(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        return String(cString: value)
    }

    /// The value, or nil where it is not set or empty.
    package static func nonEmpty(_ name: String) -> String? {
        guard let value = value(name), !value.isEmpty else { return nil }
        return value
    }

    /// A value that must be text, or nil where it is not set or empty. Throws `invalidArgument`.
    package static func text(_ name: String) throws(VaultError) -> String? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        guard let text = String(validatingCString: value) else {
            throw VaultError(.invalidArgument, "\(name) is not UTF-8; set it again")
        }
        return text
    }

    /// A value that is secret, copied into wiped memory. The environment itself keeps it for as long as the process
    /// lives.
    package static func secret(_ name: String) -> Secret? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        return Secret(copying: UnsafeRawBufferPointer(start: value, count: strlen(value)))
    }
}
