internal import VaultFmt

/// An OpenSSH certificate (PROTOCOL.certkeys in OpenSSH's sources).
///
/// The signature of a host certificate is verified. User certificates are left for servers to verify, because the
/// authority may use a key type that the agent does not know, such as FIDO keys.
package struct Certificate: Hashable, Sendable {
    enum Kind: UInt32, Sendable {
        case user = 1
        case host = 2
    }

    /// The certified key.
    package let key: PublicKey
    package let blob: [UInt8]
    let kind: Kind
    /// The authority's encoded key.
    let authority: [UInt8]
    private let principals: [String]
    private let validity: Range<UInt64>
    private let hasCriticalOptions: Bool

    private static let longestPart = 65_536
    private static let mostPrincipals = 256

    /// Parses a certificate. Throws `malformed` or `unsupported`, or `refused` if a host certificate is not signed by
    /// its authority.
    package init(blob: [UInt8]) throws(AgentError) {
        self = try blob.withRawBytes { (bytes) throws(AgentError) in try Certificate(blob, bytes) }
    }

    private init(_ blob: [UInt8], _ bytes: UnsafeRawBufferPointer) throws(AgentError) {
        var reader = WireReader(bytes)
        let (type, isCertificate) = try KeyType.named(try reader.text(limit: 64))
        guard isCertificate else { throw AgentError(.unsupported, "this is a key, not a certificate") }
        _ = try reader.bytes(limit: Self.longestPart)
        key = try PublicKey(type, &reader)
        _ = try reader.number64()
        guard let kind = Kind(rawValue: try reader.number()) else { throw .malformed }
        _ = try reader.bytes(limit: Self.longestPart)
        principals = try Self.principals(try reader.string())
        let (start, end) = (try reader.number64(), try reader.number64())
        validity = start..<max(start, end)
        hasCriticalOptions = try !reader.string().isEmpty
        _ = try reader.string()
        _ = try reader.string()
        authority = try reader.bytes(limit: Self.longestPart)
        let signed = blob.dropLast(reader.remaining.count)
        let signature = try reader.bytes(limit: Self.longestPart)
        try reader.end()
        if kind == .host {
            guard try PublicKey(blob: authority).isValid(signature, of: Array(signed)) else {
                throw AgentError(.refused, "the certificate is not signed by its authority")
            }
        }
        self.kind = kind
        self.blob = blob
    }

    /// Returns the reason why servers would reject the certificate at the given time, in seconds since 1970; nil if
    /// there is no such reason.
    func problem(at time: UInt64) -> String? {
        guard !validity.contains(time) else { return nil }
        return time < validity.lowerBound ? "is not valid yet" : "has expired"
    }

    private static func principals(_ bytes: UnsafeRawBufferPointer) throws(AgentError) -> [String] {
        var reader = WireReader(bytes)
        var all: [String] = []
        while !reader.isAtEnd {
            guard all.count < mostPrincipals else { throw .malformed }
            all.append(try reader.text())
        }
        return all
    }

    /// Returns whether the certificate is valid for a host with this name at the given time, in seconds since 1970. Its
    /// principals may be patterns. A certificate with critical options is never valid, because no option is defined for
    /// hosts.
    func isValid(forHost name: String, at time: UInt64) -> Bool {
        kind == .host && !hasCriticalOptions && validity.contains(time)
            && principals.contains { Wildcard.matches(name, pattern: $0) }
    }

    /// Parses the line in a certificate file. Throws the same errors as ``init(blob:)``.
    package static func read(line: String) throws(AgentError) -> Certificate {
        let (name, blob) = try KeyLine.parts(line)
        let certificate = try Certificate(blob: blob)
        guard certificate.key.type.certificateName == name else { throw .malformed }
        return certificate
    }
}

/// The key with which a host or a client identifies itself, either plain or in a certificate.
enum PresentedKey: Hashable, Sendable {
    case plain(PublicKey)
    case certified(Certificate)

    init(blob: [UInt8]) throws(AgentError) {
        let isCertificate = try blob.withRawBytes { (bytes) throws(AgentError) -> Bool in
            var reader = WireReader(bytes)
            return try KeyType.named(try reader.text(limit: 64)).isCertificate
        }
        self = isCertificate ? .certified(try Certificate(blob: blob)) : .plain(try PublicKey(blob: blob))
    }

    var key: PublicKey {
        switch self {
        case .plain(let key): key
        case .certified(let certificate): certificate.key
        }
    }

    var blob: [UInt8] {
        switch self {
        case .plain(let key): key.blob
        case .certified(let certificate): certificate.blob
        }
    }
}
