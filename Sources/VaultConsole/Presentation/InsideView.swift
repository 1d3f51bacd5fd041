package import VaultFmt

/// The view of a vault that a key holder has.
package struct InsideView {
    let statistics: Statistics
    package let slots: [SlotInfo]
    let anchor: Anchor
    let access: Access
    let owners: OwnersPublicKey
    let tail: TailState

    package init(_ vault: Vault) throws {
        let progress = Progress("reading")
        defer { progress.finish() }
        statistics = try vault.statistics()
        slots = try vault.slots()
        anchor = try vault.anchor
        access = vault.access
        owners = vault.owners
        tail = vault.tail
    }
}
