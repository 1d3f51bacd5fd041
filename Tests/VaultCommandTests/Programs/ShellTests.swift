import Foundation
import Testing

@testable import VaultArguments
@testable import VaultCommand

@Suite("read: references")
struct ReadTests {
    @Test("a reference names service and account, percent-encoded, a field, a group and a class")
    func references() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "db.example.org", "app", "--label", "Production", input: "pässword \n\n".utf8)
        try sandbox.ok("set", "a/b ?&%", "ü=/", input: "odd".utf8)
        try sandbox.ok("set", "shared", "x", "--group", "one", input: "of one".utf8)
        try sandbox.ok("set", "shared", "x", "--group", "two words", input: "of two".utf8)
        try sandbox.ok("set", "empty", input: "no account".utf8)
        try sandbox.ok("set", "empty", "some", input: "some account".utf8)
        try sandbox.ok("set", "same", input: "generic".utf8)
        try sandbox.ok("set", "--server", "same", input: "internet".utf8)
        for (reference, value) in [
            ("vaultfmt:db.example.org", "pässword \n\n"), ("vaultfmt:db.example.org/app", "pässword \n\n"),
            ("vaultfmt:db.example.org?field=account", "app"), ("vaultfmt:db.example.org/app?field=label", "Production"),
            ("vaultfmt:a%2Fb%20%3F%26%25/%C3%BC=%2F", "odd"), ("vaultfmt:shared?group=one", "of one"),
            ("vaultfmt:shared/x?group=two%20words&field=secret", "of two"), ("vaultfmt:empty/", "no account"),
            ("vaultfmt:same?class=internet-password", "internet"),
        ] {
            #expect(try sandbox.ok("read", reference).output == value, "\(reference)")
        }
        try sandbox.fails(2, "2 items are named", "read", "vaultfmt:shared/x")
        try sandbox.fails(1, "no item is named 'absent'", "read", "vaultfmt:absent")
        try sandbox.fails(1, "no field 'nothing'", "read", "vaultfmt:same?class=generic-password&field=nothing")
        for (reference, message) in [
            ("db.example.org/app", "not a reference"), ("vaultfmt:", "does not name a service"),
            ("vaultfmt:/x", "does not name a service"),
            ("vaultfmt:a/b/c", "more than one slash"), ("vaultfmt:a%2", "not percent-encoded"),
            ("vaultfmt:%FF", "not percent-encoded"),
            ("vaultfmt:a?x=y", "option or a class"), ("vaultfmt:a?class=none", "option or a class"),
            ("vaultfmt:a?field", "has no value"),
            ("vaultfmt:a?field=x&field=y", "is repeated"),
        ] {
            try sandbox.fails(64, message, "read", reference)
        }
    }

    @Test("--aws writes what credential_process wants")
    func aws() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "aws", "AKIAEXAMPLE", input: "secret/\"key\"".utf8)
        let plain = try #require(try sandbox.ok("read", "--aws", "vaultfmt:aws").json() as? [String: Any])
        #expect(Set(plain.keys) == ["Version", "AccessKeyId", "SecretAccessKey"])
        #expect(plain["Version"] as? Int == 1 && plain["SecretAccessKey"] as? String == "secret/\"key\"")
        try sandbox.ok(
            "update", "aws", "--attribute", "sealed:session-token=token", "--attribute",
            "expiration=2030-01-01T00:00:00Z")
        let full = try #require(try sandbox.ok("read", "--aws", "vaultfmt:aws/AKIAEXAMPLE").json() as? [String: Any])
        #expect(full["SessionToken"] as? String == "token" && full["Expiration"] as? String == "2030-01-01T00:00:00Z")
        try sandbox.ok("set", "temporary", "ASIAEXAMPLE", input: "secret".utf8)
        try sandbox.ok("update", "temporary", "--secret-attribute", "session-token", input: "hidden".utf8)
        let temporary = try #require(try sandbox.ok("read", "--aws", "vaultfmt:temporary").json() as? [String: Any])
        #expect(temporary["SessionToken"] as? String == "hidden")
        let long = String(repeating: "t", count: 5000)
        try sandbox.ok("update", "temporary", "--secret-attribute", "session-token", input: long.utf8)
        let whole = try #require(try sandbox.ok("read", "--aws", "vaultfmt:temporary").json() as? [String: Any])
        #expect(whole["SessionToken"] as? String == long)
        try sandbox.ok("update", "temporary", "--secret-attribute", "session-token", input: [0xFF, 0xFE] as [UInt8])
        try sandbox.fails(69, "'session-token' is not text", "read", "--aws", "vaultfmt:temporary")
        try sandbox.ok("set", "nobody", input: "s".utf8)
        try sandbox.fails(69, "access key ID", "read", "--aws", "vaultfmt:nobody")
        try sandbox.fails(64, "leave out ?field=", "read", "--aws", "vaultfmt:aws?field=account")
    }
}

