/// The meaning of the columns of a password list, recognized by the headers that browsers and password managers use.
struct CSVColumns {
    /// The purpose of a column.
    enum Meaning: Hashable {
        case title, url, furtherAddresses, username, email, password, notes, oneTimePassword, folder, tags
        /// The name of an entry that has no title.
        case titleInstead
        /// Custom fields: lines of "NAME: VALUE" as Bitwarden writes them, or NordPass's JSON.
        case customFields
        /// The realm of HTTP authentication, which is part of an internet password's key.
        case realm
        /// "login" or "note", as in Bitwarden's lists.
        case kind
        /// Times as numbers since 1970.
        case createdNumber, modifiedNumber
        /// Times in RFC 3339 form.
        case createdText, modifiedText
        /// A value that is stored under this name unless it is empty or "0".
        case property(String)
        /// A value that is stored under this name, and is hidden like a password if `isConcealed` is set.
        case field(String, isConcealed: Bool)

        /// True if the values are as secret as a password.
        var isSecret: Bool {
            switch self {
            case .password, .notes, .oneTimePassword, .customFields: true
            case .field(_, let isConcealed): isConcealed
            default: false
            }
        }
    }

    private let indices: [Meaning: Int]
    /// Columns that are unknown or occur twice. They become fields named after their headers.
    private let unknown: [(name: String, index: Int, isConcealed: Bool)]
    private let isDashlane: Bool
    /// True if a row that has only a name is a folder, as in NordPass's lists without a column for the type.
    let hasFolderRows: Bool
    /// True if a quote within a field is escaped with a backslash, as KeePass 1 does.
    let hasBackslashes: Bool
    /// True for LastPass's lists, in which some addresses only state what a row is.
    let isLastPass: Bool
    /// The separator between the names in a folder's path.
    let folderMark: Character
    /// The kind of all rows, for a list that has no column for the kind.
    let usualKind: String

    /// The maximum number of columns in a list.
    static let most = 4096

    init(header: [String]) {
        let names = header.map(Self.normalized)
        let dashlane = Self.dashlane[names]
        isDashlane = dashlane != nil
        hasFolderRows = names.contains("cardholdername") && !names.contains("type")
        hasBackslashes = names == ["account", "login name", "password", "web site", "comments"]
        isLastPass = names.contains("grouping")
        folderMark = isLastPass ? "\\" : "/"
        usualKind = names == Self.dashlaneNotes ? "note" : ""
        var indices: [Meaning: Int] = [:]
        var unknown: [(String, Int, Bool)] = []
        for (index, name) in header.enumerated() {
            let known = (dashlane ?? Self.meanings)[names[index]]
            let meaning = known ?? (isDashlane ? nil : Self.foreign[names[index]])
            if let meaning, indices[meaning] == nil {
                indices[meaning] = index
            } else {
                let trimmed = String(name.trimmed)
                let isSecret = meaning?.isSecret ?? SecretName.isSecret(trimmed)
                unknown.append((trimmed.isEmpty ? "column \(index + 1)" : trimmed, index, isSecret))
            }
        }
        self.indices = indices
        self.unknown = unknown
    }

    /// True if entries will have user names.
    var hasUserNames: Bool { isDashlane || self[.username] != nil || self[.email] != nil }

    /// True if this is a list of passwords.
    var isPasswordList: Bool {
        isDashlane
            || self[.password] != nil && (self[.username] != nil || self[.title] != nil || self[.url] != nil)
    }

    subscript(meaning: Meaning) -> Int? { indices[meaning] }

    /// The columns that become small attributes, with the attributes' names.
    var properties: [(name: String, index: Int)] {
        indices.compactMap { meaning, index in
            if case .property(let name) = meaning { (name, index) } else { nil }
        }.sorted { $0.index < $1.index }
    }

    /// The columns that become separate attributes, with the attributes' names.
    var fields: [(name: String, index: Int, isConcealed: Bool)] {
        let known = indices.compactMap { meaning, index -> (name: String, index: Int, isConcealed: Bool)? in
            if case .field(let name, let isConcealed) = meaning { (name, index, isConcealed) } else { nil }
        }
        return (known + unknown).sorted { $0.index < $1.index }
    }

    private static func normalized(_ header: String) -> String {
        let isMark = { (character: Character) in character == "\u{FEFF}" || character.isWhitespace }
        return header.drop(while: isMark).trimmed.lowercased()
    }

