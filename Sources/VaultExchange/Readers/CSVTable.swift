import CCSV
import CVaultShim
import VaultFmt
import VaultLocal

/// The separator between the fields of a row.
enum CSVDelimiter: UInt8, CaseIterable {
    case comma = 0x2C
    case semicolon = 0x3B
    case tab = 0x09
}

/// A table in the format of RFC 4180, parsed by libcsv; its buffers are wiped.
///
/// Spaces around a field are part of the field, blank lines are skipped, and a quote within an unquoted field is an
/// error.
struct CSVTable {
    /// The first row.
    let header: [String]
    private let delimiter: CSVDelimiter
    private let rest: UnsafeRawBufferPointer
    private let firstLine: Int

    /// Reads the header. `bytes` must outlive the table.
    init(_ bytes: UnsafeRawBufferPointer, delimiter: CSVDelimiter) throws {
        var lines = CSVLines(bytes)
        let parser = CSVParser(delimiter)
        let row = try parser.next(&lines)
        header = row.map { row in (0..<row.count).map { row[$0] } } ?? []
        self.delimiter = delimiter
        rest = lines.rest
        firstLine = lines.number
    }

    /// Creates a table without a header. `bytes` must outlive the table.
    init(unlabelled bytes: UnsafeRawBufferPointer, delimiter: CSVDelimiter) {
        header = []
        self.delimiter = delimiter
        rest = bytes
        firstLine = 1
    }

    /// Passes each row after the header to `body`, with the number of the line on which it starts. A row is valid only
    /// during the call.
    func rows(_ body: (_ line: Int, _ row: CSVRow) throws -> Void) throws {
        var lines = CSVLines(rest, number: firstLine)
        let parser = CSVParser(delimiter)
        while let row = try parser.next(&lines) { try body(parser.rowLine, row) }
    }
}

/// The fields of a row, in memory that is wiped after use. Columns missing at the end of the row are empty.
final class CSVRow {
    private var bytes = SecretBuffer()
    private var ends: [Int] = []

    /// The number of fields.
    var count: Int { ends.count }

    /// The text of a column. The whole table has been checked to be UTF-8, and is only split at ASCII characters.
    subscript(column: Int?) -> String { withField(column) { String(decoding: $0, as: UTF8.self) } }

    /// The bytes of a column, as a secret.
    func secret(_ column: Int?) -> Secret { withField(column) { Secret(copying: $0) } }

    private func withField<R: ~Copyable>(_ column: Int?, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        guard let column, column < ends.count else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        let range = (column == 0 ? 0 : ends[column - 1])..<ends[column]
        return bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    fileprivate func append(_ field: UnsafeRawBufferPointer) {
        bytes.append(field)
        ends.append(bytes.count)
    }

    fileprivate func removeAll() {
        bytes.removeAll()
        ends.removeAll(keepingCapacity: true)
    }
}

/// Text split into lines, including their line endings: LF, CR LF, or CR alone.
private struct CSVLines {
    private(set) var rest: UnsafeRawBufferPointer
    /// The number of the next line, from 1.
    private(set) var number: Int

    init(_ bytes: UnsafeRawBufferPointer, number: Int = 1) {
        rest = bytes
        self.number = number
    }

    mutating func next() -> UnsafeRawBufferPointer? {
        guard !rest.isEmpty else { return nil }
        var end = 0
        while end < rest.count, rest[end] != 0x0A, rest[end] != 0x0D { end += 1 }
        if end < rest.count { end += rest[end] == 0x0D && end + 1 < rest.count && rest[end + 1] == 0x0A ? 2 : 1 }
        defer {
            rest = UnsafeRawBufferPointer(rebasing: rest[end...])
            number += 1
        }
        return UnsafeRawBufferPointer(rebasing: rest[..<end])
    }
}

/// libcsv's parser, fed one line at a time, so that each line completes at most one row.
private final class CSVParser {
    private var parser = csv_parser()
    private let row = CSVRow()
    private var isComplete = false
    private var isStarted = false
    /// The line on which the last row starts.
    private(set) var rowLine = 0

    init(_ delimiter: CSVDelimiter) {
        // This fails only for a null pointer.
        csv_init(&parser, UInt8(CSV_STRICT | CSV_STRICT_FINI))
        csv_set_delim(&parser, delimiter.rawValue)
        csv_set_space_func(&parser) { _ in 0 }
        csv_set_realloc_func(&parser, vault_wiping_realloc)
        csv_set_free_func(&parser, vault_wiping_free)
    }

    deinit { csv_free(&parser) }

    /// Returns the next row, which is valid until the next call, or nil at the end. Throws `damaged` if quotes do not
    /// match.
    func next(_ lines: inout CSVLines) throws -> CSVRow? {
        row.removeAll()
        isComplete = false
        isStarted = false
        let context = Unmanaged.passUnretained(self).toOpaque()
        while !isComplete {
            let line = lines.number
            guard let text = lines.next() else {
                if csv_fini(&parser, Self.takeField, Self.takeRow, context) != 0 { throw malformed }
                return isComplete ? row : nil
            }
            if !isStarted { rowLine = line }
            isStarted = isStarted || !text.allSatisfy { $0 == 0x0A || $0 == 0x0D }
            if csv_parse(&parser, text.baseAddress, text.count, Self.takeField, Self.takeRow, context) != text.count {
                throw malformed
            }
        }
        return row
    }

    private var malformed: ExchangeError {
        .damaged("line \(rowLine)", "the row that starts here has mismatched quotes")
    }

    private typealias TakeField = @convention(c) (UnsafeMutableRawPointer?, Int, UnsafeMutableRawPointer?) -> Void

    private static let takeField: TakeField = { field, count, context in
        guard let context else { return }
        let parser = Unmanaged<CSVParser>.fromOpaque(context).takeUnretainedValue()
        parser.row.append(UnsafeRawBufferPointer(start: field, count: count))
    }

    private static let takeRow: @convention(c) (Int32, UnsafeMutableRawPointer?) -> Void = { _, context in
        guard let context else { return }
        Unmanaged<CSVParser>.fromOpaque(context).takeUnretainedValue().isComplete = true
    }
}
