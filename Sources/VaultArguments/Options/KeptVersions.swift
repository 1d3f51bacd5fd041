import ArgumentParser
import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// The number of earlier values that an item keeps.
package enum KeptVersions {
    package static func validate(_ number: Int) throws {
        guard (0...50).contains(number) else { throw ValidationError("--keep must be between 0 and 50") }
    }

    /// Sets the number, and reports the effect on earlier values that exceed it.
    package static func set(_ number: Int, in vault: Vault) throws {
        let before = vault.keptVersions
        guard number != before else { return Terminal.note("each item still keeps \(words(number))") }
        try vault.keepVersions(number)
        let fewer = try number < before ? excess(in: vault) : ""
        Terminal.note("each item now keeps \(words(number))\(fewer)")
    }

    /// Describes what becomes of earlier values that exceed the number. The number is stored already, so damage that
    /// prevents counting them is not a failure.
    private static func excess(in vault: Vault) throws(VaultError) -> String {
        let items: Int
        do throws(VaultError) { items = try EarlierValues.itemCounts(in: vault).unlisted } catch {
            guard error.isDamage else { throw error }
            return "; older ones are dropped when the item changes"
        }
        guard items > 0 else { return "" }
        let who = items == 1 ? "1 item has" : "\(items) items have"
        return "; \(who) more in the file, which are no longer shown; they are dropped when the item changes, "
            + "or with 'vaultfmt forget NAME --all', which forgets all of its earlier values"
    }

    private static func words(_ number: Int) -> String {
        switch number {
        case 0: "no earlier values"
        case 1: "1 earlier value"
        default: "\(number) earlier values"
        }
    }
}
