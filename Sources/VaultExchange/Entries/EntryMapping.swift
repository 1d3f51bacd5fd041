import FoundationEssentials
import VaultBytes
import VaultFmt
import VaultLocal

/// Converts an entry from another password manager to an item, implementing the table in `Docs/import.md` for every
/// format.
struct EntryMapping {
    /// The names of an item's other parts, and of attributes from which the command computes something.
    private static let parts = Set(
        [
            "secret", "class", "group", "synchronizable", "accessible", "device", "id", "created", "modified",
            "replaced", AttributeName.check, AttributeName.changeInterval, SecretDate.attribute,
        ] + (ItemClass.genericPassword.fields + ItemClass.internetPassword.fields).map(\.name))

    private let entry: ImportedEntry
    /// The entry's omitted parts, one line each.
    private(set) var losses: [String]

    init(_ entry: ImportedEntry) {
        self.entry = entry
        losses = entry.losses.map(entry.named)
    }

    /// Returns the item, under the key that `key()` returns.
    mutating func record(_ key: ItemKey) -> ImportRecord {
        let (secret, attributes) = contents(of: entry)
        var record = ImportRecord(
            place: entry.place, key: key, secret: secret.secret.copy(), attributes: attributes, origin: entry.origin)
        record.formerKey = entry.exact?.formerKey
        record.codeProblem = entry.codeProblem ?? OneTimeCode.problem(in: attributes)
        record.accessibility = entry.exact?.accessibility ?? .whenUnlocked
        record.created = possible(entry.created, "its creation date")
        record.modified = possible(entry.modified, "its modification date")
        for earlier in entry.history {
            let (secret, attributes) = contents(of: earlier.entry)
            let replaced = possible(earlier.replaced, "the date of an earlier value") ?? record.modified ?? 0
            let modified = possible(earlier.entry.modified, "the date of an earlier value") ?? replaced
            record.earlier.append(
                ImportRecord.Earlier(
                    value: NewEarlierValue(
                        secret: secret.secret.copy(), attributes: attributes, replaced: replaced,
                        group: entry.exact == nil ? nil : earlier.entry.exact?.group),
                    secret: secret, modified: modified))
        }
        return record
    }

    /// Returns a date if a vault can store it.
    private mutating func possible(_ date: Int64?, _ what: String) -> Int64? {
        guard let date, !Format.Limit.time.contains(date) else { return date }
        losses.append(entry.named("\(what) is out of range"))
        return nil
    }

    /// The item's key. Throws `limitExceeded` if the entry's name, user name or address is too long for a key.
    func key() throws(VaultError) -> ItemKey {
        if let exact = entry.exact { return exact.key }
        let isNote = entry.kind == .note
        if !isNote, let address = WebAddress(list: entry.addresses.first ?? "") {
            return try .internetPassword(
                server: address.server, account: entry.userName, protocol: address.protocol, port: address.port,
                path: address.path, securityDomain: entry.realm)
        }
        let address = entry.addresses.first ?? ""
        let shown = WebAddress.hasPassword(address) ? WebAddress.withoutUser(address) : address
        let names = [entry.title, shown, "untitled, \(entry.place)"]
        return try .genericPassword(service: names.first { !$0.isEmpty } ?? "", account: entry.userName)
    }

    // MARK: attributes

