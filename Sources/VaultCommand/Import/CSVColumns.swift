/// What the columns of a password list mean, found by their headers: those of Chrome, Edge, Firefox, Safari and Apple
/// Passwords, KeePassXC, and Bitwarden.
struct CSVColumns {
    /// What a column is for.
    enum Meaning: Hashable {
        case title, url, username, password, notes, oneTimePassword
        /// The realm of HTTP authentication, which is part of an internet password's key.
        case realm
        /// "login" or "note", as Bitwarden has it.
        case kind
        /// Times in milliseconds since 1970.
        case createdNumber, modifiedNumber
        /// Times as RFC 3339 has them.
        case createdText, modifiedText
        /// Kept under this name, where it says something: neither empty nor "0".
        case attribute(String)
    }

    private let indices: [Meaning: Int]
    /// Columns that are not known, or stand there twice: their index and header.
    let unknown: [(index: Int, header: String)]

    init(header: [String]) {
        var indices: [Meaning: Int] = [:]
        var unknown: [(Int, String)] = []
        for (index, name) in header.enumerated() {
            if let meaning = Self.meanings[Self.normalized(name)], indices[meaning] == nil {
                indices[meaning] = index
            } else {
                unknown.append((index, name))
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

    /// The columns that become attributes, with the attributes' names.
    var attributes: [(name: String, index: Int)] {
        indices.compactMap { meaning, index in
            if case .attribute(let name) = meaning { (name, index) } else { nil }
        }
    }

    private static func normalized(_ header: String) -> String {
        let isMark = { (character: Character) in character == "\u{FEFF}" || character.isWhitespace }
        return header.drop(while: isMark).trimmed.lowercased()
    }

    private static let meanings: [String: Meaning] = [
        "title": .title, "name": .title,
        "url": .url, "login_uri": .url,
        "username": .username, "login_username": .username,
        "password": .password, "login_password": .password,
        "note": .notes, "notes": .notes,
        "otpauth": .oneTimePassword, "totp": .oneTimePassword, "login_totp": .oneTimePassword,
        "group": .attribute("folder"), "folder": .attribute("folder"), "collections": .attribute("collections"),
        "httprealm": .realm, "type": .kind,
        "timecreated": .createdNumber, "timepasswordchanged": .modifiedNumber, "timelastused": .attribute("last-used"),
        "created": .createdText, "last modified": .modifiedText,
        "formactionorigin": .attribute("form-action-origin"), "guid": .attribute("guid"),
        "icon": .attribute("icon"), "favorite": .attribute("favorite"), "fields": .attribute("sealed:fields"),
        "reprompt": .attribute("reprompt"),
    ]
}
