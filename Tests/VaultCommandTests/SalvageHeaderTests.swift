import Foundation
import Testing

/// The ways to damage a header whose copy is intact.
private enum Damage: CaseIterable {
    case flippedMagic, flippedBit, zeros

    func apply(to file: [UInt8]) -> [UInt8] {
        var damaged = file
        switch self {
        case .flippedMagic: damaged[2] ^= 1
        case .flippedBit: damaged[1000] ^= 1
        case .zeros: damaged.replaceSubrange(0..<4096, with: repeatElement(0, count: 4096))
        }
        return damaged
    }
}

/// The factors are chosen from the header's slots, so a damaged header must not decide whether they may be tried.
@Suite("salvage with a damaged header uses the header's copy, and the vault opens with")
struct SalvageHeaderTests {
    private let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox()
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
    }

    @Test("a passphrase from a file")
    func passphraseFile() throws {
        try check(["--passphrase-file", try passphrase()])
    }

    @Test("a passphrase from the environment")
    func environment() throws {
        sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
        try check([])
    }

    @Test("a key file")
    func keyFile() throws {
        try check(["--key-file", try key()])
    }

    @Test("a key file from `generate`")
    func generatedKeyFile() throws {
        let file = sandbox.path("generated.key")
        try sandbox.ok("generate", "--key-file", file)
        try check(["--key-file", file])
    }

    @Test("a passphrase and a key file")
    func both() throws {
        try check(["--passphrase-file", try passphrase(), "--key-file", try key()])
    }

    @Test("a raw key")
    func rawKey() throws {
        try check(["--raw-key-file", try raw()])
    }

    @Test("an identity, from the option and from the environment")
    func identity() throws {
        let identity = "AGE-SECRET-KEY-12JYX2P4WHTX0Z65HMMY6F7HNSAF3HR585YQ3QZRCRQ0Y029VPS3Q9D99H3"
        let recipient = "age1gaacrf5g3d69yqxqnduxz52577mcsq0k0y660smh9u0ldg5rqcpspxghxw"
        let file = try sandbox.write("identity.txt", "\(identity)\n".utf8)
        try sandbox.ok("create", "--recipient", recipient, "--no-recovery")
        let new = ["--raw-key-file", try raw()]
        try check(opening: ["--identity", file], salvaging: ["--new-raw-key-file", new[1]], saved: new)
        sandbox.environment["VAULTFMT_IDENTITY"] = file
        try check(opening: [], salvaging: ["--new-raw-key-file", new[1]], saved: new)
    }

    @Test("a passphrase typed on a terminal, alone and next to a key file", arguments: [false, true])
    func typed(withKeyFile: Bool) throws {
        let given = withKeyFile ? ["--key-file", try key()] : []
        let factors = ["--passphrase-file", try passphrase()] + given
        try sandbox.ok(["create", "--kdf", "testing"] + factors)
        try sandbox.ok(["set", "svc"] + factors, input: "s".utf8)
        let sound = try sandbox.read("test.vault")
        for damage in Damage.allCases {
            let damaged = try sandbox.write("damaged.vault", damage.apply(to: sound))
            let new = unusedPath()
            let terminal = try PseudoTerminal(
                sandbox, arguments: ["salvage", damaged, "--output", new, "--kdf", "testing"] + given)
            try terminal.expect("Passphrase for")
            try terminal.answerHidden(Sandbox.passphrase)
            #expect(try terminal.finish() == 0, "\(damage): \(terminal.screen)")
            #expect(terminal.screen.contains("its copy was used"), "\(damage): \(terminal.screen)")
            #expect(try sandbox.ok(["get", "svc", "--vault", new] + factors).output == "s", "\(damage)")
        }
    }

    @Test(
        "everything, if bytes were removed or inserted in front of the first object",
        arguments: [5000..<5007, 8191..<8192, 0..<512, 0..<1, 100..<4196])
    func shifted(_ range: Range<Int>) throws {
        let factors = ["--raw-key-file", try raw()]
        try sandbox.ok(["create"] + factors)
        for name in ["one", "two"] { try sandbox.ok(["set", name] + factors, input: name.utf8) }
        let sound = try sandbox.read("test.vault")
        var removed = sound
        removed.removeSubrange(range)
        var inserted = sound
        inserted.insert(contentsOf: repeatElement(0x76, count: range.count), at: range.lowerBound)
        for damaged in [removed, inserted] {
            let new = unusedPath()
            let file = try sandbox.write("damaged.vault", damaged)
            let run = try sandbox.ok(["salvage", file, "--output", new] + factors)
            #expect(run.error.contains("recovered 2 items"), "\(run.error)")
            #expect(run.error.contains("lost 0") && run.error.contains("former offsets"), "\(run.error)")
            for name in ["one", "two"] {
                #expect(try sandbox.ok(["get", name, "--vault", new] + factors).output == name)
            }
        }
    }

    @Test("neither header: salvage says that nothing can be recovered, and does not advise itself")
    func neither() throws {
        let file = try key()
        try sandbox.ok("create", "--key-file", file)
        let zeros = [UInt8](repeating: 0, count: 8192)
        try sandbox.write("test.vault", zeros + (try sandbox.read("test.vault").dropFirst(8192)))
        let run = try sandbox.fails(
            65, "nothing in this file can be recovered", "salvage", "--output", sandbox.path("saved.vault"),
            "--key-file", file)
        #expect(!run.error.contains("'vaultfmt salvage'"), "\(run.error)")
    }

    // MARK: helpers

    private func passphrase() throws -> String { try sandbox.write("passphrase", Sandbox.passphrase.utf8) }
    private func key() throws -> String { try sandbox.write("key", "a file of any kind".utf8) }
    /// A path for a new vault. This machine remembers which vault was at a path.
    private func unusedPath() -> String { sandbox.path("saved-\(UUID()).vault") }
    private func raw() throws -> String { try sandbox.write("raw", (0..<32).map { UInt8($0) }) }

    /// Creates a vault with these factors, and checks it like the next function.
    private func check(_ factors: [String]) throws {
        try sandbox.ok(["create", "--kdf", "testing"] + factors)
        try check(opening: factors, salvaging: ["--kdf", "testing"], saved: factors)
    }

    /// Salvages the vault after each kind of damage, and reads its item from the new vault.
    private func check(opening factors: [String], salvaging options: [String], saved: [String]) throws {
        try sandbox.ok(["set", "svc"] + factors, input: "s".utf8)
        let sound = try sandbox.read("test.vault")
        for damage in Damage.allCases {
            let damaged = try sandbox.write("damaged.vault", damage.apply(to: sound))
            let new = unusedPath()
            let run = try sandbox.run(["salvage", damaged, "--output", new] + factors + options)
            #expect(run.status == 0, "\(damage): \(run.error)")
            #expect(run.error.contains("its copy was used"), "\(damage): \(run.error)")
            #expect(try sandbox.ok(["get", "svc", "--vault", new] + saved).output == "s", "\(damage)")
        }
    }
}
