import Crypto
import Foundation
import TestSupport
import Testing
import VaultBytes
import VaultCrypto
import VaultFmt
import VaultStore

@testable import VaultAge

/// Keys that age-keygen and ssh-keygen have made, and a vault with a slot for both.
private struct Keys {
    let folder: Folder
    let x25519: any NativeIdentity
    let ssh: any NativeIdentity

    init() throws {
        folder = try Folder()
        try Program.run("age-keygen", "-o", folder.file("key"))
        try Program.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "of a test", "-f", folder.file("ssh"))
        guard case .identities(let list) = try folder.identityFile("key"), list.count == 1,
            case .native(let first) = list[0], case .openSSH(let second) = try folder.identityFile("ssh")
        else { throw AgeError(.invalidIdentity, "not the kinds of files that these programs write") }
        (x25519, ssh) = (first, second)
    }

    /// The parameters of a slot that was made for some recipients.
    func stanzas(_ recipients: any Recipient...) throws -> [Stanza] {
        let vault = try Vault.create(
            at: folder.file("v.vault"), factors: try Factors(rawKey: Secret(bytes: [UInt8](repeating: 9, count: 32))))
        try vault.addSlot(try Factors(external: AgeFactor(recipients: recipients)))
        let slot = try #require(try vault.slots().first { $0.provider == AgeFactor.name })
        return try Stanza.decode(try #require(slot.providerParameters))
    }
}

/// A file in age's format with one short chunk (C2SP age.md), made with swift-crypto alone.
func ageFile(_ stanzas: [Stanza], _ fileKey: [UInt8], _ text: String) throws -> [UInt8] {
    func derived(_ salt: [UInt8], _ info: String) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: fileKey), salt: salt, info: Array(info.utf8), outputByteCount: 32)
    }
    let header = Array("age-encryption.org/v1\n".utf8) + Stanza.encode(stanzas) + Array("---".utf8)
    let mac = HMAC<SHA256>.authenticationCode(for: header, using: derived([], "header"))
    let nonce = [UInt8](repeating: 3, count: 16)
    let chunk = try ChaChaPoly.seal(
        Array(text.utf8), using: derived(nonce, "payload"),
        nonce: try ChaChaPoly.Nonce(data: [UInt8](repeating: 0, count: 11) + [1]))
    return header + Array(" \(Base64.encode(Array(mac)))\n".utf8) + nonce + Array(chunk.ciphertext) + Array(chunk.tag)
}

@Suite("With the programs age, age-keygen and ssh-keygen, and with pyrage")
struct InteroperationTests {
    private let keys: Keys

    init() throws { keys = try Keys() }

    @Test("the recipients of their keys are those that they print")
    func recipients() throws {
        let printed = String(decoding: try Program.run("age-keygen", "-y", keys.folder.file("key")), as: UTF8.self)
        #expect("\(keys.x25519.recipient.text)\n" == printed)
        let line = String(decoding: try keys.folder.read("ssh.pub"), as: UTF8.self).dropLast()
        #expect(keys.ssh.recipient.text == line)
        #expect(try RecipientText(String(line)).text == line)
        try Program.run("ssh-keygen", "-q", "-p", "-N", "a passphrase", "-f", keys.folder.file("ssh"))
        guard case .encryptedOpenSSH = try keys.folder.identityFile("ssh") else {
            Issue.record("an encrypted key of ssh-keygen is not taken for one")
            return
        }
    }

    @Test("a slot's stanzas, put into an age file, are opened by age with each key")
    func ours() throws {
        let stanzas = try keys.stanzas(keys.x25519.recipient, keys.ssh.recipient)
        #expect(stanzas.map(\.type) == ["X25519", "ssh-ed25519"])
        let fileKey = try #require(try keys.x25519.opened(stanzas))
        #expect(try keys.ssh.opened(stanzas) == fileKey)
        try keys.folder.write("file", try ageFile(stanzas, fileKey, "some text"))
        for key in ["key", "ssh"] {
            let text = try Program.run("age", "-d", "-i", keys.folder.file(key), keys.folder.file("file"))
            #expect(String(decoding: text, as: UTF8.self) == "some text", "\(key)")
        }
    }

    @Test("age's stanzas are opened by both keys, in an age file and as the parameters of a slot")
    func theirs() throws {
        try keys.folder.write("text", Array("some text".utf8))
        try Program.run(
            "age", "-r", keys.x25519.recipient.text, "-R", keys.folder.file("ssh.pub"), "-o", keys.folder.file("file"),
            keys.folder.file("text"))
        let file = try AgeFile(try keys.folder.read("file"))
        for identity in [keys.x25519, keys.ssh] {
            let fileKey = try #require(try identity.opened(file.stanzas))
            let text = try file.open(try FileKey(Secret(bytes: fileKey))).bytes()
            #expect(text == Array("some text".utf8))
        }
        let fileKey = try #require(try keys.ssh.opened(file.stanzas))
        let path = keys.folder.file("theirs.vault")
        _ = try Vault.create(at: path, factors: try Factors(external: Foreign(file.stanzas, fileKey)))
        for identity in [keys.x25519, keys.ssh] {
            let opened = try Vault.open(path, factors: try Factors(external: AgeFactor(identities: [identity])))
            #expect(try opened.slots().map(\.provider) == [AgeFactor.name])
        }
    }

