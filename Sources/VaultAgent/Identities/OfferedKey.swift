internal import VaultExchange
package import VaultFmt

/// The attributes that make an item a key of the agent.
package enum SSHAttribute {
    /// `offer`, `confirm` or `off`.
    package static let use = "ssh"
    /// A copy of the public key, as in `authorized_keys`, for people and programs. The agent offers the key that the
    /// secret holds, because a change of the secret need not change this.
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
    /// groups are offered, and nothing else is. Throws if the attribute has another value, which offers nothing.
    package static func of(_ item: Item, groups: [String]) throws(AgentError) -> KeyUse {
        guard item.attributes.attribute(SSHAttribute.use) == nil else {
            guard let use = item.attributes.string(SSHAttribute.use).flatMap(KeyUse.init(rawValue:)) else {
                throw AgentError(.refused, "its attribute ssh is none of offer, confirm and off")
            }
            return use
        }
        let isKey = [ItemClass.key, .identity].contains(item.key.itemClass)
        return isKey && groups.contains { $0.utf8.elementsEqual(item.key.group.utf8) } ? .offer : .off
    }
}

/// A key of the vault that is offered to clients.
package struct OfferedKey: Sendable {
    package let item: Item
    package let publicKey: PublicKey
    package let certificate: Certificate?
    /// What is wrong with the item's other attributes, which does not keep the key from being offered.
    private let problems: [String]
    package let comment: String
    package let needsConfirmation: Bool

    /// The encodings under which clients know it.
    var identities: [[UInt8]] { [publicKey.blob] + (certificate.map { [$0.blob] } ?? []) }

    /// Reads the key of an item, whose secret is opened to derive the public key.
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

    /// What is wrong with the item's other attributes at a time, in seconds since 1970.
    package func warnings(at time: UInt64) -> [String] {
        guard let problem = certificate?.problem(at: time) else { return problems }
        return problems + ["the certificate of \(ItemText.summary(item.key, label: item.attributes.label)) \(problem)"]
    }

    /// Compares a key with the item's attribute that has a copy of it.
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
        guard stated == key else { throw AgentError(.malformed, "it is another key than the secret; \(advice)") }
    }

    /// Returns the certificate of an item for its key; nil if it has none. Throws if it cannot be offered.
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
            throw AgentError(.malformed, "it is not a certificate as 'ssh-keygen -s' writes it")
        }
        guard certificate.kind == .user else { throw AgentError(.malformed, "it is a host's, not a user's") }
        guard certificate.key == key else { throw AgentError(.malformed, "it is for another key") }
        return certificate
    }

    /// The item's label, or its name.
    package static func comment(_ item: Item) -> String { comment(item.key, label: item.attributes.label) }

    /// The label, or the name of an item with a key.
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
            throw AgentError(.malformed, "the item's secret is another key than the one that is offered")
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
        problems = other.problems
        comment = other.comment
        needsConfirmation = other.needsConfirmation
    }
}
