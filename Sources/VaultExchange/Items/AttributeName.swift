/// The names of attributes that have a meaning for import and export (`Docs/import.md`).
package enum AttributeName {
    package static let label = "label"
    package static let notes = "notes"
    package static let oneTimePassword = "otp"
    /// The attribute's name in exports of version 0.1.0.
    package static let earlierOneTimePassword = "sealed:otpauth"
    /// The names of the folders that contain the item, as joined by `FolderPath`.
    package static let folder = "folder"
    /// The tags, one per line.
    package static let tags = "tags"
    /// Addresses that are not in the item's key, one per line.
    package static let address = "url"
    package static let expires = "expires"
    /// The interval at which the secret should be changed: a duration such as 90d.
    package static let changeInterval = "change-every"
    /// `off` excludes the item from `vaultfmt check`.
    package static let check = "check"
    package static let icon = "icon"
    /// The keys that KeePass types into a form.
    package static let autoType = "auto-type"
    /// The kind of item, in words.
    package static let kind = "description"
    /// The identifier by which the item is recognized in a later export from the same source.
    package static let origin = "origin"
    package static let realm = "realm"
    /// The user name in the source, if an import added a suffix to the account to tell items apart.
    static let userName = "user-name"
    /// The fields that exceed the limit of 64 attributes.
    package static let more = "more-fields"
    /// The prefix of an attachment, followed by its name.
    package static let filePrefix = "file:"
    /// The largest attachment in bytes, which is the largest value of an attribute (specification, section 6.2).
    package static let longestFile = 16 << 20
    /// The prefix of a field whose name would otherwise have another meaning.
    package static let fieldPrefix = "field:"

    /// The names that have a special meaning. A field with such a name is stored with the prefix `field:`.
    package static let meaningful: Set<String> = [
        label, notes, oneTimePassword, folder, tags, address, expires, kind, origin, realm, more, icon, userName,
        autoType, check, SecretDate.attribute, AttributeName.changeInterval, "url-match",
        "comment", "creator", "type", "favorite",
    ]
}

/// The path of a folder as text.
package enum FolderPath {
    /// Returns the folder names joined by slashes; a slash or backslash within a name is escaped with a backslash.
    package static func text(_ names: [String]) -> String {
        names.map { name in
            name.replacing("\\", with: "\\\\").replacing("/", with: "\\/")
        }.joined(separator: "/")
    }

    /// Returns the folder names in a joined text.
    package static func names(_ path: String) -> [String] {
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
