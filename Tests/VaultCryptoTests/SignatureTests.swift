import Testing
import VaultBytes
import VaultCrypto

@Suite("A signature")
struct SignatureTests {
    private let message = Array("message".utf8)

    private func key(_ byte: UInt8 = 5) -> SigningKey {
        SigningKey(seed: Secret(bytes: [UInt8](repeating: byte, count: 32)))
    }

    private func isValid(_ signature: [UInt8], _ publicKey: [UInt8], of message: [UInt8]) throws -> Bool {
        let publicKey = try #require(Bytes32(publicKey))
        let result = Signature.isValid(signature, of: message, under: publicKey)
        // The equation alone refuses what it must; other faults are libsodium's to refuse.
        if result { #expect(Signature.satisfiesEquation(signature, of: message, under: publicKey)) }
        return result
    }

    /// S and the order of the group added to it: congruent, and not less than the order.
    private func beyond(_ signature: [UInt8]) -> [UInt8] {
        let order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
        var carry = 0
        return signature[..<32]
            + zip(signature[32...], order).map { left, right in
                carry += Int(left) + Int(right)
                defer { carry >>= 8 }
                return UInt8(carry & 0xFF)
            }
    }

    @Test("is Ed25519's (RFC 8032, section 7.1)")
    func published() throws {
        for (seed, publicKey, message, signature) in [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
            ),
            (
                "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
            ),
        ] {
            let key = SigningKey(seed: Secret(bytes: hex(seed)))
            #expect(key.publicKey.bytes == hex(publicKey))
            #expect(key.sign(hex(message)) == hex(signature))
            #expect(try isValid(hex(signature), hex(publicKey), of: hex(message)))
        }
    }

