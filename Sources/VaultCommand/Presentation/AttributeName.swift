/// The names of attributes that mean something to import and export (`Docs/import.md`).
enum AttributeName {
    static let label = "label"
    static let notes = "notes"
    static let oneTimePassword = "otp"
    /// Names of folders, as `FolderPath` joins them.
    static let folder = "folder"
    /// A line each.
    static let tags = "tags"
    /// Addresses that the item's key does not say, a line each.
    static let address = "url"
    static let expires = "expires"
    static let icon = "icon"
    /// What kind of item it is, in words.
    static let kind = "description"
    /// What finds the item again in a later export of where it came from.
    static let origin = "origin"
    static let realm = "realm"
    /// What does not fit into 64 attributes.
    static let more = "more-fields"
    /// An attachment, with its name after it.
    static let filePrefix = "file:"
    /// A field whose name would mean something else.
    static let fieldPrefix = "field:"
}

/// Names of folders in one text.
enum FolderPath {
    /// Names of folders as one text: joined by slashes; one within a name, and a backslash, has a backslash before it.
    static func text(_ names: [String]) -> String {
        names.map { name in
            name.replacing("\\", with: "\\\\").replacing("/", with: "\\/")
        }.joined(separator: "/")
    }

    /// The names of folders that a text joins.
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
