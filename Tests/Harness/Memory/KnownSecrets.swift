internal import TestSupport
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// A vault whose factors, keys and secrets are known.
struct KnownSecrets {
    let path: String
    let passphrase: String
    /// By account.
    let secrets: [String: String]

    /// Makes a passphrase or secret that is nowhere else.
    static func unique(_ numbers: inout Numbers, _ what: String) -> String {
        let letters = Array("abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789")
        return what + "-" + String((0..<24).map { _ in letters[numbers.below(letters.count)] })
    }

    /// Makes the vault: items that a locked vault keeps the keys of, and others.
    init(_ path: String, _ numbers: inout Numbers) throws {
        self.path = path
        passphrase = Self.unique(&numbers, "passphrase")
        var options = CreateOptions()
        options.cost = .testing
        options.allowWeak = true
        let vault = try Vault.create(
            at: path, factors: try Factors(passphrase: Secret(text: passphrase)), options: options)
        var secrets: [String: String] = [:]
        for accessibility in [Accessibility.whenUnlocked, .afterFirstUnlock, .always] {
            let secret = Self.unique(&numbers, "secret")
            secrets[accessibility.name] = secret
            try vault.add(try Self.key(accessibility.name), secret: Secret(text: secret), accessibility: accessibility)
        }
        self.secrets = secrets
    }

    static func key(_ account: String) throws(VaultError) -> ItemKey {
        try .genericPassword(service: "svc", account: account)
    }

    /// Everything that must not stay behind: factors, keys, and the items' secrets.
    func needles() throws -> [Needle] {
        try secrets.sorted { $0.key < $1.key }.map { Needle("the secret of \($0.key)", $0.value) }
            + [Needle("the passphrase", passphrase)] + Self.keys(path, passphrase: passphrase)
    }

    /// The keys of a vault, by what they are.
    static func keys(_ path: String, passphrase: String) throws -> [Needle] {
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
            if let key = keys.groups[group.number] { all.append(Needle("the key of a group", key)) }
        }
        for compartment in store.keyring.compartments {
            guard let key = keys.compartments[compartment.number],
                let accessibility = Accessibility(rawValue: compartment.accessibility)
            else { continue }
            all.append(Needle("the key of items \(accessibility.name)", key))
        }
        return all
    }
}
