import VaultExchange
import VaultFmt
import VaultLocal

/// Converts an item to text for editing, and edited text back to an item.
///
/// A line has the form `NAME: VALUE`. A multi-line value is written as `NAME:`, followed by its lines, each prefixed
/// with `| `. A name in quotation marks always refers to an attribute. A marker in place of a value keeps the value
/// unchanged.
enum ItemTemplate {
    /// The marker for a secret that is not shown.
    static let hidden = "«hidden»"
    /// The marker for a value that is not text.
    static let notText = "«not text»"

    /// The comment lines at the top of the text.
    static let heading: StaticString = """
        # Make your changes, save, and exit the editor. If nothing is changed, nothing is stored.
        # Each line NAME: VALUE is a field or an attribute. Add a line to create an attribute, or remove a line to
        # remove its attribute. Write a multi-line value below its name, with "| " before each line.
        # A value shown as «hidden» or «not text» remains unchanged unless you replace it.

        """

    /// An entry in the edited text.
    struct Entry: ~Copyable {
        let name: String
        /// True if the name was in quotation marks and therefore refers to an attribute.
        let isQuoted: Bool
        /// The value, or nil for a marker, which keeps the value unchanged.
        var value: Secret?
    }

    /// An error in an edited text.
    struct Fault: Error {
        let line: Int
        let message: String
    }

    // MARK: writing

    /// Appends a value under its name, or a marker if the value is not text.
    static func append(_ name: String, isQuoted: Bool = false, _ value: borrowing Secret, to text: inout SecretBuffer) {
        append(name: name, isQuoted, to: &text)
        guard SecretText.isPlain(value), value.withUnsafeBytes({ !$0.contains(0x0D) }) else {
            return append(" " + notText + "\n", to: &text)
        }
        let isMarker = [hidden, notText].contains { value.equals(Secret(text: $0)) }
        guard isMarker || value.withUnsafeBytes({ needsLines($0) }) else {
            if value.count > 0 { text.append(" ") }
            text.append(value)
            return text.append("\n")
        }
        text.append("\n| ")
        value.withUnsafeBytes { bytes in
            for byte in bytes {
                text.append(byte)
                if byte == 0x0A { text.append("| ") }
            }
        }
        text.append("\n")
    }

    /// Appends a name whose value is not shown.
    static func append(_ name: String, isQuoted: Bool = false, marker: String, to text: inout SecretBuffer) {
        append(name: name, isQuoted, to: &text)
        append(" " + marker + "\n", to: &text)
    }

    private static func append(name: String, _ isQuoted: Bool, to text: inout SecretBuffer) {
        let isPlain =
            !isQuoted && !name.isEmpty && name.unicodeScalars.allSatisfy(isPlain) && name.first != "#"
            && name.first != "|" && name.first != " " && name.last != " "
        append(isPlain ? name + ":" : quoted(name) + ":", to: &text)
    }

    private static func append(_ text: String, to buffer: inout SecretBuffer) {
        buffer.append(contentsOf: Array(text.utf8))
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        !TerminalText.isHarmful(scalar) && scalar != ":" && scalar != "\"" && scalar != "\\"
    }

    /// Returns a name in quotation marks, with characters that an editor would not show escaped as in Swift.
    private static func quoted(_ name: String) -> String {
        let escaped = name.unicodeScalars.map { scalar in
            switch scalar {
            case "\"": "\\\""
            case "\\": "\\\\"
            case _ where TerminalText.isHarmful(scalar): "\\u{\(String(scalar.value, radix: 16))}"
            default: String(scalar)
            }
        }
        return "\"" + escaped.joined() + "\""
    }

    /// Returns whether a value cannot be written on the same line as its name.
    private static func needsLines(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.first == 0x20 || bytes.last == 0x20 || bytes.first == 0x09 || bytes.last == 0x09 || bytes.contains(0x0A)
    }

    // MARK: reading

    /// Calls `body` with each entry of a text.
    static func forEach(in text: borrowing Secret, _ body: (Int, consuming Entry) throws(Fault) -> Void) throws(Fault) {
        try text.withUnsafeBytes { bytes throws(Fault) in
            var reader = Reader(bytes: bytes)
            while let entry = try reader.next() { try body(reader.start, entry) }
        }
    }

