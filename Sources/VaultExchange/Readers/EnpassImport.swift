import VaultFmt
import VaultLocal

/// Reads Enpass's CSV, in which rows have different lengths: a title, alternating labels and values, and a note.
/// Version 5 writes a header; version 6 has none, leaves out an empty note, and marks the labels of secret values with
/// a star.
struct EnpassImport: ~Copyable, EntrySource {
    private let text: SecretBuffer

    init(_ reader: consuming SourceReader) throws {
        text = try reader.readAll(limit: CSVImport.longest)
    }

    /// Returns whether a text begins like such a list: with the header, or with a row that contains the label of a
    /// secret. Later rows are also checked, because the first row may be a note.
    static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool {
        var isFound = false
        // The last row may be truncated.
        do {
            let table = try CSVTable(start, delimiter: .comma)
            isFound = isHeader(table.header) || isEntry(table.header)
            if !isFound, table.header.count > 1 {
                try table.rows { _, row in isFound = isFound || isEntry((0..<row.count).map { row[$0] }) }
            }
        } catch { return isFound }
        return isFound
    }

    private static func isHeader(_ row: [String]) -> Bool { row.starts(with: ["Title", "Field", "Value"]) }

    private static func isEntry(_ row: [String]) -> Bool {
        stride(from: 1, to: row.count - 1, by: 2).contains { row[$0].lowercased() == "*password" }
    }

    mutating func read(_ take: (consuming ImportedEntry) throws -> Void) throws -> [Omission] {
        try text.withUnsafeBytes { bytes throws -> [Omission] in
            try CSVImport.checkText(bytes)
            let hasMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
            let body = UnsafeRawBufferPointer(rebasing: bytes[(hasMark ? 3 : 0)...])
            let header = try CSVTable(body, delimiter: .comma)
            try CSVTable(unlabelled: body, delimiter: .comma).rows { line, row in
                if line == 1, Self.isHeader(header.header) { return }
                try take(Self.entry(line, row))
            }
            return []
        }
    }

    /// The labels of one-time passwords, which version 5 does not mark as secret either.
    private static let secret: Set<String> = ["totp", "one-time code"]

    private static func entry(_ line: Int, _ row: CSVRow) -> ImportedEntry {
        var entry = ImportedEntry(place: "line \(line)")
        entry.title = row[0]
        var email = ""
        for index in stride(from: 1, to: row.count - 1, by: 2) where !row[index + 1].isEmpty {
            let isStarred = row[index].hasPrefix("*")
            let label = isStarred ? String(row[index].dropFirst()) : row[index]
            switch label.lowercased() {
            case "username" where entry.userName.isEmpty: entry.userName = row[index + 1]
            case "email" where email.isEmpty,
                "e-mail" where email.isEmpty:
                email = row[index + 1]
            case "password" where entry.password == nil: entry.password = SharedSecret(row.secret(index + 1))
            case "url", "website": entry.addresses.append(row[index + 1])
            case "totp" where entry.oneTimePassword == nil,
                "one-time code" where entry.oneTimePassword == nil:
                entry.oneTimePassword = SharedSecret(row.secret(index + 1))
            default:
                entry.fields.append(
                    ImportedEntry.Field(
                        name: label, value: SharedSecret(row.secret(index + 1)),
                        isConcealed: isStarred || Self.secret.contains(label.lowercased())
                            || SecretName.isSecret(label)))
            }
        }
        if entry.userName.isEmpty {
            entry.userName = email
        } else if !email.isEmpty {
            entry.properties.append(("email", email))
        }
        let hasNote = row.count > 1 && row.count.isMultiple(of: 2)
        if hasNote, !row[row.count - 1].isEmpty { entry.notes = SharedSecret(row.secret(row.count - 1)) }
        if row.count <= 2 { entry.kind = .note }
        return entry
    }
}
