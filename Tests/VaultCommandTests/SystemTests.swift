import Foundation
import Testing

/// What the command makes of a system that fails, or lacks something.
@Suite struct SystemTests {
    /// Runs the binary under strace, which alters what some calls return.
    private func traced(_ sandbox: Sandbox, _ injections: [String], _ arguments: String..., input: String = "") throws
        -> Run
    {
        let options = injections.flatMap { ["-e", "inject=" + $0] }
        return try sandbox.run(
            ["-f", "-qq", "-o", sandbox.path("trace")] + options + [Child.binary] + arguments,
            program: "/usr/bin/strace",
            input: Array(input.utf8))
    }

    @Test(
        "E3: vaults, device files and salvaged vaults are made where the file system has no RENAME_NOREPLACE, nor hard links",
        arguments: [["renameat2:error=EINVAL"], ["renameat2:error=ENOSYS", "link:error=EPERM"]])
    func noRenameNoReplace(_ injections: [String]) throws {
        let sandbox = try Sandbox()
        let vault = sandbox.vault
        #expect(try traced(sandbox, injections, "create", "--kdf", "testing").status == 0)
        #expect(
            try traced(sandbox, injections, "create", "--kdf", "testing").status == 73,
            "an existing file is never replaced")
        let own = ["set", "a", "b", "--accessible", "when-unlocked-this-device-only"]
        let stored = try traced(sandbox, injections, own[0], own[1], own[2], own[3], own[4], input: "secret")
        #expect(stored.status == 0, "\(stored.error)")
        let copy = sandbox.path("copy.vault")
        #expect(try traced(sandbox, injections, "salvage", vault, "--output", copy, "--kdf", "testing").status == 0)
        #expect(try sandbox.ok("get", "a", "b", "--vault", copy).bytes == Array("secret".utf8))
        for file in [vault, copy] {
            let links = try FileManager.default.attributesOfItem(atPath: file)[.referenceCount] as? Int
            #expect(links == 1)
        }
        #expect(try unfinished(sandbox).isEmpty)
    }

    @Test("D15: an export, a key file and a salvaged vault have no name before they are whole and durable")
    func namedLast() throws {
        let sandbox = try Sandbox.withVault()
        for number in 1...5 { try sandbox.ok("set", "item", "\(number)", input: "secret".utf8) }
        let new = sandbox.path("new")
        for command in [
            ["export", "--output", new], ["generate", "--key-file", new], ["salvage", sandbox.vault, "--output", new],
        ] {
            let arguments = command + (command[0] == "salvage" ? ["--kdf", "testing"] : [])
            // Killed at each sync of a file: at the last of them the content is there, and the name is not.
            for call in ["fsync", "fdatasync", "linkat", "renameat2"] {
                for number in 1...3 {
                    let injection = "inject=\(call):signal=KILL:when=\(number)"
                    _ = try sandbox.run(
                        ["-f", "-qq", "-o", sandbox.path("trace"), "-e", injection, Child.binary] + arguments,
                        program: "/usr/bin/strace")
                    guard FileManager.default.fileExists(atPath: new) else { continue }
                    try checkWhole(sandbox, new, command[0])
                    try FileManager.default.removeItem(atPath: new)
                }
            }
            // The name is durable before success is reported: the folder is synced after it was given.
            let trace = sandbox.path("trace")
            let run = try sandbox.run(
                ["-f", "-qq", "-y", "-o", trace, "-e", "trace=linkat,renameat2,fsync", Child.binary] + arguments,
                program: "/usr/bin/strace"
            )
            #expect(run.status == 0, "\(run.error)")
            let lines = String(decoding: try sandbox.read("trace"), as: UTF8.self).split(separator: "\n").map(
                String.init)
            let named = try #require(lines.lastIndex { $0.contains("\"\(new)\"") && !$0.contains("fsync") })
            let folder = URL(fileURLWithPath: sandbox.folder).resolvingSymlinksInPath().path
            #expect(lines[named...].contains { $0.contains("fsync(") && $0.contains("<\(folder)>") }, "\(lines)")
            try FileManager.default.removeItem(atPath: new)
            #expect(try unfinished(sandbox).isEmpty, "what was killed is swept by the next one")
        }
    }

    @Test(
        "H7: what a killed command left where files need a name is removed by the next one; what a living one writes stays",
        arguments: [
            ["export", "--output"], ["generate", "--key-file"], ["inject", "template", "--force", "--output"],
        ])
    func leftovers(_ command: [String]) throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "secret".utf8)
        try sandbox.write("template", "text".utf8)
        let folder = sandbox.path("out")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let new = folder + "/new"
        // The folder is opened once to see what is left there; from then on it has no files without a name. What is
        // replaced always needs one.
        let injections =
            command[0] == "inject"
            ? ["-e", "inject=rename:signal=KILL"]
            : [
                "-P", folder, "-P", new, "-e", "inject=openat:error=EOPNOTSUPP:when=2+", "-e",
                "inject=renameat2:signal=KILL",
            ]
        let killed = try sandbox.run(
            ["-qq", "-o", sandbox.path("trace")] + injections + [Child.binary] + command + [new],
            program: "/usr/bin/strace")
        #expect(killed.status != 0)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder)
        #expect(left.count == 1 && left.allSatisfy { $0.hasPrefix(".new.vaultfmt-") }, "\(left)")
        let path = folder + "/" + (left.first ?? "")

        let lock = try ForeignLock(path)
        let other = try sandbox.run(command + [new])
        #expect(other.status == 0, "\(other.error)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == left + ["new"])
        lock.release()
        try FileManager.default.removeItem(atPath: new)
        let next = try sandbox.run(command + [new])
        #expect(next.status == 0, "\(next.error)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["new"])
    }

    private func unfinished(_ sandbox: Sandbox) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: sandbox.folder).filter { $0.contains(".vaultfmt-") }
    }

    private func checkWhole(_ sandbox: Sandbox, _ path: String, _ command: String) throws {
        switch command {
        case "salvage": #expect(try sandbox.ok("list", "--vault", path).lines.count == 5)
        case "export": #expect(String(decoding: try sandbox.read("new"), as: UTF8.self).hasSuffix("}\n"))
        default: #expect(try sandbox.read("new").count == 89)
        }
    }

    @Test("H12: a failing look-up is exit 74, and not a file that is not there")
    func failingLookUp() throws {
        let sandbox = try Sandbox.withVault()
        for call in ["lstat", "newfstatat", "statx"] {
            let run = try sandbox.run(
                [
                    "-qq", "-o", sandbox.path("trace"), "-P", sandbox.vault, "-e", "inject=\(call):error=EIO",
                    Child.binary, "list",
                ],
                program: "/usr/bin/strace")
            #expect(run.status == 74 || run.status == 0 && call == "lstat", "\(call): \(run.status) \(run.error)")
        }
    }

    @Test("H12: the limit for file sizes is exit 74, and the vault stays as it was")
    func fileSizeLimit() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "a", "b", input: "secret".utf8)
        try sandbox.write("large", [UInt8](repeating: 0x61, count: 100_000))
        let run = try sandbox.shell("ulimit -f 16; '\(Child.binary)' set big x --secret-file large")
        #expect(run.status == 74 && run.error.contains("maximum file size"), "\(run.status): \(run.error)")
        let compact = try sandbox.shell("ulimit -f 1; '\(Child.binary)' compact")
        #expect(compact.status == 74, "\(compact.status): \(compact.error)")
        try sandbox.ok("verify")
        #expect(try sandbox.ok("get", "a", "b").bytes == Array("secret".utf8))
        #expect(try unfinished(sandbox).isEmpty)
    }

    @Test(
        "H12: whatever the umask, vaults, key files and exports are readable by their owner",
        arguments: ["0777", "0277", "0477"])
    func umask(_ mask: String) throws {
        let sandbox = try Sandbox()
        try sandbox.write("config", "".utf8)
        let binary = Child.binary
        try sandbox.okShell(
            """
            umask \(mask); '\(binary)' create --kdf testing; printf x | '\(binary)' set a b; '\(binary)' generate --key-file key
            '\(binary)' export --output out; '\(binary)' compact
            """)
        for name in ["test.vault", "key", "out"] {
            let mode = try FileManager.default.attributesOfItem(atPath: sandbox.path(name))[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(name): \(String(mode ?? 0, radix: 8))")
        }
    }

    @Test("H12: a process that keeps a writer out with a read lock is named")
    func readLock() throws {
        let sandbox = try Sandbox.withVault()
        let script = """
            import fcntl, signal, sys
            file = open(sys.argv[1], 'rb'); fcntl.lockf(file, fcntl.LOCK_SH); open('held', 'w').close(); signal.pause()
            """
        let run = try sandbox.shell(
            """
            python3 -c "\(script)" '\(sandbox.vault)' & holder=$!
            until [[ -e held ]]; do sleep 0.05; done
            code=0; printf x | '\(Child.binary)' set a b --wait 0.2 || code=$?
            kill $holder; exit $code
            """)
        #expect(run.status == 75)
        #expect(run.error.contains("python3 (") && run.error.contains("holds a read lock"), "\(run.error)")
    }

    @Test("H9: a race with whoever adds an attribute to the file does not end the process")
    func attributeRace() throws {
        let sandbox = try Sandbox.withVault()
        let run = try traced(sandbox, ["flistxattr:retval=70000:when=1"], "compact")
        #expect([0, 74].contains(run.status), "\(run.status): \(run.error)")
        try sandbox.ok("verify")
    }

    @Test(
        "D13: every command says that the newest change does not open, and none changes the vault before 'repair' has kept it aside"
    )
    func damagedCommit() throws {
        let sandbox = try Sandbox.withVault()
        // Without memory: a machine that remembers the newest generation refuses.
        sandbox.environment["XDG_STATE_HOME"] = sandbox.path("first")
        try sandbox.ok("set", "a", "b", input: "first".utf8)
        try sandbox.ok("set", "a", "b", input: "second".utf8)
        var bytes = try sandbox.read("test.vault")
        bytes[bytes.count - 100] ^= 1
        try sandbox.write("test.vault", bytes)
        let commands = [
            ["get", "a", "b"], ["list"], ["export"], ["slot", "list"], ["anchor"], ["read", "vaultfmt:a/b"],
            ["set", "c", "d"],
            ["repair"],
        ]
        for (number, command) in commands.enumerated() {
            sandbox.environment["XDG_STATE_HOME"] = sandbox.path("other-\(number)")
            let run = try sandbox.run(command, input: Array("third".utf8))
            #expect(run.status == (command[0] == "set" ? 65 : 0), "\(command): \(run.error)")
            #expect(
                run.error.contains("that do not open") || command[0] == "repair", "\(command): \(run.error)")
            #expect(
                run.error.contains(command[0] == "repair" ? "the removed bytes are in" : "vaultfmt repair"),
                "\(command): \(run.error)"
            )
            if command[0] != "repair" { #expect(try sandbox.read("test.vault") == bytes) }
        }
        let kept = try FileManager.default.contentsOfDirectory(atPath: sandbox.folder).filter {
            $0.contains(".vault.damaged-")
        }
        #expect(kept.count == 1)
        if let name = kept.first {
            let rest = try sandbox.read(name)
            #expect(bytes.suffix(rest.count) == rest[...])
        }
        #expect(try !sandbox.ok("list").error.contains("does not open"))
    }
}
