import Crypto
import Foundation
import TestSupport
import Testing
import VaultCrypto
import VaultExchange
import VaultFmt

@testable import VaultAgent

@Suite("Keys of OpenSSH and in DER")
struct KeyTests {
    private static let kinds = [
        ["-t", "ed25519"], ["-t", "rsa", "-b", "2048"], ["-t", "ecdsa", "-b", "256"], ["-t", "ecdsa", "-b", "384"],
        ["-t", "ecdsa", "-b", "521"],
    ]

    private func generate(_ folder: Folder, _ kind: [String], _ more: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/ssh-keygen")
        process.arguments = kind + ["-q", "-N", "", "-C", "a comment", "-f", folder.file("key")] + more
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    private func publicLine(_ folder: Folder, _ name: String = "key.pub") throws -> String {
        String(decoding: try folder.read(name), as: UTF8.self)
    }

    @Test(
        "A key file of OpenSSH has the public key that ssh-keygen wrote, and its signatures are valid", arguments: kinds
    )
    func openSSH(kind: [String]) throws {
        let folder = try Folder()
        try generate(folder, kind)
        let key = try StoredKey.read(Secret(bytes: try folder.read("key")))
        let (publicKey, line) = (key.publicKey, try publicLine(folder))
        #expect(publicKey.line(comment: "a comment") + "\n" == line)
        #expect(try PublicKey.read(line: line) == publicKey)
        let data = Array("signed".utf8)
        // Without a flag, RSA does not sign with SHA-1 either.
        for flags in [0, AgentMessage.rsaSHA256, AgentMessage.rsaSHA512] {
            let signature = try data.withRawBytes { (bytes) throws(AgentError) in try key.sign(bytes, flags: flags) }
            #expect(!signature.dropFirst(4).starts(with: "ssh-rsa".utf8))
            #expect(publicKey.isValid(signature, of: data))
            #expect(!publicKey.isValid(signature, of: data + [0]))
        }
    }

    @Test("The encoding for an agent yields the same key", arguments: kinds)
    func wire(kind: [String]) throws {
        let folder = try Folder()
        try generate(folder, kind)
        let text = Secret(bytes: try folder.read("key"))
        let publicKey = try StoredKey.read(text).publicKey
        for form in ["OpenSSH", "PEM", "PKCS8"] {
            if form != "OpenSSH" {
                guard kind != ["-t", "ed25519"] else { continue }
                try folder.keygen("-p", "-q", "-N", "", "-m", form, "-f", "key")
            }
            let stored = Secret(bytes: try folder.read("key"))
            let read = try StoredKey.read(stored).publicKey
            #expect(read == publicKey, "\(form)")
            let again = try StoredKey.wire(stored).withUnsafeBytes { bytes in
                var reader = WireReader(bytes)
                let decoded = try PrivateKey.read(&reader)
                try reader.end()
                return decoded.key.publicKey
            }
            #expect(again == publicKey, "\(form)")
        }
    }

    @Test("A key with its certificate, in the encoding for an agent, is read as both", arguments: kinds)
    func certified(kind: [String]) throws {
        let folder = try Folder()
        try generate(folder, kind)
        try folder.keygen("-q", "-t", "ed25519", "-N", "", "-f", "ca")
        try folder.keygen("-q", "-s", "ca", "-I", "id", "-n", "me", "key.pub")
        let certificate = try Certificate.read(line: try publicLine(folder, "key-cert.pub"))
        let key = try StoredKey.wire(Secret(bytes: try folder.read("key")))
        let read = try KeyWireForm.certified(key, by: certificate).withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            let decoded = try PrivateKey.read(&reader)
            try reader.end()
            return (key: decoded.key.publicKey, certificate: decoded.certificate)
        }
        #expect(read.key == certificate.key && read.certificate == certificate)
    }

