import VaultFmt
import VaultLocal

/// Reads `vaultfmt export --format json` (`Spec/export-json.md`), item by item.
struct JSONImport: ~Copyable, ImportSource {
    private var splitter: JSONSplitter

    init(_ reader: consuming SourceReader) {
        splitter = JSONSplitter(reader)
    }

    mutating func read(_ take: (consuming ImportRecord) throws -> Void) throws -> [Omission] {
        var seen: Set<String> = []
        while let piece = try splitter.next() {
            switch piece {
            case .member(let name):
                guard seen.insert(name).inserted else {
                    throw failure("the member \(TerminalText.quoted(name)) occurs twice")
                }
                try check(name, isOurs: seen.contains("format"))
            case .element:
                guard seen.isSuperset(of: ["format", "version"]) else {
                    throw failure("'format' and 'version' must come before 'items'")
                }
                try take(record())
            }
        }
        guard splitter.hasItems, seen.isSuperset(of: ["format", "version"]) else {
            throw ExchangeError.damaged("byte 0", "this is JSON, but not a vaultfmt export")
        }
        return []
    }

    private func failure(_ what: String) -> ExchangeError { .damaged("byte \(splitter.offset)", what) }

    /// Checks the members other than `items`, which identify the program that wrote the export and the vault that it
    /// came from. `vault` and `generation` are only informative.
    private func check(_ name: String, isOurs: Bool) throws {
        switch name {
        case "format":
            guard try splitter.decode(String.self) == JSONExport.format else {
                throw failure(
                    "'format' is not \(TerminalText.quoted(JSONExport.format)): this is not a vaultfmt export")
            }
        case "version":
            guard (1...JSONExport.version).contains(try splitter.decode(Int.self)) else {
                throw ExchangeError(
                    .unavailable,
                    "this export's version is not between 1 and \(JSONExport.version); a newer vaultfmt is needed")
            }
        case "vault": _ = try splitter.decode(String.self)
        case "generation": _ = try splitter.decode(UInt64.self)
        case "items": throw failure("'items' is not an array, or occurs twice")
        default:
            guard isOurs else {
                throw failure(
                    "the member \(TerminalText.quoted(name)) is unknown: this is neither a vaultfmt export nor Bitwarden's; "
                        + "export CSV or KDBX from the other program"
                )
            }
            throw failure(
                "the member \(TerminalText.quoted(name)) is unknown: this is not a vaultfmt export that this version can read"
            )
        }
    }

    private func record() throws -> ImportRecord {
        let item = try splitter.decode(JSONItem.self)
        let (attributes, earlier) =
            try item.members == splitter.members ? (item.attributes, item.earlier.map(\.attributes)) : exact()
        let place = "byte \(splitter.offset)"
        let key = try importing(place) {
            try ItemKey(item.itemClass, item.fields, group: item.group, synchronizable: item.synchronizable)
        }
        var record = ImportRecord(
            place: place, key: key, secret: Secret(copying: item.secret), attributes: attributes, mayHaveTwins: false)
        (record.accessibility, record.created, record.modified) = (item.accessibility, item.created, item.modified)
        record.codeProblem = OneTimeCode.problem(in: attributes)
        record.earlier = zip(item.earlier, earlier).map { value, attributes in
            let secret = SharedSecret(Secret(copying: value.secret))
            return ImportRecord.Earlier(
                value: NewEarlierValue(
                    secret: secret.secret.copy(), attributes: attributes, replaced: value.replaced,
                    group: value.group ?? item.group),
                secret: secret, modified: value.modified ?? value.replaced)
        }
        return record
    }

    /// Returns the attributes of an item and of its earlier values, parsed name by name, because Foundation drops
    /// members whose names differ only in how accents are composed. Names that are identical byte for byte are an
    /// error.
    private func exact() throws -> (Attributes, [Attributes]) {
        var item = JSONSplitter(SourceReader(splitter.piece, at: splitter.offset))
        var attributes = Attributes()
        var earlier: [Attributes] = []
        try Self.forEachMember(of: &item) { name, item in
            switch name {
            case "attributes": attributes = try Self.attributes(item)
            case "earlier": earlier = try Self.attributesOfEach(item)
            case "secret": try Self.checkSecret(item)
            default: break
            }
        }
        return (attributes, earlier)
    }

    /// Returns the value of a member named `attributes`.
    private static func attributes(_ member: borrowing JSONSplitter) throws -> Attributes {
        var list = JSONSplitter(SourceReader(member.piece, at: member.offset))
        var attributes = Attributes()
        try forEachMember(of: &list) { name, list in
            let attribute = try list.decode(JSONAttribute.self)
            guard attribute.members == list.members else { throw twice(list) }
            attributes.set(attribute.attribute(name))
        }
        return attributes
    }

    /// Returns the member `attributes` of each object in an array.
    private static func attributesOfEach(_ array: borrowing JSONSplitter) throws -> [Attributes] {
        let start: StaticString = "{\"items\":"
        var object = SecretBuffer(capacity: array.piece.count + 16)
        object.append(start)
        array.piece.withUnsafeBytes { object.append($0) }
        object.append("}")
        var list = JSONSplitter(
            SourceReader(object, at: array.offset - min(array.offset, UInt64(start.utf8CodeUnitCount))))
        var all: [Attributes] = []
        while try list.next() != nil {
            var value = JSONSplitter(SourceReader(list.piece, at: list.offset))
            var attributes = Attributes()
            try forEachMember(of: &value) { name, value in
                if name == "attributes" { attributes = try Self.attributes(value) }
                if name == "secret" { try Self.checkSecret(value) }
            }
            all.append(attributes)
        }
        return all
    }

    private static func checkSecret(_ member: borrowing JSONSplitter) throws {
        guard try member.decode(JSONBytes.self).members == member.members else { throw twice(member) }
    }

    private static func twice(_ object: borrowing JSONSplitter) -> ExchangeError {
        .damaged("byte \(object.offset)", "a member occurs twice")
    }

    private static func forEachMember(
        of object: inout JSONSplitter, _ body: (String, borrowing JSONSplitter) throws -> Void
    ) throws {
        var names: Set<[UInt8]> = []
        while let piece = try object.next() {
            guard case .member(let name) = piece, names.insert(Array(name.utf8)).inserted else {
                throw twice(object)
            }
            try body(name, object)
        }
    }
}
