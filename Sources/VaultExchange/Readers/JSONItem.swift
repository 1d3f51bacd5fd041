import FoundationEssentials
import VaultBytes
import VaultFmt
import VaultLocal

/// An item of an export (`Spec/export-json.md`), as decoded by Foundation. The decoder unavoidably puts the secret into
/// memory that is not wiped; it is moved into a `Secret` immediately.
struct JSONItem: Decodable {
    let itemClass: ItemClass
    let fields: [ItemKey.Field: ItemKey.Value]
    let group: String
    let synchronizable: Bool
    let accessibility: Accessibility
    let created: Int64?
    let modified: Int64?
    let attributes: Attributes
    let secret: [UInt8]
    /// The earlier values, oldest first.
    let earlier: [JSONEarlierValue]
    /// The number of members read, including those of nested objects. If the text has more members, a name occurs
    /// twice.
    let members: Int

    init(from decoder: any Decoder) throws {
        let object = try JSONObject(decoder)
        itemClass = try object.itemClass()
        try object.allow(Self.common.union(itemClass.fields.map(\.name)))
        fields = try object.fields(itemClass)
        group = try object.optional("group") ?? ""
        synchronizable = try object.optional("synchronizable") ?? false
        accessibility = try object.accessibility()
        created = try object.time("created")
        modified = try object.time("modified")
        let secret: JSONBytes = try object.required("secret")
        self.secret = secret.bytes
        earlier = try object.optional("earlier") ?? []
        let list = try object.attributes()
        attributes = list.attributes
        members = object.count + secret.members + list.members + earlier.reduce(0) { $0 + $1.members }
    }

    /// The members common to all classes. `id` and `revision` identify the item's origin and are not imported.
    private static let common: Set<String> = [
        "class", "group", "synchronizable", "accessible", "created", "modified", "attributes", "secret", "id",
        "revision", "earlier",
    ]
}

/// An earlier value of an item.
struct JSONEarlierValue: Decodable {
    /// The time at which the value was set; nil if it is not known.
    let modified: Int64?
    let replaced: Int64
    /// The group that the item was in; nil for the item's own group.
    let group: String?
    let attributes: Attributes
    let secret: [UInt8]
    let members: Int

    init(from decoder: any Decoder) throws {
        let object = try JSONObject(decoder)
        try object.allow(["modified", "replaced", "group", "attributes", "secret"])
        guard let replaced = try object.time("replaced") else { throw object.failure("has no time 'replaced'") }
        modified = try object.time("modified")
        self.replaced = replaced
        group = try object.optional("group")
        let secret: JSONBytes = try object.required("secret")
        self.secret = secret.bytes
        let list = try object.attributes()
        attributes = list.attributes
        members = object.count + secret.members + list.members
    }
}

/// An attribute in JSON: bytes, or an object with `text` or `base64`, plus `flags` if they are not the default.
struct JSONAttribute: Decodable {
    let bytes: [UInt8]
    let flags: Attribute.Flags?
    /// The number of members, or 0 for a string.
    let members: Int

    init(from decoder: any Decoder) throws {
        do {
            bytes = Array(try decoder.singleValueContainer().decode(String.self).utf8)
            flags = nil
            members = 0
            return
        } catch DecodingError.typeMismatch {
            // The value must be an object.
        }
        let object = try JSONObject(decoder)
        try object.allow(["text", "base64", "flags"])
        let text: String? = try object.optional("text")
        let encoded: String? = try object.optional("base64")
        switch (text, encoded) {
        case (let text?, nil): bytes = Array(text.utf8)
        case (nil, let encoded?):
            guard let data = Data(base64Encoded: encoded) else { throw object.failure("is not Base64") }
            bytes = Array(data)
        default: throw object.failure("must have exactly one of 'text' and 'base64'")
        }
        let names: [String]? = try object.optional("flags")
        flags = try names.map { names in
            var flags: Attribute.Flags = []
            for name in names {
                guard let flag = AttributeFlag(rawValue: name) else {
                    throw object.failure("has the unknown flag \(TerminalText.quoted(name))", at: "flags")
                }
                flags.insert(flag.value)
            }
            return flags
        }
        members = object.count
    }

    /// Returns the attribute with its name, using the default flags if none are given.
    func attribute(_ name: String) -> Attribute { Attribute(name, bytes, flags: flags ?? .usual(for: name)) }
}

/// Bytes in JSON: a string, taken as UTF-8, or `{"base64": …}`.
struct JSONBytes: Decodable {
    let bytes: [UInt8]
    /// 1 for the object form, otherwise 0.
    let members: Int

