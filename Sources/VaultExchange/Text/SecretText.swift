package import VaultFmt

/// Checks how a secret may be shown, and writes it.
package enum SecretText {
    /// Returns whether the bytes are UTF-8.
    package static func isUTF8(_ secret: borrowing Secret) -> Bool {
        secret.withUnsafeBytes { bytes in
            var parser = Unicode.UTF8.ForwardParser()
            var iterator = bytes.makeIterator()
            while true {
                switch parser.parseScalar(from: &iterator) {
                case .valid: continue
                case .emptyInput: return true
                case .error: return false
                }
            }
        }
    }

    /// Returns whether the bytes are text that a terminal displays without interpreting any of it: UTF-8 without
    /// control characters except tabs and line endings, and without marks that change the text direction.
    package static func isPlain(_ secret: borrowing Secret) -> Bool {
        secret.withUnsafeBytes { bytes in
            var parser = Unicode.UTF8.ForwardParser()
            var iterator = bytes.makeIterator()
            while true {
                switch parser.parseScalar(from: &iterator) {
                case .valid(let encoded): if isCommand(Unicode.UTF8.decode(encoded)) { return false }
                case .emptyInput: return true
                case .error: return false
                }
            }
        }
    }

    private static func isCommand(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D: false
        case 0x00...0x1F, 0x7F...0x9F: true
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

extension Output {
    /// Appends a secret; the buffer is wiped after use.
    package func write(_ secret: borrowing Secret) throws {
        try secret.withUnsafeBytes { bytes in try write(bytes) }
    }
}

extension JSONWriter {
    /// Writes a member whose value is a secret.
    package mutating func member(_ name: String, _ secret: borrowing Secret) throws {
        try self.name(name)
        try value(secret)
    }

    /// Writes a secret as a string if it is UTF-8, otherwise as `{"base64": …}`.
    package mutating func value(_ secret: borrowing Secret) throws {
        if SecretText.isUTF8(secret) {
            try secret.withUnsafeBytes { bytes in try value(utf8: bytes) }
        } else {
            try secret.withUnsafeBytes { bytes in
                try object { writer in try writer.member("base64", base64: bytes) }
            }
        }
    }
}
