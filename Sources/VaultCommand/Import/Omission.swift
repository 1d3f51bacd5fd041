import VaultLocal

/// Something in a source that the vault will not contain.
struct Omission {
    /// A description of the omission, and its place in the source.
    let text: String
    /// Whether leaving it out loses nothing, or was requested by an option.
    let isIntended: Bool
    /// The number of entries of the source that are left out; 0 if it is only a part of one.
    let entries: Int

    /// Something that is lost.
    static func loss(_ text: String) -> Omission { Omission(text: text, isIntended: false, entries: 0) }

    /// Something that is not a loss, or that an option would import.
    static func intended(_ text: String, entries: Int = 0) -> Omission {
        Omission(text: text, isIntended: true, entries: entries)
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
    func omission(_ one: String, _ several: String, _ reason: String) -> [Omission] {
        guard count > 0 else { return [] }
        let more = count > names.count ? " and \(count - names.count) more" : ""
        return [
            .intended(
                "\(count) \(count == 1 ? one : several) \(reason): \(names.joined(separator: ", "))\(more)",
                entries: count)
        ]
    }
}
