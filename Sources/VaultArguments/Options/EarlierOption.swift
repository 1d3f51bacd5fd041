package import ArgumentParser
import VaultConsole
import VaultExchange
package import VaultFmt

/// Selects an earlier value of one field of an item: 1 is the value before the current one, 2 the value before that.
package struct EarlierOption: ParsableArguments {
    @Option(
        "The earlier value: 1 is the most recent; 'vaultfmt history' numbers them.",
        name: [.long, .customLong("version")], value: "number")
    package var earlier: Int?

    package init() {}

    package func validate() throws {
        if let earlier { guard earlier >= 1 else { throw ValidationError("--earlier must be at least 1") } }
    }

    /// Returns the value with the given number or, without a number, the most recently replaced value. The value
    /// belongs to the given attribute or attached file if that has earlier values, and otherwise to the secret.
    package func value(of item: Item, _ attribute: String? = nil, in vault: Vault) throws -> EarlierValue {
        let values = try EarlierValues.newestFirst(of: item, in: vault)
        let names = [attribute, attribute.map { AttributeName.filePrefix + $0 }, nil]
        let all = names.lazy.map { name in values.filter { $0.attribute == name } }.first { !$0.isEmpty } ?? []
        let number = earlier ?? 1
        guard number <= all.count else {
            guard !all.isEmpty else {
                let advice =
                    item.needsSettling
                    ? "a merge has left values to settle: 'vaultfmt conflicts show'"
                    : "there is nothing to go back to"
                throw CommandFailure(.noSuchItem, "\(ItemText.summary(item.key)) has no earlier values; \(advice)")
            }
            throw CommandFailure(
                .noSuchItem,
                "the item has no earlier value \(number): it has \(all.count); 'vaultfmt history' lists them")
        }
        return all[number - 1]
    }
}
