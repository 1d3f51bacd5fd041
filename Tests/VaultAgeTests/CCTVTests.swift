import Crypto
import Foundation
import TestSupport
import Testing
import VaultBytes
import VaultCrypto
import VaultFmt
import VaultStore

@testable import VaultAge

/// What becomes of one of the suite's files. An age file that does not authenticate is refused in one way, whether its
/// header is not right (`HMAC failure`) or its payload.
private enum Outcome: Equatable {
    case opens(payloadHash: String)
    case noMatch
    case refusedHeader
    case refusedContent
    case refusedArmor
}

/// A file of CCTV's suite for age: what is expected, and an age file.
struct CCTVFile: CustomTestStringConvertible {
    let name: String
    private let fields: [String: [String]]
    fileprivate let content: [UInt8]

    var testDescription: String { name }

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("CCTV")

    static let all: [CCTVFile] = {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 != "README.md" }
                .sorted()
                .map { try CCTVFile($0) }
        } catch { fatalError("\(folder.path): \(error)") }
    }()

    /// Those that are about stanzas, so that a slot can have what they have.
    static let ofStanzas = all.filter { file in
        ["x25519", "hybrid", "stanza"].contains { file.name.hasPrefix($0) }
    }

    init(_ name: String) throws {
        self.name = name
        let path = Self.folder.appendingPathComponent(name).path
        var lines = try Data(contentsOf: URL(fileURLWithPath: path))[...]
        var fields: [String: [String]] = [:]
        while let end = lines.firstIndex(of: UInt8(ascii: "\n")), end > lines.startIndex {
            let line = String(decoding: lines[..<end], as: UTF8.self)
            let colon = try #require(line.range(of: ": "))
            fields[String(line[..<colon.lowerBound]), default: []].append(String(line[colon.upperBound...]))
            lines = lines[(end + 1)...]
        }
        self.fields = fields
        guard fields["compressed"] != nil else {
            content = Array(lines.dropFirst())
            return
        }
        // Swift has no zlib.
        content = try Program.run(
            "python3", "-c",
            "import sys, zlib; "
                + "sys.stdout.buffer.write(zlib.decompress(open(sys.argv[1], 'rb').read().split(b'\\n\\n', 1)[1]))",
            path)
    }

    fileprivate var isArmored: Bool { fields["armored"] == ["yes"] }
    fileprivate var passphrases: [String] { fields["passphrase", default: []] }
    fileprivate var fileKey: [UInt8] {
        get throws {
            let text = try #require(fields["file key"]?.first)
            return try #require(Hex.decode(text))
        }
    }

    /// Files that are refused here at another step, or that only age's library accepts.
    private static let otherwise: [String: Outcome] = [
        // HPKE does not say that a share is of small order, so such a stanza is for nobody, like an altered one.
        "hybrid_identity": .noMatch,
        "hybrid_low_order": .noMatch,
        "armor_empty": .refusedArmor,
        // As for the command age, a file is armored if it starts so.
        "armor_whitespace_outside": .refusedArmor,
        "stream_no_nonce": .refusedContent,
        "stream_short_nonce": .refusedContent,
    ]

    fileprivate var expected: Outcome {
        get throws {
            if let otherwise = Self.otherwise[name] { return otherwise }
            return switch fields["expect"] {
            case ["success"]: .opens(payloadHash: try #require(fields["payload"]?.first))
            case ["header failure"]: .refusedHeader
            case ["no match"]: .noMatch
            case ["HMAC failure"], ["payload failure"]: .refusedContent
            case ["armor failure"]: .refusedArmor
            default: throw AgeError(.unsupportedIdentity, "\(name): what is expected is not known")
            }
        }
    }

    fileprivate var identities: [any NativeIdentity] {
        get throws(AgeError) {
            var all: [any NativeIdentity] = []
            for text in fields["identity", default: []] {
                let parsed = try Secret(text: text).withUnsafeBytes { (text) throws(AgeError) in
                    try IdentityText(text)
                }
                guard case .native(let identity) = parsed else { throw AgeError(.unsupportedIdentity, "a plugin's") }
                all.append(identity)
            }
            return all
        }
    }
}

