package import VaultFmt

/// The first private key among the PEM blocks of a text, decoded in wiped memory.
package struct PrivateKeyBlock: ~Copyable {
    /// "PRIVATE KEY", "OPENSSH PRIVATE KEY" and so on.
    package let label: String
    /// Whether the block itself is encrypted: PKCS #8 with a passphrase, or OpenSSL's old form. For OpenSSH's keys, only
    /// the contents tell.
    package let isEncrypted: Bool
    package let contents: Secret

    /// Finds the block; nil if there is none. Throws `ExchangeError` if the text is not PEM, or a block not Base64.
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
