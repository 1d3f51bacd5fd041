import ArgumentParser
import VaultConsole
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
        let fewer = number < before ? "; older ones are dropped when the item changes" : ""
        Terminal.note("each item now keeps \(words(number))\(fewer)")
    }

    private static func words(_ number: Int) -> String {
        switch number {
        case 0: "no earlier values"
        case 1: "1 earlier value"
        default: "\(number) earlier values"
        }
    }
}
