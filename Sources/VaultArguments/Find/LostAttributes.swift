package import VaultConsole
import VaultExchange
package import VaultFmt
import VaultLocal

extension CommandFailure {
    /// Returns the failure for a change that gave a damaged item a secret, but lost attributes with the damaged record.
    package static func lost(_ names: [String], of key: ItemKey) -> CommandFailure {
        let all = names.map { TerminalText.quoted($0) }.joined(separator: ", ")
        let (what, them) = names.count == 1 ? ("attribute \(all) is", "it") : ("attributes \(all) are", "them")
        return CommandFailure(
            .incomplete,
            "\(ItemText.summary(key)) has a secret that can be read again, but its \(what) lost: the damaged record "
                + "contained \(them), too, and the next merge also removes \(them) from other copies: before that, "
                + "read \(them) from an intact copy, or from a backup, and set \(them) again")
    }
}
