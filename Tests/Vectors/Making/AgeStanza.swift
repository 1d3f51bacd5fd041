internal import CSodium
internal import TestSupport
internal import VaultBytes

/// A stanza of section 9.3, read and written by other code than the library's.
struct AgeStanza {
    /// The type first.
    var arguments: [String]
    var body: [UInt8]

    /// What vectors wrap.
    static let fileKey = Array(0xF0...0xFF) as [UInt8]

    init(_ arguments: [String], _ body: [UInt8]) {
        self.arguments = arguments
        self.body = body
    }

    var encoded: [UInt8] {
        var text = AgePlain.base64(body)
        var lines = ["-> " + arguments.joined(separator: " ")]
        while text.count >= 64 {
            lines.append(String(text.prefix(64)))
            text.removeFirst(64)
        }
        return Array((lines + [text]).map { $0 + "\n" }.joined().utf8)
    }

    /// All stanzas of a slot's parameters; nil for what has a reader ignore.
    static func all(_ parameters: [UInt8]) -> [AgeStanza]? {
        var found: [AgeStanza] = []
        var lines = parameters.split(separator: 10, omittingEmptySubsequences: false)[...]
        // What follows the last line feed.
        guard lines.popLast()?.isEmpty == true else { return nil }
        while let head = lines.popFirst() {
            let words = head.split(separator: 32, omittingEmptySubsequences: false)
            let areVisible = words.allSatisfy { !$0.isEmpty && $0.allSatisfy { (33...126).contains($0) } }
            guard areVisible, words.count > 1, words[0].elementsEqual("->".utf8), words.count <= 65 else { return nil }
            var text: [UInt8] = []
            var size = head.count + 1
            var line: ArraySlice<UInt8>
            repeat {
                guard let next = lines.popFirst(), next.count <= 64 else { return nil }
                line = next
                text += line
                size += line.count + 1
            } while line.count == 64
            guard size <= 16_384, let body = AgePlain.bytes(base64: text) else { return nil }
            found.append(AgeStanza(words.dropFirst().map { String(decoding: $0, as: UTF8.self) }, body))
        }
        return (1...64).contains(found.count) ? found : nil
    }

    /// The external key of a slot.
    static func externalKey(_ fileKey: [UInt8], _ vault: Bytes16, _ slot: Bytes16) -> [UInt8] {
        Plain.mac(fileKey, "vaultfmt-1 age", vault.bytes + slot.bytes)
    }
}

/// What a stanza of X25519 or ssh-ed25519 is made of; every input can be changed.
struct ShareRecipe {
    /// Before the share.
    var arguments: [String]
    var share: [UInt8]
    /// What Diffie-Hellman results in.
    var secret: [UInt8]
    var salt: [UInt8]
    var info: String
    var nonce = [UInt8](repeating: 0, count: 12)
    var fileKey: [UInt8] = []

    var key: [UInt8] { AgePlain.hkdf(secret, salt: salt, info: info) }

    var stanza: AgeStanza {
        AgeStanza(arguments + [AgePlain.base64(share)], AgePlain.seal(fileKey, key, nonce))
    }

    private static let scalar: [UInt8] = [0x71].times(32)

    /// A stanza for an identity, always of the same share.
    init(to identity: AgeIdentity, _ fileKey: [UInt8] = AgeStanza.fileKey) {
        let share = AgePlain.x25519(Self.scalar, AgePlain.basePoint)
        let shared = AgePlain.x25519(Self.scalar, identity.point)
        self.init(identity, share: share, shared: shared)
        self.fileKey = fileKey
    }

    /// What a stanza says to an identity; nil if it is of another type or for another key, or malformed.
    init?(of stanza: AgeStanza, with identity: AgeIdentity) {
        guard stanza.arguments.dropLast() == identity.arguments[...],
            let share = AgePlain.bytes(base64: Array((stanza.arguments.last ?? "").utf8)), share.count == 32
        else { return nil }
        let shared = AgePlain.x25519(identity.scalar, share)
        guard shared != [0].times(32) else { return nil }
        self.init(identity, share: share, shared: shared)
    }