@Suite("run: programs with secrets in their environment")
struct RunTests {
    @Test("the program alone gets the secrets, its own arguments and environment, and none of what opens vaults")
    func environment() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "s3cret with 'quotes' and\nlines".utf8)
        sandbox.environment["KEPT"] = "kept"
        sandbox.environment["REPLACED"] = "before"
        sandbox.environment["VAULTFMT_NEW_PASSPHRASE"] = "new"
        sandbox.environment["VAULTFMT_PASSPHRASE_FILE"] = "/file"
        let run = try sandbox.ok(
            "run", "--env", "SECRET=vaultfmt:svc/ann", "--env", "REPLACED=vaultfmt:svc?field=account", "--",
            "/usr/bin/env", "-0")
        let variables = Set(run.output.split(separator: "\0").map(String.init))
        #expect(variables.isSuperset(of: ["SECRET=s3cret with 'quotes' and\nlines", "REPLACED=ann", "KEPT=kept"]))
        #expect(variables.filter { $0.hasPrefix("VAULTFMT_") } == ["VAULTFMT_VAULT=\(sandbox.vault)"])
        #expect(variables.filter { $0.hasPrefix("REPLACED=") }.count == 1)
        let words = try sandbox.ok(
            "run", "--env", "A=vaultfmt:svc", "--", "printf", "%s|", "--env", "-x", "", "--", "a b")
        #expect(words.output == "--env|-x||--|a b|")
        #expect(try sandbox.ok("run", "--", "cat", input: "standard input".utf8).output == "standard input")
    }

    @Test("H9: its core dumps are limited to one byte, which keeps off those to a program too")
    func coreDumps() throws {
        let sandbox = try Sandbox.withVault()
        let line = try #require(try sandbox.ok("run", "--", "grep", "Max core", "/proc/self/limits").lines.first)
        let limits = line.split(separator: " ")
        // 0 where this machine's own limit is.
        #expect(limits.dropLast().suffix(2) == ["1", "1"] || limits.dropLast().suffix(2) == ["0", "0"])
    }

    @Test("its exit code and its signal are the program's; 127 and 126 are for what cannot be started")
    func exitCodes() throws {
        let sandbox = try Sandbox.withVault()
        #expect(try sandbox.run("run", "--", "sh", "-c", "exit 42").status == 42)
        #expect(try sandbox.run("run", "--", "sh", "-c", "kill -TERM $$").status == 128 + SIGTERM)
        try sandbox.fails(127, "there is no program 'no-such-program'", "run", "--", "no-such-program")
        try sandbox.fails(127, "there is no program './absent'", "run", "--", "./absent")
        let file = try sandbox.write("file", "text".utf8)
        try sandbox.fails(126, "cannot start", "run", "--", file)
        try sandbox.fails(126, "cannot start", "run", "--", sandbox.folder)
    }

    @Test("where a secret cannot be had the program is not started")
    func notStarted() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "zero", "--exact", input: [0x61, 0, 0x62])
        for (arguments, status, message) in [
            (["--env", "A=vaultfmt:absent"], 1, "no item is named"), (["--env", "A=vaultfmt:zero"], 69, "zero byte"),
            (["--env", "A"], 64, "--env takes a variable"),
            (["--env", "=vaultfmt:zero"], 64, "--env takes a variable"),
            (["--env", "A=plain"], 64, "not a reference"),
        ] as [([String], Int32, String)] {
            let run = try sandbox.run(["run"] + arguments + ["--", "touch", "started"])
            #expect(run.status == status && run.error.contains(message), "\(arguments): \(run.error)")
        }
        try sandbox.ok("set", "svc", input: "s".utf8)
        try sandbox.fails(
            64, "given twice", "run", "--env", "A=vaultfmt:svc", "--env", "A=vaultfmt:svc", "--", "touch", "started")
        try sandbox.fails(64, "no program is given", "run", "--env", "A=vaultfmt:svc")
        sandbox.forgetPassphrase()
        try sandbox.fails(77, "no terminal", "run", "--env", "A=vaultfmt:svc", "--", "touch", "started")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("started")))
    }
}

