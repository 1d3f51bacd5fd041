package import VaultFmt

/// Accounts with an added suffix: `mira (Work)` for the user name `mira`.
package enum TwinName {
    /// Returns the key with a suffix, or nil if its class has no account or the account would be too long.
    package static func key(_ key: ItemKey, _ suffix: String) throws(VaultError) -> ItemKey? {
        guard let account = key.account else { return nil }
        let name = account.isEmpty ? "(\(suffix))" : "\(account) (\(suffix))"
        do throws(VaultError) { return try key.replacing([.account: .text(name)]) } catch {
            guard error.code == .limitExceeded else { throw error }
            return nil
        }
    }

    /// Returns whether a key is another key with a suffix added.
    static func isTwin(_ twin: ItemKey, of key: ItemKey) -> Bool {
        guard let account = key.account, let own = twin.account, own.hasSuffix(")") else { return false }
        guard own.utf8.starts(with: (account.isEmpty ? "(" : account + " (").utf8) else { return false }
        do throws(VaultError) { return try twin.replacing([.account: .text(account)]) == key } catch { return false }
    }

    /// Returns the user name in the source: the account without an added suffix.
    package static func userName(_ key: ItemKey, _ attributes: Attributes) -> String? {
        guard let account = key.account, let name = attributes.string(AttributeName.userName),
            account.hasSuffix(")"), account.utf8.starts(with: (name.isEmpty ? "(" : name + " (").utf8)
        else { return key.account }
        return name
    }

    /// Returns the user name of an item: its account without an added suffix.
    package static func userName(_ item: Item) -> String? { userName(item.key, item.attributes) }

    /// Records the user name of the source in an item's attributes if a suffix was added to its account.
    package static func note(_ own: ItemKey, _ target: ItemKey, in attributes: inout Attributes) {
        guard let account = target.account, account != own.account, let name = userName(own, attributes) else { return }
        var noted = attributes
        noted[AttributeName.userName] = Array(name.utf8)
        if userName(target, noted) != account { attributes = noted }
    }
}