    init(from decoder: any Decoder) throws {
        do {
            bytes = Array(try decoder.singleValueContainer().decode(String.self).utf8)
            members = 0
            return
        } catch DecodingError.typeMismatch {
            // Not a string, so it must be an object with Base64.
        }
        let object = try JSONObject(decoder)
        try object.allow(["base64"])
        let encoded: String = try object.required("base64")
        guard let data = Data(base64Encoded: encoded) else { throw object.failure("is not Base64") }
        bytes = Array(data)
        members = 1
    }
}

/// A JSON object with access to its members by name.
struct JSONObject {
    struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    private let container: KeyedDecodingContainer<Name>

    init(_ decoder: any Decoder) throws {
        container = try decoder.container(keyedBy: Name.self)
    }

    var count: Int { container.allKeys.count }

    func required<T: Decodable>(_ name: String) throws -> T {
        try container.decode(T.self, forKey: Name(stringValue: name))
    }

    func optional<T: Decodable>(_ name: String) throws -> T? {
        guard container.contains(Name(stringValue: name)) else { return nil }
        return try required(name)
    }

    /// Returns the members whose names are not among the given ones.
    func others(than names: Set<String>) throws -> [String: JSONValue] {
        var others: [String: JSONValue] = [:]
        for key in container.allKeys where !names.contains(key.stringValue) {
            others[key.stringValue] = try container.decode(JSONValue.self, forKey: key)
        }
        return others
    }

    /// Throws an error for unknown members, because their meaning would be lost.
    func allow(_ names: Set<String>) throws {
        for key in container.allKeys where !names.contains(key.stringValue) {
            throw failure("has the unknown member \(TerminalText.quoted(key.stringValue))")
        }
    }

    func failure(_ what: String, at name: String? = nil) -> JSONFault {
        JSONFault(path: container.codingPath + (name.map { [Name(stringValue: $0)] } ?? []), what: what)
    }
}

extension JSONObject {
    fileprivate func itemClass() throws -> ItemClass {
        let name: String = try required("class")
        guard let itemClass = ItemClass(name: name), itemClass.isDefined else {
            throw failure("is not one of the five classes", at: "class")
        }
        return itemClass
    }

    fileprivate func accessibility() throws -> Accessibility {
        guard let name: String = try optional("accessible") else { return .whenUnlocked }
        guard let accessibility = Accessibility(name: name) else {
            throw failure("is not an accessibility that this version knows", at: "accessible")
        }
        return accessibility
    }

    fileprivate func fields(_ itemClass: ItemClass) throws -> [ItemKey.Field: ItemKey.Value] {
        var fields: [ItemKey.Field: ItemKey.Value] = [:]
        for field in itemClass.fields where !Self.optionalFields.contains(field) || contains(field.name) {
            switch field.kind {
            case .text: fields[field] = .text(try required(field.name))
            case .number: fields[field] = .number(try number(field.name))
            case .bytes: fields[field] = .bytes(try bytes(field.name))
            }
        }
        return fields
    }

    /// The fields that default to empty.
    private static let optionalFields: Set<ItemKey.Field> = [
        .account, .protocol, .port, .path, .securityDomain, .authenticationType,
    ]

    private func contains(_ name: String) -> Bool { container.contains(Name(stringValue: name)) }

    /// Returns the member `attributes`, and the total number of its members.
    fileprivate func attributes() throws -> (attributes: Attributes, members: Int) {
        guard let list: [String: JSONAttribute] = try optional("attributes") else { return (Attributes(), 0) }
        guard list.count <= Format.Limit.attributes else {
            throw failure("must have at most \(Format.Limit.attributes) attributes", at: "attributes")
        }
        return (Attributes(list.map { $1.attribute($0) }), list.values.reduce(list.count) { $0 + $1.members })
    }

    private func number(_ name: String) throws -> UInt32 {
        let number: Double = try required(name)
        guard let exact = UInt32(exactly: number) else {
            throw failure("is not a whole number from 0 to \(UInt32.max)", at: name)
        }
        return exact
    }

    /// Returns the bytes of a key's field, which are always in Base64, as in listings.
    private func bytes(_ name: String) throws -> [UInt8] {
        let encoded: String = try required(name)
        guard let data = Data(base64Encoded: encoded) else { throw failure("is not Base64", at: name) }
        return Array(data)
    }

    /// Returns milliseconds since 1970, from RFC 3339 text or from the number itself.
    fileprivate func time(_ name: String) throws -> Int64? {
        guard container.contains(Name(stringValue: name)) else { return nil }
        let text: String
        do {
            text = try required(name)
        } catch DecodingError.typeMismatch {
            return try container.decode(Int64.self, forKey: Name(stringValue: name))
        }
        guard let time = ImportedTime.milliseconds(rfc3339: text) else {
            throw failure("is not an RFC 3339 time", at: name)
        }
        return time
    }
}
