internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

extension Needle {
    /// The keys of a vault that a passphrase opens, by what they are.
    ///
    /// - `compartment`: Names the key of the items with an accessibility, by its number, in an access group; nil if it is
    ///   not to be looked for.
    package static func keys(
        of path: String, passphrase: String, compartment: (_ accessibility: UInt8, _ group: String) -> String?
    ) throws -> [Needle] {
        let text = try Passphrase.normalised(Secret(text: passphrase))
        let factors = FactorKeys(passphrase: text, key: nil, fileHash: nil, kinds: .passphrase)
        let store = try Store.open(
            path, writable: false, factors: factors, limits: ReaderLimits(), place: Store.Place())
        let (header, _) = try Store.readHeader(store.file)
        var keys = try ForgeKeys(header, .passphrase(Array(passphrase.utf8)))
        keys.open(store.keyring)
        var all = [
            Needle("the vault key", keys.vaultKey), Needle("the index key", keys.index),
            Needle("the locator key", keys.locator),
            Needle("the owner key", keys.owner), Needle("the signing seed", keys.signingSeed),
            Needle("the slot owner key", keys.slotOwner), Needle("the keyring key", keys.keyring),
            Needle("the key of earlier values", keys.earlier),
            Needle("the wrapping key", store.slot.wrappingKey.withUnsafeBytes { Array($0) }),
        ]
        for group in store.keyring.groups {
            if let key = keys.groups[group.number] { all.append(Needle("the key of the group '\(group.name)'", key)) }
        }
        for one in store.keyring.compartments {
            let group = store.keyring.groups.first { $0.number == one.group }?.name ?? ""
            guard let key = keys.compartments[one.number], let name = compartment(one.accessibility, group) else {
                continue
            }
            all.append(Needle(name, key))
        }
        return all
    }
}
