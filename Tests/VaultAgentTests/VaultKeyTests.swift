import Foundation
import TestSupport
import Testing
import VaultFmt
import VaultLocal

@testable import VaultAgent

@Suite("The keys of a vault")
struct VaultKeyTests {
    private let folder: Folder
    private let machine: Machine

    init() throws {
        folder = try Folder()
        let places = Places(
            vault: folder.file("v.vault"), generatedKeyFile: folder.file("key"), stateFolder: folder.file("state"),
            witnessFile: nil)
        machine = Machine(places) { _ in }
    }

    private func factors() throws -> Factors {
        try Factors(rawKey: Secret(text: String(repeating: "k", count: 32)))
    }

    private func create() throws -> Vault { try machine.create(at: folder.file("v.vault"), factors: try factors()) }

    private func open() throws -> Vault { try machine.open(folder.file("v.vault"), factors: try factors()) }

    private func store(
        _ vault: Vault, _ service: String, seed: UInt8, use: String?, group: String = ""
    ) throws {
        var attributes = Attributes()
        if let use { attributes[SSHAttribute.use] = Array(use.utf8) }
        try vault.add(
            try .genericPassword(service: service, account: "", group: group), secret: keyText(seed),
            attributes: attributes)
    }

    private func store(_ vault: Vault, _ service: String, seed: UInt8, _ texts: [String: String]) throws {
        var attributes = Attributes()
        for (name, text) in texts { attributes[name] = Array(text.utf8) }
        try vault.add(
            try .genericPassword(service: service, account: ""), secret: keyText(seed), attributes: attributes)
    }

    private func keys(
        _ vault: Vault?, groups: [String] = [], limits: ServedVault.Limits = .init(), now: UInt64 = 0
    ) -> ServedVault {
        ServedVault(
            path: folder.file("v.vault"), groups: groups, limits: limits, vault: vault, isKept: false, now: now,
            reopening: { nil })
    }

    private func comments(_ keys: ServedVault, now: UInt64 = 0) throws -> [String] {
        try keys.offers(now: now).map(\.comment)
    }

    private let data = Array("data".utf8)

    private func signs(_ keys: ServedVault, _ key: PublicKey, now: UInt64 = 0) -> Bool {
        do {
            let signature = try data.withUnsafeBytes { try keys.sign($0, identity: key.blob, flags: 0, now: now) }
            return key.isValid(signature, of: data)
        } catch { return false }
    }

    @Test("An item is offered if its attribute says so, and changes of the file are followed")
    func offering() throws {
        let vault = try create()
        try store(vault, "offered", seed: 65, use: "offer")
        try store(vault, "asked", seed: 66, use: "confirm")
        try store(vault, "unmarked", seed: 67, use: nil)
        try store(vault, "off", seed: 68, use: "off")
        try store(vault, "misspelled", seed: 69, use: "Offer")
        let keys = keys(try open())
        #expect(try comments(keys) == ["asked", "offered"])
        #expect(keys.omitted.count == 1 && keys.omitted[0].contains("'misspelled'"))
        #expect(keys.omitted[0].hasSuffix("its attribute ssh must be offer, confirm or off"))
        let asked = try #require(try keys.offers(now: 0).first)
        #expect(asked.needsConfirmation)
        #expect(signs(keys, asked.publicKey))
        try store(vault, "later", seed: 70, use: "offer")
        try vault.remove(try .genericPassword(service: "asked", account: ""))
        #expect(try comments(keys) == ["later", "offered"])
        #expect(!signs(keys, asked.publicKey))
    }

    @Test("A secret that is no key is named with the reason, and the others are offered")
    func omitted() throws {
        let vault = try create()
        try store(vault, "good", seed: 65, use: "offer")
        var attributes = Attributes()
        attributes[SSHAttribute.use] = Array("offer".utf8)
        try vault.add(
            try .genericPassword(service: "bad", account: ""), secret: Secret(text: "password"), attributes: attributes)
        let keys = keys(try open())
        #expect(try comments(keys) == ["good"])
        #expect(keys.omitted.count == 1 && keys.omitted[0].contains("'bad'"))
    }

