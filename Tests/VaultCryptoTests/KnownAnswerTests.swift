import Testing
import VaultBytes
import VaultCrypto

/// Bytes from hexadecimal digits.
func hex(_ text: String) -> [UInt8] {
    let digits = text.filter { !$0.isWhitespace }.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

extension Secret {
    /// A copy in ordinary memory: for tests only.
    var array: [UInt8] {
        borrowing get { withUnsafeBytes { Array($0) } }
    }
}

@Suite("BLAKE2b")
struct Blake2bTests {
    @Test("gives the published hashes (RFC 7693 and Python's hashlib, 32 bytes)")
    func unkeyed() {
        for (input, expected) in [
            ("", "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"),
            ("abc", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"),
        ] {
            let whole = Array(input.utf8).withUnsafeBytes { Blake2b.hash($0) }
            #expect(whole.bytes == hex(expected))
            var hash = Blake2b()
            for byte in input.utf8 { hash.update([byte]) }
            #expect(hash.finish().bytes == hex(expected))
        }
    }

    @Test("gives the hashes of Python's hashlib with keys of 32 and 64 bytes")
    func keyed() {
        let input = (0..<255).map { UInt8($0) }
        for (size, expected) in [
            (32, "f60f5c4a575c43db6c93608515866ea998e04b35792f5a92b27aa5880cd6721e"),
            (64, "fe7b76a61787c089141f9e10fca1e5092488d89c62ea793fb2c5b1f849b4f2cb"),
        ] {
            var hash = Blake2b(key: Secret(bytes: (0..<size).map { UInt8($0) }))
            hash.update(input)
            #expect(hash.finish().bytes == hex(expected))
        }
        var empty = Blake2b(key: Secret(bytes: (0..<64).map { UInt8($0) }))
        #expect(empty.finish().bytes == hex("2fa9fbd9be36437de204e139e97d402bce68c828f43391608c891b5faed8a98a"))
    }

    @Test("writes labels with their length and numbers in little-endian order, as the specification has it")
    func pieces() {
        var pieces = Blake2b()
        pieces.update("label")
        pieces.update(0x0102_0304 as UInt32)
        pieces.update(0x0102_0304_0506_0708 as UInt64)
        let whole: [UInt8] = [5] + Array("label".utf8) + [4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1]
        let hash = whole.withUnsafeBytes { Blake2b.hash($0) }
        #expect(pieces.finish() == hash)
    }

    @Test("derives a key and a MAC by the same rule")
    func derive() {
        let key = Secret(bytes: [UInt8](repeating: 3, count: 32))
        let derived = key.derive("label", [1, 2]).array
        let mac = ([1, 2] as [UInt8]).withUnsafeBytes { key.mac("label", $0) }
        #expect(derived == mac.bytes)
        let hash = Bytes32(words: (1, 2, 3, 4))
        #expect(key.derive("label", hash.bytes).array == key.mac("label", hash).bytes)
        #expect(derived != key.derive("labe", [108, 1, 2]).array)
    }
}

@Suite("Argon2id")
struct Argon2Tests {
    /// From the reference implementation's own tests, version 1.3, password "password", salt "somesalt".
    @Test(
        "gives the reference implementation's results",
        arguments: [
            (2, 256, 1, "9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe"),
            (2, 256, 2, "6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037"),
            (1, 65_536, 1, "f6a5adc1ba723dddef9b5ac1d464e180fcd9dffc9d1cbf76cca2fed795d9ca98"),
        ] as [(UInt32, UInt32, UInt32, String)])
    func reference(passes: UInt32, memory: UInt32, lanes: UInt32, expected: String) throws {
        let out = try Argon2.stretch(
            Secret(text: "password"), salt: Array("somesalt".utf8), memoryKiB: memory, passes: passes, lanes: lanes)
        #expect(out.array == hex(expected))
    }

    @Test("refuses parameters that it cannot take")
    func refusals() {
        for (memory, passes, lanes) in [(8, 1, 0), (8, 0, 1), (7, 1, 1), (15, 1, 2)] as [(UInt32, UInt32, UInt32)] {
            #expect(throws: CryptoError.kdfFailed) {
                _ = try Argon2.stretch(
                    Secret(count: 32), salt: [UInt8](repeating: 1, count: 16), memoryKiB: memory, passes: passes,
                    lanes: lanes)
            }
        }
    }
}

@Suite("XChaCha20-Poly1305")
struct AEADTests {
    private static let plain =
        "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
    private static let key = (0x80...0x9F).map { UInt8($0) }
    private static let nonce = (0x40...0x57).map { UInt8($0) }
    private static let data = hex("50515253c0c1c2c3c4c5c6c7")
    private static let sealed = hex(
        """
        bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39
        ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9
        21f9664c97637da9768812f615c68b13b52e c0875924c1c7987947deafd8780acf49
        """)

    private func open(_ sealed: [UInt8], nonce: [UInt8] = nonce, data: [UInt8] = data, key: [UInt8] = key)
        throws(CryptoError) -> [UInt8]
    {
        try AEAD.unwrap(nonce + sealed, data, key: Secret(bytes: key)).array
    }

    @Test("gives the draft's vector (draft-irtf-cfrg-xchacha, A.3.1)")
    func vector() throws {
        var out = [UInt8](repeating: 0, count: Self.plain.utf8.count + AEAD.overhead)
        out.withUnsafeMutableBytes { out in
            Array(Self.plain.utf8).withUnsafeBytes { plain in
                Self.nonce.withUnsafeBytes { nonce in
                    Self.data.withUnsafeBytes { data in
                        guard let nonce = nonce.baseAddress else { return }
                        AEAD.seal(plain, into: out, nonce: nonce, bound: data, key: Secret(bytes: Self.key))
                    }
                }
            }
        }
        #expect(out == Self.sealed)
        #expect(try open(Self.sealed) == Array(Self.plain.utf8))
    }

    @Test("opens nothing of which a single bit was changed")
    func bits() {
        func changed(_ bytes: [UInt8]) -> [[UInt8]] {
            bytes.indices.map { index in
                var out = bytes
                out[index] ^= 1 << UInt8(index % 8)
                return out
            }
        }
        for sealed in changed(Self.sealed) {
            #expect(throws: CryptoError.authenticationFailed) { _ = try open(sealed) }
        }
        for nonce in changed(Self.nonce) {
            #expect(throws: CryptoError.authenticationFailed) { _ = try open(Self.sealed, nonce: nonce) }
        }
        for data in changed(Self.data) {
            #expect(throws: CryptoError.authenticationFailed) { _ = try open(Self.sealed, data: data) }
        }
        for key in changed(Self.key) {
            #expect(throws: CryptoError.authenticationFailed) { _ = try open(Self.sealed, key: key) }
        }
        for count in 0..<40 {
            #expect(throws: CryptoError.authenticationFailed) {
                _ = try AEAD.unwrap([UInt8](repeating: 0, count: count), [], key: Secret(bytes: Self.key))
            }
        }
    }

    @Test("releases nothing of what did not authenticate")
    func nothingReleased() {
        let key = Secret(bytes: Self.key)
        var out = [UInt8](repeating: 0xEE, count: Self.plain.utf8.count)
        var wrong = Self.sealed
        wrong[0] ^= 1
        out.withUnsafeMutableBytes { out in
            wrong.withUnsafeBytes { wrong in
                Self.nonce.withUnsafeBytes { nonce in
                    Self.data.withUnsafeBytes { data in
                        guard let nonce = nonce.baseAddress else { return }
                        #expect(throws: CryptoError.authenticationFailed) {
                            try AEAD.open(wrong, into: out, nonce: nonce, bound: data, key: key)
                        }
                    }
                }
            }
        }
        #expect(out.allSatisfy { $0 == 0 })
    }

    @Test("wraps small secrets under a new nonce each time, the empty one included", arguments: [0, 1, 32, 96])
    func wrapping(count: Int) throws {
        let key = Secret.random(count: 32)
        let plain = Secret.random(count: count)
        let first = AEAD.wrap(plain, [1, 2], key: key, .system)
        let second = AEAD.wrap(plain, [1, 2], key: key, .system)
        #expect(first.count == 24 + count + 16 && first[..<24] != second[..<24])
        #expect(try AEAD.unwrap(first, [1, 2], key: key).equals(plain) == true)
        #expect(throws: CryptoError.authenticationFailed) { _ = try AEAD.unwrap(first, [1, 3], key: key) }
    }
}