    /// Returns the secret and the attributes of an entry or of one of its earlier states.
    private mutating func contents(of entry: ImportedEntry) -> (SharedSecret, Attributes) {
        if let exact = entry.exact { return (exact.secret, extended(exact, with: entry)) }
        let isNote = entry.kind == .note
        var out = AttributeCollector()
        out.put(AttributeName.label, entry.title)
        out.put(AttributeName.folder, FolderPath.text(entry.folder))
        out.put(AttributeName.tags, entry.tags.joined(separator: "\n"))
        out.put(AttributeName.origin, entry.origin)
        if case .named(let name) = entry.kind { out.put(AttributeName.kind, name) }
        if isNote { out.put(AttributeName.kind, "secure note") }
        let address = isNote ? nil : WebAddress(list: entry.addresses.first ?? "")
        if entry.addresses.count > 1 || address?.isExact != true {
            put(entry.addresses, &out)
        }
        if address == nil { out.put(AttributeName.realm, entry.realm) }
        if let expires = entry.expires { out.put(AttributeName.expires, Timestamp.text(expires)) }
        for (name, value) in entry.properties { out.put(name, value, sealed: WebAddress.hasPassword(value)) }
        var secret = entry.password
        var notes = entry.notes
        if isNote, secret == nil || secret?.count == 0 { (secret, notes) = (notes, nil) }
        if let notes { out.put(AttributeName.notes, notes, .sealed) }
        if let otp = entry.oneTimePassword {
            let address = OneTimePassword.address(of: otp, issuer: entry.title, account: entry.userName)
            out.put(AttributeName.oneTimePassword, address, .sealed)
        }
        putFields(of: entry, &out)
        return (secret ?? SharedSecret(Secret(count: 0)), out.attributes)
    }

    /// Returns the attributes, including those that another program has added to an entry written by our own export.
    private mutating func extended(_ exact: ExactItem, with entry: ImportedEntry) -> Attributes {
        var out = AttributeCollector(exact.attributes)
        func put(_ place: KDBXPlacement.Place, _ body: () -> Void) { if !exact.placed.contains(place) { body() } }
        put(.folder) { out.put(AttributeName.folder, FolderPath.text(entry.folder)) }
        put(.tags) { out.put(AttributeName.tags, entry.tags.joined(separator: "\n")) }
        put(.expiry) { if let expires = entry.expires { out.put(AttributeName.expires, Timestamp.text(expires)) } }
        let places = [AttributeName.autoType: KDBXPlacement.Place.autoType, AttributeName.icon: .icon]
        for (name, value) in entry.properties where places[name].map({ !exact.placed.contains($0) }) ?? true {
            out.put(name, value, sealed: WebAddress.hasPassword(value))
        }
        put(.addresses) {
            let known = KDBXNames.address(exact.key)
            guard entry.addresses.count != 1 || !entry.addresses[0].utf8.elementsEqual(known.utf8) else { return }
            self.put(entry.addresses, &out)
        }
        put(.string(KDBXString.notes)) { if let notes = entry.notes { out.put(AttributeName.notes, notes, .sealed) } }
        put(.string(KDBXString.otp)) {
            if let otp = entry.oneTimePassword { out.put(AttributeName.oneTimePassword, otp, .sealed) }
        }
        var others = entry
        others.fields.removeAll { !$0.isFurther && exact.placed.contains(.string($0.name)) }
        var seen: Set<String> = []
        others.attachments.removeAll { exact.placed.contains(.binary($0.name)) && seen.insert($0.name).inserted }
        putFields(of: others, &out)
        return out.attributes
    }

    /// Adds the addresses, which are sealed if any of them contains a password.
    private func put(_ addresses: [String], _ out: inout AttributeCollector) {
        out.put(
            AttributeName.address, addresses.joined(separator: "\n"),
            sealed: addresses.contains { WebAddress.hasPassword($0) })
    }

    /// Adds fields and attachments that have no special meaning.
    private mutating func putFields(of entry: ImportedEntry, _ out: inout AttributeCollector) {
        for field in entry.fields {
            let isTaken =
                AttributeName.meaningful.contains(field.name) || Self.parts.contains(field.name)
                || field.name.hasPrefix(AttributeName.filePrefix)
            let name = isTaken ? AttributeName.fieldPrefix + field.name : field.name
            let isSecret = field.isConcealed || field.value.withBytes { WebAddress.hasPassword($0) }
            out.put(name, field.value, isSecret ? [.sealed, .concealed] : [])
        }
        for (name, value) in entry.attachments {
            guard value.count <= AttributeName.longestFile else {
                losses.append(
                    "\(entry.place): the attachment \(TerminalText.quoted(name)) is larger than 16 MiB")
                continue
            }
            out.put(AttributeName.filePrefix + name, value, [.sealed, .binary])
        }
    }
}
