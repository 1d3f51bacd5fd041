import ArgumentParser
import VaultAgent
import VaultConsole
import VaultExchange
package import VaultFmt

/// The kinds of SSH keys that are generated.
package enum SSHKeyKind: String, ExpressibleByArgument, CaseIterable {
    case ed25519
}

/// A newly generated SSH key, which has never been in a file.
package enum NewSSHKey {
    /// Returns the text of a key file in OpenSSH's format. The file contains no comment, because the item already has a
    /// name.
    static func generate() throws -> Secret {
        guard let text = OpenSSHText.text(seed: Secret.random(count: 32), comment: "") else {
            throw CommandFailure(.bug, "a new key has no text; this is a bug in vaultfmt: please report it")
        }
        return text
    }

    /// Adds the attributes that the agent needs for an item with a new key: the public key and, unless a use is given
    /// or the item already has one, the use.
    /// - Returns: A note with the public key, to show to the user.
    static func describe(
        _ secret: borrowing Secret, in values: inout Attributes, of key: ItemKey, _ item: Item?
    ) throws -> String {
        let comment = OfferedKey.comment(key, label: values.label ?? item?.attributes.label)
        let line = try StoredKey.read(secret).publicKey.line(comment: comment)
        values.set(Attribute(SSHAttribute.publicKey, Array(line.utf8)))
        if values[SSHAttribute.use] == nil, item?.attributes.attribute(SSHAttribute.use) == nil {
            values.set(Attribute(SSHAttribute.use, Array(KeyUse.offer.rawValue.utf8)))
        }
        return "public key: \(line)"
    }

    /// Renews the copy of the public key in an item whose secret is replaced.
    /// - `removed`: The attributes that the user asked to remove.
    /// - Returns: The names of the attributes to remove, which include the public key's copy if the new secret is not a
    ///   key.
    package static func renew(
        _ secret: borrowing Secret, in values: inout Attributes, of item: Item?, removed: [String]
    ) -> [String] {
        guard let item, !removed.contains(SSHAttribute.publicKey),
            item.attributes.attribute(SSHAttribute.publicKey) != nil,
            values.attribute(SSHAttribute.publicKey) == nil
        else { return [] }
        do throws(AgentError) {
            let comment = OfferedKey.comment(item.key, label: values.label ?? item.attributes.label)
            let line = try StoredKey.read(secret).publicKey.line(comment: comment)
            values.set(Attribute(SSHAttribute.publicKey, Array(line.utf8)))
            return []
        } catch { return [SSHAttribute.publicKey] }
    }
}