    init(_ identity: AgeIdentity, share: [UInt8], shared: [UInt8]) {
        arguments = identity.arguments
        self.share = share
        salt = share + identity.point
        if case .ssh = identity.kind {
            info = "age-encryption.org/v1/ssh-ed25519"
            secret = AgePlain.x25519(AgePlain.hkdf([], salt: identity.wire, info: info), shared)
        } else {
            info = "age-encryption.org/v1/X25519"
            secret = shared
        }
    }
}

extension AgeIdentity {
    /// A stanza's arguments before the share.
    var arguments: [String] {
        guard case .ssh = kind else { return ["X25519"] }
        return ["ssh-ed25519", AgePlain.base64(Array(AgePlain.sha256(wire)[..<4]))]
    }

    /// The private key of Curve25519.
    var scalar: [UInt8] {
        guard case .ssh = kind else { return key }
        var out = [UInt8](repeating: 0, count: 32)
        crypto_sign_ed25519_sk_to_curve25519(&out, pair)
        return out
    }

    /// The public key of Curve25519.
    var point: [UInt8] { AgePlain.x25519(scalar, AgePlain.basePoint) }

    /// An SSH key as SSH sends it.
    var wire: [UInt8] {
        [0, 0, 0, 11] + Array("ssh-ed25519".utf8) + [0, 0, 0, 32] + pair[32...]
    }

    /// libsodium's form of an Ed25519 key: the seed, then the public key.
    private var pair: [UInt8] {
        var publicKey = [UInt8](repeating: 0, count: 32)
        var pair = [UInt8](repeating: 0, count: 64)
        crypto_sign_ed25519_seed_keypair(&publicKey, &pair, key)
        return pair
    }
}

/// The primitives of section 9.3 over plain bytes.
enum AgePlain {
    static let basePoint: [UInt8] = [9] + [UInt8](repeating: 0, count: 31)

    /// All zeros for a point of small order, as RFC 7748 has it.
    static func x25519(_ scalar: [UInt8], _ point: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        guard crypto_scalarmult_curve25519(&out, scalar, point) == 0 else { return [0].times(32) }
        return out
    }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256(&out, bytes, UInt64(bytes.count))
        return out
    }

    /// 32 bytes, which is HKDF's first block.
    static func hkdf(_ key: [UInt8], salt: [UInt8], info: String) -> [UInt8] {
        hmac(hmac(salt, key), Array(info.utf8) + [1])
    }

    private static func hmac(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        var state = crypto_auth_hmacsha256_state()
        var out = [UInt8](repeating: 0, count: 32)
        // Shorter keys are the same as ones that end in zeros.
        let key = key + [UInt8](repeating: 0, count: max(0, 32 - key.count))
        crypto_auth_hmacsha256_init(&state, key, key.count)
        crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        crypto_auth_hmacsha256_final(&state, &out)
        return out
    }

    static func seal(_ plain: [UInt8], _ key: [UInt8], _ nonce: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: plain.count + 16)
        crypto_aead_chacha20poly1305_ietf_encrypt(&out, nil, plain, UInt64(plain.count), nil, 0, nil, nonce, key)
        return out
    }

    static func open(_ body: [UInt8], _ key: [UInt8], _ nonce: [UInt8]) -> [UInt8]? {
        var out = [UInt8](repeating: 0, count: body.count - 16)
        let code = crypto_aead_chacha20poly1305_ietf_decrypt(
            &out, nil, nil, body, UInt64(body.count), nil, 0, nonce, key)
        return code == 0 ? out : nil
    }

    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func base64(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var (bits, count) = (0, 0)
        for byte in bytes {
            (bits, count) = (bits << 8 | Int(byte), count + 8)
            while count >= 6 {
                count -= 6
                text.append(alphabet[bits >> count & 63])
            }
            bits &= 63
        }
        if count > 0 { text.append(alphabet[bits << (6 - count) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Nil for what is not the one encoding of some bytes.
    static func bytes(base64 text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (bits, count) = (0, 0)
        for character in text {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            (bits, count) = ((bits & 0xFF) << 6 | value, count + 6)
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(bits >> count & 0xFF))
            }
        }
        return base64(bytes).utf8.elementsEqual(text) ? bytes : nil
    }
}
