import VaultFmt
import VaultLocal

/// An entry from another password manager in a common form. Every reader of another manager's format produces such
/// entries, and `EntryMapping` turns them into items.
struct ImportedEntry {
    /// The kind of an entry that is not a login.
    enum Kind: Equatable {
        case login
        /// A note, whose text is the secret.
        case note
        /// Another kind, under the manager's own name, such as "card" or "identity".
        case named(String)
    }

    /// A field that has no special meaning here.
    struct Field {
        let name: String
        let value: SharedSecret
        /// True if the manager hides the value.
        let isConcealed: Bool
        /// True if the field is another value under a name that the entry already uses, or if it was not a field in the
        /// source.
        var isFurther = false
    }

    /// An earlier state of the entry.
    struct Earlier {
        let entry: ImportedEntry
        /// Milliseconds since 1970.
        let replaced: Int64
    }

    /// The entry's position in the source, for messages: "line 12", "entry 3".
    let place: String
    /// An identifier that recognizes the entry in a later export of the same database, such as "keepass:" followed by
    /// its UUID.
    var origin = ""
    var kind = Kind.login
    var title = ""
    var userName = ""
    var password: SharedSecret?
    /// The addresses; the item is named after the first address.
    var addresses: [String] = []
    /// The realm of HTTP authentication.
    var realm = ""
    var notes: SharedSecret?
    /// An `otpauth:` URL, or the manager's equivalent.
    var oneTimePassword: SharedSecret?
    /// The reason the entry's fields for one-time passwords could not be expressed as such a URL; they are then among
    /// its fields.
    var codeProblem: String?
    /// The names of the folders that contain the entry, outermost first.
    var folder: [String] = []
    var tags: [String] = []
    /// Milliseconds since 1970.
    var created: Int64?
    var modified: Int64?
    var expires: Int64?
    /// Small non-secret properties, under the names of their attributes: "icon", "favorite".
    var properties: [(name: String, value: String)] = []
    var fields: [Field] = []
    var attachments: [(name: String, value: SharedSecret)] = []
    /// The earlier states, oldest first.
    var history: [Earlier] = []
    /// The vault item that the entry was exported from, if our own export recorded it. The mapping is then exact.
    var exact: ExactItem?
    /// The parts that no item can hold, one line each, without the entry's name.
    private(set) var losses: [String] = []

    /// Records a part that no item can hold.
    mutating func lose(_ what: String) { losses.append(what) }

    /// Returns the description of a lost part, with the entry's place and title.
    func named(_ loss: String) -> String {
        "\(place)\(title.isEmpty ? "" : ", \(TerminalText.quoted(title))"): \(loss)"
    }
}

/// The parts of an item that our export recorded in addition to the fields that other programs understand.
struct ExactItem {
    let key: ItemKey
    /// The key that the item had when it was exported.
    let formerKey: ItemKey
    let secret: SharedSecret
    let attributes: Attributes
    let accessibility: Accessibility
    /// The access group that the item was in; for an earlier state, not always the group in its key.
    let group: String
    /// The places in the entry whose contents are already in these attributes.
    let placed: Set<KDBXPlacement.Place>
}

/// A reader of another manager's format.
protocol EntrySource: ~Copyable {
    /// Passes each entry to `take`, in source order.
    /// - Returns: Descriptions of the parts that would not be imported, one line each.
    mutating func read(_ take: (consuming ImportedEntry) throws -> Void) throws
        -> [Omission]
}

/// Adapts a source of entries to a source of items.
struct MappedSource<Source: EntrySource & ~Copyable>: ~Copyable, ImportSource {
    private var source: Source

    init(_ source: consuming Source) { self.source = source }

    mutating func read(_ take: (consuming ImportRecord) throws -> Void) throws
        -> [Omission]
    {
        var losses: [Omission] = []
        var unnamed = 0
        var refused = RefusedEntries()
        // The hashes use a seed that no source can predict.
        var origins: Set<Int> = []
        var exported: Set<Int> = []
        let more = try source.read { entry in
            var entry = entry
            if !entry.origin.isEmpty, !origins.insert(entry.origin.hashValue).inserted {
                entry.lose(
                    "its identifier, because an earlier entry has the same one; later imports cannot find it by identifier"
                )
                entry.origin = ""
            }
            if let former = entry.exact?.formerKey, !exported.insert(former.hashValue).inserted {
                // Programs that duplicate an entry also copy the data recorded by our export, so this entry is new.
                entry.exact = nil
            }
            var mapping = EntryMapping(entry)
            let key: ItemKey
            do throws(VaultError) { key = try mapping.key() } catch {
                return try refused.add(entry.place, error, named: entry.named)
            }
            let record = mapping.record(key)
            let named = mapping.losses.prefix(Self.mostNamed - losses.count)
            losses += named.map { .loss($0) }
            unnamed += mapping.losses.count - named.count
            try take(record)
        }
        if unnamed > 0 { losses.append(.loss("\(unnamed) more parts of entries")) }
        return more + refused.omissions + losses
    }

    /// The maximum number of lost parts that are named.
    private static var mostNamed: Int { 10_000 }
}
