import VaultFmt

/// A folder or a collection.
struct BitwardenNamed: Decodable {
    let id: String
    let name: String
}

/// An item of a Bitwarden export, as Foundation decodes it: in memory that is not wiped, as the decoder leaves no choice.
struct BitwardenItem: Decodable {
    let id: String?
    let type: Int
    let name: String?
    let notes: String?
    let folderId: String?
    let favorite: Bool?
    let reprompt: Int?
    let collectionIds: [String]?
    let creationDate: String?
    let revisionDate: String?
    let deletedDate: String?
    let fields: [Field]?
    let passwordHistory: [Former]?
    let login: Login?
    let card: [String: Scalar]?
    let identity: [String: Scalar]?
    let sshKey: [String: Scalar]?

    struct Login: Decodable {
        let uris: [Address]?
        let username: String?
        let password: String?
        let totp: String?
        let fido2Credentials: [[String: Scalar]]?
    }

    struct Address: Decodable {
        let uri: String?
    }

    struct Field: Decodable {
        let name: String?
        let value: Scalar?
        /// 0 is text, 1 hidden, 2 yes or no, 3 a link to another field.
        let type: Int?
    }

    struct Former: Decodable {
        let lastUsedDate: String?
        let password: String?
    }

    /// A text, a number, yes or no, or nothing, as text.
    struct Scalar: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if value.decodeNil() {
                text = nil
                return
            }
            do { text = try value.decode(String.self) } catch {
                do { text = try value.decode(Bool.self) ? "true" : "false" } catch {
                    text = String(try value.decode(Int64.self))
                }
            }
        }
    }
}

extension BitwardenItem {
    /// The item in everybody's words.
    func entry(_ place: String, _ folders: [String: String], _ collections: [String: String]) -> ImportedEntry {
        var entry = ImportedEntry(place: place)
        if let id { entry.origin = "bitwarden:\(id)" }
        entry.title = name ?? ""
        entry.notes = Self.secret(notes)
        if let folderId {
            entry.folder = (folders[folderId] ?? folderId).split(separator: "/").map(String.init)
        }
        let names = (collectionIds ?? []).map { collections[$0] ?? $0 }
        if !names.isEmpty { entry.properties.append(("collections", names.joined(separator: "\n"))) }
        if favorite == true { entry.properties.append(("favorite", "1")) }
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
        default: break
        }
        if let login { put(login, &entry) }
        for field in fields ?? [] {
            guard let value = field.value?.text else { continue }
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
        entry.addresses = (login.uris ?? []).compactMap(\.uri).filter { !$0.isEmpty }
        entry.oneTimePassword = Self.secret(login.totp)
        for passkey in login.fido2Credentials ?? [] {
            let lines = passkey.sorted { $0.key < $1.key }.compactMap { name, value in
                value.text.map { "\(name)=\($0)" }
            }
            entry.fields.append(
                ImportedEntry.Field(
                    name: "passkey", value: SharedSecret(text: lines.joined(separator: "\n")), isConcealed: true))
        }
    }

    private func put(
        _ values: [String: Scalar]?, _ kind: String, secret: String?, concealed: Set<String>,
        _ entry: inout ImportedEntry
    ) {
        entry.kind = .named(kind)
        for (name, value) in (values ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard let text = value.text, !text.isEmpty else { continue }
            if name == secret {
                entry.password = SharedSecret(text: text)
            } else {
                entry.fields.append(
                    ImportedEntry.Field(
                        name: name, value: SharedSecret(text: text), isConcealed: concealed.contains(name)))
            }
        }
    }

    /// Earlier passwords, the oldest first; Bitwarden notes when each was used last.
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
