internal import CTestSupport
internal import Glibc
internal import TestSupport

/// The real command: what is in its memory when it is about to end, and who can read it while it runs.
struct CommandMemory {
    /// One command, and what it may leave in its memory by what the documentation says.
    private struct Case {
        var arguments: [String]
        var input = ""
        var needles: [Needle] = []
        var allowed: [String] = []
        var environment: [String] = []

        init(_ arguments: String...) { self.arguments = arguments }
    }

    private let run: PartRun
    private let binary: String
    private let folder: Folder
    private let known: KnownSecrets
    private let added: String
    /// Another slot's passphrase.
    private let second: String

    init(_ run: PartRun, _ binary: String, _ numbers: inout Numbers) throws {
        self.run = run
        self.binary = binary
        folder = try Folder()
        known = try KnownSecrets(folder.file("a.vault"), &numbers)
        added = KnownSecrets.unique(&numbers, "added")
        second = KnownSecrets.unique(&numbers, "second")
        try write("passphrase", known.passphrase)
        try write("second", second)
        try write("imported.csv", "title,username,password\ncsv,u,\(added)\n")
        try write(
            "imported.json",
            "{\"format\":\"vaultfmt-export\",\"version\":1,\"items\":[{\"class\":\"generic-password\",\"service\":\"json\",\"secret\":\"\(added)\"}]}"
        )
    }

    func check() throws {
        for one in cases { try check(one) }
        try checkForeigners()
    }

    private var cases: [Case] {
        let secret = Needle("the added secret", added)
        func with(_ one: Case, _ change: (inout Case) -> Void) -> Case {
            var one = one
            change(&one)
            return one
        }
        return [
            Case("list"), Case("list", "--json"), Case("get", "svc", "when-unlocked"),
            Case("get", "svc", "always", "--json"),
            with(Case("get", "svc", "always")) { one in
                // `vaultfmt help environment` says that the environment is readable.
                one.environment = ["VAULTFMT_PASSPHRASE=\(known.passphrase)"]
                one.allowed = ["the passphrase"]
            },
            with(Case("set", "new", "a")) { one in (one.input, one.needles) = (added, [secret]) },
            with(Case("add", "new", "b", "--group", "g")) { one in (one.input, one.needles) = (added, [secret]) },
            with(Case("get", "new", "a")) { one in one.needles = [secret] },
            Case("update", "new", "a", "--label", "Label"), Case("move", "new", "a", "--to-account", "c"),
            Case("remove", "new", "b", "--yes"),
            Case("inspect"), Case("verify"), Case("compact"), Case("anchor"), Case("slot", "list"),
            with(
                Case(
                    "slot", "add", "--new-passphrase-file", folder.file("second"), "--kdf", "testing", "--name",
                    "second")
            ) { one in
                one.needles = [Needle("the second passphrase", second)]
            },
            Case("rekey", "--new-passphrase-file", folder.file("passphrase"), "--kdf", "testing"),
            Case("export", "--output", folder.file("out.json")),
            Case("export", "--format", "csv", "--output", folder.file("out.csv")),
            // What the decoders of other libraries keep of a source is theirs (threat model).
            with(Case("import", folder.file("imported.json"))) { one in
                (one.needles, one.allowed) = ([secret], [secret.name])
            },
            with(Case("import", folder.file("imported.csv"))) { one in
                (one.needles, one.allowed) = ([secret], [secret.name])
            },
            Case("create", folder.file("b.vault"), "--kdf", "testing"),
            Case(
                "salvage", folder.file("a.vault"), "--output", folder.file("c.vault"), "--new-passphrase-file",
                folder.file("passphrase"),
                "--kdf", "testing"),
            Case("rekey", "--rotate", "--yes"), Case("get", "svc", "always"), Case("get", "svc", "nobody"),
            Case("generate"),
        ]
    }

    private var environment: [String] {
        [
            "HOME=\(folder.path)", "XDG_STATE_HOME=\(folder.path)", "XDG_DATA_HOME=\(folder.path)",
            "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8",
            "VAULTFMT_VAULT=\(known.path)",
        ]
    }

