import Foundation
import Testing

@Suite("How the ssh agent asks a person")
struct SSHAgentAskingTests {
    /// A sandbox with a key that needs confirmation, whose public key is in `key.pub`.
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        sandbox.environment["SSH_AUTH_SOCK"] = sandbox.path("vaultfmt/agent.sock")
        try sandbox.okShell(
            """
            vaultfmt set server --ssh-generate ed25519 --attribute ssh=confirm
            vaultfmt ssh public server > key.pub
            """)
        return sandbox
    }

    /// Makes a pinentry of a script, which notes what it is told. It answers a question with a yes if there is a file
    /// `yes`, and types what is in the file `typed`.
    private func makePinentry(_ sandbox: Sandbox, _ name: String = "pin", first: String = ":") throws -> String {
        let script = """
            #!/bin/bash
            cd '\(sandbox.folder)'
            \(first)
            echo 'OK Pleased to meet you'
            while IFS=' ' read -r command rest; do
                echo "$command $rest" >> told
                if [[ $command == CONFIRM && ! -e yes ]]; then
                    echo 'ERR 83886179 Operation cancelled <Pinentry>'
                else
                    if [[ $command == GETPIN ]]; then echo "D $(cat typed)"; fi
                    echo OK
                fi
            done
            """
        let path = try sandbox.write(name, (script + "\n").utf8)
        chmod(path, 0o700)
        return path
    }

    @Test("A pinentry's yes lets a key sign, its no does not, and the status tells of both")
    func confirming() throws {
        let sandbox = try sandbox()
        let agent = try BackgroundAgent(sandbox, "--pinentry", try makePinentry(sandbox))
        try sandbox.okShell(
            """
            fails ssh-add -T key.pub
            touch yes
            ssh-add -T key.pub
            grep -q "^SETDESC Allow 'ssh-add' (process [0-9]*) to use the key 'server'?%0ASHA256:" told
            fails grep -q ttyname told
            vaultfmt agent status > status
            grep -q "^asks with '.*/pin'$" status
            grep -q 'refused: server: a person did not agree' status
            grep -q 'signed with server, as a person agreed' status
            vaultfmt agent status --json | grep -q '"asksWith"'
            """)
        try agent.end()
    }

    @Test("A pinentry gets the screen, and neither a terminal, nor a descriptor, nor a variable that opens the vault")
    func environment() throws {
        let sandbox = try sandbox()
        let script = """
            env > environment
            ls /proc/self/fd > descriptors
            readlink /proc/self/fd/2 > error
            if true < /dev/tty; then touch terminal; fi 2> /dev/null
            """
        sandbox.environment["GPG_TTY"] = "/dev/tty"
        sandbox.environment["DISPLAY"] = ":7"
        // It is found as the system's own.
        _ = try makePinentry(sandbox, "bin/pinentry", first: script)
        try sandbox.write("yes", [])
        let terminal = try PseudoTerminal(sandbox, "agent")
        try terminal.expect("SSH_AUTH_SOCK=")
        try sandbox.okShell(
            """
            ssh-add -T key.pub
            [[ $(cat descriptors | tr '\\n' ' ') == '0 1 2 3 ' && $(cat error) == /dev/null && ! -e terminal ]]
            grep -qx 'DISPLAY=:7' environment
            fails grep -q '^VAULTFMT_' environment
            fails grep -q '^GPG_TTY=' environment
            """)
        kill(terminal.pid, SIGTERM)
        #expect(try terminal.finish() == 0)
    }

    @Test("A pinentry that fails is a no, and the status says why")
    func failing() throws {
        let sandbox = try sandbox()
        let pinentry = try makePinentry(sandbox, first: "echo 'cannot open display'; exit 1")
        let agent = try BackgroundAgent(sandbox, "--pinentry", pinentry)
        try sandbox.okShell(
            """
            fails ssh-add -T key.pub
            vaultfmt agent status | grep -q 'refused: server: pinentry: its answer does not follow the protocol'
            """)
        try agent.end()
        // Without a screen, none is found, and none is found if none is wanted. ssh-askpass would ask then.
        guard !Machine.has("ssh-askpass") else { return }
        for options in [[], ["--pinentry", "none"]] {
            _ = try makePinentry(sandbox, "bin/pinentry")
            if !options.isEmpty { sandbox.environment["DISPLAY"] = ":7" }
            let agent = try BackgroundAgent(sandbox, options: options)
            try sandbox.okShell(
                """
                fails ssh-add -T key.pub
                vaultfmt agent status | grep -q 'no program can ask for it'
                """)
            try agent.end()
        }
    }

    @Test("A pinentry does not outlive an agent that is killed")
    func killed() throws {
        let sandbox = try sandbox()
        let pinentry = try makePinentry(sandbox, first: "echo $$ > new; mv new asked; exec sleep 1000")
        let agent = try BackgroundAgent(sandbox, "--pinentry", pinentry)
        try sandbox.okShell(
            """
            ssh-add -T key.pub > /dev/null 2>&1 &
            for _ in $(seq 600); do [[ -e asked ]] && break; sleep 0.1; done
            kill -KILL $SSH_AGENT_PID
            # Nobody may wait for it, so that it stays as a zombie.
            state() { cut -d ' ' -f 3 "/proc/$(cat asked)/stat" 2> /dev/null || echo Z; }
            for _ in $(seq 600); do [[ $(state) == Z ]] && break; sleep 0.1; done
            [[ $(state) == Z ]]
            wait $! || true
            """)
        withExtendedLifetime(agent) {}
    }

    @Test("On the agent's own terminal, pinentry-curses asks", .enabled(if: Machine.has("pinentry-curses")))
    func onTerminal() throws {
        let sandbox = try sandbox()
        let terminal = try PseudoTerminal(sandbox, "agent", "--on-terminal")
        try terminal.expect("SSH_AUTH_SOCK=")
        for (typed, outcome) in [("\r", "signed"), ("\t\r", "refused")] {
            try sandbox.okShell(
                """
                { if ssh-add -T key.pub; then touch signed; else touch refused; fi; } > /dev/null 2>&1 < /dev/null &
                """)
            try terminal.expect("to use the key 'server'?")
            try terminal.expect("<Refuse>")
            try terminal.type(typed)
            try Patience.until("the answer") { access(sandbox.path(outcome), F_OK) == 0 }
        }
        kill(terminal.pid, SIGTERM)
        #expect(try terminal.finish() == 0)
        #expect(terminal.echoes)
    }

    @Test("On demand, the vault is opened by a typed passphrase when a client needs it, and after a lock again")
    func onDemand() throws {
        let sandbox = try sandbox()
        sandbox.forgetPassphrase()
        try sandbox.write("typed", Sandbox.passphrase.utf8)
        let agent = try BackgroundAgent(sandbox, "--on-demand", "--pinentry", try makePinentry(sandbox))
        try sandbox.okShell(
            """
            vaultfmt agent status | grep -qx 'locked: it is opened when a client needs it'
            fails test -e told
            [[ $(ssh-add -L) == "$(cat key.pub)" ]]
            grep -q "^SETDESC Unlock the vault '.*/test.vault' for 'ssh-add' (process [0-9]*)?$" told
            vaultfmt agent status | grep -q 'ssh-add (.*opened the vault with a typed passphrase'
            ssh-add -L
            [[ $(grep -c '^GETPIN' told) == 1 ]]
            touch yes
            """)
        _ = try sandbox.run("lock")
        try sandbox.okShell(
            """
            ssh-add -T key.pub
            [[ $(grep -c '^GETPIN' told) == 2 && $(grep -c '^CONFIRM' told) == 1 ]]
            """)
        _ = try sandbox.run("lock")
        try sandbox.write("typed", "wrong".utf8)
        try sandbox.okShell(
            """
            fails ssh-add -L
            [[ $(grep -c '^GETPIN' told) == 5 && $(grep -c '^SETERROR wrong passphrase' told) == 2 ]]
            vaultfmt agent status | grep -q 'the vault is not opened: 3 wrong passphrases were typed'
            """)
        try agent.end()
    }

    @Test("On demand, a key file opens the vault without a question, and a vault that was rolled back is refused")
    func onDemandKey() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            vaultfmt generate --key-file ssh.key
            vaultfmt slot add --new-key-file ssh.key --grant-group ssh --create-group
            vaultfmt set scoped --group ssh --ssh-generate ed25519
            cp test.vault old.vault
            vaultfmt set later --group ssh --ssh-generate ed25519
            """)
        sandbox.forgetPassphrase()
        let first = try BackgroundAgent(sandbox, "--on-demand", "--key-file", sandbox.path("ssh.key"))
        #expect(try sandbox.okShell("ssh-add -L").lines.count == 2)
        _ = try sandbox.run("lock")
        try sandbox.okShell("fails ssh-add -L")
        #expect(try first.state().contains("'vaultfmt lock' was run; it is opened again after 'vaultfmt unlock'"))
        try first.end()
        try sandbox.okShell("mv test.vault new.vault; cp old.vault test.vault")
        let agent = try BackgroundAgent(sandbox, "--on-demand", "--key-file", sandbox.path("ssh.key"))
        try sandbox.okShell("fails ssh-add -L")
        #expect(try agent.state().contains("vaultfmt anchor"))
        try sandbox.okShell("mv new.vault test.vault")
        try Patience.until("the next try") { try sandbox.shell("ssh-add -L").lines.count == 2 }
        try agent.end()
    }

    @Test("On demand, a key file in the environment does not open the vault in place of a wrong passphrase file")
    func onDemandOption() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            vaultfmt generate --key-file ssh.key
            vaultfmt slot add --new-key-file ssh.key --grant-group ssh --create-group
            vaultfmt set scoped --group ssh --ssh-generate ed25519
            vaultfmt set own --ssh-generate ed25519
            """)
        sandbox.forgetPassphrase()
        sandbox.environment["VAULTFMT_KEY_FILE"] = sandbox.path("ssh.key")
        let file = try sandbox.write("file", "the passphrase of no slot".utf8)
        let agent = try BackgroundAgent(sandbox, "--on-demand", "--passphrase-file", file)
        try sandbox.okShell("fails ssh-add -L")
        // The owner's slot opens now, also to the key that the scoped slot does not grant.
        try sandbox.write("file", Sandbox.passphrase.utf8)
        try Patience.until("the next try") { try sandbox.shell("ssh-add -L").lines.count >= 2 }
        try agent.end()
    }

    @Test("With --list-locked, 'ssh-add -l' shows the keys of a locked vault, and nothing can be signed")
    func listLocked() throws {
        let sandbox = try sandbox()
        let agent = try BackgroundAgent(sandbox, "--list-locked")
        try sandbox.okShell("[[ $(ssh-add -L) == \"$(cat key.pub)\" ]]")
        _ = try sandbox.run("lock")
        try sandbox.okShell(
            """
            [[ $(ssh-add -L) == "$(cat key.pub)" ]]
            fails ssh-add -T key.pub
            vaultfmt agent status > status
            grep -qx 'listed while locked: 1 of the vault' status
            grep -q "refused: server: the vault is locked: 'vaultfmt lock' was run" status
            ssh-add -q -D
            fails ssh-add -L
            """)
        try agent.end()
    }

    @Test("Options for asking that cannot be met are refused before the vault is opened")
    func usage() throws {
        let sandbox = try sandbox()
        try sandbox.fails(64, "leave out --daemon", "agent", "--on-terminal", "--daemon")
        try sandbox.fails(64, "leave out '--pinentry none'", "agent", "--on-terminal", "--pinentry", "none")
        try sandbox.fails(69, "there is no program '/no/such'", "agent", "--pinentry", "/no/such")
        try sandbox.fails(77, "--on-terminal needs a terminal", "agent", "--on-terminal")
        try sandbox.fails(64, "give files, not a descriptor or VAULTFMT_PASSPHRASE", "agent", "--on-demand")
        sandbox.forgetPassphrase()
        try sandbox.fails(64, "leave out --when-unlocked", "agent", "--on-demand", "--when-unlocked")
        try sandbox.fails(69, "--on-demand needs a pinentry", "agent", "--on-demand")
    }
}
