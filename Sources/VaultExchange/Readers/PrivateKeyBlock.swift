package import VaultFmt

/// The first private key in a PEM text, decoded into memory that is wiped after use.
package struct PrivateKeyBlock: ~Copyable {
    /// "PRIVATE KEY", "OPENSSH PRIVATE KEY" and so on.
    package let label: String
    /// True if the block itself is encrypted: PKCS #8 with a passphrase, or OpenSSL's old form. OpenSSH keys are
    /// encrypted inside the block.
    package let isEncrypted: Bool
    package let contents: Secret

    /// Finds the block; returns nil if the text has no private key. Throws `ExchangeError` if the text is not PEM, or
    /// if a block is not Base64.
    package static func first(in text: borrowing Secret) throws -> PrivateKeyBlock? {
        var buffer = SecretBuffer(capacity: text.count)
        buffer.append(text)
        var found: PrivateKeyBlock?
        var blocks = try PEMBlocks(SourceReader(buffer, at: 0))
        try blocks.forEach { block in
            guard found == nil, block.label.hasSuffix("PRIVATE KEY") else { return }
            let isEncrypted = block.cipher != nil || block.label == "ENCRYPTED PRIVATE KEY"
            let decoded = isEncrypted ? Secret(count: 0) : block.decoded()
            switch consume decoded {
            case .none: throw ExchangeError.damaged(block.place, "the block is not Base64")
            case .some(let contents):
                found = PrivateKeyBlock(label: block.label, isEncrypted: isEncrypted, contents: contents)
            }
        }
        return found
    }
}
