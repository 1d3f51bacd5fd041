import VaultFmt

/// One row of a password list, on its way to becoming an item.
struct CSVRecord {
    let line: Int
    let row: CSVRow
    let columns: CSVColumns

    /// The item, or nil where the row has nothing to keep.
    func item(_ losses: inout CSVLosses) throws -> ImportRecord? {
        let isNote = self[.kind] == "note" && self[.password].isEmpty
        guard !(self[.password].isEmpty && self[.notes].isEmpty && self[.oneTimePassword].isEmpty) else {
            losses.withoutSecret.append(line)
            return nil
        }
        let address = isNote ? nil : self.address
        let place = "line \(line)"
        let key = try importing(place) { try self.key(address) }
        var record = ImportRecord(
            place: place, key: key, secret: row.secret(columns[isNote ? .notes : .password]),
            attributes: attributes(isNote, address))
        record.created = time(.createdNumber, .createdText, &losses)
        record.modified = time(.modifiedNumber, .modifiedText, &losses)
        return record
    }

    private subscript(meaning: CSVColumns.Meaning) -> String { row[columns[meaning]] }

    /// Where the URL leads; what the key does not say of it is kept in the attribute `url`.
    private var address: WebAddress? { WebAddress(list: self[.url]) }

    private func key(_ address: WebAddress?) throws(VaultError) -> ItemKey {
        guard let address else {
            let names = [self[.title], self[.url], "untitled, line \(line)"]
            return try .genericPassword(service: names.first { !$0.isEmpty } ?? "", account: self[.username])
        }
        return try .internetPassword(
            server: address.server, account: self[.username], protocol: address.protocol, port: address.port,
            path: address.path,
            securityDomain: self[.realm])
    }

    private func attributes(_ isNote: Bool, _ address: WebAddress?) -> Attributes {
        var attributes = Attributes()
        func keep(_ name: String, _ text: String) {
            if !text.isEmpty { attributes[name] = Array(text.utf8) }
        }
        for (name, index) in columns.attributes where row[index] != "0" { keep(name, row[index]) }
        keep("label", self[.title])
        keep("comment", isNote ? "" : self[.notes])
        keep("description", isNote ? "secure note" : "")
        // As secret as the password: not to be seen in listings.
        keep("otp", self[.oneTimePassword])
        keep("type", ["login", "note"].contains(self[.kind]) ? "" : self[.kind])
        keep("realm", address == nil ? self[.realm] : "")
        keep("url", address?.isExact == true ? "" : self[.url])
        return attributes
    }

    private func time(_ number: CSVColumns.Meaning, _ text: CSVColumns.Meaning, _ losses: inout CSVLosses) -> Int64? {
        let value = self[number].isEmpty ? self[text] : self[number]
        guard !value.isEmpty else { return nil }
        let time =
            self[number].isEmpty ? ImportedTime.milliseconds(rfc3339: value) : ImportedTime.milliseconds(number: value)
        if time == nil { losses.withBadTime.append(line) }
        return time
    }
}
