import ArgumentParser
import VaultConsole
package import VaultExchange
package import VaultFmt
import VaultLocal

/// How to treat old records and values that, after a change, are easier to open than their items.
package struct NarrowingOption: ParsableArguments {
    @Flag(
        help: """
            Do not compact when access to an item is narrowed; the item's old record stays in the file until \
            'vaultfmt compact' is run, and the command reports who can still read it. Access is narrowed if the item \
            leaves a group that a scoped slot opens, if its accessibility becomes stricter, or if an attribute of it \
            is sealed.
            """)
    var later = false

    package init() {}

    /// Runs changes in one transaction, and reports the old records and values that remain readable.
    package func change(_ vault: Vault, _ body: (Transaction) throws(VaultError) -> Void) throws {
        guard later else {
            try Self.changeAtOnce(vault, body)
            return
        }
        for remnant in try Self.remnants(of: vault, .later, body) {
            let item = ItemText.summary(remnant.key)
            let old =
                remnant.attribute.map { "the old value of \(TerminalText.quoted($0)) of \(item)" }
                ?? "an old record of \(item)"
            Terminal.warning("\(old) can still be read \(remnant.readers) until 'vaultfmt compact' is run")
        }
    }

    /// Runs changes in one transaction, and reports and returns whether they rewrote the file. For commands without
    /// `--later`.
    @discardableResult
    package static func changeAtOnce(
        _ vault: Vault, _ body: (Transaction) throws(VaultError) -> Void
    ) throws -> Bool {
        let old = try remnants(of: vault, .atOnce, body)
        noteRewriting(RemnantCounts(old))
        return !old.isEmpty
    }

    /// Runs changes in one transaction, reports the earlier values that gave way unexpectedly, and returns what the
    /// changes leave behind.
    private static func remnants(
        of vault: Vault, _ narrowing: Narrowing, _ body: (Transaction) throws(VaultError) -> Void
    ) throws -> [Remnant] {
        let (remnants, dropped) = try Progress.during("writing") {
            try vault.transaction { (transaction) throws(VaultError) -> ([Remnant], [DroppedValue]) in
                transaction.narrowing = narrowing
                try body(transaction)
                return (transaction.remnants, transaction.crowdedOut)
            }
        }
        DroppedValues.report(dropped, in: vault)
        return remnants
    }

    /// Reports that a change rewrote the file to remove old records and values, if there were any.
    package static func noteRewriting(_ old: RemnantCounts) {
        let what: String
        switch (old.records, old.values) {
        case (0, 0): return
        case (1, 0): what = "the item's old record from its"
        case (_, 0): what = "\(old.records) old records from their"
        case (0, 1): what = "the old value\(old.attribute.map { " of \(TerminalText.quoted($0))" } ?? "") from its"
        case (0, _): what = "\(old.values) old values from their"
        case (let records, let values): what = "\(records + values) old records and values from their"
        }
        Terminal.note(
            "the file was rewritten to protect \(what) previous readers; 'vaultfmt undo' cannot go back past this change"
        )
    }
}

extension Remnant {
    /// A description of the users who can still open the record or the value but should not.
    fileprivate var readers: String {
        var all: [String] = []
        if let group { all.append("with the slots of the group \(TerminalText.quoted(group))") }
        if isOpenToOtherSlots { all.append("with scoped slots that do not open the item") }
        if isOpenWhenLocked { all.append("by programs that keep keys while the vault is locked") }
        if isForOtherDevices { all.append("on other devices") }
        return all.joined(separator: ", ")
    }
}
