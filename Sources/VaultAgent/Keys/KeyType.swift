internal import VaultFmt

/// The types of keys with which the agent can sign, by their names in the SSH protocol.
package enum KeyType: String, CaseIterable, Sendable {
    case ed25519 = "ssh-ed25519"
    case rsa = "ssh-rsa"
    case p256 = "ecdsa-sha2-nistp256"
    case p384 = "ecdsa-sha2-nistp384"
    case p521 = "ecdsa-sha2-nistp521"

    private static let certificateSuffix = "-cert-v01@openssh.com"

    /// The name of OpenSSH certificates for keys of this type.
    var certificateName: String { rawValue + Self.certificateSuffix }

    /// Finds a type by its name, or by the name of its certificates.
    static func named(_ name: String) throws(AgentError) -> (type: KeyType, isCertificate: Bool) {
        for type in allCases {
            if name == type.rawValue { return (type, false) }
            if name == type.certificateName { return (type, true) }
        }
        throw AgentError(.unsupported, "keys of this type are not supported")
    }

    /// The name of the curve, and the size of a coordinate in bytes; nil for other types.
    var curve: (name: String, size: Int)? {
        switch self {
        case .ed25519, .rsa: nil
        case .p256: ("nistp256", 32)
        case .p384: ("nistp384", 48)
        case .p521: ("nistp521", 66)
        }
    }

    /// The name shown to users, as in `ssh-add -l`.
    package var displayName: String {
        switch self {
        case .ed25519: "ED25519"
        case .rsa: "RSA"
        case .p256, .p384, .p521: "ECDSA"
        }
    }
}
