import Foundation
import TestSupport
import Testing
import VaultCrypto

@testable import VaultAge

/// Byte strings near valid ones, the same in every run: most are malformed in one place.
private struct Mutations {
    private var generator: SplitMix

    init(seed: UInt64) { generator = SplitMix(state: seed) }

    /// Some bytes with one to four changes: a byte altered, removed, doubled, a piece repeated or cut off.
    mutating func of(_ valid: [UInt8]) -> [UInt8] {
        var bytes = valid
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
            let at = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1: bytes[at] = [0, 0x0A, 0x0D, 0x20, 0x3D, 0x7F, 0xFF][Int.random(in: 0..<7, using: &generator)]
            case 2: bytes.remove(at: at)
            case 3: bytes.insert(bytes[at], at: at)
            case 4: bytes.insert(contentsOf: bytes[at...].prefix(80), at: at)
            default: bytes.removeSubrange(at...)
            }
        }
        return bytes
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

@Suite("What others have written")
struct HostileInputTests {
    private static let rounds = 4000

    @Test("as stanzas is refused, or encodes to the same bytes again")
    func stanzas() throws {
        let recipients = [X25519Identity.generate().recipient, try HybridIdentity.generate().recipient]
        let key = FileKey.random()
        let valid = Stanza.encode(try recipients.flatMap { try $0.wrap(key).stanzas })
        var (mutations, accepted) = (Mutations(seed: 1), 0)
        for _ in 0..<Self.rounds {
            let bytes = mutations.of(valid)
            do throws(AgeError) {
                #expect(Stanza.encode(try Stanza.decode(bytes)) == bytes)
                accepted += 1
            } catch { #expect(error.code == .malformedStanza || error.code == .tooLarge) }
        }
        #expect(accepted > 0 && accepted < Self.rounds)
    }

    @Test("as base64 has no byte beyond ASCII: libsodium takes 255 for a character")
    func beyondASCII() {
        for byte in 0x80...0xFF as ClosedRange<UInt8> { #expect(Base64.decode([0x41, byte, 0x41, 0x41]) == nil) }
        #expect(Base64.decode(Array("QUFB".utf8)) == Array("AAA".utf8))
    }

    @Test("as stanzas of a type that an identity knows opens nothing, or its own file key")
    func unwrapping() throws {
        let identity = X25519Identity.generate()
        let key = FileKey.random()
        let valid = Stanza.encode(try identity.recipient.wrap(key).stanzas)
        var mutations = Mutations(seed: 2)
        for _ in 0..<Self.rounds {
            do throws(AgeError) {
                guard let found = try identity.unwrap(try Stanza.decode(mutations.of(valid))) else { continue }
                let isRight = found.secret.equals(key.secret)
                #expect(isRight)
            } catch { #expect(error.code == .malformedStanza || error.code == .tooLarge) }
        }
    }

    @Test("as a list of recipients is refused with the line, or reads as it is stored")
    func recipients() throws {
        let valid = Array(
            "# team\n\(X25519Identity.generate().recipient.text)\n\nage1plain1qqqsyqcyq5rqwzqf3ylzn\n".utf8)
        var mutations = Mutations(seed: 3)
        for _ in 0..<Self.rounds {
            do throws(AgeError) {
                for text in try RecipientText.list(String(decoding: mutations.of(valid), as: UTF8.self)) {
                    #expect(try RecipientText(text.text).text == text.text)
                }
            } catch { #expect(!error.detail.isEmpty && !error.detail.contains("\n")) }
        }
    }

    @Test("as an identity file is refused in one line, or has at least one identity")
    func identityFiles() throws {
        let folder = try Folder()
        try Program.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", folder.file("ssh"))
        let line = X25519Identity.generate().text
        let valid: [[UInt8]] = [
            Array("# comment\n".utf8) + line.bytes() + Array("\n".utf8), try folder.read("ssh"),
            Array("age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 10\n".utf8)
                + Array("\(String(repeating: "A", count: 43))\n--- \(String(repeating: "A", count: 43))\n".utf8)
                + [UInt8](repeating: 0, count: 40),
        ]
        var mutations = Mutations(seed: 4)
        for round in 0..<Self.rounds {
            do throws(AgeError) {
                // An encrypted file is read up to its work factor.
                if case .identities(let all) = try IdentityFile.read(Secret(bytes: mutations.of(valid[round % 3]))) {
                    #expect(!all.isEmpty)
                }
            } catch { #expect(!error.detail.isEmpty && !error.detail.contains("\n")) }
        }
    }

    @Test("as a plugin's messages is refused, or read to its end")
    func messages() throws {
        let valid = Array(
            "-> msg\nVG91Y2ggaXQu\n-> confirm WWVz Tm8\nU3VyZT8\n-> file-key 0\nAAAAAAAAAAAAAAAAAAAAAA\n-> done\n\n"
                .utf8)
        var mutations = Mutations(seed: 5)
        var read = 0
        for _ in 0..<Self.rounds {
            let pipe = Pipe()
            try pipe.fileHandleForWriting.write(contentsOf: Data(mutations.of(valid)))
            try pipe.fileHandleForWriting.close()
            var stream = PluginStream(reading: pipe.fileHandleForReading.fileDescriptor, writing: -1)
            var isOver = false
            while !isOver {
                do throws(PluginStreamFailure) {
                    let message = try stream.receive()
                    #expect(!message.type.isEmpty)
                    read += 1
                } catch { isOver = true }
            }
            try pipe.fileHandleForReading.close()
        }
        #expect(read > Self.rounds)
    }
}
