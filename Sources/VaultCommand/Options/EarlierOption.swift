import ArgumentParser
import VaultFmt

/// Which earlier value of an item is meant: 1 is the one before the item's own, 2 the one before that.
struct EarlierOption: ParsableArguments {
    @Option("The earlier value: 1 is the last that was replaced; 'vaultfmt history' numbers them.", value: "number")
    var earlier: Int?

    func validate() throws {
        if let earlier { guard earlier >= 1 else { throw ValidationError("--earlier takes 1 or more") } }
    }

    /// The value with the number that was given, or the last one that was replaced.
    func value(of item: Item, in vault: Vault) throws -> EarlierValue {
        let all = try EarlierValues.newestFirst(of: item, in: vault)
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

/// Earlier values of an item as people count them.
enum EarlierValues {
    /// The last one that was replaced comes first.
    static func newestFirst(of item: Item, in vault: Vault) throws -> [EarlierValue] {
        try vault.earlierValues(of: item).reversed()
    }
}