    @Test("an identity that pyrage has made opens a slot, and pyrage a slot's stanzas in an age file, with each key")
    func pyrage() throws {
        try keys.folder.write("rage", try Program.pyrage("keygen"))
        guard case .identities(let list) = try keys.folder.identityFile("rage"), case .native(let own)? = list.first
        else {
            Issue.record("not the kind of identity that pyrage makes")
            return
        }
        let stanzas = try keys.stanzas(own.recipient, keys.x25519.recipient, keys.ssh.recipient)
        let opened = try Vault.open(
            keys.folder.file("v.vault"), factors: try Factors(external: AgeFactor(identities: [own])))
        #expect(try opened.slots().contains { $0.provider == AgeFactor.name })
        let fileKey = try #require(try own.opened(stanzas))
        try keys.folder.write("file", try ageFile(stanzas, fileKey, "some text"))
        for key in ["rage", "key", "ssh"] {
            let text = try Program.pyrage("decrypt", keys.folder.file(key), keys.folder.file("file"))
            #expect(String(decoding: text, as: UTF8.self) == "some text", "\(key)")
        }
    }

    @Test("pyrage's stanzas are opened by each key, in an age file and as the parameters of a slot")
    func pyragesStanzas() throws {
        try keys.folder.write("text", Array("some text".utf8))
        let recipients = [keys.x25519.recipient.text, keys.ssh.recipient.text]
        _ = try Program.pyrage(
            "encrypt", keys.folder.file("text"), keys.folder.file("file"), recipients[0], recipients[1])
        let file = try AgeFile(try keys.folder.read("file"))
        let fileKey = try #require(try keys.ssh.opened(file.stanzas))
        let path = keys.folder.file("theirs.vault")
        _ = try Vault.create(at: path, factors: try Factors(external: Foreign(file.stanzas, fileKey)))
        for identity in [keys.x25519, keys.ssh] {
            let own = try #require(try identity.opened(file.stanzas))
            #expect(try file.open(try FileKey(Secret(bytes: own))).bytes() == Array("some text".utf8))
            let opened = try Vault.open(path, factors: try Factors(external: AgeFactor(identities: [identity])))
            #expect(try opened.slots().map(\.provider) == [AgeFactor.name])
        }
    }

    @Test("an identity file that age -p has encrypted opens with its passphrase, armored or not, and with no other")
    func passphrase() throws {
        for armor in [["-a"], []] {
            let name = armor.isEmpty ? "binary" : "armored"
            let words = [Program.ours("type-passphrase"), "right"] + armor
            try Program.run(words: words + ["-o", keys.folder.file(name), keys.folder.file("key")])
            guard case .encrypted(let file) = try keys.folder.identityFile(name) else {
                Issue.record("\(name): not taken for an encrypted file")
                continue
            }
            #expect(throws: AgeError(.wrongPassphrase, "")) { try file.open(passphrase: Secret(text: "wrong")) }
            let identities = try file.open(passphrase: Secret(text: "right"))
            guard identities.count == 1, case .native(let identity) = identities[0] else {
                Issue.record("\(name): not one identity")
                continue
            }
            #expect(identity.recipient.text == keys.x25519.recipient.text)
        }
    }
}

/// Makes a slot of stanzas that another program has made, with the derivation of section 9.3 written out.
struct Foreign: SlotFactor {
    let provider = "age"
    let parameters: [UInt8]
    let fileKey: [UInt8]

    init(_ stanzas: [Stanza], _ fileKey: [UInt8]) { self.init(parameters: Stanza.encode(stanzas), fileKey) }

    init(parameters: [UInt8], _ fileKey: [UInt8]) { (self.parameters, self.fileKey) = (parameters, fileKey) }

    func wrap(for slot: SlotPlace) throws(VaultError) -> WrappedKey {
        WrappedKey(
            parameters: parameters, ownersData: [],
            key: Secret(bytes: fileKey).derive("vaultfmt-1 age", slot.vault + slot.slot))
    }

    func rewrap(ownersData: [UInt8], for slot: SlotPlace) throws(VaultError) -> WrappedKey? { nil }
    func unwrap(_ slots: [ExternalSlot], into candidates: inout KeyCandidates) throws(VaultError) {}
}
