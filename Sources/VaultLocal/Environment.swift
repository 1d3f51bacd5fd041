internal import Glibc
package import VaultFmt

/// Environment variables.
package enum Environment {
    /// Returns a variable's value, or nil if it is not set. This is never used for secrets, because a `String` is not
    /// wiped.
    package static func value(_ name: String) -> String? {
        guard let value = getenv(name) else { return nil }
        return String(cString: value)
    }

    /// Returns a variable's value, or nil if it is unset or empty.
    package static func nonEmpty(_ name: String) -> String? {
        guard let value = value(name), !value.isEmpty else { return nil }
        return value
    }

    /// Returns the value of a variable that must be UTF-8, or nil if it is unset or empty. Throws `invalidArgument`.
    package static func text(_ name: String) throws(VaultError) -> String? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        guard let text = String(validatingCString: value) else {
            throw VaultError(.invalidArgument, "\(name) is not UTF-8; set it again")
        }
        return text
    }

    /// Returns a secret value, copied into memory that is wiped after use. The environment itself holds the secret for
    /// the lifetime of the process.
    package static func secret(_ name: String) -> Secret? {
        guard let value = getenv(name), value[0] != 0 else { return nil }
        return Secret(copying: UnsafeRawBufferPointer(start: value, count: strlen(value)))
    }
}
