import Testing
import VaultBytes
import VaultCrypto

@Suite("A generated key file")
final class KeyFileFormatTests {
    private let key = Secret(bytes: (0..<32).map { UInt8($0) })

    @Test("is 89 bytes of ASCII: marker, digits, check digits, newline")
    func form() throws {
        let text = String(decoding: KeyFileFormat.encode(key).array, as: UTF8.self)
        var hash = Blake2b()
        hash.update("vaultfmt-1 key file check")
        hash.update((0..<32).map { UInt8($0) })
        let check = hash.finish().bytes[..<4].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(text == "VAULTFMT-KEY-1-000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f-\(check)\n")
        #expect(text.utf8.count == KeyFileFormat.size)
        #expect(try KeyFileFormat.decode(Secret(text: text)).equals(key) == true)
        #expect(KeyFileFormat.isGenerated(Secret(text: text)) == true)
    }

    @Test("with any byte changed is damaged, and never another key (R-3.19)")
    func damaged() {
        let bytes = KeyFileFormat.encode(key).array
        for index in bytes.indices {
            for change in [1, 0x20, 0x80] as [UInt8] {
                var bad = bytes
                bad[index] ^= change
                #expect(throws: CryptoError.keyFileDamaged) { _ = try KeyFileFormat.decode(Secret(bytes: bad)) }
            }
        }
        for bad in [Array(bytes.dropLast()), bytes + [10], [], bytes.dropLast() + [13, 10]] {
            #expect(throws: CryptoError.keyFileDamaged) { _ = try KeyFileFormat.decode(Secret(bytes: bad)) }
        }
        let upper = String(decoding: bytes, as: UTF8.self).uppercased()
        #expect(throws: CryptoError.keyFileDamaged) { _ = try KeyFileFormat.decode(Secret(text: upper)) }
    }

    @Test("is known by its first bytes")
    func marker() {
        for text in ["VAULTFMT-KEY-", "VAULTFMT-KEY-2-", "VAULTFMT-KEY-1-zz"] {
            #expect(KeyFileFormat.isGenerated(Secret(text: text)) == true)
        }
        for text in ["", "VAULTFMT-KEY", "vaultfmt-key-1-", " VAULTFMT-KEY-1-"] {
            #expect(KeyFileFormat.isGenerated(Secret(text: text)) == false)
        }
    }
}
