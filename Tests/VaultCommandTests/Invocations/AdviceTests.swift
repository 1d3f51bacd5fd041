import Testing

/// Words that people bring from other programs, found by somebody who did the tasks of Tests/Tasks without help pages.
@Suite("Advice for what people try")
struct AdviceTests {
    @Test(
        "an option or command that does not exist is answered with what does the same",
        arguments: [
            ("tag mail work", "--add-tag"),
            ("send mail", "copy NAME --to FILE"),
            ("share mail", "copy NAME --to FILE"),
            ("rotate mail", "set NAME --generate"),
            ("purge", "vaultfmt compact"),
            ("shares", "slot list"),
            ("update mail --remove note", "did you mean '--remove-attribute'?"),
            ("update mail --hidden pet", "did you mean '--secret-attribute'?"),
            ("get mail --hidden pet", "--secret-attribute ATTRIBUTE"),
            ("list --tags work", "--tag TAG"),
            ("check --old", "did you mean '--older-than'?"),
            ("add mail --folder work", "--attribute folder=FOLDER"),
            ("otp mail --url", "--field otp"),
            ("copy mail --name new", "--as NEW-NAME"),
            ("get mail --chars 3", "cut -c"),
            ("check --weak", "'vaultfmt check' reports"),
            ("export --encrypted", "--format kdbx"),
            ("export --password x", "--format kdbx"),
            ("copy mail --exclude otp", "did you mean '--without'?"),
            ("otp mail --uri", "--field otp"),
            ("add mail --stdin", "standard input"),
            ("history mail --reveal", "--earlier NUMBER"),
            ("mv mail --to work", "--to-account"),
            ("rm mail --dry-run", "'vaultfmt undo' brings them back"),
            ("forget mail --all --dry-run", "vaultfmt history NAME"),
            ("slot remove backup --dry-run", "vaultfmt slot list"),
            ("list --recent", "did you mean '--sort'?"),
            ("unlock --timeout 5", "did you mean '--for'?"),
            ("get mail --out-file k", "did you mean '--output'?"),
        ])
    func answered(_ line: String, _ advice: String) throws {
        let sandbox = try Sandbox()
        let run = try sandbox.run(line.split(separator: " ").map(String.init))
        #expect(run.status == 64)
        #expect(run.error.contains(advice), "\(run.error)")
        #expect(run.error.split(separator: "\n").count == 1)
    }

    @Test("an option in place of another option's value is named, and not used as the value")
    func missingValue() throws {
        let sandbox = try Sandbox.withVault()
        for words in [
            ["set", "--server", "a.example", "--account", "--protocol", "https"],
            ["set", "--server", "a.example", "--account", "--protocol=https"],
            ["update", "svc", "--label", "--yes"], ["list", "-f", "--json"],
            ["run", "--env-file", "--env", "A=b", "--", "true"],
        ] {
            let run = try sandbox.run(words, input: Array("s".utf8))
            #expect(run.status == 64 && run.error.contains("missing value for '--"), "\(words): \(run.error)")
            #expect(run.error.split(separator: "\n").count == 1 && !run.error.contains("https"), "\(run.error)")
        }
        #expect(try sandbox.ok("list").bytes == [])
        let advised = try sandbox.fails(64, "--account=--protocol", "set", "svc", "--account", "--protocol", "https")
        #expect(advised.error.contains("'--account'"))
        try sandbox.ok("set", "svc", "--account=--protocol", "--label", "-dash", input: "s".utf8)
        #expect(try sandbox.ok("get", "svc", "--field", "account").output == "--protocol")
        try sandbox.ok("run", "--env", "A=vaultfmt:svc", "--", "true", "--env", "--env")
    }

    @Test("options that select are not taken for changes: the message says that the item is there")
    func selecting() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "webmail", "mira.old", input: "pw".utf8)
        try sandbox.fails(1, "'webmail' exists, but does not match", "edit", "webmail", "--account", "mira.new")
        try sandbox.fails(
            1, "'webmail' exists, but does not match", "edit", "webmail", "--attribute", "url=https://a.example")
        try sandbox.fails(64, "--to-account", "update", "webmail", "--account", "mira.new")
        try sandbox.ok("move", "webmail", "--to-account", "mira.new")
        try sandbox.fails(1, "no item is named 'nothing'", "show", "nothing", "--account", "a")
    }

    @Test("a key of one-time codes that was given as an argument is not repeated")
    func seed() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "mail", input: "pw".utf8)
        for seed in ["GEZD1NBV0Y8!", "gezdgnbvgy3tqojq", "gezd gnbv gy3t qojq"] {
            let run = try sandbox.fails(1, "leave it out: --otp asks", "update", "mail", seed, "--otp")
            #expect(!run.error.contains(seed))
        }
    }
}
