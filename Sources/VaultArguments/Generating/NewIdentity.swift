import VaultAge
import VaultConsole
package import VaultFmt

/// A newly generated age identity.
package struct NewIdentity: ~Copyable {
    /// `AGE-SECRET-KEY-1…` or `AGE-SECRET-KEY-PQ-1…`.
    let text: Secret
    /// The corresponding recipient: `age1…` or `age1pq1…`.
    package let publicKey: String

    package init(isPostQuantum: Bool) throws {
        guard isPostQuantum else {
            let identity = X25519Identity.generate()
            text = identity.text
            publicKey = identity.recipient.text
            return
        }
        let identity: HybridIdentity
        do throws(AgeError) { identity = try HybridIdentity.generate() } catch { throw CommandFailure(error) }
        text = identity.text
        publicKey = identity.recipient.text
    }

    /// The text of a file as `age-keygen` writes it: the public key in a comment, followed by the identity.
    package var fileText: Secret {
        borrowing get {
            let comment = Secret(text: "# public key: \(publicKey)\n")
            var file = Secret(count: comment.count + text.count + 1)
            file.withUnsafeMutableBytes { file in
                comment.withUnsafeBytes { file.copyMemory(from: $0) }
                let rest = UnsafeMutableRawBufferPointer(rebasing: file[comment.count...])
                text.withUnsafeBytes { rest.copyMemory(from: $0) }
                file[file.count - 1] = 0x0A
            }
            return file
        }
    }
}