    @Test("An RSA key of less than 2048 bits is told from a damaged one", arguments: ["OpenSSH", "PEM", "PKCS8"])
    func smallRSA(form: String) throws {
        let folder = try Folder()
        try generate(folder, ["-t", "rsa", "-b", "1024"])
        if form != "OpenSSH" { try folder.keygen("-p", "-q", "-N", "", "-m", form, "-f", "key") }
        let error = #expect(throws: AgentError.self) { _ = try StoredKey.read(Secret(bytes: try folder.read("key"))) }
        #expect(error?.code == .unsupported && error?.message.contains("less than 2048 bits") == true)
    }

    @Test("A generated key is a file that ssh-keygen reads")
    func generated() throws {
        let folder = try Folder()
        let text = keyText(7, comment: "c")
        try Data(text.withUnsafeBytes { Array($0) }).write(to: URL(fileURLWithPath: folder.file("key")))
        chmod(folder.file("key"), 0o600)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/ssh-keygen")
        process.arguments = ["-y", "-f", folder.file("key")]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let line = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        let publicKey = try StoredKey.read(text).publicKey
        #expect(line == publicKey.line(comment: "c") + "\n")
    }

    @Test("An ECDSA key in DER is read with or without what is optional in it", arguments: CurveSample.all)
    func curveForms(sample: CurveSample) throws {
        let plain = sample.sec1()
        let forms = [
            plain, sample.sec1(hasCurve: false), sample.sec1(point: nil), sample.sec1(hasCurve: false, point: nil),
            sample.pkcs8(plain), sample.pkcs8(sample.sec1(hasCurve: false, point: nil)),
            sample.pkcs8(plain, attributes: CurveSample.element(0xA0, CurveSample.element(0x31, []))),
        ]
        let data = Array("signed".utf8)
        for (index, der) in forms.enumerated() {
            let key = try StoredKey.read(Secret(bytes: der))
            #expect(key.publicKey.numbers == .point(sample.point), "\(index)")
            let signature = try data.withRawBytes { (bytes) throws(AgentError) in try key.sign(bytes, flags: 0) }
            #expect(key.publicKey.isValid(signature, of: data), "\(index)")
            let wire = try StoredKey.wire(Secret(bytes: der)).withUnsafeBytes { bytes in
                var reader = WireReader(bytes)
                return try PrivateKey.read(&reader).key.publicKey
            }
            #expect(wire == key.publicKey, "\(index)")
        }
        // Some programs leave out leading zeros.
        let short = try sample.small()
        let key = try StoredKey.read(Secret(bytes: short.sec1()))
        #expect(key.publicKey.numbers == .point(short.point))
    }

