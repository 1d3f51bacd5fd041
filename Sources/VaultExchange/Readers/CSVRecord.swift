import VaultFmt

/// A row of a password list that is being converted to an entry.
struct CSVRecord {
    let line: Int
    let row: CSVRow
    let columns: CSVColumns

    /// Returns the entry, or nil if the row has no content.
    func entry(_ losses: inout CSVLosses) -> ImportedEntry? {
        let kind = self[.kind].isEmpty ? columns.usualKind : self[.kind].lowercased()
        guard kind != Self.folderKind, !isFolderRow else {
            losses.ofFolders.append(line)
            return nil
        }
        let isNote = Self.noteKinds.contains(kind) && self[.password].isEmpty || isLastPassNote
        var entry = ImportedEntry(place: "line \(line)")
        entry.fields = fields
        guard !entry.fields.isEmpty || Self.contents.contains(where: { has($0) }) else {
            losses.withoutContent.append(line)
            return nil
        }
        if isNote {
            entry.kind = .note
        } else if !Self.loginKinds.contains(kind) {
            entry.kind = .named(self[.kind])
        }
        entry.title = self[.title].isEmpty ? self[.titleInstead] : self[.title]
        if has(.title), has(.titleInstead) { entry.properties.append(("account_name", self[.titleInstead])) }
        entry.userName = self[.username].isEmpty ? self[.email] : self[.username]
        if has(.password) { entry.password = shared(columns[.password]) }
        if has(.notes) { putNotes(kind, &entry) }
        if has(.oneTimePassword) { entry.oneTimePassword = shared(columns[.oneTimePassword]) }
        putAddresses(&entry)
        entry.realm = self[.realm]
        entry.folder = self[.folder].split(separator: columns.folderMark).map(String.init)
        entry.tags = tags
        for (name, index) in columns.properties {
            switch row[index] {
            case "", "0", "false": break
            case "true": entry.properties.append((name, "1"))
            case let value: entry.properties.append((name, value))
            }
        }
        if has(.email), has(.username), self[.email] != self[.username] {
            entry.properties.append(("email", self[.email]))
        }
        entry.created = time(.createdNumber, .createdText, &losses)
        entry.modified = time(.modifiedNumber, .modifiedText, &losses)
        return entry
    }

    /// True if the row has only the name of a folder.
    private var isFolderRow: Bool {
        if columns.isLastPass, self[.url] == Self.lastPassFolder {
            // A site can have this address too.
            return !Self.contentsOfLogins.contains { has($0) } && fields.isEmpty
        }
        guard columns.hasFolderRows, has(.title) else { return false }
        return (0..<row.count).allSatisfy { $0 == columns[.title] || row[$0].isEmpty }
    }

    /// True if the row is one of LastPass's notes, even in a list that another program made from LastPass's list. A
    /// login can have the same address, that of a computer with this name.
    private var isLastPassNote: Bool {
        self[.url] == Self.lastPassNote && (columns.isLastPass || !has(.username) && !has(.password))
    }

    /// The columns with contents; a row is imported if at least one of these columns is not empty.
    private static let contents: [CSVColumns.Meaning] = [
        .title, .titleInstead, .username, .email, .url, .furtherAddresses, .password, .notes, .oneTimePassword,
    ]
    /// The columns with contents that LastPass's rows of folders do not have.
    private static let contentsOfLogins: [CSVColumns.Meaning] = [.username, .password, .notes, .oneTimePassword]
    /// LastPass's placeholder address for notes.
    private static let lastPassNote = "http://sn"
    /// LastPass's placeholder address for folders.
    private static let lastPassFolder = "http://group"
    /// LastPass's placeholder for a missing address.
    private static let noAddress = "http://"
    private static let folderKind = "folder"
    private static let noteKinds: Set<String> = ["note", "securenote", "secure note"]
    private static let loginKinds: Set<String> = ["", "login", "password"]
    /// The kinds of entries whose notes Proton Pass writes as JSON.
    private static let jsonKinds: Set<String> = ["creditcard", "identity"]

    private subscript(meaning: CSVColumns.Meaning) -> String { row[columns[meaning]] }

    private func has(_ meaning: CSVColumns.Meaning) -> Bool { !self[meaning].isEmpty }

    private func shared(_ column: Int?) -> SharedSecret { SharedSecret(row.secret(column)) }

    /// Columns that have no meaning here, plus custom fields.
    private var fields: [ImportedEntry.Field] {
        let list = columns.fields.compactMap { name, index, isConcealed -> ImportedEntry.Field? in
            guard !row[index].isEmpty else { return nil }
            return ImportedEntry.Field(name: name, value: shared(index), isConcealed: isConcealed)
        }
        return has(.customFields) ? list + customFields : list
    }

