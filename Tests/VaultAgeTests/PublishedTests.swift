import Crypto
import Foundation
import TestSupport
import Testing
import VaultBytes
import VaultCrypto

@testable import VaultAge

/// Spec/reference/tests/published/hybrid.json, which the reference reads too.
private struct Published: Decodable {
    struct KEM: Decodable {
        let seed: String
        let pk: String
        let ct: String
        let ss: String
    }
    struct HPKE: Decodable {
        struct Sealed: Decodable {
            let aad: String
            let ct: String
            let pt: String
        }
        let info: String
        let skRm: String
        let pkRm: String
        let enc: String
        let encryptions: [Sealed]
    }
    let kem: [KEM]
    let hpke: HPKE

    enum CodingKeys: String, CodingKey {
        case kem = "x-wing"
        case hpke
    }

    static func read() throws -> Published {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appendingPathComponent("Spec/reference/tests/published/hybrid.json")
        return try JSONDecoder().decode(Published.self, from: Data(contentsOf: file))
    }
}

@Suite("The post-quantum hybrid")
struct PublishedTests {
    private func bytes(_ hex: String) throws -> [UInt8] { try #require(Hex.decode(hex)) }

    @Test("has the recipients and the shared secrets of the published vectors of X-Wing")
    func kem() throws {
        let vectors = try Published.read().kem
        #expect(vectors.count == 3)
        for vector in vectors {
            let identity = try HybridIdentity(seed: Secret(bytes: bytes(vector.seed)))
            #expect(identity.recipient.text == HybridRecipient(publicKey: try bytes(vector.pk)).text)
            let key = try XWingMLKEM768X25519.PrivateKey(seedRepresentation: bytes(vector.seed), publicKey: nil)
            let secret = try key.decapsulate(Data(bytes(vector.ct)))
            #expect(secret.withUnsafeBytes { Data($0) } == Data(try bytes(vector.ss)))
        }
    }

    @Test("opens the published ciphertexts of HPKE, with the suite that stanzas are made with")
    func hpke() throws {
        let vector = try Published.read().hpke
        let identity = try HybridIdentity(seed: Secret(bytes: bytes(vector.skRm)))
        #expect(identity.recipient.text == HybridRecipient(publicKey: try bytes(vector.pkRm)).text)
        let key = try XWingMLKEM768X25519.PrivateKey(seedRepresentation: bytes(vector.skRm), publicKey: nil)
        var recipient = try HPKE.Recipient(
            privateKey: key, ciphersuite: HybridRecipient.suite, info: Data(bytes(vector.info)),
            encapsulatedKey: Data(bytes(vector.enc)))
        for sealed in vector.encryptions {
            let opened = try recipient.open(Data(bytes(sealed.ct)), authenticating: Data(bytes(sealed.aad)))
            #expect(opened == Data(try bytes(sealed.pt)))
        }
        #expect(vector.encryptions.count == 2)
    }
}
