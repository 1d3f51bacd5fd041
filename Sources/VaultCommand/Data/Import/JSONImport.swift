import VaultFmt
import VaultLocal

/// Reads `vaultfmt export --format json` (`Spec/export-json.md`), item by item.
struct JSONImport: ~Copyable, ImportSource {
    private var splitter: JSONSplitter

    init(_ reader: consuming SourceReader) {
        splitter = JSONSplitter(reader)
    }

    mutating func read(_ take: (consuming ImportRecord) throws(CommandFailure) -> Void) throws(CommandFailure) -> [String] {
        var seen: Set<String> = []
        while let piece = try splitter.next() {
            switch piece {
            case .member(let name):
                guard seen.insert(name).inserted else { throw failure("the member \(TerminalText.quoted(name)) stands there twice") }
                try check(name)
            case .element:
                guard seen.isSuperset(of: ["format", "version"]) else {
                    throw failure("'format' and 'version' must stand before 'items'")
                }
                try take(record())
            }
        }
        guard splitter.hasItems, seen.isSuperset(of: ["format", "version"]) else {
            throw CommandFailure.damaged("byte 0", "this is JSON, but not an export of vaultfmt")
        }
        return []
    }

    private func failure(_ what: String) -> CommandFailure { .damaged("byte \(splitter.offset)", what) }

    /// Members beside the items: who wrote the export, and of which vault. `vault` and `generation` are for people.
    private func check(_ name: String) throws(CommandFailure) {
        switch name {
        case "format":
            guard try splitter.decode(String.self) == JSONExport.format else {
                throw failure("'format' is not \(TerminalText.quoted(JSONExport.format)): this is not an export of vaultfmt")
            }
        case "version":
            guard try splitter.decode(Int.self) == JSONExport.version else {
                throw CommandFailure(.unavailable, "this export is not of version \(JSONExport.version); a newer vaultfmt is needed")
            }
        case "vault": _ = try splitter.decode(String.self)
        case "generation": _ = try splitter.decode(UInt64.self)
        case "items": throw failure("'items' is not an array, or stands there twice")
        default:
            throw failure("the member \(TerminalText.quoted(name)) is not known: this is not an export of vaultfmt that can be read")
        }
    }

    private func record() throws(CommandFailure) -> ImportRecord {
        let item = try splitter.decode(JSONItem.self)
        let attributes = try item.members == splitter.members ? item.attributes : exactAttributes()
        let place = "byte \(splitter.offset)"
        let key = try importing(place) { () throws(VaultError) in
            try ItemKey(item.fields, group: item.group, synchronizable: item.synchronizable)
        }
        return ImportRecord(
            place: place, key: key, secret: Secret(copying: item.secret), attributes: attributes,
            accessibility: item.accessibility, created: item.created, modified: item.modified)
    }

    /// The attributes of an item, taken apart name by name: Foundation drops members whose names differ in nothing but how accents are
    /// composed. Names that are the same to the byte are an error.
    private func exactAttributes() throws(CommandFailure) -> Attributes {
        var item = JSONSplitter(SourceReader(splitter.piece, at: splitter.offset))
        var attributes = Attributes()
        try Self.forEachMember(of: &item) { name, item throws(CommandFailure) in
            guard name == "attributes" else { return }
            var list = JSONSplitter(SourceReader(item.piece, at: item.offset))
            try Self.forEachMember(of: &list) { name, list throws(CommandFailure) in
                attributes[name] = try list.decode(JSONBytes.self).bytes
            }
        }
        return attributes
    }

    private static func forEachMember(
        of object: inout JSONSplitter, _ body: (String, borrowing JSONSplitter) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        var names: Set<[UInt8]> = []
        while let piece = try object.next() {
            guard case .member(let name) = piece, names.insert(Array(name.utf8)).inserted else {
                throw .damaged("byte \(object.offset)", "a member stands there twice")
            }
            try body(name, object)
        }
    }
}