    /// The custom fields: NordPass's JSON list, which marks hidden fields, or Bitwarden's lines, which do not.
    private var customFields: [ImportedEntry.Field] {
        let text = row.secret(columns[.customFields])
        let list = JSONValue(text)?.elements ?? []
        let named = list.compactMap { field -> ImportedEntry.Field? in
            guard let name = field["label"]?.text, let value = field["value"]?.text else { return nil }
            return ImportedEntry.Field(
                name: name, value: SharedSecret(text: value),
                isConcealed: field["type"]?.text == "hidden" || SecretName.isSecret(name))
        }
        guard named.count < list.count || list.isEmpty else { return named }
        let lines = self[.customFields].split(separator: "\n").map { Self.field($0) }
        let whole = ImportedEntry.Field(name: "sealed:fields", value: SharedSecret(text), isConcealed: true)
        return lines.contains { $0 == nil } ? [whole] : lines.compactMap { $0 }
    }

    /// Parses a field in the form "NAME: VALUE".
    private static func field(_ line: Substring) -> ImportedEntry.Field? {
        guard let colon = line.firstRange(of: ": ") else { return nil }
        return ImportedEntry.Field(
            name: String(line[..<colon.lowerBound]), value: SharedSecret(text: String(line[colon.upperBound...])),
            isConcealed: true)
    }

    /// Adds the notes. In Proton Pass's cards and identities, the notes hold the actual contents, as JSON.
    private func putNotes(_ kind: String, _ entry: inout ImportedEntry) {
        let text = row.secret(columns[.notes])
        guard Self.jsonKinds.contains(kind), let value = JSONValue(text), case .object = value else {
            entry.notes = SharedSecret(text)
            return
        }
        for leaf in value.leaves() where !leaf.text.isEmpty {
            switch leaf.name {
            case "note": entry.notes = SharedSecret(text: leaf.text)
            case "number" where entry.password == nil: entry.password = SharedSecret(text: leaf.text)
            default:
                // Only custom fields record whether they are hidden.
                let isConcealed =
                    leaf.isHidden || Self.hidden.contains(leaf.name) || SecretName.isSecret(leaf.name)
                entry.fields.append(
                    ImportedEntry.Field(
                        name: leaf.name, value: SharedSecret(text: leaf.text), isConcealed: isConcealed))
            }
        }
    }

    /// The parts of a card or an identity that are as secret as a password.
    private static let hidden: Set<String> = [
        "verificationNumber", "pin", "socialSecurityNumber", "passportNumber", "licenseNumber",
    ]

    /// Adds the addresses: a single one, several joined by commas (Bitwarden and Proton Pass), or a JSON list.
    /// NordPass's list contains only the additional addresses; Proton Pass's list contains all addresses, and how each
    /// is matched.
    private func putAddresses(_ entry: inout ImportedEntry) {
        guard !isLastPassNote else { return }
        entry.addresses = WebAddress.list(self[.url]).filter { !$0.isEmpty && $0 != Self.noAddress }
        guard has(.furtherAddresses) else { return }
        let list = JSONValue(row.secret(columns[.furtherAddresses]))?.elements ?? []
        var more = list.compactMap { $0.text ?? $0["url"]?.text }
        if list.isEmpty { more = self[.furtherAddresses].split { ", \n".contains($0) }.map(String.init) }
        entry.addresses += more.filter { !$0.isEmpty && !entry.addresses.contains($0) }
        let modes = list.compactMap { $0["mode"]?.text }
        if modes.contains(where: { $0 != "0" }) {
            entry.properties.append(("url-match", modes.joined(separator: "\n")))
        }
    }

    /// The tags. 1Password separates them with semicolons, other programs with commas.
    private var tags: [String] {
        let text = self[.tags]
        let marks = text.contains(";") ? ";\n" : ",\n"
        return text.split { marks.contains($0) }.map { String($0.trimmed) }.filter { !$0.isEmpty }
    }

    private func time(_ number: CSVColumns.Meaning, _ text: CSVColumns.Meaning, _ losses: inout CSVLosses) -> Int64? {
        let value = self[number].isEmpty ? self[text] : self[number]
        guard !value.isEmpty else { return nil }
        let time = ImportedTime.milliseconds(number: value) ?? ImportedTime.milliseconds(rfc3339: value)
        if time == nil, losses.withBadTime.last != line { losses.withBadTime.append(line) }
        return time
    }
}
