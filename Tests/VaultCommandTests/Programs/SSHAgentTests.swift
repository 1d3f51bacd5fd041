import CTestSupport
import Foundation
import Testing

@Suite("The ssh agent and OpenSSH's programs")
struct SSHAgentTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        return sandbox
    }

    @Test("A generated key is listed, signs for ssh-keygen, and its public key is the one that 'ssh public' prints")
    func generated() throws {
        let sandbox = try sandbox()
        let made = try sandbox.ok("set", "github", "--ssh-generate", "ed25519", "--label", "At GitHub")
        #expect(made.error.contains("public key: ssh-ed25519 "))
        let agent = try BackgroundAgent(sandbox)
        try sandbox.okShell(
            """
            vaultfmt ssh public github > key.pub
            ssh-add -L | cmp - key.pub
            grep -q 'At GitHub$' key.pub
            vaultfmt ssh list | grep -q '^256 SHA256:.*At GitHub (ED25519)$'
            [[ $(ssh-add -l) == "$(vaultfmt ssh list)" ]]
            echo text > text
            ssh-keygen -q -Y sign -n file -f key.pub text
            echo "me $(cat key.pub)" > allowed
            ssh-keygen -q -Y verify -n file -f allowed -I me -s text.sig < text
            fails ssh-keygen -q -Y verify -n file -f allowed -I me -s text.sig < allowed
            vaultfmt agent status | grep -q 'ssh-keygen (.*signed with At GitHub'
            """)
        try agent.end()
    }

    @Test(
        "Imported keys of every type sign, with SHA-2 for RSA",
        arguments: ["ed25519", "rsa -b 2048", "ecdsa -b 256", "ecdsa -b 384", "ecdsa -b 521"])
    func imported(kind: String) throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            ssh-keygen -q -t \(kind) -N '' -C imported -f key
            vaultfmt import key --group ssh
            """)
        let agent = try BackgroundAgent(sandbox, "--group", "ssh")
        try sandbox.okShell(
            """
            mv key away
            [[ $(ssh-add -L) == "$(cat key.pub)" ]]
            ssh-add -T key.pub
            echo text > text
            ssh-keygen -q -Y sign -n file -f key.pub text
            echo "me $(cat key.pub)" > allowed
            ssh-keygen -q -Y verify -n file -f allowed -I me -s text.sig < text
            """)
        try agent.end()
    }

    @Test("ssh-add adds, tests, limits, removes, locks and unlocks")
    func adding() throws {
        let sandbox = try sandbox()
        let agent = try BackgroundAgent(sandbox)
        try sandbox.okShell(
            """
            for kind in ed25519 'rsa -b 2048' 'ecdsa -b 256' 'ecdsa -b 521'; do
                rm -f key key.pub
                ssh-keygen -q -t $kind -N '' -C added -f key
                ssh-add -q key
                ssh-add -T key.pub
                ssh-add -l | grep -q added
                ssh-add -q -d key.pub
                fails ssh-add -T key.pub
            done
            ssh-add -q -t 60 key
            ssh-add -q -D
            fails ssh-add -l
            printf '#!/bin/sh\\n[ "$SSH_ASKPASS_PROMPT" != confirm ] && echo secret\\n' > ask
            chmod +x ask
            ssh-add -q key
            export SSH_ASKPASS=$PWD/ask SSH_ASKPASS_REQUIRE=force
            ssh-add -x
            fails ssh-add -l
            ssh-add -X
            ssh-add -l | grep -q added
            """)
        try agent.end()
    }

    @Test("A key that needs confirmation signs if the program says yes, and does not if it says no")
    func confirmation() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            printf '#!/bin/sh\\necho "$SSH_ASKPASS_PROMPT: $1" >> asked\\nexec test -e yes\\n' > ask
            chmod +x ask
            vaultfmt set server --ssh-generate ed25519 --attribute ssh=confirm
            vaultfmt ssh public server > key.pub
            """)
        sandbox.environment["SSH_ASKPASS"] = sandbox.path("ask")
        let agent = try BackgroundAgent(sandbox)
        try sandbox.okShell(
            """
            fails ssh-add -T key.pub
            touch yes
            ssh-add -T key.pub
            [[ $(grep -c "^confirm: Allow 'ssh-add' (process [0-9]*) to use the key 'server'?" asked) == 2 ]]
            ssh-keygen -q -t ed25519 -N '' -C added -f added
            ssh-add -q -c added
            ssh-add -T added.pub
            rm yes
            fails ssh-add -T added.pub
            """)
        try agent.end()
    }

    @Test("A certificate next to a key is offered")
    func certificates() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            ssh-keygen -q -t ed25519 -N '' -f ca
            vaultfmt set server --ssh-generate ed25519
            vaultfmt ssh public server > key.pub
            ssh-keygen -q -s ca -I id -n me key.pub
            vaultfmt update server --attribute "ssh-certificate=$(cat key-cert.pub)"
            vaultfmt ssh list | grep -q 'with a certificate$'
            """)
        let agent = try BackgroundAgent(sandbox)
        try sandbox.okShell("ssh-add -l | grep -q 'ED25519-CERT'; ssh-add -T key-cert.pub")
        try agent.end()
    }

    @Test("An agent that a scoped slot has opened offers the keys of its group, and does not mention the others")
    func scoped() throws {
        let sandbox = try sandbox()
        let key = try sandbox.write("ssh.key", [UInt8](repeating: 7, count: 32))
        try sandbox.ok("slot", "add", "--new-raw-key-file", key, "--grant-group", "ssh", "--create-group")
        try sandbox.ok("set", "in", "--group", "ssh", "--ssh-generate", "ed25519")
        try sandbox.okShell("ssh-keygen -q -t ed25519 -N '' -f out; vaultfmt set out --attribute ssh=offer < out")
        // Its public key is in an attribute, which the slot shows.
        try sandbox.ok("set", "public", "--ssh-generate", "ed25519")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let agent = try BackgroundAgent(sandbox, "--raw-key-file", key)
        let listed = try sandbox.okShell("ssh-add -L").lines
        #expect(listed.count == 1 && listed[0].hasSuffix(" in"))
        #expect(try !agent.state().contains("not offered"))
        try sandbox.okShell("[[ $(vaultfmt ssh list --raw-key-file \(key) --keys) == \"$(ssh-add -L)\" ]]")
        let missing = try sandbox.run("ssh", "list", "--raw-key-file", key, "--group", "none", "--group", "ssh")
        #expect(missing.status == 3)
        #expect(missing.error.contains("the access group 'none': the vault has no group of this name"))
        try agent.end()
    }

    @Test("A new key for an item keeps what the item says of its use", arguments: ["confirm", "off"])
    func regenerated(use: String) throws {
        let sandbox = try sandbox()
        try sandbox.ok("set", "server", "--ssh-generate", "ed25519", "--attribute", "ssh=\(use)")
        try sandbox.ok("set", "server", "--ssh-generate", "ed25519")
        let listed = try sandbox.ok("ssh", "list").lines
        #expect(use == "off" ? listed.isEmpty : listed.count == 1 && listed[0].contains("needs confirmation"))
        // What is said now applies.
        try sandbox.ok("set", "server", "--ssh-generate", "ed25519", "--attribute", "ssh=offer")
        #expect(try sandbox.ok("ssh", "list").lines.allSatisfy { !$0.contains("needs confirmation") })
    }

    @Test("A program that only asks for a passphrase does not confirm with 'no'")
    func plainAskpass() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            printf '#!/bin/sh\\ncat answer\\n' > ask
            chmod +x ask
            vaultfmt set server --ssh-generate ed25519 --attribute ssh=confirm
            vaultfmt ssh public server > key.pub
            """)
        sandbox.environment["SSH_ASKPASS"] = sandbox.path("ask")
        let agent = try BackgroundAgent(sandbox)
        try sandbox.okShell(
            """
            echo no > answer
            fails ssh-add -T key.pub
            echo yes > answer
            ssh-add -T key.pub
            rm answer
            fails ssh-add -T key.pub
            """)
        try agent.end()
    }

    @Test("A program that asks is ended with the agent, whatever it waits for")
    func endingWhileAsking() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            printf '#!/bin/sh\\necho $$ > asking.new\\nmv asking.new asking\\nsleep 1000\\n' > ask
            chmod +x ask
            vaultfmt set server --ssh-generate ed25519 --attribute ssh=confirm
            vaultfmt ssh public server > key.pub
            """)
        sandbox.environment["SSH_ASKPASS"] = sandbox.path("ask")
        let agent = try BackgroundAgent(sandbox)
        try sandbox.okShell("(ssh-add -T key.pub || true) > /dev/null 2>&1 < /dev/null &")
        try Patience.until("the question") { access(sandbox.path("asking"), F_OK) == 0 }
        let text = String(decoding: try sandbox.read("asking"), as: UTF8.self)
        let asking = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        try agent.end()
        try Patience.untilEnd(of: asking)
    }

    @Test("'lock' and the end of the time make the agent forget the vault, and a changed vault is followed")
    func locking() throws {
        let sandbox = try sandbox()
        try sandbox.ok("set", "one", "--ssh-generate", "ed25519")
        let agent = try BackgroundAgent(sandbox)
        try sandbox.okShell("ssh-add -L | grep -q ' one$'")
        try sandbox.ok("set", "two", "--ssh-generate", "ed25519")
        try sandbox.okShell("[[ $(ssh-add -L | wc -l) == 2 ]]")
        #expect(try sandbox.run("lock").error.contains("removed the vault's keys from the agent"))
        try sandbox.okShell("fails ssh-add -L; vaultfmt agent status | grep -q \"^locked: 'vaultfmt lock' was run\"")
        try agent.end()
        let short = try BackgroundAgent(sandbox, "--time", "1s")
        try Patience.until("the agent locks the vault") {
            try sandbox.ok("agent", "status").output.contains("locked: its time has passed")
        }
        try sandbox.okShell("fails ssh-add -L")
        try short.end()
    }

    @Test("'lock' reaches the agent whatever has become of the vault's file, and under any of its names")
    func lockingWithoutFile() throws {
        for change in ["rm test.vault", "mv test.vault other", "head -c 9000 /dev/zero > test.vault"] {
            let sandbox = try sandbox()
            try sandbox.ok("set", "one", "--ssh-generate", "ed25519")
            let agent = try BackgroundAgent(sandbox)
            try sandbox.okShell("ssh-add -L | grep -q ' one$'; ln -s test.vault link; \(change)")
            #expect(try agent.state().contains("keys: 1 of the vault"))
            #expect(try sandbox.run("lock", "link").error.contains("removed the vault's keys from the agent"))
            #expect(try agent.state().contains("locked: 'vaultfmt lock' was run"))
            try agent.end()
        }
    }

    @Test("'lock' of another vault does not lock the agent's, and 'lock' fails if the agent does not answer")
    func lockingOther() throws {
        let sandbox = try sandbox()
        let agent = try BackgroundAgent(sandbox)
        try sandbox.ok("create", "--kdf", "testing", sandbox.path("second.vault"))
        #expect(try !sandbox.run("lock", sandbox.path("second.vault")).error.contains("from the agent"))
        #expect(try agent.state().contains("\nopen\n"))
        try sandbox.okShell("kill -STOP $SSH_AGENT_PID; fails vaultfmt lock; kill -CONT $SSH_AGENT_PID")
        try agent.end()
    }

    @Test("A background agent keeps neither the caller's descriptors nor the passphrase in its environment")
    func inherits() throws {
        let sandbox = try sandbox()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        try sandbox.ok("set", "one", "--ssh-generate", "ed25519")
        try sandbox.okShell(
            """
            exec 7> held
            flock 7
            secret=$VAULTFMT_PASSPHRASE
            eval "$(vaultfmt agent --daemon)"
            trap 'kill $SSH_AGENT_PID' EXIT
            exec 7>&-
            flock -n held true
            if environment=$(tr '\\0' '\\n' < /proc/$SSH_AGENT_PID/environ 2> /dev/null); then
                [[ $environment != *"$secret"* ]]
            fi
            """)
    }

    @Test("A background agent reads a passphrase from the caller's descriptor")
    func inheritedPassphrase() throws {
        let sandbox = try sandbox()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        try sandbox.ok("set", "one", "--ssh-generate", "ed25519")
        try sandbox.okShell(
            """
            exec 9< <(printf %s "$VAULTFMT_PASSPHRASE")
            unset VAULTFMT_PASSPHRASE
            eval "$(vaultfmt agent --daemon --passphrase-fd 9)"
            trap 'kill $SSH_AGENT_PID' EXIT
            ssh-add -L | grep -q ' one$'
            """)
    }

    @Test("A broken pipe does not end the agent")
    func brokenPipe() throws {
        let sandbox = try sandbox()
        let agent = try BackgroundAgent(sandbox)
        try sandbox.okShell("kill -PIPE $SSH_AGENT_PID; vaultfmt agent status")
        try agent.end()
    }

    @Test("What keeps an agent from serving is found before anybody is asked for a passphrase")
    func beforeAsking() throws {
        let sandbox = try sandbox()
        let agent = try BackgroundAgent(sandbox)
        sandbox.forgetPassphrase()
        try sandbox.fails(75, "another agent", "agent")
        try agent.end()
        try sandbox.fails(77, "there is no terminal", "agent")
        let run = try sandbox.shell("LISTEN_PID=$$ LISTEN_FDS=1 exec vaultfmt agent --daemon")
        #expect(run.status == 64 && run.error.contains("leave out --daemon"))
        let passed = try sandbox.shell("LISTEN_PID=$$ LISTEN_FDS=1 exec vaultfmt agent 3< /dev/null")
        #expect(passed.status == 74 && passed.error.contains("systemd must pass exactly one socket"))
    }

    @Test("A second agent is refused, and so is a folder that others can enter")
    func refused() throws {
        let sandbox = try sandbox()
        let agent = try BackgroundAgent(sandbox)
        try sandbox.fails(75, "another agent", "agent")
        try agent.end(SIGINT)
        chmod(sandbox.path("vaultfmt"), 0o755)
        try sandbox.fails(74, "others can enter", "agent")
        try sandbox.fails(74, "others can enter", "agent", "--daemon")
    }

    @Test("The key in a vault is added to another agent")
    func otherAgent() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            vaultfmt set server --ssh-generate ed25519
            vaultfmt ssh public server > key.pub
            fails vaultfmt ssh add server
            eval "$(ssh-agent -a "$PWD/other")" > /dev/null
            trap 'kill $SSH_AGENT_PID' EXIT
            vaultfmt ssh add server --for 1h
            [[ $(ssh-add -L) == "$(cat key.pub)" ]]
            ssh-add -T key.pub
            """)
    }

    @Test("ssh logs in with keys of the vault, over a forwarded connection too, and a key bound to a host only there")
    func login() throws {
        guard access("/usr/sbin/sshd", X_OK) == 0, geteuid() == 0 else { return }
        let sandbox = try sandbox()
        try sandbox.ok("set", "server", "--ssh-generate", "ed25519")
        let agent = try BackgroundAgent(sandbox)
        try sandbox.okShell(Self.server + Self.logins)
        try agent.end()
    }

    /// Starts a server on loopback, and makes its client's settings.
    private static let server = """
        mkdir -p /run/sshd
        for host in a b; do
            ssh-keygen -q -t ed25519 -N '' -f host-$host
            port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
            cat > sshd-$host <<END
        Port $port
        ListenAddress 127.0.0.1
        HostKey $PWD/host-$host
        PidFile $PWD/pid-$host
        AuthorizedKeysFile $PWD/authorized
        StrictModes no
        PasswordAuthentication no
        KbdInteractiveAuthentication no
        PermitRootLogin prohibit-password
        END
            /usr/sbin/sshd -f sshd-$host -E log-$host
            echo "host-$host $(cut -d' ' -f1-2 host-$host.pub)" >> known
            printf 'Host host-%s\\n HostName 127.0.0.1\\n Port %s\\n HostKeyAlias host-%s\\n UserKnownHostsFile %s\\n' \\
                $host $port $host "$PWD/known" >> config
        done
        trap 'kill $(cat pid-a pid-b)' EXIT
        vaultfmt ssh list --keys > authorized

        """

    private static let logins = """
        [[ $(ssh -F config host-a echo in) == in ]]
        [[ $(ssh -F config -A host-a ssh -F "$PWD/config" host-b echo through) == through ]]
        ssh-add -q -D
        fails ssh -F config -o BatchMode=yes host-a true
        ssh-keygen -q -t ed25519 -N '' -f bound
        cat bound.pub > authorized
        ssh-add -q -H known -h host-a bound
        [[ $(ssh -F config -o BatchMode=yes host-a echo bound) == bound ]]
        fails ssh -F config -o BatchMode=yes host-b true
        fails ssh -F config -o BatchMode=yes -A host-a ssh -F "$PWD/config" -o BatchMode=yes host-b true
        ssh-add -q -D
        ssh-add -q -H known -h host-a -h 'host-a>host-b' bound
        [[ $(ssh -F config -o BatchMode=yes -A host-a ssh -F "$PWD/config" -o BatchMode=yes host-b echo through) == through ]]
        """
}
