package import VaultFmt

/// Iterates over a vault's items, sorted by key, without keeping them in memory.
package enum ItemSearch {
    /// Calls `body` with each item that matches a query.
    package static func each(
        in vault: Vault, _ query: Query, _ body: (Item) throws -> Void
    ) throws {
        var cursor = try vault.items(matching: query)
        while let item = try cursor.next() {
            try body(item)
        }
    }
}
