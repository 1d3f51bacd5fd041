import SwiftCSV
import VaultFmt

/// A table as RFC 4180 has it, read by SwiftCSV.
///
/// SwiftCSV sees characters, not bytes: it drops blanks before a field, takes form feeds and U+2028 for line ends, and does not recognise a
/// quote that a combining mark follows. Chrome quotes none of these. So each byte that is not plain ASCII goes through it as
/// one private-use character, and comes out as the byte it was.
struct CSVTable {
    /// The first row.
    let header: [String]
    private let parser: EnumeratedCSV
    /// An odd number of quotes: SwiftCSV takes a quote that is never closed as closed by the end.
    private let isUnclosed: Bool

    /// Reads the header. The text is held in memory that is not wiped, since SwiftCSV works on `String`.
    init(_ bytes: UnsafeRawBufferPointer, delimiter: CSVDelimiter) throws(CommandFailure) {
        let text = Self.disguised(bytes, delimiter)
        do {
            parser = try EnumeratedCSV(string: text, delimiter: delimiter, loadColumns: false, rowLimit: 0)
        } catch {
            throw Self.malformed(line: 1)
        }
        isUnclosed = !bytes.count { $0 == UInt8(ascii: "\"") }.isMultiple(of: 2)
        header = parser.header.map { String(decoding: Self.bytes(of: $0), as: UTF8.self) }
    }

    /// Hands over each row after the header, with the line that it starts on.
    func rows(_ body: (_ line: Int, _ row: CSVRow) throws(CommandFailure) -> Void) throws(CommandFailure) {
        var line = Self.firstLine + Self.lines(in: parser.header)
        var last = 1
        var failure: CommandFailure?
        do {
            try withoutActuallyEscaping(body) { body in
                try parser.enumerateAsArray(startAt: 1, rowLimit: nil) { fields in
                    last = line
                    line += Self.lines(in: fields)
                    guard failure == nil, fields != [""] else { return }
                    do throws(CommandFailure) {
                        try body(last, CSVRow(fields: fields))
                    } catch {
                        failure = error
                    }
                }
            }
        } catch {
            throw failure ?? Self.malformed(line: line)
        }
        if let failure { throw failure }
        if isUnclosed { throw Self.malformed(line: last) }
    }

    private static let firstLine = 1

    /// How many lines a row takes: its fields may hold line ends.
    private static func lines(in fields: [String]) -> Int {
        1 + fields.reduce(0) { $0 + $1.count(where: \.isNewline) }
    }

    private static func malformed(line: Int) -> CommandFailure {
        .damaged("line \(line)", "the quotes of the row that starts here do not fit together")
    }

    /// Each byte that is not plain ASCII, as the character U+E000 + byte.
    private static func disguised(_ bytes: UnsafeRawBufferPointer, _ delimiter: CSVDelimiter) -> String {
        let isPlain = (0...255).map { byte in
            byte == 0x0A || byte == 0x0D || (0x21..<0x7F).contains(byte) || delimiter.rawValue.asciiValue.map(Int.init) == byte
        }
        return String(unsafeUninitializedCapacity: bytes.count * 3) { text in
            var end = 0
            for byte in bytes {
                if isPlain[Int(byte)] {
                    text[end] = byte
                    end += 1
                } else {
                    text[end] = 0xEE
                    text[end + 1] = 0x80 | byte >> 6
                    text[end + 2] = 0x80 | byte & 0x3F
                    end += 3
                }
            }
            return end
        }
    }

    /// The bytes that went into a field.
    fileprivate static func bytes(of field: String) -> [UInt8] {
        field.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    }
}

/// A row; columns that it lacks at its end are empty.
struct CSVRow {
    fileprivate let fields: [String]

    var count: Int { fields.count }

    /// The text of a column. The table was checked to be UTF-8 as a whole, and was cut at ASCII.
    subscript(column: Int?) -> String {
        guard let column, column < fields.count else { return "" }
        return String(decoding: CSVTable.bytes(of: fields[column]), as: UTF8.self)
    }

    /// The bytes of a column, as a secret.
    func secret(_ column: Int?) -> Secret {
        guard let column, column < fields.count else { return Secret(count: 0) }
        return Secret(copying: CSVTable.bytes(of: fields[column]))
    }
}