@Suite("inject: templates")
struct InjectTests {
    @Test("references are replaced by the exact bytes, everything else stays as it is")
    func fills() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", "--exact", input: [0x00, 0xFF, 0x7B, 0x7B])
        try sandbox.ok("set", "text", input: "{{ vaultfmt:svc }}".utf8)
        let template =
            "{{vaultfmt:text}} {{ jinja }} {{{ vaultfmt:text/\t}} {{ vaultfmt:svc/ann?field=account }}{{\n}} {{"
        let filled = try sandbox.ok("inject", input: template.utf8)
        #expect(filled.output == "{{ vaultfmt:svc }} {{ jinja }} {{{ vaultfmt:svc }} ann{{\n}} {{")
        let file = try sandbox.write("template", "<{{ vaultfmt:svc/ann }}>".utf8)
        #expect(try sandbox.ok("inject", file).bytes == [0x3C, 0x00, 0xFF, 0x7B, 0x7B, 0x3E])
        sandbox.forgetPassphrase()
        #expect(try sandbox.ok("inject", input: "no secrets, no passphrase".utf8).output == "no secrets, no passphrase")
    }

    @Test("E10: what would command a terminal is not shown on one")
    func onTerminal() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "a\u{1B}]0;title\u{7}".utf8)
        try sandbox.ok("set", "plain", input: "harmless".utf8)
        let bad = try sandbox.write("bad", "{{ vaultfmt:svc }}".utf8)
        let refused = try PseudoTerminal(sandbox, "inject", bad)
        #expect(try refused.finish() == 64)
        #expect(refused.screen.contains("not plain text") && !refused.screen.contains("\u{1B}]0"))
        #expect(try sandbox.ok("inject", bad).output == "a\u{1B}]0;title\u{7}")
        let good = try PseudoTerminal(sandbox, "inject", try sandbox.write("good", "é:\t{{ vaultfmt:plain }}\n".utf8))
        #expect(try good.finish() == 0)
        #expect(good.screen == "é:\tharmless\r\n")
    }

    @Test("the output file is for its owner alone, replaces nothing unless told to, and is whole or not there")
    func output() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "s3cret".utf8)
        let template = try sandbox.write("template", "password={{ vaultfmt:svc }}\n".utf8)
        try sandbox.ok("inject", template, "--output", "out")
        #expect(try sandbox.read("out") == Array("password=s3cret\n".utf8))
        let mode = { try FileManager.default.attributesOfItem(atPath: sandbox.path("out"))[.posixPermissions] as? Int }
        #expect(try mode() == 0o600)
        try sandbox.fails(73, "already exists", "inject", template, "--output", "out")
        chmod(sandbox.path("out"), 0o644)
        try sandbox.ok("set", "svc", input: "another".utf8)
        try sandbox.ok("inject", template, "--output", "out", "--force")
        #expect(try sandbox.read("out") == Array("password=another\n".utf8))
        #expect(try mode() == 0o600)
        try sandbox.fails(
            1, "no item", "inject", "--output", "new", input: "{{ vaultfmt:svc }}{{ vaultfmt:absent }}".utf8)
        try sandbox.fails(1, "no item", "inject", "--output", "out", "--force", input: "{{ vaultfmt:absent }}".utf8)
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("new")))
        #expect(try sandbox.read("out") == Array("password=another\n".utf8))
        try sandbox.fails(64, "line 3: the reference does not end", "inject", input: "\n\n {{ vaultfmt:svc\n}}".utf8)
        try sandbox.fails(
            64, "line 2: 'vaultfmt:a/b/c' has more than one slash", "inject", input: "\n{{ vaultfmt:a/b/c }}".utf8)
        try sandbox.fails(64, "standard input cannot provide both", "inject", "--passphrase-fd", "0", input: "x".utf8)
    }
}

