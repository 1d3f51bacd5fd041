import VaultFmt
import VaultLocal

/// A folder or a collection.
struct BitwardenNamed: Decodable {
    let id: String
    let name: String
}

/// An object of a Bitwarden export, with the members that this version does not know.
struct BitwardenObject<Known: BitwardenMembers>: Decodable {
    let known: Known
    let others: [String: JSONValue]
    /// The number of members that were read, including those of nested objects.
    let members: Int

    init(from decoder: any Decoder) throws {
        known = try Known(from: decoder)
        let object = try JSONObject(decoder)
        others = try object.others(than: Set(Known.CodingKeys.allCases.map(\.stringValue)))
        members = object.count + known.nested + others.values.reduce(0) { $0 + $1.members }
    }
}

/// The members that this version knows.
protocol BitwardenMembers: Decodable {
    associatedtype CodingKeys: CodingKey, CaseIterable
    /// The number of members in the objects that these members contain.
    var nested: Int { get }
}

extension Optional {
    /// The number of members of a list of objects.
    fileprivate func members<Known>() -> Int where Wrapped == [BitwardenObject<Known>] {
        map { $0.reduce(0) { $0 + $1.members } } ?? 0
    }
}

/// An item of a Bitwarden export as decoded by Foundation, unavoidably in memory that is not wiped.
struct BitwardenItem: BitwardenMembers {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case id, type, name, notes, organizationId, folderId, favorite, reprompt, collectionIds, creationDate
        case revisionDate, deletedDate, archivedDate, fields, passwordHistory, login, card, identity, sshKey, secureNote
    }

    let id: String?
    let type: Int
    let name: String?
    let notes: String?
    let organizationId: JSONValue?
    let folderId: String?
    let favorite: Bool?
    let reprompt: Int?
    /// Other programs write null for an item that is in no collection.
    let collectionIds: [String?]?
    let creationDate: String?
    let revisionDate: String?
    let deletedDate: String?
    let fields: [BitwardenObject<Field>]?
    let passwordHistory: [BitwardenObject<Former>]?
    let login: BitwardenObject<Login>?
    let archivedDate: String?
    let card: JSONValue?
    let identity: JSONValue?
    let sshKey: JSONValue?
    let secureNote: JSONValue?

    struct Login: BitwardenMembers {
        enum CodingKeys: String, CodingKey, CaseIterable { case uris, username, password, totp, fido2Credentials }
        let uris: [BitwardenObject<Address>]?
        let username: String?
        let password: String?
        let totp: String?
        let fido2Credentials: [JSONValue]?
        var nested: Int { uris.members() + (fido2Credentials ?? []).reduce(0) { $0 + $1.members } }
    }

    struct Address: BitwardenMembers {
        enum CodingKeys: String, CodingKey, CaseIterable { case uri, match }
        let uri: String?
        /// The method of matching the address: an index into `matches`.
        let match: Int?
        var nested: Int { 0 }
    }

    struct Field: BitwardenMembers {
        enum CodingKeys: String, CodingKey, CaseIterable { case name, value, type, linkedId }
        let name: String?
        let value: JSONValue?
        /// 0 is text, 1 hidden, 2 a Boolean, 3 a link to another field.
        let type: Int?
        /// The linked field: a key of `linked`.
        let linkedId: Int?
        var nested: Int { value?.members ?? 0 }
    }

    struct Former: BitwardenMembers {
        enum CodingKeys: String, CodingKey, CaseIterable { case lastUsedDate, password }
        let lastUsedDate: String?
        let password: String?
        var nested: Int { 0 }
    }

    var nested: Int {
        fields.members() + passwordHistory.members() + (login?.members ?? 0)
            + [card, identity, sshKey, secureNote, organizationId].reduce(0) { $0 + ($1?.members ?? 0) }
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
    /// True if this version knows the contents of items of this type.
    var isKnown: Bool { (1...5).contains(type) }

    /// Converts the item to an entry.
    ///
    /// `others`: the members that this version does not know. In an item of unknown type, those members are the
    /// contents.
    func entry(
        _ place: String, _ folders: [String: String], _ collections: [String: String], others: [String: JSONValue]
    ) -> ImportedEntry {
        var entry = ImportedEntry(place: place)
        if let id { entry.origin = "bitwarden:\(id)" }
        entry.title = name ?? ""
        entry.notes = Self.secret(notes)
        if let folderId {
            entry.folder = (folders[folderId] ?? folderId).split(separator: "/").map(String.init)
        }
        let names = (collectionIds ?? []).compactMap { id in id.map { collections[$0] ?? $0 } }
        if !names.isEmpty {
            entry.properties.append((BitwardenImport.collections, names.joined(separator: "\n")))
        }
        if let organization = organizationId?.text { entry.properties.append(("organization", organization)) }
        if favorite == true { entry.properties.append(("favorite", "1")) }
        if let archivedDate { entry.properties.append(("archived", archivedDate)) }
        if let deletedDate { entry.properties.append(("deleted", deletedDate)) }
        if let reprompt, reprompt != 0 { entry.properties.append(("reprompt", String(reprompt))) }
        entry.created = Self.time(creationDate, "its creation date", &entry)
        entry.modified = Self.time(revisionDate, "its revision date", &entry)
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
        if let login { putKeepingSecret(login, &entry) }
        for object in fields ?? [] {
            let field = object.known
            let linked = field.linkedId.map { "linked to \(Self.linked[$0] ?? String($0))" }
            // A field without a value is treated as a field with an empty value.
            let isEmpty = if case .nothing = field.value ?? .nothing { true } else { false }
            if let value = field.value?.text ?? linked ?? (isEmpty ? "" : nil) {
                entry.fields.append(
                    ImportedEntry.Field(
                        name: field.name ?? "field", value: SharedSecret(text: value),
                        isConcealed: field.type == 1
                            || field.linkedId == nil && SecretName.isSecret(field.name ?? "")))
            } else if let value = field.value {
                putFurther(value, field.name ?? "field", &entry)
            }
            putFurther(.object(object.others), "fields", &entry)
        }
        putFurther(others, &entry)
        entry.history = history(of: &entry)
        return entry
    }

    /// Adds the members that this version does not know, and the members that items of this type do not have. All of
    /// these are sealed, because they may be secret.
    private func putFurther(_ others: [String: JSONValue], _ entry: inout ImportedEntry) {
        for (name, body, itsType) in [("card", card, 3), ("identity", identity, 4), ("sshKey", sshKey, 5)]
        where type != itsType {
            if let body { putFurther(body, name, &entry) }
        }
        for leaf in secureNote?.leaves("secureNote") ?? [] where (leaf.name, leaf.text) != ("secureNote.type", "0") {
            putFurther(.text(leaf.text), leaf.name, &entry)
        }
        for (name, body) in others.sorted(by: { $0.key < $1.key }) {
            // The objects of an item of unknown type are its contents.
            if !isKnown, case .object = body { continue }
            if name == "attachments" { loseAttachments(body, &entry) }
            putFurther(body, name, &entry)
        }
        for former in passwordHistory ?? [] { putFurther(.object(former.others), "passwordHistory", &entry) }
    }

    /// Records attachments as lost: a JSON export describes them, but their contents are in other files.
    private func loseAttachments(_ value: JSONValue, _ entry: inout ImportedEntry) {
        for leaf in value.leaves("attachments") where leaf.name.hasSuffix("fileName") {
            entry.lose("the contents of the attachment \(TerminalText.quoted(leaf.text)) are not in the file")
        }
    }

    private func putFurther(_ value: JSONValue, _ name: String, _ entry: inout ImportedEntry) {
        for leaf in value.leaves(name) where !leaf.text.isEmpty {
            entry.fields.append(
                ImportedEntry.Field(name: leaf.name, value: SharedSecret(text: leaf.text), isConcealed: true))
        }
    }

    /// Returns a time; an invalid time is recorded as a loss.
    private static func time(_ text: String?, _ what: String, _ entry: inout ImportedEntry) -> Int64? {
        guard let text, !text.isEmpty else { return nil }
        let time = ImportedTime.milliseconds(rfc3339: text)
        if time == nil { entry.lose("\(what) cannot be read") }
        return time
    }

    private static func secret(_ text: String?) -> SharedSecret? {
        guard let text, !text.isEmpty else { return nil }
        return SharedSecret(text: text)
    }

    /// Adds a login. A card or a key that has a login keeps its own secret, and an identity keeps its user name.
    private func putKeepingSecret(_ login: BitwardenObject<Login>, _ entry: inout ImportedEntry) {
        let (secret, userName) = (entry.password, entry.userName)
        put(login.known, &entry)
        if let secret {
            if let other = entry.password { putFurther(.text(other.text ?? ""), "login.password", &entry) }
            entry.password = secret
        }
        if !userName.isEmpty {
            if entry.userName != userName { putFurther(.text(entry.userName), "login.username", &entry) }
            entry.userName = userName
        }
        for address in login.known.uris ?? [] { putFurther(.object(address.others), "login.uris", &entry) }
        putFurther(.object(login.others), "login", &entry)
    }

    private func put(_ login: Login, _ entry: inout ImportedEntry) {
        entry.userName = login.username ?? ""
        entry.password = Self.secret(login.password)
        let addresses = (login.uris ?? []).map(\.known).filter { $0.uri?.isEmpty == false }
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

    /// Returns the earlier passwords, oldest first. Bitwarden records when each password was last used, and lists the
    /// newest first; passwords without a date are considered the oldest.
    private func history(of entry: inout ImportedEntry) -> [ImportedEntry.Earlier] {
        var dated: [(time: Int64, password: SharedSecret)] = []
        var undated: [SharedSecret] = []
        for former in passwordHistory ?? [] {
            guard let password = Self.secret(former.known.password) else { continue }
            if let time = Self.time(former.known.lastUsedDate, "the date of an earlier password", &entry) {
                dated.append((time, password))
            } else {
                undated.append(password)
            }
        }
        dated.sort { $0.time < $1.time }
        let oldest = dated.first?.time ?? entry.created ?? entry.modified ?? 0
        let (place, title) = (entry.place, entry.title)
        var before = entry.created
        return (undated.reversed().map { (oldest, $0) } + dated).map { time, password in
            var earlier = ImportedEntry(place: place)
            earlier.title = title
            earlier.password = password
            earlier.modified = before ?? time
            before = time
            return ImportedEntry.Earlier(entry: earlier, replaced: time)
        }
    }
}