    @Test("The key of the secret is offered, and an attribute with another one is named")
    func wrongPublicKey() throws {
        let vault = try create()
        var attributes = Attributes()
        attributes[SSHAttribute.use] = Array("offer".utf8)
        let other = Request.key(9).publicKey
        attributes[SSHAttribute.publicKey] = Array(other.line(comment: "").utf8)
        try vault.add(try .genericPassword(service: "a", account: ""), secret: keyText(7), attributes: attributes)
        let keys = keys(try open())
        let own = Request.key(7).publicKey
        #expect(try keys.offers(now: 0).map(\.publicKey) == [own])
        #expect(signs(keys, own) && !signs(keys, other))
        #expect(keys.omitted.isEmpty && keys.warnings.count == 1)
        #expect(keys.warnings[0].contains("it is not the public key of the secret"))
        attributes[SSHAttribute.publicKey] = Array("no key".utf8)
        try vault.set(
            try .genericPassword(service: "a", account: ""), secret: keyText(7), attributes: .init(set: attributes))
        #expect(try keys.offers(now: 0).map(\.publicKey) == [own])
        #expect(keys.warnings.count == 1 && keys.warnings[0].contains("it is not a line as in authorized_keys"))
    }

    @Test("A secret that is replaced or restored is the key that is offered next, whatever the item's attribute says")
    func replacedSecret() throws {
        let vault = try create()
        let line = Request.key(65).publicKey.line(comment: "")
        try store(vault, "k", seed: 65, [SSHAttribute.use: "offer", SSHAttribute.publicKey: line])
        let keys = keys(try open())
        #expect(signs(keys, Request.key(65).publicKey) && keys.warnings.isEmpty)
        try vault.set(try .genericPassword(service: "k", account: ""), secret: keyText(66), attributes: .init())
        #expect(try keys.offers(now: 0).map(\.publicKey) == [Request.key(66).publicKey])
        #expect(signs(keys, Request.key(66).publicKey) && keys.warnings.count == 1)
        try vault.set(
            try .genericPassword(service: "k", account: ""), secret: Secret(text: "a password"), attributes: .init())
        #expect(try comments(keys).isEmpty && keys.omitted.count == 1)
    }

    @Test("Keys and identities in all of the agent's groups are offered, and a group that does not exist is named")
    func groups() throws {
        let vault = try create()
        for (group, seed) in [("a", 65), ("b", 66), ("c", 67)] as [(String, UInt8)] {
            let key = try ItemKey.key(
                keyClass: 1, keyType: 0, applicationLabel: Array(group.utf8), applicationTag: [], sizeInBits: 256,
                effectiveSize: 256, group: group)
            try vault.add(key, secret: keyText(seed), attributes: Attributes())
        }
        let keys = keys(try open(), groups: ["a", "b", "d"])
        #expect(try keys.offers(now: 0).count == 2)
        #expect(keys.omitted == ["the access group 'd': the vault has no group of this name"])
    }

    @Test("The vault is locked when its time, or the time since its last signature, has passed")
    func limits() throws {
        let vault = try create()
        try store(vault, "k", seed: 65, use: "offer")
        let keys = keys(try open(), limits: .init(total: 1000, idle: 300), now: 0)
        let key = try #require(try keys.offers(now: 0).first).publicKey
        #expect(keys.nextEnd == 300)
        #expect(signs(keys, key, now: 299))
        #expect(keys.nextEnd == 599)
        #expect(try comments(keys, now: 598) == ["k"])
        // Listing is not using.
        #expect(try comments(keys, now: 599).isEmpty)
        #expect(keys.lockedReason != nil && keys.nextEnd == nil)
        let other = self.keys(try open(), limits: .init(total: 1000), now: 0)
        #expect(signs(other, key, now: 999))
        #expect(!signs(other, key, now: 1000))
    }

    @Test("A key that several items hold is listed once, and is confirmed if one of them asks for it")
    func twins() throws {
        let vault = try create()
        let key = Request.key(70).publicKey
        let line = key.line(comment: "")
        let certificate = Request.certificate(70, kind: .user, authority: Request.fidoBlob)
        let certified = PublicKey.line(KeyType.ed25519.certificateName, certificate, comment: "")
        // The first one only says that it holds the key; it holds another one.
        try store(vault, "a", seed: 7, [SSHAttribute.use: "offer", SSHAttribute.publicKey: line])
        try store(vault, "b", seed: 70, [SSHAttribute.use: "offer", SSHAttribute.certificate: certified])
        try store(vault, "c", seed: 70, [SSHAttribute.use: "confirm"])
        let agent = TestAgent(keys(try open()), canConfirm: true)
        // The key, and its certificate.
        #expect(try agent.list() == ["a", "b", "b"])
        #expect(try agent.status().offered == 2)
        for identity in [key.blob, certificate] {
            let request = Request.sign(identity, data)
            #expect(agent.ask(request) == nil)
            let reply = try #require(agent.ask(request, isConfirmed: true))
            #expect(reply.first == AgentMessage.signResponse)
            #expect(key.isValid(Array(reply.dropFirst(5)), of: data))
        }
        #expect(agent.ask(Request.one(AgentMessage.removeIdentity, key.blob)) == [AgentMessage.success])
        #expect(try agent.list() == ["a"])
        #expect(agent.ask(Request.sign(key.blob, data)) == [AgentMessage.failure])
    }

