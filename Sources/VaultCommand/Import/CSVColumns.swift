/// What the columns of a password list mean, found by their headers: those of browsers and password managers.
struct CSVColumns {
    /// What a column is for.
    enum Meaning: Hashable {
        case title, url, furtherAddresses, username, email, password, notes, oneTimePassword, folder, tags
        /// The realm of HTTP authentication, which is part of an internet password's key.
        case realm
        /// "login" or "note", as Bitwarden has it.
        case kind
        /// Times as numbers since 1970.
        case createdNumber, modifiedNumber
        /// Times as RFC 3339 has them.
        case createdText, modifiedText
        /// Kept under this name, where it says something: neither empty nor "0".
        case property(String)
        /// Kept under this name; as secret as a password where `isConcealed`.
        case field(String, isConcealed: Bool)
    }

    private let indices: [Meaning: Int]
    /// Columns that are not known, or occur twice: they become fields under their headers.
    private let unknown: [(name: String, index: Int)]

    init(header: [String]) {
        var indices: [Meaning: Int] = [:]
        var unknown: [(String, Int)] = []
        for (index, name) in header.enumerated() {
            if let meaning = Self.meanings[Self.normalized(name)], indices[meaning] == nil {
                indices[meaning] = index
            } else {
                let trimmed = String(name.trimmed)
                unknown.append((trimmed.isEmpty ? "column \(index + 1)" : trimmed, index))
            }
        }
        self.indices = indices
        self.unknown = unknown
    }

    /// Whether this is a list of passwords at all.
    var isPasswordList: Bool {
        self[.password] != nil && (self[.username] != nil || self[.title] != nil || self[.url] != nil)
    }

    subscript(meaning: Meaning) -> Int? { indices[meaning] }

    /// The columns that become small attributes, with the attributes' names.
    var properties: [(name: String, index: Int)] {
        indices.compactMap { meaning, index in
            if case .property(let name) = meaning { (name, index) } else { nil }
        }.sorted { $0.index < $1.index }
    }

    /// The columns that become attributes of their own, with the attributes' names.
    var fields: [(name: String, index: Int, isConcealed: Bool)] {
        let known = indices.compactMap { meaning, index -> (name: String, index: Int, isConcealed: Bool)? in
            if case .field(let name, let isConcealed) = meaning { (name, index, isConcealed) } else { nil }
        }
        return (known + unknown.map { ($0.name, $0.index, false) }).sorted { $0.index < $1.index }
    }

    private static func normalized(_ header: String) -> String {
        let isMark = { (character: Character) in character == "\u{FEFF}" || character.isWhitespace }
        return header.drop(while: isMark).trimmed.lowercased()
    }

    private static let meanings: [String: Meaning] = [
        "title": .title, "name": .title, "account": .title,
        "url": .url, "login_uri": .url, "website": .url, "web site": .url,
        "additional_urls": .furtherAddresses,
        "username": .username, "login_username": .username, "login name": .username, "email": .email,
        "password": .password, "login_password": .password,
        "note": .notes, "notes": .notes, "extra": .notes, "comments": .notes,
        "otpauth": .oneTimePassword, "totp": .oneTimePassword, "login_totp": .oneTimePassword,
        "otpurl": .oneTimePassword, "otpsecret": .oneTimePassword, "one-time password": .oneTimePassword,
        "group": .folder, "folder": .folder, "grouping": .folder, "category": .folder, "vault": .folder,
        "tags": .tags, "collections": .property("collections"),
        "httprealm": .realm, "type": .kind,
        "timecreated": .createdNumber, "timepasswordchanged": .modifiedNumber,
        "timelastused": .property("last-used"),
        "createtime": .createdText, "modifytime": .modifiedText,
        "created": .createdText, "last modified": .modifiedText,
        "formactionorigin": .property("form-action-origin"), "guid": .property("guid"),
        "icon": .property("icon"), "favorite": .property("favorite"), "fav": .property("favorite"),
        "archived": .property("archived"), "reprompt": .property("reprompt"),
        "fields": .field("sealed:fields", isConcealed: true),
        "custom_fields": .field("sealed:fields", isConcealed: true),
        "cardnumber": .field("cardnumber", isConcealed: true), "cvc": .field("cvc", isConcealed: true),
        "pin": .field("pin", isConcealed: true),
    ]
}
