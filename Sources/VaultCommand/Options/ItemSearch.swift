import VaultFmt

/// Goes through items of a vault, in key order, without keeping them.
enum ItemSearch {
    /// Calls `body` with each item that the query and the fields fit.
    static func each(
        in vault: Vault, _ query: Query, _ fields: ItemFields, _ body: (Item) throws -> Void
    ) throws {
        var cursor = try vault.items(matching: query)
        while let item = try cursor.next() {
            if fields.accepts(item) { try body(item) }
        }
    }
}