@Suite("askpass: answers to other programs' questions")
struct AskpassTests {
    @Test("H4: OpenSSH's questions are answered from the items they are about, if told so; all others are not")
    func questions() throws {
        let sandbox = try Sandbox.withVault()
        sandbox.environment["VAULTFMT_ASKPASS"] = "ssh"
        try sandbox.ok("set", "ssh", "/home/ann/my keys/id_ed25519", input: "of the key".utf8)
        try sandbox.ok(
            "set", "--server", "host.example.org", "--protocol", "ssh", "--account", "ann", input: "of the host".utf8)
        for (question, answer) in [
            ("Enter passphrase for key '/home/ann/my keys/id_ed25519': ", "of the key\n"),
            ("Enter passphrase for /home/ann/my keys/id_ed25519: ", "of the key\n"),
            ("Enter passphrase for /home/ann/my keys/id_ed25519 (will confirm each use): ", "of the key\n"),
            ("ann@host.example.org's password: ", "of the host\n"),
            ("(ann@Host.example.org) Password: ", "of the host\n"),
        ] {
            #expect(try sandbox.ok("askpass", question).output == answer, "\(question)")
        }
        for question in [
            "Bad passphrase, try again for /home/ann/my keys/id_ed25519: ", "Password: ", "'s password: ", "",
            // As OpenSSH 8.5 and later show what a server words.
            "(eve@evil.example.org) ann@host.example.org's password: ",
            "(eve@evil.example.org) Enter passphrase for key '/home/ann/my keys/id_ed25519': ",
        ] {
            try sandbox.fails(64, "not one of OpenSSH's questions", "askpass", question)
        }
        for bound in ["ssh", "vaultfmt:ssh"] {
            sandbox.environment["VAULTFMT_ASKPASS"] = bound
            try sandbox.fails(
                64, "by a person", "askpass", "Are you sure you want to continue connecting (yes/no/[fingerprint])? ")
        }
        sandbox.environment["VAULTFMT_ASKPASS"] = "ssh"
        try sandbox.fails(1, "no internet-password", "askpass", "bob@host.example.org's password: ")
        sandbox.environment["SSH_ASKPASS_PROMPT"] = "confirm"
        try sandbox.fails(64, "by a person", "askpass", "Allow use of key ann@host.example.org's password: ")
    }

    @Test("H4: what nobody has bound is not answered, however the question is worded")
    func unbound() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "ssh", "/key", input: "of the key".utf8)
        try sandbox.ok("set", "--server", "h", "--protocol", "ssh", "--account", "ann", input: "of the host".utf8)
        for question in ["Enter passphrase for key '/key': ", "ann@h's password: ", "(ann@h) Password: "] {
            #expect(try sandbox.fails(64, "VAULTFMT_ASKPASS is not set", "askpass", question).output == "")
        }
    }

    @Test("VAULTFMT_ASKPASS names the answer")
    func named() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "sudo", input: "pw".utf8)
        try sandbox.ok("set", "lines", "--exact", input: "two\nlines".utf8)
        sandbox.environment["VAULTFMT_ASKPASS"] = "vaultfmt:sudo"
        #expect(try sandbox.ok("askpass", "[sudo] password for ann: ").output == "pw\n")
        #expect(try sandbox.ok("askpass", "--looks", "-like options").output == "pw\n")
        sandbox.environment["VAULTFMT_ASKPASS"] = "vaultfmt:lines"
        #expect(try sandbox.fails(69, "several lines", "askpass", "?").output == "")
    }

    @Test("ssh-add takes a key's passphrase from the vault", .enabled(if: Machine.has("ssh-agent"), "no OpenSSH here"))
    func sshAdd() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        sandbox.environment["SSH_ASKPASS"] = sandbox.path("bin/vaultfmt-askpass")
        sandbox.environment["SSH_ASKPASS_REQUIRE"] = "force"
        sandbox.environment["VAULTFMT_ASKPASS"] = "ssh"
        let run = try sandbox.okShell(
            """
            ssh-keygen -q -t ed25519 -N 'of the key' -f key
            printf 'of the key' | vaultfmt set ssh "$PWD/key"
            ssh-agent bash -c 'ssh-add -q "$PWD/key"; ssh-add -l'
            """)
        #expect(run.output.contains("ED25519"))
    }
}

