import ArgumentParser
import VaultFmt
import VaultLocal

/// How many earlier values an item keeps.
enum KeptVersions {
    static func validate(_ number: Int) throws {
        guard (0...50).contains(number) else { throw ValidationError("--keep takes 0 to 50") }
    }

    /// Sets it, and says what becomes of those beyond.
    static func set(_ number: Int, in vault: Vault) throws {
        let before = vault.keptVersions
        guard number != before else { return Terminal.note("an item keeps \(words(number)) as before") }
        try vault.keepVersions(number)
        let fewer =
            number < before ? "; what is beyond that goes when the item changes, and with 'vaultfmt compact'" : ""
        Terminal.note("an item keeps \(words(number)) from now on\(fewer)")
    }

    private static func words(_ number: Int) -> String {
        switch number {
        case 0: "no earlier values"
        case 1: "1 earlier value"
        default: "\(number) earlier values"
        }
    }
}
