import Foundation
import TestSupport
import Testing
import VaultBytes
import VaultCrypto
import VaultFmt
import VaultLocal

@testable import VaultAge

/// Anyone who knows a recipient can make a vault that its identity opens as an owner.
@Suite("A vault that a stranger made for the owner's recipient, with the id of the owner's vault")
struct StrangerTests {
    private let folder: Folder
    private let identity = X25519Identity.generate()
    private let own: [UInt8]
    private let anchor: Anchor

    private var path: String { folder.file("v.vault") }
    private func factors() throws -> Factors { try Factors(external: AgeFactor(identities: [identity])) }
    private static func rawKey(_ number: UInt8) throws -> Factors {
        try Factors(rawKey: Secret(bytes: [UInt8](repeating: number, count: 32)))
    }

    init() throws {
        folder = try Folder()
        let path = folder.file("v.vault")
        let vault = try Vault.create(
            at: path, factors: try Factors(external: AgeFactor(recipients: [identity.recipient])))
        try vault.set(try .genericPassword(service: "svc"), secret: Secret(text: "mine"))
        _ = try vault.addSlot(Self.rawKey(7), grantedGroups: [""])
        own = try folder.read("v.vault")
        anchor = try vault.anchor
    }

    private func machine(_ name: String) -> Machine {
        Machine(
            Places(
                vault: path, generatedKeyFile: folder.file("\(name).key"), stateFolder: folder.file(name)),
            notices: { _ in })
    }

    /// One that has the id only, and one that says that it continues the owner's state, which it names.
    private func strangers() throws -> [[UInt8]] {
        try [nil, anchor.point].map { state in
            var draft = try Draft("stranger", key: [])
            draft.pass(for: anchor.vault.bytes, after: state)
            try draft.addSlot(AgeFactor(recipients: [identity.recipient]), name: "yours")
            try draft.add(DraftKey.generic("svc", ""), Array("theirs".utf8))
            try draft.compact()
            return draft.file
        }
    }

    private func code(_ body: () throws -> Void) -> VaultError.Code? {
        do { try body() } catch { return (error as? VaultError)?.code }
        return nil
    }

    private func text(_ vault: Vault) throws -> String? {
        guard let opened = try vault.get(try .genericPassword(service: "svc")) else { return nil }
        return opened.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    @Test("opens with the identity on a machine that knows nothing, unless the owners are named")
    func unknown() throws {
        for file in try strangers() {
            try folder.write("v.vault", file)
            let vault = try Vault.open(path, factors: try factors())
            #expect(vault.id == anchor.vault && vault.owners != anchor.owners)
            let open = { (name: (inout OpenOptions) -> Void) in
                var options = OpenOptions()
                name(&options)
                _ = try Vault.open(path, factors: try factors(), options: options)
            }
            #expect(code { try open { $0.owners = anchor.owners } } == .foreignOwner)
            #expect(code { try open { $0.anchor = anchor } } == .foreignOwner)
        }
    }

    @Test("is foreign on each machine that has seen the owner's, as an owner or with a scoped slot")
    func remembered() throws {
        let (one, two, ci) = (machine("one"), machine("two"), machine("ci"))
        for known in [one, two] { _ = try known.open(path, factors: try factors()) }
        _ = try ci.open(path, factors: try Self.rawKey(7))
        for file in try strangers() {
            try folder.write("v.vault", file)
            for known in [one, two, ci] {
                #expect(code { _ = try known.open(path, factors: try factors()) } == .foreignOwner)
                #expect(code { try known.check(try Vault.open(path, factors: try factors())) } == .foreignOwner)
            }
        }
        try folder.write("v.vault", own)
        for known in [one, two, ci] { _ = try known.open(path, factors: try factors()) }
    }

    @Test("is noticed by a handle that is open when it takes the place of the owner's")
    func replaced() throws {
        let vault = try machine("one").open(path, factors: try factors())
        for file in try strangers() {
            try Data(file).write(to: URL(fileURLWithPath: path), options: .atomic)
            #expect(code { try vault.refresh() } != nil)
            #expect(try text(vault) == "mine")
        }
    }
}
