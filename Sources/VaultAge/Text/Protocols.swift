/// A recipient for which file keys can be wrapped: a public key, or a recipient that a plugin uses.
public protocol Recipient: Sendable {
    /// The recipient's text, in the form that users enter and slots store for owners: `age1…`, `ssh-ed25519 …`.
    var text: String { get }

    /// The kind of recipient.
    var kind: RecipientKind { get }

    /// Wraps a file key. For a plugin's recipient, this runs the plugin.
    func wrap(_ fileKey: borrowing FileKey) throws(AgeError) -> WrappedFileKey
}

/// A file key as wrapped for a recipient.
public struct WrappedFileKey: Sendable, Equatable {
    /// The stanzas, of which there is at least one.
    public let stanzas: [Stanza]
    /// The recipient's labels, such as `postquantum`. Recipients of one slot have the same labels unless the user
    /// allows otherwise.
    public let labels: Set<String>

    /// Creates the result of a recipient's `wrap`.
    public init(stanzas: [Stanza], labels: Set<String> = []) {
        self.stanzas = stanzas
        self.labels = labels
    }

    /// The label of recipients that are safe from quantum computers.
    public static let postQuantum = "postquantum"
}

/// An identity that opens stanzas: a private key, or a plugin that holds a private key.
public protocol Identity: Sendable {
    /// Finds the file keys of several headers in one call, so that a plugin asks for a single touch.
    ///
    /// No key is found for a header if its stanzas are malformed or are not for this identity.
    func unwrap(_ headers: [[Stanza]], into found: inout FoundFileKeys) throws(AgeError)
}

extension Identity {
    /// Returns the file key of one header, or nil if this identity cannot open the header.
    public func unwrap(_ stanzas: [Stanza]) throws(AgeError) -> FileKey? {
        var found = FoundFileKeys(headers: 1)
        try unwrap([stanzas], into: &found)
        return found.count(for: 0) > 0 ? found.key(0, for: 0) : nil
    }
}

/// An identity whose private key is in this process.
public protocol NativeIdentity: Identity {
    /// The recipient of this identity.
    var recipient: any Recipient { get }

    /// Returns the file key of a stanza, or nil if the stanza is not for this identity. Throws `malformedStanza` if
    /// C2SP age.md requires that the stanza be rejected.
    func unwrap(_ stanza: Stanza) throws(AgeError) -> FileKey?
}

extension NativeIdentity {
    /// Tries every stanza.
    public func unwrap(_ headers: [[Stanza]], into found: inout FoundFileKeys) throws(AgeError) {
        for (index, stanzas) in headers.enumerated() {
            for stanza in stanzas {
                // The malformed stanza may come from another writer; such a stanza must not prevent the other slots
                // from opening.
                do throws(AgeError) {
                    if let key = try unwrap(stanza) { found.add(key, for: index) }
                } catch { guard error.code == .malformedStanza else { throw error } }
            }
        }
    }
}

/// The kinds of recipients, as revealed by their stanzas.
public enum RecipientKind: Sendable, Hashable {
    /// `age1…`: X25519.
    case x25519
    /// `age1pq1…`: ML-KEM-768 and X25519.
    case hybrid
    /// An OpenSSH key.
    case sshEd25519
    /// `age1NAME1…`: a plugin's recipient.
    case plugin(String)

    /// The name to show: the stanza type, or the plugin's name.
    public var name: String {
        switch self {
        case .x25519: "X25519"
        case .hybrid: "mlkem768x25519"
        case .sshEd25519: "ssh-ed25519"
        case .plugin(let name): "plugin \(name)"
        }
    }

    /// True if recipients of this kind are safe from quantum computers; nil if that depends on the plugin.
    public var isPostQuantum: Bool? {
        switch self {
        case .x25519, .sshEd25519: false
        case .hybrid: true
        case .plugin: nil
        }
    }
}
