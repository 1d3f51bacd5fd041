import Foundation
import Testing

@Suite("The ssh agent, its items and its ends")
struct SSHAgentItemTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        return sandbox
    }

    @Test("The agent offers the key that an item holds now, and 'ssh list' names an attribute with another one")
    func replacedKey() throws {
        let sandbox = try sandbox()
        try sandbox.ok("set", "server", "--ssh-generate", "ed25519")
        let agent = try BackgroundAgent(sandbox)
        try sandbox.okShell(
            """
            vaultfmt ssh public server > old.pub
            ssh-keygen -q -t ed25519 -N '' -C server -f key
            vaultfmt set server --secret-file key
            [[ $(vaultfmt ssh list --keys) == "$(cat key.pub)" && $(ssh-add -L) == "$(cat key.pub)" ]]
            ssh-add -T key.pub
            """)
        // The secret alone is restored.
        try sandbox.ok("restore", "server")
        try sandbox.okShell("[[ $(ssh-add -L) == \"$(cat old.pub)\" ]]; ssh-add -T old.pub")
        let listed = try sandbox.run("ssh", "list", "--keys")
        #expect(listed.status == 3 && listed.error.contains("it is not the public key of the secret"))
        #expect(try listed.bytes == sandbox.read("old.pub"))
        #expect(try agent.state().contains("warning: the attribute ssh-public-key of generic-password 'server'"))
        // A secret that is not a key has no public key.
        try sandbox.ok("set", "server", input: "a password".utf8)
        #expect(try !sandbox.ok("show", "server").output.contains("ssh-public-key"))
        try agent.end()
    }

    @Test("An item whose attribute 'ssh' has another value is named")
    func misspelledUse() throws {
        let sandbox = try sandbox()
        try sandbox.ok("set", "server", "--ssh-generate", "ed25519")
        // An option refuses the value, but an import or a pipe stores it.
        try sandbox.ok("update", "server", "--secret-attribute", "ssh", input: "Confirm".utf8)
        let listed = try sandbox.run("ssh", "list")
        #expect(listed.status == 3 && listed.output.isEmpty)
        #expect(listed.error.contains("its attribute ssh must be offer, confirm or off"))
    }

    @Test("A new item with a generated key is reported, with the line of its public key")
    func reported() throws {
        let sandbox = try sandbox()
        let made = try sandbox.ok("set", "server", "--ssh-generate", "ed25519")
        let line = try sandbox.ok("ssh", "public", "server").lines[0]
        #expect(made.error == "vaultfmt: created generic-password 'server' ''\nvaultfmt: public key: \(line)\n")
        #expect(try sandbox.ok("add", "other", "--ssh-generate", "ed25519").error.hasSuffix(" other\n"))
        try sandbox.fails(64, "--ssh-generate", "set", "server", "--ssh-generate", "rsa")
    }

    @Test("'ssh add' lets the agent ask if the item says so, adds its certificate, and does not add what is off")
    func addingRules() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            ssh-keygen -q -t ed25519 -N '' -f ca
            vaultfmt set server --ssh-generate ed25519 --attribute ssh=confirm
            vaultfmt ssh public server > key.pub
            ssh-keygen -q -s ca -I id -n me key.pub
            vaultfmt update server --attribute "ssh-certificate=$(cat key-cert.pub)"
            printf '#!/bin/sh\nexec test -e "%s"\n' "$PWD/yes" > ask
            chmod +x ask
            export SSH_ASKPASS=$PWD/ask SSH_ASKPASS_REQUIRE=force DISPLAY=none
            eval "$(ssh-agent -a "$PWD/other")" > /dev/null
            trap 'kill $SSH_AGENT_PID' EXIT
            vaultfmt ssh add server 2> said
            grep -q "and its certificate; the agent asks before each use" said
            [[ $(ssh-add -L | wc -l) == 2 ]]
            for name in key.pub key-cert.pub; do
                rm -f yes
                fails ssh-add -T $name
                touch yes
                ssh-add -T $name
            done
            vaultfmt update server --attribute ssh=off
            code=0; vaultfmt ssh add server 2> said || code=$?
            [[ $code == 77 ]]
            grep -q 'ssh=off' said
            """)
    }

    @Test("A background agent whose lines cannot be delivered ends", arguments: ["> /dev/full", ">&-", ">&5"])
    func undelivered(output: String) throws {
        let sandbox = try sandbox()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        // The reader of the pipe at 5 has gone.
        try sandbox.okShell("exec 5> >(:); wait $!; fails vaultfmt agent --daemon \(output)")
        try Patience.until("the end of the agent") { access(sandbox.path("vaultfmt/agent.sock"), F_OK) != 0 }
        try sandbox.fails(69, "no agent is running", "agent", "status")
    }

    @Test("'agent status' has the process and the socket, another agent names them, and 'agent stop' ends it")
    func stopping() throws {
        let sandbox = try sandbox()
        try sandbox.ok("set", "one", "--ssh-generate", "ed25519")
        let agent = try BackgroundAgent(sandbox)
        let process = try #require(sandbox.environment["SSH_AGENT_PID"])
        #expect(try agent.state().contains("agent: process \(process), SSH_AUTH_SOCK="))
        #expect(try agent.state().contains(" one (ED25519)"))
        try sandbox.fails(75, "(process \(process))", "agent")
        try sandbox.okShell(
            """
            grep -qx vaultfmt /proc/$SSH_AGENT_PID/comm
            vaultfmt agent status --json | grep -q '"process": *'$SSH_AGENT_PID
            vaultfmt agent status --json | grep -q '"fingerprint": *"SHA256:'
            ssh-add -q -D
            vaultfmt agent status | grep -q '^hidden: 1 of the vault'
            [[ -z $(vaultfmt agent stop 2>&1) ]]
            """)
        #expect(access(agent.socket, F_OK) != 0)
        try sandbox.fails(69, "no agent is running", "agent", "stop")
        try agent.end()
    }

    @Test("The help of 'agent' has the options of the agent, and a wrong one is explained")
    func help() throws {
        let sandbox = try sandbox()
        let page = try sandbox.ok("agent", "--help").output
        for word in ["--daemon", "--when-unlocked", "--idle", "stop", "[<command>]"] { #expect(page.contains(word)) }
        try sandbox.fails(64, "expected a number with s, m, h or d", "agent", "--time", "0s")
        try sandbox.fails(64, "did you mean '--daemon'", "agent", "--deamon")
        try sandbox.fails(64, "--idle is given twice", "agent", "--idle", "1h", "--idle", "2h")
    }

    @Test("A question is ended when the vault is locked, and the refusal is noted with the key")
    func lockingWhileAsking() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            printf '#!/bin/sh\necho $$ > asking.new\nmv asking.new asking\nsleep 1000\n' > ask
            chmod +x ask
            vaultfmt set server --ssh-generate ed25519 --attribute ssh=confirm
            vaultfmt ssh public server > key.pub
            """)
        sandbox.environment["SSH_ASKPASS"] = sandbox.path("ask")
        let agent = try BackgroundAgent(sandbox)
        try sandbox.okShell("(ssh-add -T key.pub || touch refused) > /dev/null 2>&1 < /dev/null &")
        try Patience.until("the question") { access(sandbox.path("asking"), F_OK) == 0 }
        let text = String(decoding: try sandbox.read("asking"), as: UTF8.self)
        let asking = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        _ = try sandbox.run("lock")
        try Patience.untilEnd(of: asking)
        try Patience.until("the refusal") { access(sandbox.path("refused"), F_OK) == 0 }
        #expect(try agent.state().contains("it is no longer offered"))
        try agent.end()
    }
}
