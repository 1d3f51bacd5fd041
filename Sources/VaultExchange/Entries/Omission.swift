import VaultLocal

/// Something in a source that the vault will not contain.
package struct Omission {
    /// A description of the omission, and its place in the source.
    package let text: String
    /// Whether leaving it out loses nothing, or was asked for.
    package let isIntended: Bool
    /// The number of entries of the source that are left out; 0 if it is only a part of one.
    package let entries: Int
    /// Whether it is left out because it is in the recycle bin of the source's program.
    package let isInRecycleBin: Bool

    /// Something that is lost.
    package static func loss(_ text: String) -> Omission {
        Omission(text: text, isIntended: false, entries: 0, isInRecycleBin: false)
    }

    /// Something that is not a loss, or that would be imported if that were asked for.
    static func intended(_ text: String, entries: Int = 0, isInRecycleBin: Bool = false) -> Omission {
        Omission(text: text, isIntended: true, entries: entries, isInRecycleBin: isInRecycleBin)
    }
}

/// Entries that are left out for the same reason, by name.
struct OmittedEntries {
    private(set) var count = 0
    private var names: [String] = []

    /// The most entries that are named.
    private static let most = 1000

    /// Adds an entry with its place in the source.
    mutating func add(_ title: String, _ place: String) {
        count += 1
        guard names.count < Self.most else { return }
        names.append("\(TerminalText.quoted(title)) (\(place))")
    }

    /// Returns the omission, if there is one: how many, the reason, and the names.
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
