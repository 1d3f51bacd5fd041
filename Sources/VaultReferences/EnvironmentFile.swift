import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// A file of environment variables in the form that shells, Docker and dotenv read: one NAME=VALUE per line, with or
/// without quotes, and comments. Nothing is expanded; `$` is literal.
enum EnvironmentFile {
    /// A variable in the file, and the number of its line.
    struct Variable {
        let name: String
        let value: SharedSecret
        let line: Int
    }

    private static let longest = 1 << 20

    /// Reads a file.
    static func variables(_ path: String) throws -> [Variable] {
        let text = try Descriptor.readFile(path, what: "environment file", limit: longest)
        return try variables(in: text, of: path)
    }

    /// Parses the contents of a file. Error messages include the number of a line but never its text.
    static func variables(in text: borrowing Secret, of path: String) throws -> [Variable] {
        try text.withUnsafeBytes { bytes in
            var reader = EnvironmentReader(bytes)
            var variables: [Variable] = []
            do throws(EnvironmentReader.Problem) {
                while let variable = try reader.next() { variables.append(variable) }
            } catch {
                throw CommandFailure(.usage, "\(TerminalText.path(path)), line \(error.line): \(error.text)")
            }
            return variables
        }
    }
}

/// A cursor over the bytes of an environment file.
private struct EnvironmentReader {
    struct Problem: Error {
        let line: Int
        let text: String
    }

    private let bytes: UnsafeRawBufferPointer
    private var at = 0
    private var line = 1

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { at = 3 }
    }

    /// Returns the next variable, or nil at the end.
    mutating func next() throws(Problem) -> EnvironmentFile.Variable? {
        skipBlankLinesAndComments()
        guard at < bytes.count else { return nil }
        let first = line
        let name = try name()
        let value = try value()
        guard !value.withUnsafeBytes({ $0.contains(0) }) else {
            throw problem("the line has a zero byte, which no variable can contain")
        }
        return EnvironmentFile.Variable(name: name, value: SharedSecret(value), line: first)
    }

    private mutating func name() throws(Problem) -> String {
        var name = word()
        if name == "export", peek.map(Self.isBlank) == true {
            skipBlanks()
            name = word()
        }
        skipBlanks()
        guard let first = name.utf8.first, !(0x30...0x39).contains(first), peek == UInt8(ascii: "=") else {
            throw problem("this is not NAME=VALUE; put # before a comment")
        }
        at += 1
        return name
    }

    /// Reads letters, digits and underscores.
    private mutating func word() -> String {
        let start = at
        while let byte = peek, byte == 0x5F || Self.isAlphanumeric(byte) { at += 1 }
        return String(decoding: bytes[start..<at], as: UTF8.self)
    }

    private mutating func value() throws(Problem) -> Secret {
        let hadBlank = peek.map(Self.isBlank) ?? false
        skipBlanks()
        switch peek {
        case UInt8(ascii: "'"): return try quoted(by: UInt8(ascii: "'"))
        case UInt8(ascii: "\""): return try quoted(by: UInt8(ascii: "\""))
        default: return unquoted(canBeComment: hadBlank)
        }
    }

    /// Reads up to the end of the line, or to a # after a blank.
    private mutating func unquoted(canBeComment: Bool) -> Secret {
        let start = at
        var end = at
        var afterBlank = canBeComment
        while let byte = peek, byte != 0x0A {
            if byte == UInt8(ascii: "#"), afterBlank { break }
            afterBlank = Self.isBlank(byte)
            at += 1
            if !afterBlank { end = at }
        }
        skipLine()
        return Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
    }

    /// Reads up to the closing quote, which may be on a later line. Within double quotes, \n, \r and \t have the same
    /// meaning as in C, and a backslash escapes a quote, backslash or dollar sign.
    private mutating func quoted(by quote: UInt8) throws(Problem) -> Secret {
        let first = line
        at += 1
        var out = SecretBuffer(capacity: 256)
        while let byte = peek, byte != quote {
            at += 1
            if byte == 0x0A { line += 1 }
            if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\""), let escaped = peek,
                let value = Self.escape(escaped)
            {
                out.append(value)
                at += 1
            } else {
                out.append(byte)
            }
        }
        guard at < bytes.count else { throw Problem(line: first, text: "the quote is not closed") }
        at += 1
        skipBlanks()
        guard peek == nil || peek == 0x0A || peek == UInt8(ascii: "#") else {
            throw problem("text follows the closing quote; put a backslash before a quote within double quotes")
        }
        skipLine()
        return out.secret()
    }

    private static func escape(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "$"): byte
        default: nil
        }
    }

    private mutating func skipBlankLinesAndComments() {
        while let byte = peek {
            if byte == UInt8(ascii: "#") {
                skipLine()
            } else if byte == 0x0A {
                at += 1
                line += 1
            } else if Self.isBlank(byte) {
                at += 1
            } else {
                return
            }
        }
    }

    /// Skips to the next line.
    private mutating func skipLine() {
        while let byte = peek, byte != 0x0A { at += 1 }
        guard at < bytes.count else { return }
        at += 1
        line += 1
    }

    private mutating func skipBlanks() {
        while let byte = peek, Self.isBlank(byte) { at += 1 }
    }

    private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

    private func problem(_ text: String) -> Problem { Problem(line: line, text: text) }

    /// Returns whether a byte is blank. A carriage return counts as blank, because files may come from Windows.
    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}
