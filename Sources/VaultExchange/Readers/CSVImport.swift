import VaultFmt
import VaultLocal

/// Reads a CSV list of passwords, with the columns recognized by `CSVColumns`.
struct CSVImport: ~Copyable, EntrySource {
    /// The maximum length of a list, which is held in memory.
    static let longest = 256 << 20

    private let text: SecretBuffer
    private let remark: (String) -> Void

    init(_ reader: consuming SourceReader, _ access: SourceAccess) throws {
        text = try reader.readAll(limit: Self.longest)
        remark = access.remark
    }

    /// Returns whether a text begins with the header of such a list.
    static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool {
        let line = start.prefix { $0 != 0x0A }
        return CSVDelimiter.allCases.contains { delimiter in
            do throws {
                let header = try CSVTable(UnsafeRawBufferPointer(rebasing: line), delimiter: delimiter).header
                return header.count <= CSVColumns.most && CSVColumns(header: header).isPasswordList
            } catch {
                return false
            }
        }
    }

    mutating func read(_ take: (consuming ImportedEntry) throws -> Void) throws
        -> [Omission]
    {
        let remark = remark
        return try text.withUnsafeBytes { bytes throws -> [Omission] in
            try Self.checkText(bytes)
            let hasMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
            let bytes = UnsafeRawBufferPointer(rebasing: bytes[(hasMark ? 3 : 0)...])
            let table = try Self.table(bytes)
            guard CSVColumns(header: table.header).hasBackslashes else { return try Self.read(table, remark, take) }
            return try Self.withDoubledQuotes(bytes).withUnsafeBytes { bytes in
                try Self.read(try CSVTable(bytes, delimiter: .comma), remark, take)
            }
        }
    }

    private static func read(
        _ table: CSVTable, _ remark: (String) -> Void, _ take: (consuming ImportedEntry) throws -> Void
    ) throws -> [Omission] {
        let columns = CSVColumns(header: table.header)
        if !columns.hasUserNames {
            remark("the list has no column of user names, such as 'username'; its items will have no account")
        }
        var losses = CSVLosses()
        try table.rows { line, row in
            guard row.count <= table.header.count || (table.header.count..<row.count).allSatisfy({ row[$0].isEmpty })
            else {
                throw ExchangeError.damaged(
                    "line \(line)", "\(row.count) fields, but the header has \(table.header.count)")
            }
            // Some programs leave out empty fields at the end of a row. However, an entry normally has a password, so a
            // row that ends before the password has been truncated.
            guard row.count > 1 || !row[0].trimmed.isEmpty else { return losses.withoutContent.append(line) }
            guard columns[.password].map({ $0 < row.count }) ?? true else {
                throw ExchangeError.damaged(
                    "line \(line)",
                    "the row ends after \(row.count) of \(table.header.count) fields, before its password")
            }
            if let entry = CSVRecord(line: line, row: row, columns: columns).entry(&losses) { try take(entry) }
        }
        return losses.omissions
    }

    /// Converts text that escapes quotes and backslashes with a backslash to the form of RFC 4180.
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

    /// Returns the table, using the delimiter that makes its header a valid header of a password list. In many locales,
    /// spreadsheets write semicolons.
    private static func table(_ bytes: UnsafeRawBufferPointer) throws -> CSVTable {
        for delimiter in CSVDelimiter.allCases {
            let table = try CSVTable(bytes, delimiter: delimiter)
            guard table.header != CSVExport.columns else {
                throw ExchangeError.damaged(
                    "line 1",
                    "this is vaultfmt's CSV export, which is incomplete; import its JSON export instead")
            }
            guard table.header.count <= CSVColumns.most else {
                throw ExchangeError.damaged("line 1", "the list has more than \(CSVColumns.most) columns")
            }
            if CSVColumns(header: table.header).isPasswordList { return table }
        }
        throw ExchangeError.damaged(
            "line 1",
            "not the header of a password list, which needs a column 'password' and one of 'username', 'title' or 'url'"
        )
    }

    /// Throws an error if a text is not UTF-8.
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
        throw ExchangeError.damaged(
            "line \(failure + 1)", "this is not UTF-8; convert the file first, for example with iconv")
    }
}

/// The contents of a list that will not be in the vault.
struct CSVLosses {
    /// The lines of rows without any content.
    var withoutContent: [Int] = []
    /// The lines of rows that represent folders, whose names the entries also contain.
    var ofFolders: [Int] = []
    /// The lines with a time that cannot be parsed.
    var withBadTime: [Int] = []

    /// One line for each kind of loss.
    var omissions: [Omission] {
        var lines: [Omission] = []
        if !withoutContent.isEmpty {
            lines.append(
                .intended(
                    "\(Self.places(withoutContent)): nothing to keep", entries: withoutContent.count))
        }
        if !ofFolders.isEmpty {
            lines.append(
                .intended(
                    "\(Self.places(ofFolders)): a folder, which is created along with its entries",
                    entries: ofFolders.count))
        }
        if !withBadTime.isEmpty {
            lines.append(.loss("\(Self.places(withBadTime)): a time that cannot be parsed"))
        }
        return lines
    }

    /// Names the lines, up to the first thousand runs of lines: "lines 2, 3, 7 to 90".
    private static func places(_ lines: [Int]) -> String {
        var runs: [ClosedRange<Int>] = []
        for line in lines {
            if let last = runs.last, last.upperBound + 1 == line {
                runs[runs.count - 1] = last.lowerBound...line
            } else {
                runs.append(line...line)
            }
        }
        let shown = runs.prefix(1000).map { run in
            switch run.count {
            case 1: "\(run.lowerBound)"
            case 2: "\(run.lowerBound), \(run.upperBound)"
            default: "\(run.lowerBound) to \(run.upperBound)"
            }
        }
        let rest = runs.dropFirst(1000).reduce(0) { $0 + $1.count }
        let more = rest > 0 ? " and \(rest) more" : ""
        return (lines.count == 1 ? "line " : "lines ") + shown.joined(separator: ", ") + more
    }
}
