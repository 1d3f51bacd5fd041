import VaultFmt

/// An entry in a KDBX file, or an earlier state of such an entry.
struct KDBXEntry {
    var uuid: [UInt8] = []
    /// The number of one of KeePass's built-in icons; 0 is the default.
    var icon = 0
    /// The name or identifier of an icon contained in the file.
    var customIcon = ""
    var tags = ""
    var overrideURL = ""
    /// The keys that KeePass types into a form, if they differ from the default.
    var autoType = ""
    /// The time of creation, in milliseconds since 1970.
    var created: Int64?
    var modified: Int64?
    /// True if the entry has a time of creation or modification that cannot be read.
    var hasBadCreation = false
    var hasBadModification = false
    var expiry: Int64?
    var expires = false
    var strings: [KDBXString] = []
    var binaries: [(name: String, place: KDBXBinaries.Place)] = []
    var customData: [(key: String, value: String)] = []
    /// Descriptions of the parts that could not be read.
    var problems: [String] = []
    /// The earlier states, oldest first.
    var history: [KDBXEntry] = []
    /// The names of the groups that contain the entry, except the outermost group.
    var folder: [String] = []
    var isInRecycleBin = false
    /// The number of the entry in the file, from 1.
    var number = 0
    /// The size of the entry in memory, including its earlier states.
    var size = 0

    /// The value of a field.
    subscript(name: String) -> SharedSecret? { strings.first { $0.name == name }?.value }

    /// Returns a field that is not secret, as text.
    func text(_ name: String) -> String { self[name]?.text ?? "" }

    /// Returns whether a hidden field becomes part of an item's name or of its data in the index.
    /// - `placed`: The places of attributes that our own export recorded, which stay sealed or concealed.
    func hasProtectedName(besides placed: Set<KDBXPlacement.Place>) -> Bool {
        strings.contains {
            $0.isProtected && KDBXString.isPublic($0.name) && $0.value.count > 0 && !placed.contains(.string($0.name))
        }
    }

    /// Returns a value recorded by our own exports.
    func own(_ key: String) -> String? { customData.first { $0.key == KDBX.ownPrefix + key }?.value }
}

/// A field of an entry.
struct KDBXString {
    let name: String
    var value: SharedSecret
    var isProtected: Bool
}

extension KDBXString {
    /// The fields that every entry has.
    static let title = "Title"
    static let userName = "UserName"
    static let password = "Password"
    static let url = "URL"
    static let notes = "Notes"
    /// KeePassXC's one-time password, an `otpauth:` URL.
    static let otp = "otp"
    /// The prefix that KeePassXC and Keepass2Android use in the names of additional addresses.
    static let furtherAddress = "KP2A_URL"

    /// Returns whether a field becomes part of an item's name or of its data in the index.
    static func isPublic(_ name: String) -> Bool {
        [title, userName, url].contains(name) || name.hasPrefix(furtherAddress)
    }
}

/// Tags, joined as in KeePass.
enum KDBXTags {
    static func list(_ text: String) -> [String] {
        text.split { ",;".contains($0) }.map { String($0.trimmed) }.filter { !$0.isEmpty }
    }
}
