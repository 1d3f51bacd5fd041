public import VaultCrypto

/// A file key, which stanzas wrap: 16 secret bytes.
public struct FileKey: ~Copyable, Sendable {
    /// The length of a file key in bytes.
    public static let size = 16

    /// The 16 bytes.
    public let secret: Secret

    /// Creates a key from 16 bytes, which come from a stanza or a plugin. Throws `malformedStanza` for any other
    /// length.
    public init(_ secret: consuming Secret) throws(AgeError) {
        guard secret.count == FileKey.size else {
            throw AgeError(.malformedStanza, "the file key has \(secret.count) bytes, not \(FileKey.size)")
        }
        self.secret = secret
    }

    private init(random: Void) { secret = Secret.random(count: FileKey.size) }

    /// Generates a new file key.
    public static func random() -> FileKey { FileKey(random: ()) }

    /// Returns a copy of the key.
    public borrowing func copy() -> FileKey { FileKey(copying: secret) }

    private init(copying secret: borrowing Secret) { self.secret = secret.copy() }
}

/// The file keys that identities have found, for each of the headers they were given.
public struct FoundFileKeys: ~Copyable {
    private var keys: [[FoundFileKey]]

    /// Creates an empty set for this number of headers.
    public init(headers: Int) { keys = Array(repeating: [], count: headers) }

    /// Adds a key that a stanza of the header at `index` wraps; an index that does not exist is ignored.
    public mutating func add(_ key: consuming FileKey, for index: Int) {
        guard keys.indices.contains(index) else { return }
        keys[index].append(FoundFileKey(key))
    }

    /// Returns the number of keys found for the header at `index`.
    public func count(for index: Int) -> Int { keys[index].count }

    /// Returns a copy of one of the keys found for a header.
    public func key(_ position: Int, for index: Int) -> FileKey { keys[index][position].key.copy() }
}

/// A copyable box for a file key.
private final class FoundFileKey: Sendable {
    let key: FileKey

    init(_ key: consuming FileKey) { self.key = key }
}