    @Test("Adding the key of an item that needs confirmation is not a way around the question, hidden or not")
    func addedTwin() throws {
        let vault = try create()
        try store(vault, "k", seed: 70, use: "confirm")
        let agent = TestAgent(keys(try open()), canConfirm: true)
        let request = Request.sign(Request.blob(70), data)
        #expect(agent.ask(Request.one(AgentMessage.removeIdentity, Request.blob(70))) == [AgentMessage.success])
        #expect(agent.ask(Request.add(70, comment: "added")) == [AgentMessage.success])
        #expect(agent.ask(request) == nil)
        #expect(agent.ask(request, isConfirmed: true)?.first == AgentMessage.signResponse)
        let keys = try agent.status().keys
        #expect(keys.count == 1 && keys[0].isAdded && keys[0].needsConfirmation)
    }

    @Test("Locking the vault, or a file that cannot be read, does not take an item's confirmation from an added key")
    func addedTwinWhileLocked() throws {
        let vault = try create()
        try store(vault, "k", seed: 70, use: "confirm")
        let keys = keys(try open())
        let agent = TestAgent(keys, canConfirm: true)
        let request = Request.sign(Request.blob(70), data)
        #expect(agent.ask(Request.add(70, comment: "added")) == [AgentMessage.success])
        #expect(agent.ask(Request.add(7, comment: "other")) == [AgentMessage.success])
        let path = folder.file("v.vault")
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        #expect(agent.ask(request) == nil)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        for _ in 0..<2 {
            keys.lock("it was locked")
            #expect(agent.ask(request) == nil)
            #expect(agent.ask(request, isConfirmed: true)?.first == AgentMessage.signResponse)
            #expect(try agent.status().keys.filter(\.needsConfirmation).map(\.comment) == ["added"])
            #expect(agent.ask(Request.sign(Request.blob(7), data))?.first == AgentMessage.signResponse)
        }
    }

    @Test("A file that is missing is named, with the time, until it can be read again")
    func missingFile() throws {
        let vault = try create()
        try store(vault, "k", seed: 65, use: "offer")
        let agent = TestAgent(keys(try open()))
        #expect(try agent.list() == ["k"] && agent.status().unreadable.isEmpty)
        let path = folder.file("v.vault")
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        #expect(try agent.list().isEmpty)
        let status = try agent.status()
        #expect(status.unreadable == "the vault's file is missing" && status.unreadableSince > 0)
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        #expect(try agent.list() == ["k"] && agent.status().unreadable.isEmpty)
    }

    @Test("The state has the keys of the vault, each once, and the number of those that were removed")
    func status() throws {
        let vault = try create()
        try store(vault, "a", seed: 65, use: "offer")
        try store(vault, "b", seed: 65, use: "confirm")
        try store(vault, "c", seed: 66, use: "offer")
        let agent = TestAgent(keys(try open()))
        var status = try agent.status()
        #expect(status.keys.map(\.comment) == ["a", "c"] && status.hidden == 0)
        #expect(status.keys.map(\.needsConfirmation) == [true, false] && status.keys.allSatisfy { !$0.isAdded })
        _ = agent.ask([AgentMessage.removeAllIdentities])
        status = try agent.status()
        #expect(status.keys.isEmpty && status.offered == 0 && status.hidden == 2)
    }

    @Test("Removing a key that was added with constraints does not uncover the same key of the vault")
    func uncovering() throws {
        let vault = try create()
        try store(vault, "k", seed: 70, use: "offer")
        let agent = TestAgent(keys(try open()))
        let steps = Constraint.destinations([(Constraint.hop(nil), Constraint.hop(10))])
        #expect(agent.ask(Request.add(70, comment: "bound", constraints: steps)) == [AgentMessage.success])
        var client = AgentService.Client.test
        #expect(agent.ask(Request.bind(host: 12, session: [1], forwarding: false), from: &client)?[0] == 6)
        #expect(try agent.list(from: &client).isEmpty)
        #expect(try agent.list() == ["bound"])
        let remove = Request.one(AgentMessage.removeIdentity, Request.blob(70))
        #expect(agent.ask(remove) == [AgentMessage.success])
        #expect(try agent.list().isEmpty)
        #expect(agent.ask(Request.sign(Request.blob(70), data)) == [AgentMessage.failure])
        #expect(agent.ask(remove) == [AgentMessage.failure])
    }

    @Test("A certificate that cannot be used is named, and its key is offered without it")
    func unusableCertificates() throws {
        let vault = try create()
        let foreign = Request.certificate(71, kind: .user, authority: Request.blob(1))
        let host = Request.certificate(70, kind: .host, authority: Request.fidoBlob)
        for (name, blob) in [("foreign", foreign), ("host", host)] {
            let line = PublicKey.line(KeyType.ed25519.certificateName, blob, comment: "")
            try store(vault, name, seed: 70, [SSHAttribute.use: "offer", SSHAttribute.certificate: line])
        }
        try store(vault, "text", seed: 72, [SSHAttribute.use: "offer", SSHAttribute.certificate: "none"])
        let keys = keys(try open())
        #expect(try comments(keys) == ["foreign", "host", "text"])
        #expect(try keys.offers(now: 0).allSatisfy { $0.certificate == nil })
        #expect(keys.warnings.count == 3 && keys.warnings.allSatisfy { $0.hasPrefix("the certificate of ") })
        #expect(signs(keys, Request.key(70).publicKey))
        // Also when the keys are read again.
        try store(vault, "later", seed: 73, use: "off")
        #expect(try comments(keys).count == 3)
        #expect(keys.warnings.count == 3)
    }

    @Test("A host's certificate is not offered, and one that has expired or is not valid yet is named")
    func certificateKinds() throws {
        let vault = try create()
        try folder.keygen("-q", "-t", "ed25519", "-N", "", "-f", "ca")
        for (name, words) in [
            ("host", ["-h", "-n", "host"]), ("old", ["-n", "me", "-V", "20200101:20200102"]),
            ("new", ["-n", "me", "-V", "20900101:20900102"]), ("good", ["-n", "me"]),
        ] {
            let line = Request.key(65).publicKey.line(comment: "")
            try Data(line.utf8).write(to: URL(fileURLWithPath: folder.file("\(name).pub")))
            try folder.keygen(["-q", "-s", "ca", "-I", "id"] + words + ["\(name).pub"])
            let certificate = String(decoding: try folder.read("\(name)-cert.pub"), as: UTF8.self)
            try store(vault, name, seed: 65, [SSHAttribute.use: "offer", SSHAttribute.certificate: certificate])
        }
        let keys = keys(try open())
        #expect(try keys.offers(now: 0).map { $0.certificate != nil } == [true, false, true, true])
        #expect(keys.warnings.count == 3)
        let ends = ["it is a host certificate, not a user certificate", "is not valid yet", "has expired"]
        for (text, end) in zip(keys.warnings, ends) {
            #expect(text.hasSuffix(end))
        }
    }

    @Test("The agent's state names 64 items that cannot be offered, and the number of the others")
    func manyOmitted() throws {
        let vault = try create()
        for number in 0..<70 {
            try store(vault, "k\(number)", seed: 7, use: "maybe")
        }
        let status = try TestAgent(keys(try open())).status()
        #expect(status.omitted.count == 65)
        #expect(status.omitted.last == "and 6 more")
    }

    @Test("A removed key is not offered until the vault is opened again")
    func hiding() throws {
        let vault = try create()
        try store(vault, "k", seed: 65, use: "offer")
        let again = try open()
        var isUnlocked = false
        let keys = ServedVault(
            path: folder.file("v.vault"), groups: [], limits: .init(), vault: try open(), isKept: false, now: 0,
            reopening: { isUnlocked ? again : nil })
        let key = try #require(try keys.offers(now: 0).first).publicKey
        #expect(try keys.hide(key.blob, now: 0))
        #expect(try comments(keys).isEmpty)
        #expect(!signs(keys, key))
        keys.lock("test")
        #expect(try comments(keys).isEmpty)
        isUnlocked = true
        #expect(try comments(keys) == ["k"])
    }

    @Test("An older copy, or another vault, in the place of the file locks the vault")
    func rollback() throws {
        let vault = try create()
        try store(vault, "k", seed: 65, use: "offer")
        let older = try folder.read("v.vault")
        try store(vault, "l", seed: 66, use: "offer")
        let keys = keys(try open())
        #expect(try comments(keys) == ["k", "l"])
        try Data(older).write(to: URL(fileURLWithPath: folder.file("v.vault")), options: .atomic)
        #expect(try comments(keys).isEmpty)
        #expect(keys.lockedReason?.isEmpty == false)
    }
}
