import TestSupport
import Testing
import VaultBytes
import VaultCrypto
import VaultFmt
import VaultStore

@testable import VaultAge

/// Calls of the library that these tests repeat.
private struct Fixture {
    let folder: Folder
    var path: String { folder.file("v.vault") }
    static func rawKey() throws -> Factors { try Factors(rawKey: Secret(bytes: [UInt8](repeating: 9, count: 32))) }

    init() throws { folder = try Folder() }

    func create() throws -> Vault { try Vault.create(at: path, factors: try Self.rawKey()) }

    /// Whether the vault opens, for its owner.
    func opens(_ identities: any Identity...) -> Bool {
        do {
            return try Vault.open(path, factors: try Factors(external: AgeFactor(identities: identities))).isOwner
        } catch {
            return false
        }
    }
}

extension Vault {
    fileprivate var isOwner: Bool { get throws { try slots().allSatisfy { $0.name != nil } } }
}

@Suite("A slot of the provider age")
struct AgeSlotTests {
    private let fixture: Fixture

    init() throws { fixture = try Fixture() }

    @Test("is made from recipients alone, opens with the identity of each, and with no other")
    func opening() throws {
        let vault = try fixture.create()
        let (first, second, stranger) = (
            X25519Identity.generate(), X25519Identity.generate(), X25519Identity.generate()
        )
        let hybrid = try HybridIdentity.generate()
        try vault.addSlot(try Factors(external: AgeFactor(recipients: [first.recipient, second.recipient])))
        try vault.addSlot(try Factors(external: AgeFactor(recipients: [hybrid.recipient])))
        #expect(fixture.opens(first) && fixture.opens(second) && fixture.opens(hybrid))
        #expect(fixture.opens(stranger, second) && !fixture.opens(stranger))
    }

    @Test("shows recipients to owners, and the kinds of its stanzas to everybody")
    func listing() throws {
        let vault = try fixture.create()
        let (classical, hybrid) = (X25519Identity.generate(), try HybridIdentity.generate())
        for identity in [classical, hybrid] as [any NativeIdentity] {
            try vault.addSlot(try Factors(external: AgeFactor(recipients: [identity.recipient])))
        }
        let slots = try vault.slots().compactMap { try AgeSlot($0) }
        #expect(slots.map(\.stanzaTypes) == [["X25519"], ["mlkem768x25519"]])
        #expect(slots.map(\.isPostQuantum) == [false, true])
        #expect(slots.map { $0.recipients?.map(\.text) } == [[classical.recipient.text], [hybrid.recipient.text]])
    }

    @Test("has recipients of one strength only, unless that is asked for (R-9.6)")
    func labels() throws {
        let vault = try fixture.create()
        let both = [X25519Identity.generate().recipient, try HybridIdentity.generate().recipient]
        let factor = AgeFactor(recipients: both)
        #expect(throws: VaultError(.invalidArgument, "")) { try vault.addSlot(try Factors(external: factor)) }
        #expect(factor.failure?.code == .incompatibleRecipients)
        try vault.addSlot(try Factors(external: AgeFactor(recipients: both, mixesLabels: true)))
        #expect(try vault.slots().compactMap { try AgeSlot($0) }.map(\.isPostQuantum) == [false])
    }

