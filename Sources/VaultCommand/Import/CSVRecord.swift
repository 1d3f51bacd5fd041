import VaultFmt

/// One row of a password list, on its way to becoming an entry.
struct CSVRecord {
    let line: Int
    let row: CSVRow
    let columns: CSVColumns

    /// The entry, or nil where the row has nothing to keep.
    func entry(_ losses: inout CSVLosses) -> ImportedEntry? {
        let kind = self[.kind].lowercased()
        let isNote = Self.noteKinds.contains(kind) && self[.password].isEmpty || self[.url] == Self.lastPassNote
        var entry = ImportedEntry(place: "line \(line)")
        entry.fields = columns.fields.compactMap { name, index, isConcealed in
            guard !row[index].isEmpty else { return nil }
            return ImportedEntry.Field(name: name, value: shared(index), isConcealed: isConcealed)
        }
        guard isNote || !entry.fields.isEmpty || [.password, .notes, .oneTimePassword].contains(where: { has($0) })
        else {
            losses.withoutSecret.append(line)
            return nil
        }
        if isNote {
            entry.kind = .note
        } else if !Self.loginKinds.contains(kind) {
            entry.kind = .named(self[.kind])
        }
        entry.title = self[.title]
        entry.userName = self[.username].isEmpty ? self[.email] : self[.username]
        if has(.password) { entry.password = shared(columns[.password]) }
        if has(.notes) { entry.notes = shared(columns[.notes]) }
        if has(.oneTimePassword) { entry.oneTimePassword = shared(columns[.oneTimePassword]) }
        if self[.url] != Self.lastPassNote { entry.addresses = addresses }
        entry.realm = self[.realm]
        entry.folder = folder
        entry.tags = self[.tags].split { ",;\n".contains($0) }.map { String($0.trimmed) }.filter { !$0.isEmpty }
        for (name, index) in columns.properties where row[index] != "0" && !row[index].isEmpty {
            entry.properties.append((name, row[index]))
        }
        if has(.email), has(.username), self[.email] != self[.username] {
            entry.properties.append(("email", self[.email]))
        }
        entry.created = time(.createdNumber, .createdText, &losses)
        entry.modified = time(.modifiedNumber, .modifiedText, &losses)
        return entry
    }

    /// What LastPass has instead of an address where the entry is a note.
    private static let lastPassNote = "http://sn"
    private static let noteKinds: Set<String> = ["note", "securenote", "secure note"]
    private static let loginKinds: Set<String> = ["", "login", "password"]

    private subscript(meaning: CSVColumns.Meaning) -> String { row[columns[meaning]] }

    private func has(_ meaning: CSVColumns.Meaning) -> Bool { !self[meaning].isEmpty }

    private func shared(_ column: Int?) -> SharedSecret { SharedSecret(row.secret(column)) }

    /// The address, and further ones: those that Bitwarden joins by commas, and NordPass's list of them.
    private var addresses: [String] {
        let more = self[.furtherAddresses].split { "[]\", \n".contains($0) }.map(String.init)
        return (WebAddress.list(self[.url]) + more).filter { !$0.isEmpty }
    }

    /// The names of folders: KeePassXC joins them by slashes, LastPass by backslashes.
    private var folder: [String] {
        let text = self[.folder]
        let mark: Character = text.contains("\\") && !text.contains("/") ? "\\" : "/"
        return text.split(separator: mark).map(String.init)
    }

    private func time(_ number: CSVColumns.Meaning, _ text: CSVColumns.Meaning, _ losses: inout CSVLosses) -> Int64? {
        let value = self[number].isEmpty ? self[text] : self[number]
        guard !value.isEmpty else { return nil }
        let time = ImportedTime.milliseconds(number: value) ?? ImportedTime.milliseconds(rfc3339: value)
        if time == nil { losses.withBadTime.append(line) }
        return time
    }
}
