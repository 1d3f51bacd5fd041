import Foundation
import Testing

@Suite("How the ssh agent derives a key from a typed passphrase")
struct SSHAgentDerivingTests {
    /// A sandbox with an offered key, whose public key is in `key.pub`, another key in `plain`, and a pinentry `pin`
    /// that types the passphrase and notes what it is told. Deriving the vault's key takes seconds, so that the process is found in time.
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        let script = """
            #!/bin/bash
            cd '\(sandbox.folder)'
            echo 'OK Pleased to meet you'
            while IFS=' ' read -r command rest; do
                echo "$command $rest" >> told
                if [[ $command == GETPIN ]]; then echo 'D \(Sandbox.passphrase)'; fi
                echo OK
            done
            """
        chmod(try sandbox.write("pin", (script + "\n").utf8), 0o700)
        try sandbox.okShell(
            """
            vaultfmt set server --ssh-generate ed25519 --attribute ssh=offer
            vaultfmt ssh public server > key.pub
            ssh-keygen -q -t ed25519 -N '' -f plain
            vaultfmt rekey --kdf-memory 256MiB --kdf-passes 16
            """)
        sandbox.forgetPassphrase()
        return sandbox
    }

    private func agent(_ sandbox: Sandbox) throws -> BackgroundAgent {
        try BackgroundAgent(sandbox, "--on-demand", "--pinentry", sandbox.path("pin"))
    }

    /// Starts a client that lists the keys, which opens the vault, and writes them to a file of this name when it is
    /// answered.
    private func startListing(_ sandbox: Sandbox, to file: String = "listed") throws {
        try sandbox.okShell(
            """
            {
                ssh-add -L > \(file).new || echo failed > \(file).new
                mv \(file).new \(file)
            } > /dev/null 2>&1 < /dev/null &
            """)
    }

    /// Waits for the answer of a client that `startListing` has started.
    private func listed(_ sandbox: Sandbox, in file: String = "listed") throws -> String {
        try Patience.until("the answer to a client") { access(sandbox.path(file), F_OK) == 0 }
        return String(decoding: try sandbox.read(file), as: UTF8.self)
    }

    private func publicKey(_ sandbox: Sandbox) throws -> String {
        String(decoding: try sandbox.read("key.pub"), as: UTF8.self)
    }

    /// How often the passphrase was asked for.
    private func questions(_ sandbox: Sandbox) throws -> Int {
        String(decoding: try sandbox.read("told"), as: UTF8.self).split(separator: "\n").count {
            $0.hasPrefix("GETPIN")
        }
    }

    /// The processes that derive a key for this sandbox's agent.
    private func deriving(_ sandbox: Sandbox) throws -> [pid_t] {
        let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
        return processes.filter { process in
            guard let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") else { return false }
            let words = String(decoding: line, as: UTF8.self).split(separator: "\0")
            return words.last == "--open-typed" && words.contains { $0 == sandbox.path("pin") }
        }
    }

    /// Waits until a process derives the key, and stops it.
    private func stopDeriving(_ sandbox: Sandbox) throws -> pid_t {
        var found: pid_t?
        try Patience.until("the process that derives the key") {
            found = try deriving(sandbox).first
            if found != nil { return true }
            let isAnswered = try FileManager.default.contentsOfDirectory(atPath: sandbox.folder).contains {
                $0.hasPrefix("listed") && !$0.hasSuffix(".new")
            }
            if isAnswered { throw Failure("the key was derived before the process was found") }
            return false
        }
        let process = try #require(found)
        kill(process, SIGSTOP)
        try Patience.until("the stop of the process that derives the key") {
            guard let stat = FileManager.default.contents(atPath: "/proc/\(process)/stat"), !stat.isEmpty else {
                throw Failure("the key was derived before the process could be stopped")
            }
            return String(decoding: stat, as: UTF8.self).split(separator: ")").last?.hasPrefix(" T") == true
        }
        return process
    }

    @Test("While a key is derived, a client adds a key and signs with it, and the one that waits gets its answer later")
    func others() throws {
        let sandbox = try sandbox()
        let agent = try agent(sandbox)
        try startListing(sandbox)
        let process = try stopDeriving(sandbox)
        try sandbox.okShell(
            """
            ssh-add -q plain
            ssh-add -T plain.pub
            ssh-add -q -d plain
            fails test -e listed
            """)
        #expect(try agent.state().contains("locked: it is opened when a client needs it"))
        kill(process, SIGCONT)
        #expect(try listed(sandbox) == publicKey(sandbox))
        #expect(try agent.state().contains("opened the vault with a typed passphrase"))
        try agent.end()
    }

    @Test("A lock ends the process that derives a key before it is answered, and whoever waits gets no key")
    func locking() throws {
        let sandbox = try sandbox()
        let agent = try agent(sandbox)
        try startListing(sandbox)
        _ = try stopDeriving(sandbox)
        _ = try sandbox.run("lock")
        #expect(try deriving(sandbox).isEmpty)
        #expect(try listed(sandbox) == "failed\n")
        #expect(try agent.state().contains("the vault is not opened: the vault was locked"))
        try agent.end()
    }

    @Test("A lock of the agent with a password ends the process that derives a key, too")
    func lockingAgent() throws {
        let sandbox = try sandbox()
        let agent = try agent(sandbox)
        try startListing(sandbox)
        _ = try stopDeriving(sandbox)
        try sandbox.okShell(
            """
            printf '#!/bin/sh\\necho secret\\n' > ask
            chmod +x ask
            SSH_ASKPASS=$PWD/ask SSH_ASKPASS_REQUIRE=force ssh-add -x
            """)
        #expect(try deriving(sandbox).isEmpty)
        #expect(try listed(sandbox) == "failed\n")
        #expect(try agent.state().contains("the vault is not opened: the agent is locked with a password"))
        try agent.end()
    }

    @Test("If the process that derives a key is killed, whoever waits gets no key, and the next client is asked for")
    func killing() throws {
        let sandbox = try sandbox()
        let agent = try agent(sandbox)
        try startListing(sandbox)
        kill(try stopDeriving(sandbox), SIGKILL)
        #expect(try listed(sandbox) == "failed\n")
        #expect(try agent.state().contains("locked: the process that derives its key ended without an answer"))
        #expect(try questions(sandbox) == 1)
        try startListing(sandbox, to: "again")
        #expect(try listed(sandbox, in: "again") == publicKey(sandbox))
        #expect(try questions(sandbox) == 2)
        try agent.end()
    }

    @Test("Eight clients that need the vault cost one question and one derivation")
    func eight() throws {
        let sandbox = try sandbox()
        let agent = try agent(sandbox)
        let files = (0..<8).map { "listed-\($0)" }
        try startListing(sandbox, to: files[0])
        let process = try stopDeriving(sandbox)
        for file in files.dropFirst() { try startListing(sandbox, to: file) }
        let ending = " " + agent.socket
        try Patience.until("the connections of all clients") {
            let sockets = FileManager.default.contents(atPath: "/proc/net/unix") ?? Data()
            // One is the socket that listens.
            return String(decoding: sockets, as: UTF8.self).split(separator: "\n").count { $0.hasSuffix(ending) } == 9
        }
        #expect(try deriving(sandbox) == [process])
        kill(process, SIGCONT)
        for file in files { #expect(try listed(sandbox, in: file) == publicKey(sandbox)) }
        #expect(try questions(sandbox) == 1)
        try agent.end()
    }

    @Test("When the only client that needs the vault leaves, or the agent ends, so does the process that derives a key")
    func leaving() throws {
        let sandbox = try sandbox()
        let agent = try agent(sandbox)
        try sandbox.okShell("ssh-add -L > /dev/null 2>&1 < /dev/null & echo $! > client")
        _ = try stopDeriving(sandbox)
        try sandbox.okShell("kill $(cat client)")
        try Patience.until("the end of the process that derives the key") { try deriving(sandbox).isEmpty }
        try startListing(sandbox)
        _ = try stopDeriving(sandbox)
        try agent.end()
        #expect(try deriving(sandbox).isEmpty)
    }

    @Test("The process that derives a key does not outlive an agent that is killed")
    func killedAgent() throws {
        let sandbox = try sandbox()
        let agent = try agent(sandbox)
        try startListing(sandbox)
        _ = try stopDeriving(sandbox)
        try sandbox.okShell("kill -KILL $SSH_AGENT_PID")
        try Patience.until("the end of the process that derives the key") { try deriving(sandbox).isEmpty }
        withExtendedLifetime(agent) {}
    }
}
