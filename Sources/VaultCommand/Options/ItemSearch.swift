import VaultFmt

/// Goes through items of a vault, in key order, without keeping them.
enum ItemSearch {
    /// Calls `body` with each item that the query and the fields fit.
    static func each(
        in vault: Vault, _ query: Query, _ fields: ItemFields, _ body: (Item) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        var cursor = try attempt { () throws(VaultError) in try vault.items(matching: query) }
        while let item = try attempt({ () throws(VaultError) in try cursor.next() }) {
            if fields.accepts(item) { try body(item) }
        }
    }
}