    @Test("has no candidates where its parameters are malformed, which is not damage (R-9.1)")
    func malformedParameters() throws {
        let vault = try fixture.create()
        let identity = X25519Identity.generate()
        for text in ["", "-> X25519\n", "x", "-> X25519 AAAA\nAB\n"] {
            try vault.addSlot(try Factors(external: Written { _ in Array(text.utf8) }))
        }
        #expect(!fixture.opens(identity))
        #expect(throws: VaultError(.noSlotOpens, "")) {
            try Vault.open(fixture.path, factors: try Factors(external: AgeFactor(identities: [identity])))
        }
        try vault.addSlot(try Factors(external: AgeFactor(recipients: [identity.recipient])))
        #expect(fixture.opens(identity))
        #expect(try vault.verify().isSound)
    }

    @Test("opens in spite of stanzas of unknown types and malformed ones (R-9.2)")
    func otherStanzas() throws {
        let vault = try fixture.create()
        let (identity, zero) = (X25519Identity.generate(), Base64.encode([UInt8](repeating: 0, count: 32)))
        let others = [
            try Stanza(type: "unknown", arguments: ["a", "b"], body: [1]),
            try Stanza(type: "X25519", body: [UInt8](repeating: 1, count: 32)),
            try Stanza(type: "X25519", arguments: ["AAAA"], body: [UInt8](repeating: 1, count: 32)),
            try Stanza(type: "X25519", arguments: ["A-"], body: [UInt8](repeating: 1, count: 32)),
            try Stanza(type: "X25519", arguments: [zero], body: [UInt8](repeating: 1, count: 32)),
            try Stanza(type: "X25519", arguments: [zero, "more"], body: [UInt8](repeating: 1, count: 32)),
        ]
        try vault.addSlot(
            try Factors(
                external: Written { fileKey in Stanza.encode(others + (try identity.recipient.wrap(fileKey).stanzas)) })
        )
        #expect(fixture.opens(identity))
    }

    @Test("has a file key of its own, and another after a rotation (R-9.5)")
    func fileKeys() throws {
        let vault = try fixture.create()
        let identity = X25519Identity.generate()
        for _ in 0..<2 { try vault.addSlot(try Factors(external: AgeFactor(recipients: [identity.recipient]))) }
        func fileKeys() throws -> [[UInt8]] {
            try vault.slots().filter { $0.provider == AgeFactor.name }.map { slot in
                let stanzas = try Stanza.decode(try #require(slot.providerParameters))
                return try #require(try identity.opened(stanzas))
            }
        }
        let before = try fileKeys()
        var rotation = try vault.rotation()
        for slot in try vault.slots() where slot.provider == AgeFactor.name {
            try rotation.keep(slot.id, madeAgainBy: AgeFactor())
        }
        _ = try rotation.run()
        #expect(Set(before + (try fileKeys())).count == 4)
    }

    @Test(
        "is made again by a rotation without an identity, 20 of them, and what was kept of the old ones opens nothing")
    func rotation() throws {
        let vault = try fixture.create()
        let identities = (0..<20).map { _ in X25519Identity.generate() }
        for identity in identities {
            try vault.addSlot(try Factors(external: AgeFactor(recipients: [identity.recipient])))
        }
        let kept = try vault.keptKey()
        let id = try Vault.id(at: fixture.path)
        var rotation = try vault.rotation()
        for slot in try vault.slots() where slot.provider == AgeFactor.name {
            try rotation.keep(slot.id, madeAgainBy: AgeFactor())
        }
        #expect(rotation.dropped.count == 1)
        #expect(try rotation.run().dropped.map(\.factors) == [.rawKey])
        for identity in identities { #expect(fixture.opens(identity)) }
        #expect(throws: VaultError.self) { try Vault.open(fixture.path, factors: try Fixture.rawKey()) }
        #expect(throws: VaultError.self) {
            try Vault.open(fixture.path, kept: kept, of: id, options: OpenOptions(), place: Store.Place())
        }
    }
}

/// Makes slots of the provider with parameters of the tests' own.
private struct Written: SlotFactor {
    let provider = AgeFactor.name
    let parameters: @Sendable (borrowing FileKey) throws -> [UInt8]

    func wrap(for slot: SlotPlace) throws(VaultError) -> WrappedKey {
        let fileKey = FileKey.random()
        do {
            return WrappedKey(
                parameters: try parameters(fileKey), ownersData: [],
                key: fileKey.secret.derive("vaultfmt-1 age", slot.vault + slot.slot))
        } catch { throw VaultError(.invalidArgument, "\(error)") }
    }

    func rewrap(ownersData: [UInt8], for slot: SlotPlace) throws(VaultError) -> WrappedKey? { nil }
    func unwrap(_ slots: [ExternalSlot], into candidates: inout KeyCandidates) throws(VaultError) {}
}

@Suite("Stanzas")
struct WrappingTests {
    @Test("that C2SP age.md publishes open with the identities that it publishes")
    func published() throws {
        let text = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
        let identity = try native(text)
        #expect(identity.recipient.text == "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj")
        let stanzas = try Stanza.decode(
            Array(
                "-> X25519 O6DLx/wDIawpUC978NSPjYvrfDtJVnZApXKp4FMPHCY\n3aKjozt9agh7jGmvOKvR4iax41Wl4zj95MKK4X9JuWc\n"
                    .utf8))
        #expect(try identity.opened(stanzas)?.count == FileKey.size)
        let hybrid = try native("AGE-SECRET-KEY-PQ-1XX76JRALNLXDMEW0CRK45QMCCH4X06SE84UN3VPM33W6HWDX0H3SK3ZQFR")
        #expect(hybrid.recipient.text.hasPrefix("age1pq1x34nzsvr0rxjsgdn8zgyhfe8j7ceq5r9rdelkjuh3y235jzxshfg8"))
        #expect(hybrid.recipient.text.hasSuffix("yyzk3tlhl53k2ykx3qheyty7saeq0d3fzv49zc0k"))
    }

    private func native(_ text: String) throws -> any NativeIdentity {
        let parsed = try Secret(text: text).withUnsafeBytes { (text) throws(AgeError) in try IdentityText(text) }
        guard case .native(let identity) = parsed else { throw AgeError(.unsupportedIdentity, "a plugin's") }
        return identity
    }

    @Test("open with their identity only, not where a byte differs, and not with a body of another length (R-9.3)")
    func tampering() throws {
        for identity in [X25519Identity.generate(), try HybridIdentity.generate()] as [any NativeIdentity] {
            let fileKey = FileKey.random()
            let stanza = try #require(try identity.recipient.wrap(fileKey).stanzas.first)
            #expect(try identity.opened([stanza]) == fileKey.secret.bytes())
            var body = stanza.body
            body[3] ^= 1
            let altered = try Stanza(type: stanza.type, arguments: stanza.arguments, body: body)
            #expect(try identity.opened([altered]) == nil)
            let short = try Stanza(type: stanza.type, arguments: stanza.arguments, body: Array(body.dropLast()))
            #expect(throws: AgeError(.malformedStanza, "")) { _ = try identity.unwrap(short) }
        }
    }
}
