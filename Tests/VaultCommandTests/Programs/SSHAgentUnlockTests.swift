import Foundation
import Testing

@Suite("The ssh agent and 'unlock'", .enabled(if: Machine.hasKeyring, "no kernel keyring here"))
struct SSHAgentUnlockTests {
    /// A vault with a key in the group `ssh` and one outside, and a slot for that group that a key opens.
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        try sandbox.okShell(
            """
            vaultfmt set in --group ssh --ssh-generate ed25519
            vaultfmt set out --ssh-generate ed25519
            ssh-keygen -q -t ed25519 -N '' -f id
            vaultfmt slot add --recipient "$(cut -d' ' -f1-2 id.pub)" --grant-group ssh
            printf scoped > scoped
            vaultfmt slot add --new-passphrase-file scoped --grant-group ssh --kdf testing
            """)
        return sandbox
    }

    private func listed(_ sandbox: Sandbox) throws -> Int {
        try sandbox.shell("ssh-add -L").lines.filter { $0.hasPrefix("ssh-") }.count
    }

    @Test("An agent that was given an identity or a passphrase uses no key that 'unlock' keeps, at no time")
    func given() throws {
        let sandbox = try sandbox()
        for options in [["VAULTFMT_IDENTITY", "id"], ["VAULTFMT_PASSPHRASE_FILE", "scoped"]] {
            try sandbox.unlock()
            sandbox.environment[options[0]] = sandbox.path(options[1])
            let agent = try BackgroundAgent(sandbox)
            #expect(try listed(sandbox) == 1)
            try sandbox.ok("lock")
            sandbox.environment[options[0]] = nil
            sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
            try sandbox.ok("unlock")
            #expect(try listed(sandbox) == 0)
            try agent.end()
            try sandbox.ok("lock")
        }
    }

    @Test("A scoped passphrase that was typed does not let an owner's kept key in")
    func typed() throws {
        let sandbox = try sandbox()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        sandbox.environment["SSH_AUTH_SOCK"] = sandbox.path("vaultfmt/agent.sock")
        sandbox.forgetPassphrase()
        let terminal = try PseudoTerminal(sandbox, "agent")
        try terminal.expect("Passphrase")
        try terminal.answerHidden("scoped")
        try terminal.expect("SSH_AUTH_SOCK=")
        #expect(try listed(sandbox) == 1)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
        try sandbox.ok("lock")
        try sandbox.ok("unlock")
        #expect(try listed(sandbox) == 0)
        try sandbox.ok("lock")
    }

    @Test("A time that has passed locks the agent while 'unlock' keeps the vault, until 'unlock' is run again")
    func limits() throws {
        let sandbox = try sandbox()
        try sandbox.unlock()
        let agent = try BackgroundAgent(sandbox, "--when-unlocked", "--time", "2s")
        #expect(try listed(sandbox) == 2)
        try Patience.until("the agent locks the vault") { try agent.state().contains("its time has passed") }
        #expect(try listed(sandbox) == 0)
        sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
        try sandbox.ok("unlock", "--for", "2h")
        #expect(try listed(sandbox) == 2)
        try sandbox.ok("lock")
        #expect(try listed(sandbox) == 0)
        try agent.end()
    }

    @Test("The kept key of a narrower slot does not keep open what an owner has opened")
    func otherSlot() throws {
        let sandbox = try sandbox()
        try sandbox.unlock()
        let agent = try BackgroundAgent(sandbox, "--when-unlocked")
        #expect(try listed(sandbox) == 2)
        try sandbox.ok("unlock", "--passphrase-file", sandbox.path("scoped"))
        #expect(try listed(sandbox) == 1)
        try sandbox.ok("lock")
        try agent.end()
    }
}
