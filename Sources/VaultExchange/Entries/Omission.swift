import VaultFmt
import VaultLocal

/// A part of a source that is not imported.
package struct Omission {
    /// A description of the omission, including its place in the source.
    package let text: String
    /// True if the omission loses nothing or was requested.
    package let isIntended: Bool
    /// The number of the source's entries that are omitted; 0 if only a part of an entry is omitted.
    package let entries: Int
    /// True if the omitted part is in the recycle bin of the source's program.
    package let isInRecycleBin: Bool

    /// Describes a loss.
    package static func loss(_ text: String, entries: Int = 0) -> Omission {
        Omission(text: text, isIntended: false, entries: entries, isInRecycleBin: false)
    }

    /// Describes an omission that is not a loss, or that the user can choose to import.
    static func intended(_ text: String, entries: Int = 0, isInRecycleBin: Bool = false) -> Omission {
        Omission(text: text, isIntended: true, entries: entries, isInRecycleBin: isInRecycleBin)
    }
}

/// Entries that are omitted for the same reason, by name.
struct OmittedEntries {
    private(set) var count = 0
    private var names: [String] = []

    /// The maximum number of entries that are named.
    private static let most = 1000

    /// Adds an entry with its place in the source.
    mutating func add(_ title: String, _ place: String) {
        count += 1
        guard names.count < Self.most else { return }
        names.append("\(TerminalText.quoted(title)) (\(place))")
    }

    /// Returns the number of entries, the reason, and the names; nil if no entries are omitted.
    func omission(
        _ one: String, _ several: String, _ reason: String, isInRecycleBin: Bool = false
    ) -> [Omission] {
        guard count > 0 else { return [] }
        let more = count > names.count ? " and \(count - names.count) more" : ""
        return [
            .intended(
                "\(count) \(count == 1 ? one : several) \(reason): \(names.joined(separator: ", "))\(more)",
                entries: count, isInRecycleBin: isInRecycleBin)
        ]
    }
}

/// Entries that are not imported because their names or groups are too long for an item.
struct RefusedEntries {
    private var named: [Omission] = []
    private var unnamed = 0

    /// The maximum number of entries that are named.
    private static let most = 1000

    /// Adds an entry, by its place in the source, with the limit that it exceeds. `describe` prefixes a message with
    /// the entry's name and place. Rethrows any other error of the library, because such an error concerns more than
    /// this entry.
    mutating func add(_ place: String, _ error: VaultError, named describe: (String) -> String) throws {
        guard error.code == .limitExceeded else { throw ExchangeError(error).at(place) }
        guard named.count < Self.most else { return unnamed += 1 }
        named.append(.loss(describe(error.detail), entries: 1))
    }

    var omissions: [Omission] {
        guard unnamed > 0 else { return named }
        return named + [.loss("\(unnamed) more entries whose names are too long", entries: unnamed)]
    }
}
