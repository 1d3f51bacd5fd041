import Foundation
import Testing

/// What the program makes of how it was started.
@Suite struct StartTests {
    @Test("D16: the arguments are found where a preloaded library has moved the environment")
    func movedEnvironment() throws {
        let sandbox = try Sandbox.withVault()
        let source =
            "#include <stdlib.h>\n__attribute__((constructor)) static void move(void) { setenv(\"MOVED\", \"1\", 1); }\n"
        try sandbox.write("move.c", source.utf8)
        try sandbox.okShell("gcc -shared -fPIC -o move.so move.c")
        sandbox.environment["LD_PRELOAD"] = sandbox.path("move.so")
        try sandbox.ok("set", "service", "account", input: "secret".utf8)
        #expect(try sandbox.ok("get", "service", "account").bytes == Array("secret".utf8))
    }

    @Test("D16: no command is exit 64, and the usage is on standard error", arguments: [[], ["slot"], ["--"]])
    func noCommand(_ arguments: [String]) throws {
        let run = try Sandbox().run(arguments)
        #expect(run.status == 64 && run.bytes.isEmpty)
        #expect(run.error.contains("USAGE: vaultfmt") && run.error.contains("no command is given"))
    }

    @Test(
        "H12: a system without random numbers is one clear line and exit 69, not an abort",
        arguments: ["ENOSYS", "EPERM"])
    func noRandomNumbers(_ error: String) throws {
        let sandbox = try Sandbox()
        // Without /dev/urandom, in a mount namespace of its own.
        let script = """
            mount -t tmpfs none /dev
            exec strace -f -qq -o trace -e trace=getrandom -e inject=getrandom:error=\(error) '\(Child.binary)' "$@"
            """
        try sandbox.write("start", script.utf8)
        for arguments in ["generate", "create --kdf testing", "--version"] {
            let run = try sandbox.shell("unshare --user --map-root-user --mount bash -eu start \(arguments)")
            #expect(run.status == 69 && run.bytes.isEmpty, "\(run.status)")
            #expect(
                run.error.hasPrefix("vaultfmt: the system's random number generator does not respond"), "\(run.error)")
            #expect(run.error.utf8.count { $0 == 0x0A } == 1)
        }
        #expect(!FileManager.default.fileExists(atPath: sandbox.vault))
    }

    @Test(
        "too little memory to start is one clear line and exit 74, not an abort",
        arguments: ["--version", "generate", "list --help", "get service account --passphrase-fd 9 --json"])
    func noMemory(_ arguments: String) throws {
        let sandbox = try Sandbox.withVault()
        var refusals = 0
        for size in stride(from: 16 << 10, through: 64 << 10, by: 256) {
            let run = try sandbox.shell("ulimit -c 0; ulimit -v \(size); exec '\(Child.binary)' \(arguments)")
            if run.error.hasPrefix("vaultfmt: there is not enough memory to start") {
                #expect(run.status == 74 && run.error.utf8.count { $0 == 0x0A } == 1)
                refusals += 1
            } else if refusals > 0 || ![127, 137, 139].contains(run.status) {
                // The system loaded it, and this is what the command makes of its arguments.
                #expect([0, 64].contains(run.status), "-v \(size): exit \(run.status): \(run.error)")
                break
            }
        }
        #expect(refusals > 0)
    }

    @Test("a vault and a KeePass file of several lanes open while the system gives no more threads, or only some")
    func noThreads() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("rekey", "--kdf-memory", "1MiB", "--kdf-passes", "1", "--kdf-lanes", "4", "--allow-weak-kdf")
        try sandbox.ok("set", "service", "account", input: "secret".utf8)
        let sample = try ImportSample("kdbx-4", in: sandbox)
        let source = try sandbox.write("source", sample.bytes)
        func run(failing: String, _ arguments: [String]) throws -> Run {
            try sandbox.run(
                [
                    "-f", "-qq", "-o", "/dev/null", "-e", "trace=clone,clone3", "-e",
                    "inject=clone,clone3:error=EAGAIN:when=\(failing)", Child.binary,
                ] + arguments, program: "/usr/bin/strace")
        }
        for failing in ["1+", "2+", "3", "4+"] {
            let get = try run(failing: failing, ["get", "service", "account"])
            #expect(get.status == 0 && get.output == "secret", "\(failing): exit \(get.status): \(get.error)")
        }
        // This file has two lanes.
        for failing in ["1+", "2+", "1", "2"] {
            let rehearsal = try run(
                failing: failing, ["import", "--dry-run", source, "--on-duplicate", "skip"] + sample.options)
            #expect([0, 3].contains(rehearsal.status), "\(failing): exit \(rehearsal.status): \(rehearsal.error)")
        }
    }

    @Test("D2: a descriptor that is not open is refused before a file of ours gets its number")
    func descriptorNotOpen() throws {
        let sandbox = try Sandbox.withVault()
        let before = try sandbox.read("test.vault")
        for option in ["--passphrase-fd", "--new-passphrase-fd"] {
            for number in 3...9 {
                // What the tests themselves have open is inherited.
                let closed = (3...9).map { "\($0)<&-" }.joined(separator: " ")
                let run = try sandbox.shell("'\(Child.binary)' rekey \(option) \(number) --kdf testing \(closed)")
                #expect(run.status == 64 && run.error.contains("is not open for reading"), "\(run.error)")
            }
        }
        #expect(try sandbox.read("test.vault") == before)
    }

    @Test("D2: a closed standard input is an error where a secret is read, and no file is taken for it")
    func closedInput() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "tok", "ci", input: "before".utf8)
        let run = try sandbox.shell("'\(Child.binary)' set tok ci <&-")
        #expect(run.status == 74, "\(run.error)")
        #expect(try sandbox.ok("get", "tok", "ci").bytes == Array("before".utf8))
    }

    @Test("D1: a message on a closed standard error does not get into the vault")
    func closedError() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "a", "u", input: "secret".utf8)
        try sandbox.okShell("'\(Child.binary)' rm a u -y 2>&-")
        try sandbox.ok("verify")
    }
}