    /// Reads a text line by line.
    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        private var position = 0
        private var line = 0
        /// The number of the line on which the last entry starts.
        private(set) var start = 0

        init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        mutating func next() throws(Fault) -> Entry? {
            while let range = nextLine() {
                let text = bytes[range]
                guard let first = text.first(where: { $0 != 0x20 && $0 != 0x09 }), first != 0x23 else { continue }
                start = line
                guard text.first != 0x7C else {
                    throw Fault(line: line, message: "a line with | must come below a name without a value")
                }
                return try entry(range)
            }
            return nil
        }

        private mutating func nextLine() -> Range<Int>? {
            guard position < bytes.count else { return nil }
            let end = bytes[position...].firstIndex(of: 0x0A) ?? bytes.count
            defer { position = end + 1 }
            line += 1
            return position..<end
        }

        private mutating func entry(_ range: Range<Int>) throws(Fault) -> Entry {
            let (name, isQuoted, colon) = try name(range)
            let rest = trimmed(colon + 1..<range.upperBound)
            if rest.isEmpty, hasLines { return Entry(name: name, isQuoted: isQuoted, value: lines()) }
            let value = Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[rest]))
            let isMarker = [hidden, notText].contains { value.equals(Secret(text: $0)) }
            if isMarker { return Entry(name: name, isQuoted: isQuoted, value: nil) }
            return Entry(name: name, isQuoted: isQuoted, value: value)
        }

        /// Returns the name before the colon, and the position of the colon.
        private func name(_ range: Range<Int>) throws(Fault) -> (String, Bool, Int) {
            let whole = trimmed(range)
            guard bytes[whole].first != 0x22 else { return try quotedName(whole) }
            guard let colon = bytes[whole].firstIndex(of: 0x3A),
                let name = String(validating: bytes[trimmed(whole.lowerBound..<colon)], as: UTF8.self), !name.isEmpty
            else {
                throw Fault(line: line, message: "a line must be NAME: VALUE, or start with # or |")
            }
            return (name, false, colon)
        }

        private func quotedName(_ range: Range<Int>) throws(Fault) -> (String, Bool, Int) {
            let fault = Fault(line: line, message: "a name that starts with \" must end with \" and a colon")
            guard let text = String(validating: bytes[range], as: UTF8.self) else { throw fault }
            var name = ""
            var rest = text.unicodeScalars.dropFirst()
            while let scalar = rest.popFirst(), scalar != "\"" {
                guard scalar == "\\" else {
                    name.unicodeScalars.append(scalar)
                    continue
                }
                switch rest.popFirst() {
                case "\"": name += "\""
                case "\\": name += "\\"
                case "u" where rest.first == "{":
                    let digits = rest.dropFirst().prefix { $0 != "}" }
                    guard let value = UInt32(String(String.UnicodeScalarView(digits)), radix: 16),
                        let escaped = Unicode.Scalar(value)
                    else { throw fault }
                    name.unicodeScalars.append(escaped)
                    rest = rest.dropFirst(digits.count + 2)
                default: throw fault
                }
            }
            guard rest.first == ":", !name.isEmpty else { throw fault }
            let before = text.utf8.count - String(String.UnicodeScalarView(rest)).utf8.count
            return (name, true, range.lowerBound + before)
        }

        /// True if the next line is part of a value.
        private var hasLines: Bool { position < bytes.count && bytes[position] == 0x7C }

        /// Returns the following lines that start with |, each without the | and the blank after it.
        private mutating func lines() -> Secret {
            var value = SecretBuffer()
            var isFirst = true
            while hasLines, let range = nextLine() {
                if !isFirst { value.append(0x0A) }
                isFirst = false
                let skipped = range.count > 1 && bytes[range.lowerBound + 1] == 0x20 ? 2 : 1
                value.append(UnsafeRawBufferPointer(rebasing: bytes[range.lowerBound + skipped..<range.upperBound]))
            }
            return value.secret()
        }

        /// Trims blanks and tabs at both ends, and a carriage return at the end.
        private func trimmed(_ range: Range<Int>) -> Range<Int> {
            var (start, end) = (range.lowerBound, range.upperBound)
            while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
            while end > start, [0x20, 0x09, 0x0D].contains(bytes[end - 1]) { end -= 1 }
            return start..<end
        }
    }
}
