internal import Crypto
internal import VaultFmt

/// A public key in the encoding of the SSH protocol (RFC 4253, 5656 and 8709).
package struct PublicKey: Hashable, Sendable {
    package let type: KeyType
    /// The canonical encoding of the key.
    package let blob: [UInt8]
    let numbers: Numbers

    enum Numbers: Hashable, Sendable {
        case ed25519([UInt8])
        /// Without leading zeros.
        case rsa(modulus: [UInt8], exponent: [UInt8])
        /// Uncompressed.
        case point([UInt8])
    }

    /// The maximum length of an RSA modulus in bytes, as in OpenSSH.
    static let longestModulus = 16_384 / 8
    private static let longestExponent = 8

    init(_ type: KeyType, _ numbers: Numbers) {
        self.type = type
        self.numbers = numbers
        var blob: [UInt8] = []
        blob.append(text: type.rawValue)
        switch numbers {
        case .ed25519(let key): blob.append(string: key)
        case .rsa(let modulus, let exponent):
            blob.append(magnitude: exponent)
            blob.append(magnitude: modulus)
        case .point(let point):
            blob.append(text: type.curve?.name ?? "")
            blob.append(string: point)
        }
        self.blob = blob
    }

    /// Parses an encoded key. Throws `unsupported`, or `malformed`, which includes encodings that are not canonical.
    package init(blob: [UInt8]) throws(AgentError) {
        self = try blob.withRawBytes { (bytes) throws(AgentError) -> PublicKey in
            var reader = WireReader(bytes)
            let (type, isCertificate) = try KeyType.named(try reader.text(limit: 64))
            guard !isCertificate else { throw AgentError(.unsupported, "this is a certificate, not a key") }
            let key = try PublicKey(type, &reader)
            try reader.end()
            return key
        }
        guard self.blob == blob else { throw .malformed }
    }

    /// Reads the numbers that follow the name of the type.
    init(_ type: KeyType, _ reader: inout WireReader) throws(AgentError) {
        switch type {
        case .ed25519:
            let key = try reader.bytes(limit: 32)
            guard key.count == 32 else { throw .malformed }
            self.init(type, .ed25519(key))
        case .rsa:
            let (exponent, modulus) = (Array(try reader.magnitude()), Array(try reader.magnitude()))
            try Self.check(modulus: modulus, exponent: exponent)
            self.init(type, .rsa(modulus: modulus, exponent: exponent))
        case .p256, .p384, .p521:
            guard let curve = type.curve, try reader.text(limit: 16) == curve.name else { throw .malformed }
            let point = try reader.bytes(limit: 1 + 2 * curve.size)
            guard point.count == 1 + 2 * curve.size, point.first == 4 else { throw .malformed }
            self.init(type, .point(point))
        }
    }

    static func check(modulus: [UInt8], exponent: [UInt8]) throws(AgentError) {
        guard modulus.count <= longestModulus, exponent.count <= longestExponent, modulus.count >= 128 else {
            throw AgentError(.unsupported, "this RSA key is too small or too large")
        }
        guard let last = modulus.last, let low = exponent.last, last & low & 1 == 1 else { throw .malformed }
    }

    /// The size in bits, as in `ssh-add -l`.
    package var bits: Int {
        switch numbers {
        case .ed25519: 256
        case .rsa(let modulus, _): modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        case .point(let point): type == .p521 ? 521 : (point.count - 1) * 4
        }
    }

    /// `SHA256:` followed by the hash of the key in Base64 without padding, as in OpenSSH.
    package var fingerprint: String { Self.fingerprint(of: blob) }

    static func fingerprint(of blob: [UInt8]) -> String {
        "SHA256:" + String(Base64Text.encode(Array(SHA256.hash(data: blob))).prefix { $0 != "=" })
    }

    /// Returns the key's line for `authorized_keys`. The comment is escaped, so that it cannot contain a newline.
    package func line(comment: String) -> String { Self.line(type.rawValue, blob, comment: comment) }

    static func line(_ name: String, _ blob: [UInt8], comment: String) -> String {
        let comment = KeyComment.shown(comment)
        return "\(name) \(Base64Text.encode(blob))" + (comment.isEmpty ? "" : " \(comment)")
    }

    /// Parses the line of a public key: its type, the key in Base64, and an optional comment. Throws `malformed` or
    /// `unsupported`.
    package static func read(line: String) throws(AgentError) -> PublicKey {
        let (name, blob) = try KeyLine.parts(line)
        let key = try PublicKey(blob: blob)
        guard key.type.rawValue == name else { throw .malformed }
        return key
    }
}

/// A line of `authorized_keys` without options.
enum KeyLine {
    static func parts(_ line: String) throws(AgentError) -> (name: String, blob: [UInt8]) {
        guard line.utf8.count <= AgentMessage.longest else { throw .malformed }
        let words = line.split(maxSplits: 2, whereSeparator: { $0 == " " || $0 == "\t" || $0.isNewline })
        guard words.count >= 2, let blob = Base64Text.decode(String(words[1])) else { throw .malformed }
        return (String(words[0]), blob)
    }
}
