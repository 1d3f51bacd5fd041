internal import VaultExchange
package import VaultFmt

/// The attributes that make an item a key of the agent.
package enum SSHAttribute {
    /// `offer`, `confirm` or `off`.
    package static let use = "ssh"
    /// The public key, as in `authorized_keys`. Without it, the item's secret is opened once to learn it.
    package static let publicKey = "ssh-public-key"
    /// A certificate for the key, as in the file that `ssh-keygen -s` writes.
    package static let certificate = "ssh-certificate"
}

/// How an item may be used by the agent.
package enum KeyUse: String, Sendable, CaseIterable {
    /// It is offered to clients.
    case offer
    /// It is offered, and a person must agree to each signature.
    case confirm
    /// It is not offered.
    case off

    /// Returns how an item may be used: as its attribute says. Without the attribute, keys and identities in the agent's
    /// group are offered, and nothing else is. An attribute of another value does not offer the item.
    package static func of(_ item: Item, group: String?) -> KeyUse {
        if let stated = item.attributes.string(SSHAttribute.use) { return KeyUse(rawValue: stated) ?? .off }
        guard item.attributes.attribute(SSHAttribute.use) == nil, let group, item.key.group == group else {
            return .off
        }
        return [ItemClass.key, .identity].contains(item.key.itemClass) ? .offer : .off
    }
}

/// A key of the vault that is offered to clients.
package struct OfferedKey: Sendable {
    package let item: Item
    package let publicKey: PublicKey
    package let certificate: Certificate?
    /// Why the item's certificate is not offered with the key; nil if it is, or if there is none.
    let certificateProblem: String?
    package let comment: String
    package let needsConfirmation: Bool

    /// The encodings under which clients know it.
    var identities: [[UInt8]] { [publicKey.blob] + (certificate.map { [$0.blob] } ?? []) }

    /// Reads what is public of an item. Its secret is opened if it has no attribute with the public key.
    package init(_ item: Item, _ use: KeyUse, in vault: Vault) throws {
        self.item = item
        needsConfirmation = use == .confirm
        comment = Self.comment(item)
        if let line = try Self.text(SSHAttribute.publicKey, of: item, in: vault) {
            publicKey = try PublicKey.read(line: line)
        } else {
            publicKey = try StoredKey.read(try vault.open(item).takeSecret()).publicKey
        }
        do {
            certificate = try Self.certificate(for: publicKey, of: item, in: vault)
            certificateProblem = nil
        } catch {
            certificate = nil
            certificateProblem = ServedVault.text(error)
        }
    }

    private static func certificate(for key: PublicKey, of item: Item, in vault: Vault) throws -> Certificate? {
        guard item.attributes.attribute(SSHAttribute.certificate) != nil else { return nil }
        guard let line = try text(SSHAttribute.certificate, of: item, in: vault) else {
            throw AgentError(.malformed, "it is not text")
        }
        let certificate = try Certificate.read(line: line)
        guard certificate.key == key else { throw AgentError(.malformed, "it is for another key") }
        return certificate
    }

    /// The item's label, or its name.
    package static func comment(_ item: Item) -> String {
        if let label = item.attributes.label, !label.isEmpty { return KeyComment.shown(label) }
        let words = ItemText.name(item.key).filter { !$0.isEmpty }
        return KeyComment.shown(words.joined(separator: " "))
    }

    private static func text(_ name: String, of item: Item, in vault: Vault) throws -> String? {
        guard item.attributes.attribute(name) != nil, let value = try vault.attribute(name, of: item) else {
            return nil
        }
        return value.withUnsafeBytes { bytes in
            String(validating: bytes.bindMemory(to: UInt8.self), as: UTF8.self)
        }
    }

    /// Signs with the item's key, which is in memory for this signature only.
    func sign(_ data: UnsafeRawBufferPointer, flags: UInt32, in vault: Vault) throws -> [UInt8] {
        let key = try StoredKey.read(try vault.open(item).takeSecret())
        guard key.publicKey == publicKey else {
            throw AgentError(.malformed, "the item's secret is not the key of its attribute")
        }
        return try key.sign(data, flags: flags)
    }
}

extension OfferedKey {
    /// The key of an item that has moved within the file and has not changed otherwise.
    init(_ item: Item, like other: OfferedKey) {
        self.item = item
        publicKey = other.publicKey
        certificate = other.certificate
        certificateProblem = other.certificateProblem
        comment = other.comment
        needsConfirmation = other.needsConfirmation
    }
}
