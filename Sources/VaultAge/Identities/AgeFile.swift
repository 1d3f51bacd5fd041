internal import CSodium
internal import Crypto
internal import VaultCrypto

/// The parts of age's binary file format (C2SP age.md, *Encrypted file format*) that are needed to read encrypted
/// identity files.
struct AgeFile: Sendable {
    static let start = Array("age-encryption.org/".utf8)
    private static let version = Array("age-encryption.org/v1\n".utf8)
    private static let macSize = 32
    private static let nonceSize = 16
    private static let chunkSize = 65_536
    private static let tagSize = Int(crypto_aead_chacha20poly1305_ietf_ABYTES)

    let stanzas: [Stanza]
    /// The bytes that the MAC covers: everything up to and including the three dashes.
    private let header: [UInt8]
    private let mac: [UInt8]
    private let payload: [UInt8]

    init(_ bytes: [UInt8]) throws(AgeError) {
        guard bytes.starts(with: Self.version) else {
            throw AgeError(.unsupportedIdentity, "this file uses an unknown version of the age format")
        }
        guard let dashes = Self.endOfStanzas(bytes) else { throw Self.damaged }
        stanzas = try Stanza.decode(Array(bytes[Self.version.count..<dashes]))
        let rest = bytes[dashes...].dropFirst(4)
        guard bytes[dashes...].starts(with: Array("--- ".utf8)), let end = rest.firstIndex(of: UInt8(ascii: "\n")),
            end - rest.startIndex < 64, let mac = Base64.decode(rest[..<end]), mac.count == Self.macSize
        else { throw Self.damaged }
        header = Array(bytes[..<(dashes + 3)])
        self.mac = mac
        payload = Array(bytes[(end + 1)...])
    }

    /// Returns the offset of the line with the MAC, which is the first line that starts with three dashes. Dashes do
    /// not occur in Base64.
    private static func endOfStanzas(_ bytes: [UInt8]) -> Int? {
        var at = version.count
        while at < bytes.count {
            if bytes[at...].starts(with: Array("---".utf8)) { return at }
            guard let end = bytes[at...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            at = end + 1
        }
        return nil
    }

    private static var damaged: AgeError { AgeError(.malformedStanza, "the encrypted file is damaged or truncated") }

    /// Decrypts the payload. If any part of the file does not authenticate, this throws an error and returns no
    /// plaintext.
    func open(_ fileKey: borrowing FileKey) throws(AgeError) -> Secret {
        let macKey = KeyDerivation.derive(fileKey.secret, salt: [], info: "header")
        let isRight = macKey.withUnsafeBytes { key in
            HMAC<SHA256>.isValidAuthenticationCode(mac, authenticating: header, using: SymmetricKey(data: key))
        }
        guard isRight, payload.count >= Self.nonceSize + Self.tagSize else { throw Self.damaged }
        let key = KeyDerivation.derive(fileKey.secret, salt: Array(payload[..<Self.nonceSize]), info: "payload")
        return try Self.opened(Array(payload[Self.nonceSize...]), key)
    }

    /// Decrypts STREAM: chunks encrypted with one key, each with a counter and a last-chunk flag in its nonce.
    private static func opened(_ sealed: [UInt8], _ key: borrowing Secret) throws(AgeError) -> Secret {
        let step = chunkSize + tagSize
        let chunks = (sealed.count + step - 1) / step
        // Only the last chunk can be short, and it can be empty only if it is the only chunk: an empty chunk after
        // others would be a second encoding of the same plaintext.
        let last = sealed.count - (chunks - 1) * step
        guard last > tagSize || last == tagSize && chunks == 1 else { throw damaged }
        var plain = Secret(count: sealed.count - chunks * tagSize)
        for index in 0..<chunks {
            let chunk = Array(sealed[(index * step)..<min((index + 1) * step, sealed.count)])
            let isLast = index == chunks - 1
            guard open(chunk, key, nonce: nonce(index, isLast: isLast), into: &plain, at: index * chunkSize) else {
                throw damaged
            }
        }
        return plain
    }

    private static func nonce(_ counter: Int, isLast: Bool) -> [UInt8] {
        [0, 0, 0] + withUnsafeBytes(of: UInt64(counter).bigEndian) { Array($0) } + [isLast ? 1 : 0]
    }

    private static func open(
        _ chunk: [UInt8], _ key: borrowing Secret, nonce: [UInt8], into plain: inout Secret, at offset: Int
    ) -> Bool {
        plain.withUnsafeMutableBytes { plain in
            let out = UnsafeMutableRawBufferPointer(rebasing: plain[offset..<(offset + chunk.count - tagSize)])
            return key.withUnsafeBytes { key in
                crypto_aead_chacha20poly1305_ietf_decrypt(
                    out.u8, nil, nil, chunk, UInt64(chunk.count), nil, 0, nonce, key.u8) == 0
            }
        }
    }
}

/// age's armor: strict PEM (C2SP age.md, *ASCII armor*).
enum Armor {
    static let begin = Array("-----BEGIN AGE ENCRYPTED FILE-----".utf8)
    private static let end = Array("-----END AGE ENCRYPTED FILE-----".utf8)
    private static let columns = 64

    /// Returns the decoded armor, or the given bytes if they are not armored.
    static func decoded(_ bytes: [UInt8]) throws(AgeError) -> [UInt8] {
        guard bytes.starts(with: begin) else { return bytes }
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
        while lines.last?.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) == true {
            lines.removeLast()
        }
        guard lines.count >= 3, lines.removeFirst().elementsEqual(begin), lines.removeLast().elementsEqual(end),
            lines.dropLast().allSatisfy({ $0.count == columns }), (1...columns).contains(lines.last?.count ?? 0)
        else { throw damaged }
        var text = lines.flatMap { $0 }
        guard text.count % 4 == 0 else { throw damaged }
        for _ in 0..<2 where text.last == UInt8(ascii: "=") { text.removeLast() }
        guard let content = Base64.decode(text) else { throw damaged }
        return content
    }

    private static var damaged: AgeError { AgeError(.malformedStanza, "the armored file is damaged or truncated") }
}