@Suite("Completion", .enabled(if: Machine.hasKeyring, "no kernel keyring here"))
struct CompletionTests {
    private let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        for (service, account) in [
            ("github.com", "alice"), ("gitlab.com", "bob"), ("$(touch pwned)", "eve"),
            ("`touch pwned`", "x;touch pwned"),
        ] {
            try sandbox.ok("set", service, account, input: "s".utf8)
        }
        try sandbox.okShell("vaultfmt --generate-completion-script bash > completion.bash")
    }

    /// What bash offers for a line whose last word is being typed.
    private func bash(_ words: String...) throws -> [String] { try bash(words) }

    private func bash(_ words: [String]) throws -> [String] {
        let line = words.joined(separator: " ")
        return try sandbox.okShell(
            """
            source completion.bash
            COMP_LINE='\(line)' COMP_POINT=\(line.utf8.count) COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " ")))
            COMP_CWORD=\(words.count - 1) COMP_TYPE=9
            set +eu
            _vaultfmt vaultfmt '\(words.last ?? "")' '\(words.dropLast().last ?? "")'
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        ).lines
    }

    @Test(
        "bash offers services and accounts while the vault is unlocked, and runs nothing that a name holds",
        .enabled(if: Machine.has("bash")))
    func inBash() throws {
        sandbox.forgetPassphrase()
        #expect(try bash("vaultfmt", "get", "gi") == [])
        sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
        try sandbox.unlock()
        #expect(try bash("vaultfmt", "get", "gi") == ["github.com", "gitlab.com"])
        #expect(try bash("vaultfmt", "get", "github.com", "a") == ["alice"])
        #expect(try bash("vaultfmt", "get", "github.com", "b") == [])
        _ = try bash("vaultfmt", "get", "")
        _ = try bash("vaultfmt", "get", "`touch pwned`", "")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("pwned")))
        #expect(try bash("vaultfmt", "unl") == ["unlock"])
        try sandbox.ok("lock")
        #expect(try bash("vaultfmt", "get", "gi") == [])
    }

    @Test(
        "bash completes after aliases and synonyms of commands as after the commands' own names",
        .enabled(if: Machine.has("bash")))
    func otherNamesOfCommands() throws {
        try sandbox.unlock()
        for name in ["rm", "delete", "mv", "cp", "clip", "cat"] {
            #expect(try bash("vaultfmt", name, "gi") == ["github.com", "gitlab.com"], "\(name)")
        }
        #expect(try bash("vaultfmt", "slot", "ls", "--js") == ["--json"])
        #expect(try bash("vaultfmt", "recipients", "--js") == ["--json"])
    }

    @Test(
        "bash completes commands and items after a vault that is named before them, in each of its spellings",
        .enabled(if: Machine.has("bash")))
    func vaultBeforeCommand() throws {
        try FileManager.default.moveItem(atPath: sandbox.vault, toPath: sandbox.path("my work.vault"))
        let vault = sandbox.path("my work.vault")
        try sandbox.ok("unlock", "--vault", vault)
        sandbox.forgetPassphrase()
        // bash hands over words with their quotes, and the sign in --vault=FILE as a word of its own.
        let quoted = "\"\(vault)\""
        for words in [["-f", quoted], ["-f" + quoted], ["--vault", quoted], ["--vault", "=", quoted]] {
            #expect(try bash(["vaultfmt"] + words + ["unl"]) == ["unlock"], "\(words)")
            #expect(try bash(["vaultfmt"] + words + ["get", "gi"]) == ["github.com", "gitlab.com"], "\(words)")
            #expect(try bash(["vaultfmt"] + words + ["rm", "github.com", "gitl"]) == ["gitlab.com"], "\(words)")
            #expect(try bash(["vaultfmt", "get"] + words + ["github.com", "a"]) == ["alice"], "\(words)")
            #expect(try bash(["vaultfmt", "slot"] + words + ["rem"]) == ["remove"], "\(words)")
        }
        #expect(try bash("vaultfmt", "-f", "my") == ["my work.vault"])
        #expect(try bash("vaultfmt", "slot", "--vault", "my") == ["my work.vault"])
        #expect(try bash("vaultfmt", "-f", "$(touch pwned)", "get", "gi") == [])
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("pwned")))
    }

    @Test("the vault is found in the words that a shell hands over, which still have their quotes")
    func vaultInWords() {
        for (words, vault) in [
            (["vaultfmt", "get", "a"], nil), (["vaultfmt", "-f"], nil), (["vaultfmt", "-f", "v", "get"], "v"),
            (["vaultfmt", "-fv", "get"], "v"), (["vaultfmt", "get", "-f'a b'"], "a b"),
            (["vaultfmt", "get", "--vault=v"], "v"), (["vaultfmt", "--vault", "=", "v", "get"], "v"),
            (["vaultfmt", "-f", "a\\ b\\$c", "get"], "a b$c"),
            (["vaultfmt", "-f", "\"a\\b\\\"c\"", "get"], "a\\b\"c"),
            (["vaultfmt", "-f", "'~/v'", "get"], "~/v"), (["vaultfmt", "-f", "`x`$(x)$x", "get"], "`x`$(x)$x"),
            (["vaultfmt", "run", "--", "tar", "-fv"], nil),
        ] as [([String], String?)] {
            #expect(VaultCompletion.vault(in: words) == vault, "\(words)")
        }
    }

    @Test("the scripts know every alias and synonym of every group of commands, and its vault")
    func otherNamesInScripts() throws {
        let groups = CommandNames.groups()
        #expect(groups.first == [] && groups.contains(["slot"]))
        let bash = try sandbox.ok("--generate-completion-script", "bash").output
        let zsh = try sandbox.ok("--generate-completion-script", "zsh").output
        let fish = try sandbox.ok("--generate-completion-script", "fish").output
        for group in groups {
            let function = (["_vaultfmt"] + group).joined(separator: "_")
            for (script, call) in [(bash, "\"\(function)_${subcommand}\""), (zsh, "\"\(function)_${words[1]}\"")] {
                // Ends with the names with which the function is called.
                let before = script.components(separatedBy: call)[0].split(separator: "\n").suffix(3)
                for (name, path) in CommandNames.otherNames(in: group) {
                    let command = (["_vaultfmt"] + path).joined(separator: "_")
                    #expect(before.contains { $0.contains("|\(name)|") || $0.hasSuffix("|\(name))") }, "\(name)")
                    #expect(script.contains("\n\(function)_\(name)() {\n    \(command) \"${@}\"\n}\n"), "\(name)")
                    #expect(script.contains("\n\(command)() {\n"), "\(name)")
                }
            }
            for (name, path) in CommandNames.otherNames(in: group) {
                let line = (["vaultfmt"] + group + [name]).joined(separator: " ")
                let command = path.dropFirst(group.count).joined(separator: " ")
                #expect(
                    fish.contains(
                        "    case '\(line)'\n        set unparsed_tokens \(command) $unparsed_tokens[2..]\n"),
                    "\(name)")
            }
        }
        let names = CommandNames.otherNames(in: []).map(\.name)
        #expect(Set(names).isSuperset(of: ["rm", "ls", "cp", "totp", "mv", "delete"]) && !names.contains("-V"))
        for (script, vault) in [
            (bash, "non_repeating_options=(-f --vault)\n"), (fish, "'version' 'h/help' 'f/vault=+'\n"),
            (zsh, "{-f+,--vault=}'[The vault.]:file:_files'\n        '(-): :->command'\n"),
        ] {
            #expect(script.components(separatedBy: vault).count == groups.count + 1, "\(vault)")
        }
    }

    /// A vault whose items are in folders and groups, with tags, and a slot that has a name.
    private func filled() throws {
        try sandbox.ok("set", "db", "app one", "--group", "clients", "--attribute", "folder=work/acme", input: "s".utf8)
        try sandbox.ok("update", "github.com", "alice", "--add-tag", "team", "--add-tag", "two words")
        let file = try sandbox.write("reserve.txt", "of the reserve".utf8)
        // Its name begins unlike any id, because the slot without a name is offered by its id.
        try sandbox.ok("slot", "add", "--new-passphrase-file", file, "--kdf", "testing", "--name", "reserve")
        try sandbox.unlock()
    }

    @Test(
        "bash offers classes, topics, slots, groups, folders and tags, each where it fits",
        .enabled(if: Machine.has("bash")))
    func otherNames() throws {
        try filled()
        #expect(try bash("vaultfmt", "list", "--class", "c") == ["certificate"])
        #expect(try bash("vaultfmt", "help", "e") == ["environment", "exit-codes", "edit", "export"])
        #expect(try bash("vaultfmt", "slot", "remove", "r") == ["reserve"])
        #expect(try bash("vaultfmt", "list", "--group", "") == ["clients"])
        #expect(try bash("vaultfmt", "slot", "add", "--grant-group", "c") == ["clients"])
        #expect(try bash("vaultfmt", "list", "--folder", "work") == ["work", "work/acme"])
        #expect(try bash("vaultfmt", "move", "db", "--to-folder", "work/") == ["work/acme"])
        // What is more than one word for a shell is not offered.
        #expect(try bash("vaultfmt", "list", "--tag", "t") == ["team"])
        #expect(try bash("vaultfmt", "update", "db", "--add-tag", "te") == ["team"])
    }

    /// What the binary answers to a shell's script.
    private func offered(_ shell: String, _ argument: String, _ words: String...) throws -> [String] {
        sandbox.environment["SAP_SHELL"] = shell
        let last = words.last ?? ""
        let run = try sandbox.run(
            ["---completion", words[1], "--", argument, String(words.count - 1), String(last.utf8.count)] + words)
        #expect(run.status == 0 && run.error.isEmpty)
        return run.lines.filter { $0 != " " }
    }

    @Test("references are offered to read and run, with what is no plain character of a name escaped")
    func references() throws {
        try filled()
        let all = ["vaultfmt:db/app%20one", "vaultfmt:github.com/alice", "vaultfmt:gitlab.com/bob"]
        let found = try offered("fish", "positional@0", "vaultfmt", "read", "")
        #expect(found.filter { !$0.contains("touch") } == all)
        #expect(found.allSatisfy { !$0.contains("$") && !$0.contains("`") && !$0.contains(" ") })
        #expect(
            try offered("zsh", "positional@0", "vaultfmt", "read", "").contains("vaultfmt\\:github.com/alice"))
        #expect(
            try offered("fish", "--env", "vaultfmt", "run", "--env", "TOKEN=").contains(
                "TOKEN=vaultfmt:github.com/alice"))
        #expect(try offered("fish", "--env", "vaultfmt", "run", "--env", "TOK").isEmpty)
        #expect(try offered("fish", "--env", "vaultfmt", "run", "--env", "$(x)=").isEmpty)
    }

    @Test("the scripts for zsh and fish offer topics after help; where the shells are there, they accept the scripts")
    func scripts() throws {
        for (shell, words) in [
            ("zsh", "'*:topic:(commands environment exit-codes "),
            ("fish", "\"vaultfmt help\" -eq 1' -fa 'commands env"),
            ("bash", "compgen -W 'commands environment exit-codes "),
        ] {
            let script = try sandbox.ok("--generate-completion-script", shell).output
            #expect(script.contains(words), "\(shell)")
            guard Machine.has(shell) else { continue }
            try sandbox.write("script", script.utf8)
            #expect(try sandbox.run(["-n", "script"], program: "/usr/bin/" + shell).status == 0)
        }
    }

    @Test("it never prompts, not even at a terminal, and says nothing")
    func neverPrompts() throws {
        sandbox.forgetPassphrase()
        let terminal = try PseudoTerminal(
            sandbox, "---completion", "get", "--", "positional@0", "2", "0", "vaultfmt", "get", "")
        #expect(try terminal.finish() == 0)
        #expect(terminal.screen.trimmingCharacters(in: .whitespacesAndNewlines) == "")
        sandbox.environment["VAULTFMT_VAULT"] = sandbox.path("absent")
        let run = try sandbox.ok("---completion", "get", "--", "positional@0", "2", "0", "vaultfmt", "get", "")
        #expect(run.error == "")
        for (command, argument) in [
            ("list", "--folder"), ("list", "--tag"), ("list", "--group"), ("read", "positional@0"),
        ] {
            let run = try sandbox.ok(
                "---completion", command, "--", argument, "3", "0", "vaultfmt", command, argument, "")
            #expect(run.error == "" && run.output.trimmingCharacters(in: .whitespacesAndNewlines) == "")
        }
    }
}
