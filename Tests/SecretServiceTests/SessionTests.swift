import Testing
import VaultExchange
import VaultFmt

@testable import VaultSecretService

@Suite("Sessions")
struct SessionTests {
    private func number(_ value: UInt8) -> Secret {
        Secret(bytes: [UInt8](repeating: 0, count: KeyAgreement.size - 1) + [value])
    }

    @Test("Both sides agree on a key, whose secrets nobody else can read")
    func agreement() throws {
        try #require(KeyAgreement.isPossible())
        let exponent = Secret(bytes: [UInt8](repeating: 0x5A, count: KeyAgreement.size))
        let theirs = try KeyAgreement.power(number(2), exponent)
        let (ours, key) = try KeyAgreement.agree(with: SharedSecret(theirs))
        let shared = SessionKey.derive(from: try KeyAgreement.power(Secret(copying: ours), exponent))
        #expect(key.equals(SharedSecret(shared)))
        let (_, other) = try KeyAgreement.agree(with: SharedSecret(try KeyAgreement.power(number(2), exponent)))
        #expect(!key.equals(other))
    }

    @Test("Powers are those of the group")
    func powers() throws {
        // 2 to the 10th, and Fermat's theorem.
        try #require(KeyAgreement.isPossible())
        let power = SharedSecret(try KeyAgreement.power(number(2), number(10)))
        #expect(power.withBytes { Array($0.suffix(2)) } == [4, 0])
        let order = KeyAgreement.prime.dropLast() + [0xFE]
        let one = SharedSecret(try KeyAgreement.power(number(3), Secret(copying: order)))
        #expect(one.equals(SharedSecret(number(1))))
    }

    @Test("Public numbers with which everyone knows the key are refused")
    func degenerate() throws {
        try #require(KeyAgreement.isPossible())
        let prime = KeyAgreement.prime
        let numbers: [[UInt8]] = [
            [], [0], [1], [UInt8](repeating: 0, count: 128), [0, 1], prime, prime.dropLast() + [0xFE], [1] + prime,
            [UInt8](repeating: 0xFF, count: 128), [UInt8](repeating: 1, count: 129),
            [UInt8](repeating: 0, count: 500) + [2],
        ]
        for bytes in numbers {
            #expect(failure { _ = try KeyAgreement.agree(with: SharedSecret(Secret(copying: bytes))) } == "InvalidArgs")
        }
        for bytes: [UInt8] in [[2], [0, 2], prime.dropLast() + [0xFD]] {
            #expect(failure { _ = try KeyAgreement.agree(with: SharedSecret(Secret(copying: bytes))) } == nil)
        }
    }

    @Test("Secrets of every length are encrypted, and altered ones are refused", arguments: [0, 1, 15, 16, 17, 1000])
    func encryption(_ count: Int) throws {
        try #require(KeyAgreement.isPossible())
        let cipher = SessionCipher.encrypted(SharedSecret(Secret(bytes: [UInt8](repeating: 7, count: 16))))
        let plain = SharedSecret(Secret(bytes: [UInt8](repeating: 65, count: count)))
        let (parameters, value) = try cipher.sealed(plain.secret)
        #expect(parameters.count == 16 && value.count == (count / 16 + 1) * 16)
        func received(_ parameters: SharedSecret, _ value: SharedSecret) -> ServiceSecret {
            ServiceSecret(session: "", parameters: parameters, value: value, contentType: "")
        }
        #expect(SharedSecret(try cipher.opened(received(parameters, value))).equals(plain))
        let short = SharedSecret(value.secret.prefix(value.count - 1))
        for other in [short, SharedSecret(Secret(count: 0)), SharedSecret(Secret(count: 32))] {
            #expect(failure { _ = try cipher.opened(received(parameters, other)) } == "InvalidArgs")
        }
        #expect(failure { _ = try cipher.opened(received(SharedSecret(Secret(count: 0)), value)) } == "InvalidArgs")
        #expect(failure { _ = try SessionCipher.plain.opened(received(parameters, value)) } == "InvalidArgs")
    }

    @Test("A session is its client's own, and ends with it")
    func owners() throws {
        let test = try TestService()
        let item = try test.store(.one, "secret", [("a", "1")])
        let session = try test.session(.one)
        #expect(failure { _ = try test.call(.two, item, ServiceName.item, "GetSecret", .path(session)) } == "NoSession")
        #expect(failure { _ = try test.call(.two, session, ServiceName.session, "Close") } == "NoSession")
        #expect(failure { _ = try test.call(.one, item, ServiceName.item, "GetSecret", .path(session)) } == nil)
        _ = try test.call(.one, session, ServiceName.session, "Close")
        #expect(failure { _ = try test.call(.one, item, ServiceName.item, "GetSecret", .path(session)) } == "NoSession")
        let second = try test.session(.one)
        test.service.forget(BusClient.one.name)
        #expect(failure { _ = try test.call(.one, item, ServiceName.item, "GetSecret", .path(second)) } == "NoSession")
    }

    @Test("The key of a session is HKDF's, as another implementation computes it")
    func knownKey() {
        let known: [UInt8] = [
            0x4C, 0x4A, 0xB6, 0x8D, 0xA5, 0x7B, 0x4D, 0xEC, 0xE2, 0xBF, 0x48, 0x64, 0x38, 0xB7, 0x84, 0x01,
        ]
        let agreed = Secret(bytes: [0, 0] + Array(2..<128))
        let isSame = SessionKey.derive(from: agreed).equals(Secret(bytes: known))
        #expect(isSame)
    }

    @Test("Unknown algorithms are not supported, and sessions are limited")
    func limits() throws {
        let test = try TestService()
        #expect(
            failure { _ = try test.call(.one, "OpenSession", .text("rot13"), .variant(.text(""))) } == "NotSupported")
        let encrypted = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
        #expect(
            failure { _ = try test.call(.one, "OpenSession", .text(encrypted), .variant(.text(""))) } == "InvalidArgs")
        #expect(failure { _ = try test.call(.one, "OpenSession", .text("plain")) } == "InvalidArgs")
        for _ in 0..<BusLimits.clientSessions { _ = try test.session(.one) }
        #expect(failure { _ = try test.session(.one) } == "LimitsExceeded")
        _ = try test.session(.two)
    }
}
