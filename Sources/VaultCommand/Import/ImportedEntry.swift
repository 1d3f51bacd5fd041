import VaultFmt

/// An entry of another password manager, in words that all of them share: what every reader of such a format makes, and
/// `EntryMapping` turns into an item.
struct ImportedEntry {
    /// What kind of entry it is, where it is not a login.
    enum Kind: Equatable {
        case login
        /// Its text is the secret.
        case note
        /// What else the manager calls it: "card", "identity".
        case named(String)
    }

    /// A field that has no meaning of its own here.
    struct Field {
        let name: String
        let value: SharedSecret
        /// Whether the manager hides it.
        let isConcealed: Bool
    }

    /// What the entry was until it was changed.
    struct Earlier {
        let entry: ImportedEntry
        /// Milliseconds since 1970.
        let replaced: Int64
    }

    /// Where it is in the source, for messages: "line 12", "entry 3".
    let place: String
    /// What finds it again in a later export of the same database: "keepass:" and its identifier.
    var origin = ""
    var kind = Kind.login
    var title = ""
    var userName = ""
    var password: SharedSecret?
    /// The first is what the item is named after.
    var addresses: [String] = []
    /// The realm of HTTP authentication.
    var realm = ""
    var notes: SharedSecret?
    /// An `otpauth:` address, or what the manager has instead.
    var oneTimePassword: SharedSecret?
    /// The names of the folders that it is in, the outermost first.
    var folder: [String] = []
    var tags: [String] = []
    /// Milliseconds since 1970.
    var created: Int64?
    var modified: Int64?
    var expires: Int64?
    /// Small things that are no secrets, under the names of their attributes: "icon", "favorite".
    var properties: [(name: String, value: String)] = []
    var fields: [Field] = []
    var attachments: [(name: String, value: SharedSecret)] = []
    /// The oldest first.
    var history: [Earlier] = []
    /// What it was in a vault, where our own export says so: its mapping is then exact.
    var exact: ExactItem?
    /// What of it no item can hold, a line each.
    var losses: [String] = []
}

/// An item's parts that an export of ours noted beside what other programs understand.
struct ExactItem {
    let key: ItemKey
    /// The key that it had when it was exported.
    let formerKey: ItemKey
    let secret: SharedSecret
    let attributes: Attributes
    let accessibility: Accessibility
    /// What of the entry is in these attributes already.
    let placed: Set<KDBXPlacement.Place>
}

/// A reader of another manager's format.
protocol EntrySource: ~Copyable {
    /// Hands over each entry in the order of the source.
    /// - Returns: What else the source holds and a vault would not, a line each.
    mutating func read(_ take: (consuming ImportedEntry) throws -> Void) throws
        -> [Omission]
}

/// A source of entries as a source of items.
struct MappedSource<Source: EntrySource & ~Copyable>: ~Copyable, ImportSource {
    private var source: Source

    init(_ source: consuming Source) { self.source = source }

    mutating func read(_ take: (consuming ImportRecord) throws -> Void) throws
        -> [Omission]
    {
        var losses: [Omission] = []
        let more = try source.read { entry in
            var mapping = EntryMapping(entry)
            let record = try mapping.record()
            losses += mapping.losses.map { .loss($0) }
            try take(record)
        }
        return more + losses
    }
}
