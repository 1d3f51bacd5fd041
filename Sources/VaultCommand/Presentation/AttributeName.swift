/// The names of attributes that have a meaning for import and export (`Docs/import.md`).
enum AttributeName {
    static let label = "label"
    static let notes = "notes"
    static let oneTimePassword = "otp"
    /// Its name in exports of version 0.1.0.
    static let earlierOneTimePassword = "sealed:otpauth"
    /// The names of the folders that contain the item, as joined by `FolderPath`.
    static let folder = "folder"
    /// One per line.
    static let tags = "tags"
    /// Addresses that are not in the item's key, one per line.
    static let address = "url"
    static let expires = "expires"
    /// `off` excludes the item from `vaultfmt check`.
    static let check = "check"
    static let icon = "icon"
    /// The keys that KeePass types into a form.
    static let autoType = "auto-type"
    /// The kind of item, in words.
    static let kind = "description"
    /// The identifier that finds the item again in a later export from the same source.
    static let origin = "origin"
    static let realm = "realm"
    /// The user name in the source, if an import added a suffix to the account to tell items apart.
    static let userName = "user-name"
    /// Everything that does not fit into 64 attributes.
    static let more = "more-fields"
    /// The prefix of an attachment, followed by its name.
    static let filePrefix = "file:"
    /// The prefix of a field whose name would otherwise have another meaning.
    static let fieldPrefix = "field:"

    /// The names that have a special meaning. A field with such a name is stored with the prefix `field:`.
    static let meaningful: Set<String> = [
        label, notes, oneTimePassword, folder, tags, address, expires, kind, origin, realm, more, icon, userName,
        autoType, check, SecretDate.attribute, ChangeInterval.attribute, "url-match",
        "comment", "creator", "type", "favorite",
    ]
}

/// The path of a folder as text.
enum FolderPath {
    /// Returns the folder names joined by slashes; a slash or backslash within a name is escaped with a backslash.
    static func text(_ names: [String]) -> String {
        names.map { name in
            name.replacing("\\", with: "\\\\").replacing("/", with: "\\/")
        }.joined(separator: "/")
    }

    /// Returns the folder names in a joined text.
    static func names(_ path: String) -> [String] {
        var names = [""]
        var isEscaped = false
        for character in path.unicodeScalars {
            if !isEscaped, character == "\\" {
                isEscaped = true
            } else if !isEscaped, character == "/" {
                names.append("")
            } else {
                names[names.count - 1].unicodeScalars.append(character)
                isEscaped = false
            }
        }
        return names.filter { !$0.isEmpty }
    }
}
