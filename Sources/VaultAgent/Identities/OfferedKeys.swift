internal import VaultExchange
package import VaultFmt
internal import VaultLocal

/// The keys in one state of a vault.
package enum OfferedKeys {
    /// Reads all keys to offer.
    ///
    /// Items in groups that the slot does not grant are skipped: their keys are not meant for the slot's holder.
    ///
    /// - `groups`: The access groups whose keys are offered even without an attribute.
    /// - `known`: Keys read from an earlier state; they are reused for items that have not changed.
    /// - Returns: The keys in the order of the vault's items, and a description of each item that could not be read,
    ///   with the reason.
    package static func read(
        _ vault: Vault, groups: [String], known: [OfferedKey] = []
    ) throws -> (keys: [OfferedKey], omitted: [String]) {
        let before = Dictionary(known.map { ($0.item.id, $0) }) { first, _ in first }
        var keys: [OfferedKey] = []
        var omitted = try unusable(groups, in: vault)
        var items = try vault.items()
        while let item = try items.next() {
            // The slot shows the attributes of all items, but opens only the secrets of its own groups.
            guard vault.access.includes(item.key.group) else { continue }
            do {
                let use = try KeyUse.of(item, groups: groups)
                guard use != .off else { continue }
                guard keys.count < AgentMessage.mostKeys else {
                    omitted.append("the vault has more keys than the agent offers (\(AgentMessage.mostKeys))")
                    break
                }
                keys.append(try key(item, use, in: vault, before: before[item.id]))
            } catch {
                let name = ItemText.summary(item.key, label: item.attributes.label)
                omitted.append("\(name): \(ServedVault.text(error))")
            }
        }
        return (keys, omitted)
    }

    /// Describes the groups that do not exist or that the slot does not grant, because their names may be misspelled.
    package static func unusable(_ groups: [String], in vault: Vault) throws(VaultError) -> [String] {
        let known = try vault.accessGroups()
        return groups.compactMap { group in
            let name = "the access group \(TerminalText.quoted(group))"
            guard group.isEmpty || known.contains(where: { $0.utf8.elementsEqual(group.utf8) }) else {
                return "\(name): the vault has no group of this name"
            }
            return vault.access.includes(group) ? nil : "\(name): the slot that opened the vault does not grant it"
        }
    }

    private static func key(
        _ item: Item, _ use: KeyUse, in vault: Vault, before: OfferedKey?
    ) throws -> OfferedKey {
        // The location of the secret in the file may have changed, so use the current item.
        guard let before, before.item.revision == item.revision, before.item.key == item.key else {
            return try OfferedKey(item, use, in: vault)
        }
        return OfferedKey(item, like: before)
    }
}

extension Access {
    /// Returns whether the access includes the secrets of a group.
    fileprivate func includes(_ group: String) -> Bool {
        switch self {
        case .owner: true
        case .scoped(let groups): groups.contains(group)
        }
    }
}