    private static let meanings: [String: Meaning] = [
        "title": .title, "name": .title, "account": .title,
        "url": .url, "login_uri": .url, "website": .url, "web site": .url,
        "additional_urls": .furtherAddresses, "autofillurls": .furtherAddresses,
        "username": .username, "login_username": .username, "login name": .username, "login": .username,
        "user": .username, "user name": .username, "user id": .username, "userid": .username, "email": .email,
        "password": .password, "login_password": .password,
        "note": .notes, "notes": .notes, "extra": .notes, "comments": .notes,
        "otpauth": .oneTimePassword, "totp": .oneTimePassword, "login_totp": .oneTimePassword,
        "otpurl": .oneTimePassword, "otpsecret": .oneTimePassword, "one-time password": .oneTimePassword,
        "otp": .oneTimePassword, "otp_secret": .oneTimePassword, "otp secret": .oneTimePassword,
        "totp secret": .oneTimePassword, "totp_secret": .oneTimePassword, "totpsecret": .oneTimePassword,
        "group": .folder, "folder": .folder, "grouping": .folder, "category": .folder, "vault": .folder,
        "tags": .tags, "collections": .property("collections"),
        "httprealm": .realm, "type": .kind,
        "timecreated": .createdNumber, "timepasswordchanged": .modifiedNumber,
        "timelastused": .property("last-used"),
        "createtime": .createdText, "modifytime": .modifiedText,
        "created": .createdText, "last modified": .modifiedText,
        "formactionorigin": .property("form-action-origin"), "guid": .property("guid"),
        "icon": .property("icon"), "favorite": .property("favorite"), "fav": .property("favorite"),
        "archived": .property("archived"), "archiveddate": .property("archived"), "reprompt": .property("reprompt"),
        "fields": .customFields, "custom_fields": .customFields,
        "cardnumber": .field("cardnumber", isConcealed: true), "cvc": .field("cvc", isConcealed: true),
        "pin": .field("pin", isConcealed: true),
    ]
    /// The columns of lists in other languages, under the names that KeePass, related programs and users give them.
    private static let foreign: [String: Meaning] = {
        let words: [(Meaning, [String])] = [
            (.password, SecretName.passwordWords),
            (
                .username,
                [
                    "benutzername", "benutzer", "anmeldename", "nom d'utilisateur", "utilisateur", "identifiant",
                    "usuario", "nombre de usuario", "nome utente", "utente", "usuário", "nome de usuário",
                    "nome de utilizador", "utilizador", "gebruikersnaam", "brugernavn", "brukernavn", "användarnamn",
                    "käyttäjätunnus", "nazwa użytkownika", "użytkownik", "uživatelské jméno", "felhasználónév",
                    "kullanıcı adı", "имя пользователя", "логин", "ユーザー名", "用户名", "使用者名稱", "사용자 이름",
                ]
            ),
            (
                .title,
                [
                    "titel", "bezeichnung", "titre", "nom", "título", "titulo", "nombre", "titolo", "nome", "naam",
                    "tytuł", "nazwa", "název", "název položky", "cím", "başlık", "название", "заголовок", "タイトル",
                    "标题", "標題", "제목",
                ]
            ),
            (
                .url,
                [
                    "webseite", "internetadresse", "adresse web", "site web", "sitio web", "sito web", "sito",
                    "página web", "endereço", "webadres", "adres url", "strona", "веб-сайт", "сайт", "网址", "網址",
                ]
            ),
            (
                .notes,
                [
                    "notiz", "notizen", "bemerkung", "bemerkungen", "kommentar", "remarque", "remarques", "nota",
                    "notas", "note libere", "opmerkingen", "notities", "notatki", "poznámky", "poznámka",
                    "megjegyzés", "notlar", "заметки", "примечание", "メモ", "备注", "備註", "메모",
                ]
            ),
            (.folder, ["gruppe", "ordner", "groupe", "dossier", "grupo", "carpeta", "gruppo", "cartella"]),
        ]
        return Dictionary(words.flatMap { meaning, names in names.map { ($0, meaning) } }) { first, _ in first }
    }()
    private static let dashlaneNotes = ["title", "note"]

    /// The lists in Dashlane's export that have no password column, by their headers.
    private static let dashlane: [[String]: [String: Meaning]] = [
        dashlaneNotes: ["title": .title, "note": .notes],
        [
            "type", "account_name", "account_holder", "cc_number", "code", "expiration_month", "expiration_year",
            "routing_number", "account_number", "country", "issuing_bank", "note", "name",
        ]: [
            "type": .kind, "account_name": .titleInstead, "cc_number": .password, "note": .notes, "name": .title,
            "code": .field("code", isConcealed: true),
            "account_number": .field("account_number", isConcealed: true),
        ],
        ["type", "number", "name", "issue_date", "expiration_date", "place_of_issue", "state"]: [
            "type": .kind, "number": .password,
        ],
        [
            "type", "title", "first_name", "middle_name", "last_name", "login", "date_of_birth", "place_of_birth",
            "email", "email_type", "item_name", "phone_number", "address", "country", "state", "city", "zip",
            "address_recipient", "address_building", "address_apartment", "address_floor", "address_door_code",
            "job_title", "url",
        ]: [
            "type": .kind, "item_name": .title, "url": .url,
            "address_door_code": .field("address_door_code", isConcealed: true),
        ],
    ]
}
