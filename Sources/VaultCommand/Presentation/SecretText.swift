import VaultFmt

/// What a secret may be shown as.
enum SecretText {
    /// Whether the bytes are UTF-8.
    static func isUTF8(_ secret: borrowing Secret) -> Bool {
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

    /// Whether the bytes are text that a terminal shows and does not obey: UTF-8 without controls but tab and line
    /// ends, and without marks that change the direction of writing.
    static func isPlain(_ secret: borrowing Secret) -> Bool {
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
    /// Writes a value to standard output, and nothing else; on a terminal a line end too, and what is not plain text
    /// only by `force`.
    static func deliver(_ value: borrowing Secret, force: Bool) throws {
        let isTerminal = Terminal.outputIsTerminal
        if isTerminal && !force && !SecretText.isPlain(value) {
            throw CommandFailure(.usage, "it is not plain text; send it to a file or a pipe, or show it with --force")
        }
        let output = Output.standard()
        try output.write(value)
        if isTerminal { try output.write(byte: 0x0A) }
        try output.flush()
    }

    /// Appends a secret; the buffer that it passes through is wiped.
    func write(_ secret: borrowing Secret) throws {
        try secret.withUnsafeBytes { bytes in try write(bytes) }
    }
}

extension JSONWriter {
    /// A member that is a secret.
    mutating func member(_ name: String, _ secret: borrowing Secret) throws {
        try self.name(name)
        try value(secret)
    }

    /// A secret: a string where it is UTF-8, else `{"base64": …}`.
    mutating func value(_ secret: borrowing Secret) throws {
        if SecretText.isUTF8(secret) {
            try secret.withUnsafeBytes { bytes in try value(utf8: bytes) }
        } else {
            try secret.withUnsafeBytes { bytes in
                try object { writer in try writer.member("base64", base64: bytes) }
            }
        }
    }
}
