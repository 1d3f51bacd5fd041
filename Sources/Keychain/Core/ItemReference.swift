internal import Foundation
internal import VaultFmt

/// A reference by which a program can find an item later: the item's class, the vault's id, and the item's id, which
/// never changes.
struct ItemReference: Hashable {
    private static let prefix = "vaultfmt"

    let itemClass: ItemClass
    let vault: VaultID
    let item: ItemID

    init(_ item: Item, in vault: VaultID) {
        itemClass = item.key.itemClass
        self.vault = vault
        self.item = item.id
    }

    /// Parses the form written by `data`; returns nil for anything else.
    init?(_ data: Data) {
        let parts = String(data: data, encoding: .utf8)?.split(separator: ":", omittingEmptySubsequences: false) ?? []
        guard parts.count == 4, parts[0] == Self.prefix, let itemClass = ItemClass(code: String(parts[1])),
            let vault = VaultID(hex: String(parts[2])), let item = ItemID(hex: String(parts[3]))
        else { return nil }
        self.itemClass = itemClass
        self.vault = vault
        self.item = item
    }

    var data: Data { Data("\(Self.prefix):\(itemClass.code):\(vault):\(item)".utf8) }
}
