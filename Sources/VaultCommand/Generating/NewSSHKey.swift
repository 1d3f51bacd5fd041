import ArgumentParser
import VaultAgent
import VaultExchange
import VaultFmt

/// The kinds of SSH keys that are generated.
enum SSHKeyKind: String, ExpressibleByArgument, CaseIterable {
    case ed25519
}

/// A newly generated SSH key, which never was a file.
enum NewSSHKey {
    /// Returns the text of a key file in OpenSSH's format. It has no comment: the item has a name.
    static func generate() throws -> Secret {
        guard let text = OpenSSHText.text(seed: Secret.random(count: 32), comment: "") else {
            throw CommandFailure(.bug, "a new key has no text; this is a bug in vaultfmt: please report it")
        }
        return text
    }

    /// Adds what makes an item with a new key one that the agent offers: its public key and its use, unless that is given, or
    /// the item has one.
    static func describe(_ secret: borrowing Secret, in values: inout Attributes, of item: Item?) throws {
        let key = try StoredKey.read(secret).publicKey
        let line = key.line(comment: values.label ?? "")
        values.set(Attribute(SSHAttribute.publicKey, Array(line.utf8)))
        if values[SSHAttribute.use] == nil, item?.attributes.attribute(SSHAttribute.use) == nil {
            values.set(Attribute(SSHAttribute.use, Array(KeyUse.offer.rawValue.utf8)))
        }
        Terminal.note("public key: \(line)")
    }
}