    @Test(
        "An ECDSA key in DER of another curve, with another public key, or damaged, is refused",
        arguments: CurveSample.all)
    func curveDamage(sample: CurveSample) throws {
        var other = sample
        other.identifier = CurveSample.secp256k1
        var longer = sample
        longer.scalar.insert(0, at: 0)
        let wrong = [
            other.sec1(), other.pkcs8(sample.sec1(hasCurve: false)), sample.pkcs8(other.sec1()),
            sample.sec1(point: try sample.small().point), sample.sec1(point: [4]), longer.sec1(),
            try sample.small().sec1(hasCurve: false), sample.sec1(version: 0), sample.pkcs8(sample.sec1(), version: 1),
            sample.sec1() + [0], sample.pkcs8(sample.sec1() + [0]),
            sample.pkcs8(sample.sec1(), attributes: [0x05, 0]),
        ]
        for (index, der) in wrong.enumerated() {
            #expect(throws: AgentError.self, "\(index)") { try StoredKey.read(Secret(bytes: der)).publicKey }
        }
        for der in [sample.sec1(), sample.pkcs8(sample.sec1())] {
            for count in 0..<der.count {
                #expect(throws: AgentError.self, "\(count)") {
                    try StoredKey.read(Secret(bytes: Array(der[..<count]))).publicKey
                }
            }
        }
    }

    @Test("An ECDSA key in DER leaves no copy of itself in memory when it has signed")
    func wiped() throws {
        let masked = (0..<32).map { UInt8($0 * 7 + 3) }
        let mask: UInt8 = 0xA5
        let sample = CurveSample(.p256, scalar: [UInt8](repeating: 1, count: 32), point: [])
        let whole = sample.sec1(point: nil)
        for _ in 0..<20 {
            var der = SecretBuffer(capacity: whole.count)
            for (index, byte) in whole.enumerated() {
                let place = index - 7
                der.append(masked.indices.contains(place) ? masked[place] ^ mask : byte)
            }
            let key = try StoredKey.read(der.secret())
            let data = Array("signed".utf8)
            let signature = try data.withRawBytes { (bytes) throws(AgentError) in try key.sign(bytes, flags: 0) }
            #expect(key.publicKey.isValid(signature, of: data))
            let wire = try StoredKey.wire(der.secret())
            #expect(wire.count > 32)
        }
        #expect(try OwnMemory.count(masked, mask: mask) == 0)
    }

    @Test("The authority of a user's certificate may have any key, and that of a host's must be checked")
    func authorities() throws {
        let user = Request.certificate(7, kind: .user, authority: Request.fidoBlob)
        let certificate = try Certificate(blob: user)
        #expect(certificate.authority == Request.fidoBlob)
        #expect(certificate.key == Request.key(7).publicKey)
        for authority in [Request.fidoBlob, Request.blob(7)] {
            let host = Request.certificate(7, kind: .host, authority: authority)
            #expect(throws: AgentError.self) { try Certificate(blob: host) }
        }
        let agent = TestAgent()
        #expect(agent.ask(Request.add(7, certificate: user, comment: "certified")) == [AgentMessage.success])
        #expect(try agent.list() == ["certified"])
        #expect(agent.ask(Request.sign(user, [1]))?.first == AgentMessage.signResponse)
        // It proves no host, whoever is said to have signed it.
        let claimed = Request.certificate(7, kind: .user, authority: Request.blob(8))
        let hop = DestinationHop(
            hostname: "host", user: nil, keys: [.init(key: Request.key(8).publicKey, isAuthority: true)])
        #expect(!hop.matches(try PresentedKey(blob: claimed), at: 1))
    }

    @Test("A certificate is for its key, and is refused if anything in it was changed", arguments: kinds)
    func certificates(kind: [String]) throws {
        let folder = try Folder()
        try generate(folder, kind)
        try folder.keygen("-q", "-t", "ed25519", "-N", "", "-f", "ca")
        try folder.keygen("-q", "-s", "ca", "-I", "id", "-h", "-n", "host.example.org,*.example.net", "key.pub")
        let line = try publicLine(folder, "key-cert.pub")
        let certificate = try Certificate.read(line: line)
        #expect(try certificate.key == PublicKey.read(line: try publicLine(folder)))
        #expect(try certificate.authority == PublicKey.read(line: try publicLine(folder, "ca.pub")).blob)
        let now = AgentClock.calendarTime()
        #expect(certificate.isValid(forHost: "host.example.org", at: now))
        #expect(certificate.isValid(forHost: "a.example.net", at: now))
        #expect(!certificate.isValid(forHost: "example.org", at: now))
        for place in stride(from: 30, to: certificate.blob.count, by: 7) {
            var blob = certificate.blob
            blob[place] ^= 1
            #expect(throws: AgentError.self, "\(place)") { try Certificate(blob: blob) }
        }
    }

    @Test("A key with a passphrase is refused, and so is a secret that is no key")
    func refused() throws {
        let folder = try Folder()
        try folder.keygen("-q", "-t", "ed25519", "-N", "secret", "-f", "key")
        #expect(throws: AgentError.self) { try StoredKey.read(Secret(bytes: folder.read("key"))).publicKey }
        for text in ["", "password", "-----BEGIN OPENSSH PRIVATE KEY-----", "0\u{3}abc"] {
            #expect(throws: AgentError.self) { try StoredKey.read(Secret(text: text)).publicKey }
        }
    }

    @Test("Truncated and changed key files are errors, and nothing traps", arguments: kinds)
    func damaged(kind: [String]) throws {
        let folder = try Folder()
        try generate(folder, kind)
        let wire = try StoredKey.wire(Secret(bytes: try folder.read("key"))).withUnsafeBytes { Array($0) }
        var numbers = Numbers(Numbers.seed)
        for _ in 0..<300 {
            var bytes = wire
            bytes[Int(numbers.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: numbers.next())
            let count = Int(numbers.next() % UInt64(bytes.count + 1))
            for part in [bytes, Array(wire[..<count])] {
                _ = try? part.withUnsafeBytes { bytes in
                    var reader = WireReader(bytes)
                    return try PrivateKey.read(&reader).key.publicKey
                }
            }
        }
    }

    @Test("Base64 has one text for each value")
    func base64() {
        for (bytes, text) in [([], ""), ([0], "AA=="), ([0, 1], "AAE="), ([255, 254, 253], "//79")]
            as [([UInt8], String)]
        {
            #expect(Base64Text.encode(bytes) == text)
            #expect(Base64Text.decode(text) == bytes)
        }
        for text in ["A", "AB==", "AA=", "AA", "A===", "AA==AA==", "A\u{e9}=="] {
            #expect(Base64Text.decode(text) == nil)
        }
    }
}

