import ArgumentParser
import VaultFmt
import VaultLocal

/// What becomes of records that open with fewer rights than their items ask for after a change.
struct NarrowingOption: ParsableArguments {
    @Flag(
        help: """
            Where the item leaves a group that a scoped slot opens, or gets a stricter accessibility: leave its old record in the file until \
            'vaultfmt compact', and say who can read it. Without this, the vault is compacted with the change.
            """)
    var later = false

    /// Runs changes in one transaction, and says what stays readable.
    func change(_ vault: Vault, _ body: (Transaction) throws(VaultError) -> Void) throws {
        let remnants = try Progress.during("writing") {
            try vault.transaction { (transaction) throws(VaultError) in
                transaction.narrowing = later ? .later : .atOnce
                try body(transaction)
                return transaction.remnants
            }
        }
        guard later else { return }
        for remnant in remnants {
            Terminal.warning(
                "an old record of \(ItemText.summary(remnant.key)) can still be read \(remnant.readers) until 'vaultfmt compact'"
            )
        }
    }
}

extension Remnant {
    /// Who opens it and should not.
    fileprivate var readers: String {
        var all: [String] = []
        if let group { all.append("with the slots of the group \(TerminalText.quoted(group))") }
        if isOpenWhenLocked { all.append("by programs that keep keys while the vault is locked") }
        if isForOtherDevices { all.append("on other devices") }
        return all.joined(separator: ", ")
    }
}
