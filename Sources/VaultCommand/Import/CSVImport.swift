import VaultFmt
import VaultLocal

/// Reads a CSV list of passwords: as `CSVColumns` finds its columns.
struct CSVImport: ~Copyable, EntrySource {
    /// The longest list that is read; it is held in memory.
    static let longest = 256 << 20

    private let text: SecretBuffer

    init(_ reader: consuming SourceReader) throws {
        text = try reader.readAll(limit: Self.longest)
    }

    /// Whether a text begins with the header of such a list.
    static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool {
        let line = start.prefix { $0 != 0x0A }
        return CSVDelimiter.allCases.contains { delimiter in
            do throws {
                return CSVColumns(
                    header: try CSVTable(UnsafeRawBufferPointer(rebasing: line), delimiter: delimiter).header
                ).isPasswordList
            } catch {
                return false
            }
        }
    }

    mutating func read(_ take: (consuming ImportedEntry) throws -> Void) throws
        -> [Omission]
    {
        try text.withUnsafeBytes { bytes throws -> [Omission] in
            try Self.checkText(bytes)
            let hasMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
            let bytes = UnsafeRawBufferPointer(rebasing: bytes[(hasMark ? 3 : 0)...])
            let table = try Self.table(bytes)
            guard CSVColumns(header: table.header).hasBackslashes else { return try Self.read(table, take) }
            return try Self.withDoubledQuotes(bytes).withUnsafeBytes { bytes in
                try Self.read(try CSVTable(bytes, delimiter: .comma), take)
            }
        }
    }

    private static func read(_ table: CSVTable, _ take: (consuming ImportedEntry) throws -> Void) throws -> [Omission] {
        let columns = CSVColumns(header: table.header)
        var losses = CSVLosses()
        try table.rows { line, row in
            guard row.count <= table.header.count || (table.header.count..<row.count).allSatisfy({ row[$0].isEmpty })
            else {
                throw CommandFailure.damaged(
                    "line \(line)", "\(row.count) fields, but the header has \(table.header.count)")
            }
            if let entry = CSVRecord(line: line, row: row, columns: columns).entry(&losses) { try take(entry) }
        }
        return losses.omissions
    }

    /// A text in which a backslash is before a quote or a backslash that belongs to the field, as RFC 4180 has it.
    private static func withDoubledQuotes(_ bytes: UnsafeRawBufferPointer) -> SecretBuffer {
        let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
        var out = SecretBuffer(capacity: bytes.count)
        var index = 0
        while index < bytes.count {
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            let isEscaped = bytes[index] == backslash && (next == quote || next == backslash)
            if isEscaped { index += 1 }
            out.append(bytes[index])
            if isEscaped, next == quote { out.append(quote) }
            index += 1
        }
        return out
    }

    /// The table with the delimiter that makes its header a list of passwords: spreadsheets write semicolons in much of
    /// the world.
    private static func table(_ bytes: UnsafeRawBufferPointer) throws -> CSVTable {
        for delimiter in CSVDelimiter.allCases {
            let table = try CSVTable(bytes, delimiter: delimiter)
            guard table.header != CSVExport.columns else {
                throw CommandFailure.damaged(
                    "line 1",
                    "this is the CSV export of vaultfmt, which leaves things out; import its JSON export instead")
            }
            if CSVColumns(header: table.header).isPasswordList { return table }
        }
        throw CommandFailure.damaged(
            "line 1",
            "no header of a password list: a column 'password' and one of 'username', 'title' or 'url' are needed")
    }

    /// Refuses a text that is not UTF-8.
    static func checkText(_ bytes: UnsafeRawBufferPointer) throws {
        let failure: Int? = bytes.withMemoryRebound(to: UInt8.self) { bytes in
            do throws(UTF8.ValidationError) {
                _ = try UTF8Span(validating: bytes.span)
                return nil
            } catch {
                return bytes[..<error.byteOffsets.lowerBound].count { $0 == 0x0A }
            }
        }
        guard let failure else { return }
        throw CommandFailure.damaged(
            "line \(failure + 1)", "this is not UTF-8; convert the file first, for instance with iconv")
    }
}

/// What a list holds that a vault will not have.
struct CSVLosses {
    /// Lines of rows that name nothing and hold nothing.
    var withoutContent: [Int] = []
    /// Lines of rows that are folders: entries name them too.
    var ofFolders: [Int] = []
    /// Lines with a time that is not understood.
    var withBadTime: [Int] = []

    /// One for each kind of loss.
    var omissions: [Omission] {
        var lines: [Omission] = []
        if !withoutContent.isEmpty {
            lines.append(.intended("\(Self.places(withoutContent)): nothing to keep; left out"))
        }
        if !ofFolders.isEmpty {
            lines.append(.intended("\(Self.places(ofFolders)): a folder, which is made by what is in it; left out"))
        }
        if !withBadTime.isEmpty {
            lines.append(.loss("\(Self.places(withBadTime)): a time that is not understood; left out"))
        }
        return lines
    }

    private static func places(_ lines: [Int]) -> String {
        let shown = lines.prefix(10).map(String.init).joined(separator: ", ")
        let more = lines.count > 10 ? " and \(lines.count - 10) more" : ""
        return (lines.count == 1 ? "line " : "lines ") + shown + more
    }
}