extension CCTVFile {
    /// What our reader makes of the file.
    fileprivate func outcome() throws -> Outcome {
        var bytes = content
        if isArmored {
            guard content.starts(with: Armor.begin) else { return .refusedArmor }
            do throws(AgeError) { bytes = try Armor.decoded(content) } catch { return .refusedArmor }
        }
        let file: AgeFile
        let fileKey: [UInt8]?
        do throws(AgeError) {
            file = try AgeFile(bytes)
            fileKey = try key(of: file.stanzas)
        } catch { return .refusedHeader }
        guard let fileKey else { return .noMatch }
        do throws(AgeError) {
            let payload = try file.open(try FileKey(Secret(bytes: fileKey))).bytes()
            return .opens(payloadHash: Hex.encode(Array(SHA256.hash(data: payload))))
        } catch { return .refusedContent }
    }

    private func key(of stanzas: [Stanza]) throws(AgeError) -> [UInt8]? {
        if stanzas.contains(where: { $0.type == ScryptStanza.type }) {
            guard stanzas.count == 1 else { throw AgeError(.malformedStanza, "a scrypt stanza is not alone") }
            let stanza = try ScryptStanza(stanzas[0])
            for passphrase in passphrases {
                if let key = try stanza.unwrap(Secret(text: passphrase)) { return key.secret.bytes() }
            }
            return nil
        }
        for stanza in stanzas {
            for identity in try identities {
                if let key = try identity.unwrap(stanza) { return key.secret.bytes() }
            }
        }
        return nil
    }

    /// The lines between the version and the MAC.
    fileprivate var stanzas: [UInt8] {
        get throws {
            let start = try #require(content.firstIndex(of: UInt8(ascii: "\n"))) + 1
            let end = try #require(content.firstRange(of: Array("\n---".utf8))).lowerBound + 1
            return Array(content[start..<end])
        }
    }
}

@Suite("age's test suite, CCTV")
struct CCTVTests {
    @Test("is complete")
    func complete() {
        #expect(CCTVFile.all.count == 143)
        #expect(CCTVFile.ofStanzas.count == 46)
    }

    @Test("has files that open, or are refused, as it says", arguments: CCTVFile.all)
    func file(_ file: CCTVFile) throws { #expect(try file.outcome() == file.expected) }

    @Test("has stanzas that open a slot exactly if they open its files", arguments: CCTVFile.ofStanzas)
    func slot(_ file: CCTVFile) throws {
        let folder = try Folder()
        let path = folder.file("theirs.vault")
        _ = try Vault.create(
            at: path, factors: try Factors(external: Foreign(parameters: try file.stanzas, try file.fileKey)))
        let factors = try Factors(external: AgeFactor(identities: try file.identities))
        if case .opens = try file.expected {
            #expect(try Vault.open(path, factors: factors).slots().map(\.provider) == [AgeFactor.name])
        } else {
            #expect { try Vault.open(path, factors: factors) } throws: { ($0 as? VaultError)?.code == .noSlotOpens }
        }
    }

    @Test(
        "has files with a passphrase that are identity files if it is right, and fail as they should if not",
        arguments: CCTVFile.all.filter { !$0.passphrases.isEmpty })
    func passphrase(_ file: CCTVFile) throws {
        func read() throws -> EncryptedIdentities? {
            guard case .encrypted(let encrypted) = try IdentityFile.read(Secret(bytes: file.content)) else {
                return nil
            }
            return encrypted
        }
        func open() throws {
            let encrypted = try #require(try read())
            _ = try encrypted.open(passphrase: Secret(text: file.passphrases[0]))
        }
        switch try file.expected {
        // What is in it is the word "age", which is not an identity.
        case .opens: #expect(throws: AgeError(.invalidIdentity, "")) { try open() }
        case .noMatch where file.name == "scrypt_uppercase":
            #expect(throws: AgeError(.unsupportedIdentity, "")) { try open() }
        case .noMatch: #expect(throws: AgeError(.wrongPassphrase, "")) { try open() }
        default: #expect(throws: AgeError.self) { try read() }
        }
    }
}
