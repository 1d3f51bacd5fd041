import ArgumentParser
import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

/// How to treat old records that, after a change, are easier to open than their items.
package struct NarrowingOption: ParsableArguments {
    @Flag(
        help: """
            Do not compact when access to an item is narrowed; the item's old record stays in the file until \
            'vaultfmt compact' is run, and the command reports who can still read it. Access is narrowed if the item \
            leaves a group that a scoped slot opens, or if its accessibility becomes stricter.
            """)
    var later = false

    package init() {}

    /// Runs changes in one transaction, and reports the old records that remain readable.
    package func change(_ vault: Vault, _ body: (Transaction) throws(VaultError) -> Void) throws {
        let remnants = try Progress.during("writing") {
            try vault.transaction { (transaction) throws(VaultError) in
                transaction.narrowing = later ? .later : .atOnce
                try body(transaction)
                return transaction.remnants
            }
        }
        guard later else {
            return Self.noteRewriting(remnants.count)
        }
        for remnant in remnants {
            Terminal.warning(
                "an old record of \(ItemText.summary(remnant.key)) can still be read \(remnant.readers) until 'vaultfmt compact' is run"
            )
        }
    }

    /// Reports that a change rewrote the file to remove old records, if there were any.
    package static func noteRewriting(_ oldRecords: Int) {
        guard oldRecords > 0 else { return }
        let what = oldRecords == 1 ? "the item's old record from its" : "\(oldRecords) old records from their"
        Terminal.note(
            "the file was rewritten to protect \(what) previous readers; 'vaultfmt undo' cannot go back past this change"
        )
    }
}

extension Remnant {
    /// A description of the users who can still open the record but should not.
    fileprivate var readers: String {
        var all: [String] = []
        if let group { all.append("with the slots of the group \(TerminalText.quoted(group))") }
        if isOpenWhenLocked { all.append("by programs that keep keys while the vault is locked") }
        if isForOtherDevices { all.append("on other devices") }
        return all.joined(separator: ", ")
    }
}
