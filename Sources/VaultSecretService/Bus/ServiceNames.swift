internal import VaultBytes
internal import VaultFmt

/// The names of the Secret Service (freedesktop.org, version 0.2).
package enum ServiceName {
    /// The service's name on the bus.
    package static let bus = "org.freedesktop.secrets"
    static let path = "/org/freedesktop/secrets"
    static let service = "org.freedesktop.Secret.Service"
    static let collection = "org.freedesktop.Secret.Collection"
    static let item = "org.freedesktop.Secret.Item"
    static let session = "org.freedesktop.Secret.Session"
    static let prompt = "org.freedesktop.Secret.Prompt"
    static let properties = "org.freedesktop.DBus.Properties"
    static let introspectable = "org.freedesktop.DBus.Introspectable"

    static let plain = "plain"
    static let encrypted = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
    /// The alias of the collection that clients use by default.
    static let defaultAlias = "default"
}

/// An object of the service, as named by a path. The object need not exist.
enum ServiceObject: Hashable, Sendable {
    case service
    /// The parents of the collections and of the aliases, which exist only for introspection.
    case collections
    case aliases
    /// An access group.
    case collection(String)
    case item(group: String, ItemID)
    /// Another name of a collection.
    case alias(String)
    case session(UInt64)
    case prompt(UInt64)

    /// Parses a path; returns nil if it is not a path of this service. Each object has exactly one path, so paths can
    /// be compared.
    init?(path: String) {
        guard let parsed = Self.parsed(path), parsed.path.isSame(as: path) else { return nil }
        self = parsed
    }

    private static func parsed(_ path: String) -> ServiceObject? {
        guard path.utf8.count <= longest, path.hasPrefix(ServiceName.path) else { return nil }
        let parts = path.dropFirst(ServiceName.path.count).split(separator: "/", omittingEmptySubsequences: false)
        switch parts.count {
        case 1 where parts[0].isEmpty: return .service
        case 2 where parts[1] == "collection": return .collections
        case 2 where parts[1] == "aliases": return .aliases
        case 3 where parts[1] == "collection": return PathElement.decode(parts[2]).map { .collection($0) }
        case 3 where parts[1] == "aliases": return PathElement.decode(parts[2]).map { .alias($0) }
        case 3 where parts[1] == "session": return UInt64(parts[2]).map { .session($0) }
        case 3 where parts[1] == "prompt": return UInt64(parts[2]).map { .prompt($0) }
        case 4 where parts[1] == "collection":
            guard let group = PathElement.decode(parts[2]), let id = ItemID(hex: String(parts[3])) else { return nil }
            return .item(group: group, id)
        default: return nil
        }
    }

    var path: String {
        switch self {
        case .service: ServiceName.path
        case .collections: ServiceName.path + "/collection"
        case .aliases: ServiceName.path + "/aliases"
        case .collection(let group): ServiceName.path + "/collection/" + PathElement.encode(group)
        case .item(let group, let id): ServiceName.path + "/collection/" + PathElement.encode(group) + "/\(id)"
        case .alias(let name): ServiceName.path + "/aliases/" + PathElement.encode(name)
        case .session(let number): ServiceName.path + "/session/\(number)"
        case .prompt(let number): ServiceName.path + "/prompt/\(number)"
        }
    }

    /// The maximum length of a path. The longest path is an item's, if every byte of its group's name is escaped.
    private static let longest = 3 * Format.Limit.field + 128
}

/// A name encoded as an element of an object path: letters and digits are kept, any other byte becomes `_` followed by
/// two hexadecimal digits, and the empty name becomes `_`.
enum PathElement {
    static func encode(_ name: String) -> String {
        guard !name.isEmpty else { return "_" }
        var out: [UInt8] = []
        for byte in name.utf8 {
            if isPlain(byte) {
                out.append(byte)
            } else {
                out.append(UInt8(ascii: "_"))
                out += Array(Hex.encode([byte]).utf8)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// Returns nil if `encode` could not have produced the element.
    static func decode(_ element: Substring) -> String? {
        guard element != "_" else { return "" }
        var bytes: [UInt8] = []
        var rest = element.utf8
        while let byte = rest.popFirst() {
            guard !isPlain(byte) else {
                bytes.append(byte)
                continue
            }
            guard byte == UInt8(ascii: "_"), rest.count >= 2,
                let escaped = Hex.decode(String(decoding: Array(rest.prefix(2)), as: UTF8.self))
            else { return nil }
            bytes += escaped
            rest = rest.dropFirst(2)
        }
        guard !bytes.isEmpty, let name = String(validating: bytes, as: UTF8.self) else { return nil }
        return encode(name).isSame(as: element) ? name : nil
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

extension StringProtocol {
    /// Returns whether two strings have the same bytes. Swift considers some strings equal that differ in their bytes,
    /// but they are different names.
    func isSame(as other: some StringProtocol) -> Bool { utf8.elementsEqual(other.utf8) }
}