    private func write(_ name: String, _ text: String) throws {
        let file = open(folder.file(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        var text = text
        let count = text.withUTF8 { Glibc.write(file, $0.baseAddress, $0.count) }
        close(file)
        guard count == text.utf8.count else { throw Wrong("cannot write \(name)") }
    }

    // MARK: at the end

    private func check(_ one: Case) throws {
        let name = one.arguments.prefix(3).joined(separator: " ")
        try write("in", one.input)
        try write("out", "")
        let before = try known.needles()
        let (input, output) = (
            open(folder.file("in"), O_RDONLY | O_CLOEXEC), open(folder.file("out"), O_WRONLY | O_CLOEXEC)
        )
        defer {
            close(input)
            close(output)
        }
        let passphrase =
            one.environment.isEmpty ? ["VAULTFMT_PASSPHRASE_FILE=\(folder.file("passphrase"))"] : one.environment
        let pid = try StartedProgram.start(
            binary, ["vaultfmt"] + one.arguments, environment: environment + passphrase, directory: folder.path,
            input: input,
            output: output, error: output, isTraced: true)
        guard test_run_to_exit(pid) == 0 else { return run.fail("\(name): did not come to its end") }
        var needles =
            try before + known.needles().filter { now in !before.contains { $0.bytes == now.bytes } } + one.needles
        for name in ["b.vault", "c.vault"] where folder.names.contains(name) {
            needles += try KnownSecrets.keys(folder.file(name), passphrase: known.passphrase)
        }
        if one.arguments == ["generate"], let made = try LogFile.lines(folder.file("out")).first {
            needles.append(Needle("the generated password", made))
        }
        let found = try ProcessMemory(pid: pid).find(needles)
        let status = test_let_exit(pid)
        let expected: Int32 = one.arguments.last == "nobody" ? 1 : 0
        let said = try LogFile.lines(folder.file("out")).last ?? ""
        run.check(status == expected, "\(name): exit \(status): \(said)")
        run.count(needles.count)
        for (what, hit) in found where !one.allowed.contains(what) {
            run.fail("\(name): \(what) is in memory at the end, \(hit.count) times, first in \(hit.place)")
        }
    }

    // MARK: while it runs

    /// No other process of the same user reads the memory of the command, and nothing of it goes into a core dump.
    private func checkForeigners() throws {
        let nobody: uid_t = 65_534
        let toCommand = try StartedProgram.pipe()
        let copy = folder.file("program")
        guard Self.run("/bin/cp", [binary, copy]) == 0, chmod(folder.path, 0o755) == 0, chmod(copy, 0o755) == 0 else {
            return run.fail("the command could not be copied")
        }
        let pid = try StartedProgram.start(
            copy, ["vaultfmt", "import", "-"], environment: ["PATH=/usr/bin:/bin"],
            directory: "/",
            input: toCommand.read, output: STDERR_FILENO, error: STDERR_FILENO, user: nobody)
        defer {
            close(toCommand.read)
            close(toCommand.write)
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
        var status: Int32 = 0
        // The command reads its standard input when it has hardened itself.
        let end = ContinuousClock.now + .seconds(Int(test_patience))
        while !Self.readsInput(pid) {
            guard waitpid(pid, &status, WNOHANG) == 0, ContinuousClock.now < end else {
                return run.fail("the command does not wait for its input: \(test_exit_status(status))")
            }
            usleep(5000)
        }
        run.count(4)
        // A process that is not hardened can be read: the check itself works.
        let plain = try StartedProgram.start(
            "/bin/sleep", ["sleep", "\(test_patience)"], environment: [], directory: "/", input: toCommand.read,
            output: STDERR_FILENO,
            error: STDERR_FILENO, user: nobody)
        // It sleeps, so it is no longer this program.
        while !Self.hasStarted(plain), ContinuousClock.now < end { usleep(5000) }
        let head = ["-c", "1"]
        run.check(
            Self.run("/usr/bin/head", head + ["/proc/\(plain)/environ"], user: nobody) == 0,
            "nothing can be read at all")
        kill(plain, SIGKILL)
        waitpid(plain, nil, 0)
        for file in ["mem", "environ", "maps"] {
            let status = Self.run("/usr/bin/head", head + ["/proc/\(pid)/\(file)"], user: nobody)
            run.check(status != 0, "another process of the same user reads /proc/PID/\(file)")
        }
        let limits = try LogFile.lines("/proc/\(pid)/limits").first { $0.hasPrefix("Max core file size") } ?? ""
        // One byte, soft and hard, keeps off those to a program too, which a limit of 0 does not.
        let words = limits.split(separator: " ").dropFirst(4).prefix(2)
        run.check(Array(words) == ["1", "1"], "core dumps are possible: \(limits)")
    }

    /// Whether a process waits in read(2) for its standard input.
    private static func readsInput(_ pid: pid_t) -> Bool {
        #if arch(x86_64)
            let call = "0"
        #else
            let call = "63"
        #endif
        guard let line = try? LogFile.lines("/proc/\(pid)/syscall").first else { return false }
        return line.split(separator: " ").prefix(2).elementsEqual([call, "0x0"], by: ==)
    }

    /// Whether a process is a program of its own, and sleeps.
    private static func hasStarted(_ pid: pid_t) -> Bool {
        guard let stat = try? LogFile.lines("/proc/\(pid)/stat").first else { return false }
        return stat.contains("(sleep) S ")
    }

    private static func run(_ program: String, _ arguments: [String], user: uid_t = 0) -> Int32 {
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        do {
            let pid = try StartedProgram.start(
                program, [program] + arguments, environment: [], directory: "/", input: null, output: null, error: null,
                user: user)
            var status: Int32 = 0
            while waitpid(pid, &status, 0) < 0, errno == EINTR {}
            return test_exit_status(status)
        } catch { return -1 }
    }
}
