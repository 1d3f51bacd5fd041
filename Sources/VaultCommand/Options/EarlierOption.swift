import ArgumentParser
import VaultFmt
import VaultLocal

/// Selects an earlier value of one field of an item: 1 is the one before the current value, 2 the one before that.
struct EarlierOption: ParsableArguments {
    @Option(
        "The earlier value: 1 is the most recent; 'vaultfmt history' numbers them.",
        name: [.long, .customLong("version")], value: "number")
    var earlier: Int?

    func validate() throws {
        if let earlier { guard earlier >= 1 else { throw ValidationError("--earlier must be at least 1") } }
    }

    /// Returns the value with the given number, or the most recently replaced one: of the attribute, if it was sealed,
    /// and otherwise of the secret.
    func value(of item: Item, _ attribute: String? = nil, in vault: Vault) throws -> EarlierValue {
        let values = try EarlierValues.newestFirst(of: item, in: vault)
        let own = values.filter { $0.attribute == attribute }
        let all = own.isEmpty ? values.filter { $0.attribute == nil } : own
        let number = earlier ?? 1
        guard number <= all.count else {
            guard !all.isEmpty else {
                throw CommandFailure(
                    .noSuchItem, "\(ItemText.summary(item.key)) has no earlier values; there is nothing to go back to")
            }
            throw CommandFailure(
                .noSuchItem,
                "the item has no earlier value \(number): it has \(all.count); 'vaultfmt history' lists them")
        }
        return all[number - 1]
    }
}

/// The earlier values of an item, in the order in which people count them.
enum EarlierValues {
    /// The most recently replaced value comes first. An import gives earlier values later revisions than the value that
    /// is current then, so revisions do not order them.
    static func newestFirst(of item: Item, in vault: Vault) throws -> [EarlierValue] {
        try vault.earlierValues(of: item).enumerated()
            .sorted { ($0.element.lastUsed, $0.offset) > ($1.element.lastUsed, $1.offset) }.map(\.element)
    }

    /// The values with their numbers, which count each field for itself: secrets first, then sealed attributes by name.
    static func numbered(of item: Item, in vault: Vault) throws -> [(number: Int, value: EarlierValue)] {
        let fields = Dictionary(grouping: try newestFirst(of: item, in: vault)) { $0.attribute ?? "" }
        return fields.sorted { $0.key < $1.key }.flatMap { field in
            field.value.enumerated().map { (number: $0.offset + 1, value: $0.element) }
        }
    }

    /// Returns the number of earlier values; nil if there are none, or if they cannot be read here.
    static func count(of item: Item, in vault: Vault) throws(VaultError) -> Int? {
        guard item.hasPast, vault.access == .owner else { return nil }
        do throws(VaultError) {
            let count = try vault.earlierValues(of: item).count
            return count > 0 ? count : nil
        } catch {
            guard [.authenticationFailed, .structureInvalid].contains(error.code) else { throw error }
            return nil
        }
    }
}

extension EarlierValue {
    /// What identifies a value of an item.
    struct Identity: Hashable {
        let revision: UInt64
        let replica: UInt64
        let attribute: String?
    }

    var identity: Identity { Identity(revision: revision, replica: replica, attribute: attribute) }

    /// The time at which it was replaced or, if that is not known, set.
    var lastUsed: Int64 { replaced == 0 ? modified : replaced }

    /// The text for messages: "the value that was replaced at …", with the attribute's name.
    var words: String {
        let what = attribute.map { "the value of \(TerminalText.quoted($0))" } ?? "the secret"
        guard replaced != 0 else { return "\(what) that was set at \(Timestamp.short(modified)) UTC" }
        return "\(what) that was replaced at \(Timestamp.short(replaced)) UTC"
    }
}
