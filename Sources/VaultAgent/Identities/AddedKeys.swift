internal import VaultExchange
internal import VaultFmt

/// The keys that clients added at run time. They are held in memory only, and wiped when they are removed or expire.
struct AddedKeys {
    struct Entry {
        /// The encoded key or certificate.
        let identity: [UInt8]
        let key: PublicKey
        let comment: String
        let constraints: KeyConstraints
        /// The private key as it was received, so that it stays in locked memory until it is needed for a signature.
        let secret: SharedSecret
        /// When the key expires, in milliseconds of the agent's clock.
        let end: UInt64?
    }

    private(set) var entries: [Entry] = []

    /// Reads a key with its comment and constraints, and adds it. If the same key was added before, it is replaced
    /// together with its constraints.
    mutating func add(_ reader: inout WireReader, isConstrained: Bool, now: UInt64) throws(AgentError) -> Entry {
        let start = reader.remaining
        let decoded = try PrivateKey.read(&reader)
        let key = decoded.key.publicKey
        let identity = decoded.certificate?.blob ?? key.blob
        let secret = Secret(copying: UnsafeRawBufferPointer(rebasing: start.dropLast(reader.remaining.count)))
        let comment = KeyComment.shown(try reader.bytes())
        let constraints = try isConstrained ? KeyConstraints.read(&reader) : KeyConstraints()
        try reader.end()
        let entry = Entry(
            identity: identity, key: key, comment: comment, constraints: constraints, secret: SharedSecret(secret),
            end: constraints.lifetime.map { now + UInt64($0) * 1000 })
        if let place = entries.firstIndex(where: { $0.identity == identity }) {
            entries[place] = entry
        } else {
            guard entries.count < AgentMessage.mostKeys else {
                throw AgentError(.refused, "the agent has too many keys; remove some")
            }
            entries.append(entry)
        }
        return entry
    }

    func find(_ identity: [UInt8]) -> Entry? { entries.first { $0.identity == identity } }

    /// Returns whether a key was added with the confirmation constraint, either by itself or with a certificate.
    func needsConfirmation(_ key: [UInt8]) -> Bool {
        entries.contains { $0.key.blob == key && $0.constraints.needsConfirmation }
    }

    mutating func remove(_ identity: [UInt8]) -> Bool {
        guard let place = entries.firstIndex(where: { $0.identity == identity }) else { return false }
        entries.remove(at: place)
        return true
    }

    mutating func removeAll() { entries.removeAll() }

    /// Removes the keys that have expired.
    mutating func expire(now: UInt64) { entries.removeAll { $0.end.map { $0 <= now } ?? false } }

    /// When the next key expires.
    var nextEnd: UInt64? { entries.compactMap(\.end).min() }
}

extension AddedKeys.Entry {
    /// Signs with the key, which is decoded for this signature only.
    func sign(_ data: UnsafeRawBufferPointer, flags: UInt32) throws(AgentError) -> [UInt8] {
        try secret.withBytes { (bytes) throws(AgentError) -> [UInt8] in
            var reader = WireReader(bytes)
            return try PrivateKey.read(&reader).takeKey().sign(data, flags: flags)
        }
    }
}