/// An ECDSA key, and its encodings.
struct CurveSample: Sendable, CustomTestStringConvertible {
    let type: KeyType
    var identifier: [UInt8]
    var scalar: [UInt8]
    let point: [UInt8]

    static let secp256k1: [UInt8] = [0x2B, 0x81, 0x04, 0x00, 0x0A]

    static let all: [CurveSample] = {
        let (small, middle, large) = (P256.Signing.PrivateKey(), P384.Signing.PrivateKey(), P521.Signing.PrivateKey())
        return [
            CurveSample(
                .p256, scalar: Array(small.rawRepresentation), point: Array(small.publicKey.x963Representation)),
            CurveSample(
                .p384, scalar: Array(middle.rawRepresentation), point: Array(middle.publicKey.x963Representation)),
            CurveSample(
                .p521, scalar: Array(large.rawRepresentation), point: Array(large.publicKey.x963Representation)),
        ]
    }()

    init(_ type: KeyType, scalar: [UInt8], point: [UInt8]) {
        (self.type, self.scalar, self.point) = (type, scalar, point)
        identifier =
            switch type {
            case .p384: [0x2B, 0x81, 0x04, 0x00, 0x22]
            case .p521: [0x2B, 0x81, 0x04, 0x00, 0x23]
            default: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
            }
    }

    var testDescription: String { type.rawValue }

    /// The key 5 on the same curve, without its leading zeros.
    func small() throws -> CurveSample {
        let padded = [UInt8](repeating: 0, count: scalar.count - 1) + [5]
        let point =
            switch type {
            case .p384: try P384.Signing.PrivateKey(rawRepresentation: padded).publicKey.x963Representation
            case .p521: try P521.Signing.PrivateKey(rawRepresentation: padded).publicKey.x963Representation
            default: try P256.Signing.PrivateKey(rawRepresentation: padded).publicKey.x963Representation
            }
        return CurveSample(type, scalar: [5], point: Array(point))
    }

    static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let count = contents.count
        let length: [UInt8] =
            count < 0x80
            ? [UInt8(count)] : count < 0x100 ? [0x81, UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
        return [tag] + length + contents
    }

    func sec1(version: UInt8 = 1, hasCurve: Bool = true) -> [UInt8] {
        sec1(version: version, hasCurve: hasCurve, point: point)
    }

    func sec1(version: UInt8 = 1, hasCurve: Bool = true, point: [UInt8]?) -> [UInt8] {
        var fields = Self.element(0x02, [version]) + Self.element(0x04, scalar)
        if hasCurve { fields += Self.element(0xA0, Self.element(0x06, identifier)) }
        if let point { fields += Self.element(0xA1, Self.element(0x03, [0] + point)) }
        return Self.element(0x30, fields)
    }

    func pkcs8(_ inner: [UInt8], version: UInt8 = 0, attributes: [UInt8] = []) -> [UInt8] {
        let algorithm =
            Self.element(0x06, [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]) + Self.element(0x06, identifier)
        let fields = Self.element(0x02, [version]) + Self.element(0x30, algorithm) + Self.element(0x04, inner)
        return Self.element(0x30, fields + attributes)
    }
}
