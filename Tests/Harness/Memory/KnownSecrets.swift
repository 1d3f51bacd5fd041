internal import TestSupport
internal import VaultCrypto
internal import VaultFmt

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
        try Needle.keys(of: path, passphrase: passphrase) { accessibility, _ in
            Accessibility(rawValue: accessibility).map { "the key of items \($0.name)" }
        }
    }
}
