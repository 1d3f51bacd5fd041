import VaultLocal

/// A part of a source that is not imported.
package struct Omission {
    /// A description of the omission, and its place in the source.
    package let text: String
    /// True if the omission loses nothing or was requested.
    package let isIntended: Bool
    /// The number of omitted entries of the source; 0 if only a part of an entry is omitted.
    package let entries: Int
    /// True if the omitted part is in the recycle bin of the source's program.
    package let isInRecycleBin: Bool

    /// Describes a loss.
    package static func loss(_ text: String) -> Omission {
        Omission(text: text, isIntended: false, entries: 0, isInRecycleBin: false)
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