    @Test("is valid for what was signed, and for nothing else")
    func bound() throws {
        let key = key()
        let signature = key.sign(message)
        let publicKey = key.publicKey.bytes
        #expect(try isValid(signature, publicKey, of: message))
        for index in 0..<512 {
            var changed = signature
            changed[index / 8] ^= 1 << UInt8(index % 8)
            #expect(try !isValid(changed, publicKey, of: message))
            // Bit 255 of S is libsodium's to refuse: it is not a part of the number.
            guard index < 511 else { continue }
            #expect(try !Signature.satisfiesEquation(changed, of: message, under: #require(Bytes32(publicKey))))
        }
        for index in 0..<256 {
            var changed = publicKey
            changed[index / 8] ^= 1 << UInt8(index % 8)
            #expect(try !isValid(signature, changed, of: message))
        }
        for other in [[], message + [0], Array(message.dropLast())] {
            #expect(try !isValid(signature, publicKey, of: other))
        }
        for length in [0, 1, 32, 63] { #expect(try !isValid(Array(signature[..<length]), publicKey, of: message)) }
        #expect(try !isValid(signature + [0], publicKey, of: message))
        #expect(try !isValid([UInt8](repeating: 0, count: 64), publicKey, of: message))
    }

    @Test("has an S below the order of the group (R-5.20)")
    func range() throws {
        let key = key()
        let signature = key.sign(message)
        #expect(try !isValid(beyond(signature), key.publicKey.bytes, of: message))
    }

    /// All points of small order, and encodings of them that are not canonical.
    private static let small = [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ]

    @Test("has neither a public key nor an R of small order (R-5.20)", arguments: small)
    func smallOrder(point: String) throws {
        let key = key()
        let signature = key.sign(message)
        for number in 0..<64 as Range<UInt8> {
            // Whatever the message: a key of small order has a signature of S = 0 for one message in eight.
            #expect(try !isValid(hex(point) + [UInt8](repeating: 0, count: 32), hex(point), of: [number]))
        }
        #expect(try !isValid(signature, hex(point), of: message))
        #expect(try !isValid(hex(point) + signature[32...], key.publicKey.bytes, of: message))
        #expect(try !isValid(hex(point) + [UInt8](repeating: 0, count: 32), key.publicKey.bytes, of: message))
    }

    @Test(
        "has a public key and an R in their canonical encoding (R-5.20)",
        arguments: [
            // 2^255 − 19 + y for small y, of points that have not small order.
            "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "f1ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        ])
    func canonical(point: String) throws {
        let key = key()
        let signature = key.sign(message)
        #expect(try !isValid(signature, hex(point), of: message))
        #expect(try !isValid(hex(point) + signature[32...], key.publicKey.bytes, of: message))
    }

    /// Signatures of "message" by keys, or with an R, that have a part of small order: public key, signature, and
    /// whether the equation holds without the cofactor. With the cofactor all of them would be valid.
    private static let mixed: [(what: String, publicKey: String, signature: String, isValid: Bool)] = [
        (
            "R has a part of order 2", "d68d24f798273f1fb2640be3817b89bfd1a487fc7329cf8db887a089bc087688",
            "f44b0e7ebf0f0374db7747698dc58b9643d02644d34da13f991a32c7ebe5ce8422d1187b27e592facd478931520fdadbf0135ddcce879fde5799f0d7dc92af0f",
            false
        ),
        (
            "R has a part of order 8", "d68d24f798273f1fb2640be3817b89bfd1a487fc7329cf8db887a089bc087688",
            "5f56b995205f18956c8ec5283c1e56b9de3223d3dbcf4f1078827ff42f73305b46b954d4e1767263eee5151e95419d51533f3188fe5456a2a53e0172ce3ad207",
            false
        ),
        (
            "the key has a part of order 2", "1772db0867d8c0e04d9bf41c7e8476402e5b78038cd6307247785f7643f78977",
            "3ca3508be5c3a443b971d5a37036d005f1411d9137a20956cf69bcd53bf7aaf3f3b20d77a789cbfde7f06c7fe7cb5fd6340518bbd266054d753394acf3b05b03",
            true
        ),
        (
            "the key has a part of order 2", "1772db0867d8c0e04d9bf41c7e8476402e5b78038cd6307247785f7643f78977",
            "f9b3f18140f0fc8b2488b896723a7469bc2fd9bb2cb25ec066e5cd38141a317b1d0a05247014e4d9b6472db95fc3f073a56901a0d3479c79d0868e253284a80c",
            false
        ),
        (
            "the key has a part of order 8", "aba60b3dd3ffab708c48473e681ecf2d0d307007207f15f5a33435273b47c404",
            "3ca3508be5c3a443b971d5a37036d005f1411d9137a20956cf69bcd53bf7aaf3ac28673b9bf88a446c7c5a0ef1a0788d13d60393aa5ac5b3460f3271e2386b02",
            true
        ),
        (
            "the key has a part of order 8", "aba60b3dd3ffab708c48473e681ecf2d0d307007207f15f5a33435273b47c404",
            "f9b3f18140f0fc8b2488b896723a7469bc2fd9bb2cb25ec066e5cd38141a317b1f6bc2df7fbde476c98caf333687c8b4dd8f9ec2c9e142794d5b298a24db700f",
            false
        ),
        (
            "both have a part of order 2", "1772db0867d8c0e04d9bf41c7e8476402e5b78038cd6307247785f7643f78977",
            "0501606b57a4b73b1568644da3fe12b6d12c1727cb27dba2556ce9e34789645936c2fbc8c2a60dc87dc3a608df9b50717aeea90ba0ec5055975bfd43fa241200",
            true
        ),
        (
            "both have a part of order 2", "1772db0867d8c0e04d9bf41c7e8476402e5b78038cd6307247785f7643f78977",
            "f44b0e7ebf0f0374db7747698dc58b9643d02644d34da13f991a32c7ebe5ce84275a9e2610bdd97d13cb8b29427261d41eb53eab33cb9317897d6e69a19f590a",
            false
        ),
        (
            "both have a part of order 8", "aba60b3dd3ffab708c48473e681ecf2d0d307007207f15f5a33435273b47c404",
            "90711438c1a21cf22f9319f0d9b1e18fd02147c5d38c19a7d4802b73b3b56804f885ff1436a1f0b987858ecca5923b8fe6f3bab15d1df787355f1b71d45e370b",
            true
        ),
        (
            "both have a part of order 8", "aba60b3dd3ffab708c48473e681ecf2d0d307007207f15f5a33435273b47c404",
            "c6dc1975e70b513c45eb8b487290f1094d5c6448d5998d2a64c7f183df3fb0430bfc55f862f2b232effa61fb47a957fa96c52798e906293d2af68f1204030a0c",
            false
        ),
        (
            "no part", "d68d24f798273f1fb2640be3817b89bfd1a487fc7329cf8db887a089bc087688",
            "f9b3f18140f0fc8b2488b896723a7469bc2fd9bb2cb25ec066e5cd38141a317bddeb4b74c81dc879663bde6fb2a2edf5bcf7432a7737f6ff60589f5dfb510707",
            true
        ),
    ]

    @Test("satisfies the equation without the cofactor (R-5.20)", arguments: mixed.indices)
    func cofactor(index: Int) throws {
        let (what, publicKey, signature, expected) = Self.mixed[index]
        #expect(try isValid(hex(signature), hex(publicKey), of: message) == expected, "\(what)")
        // libsodium after 1.0.18 accepts them all: what this project adds to it decides.
        let exact = try Signature.satisfiesEquation(
            hex(signature), of: message, under: #require(Bytes32(hex(publicKey))))
        #expect(exact == expected, "\(what)")
        #expect(try !isValid(beyond(hex(signature)), hex(publicKey), of: message), "\(what)")
    }

    @Test("of any message satisfies the equation that is checked in addition to libsodium")
    func equation() {
        for number in 0..<40 as Range<UInt8> {
            let key = key(number)
            let message = [UInt8](repeating: number, count: Int(number) * 5)
            #expect(Signature.satisfiesEquation(key.sign(message), of: message, under: key.publicKey))
            #expect(!Signature.satisfiesEquation(key.sign(message), of: message + [1], under: key.publicKey))
        }
    }
}

@Suite("What vouches for headers, commits and keys that follow")
struct ProofTests {
    private let vault = Bytes16(high: 1, low: 2)
    private let chain = Bytes32(words: (1, 2, 3, 4))
    private let core = [UInt8](repeating: 9, count: 368)
    private let stored = ObjectRef(offset: 9000, length: 256, hash: Bytes32(words: (5, 5, 5, 5)))

    private func vector(
        _ rows: [Vector.Row] = [.init(5, 8), .init(3, 9, isSplit: true)], floor: UInt64 = 7
    ) throws -> Vector { try #require(Vector(floor: floor, rows: rows)) }

    private func owner(_ byte: UInt8 = 3) -> OwnerKeys {
        OwnerKeys(vaultKey: Secret(bytes: [UInt8](repeating: byte, count: 32)), epoch: .zero)
    }

    private func hash(_ bytes: [UInt8]) -> Bytes32 { bytes.withUnsafeBytes { Blake2b.hash($0) } }

    @Test("is what the specification's formulas give (sections 3, 5.6 and 7.3)")
    func formulas() throws {
        let vector = try vector()
        let header = core.withUnsafeBytes { HeaderProof.hash($0) }
        #expect(header == hash(Bound.label("vaultfmt-1 header") + core))
        let index = Secret(bytes: [UInt8](repeating: 1, count: 32))
        #expect(HeaderProof.mac(header, index: index).bytes == index.derive("vaultfmt-1 header", header.bytes).array)
        let chain = core.withUnsafeBytes { CommitProof.chain(vault: vault, core: $0) }
        #expect(chain == hash(Bound.label("vaultfmt-1 chain") + vault.bytes + core))
        let owner = owner()
        #expect(
            CommitProof.mac(chain, key: owner.mac).bytes
                == owner.mac.derive("vaultfmt-1 commit owner", chain.bytes).array)
        #expect(
            CommitProof.sign(chain, owner.signing())
                == owner.signing().sign(Bound.label("vaultfmt-1 commit") + chain.bytes))
        let next = Bytes32(words: (9, 9, 9, 9))
        let over = HandOver.make(owner.signing(), vault: vault, vector: vector, stored: stored, next: next)
        // In ascending order of ids, with bit 63 of a split one.
        let rows: [UInt8] =
            [3, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0x80] + [5, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]
        let message =
            Bound.label("vaultfmt-1 hand-over") + vault.bytes + hash(rows).bytes + [7, 0, 0, 0, 0, 0, 0, 0] + next.bytes
        #expect(over.signature == owner.signing().sign(message))
        #expect(over.publicKey == owner.signing().publicKey && over.next == next)
        #expect(over.vector == stored && over.floor == 7)
    }

    @Test("of a commit is for one chain value, under the owners' key")
    func commits() {
        let key = owner().signing()
        let signature = CommitProof.sign(chain, key)
        #expect(CommitProof.isSigned(chain, signature, under: key.publicKey))
        #expect(!CommitProof.isSigned(Bytes32(words: (1, 2, 3, 5)), signature, under: key.publicKey))
        #expect(!CommitProof.isSigned(chain, signature, under: owner(4).signing().publicKey))
        #expect(!CommitProof.isSigned(chain, [UInt8](repeating: 0, count: 64), under: key.publicKey))
        #expect(CommitProof.mac(chain, key: owner().mac) != CommitProof.mac(chain, key: owner(4).mac))
    }

    @Test("of a key that follows is for one vault, vector, floor and key, and is no commit's")
    func handOvers() throws {
        let vector = try vector()
        let key = owner().signing()
        let next = owner(4).signing().publicKey
        let over = HandOver.make(key, vault: vault, vector: vector, stored: stored, next: next)
        #expect(over.isValid(vault: vault, vector: vector))
        #expect(!over.isValid(vault: .zero, vector: vector))
        // The order of the rows does not matter: positions are a file's own.
        #expect(try over.isValid(vault: vault, vector: self.vector(vector.rows.reversed())))
        for rows in [
            [vector.rows[0]], vector.rows + [.init(6, 10)], [vector.rows[0], .init(3, 9)],
            [vector.rows[0], .init(3, 10, isSplit: true)],
        ] { #expect(try !over.isValid(vault: vault, vector: self.vector(rows))) }
        #expect(try !over.isValid(vault: vault, vector: self.vector(vector.rows, floor: 6)))
        func other(key: Bytes32? = nil, next: Bytes32? = nil, floor: UInt64? = nil, _ signature: [UInt8]? = nil)
            -> HandOver
        {
            HandOver(
                publicKey: key ?? over.publicKey, next: next ?? over.next, vector: stored, floor: floor ?? over.floor,
                signature: signature ?? over.signature)
        }
        for other in [
            other(key: next), other(next: key.publicKey), other(floor: 8), other(CommitProof.sign(chain, key)),
        ] { #expect(!other.isValid(vault: vault, vector: vector)) }
        #expect(other().isValid(vault: vault, vector: vector))
        #expect(!CommitProof.isSigned(chain, over.signature, under: key.publicKey))
    }
}
