import Foundation
import TestSupport
import Testing
import VaultFmt

/// What a debugger finds in the memory of an agent that has served ssh's clients and programs of the desktop.
@Suite(
    "The agent's memory",
    .enabled(
        if: geteuid() == 0 && Privilege.readsHardened,
        "only root with CAP_SYS_PTRACE reads a hardened process's memory"),
    .enabled(if: Machine.has("dbus-daemon") && Machine.has("secret-tool"), "dbus-daemon or secret-tool is missing"))
struct SSHAgentMemoryTests {
    private static let passwords = ["ssh": "password-ssh-8w2nq7", "desktop": "password-desktop-5x1kc9"]
    private static let bank = "password-bank-3m6tz4"

    /// A vault with a key in the group `ssh`, a password in `desktop`, both in `bank`, and a slot for the first two.
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        try sandbox.okShell(
            """
            for group in ssh bank; do
                ssh-keygen -q -t ed25519 -N '' -C $group -f $group
                vaultfmt import $group --group $group
            done
            printf \(Self.passwords["ssh"] ?? "") | vaultfmt set host ann --group ssh
            printf \(Self.passwords["desktop"] ?? "") | vaultfmt set mail ann --group desktop
            printf \(Self.bank) | vaultfmt set account ann --group bank
            vaultfmt generate --key-file scoped.key
            vaultfmt slot add --new-key-file scoped.key --name scoped --grant-group ssh --grant-group desktop
            """)
        return sandbox
    }

    /// The private key in a file of OpenSSH's: the seed, and a line of the file.
    private func privateKey(_ sandbox: Sandbox, _ group: String) throws -> [Needle] {
        let lines = String(decoding: try sandbox.read(group), as: UTF8.self).split(separator: "\n")
        let whole = try #require(Data(base64Encoded: lines.dropFirst().dropLast().joined()))
        let publicLine = String(decoding: try sandbox.read(group + ".pub"), as: UTF8.self).split(separator: " ")
        let point = try #require(Data(base64Encoded: String(publicLine[1]))).suffix(32)
        // The seed is in front of the last copy of the public key.
        let last = try #require(whole.range(of: point, options: .backwards))
        let seed = whole[(last.lowerBound - 32)..<last.lowerBound]
        return [
            Needle("the seed of the key '\(group)'", Array(seed)),
            Needle("the file of the key '\(group)'", String(lines[lines.count - 3])),
        ]
    }

    private func keys(_ sandbox: Sandbox) throws -> [Needle] {
        try Needle.keys(of: sandbox.vault, passphrase: Sandbox.passphrase) { accessibility, group in
            let name = Accessibility(rawValue: accessibility)?.name ?? "\(accessibility)"
            return "the key of items \(name) of '\(group)'"
        }
    }

    /// The secrets of the items, and the passphrase.
    private func contents(_ sandbox: Sandbox) throws -> [Needle] {
        var all = [Needle("the passphrase", Sandbox.passphrase), Needle("the password in 'bank'", Self.bank)]
        for group in ["ssh", "bank"] { all += try privateKey(sandbox, group) }
        for (group, password) in Self.passwords { all.append(Needle("the password in '\(group)'", password)) }
        return all
    }

    /// Returns the process of the bus.
    private func startBus(_ sandbox: Sandbox) throws -> pid_t {
        let run = try sandbox.okShell(
            """
            dbus-daemon --session --fork --address="$DBUS_SESSION_BUS_ADDRESS" --print-pid=3 3> pid 2> bus-errors
            cat pid
            """)
        return try #require(pid_t(run.output.trimmingCharacters(in: .newlines)))
    }

    /// Starts a bus and an agent, lets clients of both kinds use it, and passes its process to `body`.
    private func serve(_ sandbox: Sandbox, _ options: String, _ body: (ProcessMemory) throws -> Void) throws {
        sandbox.environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=" + sandbox.path("bus")
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        let bus = try startBus(sandbox)
        defer { kill(bus, SIGKILL) }
        let started = try sandbox.okShell("vaultfmt agent --group ssh --collection desktop --daemon \(options)")
        for line in started.lines {
            let parts = line.split(separator: ";")[0].split(separator: "=", maxSplits: 1)
            sandbox.environment[String(parts[0])] = parts[1].trimmingCharacters(in: ["'"])
        }
        let agent = try #require(sandbox.environment["SSH_AGENT_PID"].flatMap { pid_t($0) })
        defer { kill(agent, SIGKILL) }
        try sandbox.okShell(
            """
            ssh-add -T ssh.pub
            echo text > text
            ssh-keygen -q -Y sign -n file -f ssh.pub text
            [[ $(secret-tool lookup service mail) == \(Self.passwords["desktop"] ?? "") ]]
            """)
        try body(ProcessMemory(pid: agent))
    }

    /// Expects that none of the needles was found.
    private func expectNone(
        _ needles: [Needle], in found: [String: (count: Int, place: String)],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for needle in needles {
            guard let hit = found[needle.name] else { continue }
            Issue.record(
                "\(needle.name) is in memory, \(hit.count) times, first in \(hit.place)",
                sourceLocation: sourceLocation)
        }
    }

    @Test("An agent that a scoped slot has opened has no key and no password of another group, and no owner's key")
    func scoped() throws {
        let sandbox = try sandbox()
        let all = try keys(sandbox) + contents(sandbox)
        sandbox.forgetPassphrase()
        try serve(sandbox, "--key-file scoped.key") { memory in
            let found = try memory.find(all)
            // The scanner finds what is there.
            #expect(found.keys.contains("the index key"))
            let foreign = all.filter { $0.name.contains("'bank'") }
            #expect(foreign.count >= 5, "\(foreign.map(\.name))")
            let owners = ["the vault key", "the signing seed", "the wrapping key", "the passphrase"]
            expectNone(foreign + all.filter { owners.contains($0.name) }, in: found)
        }
    }

    @Test("Between requests, an open agent has no private key, no password and no passphrase")
    func open() throws {
        let sandbox = try sandbox()
        let (keys, contents) = (try keys(sandbox), try contents(sandbox))
        try serve(sandbox, "") { memory in
            let found = try memory.find(keys + contents)
            #expect(found.keys.contains("the vault key"))
            expectNone(contents, in: found)
        }
    }

    @Test(
        "An answer with many secrets, which its session does not encrypt, leaves none of them in memory",
        .enabled(if: Jeepney.isInstalled))
    func plainSession() throws {
        let client = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("plain_secrets.py")
        let sandbox = try sandbox()
        let contents = try contents(sandbox)
        try serve(sandbox, "") { memory in
            let run = try sandbox.okShell(
                "/usr/bin/python3 '\(client.path)' 200 '\(Self.passwords["desktop"] ?? "")'")
            #expect(run.output == "200\n")
            expectNone(contents, in: try memory.find(contents))
        }
    }

    @Test("After 'vaultfmt lock', an agent has no key of the vault, no private key, no password and no passphrase")
    func locked() throws {
        let sandbox = try sandbox()
        let all = try keys(sandbox) + contents(sandbox)
        try serve(sandbox, "") { memory in
            #expect(try memory.find(all).keys.contains("the vault key"))
            // Without a kernel keyring, the command says that it keeps no key; the agent is locked all the same.
            _ = try sandbox.run("lock")
            #expect(try sandbox.ok("agent", "status").lines.contains { $0.hasPrefix("locked: ") })
            expectNone(all, in: try memory.find(all))
        }
    }
}
