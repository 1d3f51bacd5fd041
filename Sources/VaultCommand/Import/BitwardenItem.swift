import VaultFmt

/// A folder or a collection.
struct BitwardenNamed: Decodable {
    let id: String
    let name: String
}

/// An item of a Bitwarden export as decoded by Foundation, unavoidably in memory that is not wiped.
struct BitwardenItem: Decodable {
    let id: String?
    let type: Int
    let name: String?
    let notes: String?
    let folderId: String?
    let favorite: Bool?
    let reprompt: Int?
    /// Other programs write null for an item that is in no collection.
    let collectionIds: [String?]?
    let creationDate: String?
    let revisionDate: String?
    let deletedDate: String?
    let fields: [Field]?
    let passwordHistory: [Former]?
    let login: Login?
    let archivedDate: String?
    let card: JSONValue?
    let identity: JSONValue?
    let sshKey: JSONValue?

    struct Login: Decodable {
        let uris: [Address]?
        let username: String?
        let password: String?
        let totp: String?
        let fido2Credentials: [JSONValue]?
    }

    struct Address: Decodable {
        let uri: String?
        /// How the address is matched: an index into `matches`.
        let match: Int?
    }

    struct Field: Decodable {
        let name: String?
        let value: JSONValue?
        /// 0 is text, 1 hidden, 2 a Boolean, 3 a link to another field.
        let type: Int?
        /// The linked field: a key of `linked`.
        let linkedId: Int?
    }

    struct Former: Decodable {
        let lastUsedDate: String?
        let password: String?
    }

    /// The ways of matching an address.
    fileprivate static let matches = ["domain", "host", "starts-with", "exact", "regular-expression", "never"]

    /// The fields that other fields can link to.
    fileprivate static let linked: [Int: String] = [
        100: "username", 101: "password", 300: "cardholderName", 301: "expMonth", 302: "expYear", 303: "code",
        304: "brand", 305: "number", 400: "title", 401: "middleName", 402: "address1", 403: "address2",
        404: "address3", 405: "city", 406: "state", 407: "postalCode", 408: "country", 409: "company", 410: "email",
        411: "phone", 412: "ssn", 413: "username", 414: "passportNumber", 415: "licenseNumber", 416: "firstName",
        417: "lastName", 418: "full name",
    ]
}

extension BitwardenItem {
    /// Whether this version knows the contents of items of this type.
    var isKnown: Bool { (1...5).contains(type) }

    /// Converts the item to an entry.
    ///
    /// `others`: the members of an item of unknown type.
    func entry(
        _ place: String, _ folders: [String: String], _ collections: [String: String],
        others: [String: JSONValue] = [:]
    ) -> ImportedEntry {
        var entry = ImportedEntry(place: place)
        if let id { entry.origin = "bitwarden:\(id)" }
        entry.title = name ?? ""
        entry.notes = Self.secret(notes)
        if let folderId {
            entry.folder = (folders[folderId] ?? folderId).split(separator: "/").map(String.init)
        }
        let names = (collectionIds ?? []).compactMap { id in id.map { collections[$0] ?? $0 } }
        if !names.isEmpty { entry.properties.append(("collections", names.joined(separator: "\n"))) }
        if favorite == true { entry.properties.append(("favorite", "1")) }
        if let archivedDate { entry.properties.append(("archived", archivedDate)) }
        if let reprompt, reprompt != 0 { entry.properties.append(("reprompt", String(reprompt))) }
        entry.created = creationDate.flatMap { ImportedTime.milliseconds(rfc3339: $0) }
        entry.modified = revisionDate.flatMap { ImportedTime.milliseconds(rfc3339: $0) }
        switch type {
        case 2: entry.kind = .note
        case 3: put(card, "card", secret: "number", concealed: ["code"], &entry)
        case 4:
            put(
                identity, "identity", secret: nil, concealed: ["ssn", "passportNumber", "licenseNumber"], &entry)
            entry.userName = identity?["username"]?.text ?? ""
        case 5: put(sshKey, "SSH key", secret: "privateKey", concealed: [], &entry)
        case 1: break
        default:
            for (name, body) in others.sorted(by: { $0.key < $1.key }) {
                if case .object = body { put(body, Self.words(name), secret: nil, concealed: nil, &entry) }
            }
        }
        if let login { put(login, &entry) }
        for field in fields ?? [] {
            let linked = field.linkedId.map { "linked to \(Self.linked[$0] ?? String($0))" }
            guard let value = field.value?.text ?? linked else { continue }
            entry.fields.append(
                ImportedEntry.Field(
                    name: field.name ?? "field", value: SharedSecret(text: value), isConcealed: field.type == 1))
        }
        entry.history = history(of: entry)
        return entry
    }

    private static func secret(_ text: String?) -> SharedSecret? {
        guard let text, !text.isEmpty else { return nil }
        return SharedSecret(text: text)
    }

    private func put(_ login: Login, _ entry: inout ImportedEntry) {
        entry.userName = login.username ?? ""
        entry.password = Self.secret(login.password)
        let addresses = (login.uris ?? []).filter { $0.uri?.isEmpty == false }
        entry.addresses = addresses.compactMap(\.uri)
        if addresses.contains(where: { $0.match != nil }) {
            let matches = addresses.map { address in
                address.match.map { Self.matches.indices.contains($0) ? Self.matches[$0] : String($0) } ?? "default"
            }
            entry.properties.append(("url-match", matches.joined(separator: "\n")))
        }
        entry.oneTimePassword = Self.secret(login.totp)
        for passkey in login.fido2Credentials ?? [] {
            let lines = passkey.leaves().map { "\($0.name)=\($0.text)" }
            entry.fields.append(
                ImportedEntry.Field(
                    name: "passkey", value: SharedSecret(text: lines.joined(separator: "\n")), isConcealed: true))
        }
    }

    /// `secret`: the member that becomes the item's secret. `concealed`: the other secret members; nil means all.
    private func put(
        _ values: JSONValue?, _ kind: String, secret: String?, concealed: Set<String>?, _ entry: inout ImportedEntry
    ) {
        entry.kind = .named(kind)
        for leaf in values?.leaves() ?? [] where !leaf.text.isEmpty {
            if leaf.name == secret {
                entry.password = SharedSecret(text: leaf.text)
            } else {
                let isConcealed = concealed?.contains(leaf.name) ?? true
                entry.fields.append(
                    ImportedEntry.Field(
                        name: leaf.name, value: SharedSecret(text: leaf.text), isConcealed: isConcealed))
            }
        }
    }

    /// Returns "bank account" for "bankAccount".
    private static func words(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1.isUppercase ? " \($1.lowercased())" : String($1) }
    }

    /// Returns the earlier passwords, oldest first. Bitwarden records when each was last used.
    private func history(of entry: ImportedEntry) -> [ImportedEntry.Earlier] {
        let dated = (passwordHistory ?? []).compactMap { former -> (Int64, SharedSecret)? in
            guard let time = former.lastUsedDate.flatMap({ ImportedTime.milliseconds(rfc3339: $0) }) else { return nil }
            return Self.secret(former.password).map { (time, $0) }
        }.sorted { $0.0 < $1.0 }
        var before = entry.created
        return dated.map { time, password in
            var earlier = ImportedEntry(place: entry.place)
            earlier.title = entry.title
            earlier.password = password
            earlier.modified = before ?? time
            before = time
            return ImportedEntry.Earlier(entry: earlier, replaced: time)
        }
    }
}
