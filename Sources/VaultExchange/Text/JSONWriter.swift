import VaultFmt
import VaultLocal

/// Writes JSON (RFC 8259) piece by piece, indented by two spaces, into an `Output`: the output is not collected in
/// memory, so a listing can have any length, and a value can be secret.
///
/// Control characters, invisible characters and characters that change the text direction are written as `\uXXXX`,
/// which is exact for every reader and harmless on a terminal.
package struct JSONWriter: ~Copyable {
    private let output: Output
    private var depth = 0
    private var isFirst = true
    private var afterName = false
    private let isOnOneLine: Bool

    /// - `isOnOneLine`: Whether to omit line breaks and indentation.
    package init(_ output: Output, isOnOneLine: Bool = false) {
        self.output = output
        self.isOnOneLine = isOnOneLine
    }

    /// Writes an object; the closure writes its members.
    package mutating func object(_ members: (inout JSONWriter) throws -> Void) throws {
        try container("{", "}", members)
    }

    /// Writes an array; the closure writes its elements.
    package mutating func array(_ elements: (inout JSONWriter) throws -> Void) throws {
        try container("[", "]", elements)
    }

    /// Writes a member whose value is an object.
    package mutating func object(_ name: String, _ members: (inout JSONWriter) throws -> Void) throws {
        try self.name(name)
        try object(members)
    }

    /// Writes a member whose value is an array.
    package mutating func array(_ name: String, _ elements: (inout JSONWriter) throws -> Void) throws {
        try self.name(name)
        try array(elements)
    }

    /// Writes a member's name; its value must be written next.
    package mutating func name(_ name: String) throws {
        try separate()
        try quoted(name)
        try output.write(": ")
        afterName = true
    }

    package mutating func value(_ text: String) throws {
        try separate()
        try quoted(text)
    }

    package mutating func value(_ flag: Bool) throws {
        try separate()
        try output.write(flag ? "true" : "false")
    }

    package mutating func value(_ number: some BinaryInteger) throws {
        try separate()
        try output.write(String(number))
    }

    package mutating func null() throws {
        try separate()
        try output.write("null")
    }

    /// Writes bytes that are known to be UTF-8 as a string, without creating a `String`.
    package mutating func value(utf8 bytes: UnsafeRawBufferPointer) throws {
        try separate()
        try output.write(byte: 0x22)
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        while case .valid(let encoded) = parser.parseScalar(from: &iterator) { try scalar(encoded) }
        try output.write(byte: 0x22)
    }

    /// Writes bytes as a string in Base64 (RFC 4648, with padding).
    package mutating func value(base64 bytes: UnsafeRawBufferPointer) throws {
        try separate()
        try output.write(byte: 0x22)
        try output.write(base64: bytes)
        try output.write(byte: 0x22)
    }

    /// Writes a member whose value is text.
    package mutating func member(_ key: String, _ text: String) throws {
        try name(key)
        try value(text)
    }

    /// Writes a member whose value is a number.
    package mutating func member(_ key: String, _ number: some BinaryInteger) throws {
        try name(key)
        try value(number)
    }

    /// Writes a member whose value is true or false.
    package mutating func member(_ key: String, _ flag: Bool) throws {
        try name(key)
        try value(flag)
    }

    /// Ends the text with a newline and flushes it.
    package consuming func finish() throws {
        try output.write(byte: 0x0A)
        try output.flush()
    }

    private mutating func container(
        _ open: String, _ close: String, _ contents: (inout JSONWriter) throws -> Void
    ) throws {
        try separate()
        try output.write(open)
        depth += 1
        isFirst = true
        try contents(&self)
        depth -= 1
        if !isFirst { try newLine() }
        isFirst = false
        try output.write(close)
    }

    private mutating func separate() throws {
        if afterName {
            afterName = false
            return
        }
        if !isFirst { try output.write(byte: 0x2C) }
        if depth > 0 { try newLine() }
        isFirst = false
    }

    private func newLine() throws {
        guard !isOnOneLine else { return }
        try output.write(byte: 0x0A)
        for _ in 0..<depth { try output.write("  ") }
    }

    private func quoted(_ text: String) throws {
        try output.write(byte: 0x22)
        if text.utf8.allSatisfy(Self.isPlain) {
            try output.write(text)
        } else {
            for character in text.unicodeScalars { try scalar(Unicode.UTF8.encode(character)) }
        }
        try output.write(byte: 0x22)
    }

    /// Returns whether a byte is written unescaped.
    private static func isPlain(_ byte: UInt8) -> Bool { byte >= 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x5C }

    private func scalar(_ encoded: Unicode.UTF8.EncodedScalar?) throws {
        guard let encoded else { return }
        if encoded.count == 1, let byte = encoded.first, Self.isPlain(byte) {
            return try output.write(byte: byte)
        }
        let decoded = Unicode.UTF8.decode(encoded)
        switch decoded {
        case "\"": try output.write("\\\"")
        case "\\": try output.write("\\\\")
        case "\n": try output.write("\\n")
        case "\r": try output.write("\\r")
        case "\t": try output.write("\\t")
        case _ where TerminalText.isHarmful(decoded):
            for unit in Unicode.UTF16.encode(decoded) ?? .init() { try escape(unit) }
        default:
            for byte in encoded { try output.write(byte: byte) }
        }
    }

    private func escape(_ unit: UInt16) throws {
        try output.write("\\u")
        for shift in [12, 8, 4, 0] as [UInt16] {
            try output.write(byte: hexDigit(UInt8(truncatingIfNeeded: unit >> shift) & 15))
        }
    }

    private func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }
}

extension JSONWriter {
    /// Writes a member whose value is bytes in Base64.
    package mutating func member(_ key: String, base64 bytes: [UInt8]) throws {
        try name(key)
        try bytes.withUnsafeBytes { try value(base64: $0) }
    }

    /// Writes a member whose value is bytes in Base64, from memory that is wiped after use.
    package mutating func member(_ key: String, base64 bytes: UnsafeRawBufferPointer) throws {
        try name(key)
        try value(base64: bytes)
    }
}
