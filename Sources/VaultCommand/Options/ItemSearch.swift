import VaultFmt

/// Goes through items of a vault, in key order, without keeping them.
enum ItemSearch {
    /// Calls `body` with each item that matches a query.
    static func each(
        in vault: Vault, _ query: Query, _ body: (Item) throws -> Void
    ) throws {
        var cursor = try vault.items(matching: query)
        while let item = try cursor.next() {
            try body(item)
        }
    }
}
