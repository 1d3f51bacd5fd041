import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// A column of a listing: its name and its cells.
package enum ListColumn: Equatable {
    case field(Field)
    /// The attribute with the given name.
    case attribute(String)

    /// The columns available for every item.
    package enum Field: String, CaseIterable {
        case name, account, label, folder, tags, group, `class`, modified, created, accessible, otp, id
        case service, server, `protocol`, port, path, url, comment, description, expires
        /// "secret" for an item that shows none.
        case missing
    }

    /// The default columns for scripts.
    static let machineReadable: [ListColumn] = fields([.class, .name, .account, .label, .group, .modified])
    /// The default columns on a terminal; empty columns are omitted.
    static let people: [ListColumn] = fields([
        .name, .account, .label, .folder, .tags, .group, .otp, .class, .modified, .missing,
    ])

    private static func fields(_ fields: [Field]) -> [ListColumn] { fields.map(ListColumn.field) }

    /// Other programs' names for the columns.
    private static let synonyms: [String: Field] = [
        "title": .label, "user": .account, "username": .account, "login": .account, "changed": .modified,
        "updated": .modified, "date": .modified, "tag": .tags, "kind": .class, "type": .class, "category": .class,
        "item": .name, "uuid": .id, "website": .url, "uri": .url,
    ]

    /// Reads a list such as `name,account,attribute:env`.
    package static func list(_ text: String) throws -> [ListColumn] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            let name = String(part.drop { $0 == " " })
            if name.hasPrefix("attribute:"), name.count > "attribute:".count {
                return .attribute(String(name.dropFirst("attribute:".count)))
            }
            if let field = Field(rawValue: name.lowercased()) ?? synonyms[name.lowercased()] { return .field(field) }
            let names = Field.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandFailure(
                .usage,
                "there is no column \(TerminalText.quoted(name)); choose from \(names) and attribute:NAME")
        }
    }

    /// The column's heading.
    var heading: String {
        switch self {
        case .field(.class): "KIND"
        case .field(.modified): "CHANGED"
        case .field(let field): field.rawValue.uppercased()
        case .attribute(let name): TerminalText.escaped(name)
        }
    }

    /// True if the column is never truncated, because part of it would be meaningless.
    var isFixed: Bool {
        switch self {
        case .field(.modified), .field(.created), .field(.otp), .field(.port), .field(.class), .field(.missing):
            true
        default: false
        }
    }

    /// Returns an item's cell in this column.
    /// - `form`: The form of the cell, which depends on the reader.
    func value(of item: Item, label: String?, _ form: Form) -> String {
        switch self {
        case .attribute(let name): Self.attribute(name, of: item, form)
        case .field(let field): Self.field(field, of: item, label: label, form)
        }
    }

    /// The reader of a cell.
    enum Form {
        /// The exact value, for programs.
        case exact
        /// For people.
        case people
        /// For people, including the times of day.
        case precise
    }

    private static func field(_ field: Field, of item: Item, label: String?, _ form: Form) -> String {
        let key = item.key
        switch field {
        case .name: return ItemText.name(key).first ?? ""
        // A class that this version does not define has fields whose meaning is unknown; the second field is shown
        // here.
        case .account: return ItemText.name(key).dropFirst().first ?? ""
        case .label: return label ?? ""
        case .folder: return FolderPath.text(ItemPlace.folder(of: item))
        case .tags: return ItemPlace.tags(of: item).joined(separator: form == .exact ? "\n" : ", ")
        case .group: return key.group
        case .class: return form == .exact ? key.itemClass.name : kind(key.itemClass)
        case .modified: return time(item.modified, form)
        case .created: return time(item.created, form)
        case .accessible: return item.accessibility.name
        case .otp: return item.attributes.attribute(AttributeName.oneTimePassword) == nil ? "" : "yes"
        case .id: return item.id.description
        case .missing: return item.lacksSecret ? "secret" : ""
        case .service: return key.service ?? ""
        case .server: return key.server ?? ""
        case .protocol: return key[.protocol]?.text ?? ""
        case .port: return key[.port]?.number.map { $0 == 0 ? "" : String($0) } ?? ""
        case .path: return key[.path]?.text ?? ""
        case .url, .comment, .description, .expires: return attribute(field.rawValue, of: item, form)
        }
    }

    private static func time(_ milliseconds: Int64, _ form: Form) -> String {
        switch form {
        case .exact: Timestamp.text(milliseconds)
        case .precise: Timestamp.short(milliseconds)
        case .people: String(Timestamp.short(milliseconds).prefix { $0 != " " })
        }
    }

    private static func attribute(_ name: String, of item: Item, _ form: Form) -> String {
        guard let attribute = item.attributes.attribute(name) else { return "" }
        if let text = item.attributes.string(name), !attribute.flags.contains(.concealed) { return text }
        return form == .exact ? "" : attribute.flags.isEmpty ? "(long)" : "(hidden)"
    }

    /// The name of a class as a single word.
    private static func kind(_ itemClass: ItemClass) -> String {
        switch itemClass {
        case .genericPassword: "password"
        case .internetPassword: "internet"
        default: itemClass.name
        }
    }
}
