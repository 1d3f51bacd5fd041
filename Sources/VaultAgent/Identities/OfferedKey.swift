internal import VaultExchange
package import VaultFmt

/// The item attributes that the agent uses.
package enum SSHAttribute {
    /// `offer`, `confirm` or `off`.
    package static let use = "ssh"
    /// A copy of the public key, as in `authorized_keys`, for users and other programs. The agent derives the key that
    /// it offers from the secret instead, because this attribute may be out of date.
    package static let publicKey = "ssh-public-key"
    /// A certificate for the key, as in the file that `ssh-keygen -s` writes.
    package static let certificate = "ssh-certificate"
}

/// How the agent may use an item.
package enum KeyUse: String, Sendable, CaseIterable {
    /// The key is offered to clients.
    case offer
    /// The key is offered, and a person must confirm each signature.
    case confirm
    /// The key is not offered.
    case off

    /// Returns how an item may be used, according to its attribute. Items without the attribute are offered only if
    /// they are keys or identities in one of the agent's groups. Throws if the attribute has an invalid value; the item
    /// is then not offered.
    package static func of(_ item: Item, groups: [String]) throws(AgentError) -> KeyUse {
        guard item.attributes.attribute(SSHAttribute.use) == nil else {
            guard let use = item.attributes.string(SSHAttribute.use).flatMap(KeyUse.init(rawValue:)) else {
                throw AgentError(.refused, "its attribute ssh must be offer, confirm or off")
            }
            return use
        }
        let isKey = [ItemClass.key, .identity].contains(item.key.itemClass)
        return isKey && groups.contains { $0.utf8.elementsEqual(item.key.group.utf8) } ? .offer : .off
    }
}

/// A key in the vault that is offered to clients.
package struct OfferedKey: Sendable {
    package let item: Item
    package let publicKey: PublicKey
    package let certificate: Certificate?
    /// Problems with the item's other attributes; the key is offered nevertheless.
    private let problems: [String]
    package let comment: String
    package let needsConfirmation: Bool

    /// The encodings that clients may use to refer to the key.
    var identities: [[UInt8]] { [publicKey.blob] + (certificate.map { [$0.blob] } ?? []) }

    /// Reads an item's key. This opens the item's secret to derive the public key.
    package init(_ item: Item, _ use: KeyUse, in vault: Vault) throws {
        self.item = item
        needsConfirmation = use == .confirm
        comment = Self.comment(item)
        publicKey = try StoredKey.read(try vault.open(item).takeSecret()).publicKey
        let name = ItemText.summary(item.key, label: item.attributes.label)
        var problems: [String] = []
        do { try Self.compare(publicKey, of: item, in: vault) } catch {
            problems.append("the attribute ssh-public-key of \(name): \(ServedVault.text(error))")
        }
        do { certificate = try Self.certificate(for: publicKey, of: item, in: vault) } catch {
            certificate = nil
            problems.append("the certificate of \(name) is not offered: \(ServedVault.text(error))")
        }
        self.problems = problems
    }

    /// Problems with the item's other attributes at a given time, in seconds since 1970.
    package func warnings(at time: UInt64) -> [String] {
        guard let problem = certificate?.problem(at: time) else { return problems }
        return problems + ["the certificate of \(ItemText.summary(item.key, label: item.attributes.label)) \(problem)"]
    }

    /// Compares a key with the copy in the item's attribute.
    private static func compare(_ key: PublicKey, of item: Item, in vault: Vault) throws {
        guard item.attributes.attribute(SSHAttribute.publicKey) != nil else { return }
        let advice =
            "the key of the secret is offered; 'vaultfmt update --id \(item.id) --remove-attribute "
            + "\(SSHAttribute.publicKey)' removes the attribute"
        guard let line = try text(SSHAttribute.publicKey, of: item, in: vault) else {
            throw AgentError(.malformed, "it is not text; \(advice)")
        }
        let stated: PublicKey
        do throws(AgentError) { stated = try PublicKey.read(line: line) } catch {
            throw AgentError(.malformed, "it is not a line as in authorized_keys; \(advice)")
        }
        guard stated == key else { throw AgentError(.malformed, "it is not the public key of the secret; \(advice)") }
    }

    /// Returns an item's certificate for its key; nil if it has none. Throws if the certificate cannot be offered.
    package static func certificate(
        for key: PublicKey, of item: Item, in vault: Vault
    ) throws -> Certificate? {
        guard item.attributes.attribute(SSHAttribute.certificate) != nil else { return nil }
        guard let line = try text(SSHAttribute.certificate, of: item, in: vault) else {
            throw AgentError(.malformed, "it is not text")
        }
        let certificate: Certificate
        do throws(AgentError) { certificate = try Certificate.read(line: line) } catch {
            guard error == .malformed else { throw error }
            throw AgentError(.malformed, "it is not a certificate in the format of 'ssh-keygen -s'")
        }
        guard certificate.kind == .user else {
            throw AgentError(.malformed, "it is a host certificate, not a user certificate")
        }
        guard certificate.key == key else { throw AgentError(.malformed, "it belongs to a different key") }
        return certificate
    }

    /// Returns the item's label, or its name if it has no label.
    package static func comment(_ item: Item) -> String { comment(item.key, label: item.attributes.label) }

    /// Returns the label, or the name if there is no label.
    package static func comment(_ key: ItemKey, label: String?) -> String {
        if let label, !label.isEmpty { return KeyComment.shown(label) }
        let words = ItemText.name(key).filter { !$0.isEmpty }
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
            throw AgentError(.malformed, "the item's secret is no longer the key that is offered")
        }
        return try key.sign(data, flags: flags)
    }
}

extension OfferedKey {
    /// Reuses the key of an item that has moved within the file but is otherwise unchanged.
    init(_ item: Item, like other: OfferedKey) {
        self.item = item
        publicKey = other.publicKey
        certificate = other.certificate
        problems = other.problems
        comment = other.comment
        needsConfirmation = other.needsConfirmation
    }
}
