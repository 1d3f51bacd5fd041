import Foundation
import Testing

/// A sandbox with a repository behind a web server that wants a password.
private struct GitSandbox {
    let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        sandbox.environment["GIT_TERMINAL_PROMPT"] = "0"
        sandbox.environment["GIT_CONFIG_NOSYSTEM"] = "1"
        try sandbox.write("users", "ann:ann's pass=word\nbob:bob's password\n".utf8)
        try sandbox.okShell(
            """
            git config --global user.email test@example.org
            git config --global user.name Test
            git config --global init.defaultBranch main
            git config --global credential.helper vaultfmt
            mkdir srv
            git init -q --bare srv/repo.git
            git -C srv/repo.git config http.receivepack true
            git init -q work
            git -C work commit -q --allow-empty -m first
            git -C work push -q ../srv/repo.git main
            """)
    }

    /// Runs a script while the server runs; `$url` is its address without a scheme.
    func serve(_ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> Run {
        try sandbox.okShell(serving(script), sourceLocation: sourceLocation)
    }

    func serving(_ script: String) -> String {
        let server = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("git_server.py")
            .path
        return """
            rm -f port
            /usr/bin/python3 '\(server)' srv users port >>requests 2>server-errors &
            server=$!
            trap 'kill $server' EXIT
            while [[ ! -e port ]]; do sleep 0.02; done
            url=127.0.0.1:$(<port)
            \(script)
            """
    }

    var log: String {
        get throws { String(decoding: try sandbox.read("requests"), as: UTF8.self) }
    }
}

@Suite("git's credential helper", .enabled(if: Machine.has("git"), "no git here"))
struct GitTests {
    @Test(
        "git clones and pushes over HTTP with a password from an unlocked vault, which it does not write to again",
        .enabled(if: Machine.hasKeyring, "no kernel keyring here"))
    func cloneAndPush() throws {
        let git = try GitSandbox()
        try git.sandbox.unlock()
        let run = try git.serve(
            """
            fails git clone -q http://$url/repo.git early
            printf "ann's pass=word" | vaultfmt set --server 127.0.0.1 --port $(<port) --protocol http --account ann
            git clone -q http://$url/repo.git clone
            cp "$VAULTFMT_VAULT" before
            cd clone
            git commit -q --allow-empty -m second
            git push -q
            git fetch -q
            cd ..
            cmp before "$VAULTFMT_VAULT"
            git -C srv/repo.git log --format=%s main
            """)
        #expect(run.lines == ["second", "first"])
        #expect(try git.log.contains("200 ann /repo.git/git-receive-pack"))
        try git.sandbox.ok("lock")
    }

    @Test(
        "without unlocking, the factors come from the environment as for every command; locked, it says why and gives nothing"
    )
    func withoutUnlocking() throws {
        let git = try GitSandbox()
        let run = try git.serve(
            """
            printf "protocol=http\\nhost=$url\\nusername=ann\\npassword=ann's pass=word\\n" | git credential approve
            git clone -q http://$url/repo.git clone
            unset VAULTFMT_PASSPHRASE
            fails git -C clone fetch
            """)
        #expect(run.error.contains("vaultfmt: no passphrase is given, and --no-input forbids prompting"))
        #expect(run.error.contains("terminal prompts disabled"))
        #expect(try git.sandbox.ok("list").output.hasPrefix("internet-password\t127.0.0.1\tann"))
    }

    @Test("two accounts on one host each get their own password, and the newest is for who names none")
    func twoAccounts() throws {
        let git = try GitSandbox()
        _ = try git.serve(
            """
            printf "protocol=http\\nhost=$url\\nusername=bob\\npassword=bob's password\\n" | git credential approve
            sleep 0.01
            printf "protocol=http\\nhost=$url\\nusername=ann\\npassword=ann's pass=word\\n" | git credential approve
            git clone -q http://bob@$url/repo.git as-bob
            git clone -q http://ann@$url/repo.git as-ann
            git clone -q http://$url/repo.git as-any
            """)
        let fetches = try git.log.split(separator: "\n").filter {
            $0.hasPrefix("200 ") && $0.hasSuffix("/git-upload-pack")
        }
        let users = fetches.map { $0.split(separator: " ")[1] }
        #expect(users.reduce(into: [Substring]()) { if $0.last != $1 { $0.append($1) } } == ["bob", "ann"])
        #expect(try git.sandbox.ok("list").lines.count == 2)
    }

    @Test("a password that the server refuses is erased, and no other")
    func wrongPassword() throws {
        let git = try GitSandbox()
        _ = try git.serve(
            """
            printf "protocol=http\\nhost=$url\\nusername=bob\\npassword=bob's password\\n" | git credential approve
            printf "protocol=http\\nhost=$url\\nusername=ann\\npassword=wrong\\n" | git credential approve
            fails git clone -q http://ann@$url/repo.git clone 2>errors
            grep -q 'Authentication failed' errors
            """)
        let lines = try git.sandbox.ok("list").lines
        #expect(lines.count == 1 && lines[0].contains("\tbob\t"))
    }

    @Test("with credential.useHttpPath each repository has its own password")
    func paths() throws {
        let git = try GitSandbox()
        _ = try git.serve(
            """
            git config --global credential.useHttpPath true
            cp -r srv/repo.git srv/other.git
            printf "protocol=http\\nhost=$url\\npath=repo.git\\nusername=ann\\npassword=ann's pass=word\\n" | git credential approve
            printf "protocol=http\\nhost=$url\\npath=other.git\\nusername=bob\\npassword=bob's password\\n" | git credential approve
            git clone -q http://$url/repo.git
            git clone -q http://$url/other.git
            """)
        #expect(try git.log.contains("200 ann /repo.git/git-upload-pack\n"))
        #expect(try git.log.contains("200 bob /other.git/git-upload-pack\n"))
        #expect(try !git.log.contains("200 ann /other.git"))
    }

    @Test("at a terminal git asks once, the helper keeps the answer, and asks for the vault's passphrase by itself")
    func terminal() throws {
        let git = try GitSandbox()
        git.sandbox.forgetPassphrase()
        git.sandbox.environment["GIT_TERMINAL_PROMPT"] = nil
        let script = git.serving("git clone -q http://ann@$url/repo.git clone; echo cloned: $?")
        let terminal = try PseudoTerminal(git.sandbox, shell: script)
        try terminal.expect("Passphrase for")
        try terminal.answerHidden(Sandbox.passphrase)
        try terminal.expect("Password for 'http://ann@")
        try terminal.answerHidden("ann's pass=word")
        try terminal.expect("Passphrase for")
        try terminal.answerHidden(Sandbox.passphrase)
        try terminal.expect("cloned: 0")
        #expect(try terminal.finish() == 0)
        git.sandbox.environment["VAULTFMT_PASSPHRASE"] = Sandbox.passphrase
        #expect(try git.sandbox.ok("get", "127.0.0.1", "ann").output == "ann's pass=word")
    }
}

@Suite("git's credential protocol")
struct GitProtocolTests {
    private let sandbox: Sandbox

    init() throws { sandbox = try Sandbox.withVault() }

    private func helper(_ operation: String, _ request: String) throws -> String {
        try sandbox.ok("git-credential", operation, input: request.utf8).output
    }

    @Test("the helper is the program under git's name for it")
    func underItsName() throws {
        try sandbox.linkPrograms()
        try sandbox.okShell(
            "git-credential-vaultfmt store", input: "protocol=https\nhost=h\nusername=u\npassword=p\n\n".utf8)
        let run = try sandbox.okShell("git-credential-vaultfmt get", input: "protocol=https\nhost=h\n\n".utf8)
        #expect(run.output == "username=u\npassword=p\n")
    }

    @Test("a login that an import numbered is given under its own user name, and erasing it leaves the other")
    func numbered() throws {
        try sandbox.write(
            "twins.csv",
            "name,url,username,password\nG,https://h.example/,mira,one\nG,https://h.example/,mira,two\n".utf8)
        try sandbox.ok("import", "twins.csv")
        let place = "protocol=https\nhost=h.example\n"
        let given = try helper("get", place + "username=mira\n\n")
        #expect(given == "username=mira\npassword=one\n")
        #expect(try helper("get", place + "\n").hasPrefix("username=mira\npassword="))
        // After success, git stores what it was given: nothing changes.
        _ = try helper("store", place + "username=mira\npassword=two\n\n")
        #expect(try sandbox.ok("list").lines.count == 2)
        #expect(try helper("get", place + "username=mira\n\n") == given)
        _ = try helper("erase", place + "username=mira\npassword=two\n\n")
        #expect(try sandbox.ok("list").lines.count == 1 && helper("get", place + "\n") == given)
    }

    @Test("unknown operations and attributes are ignored, and so is a request without a place")
    func ignored() throws {
        #expect(try helper("frobnicate", "protocol=https\nhost=h\n") == "")
        _ = try helper(
            "store", "protocol=https\nhost=h\nusername=u\npassword=p\nnew_attribute=1\nnew[]=a\nstate[]=other:1\n\n")
        #expect(
            try helper("get", "capability[]=state\nprotocol=https\nhost=h\nnew=2\n\n") == "username=u\npassword=p\n")
        for request in ["", "\n", "protocol=https\n\n", "host=h\n\n", "protocol=https\nhost=h:port\n\n"] {
            #expect(try helper("get", request) == "")
            _ = try helper("erase", request)
        }
        _ = try helper("store", "protocol=https\nhost=h\nusername=only\n\n")
        _ = try helper("store", "protocol=https\nhost=h\npassword=only\n\n")
        #expect(try sandbox.ok("list").lines.count == 1)
    }

    @Test("user names and passwords may be empty, and hold what lines can hold")
    func values() throws {
        _ = try helper("store", "protocol=https\nhost=empty\nusername=\npassword=\n\n")
        #expect(try helper("get", "protocol=https\nhost=empty\n\n") == "username=\npassword=\n")
        #expect(try helper("get", "protocol=https\nhost=empty\nusername=\n\n") == "username=\npassword=\n")
        #expect(try helper("get", "protocol=https\nhost=empty\nusername=x\n\n") == "")
        let odd = " =ünï \t\"\\\u{7F} "
        _ = try helper("store", "protocol=https\nhost=odd\nusername=\(odd)\npassword=\(odd)\n\n")
        #expect(
            try helper("get", "protocol=https\nhost=odd\nusername=\(odd)\n\n") == "username=\(odd)\npassword=\(odd)\n")
        let bytes = Array("protocol=https\nhost=bytes\nusername=u\npassword=".utf8) + [0xFF, 0xFE, 0x0A, 0x0A]
        try sandbox.ok("git-credential", "store", input: bytes)
        #expect(
            try sandbox.ok("git-credential", "get", input: "protocol=https\nhost=bytes\n\n".utf8).bytes.suffix(3) == [
                0xFF, 0xFE, 0x0A,
            ])
    }

    @Test("a name from the vault cannot smuggle another attribute into git")
    func injection() throws {
        try sandbox.ok("set", "--server", "h", "--protocol", "https", "--account", "u\nhost=evil", input: "p".utf8)
        try sandbox.fails(69, "contains a newline", "git-credential", "get", input: "protocol=https\nhost=h\n\n".utf8)
        try sandbox.ok(
            "set", "--server", "i", "--protocol", "https", "--account", "u", "--exact", input: "p\nhost=evil".utf8)
        let run = try sandbox.fails(
            69, "contains a newline", "git-credential", "get", input: "protocol=https\nhost=i\n\n".utf8)
        #expect(run.output == "")
    }

    @Test("ports count, the usual one may be left out, hosts have no case, addresses may have brackets")
    func places() throws {
        _ = try helper("store", "protocol=https\nhost=Example.ORG\nusername=u\npassword=usual\n\n")
        _ = try helper("store", "protocol=https\nhost=example.org:8443\nusername=u\npassword=other\n\n")
        _ = try helper("store", "protocol=https\nhost=[::1]:8443\nusername=u\npassword=six\n\n")
        #expect(try helper("get", "protocol=https\nhost=example.org:443\n\n").hasSuffix("password=usual\n"))
        #expect(try helper("get", "protocol=https\nhost=example.org:8443\n\n").hasSuffix("password=other\n"))
        #expect(try helper("get", "protocol=https\nhost=example.org:9\n\n") == "")
        #expect(try helper("get", "protocol=http\nhost=example.org\n\n") == "")
        #expect(try helper("get", "protocol=https\nhost=[::1]:8443\n\n").hasSuffix("password=six\n"))
        #expect(try sandbox.ok("get", "::1", "u").output == "six")
    }

    @Test("a host or a port that no server can have is named: nothing is stored, which is exit 64, and nothing matches")
    func invalidHost() throws {
        _ = try helper("store", "protocol=https\nhost=h\nusername=u\npassword=p\n\n")
        let before = try sandbox.read("test.vault")
        let port = "a port that is not a number from 1 to 65535"
        let name = "a host that is neither a name nor an address in brackets"
        for (host, flaw) in [
            ("h:65536", port), ("h:70000", port), ("h:99999999999", port), ("h:x", port), ("h:+443", port),
            ("h:00443", port), ("h:0", port), ("h:", port), ("[::1]:0", port), ("[::1", name), ("::1", name),
            ("[::1]443", name), ("[]", name), (":443", name), ("a[b]", name),
        ] {
            let place = "protocol=https\nhost=\(host)\nusername=u\n"
            let run = try sandbox.fails(
                64, "\(flaw), so the password was not stored", "git-credential",
                "store", input: (place + "password=p\n\n").utf8)
            #expect(run.error.split(separator: "\n").count == 1, "\(run.error)")
            for operation in ["get", "erase"] {
                let other = try sandbox.ok("git-credential", operation, input: (place + "\n").utf8)
                #expect(other.output == "" && other.error.contains("matches nothing"), "\(other.error)")
            }
        }
        #expect(try sandbox.read("test.vault") == before)
        _ = try helper("store", "protocol=https\nhost=h:65535\nusername=u\npassword=last\n\n")
        #expect(try helper("get", "protocol=https\nhost=h:65535\n\n").hasSuffix("password=last\n"))
    }

    @Test("an item without a protocol is for https, and never sent in clear")
    func noProtocol() throws {
        try sandbox.ok("set", "--server", "example.org", "--account", "u", input: "p".utf8)
        #expect(try helper("get", "protocol=https\nhost=example.org\n\n") == "username=u\npassword=p\n")
        #expect(try helper("get", "protocol=http\nhost=example.org\n\n") == "")
    }

    /// The class of H1: each field of a request in each of these forms.
    private static let fields = [
        "protocol", "host", "path", "username", "password", "password_expiry_utc", "oauth_refresh_token", "authtype",
        "credential",
        "ephemeral", "url",
    ]

    @Test(
        "H1: a field that cannot be understood names nothing: no password is given, stored or erased", arguments: fields
    )
    func flawedFields(_ field: String) throws {
        for (path, user) in [("one", "ann"), ("two", "bob")] {
            _ = try helper("store", "protocol=https\nhost=h\npath=\(path)\nusername=\(user)\npassword=of \(path)\n\n")
        }
        let before = try sandbox.read("test.vault")
        for form in Self.forms(of: field) {
            let line = Array(field.utf8) + form.bytes + [0x0A]
            for operation in ["get", "erase", "store"] {
                let others =
                    ["protocol=https\n", "host=h\n"] + (operation == "store" ? ["username=eve\n", "password=p\n"] : [])
                let request = others.filter { !$0.hasPrefix(field + "=") }.flatMap { Array($0.utf8) } + line + [0x0A]
                let run = try sandbox.run("git-credential", operation, input: request)
                #expect(run.output == "", "\(operation), \(form.name): \(run.output)")
                #expect(run.status == 0 || form.name == "too long", "\(operation), \(form.name): \(run.error)")
                #expect(
                    try sandbox.read("test.vault") == before,
                    "\(operation), \(form.name): the vault was changed: \(run.error)")
            }
        }
    }

    private static func forms(of field: String) -> [(name: String, bytes: [UInt8])] {
        var forms: [(name: String, bytes: [UInt8])] = [
            ("twice", Array("=x\n\(field)=y".utf8)), ("twice the same", Array("=https\n\(field)=https".utf8)),
            ("zero byte", Array("=o\u{0}e".utf8)), ("no value", []),
        ]
        // Any bytes are a password; and what is only long is understood.
        if !["password", "oauth_refresh_token", "credential"].contains(field) {
            forms += [("not UTF-8", [0x3D, 0x6F, 0xFF, 0x65]), ("lone continuation", [0x3D, 0x80])]
        }
        if ["protocol", "host", "path", "username"].contains(field) {
            forms.append(("too long", [0x3D] + [UInt8](repeating: 0x78, count: 70_000)))
        }
        return forms
    }

    @Test("H1: schemes that are not UTF-8 are not none, so that a token of another scheme is not given")
    func flawedSchemes() throws {
        let place = "capability[]=authtype\nprotocol=https\nhost=h\n"
        _ = try helper("store", place + "authtype=Bearer\ncredential=aGVsbG8=\n\n")
        let request = Array((place + "wwwauth[]=").utf8) + [0xFF, 0xFE, 0x0A, 0x0A]
        #expect(try sandbox.ok("git-credential", "get", input: request).output == "")
    }

    @Test(
        "E2: a mistyped passphrase is asked for again; after three, and killed at the question, git is told to stop",
        arguments: [0, SIGTERM, SIGKILL])
    func quits(_ signal: Int32) throws {
        _ = try helper("store", "protocol=https\nhost=h\nusername=u\npassword=p\n\n")
        sandbox.forgetPassphrase()
        let script =
            #"printf 'protocol=https\nhost=h\n\n' | "$0" git-credential get >answer & echo "pid=$!;"; wait $!; echo "status=$?;""#
        let terminal = try PseudoTerminal(sandbox, shell: script, hasJobs: false)
        try terminal.expect("Passphrase for")
        if signal != 0 {
            let pid = terminal.screen.components(separatedBy: "pid=").last?.prefix { $0 != ";" } ?? ""
            kill(try #require(pid_t(pid)), signal)
            try terminal.expect("status=\(128 + signal);")
        } else {
            try terminal.answerHidden("wrong")
            for _ in 0..<2 {
                try terminal.expect("try again")
                try terminal.expect("Passphrase for")
                try terminal.answerHidden("wrong")
            }
            try terminal.expect("status=77;")
        }
        #expect(try terminal.finish() == 0)
        try Patience.until("git is answered") { try !sandbox.read("answer").isEmpty }
        #expect(try sandbox.read("answer") == Array("quit=1\n".utf8))
    }

    @Test("a certificate's passphrase has a path and no host")
    func certificate() throws {
        _ = try helper("store", "protocol=cert\npath=/etc/client.pem\nusername=\npassword=p\n\n")
        #expect(try helper("get", "protocol=cert\npath=/etc/client.pem\nusername=\n\n") == "username=\npassword=p\n")
        #expect(try helper("get", "protocol=cert\npath=/etc/other.pem\nusername=\n\n") == "")
    }

    @Test("erase removes all that match; with a password only what has it")
    func erase() throws {
        for (user, password) in [("a", "1"), ("b", "2"), ("c", "1")] {
            _ = try helper("store", "protocol=https\nhost=h\nusername=\(user)\npassword=\(password)\n\n")
        }
        _ = try helper("store", "protocol=https\nhost=elsewhere\nusername=a\npassword=1\n\n")
        _ = try helper("erase", "protocol=https\nhost=h\nusername=b\npassword=1\n\n")
        #expect(try sandbox.ok("list").lines.count == 4)
        _ = try helper("erase", "protocol=https\nhost=h\nusername=b\npassword=2\n\n")
        #expect(try sandbox.ok("list").lines.count == 3)
        _ = try helper("erase", "protocol=https\nhost=h\npassword=1\n\n")
        #expect(try sandbox.ok("list").lines.count == 1)
        for user in ["a", "b"] { _ = try helper("store", "protocol=https\nhost=h\nusername=\(user)\npassword=p\n\n") }
        _ = try helper("erase", "protocol=https\nhost=h\n\n")
        let rest = try sandbox.ok("list").lines
        #expect(rest.count == 1 && rest[0].contains("\telsewhere\t"))
    }

    @Test("the expiry and the refresh token of a password come back with it, and go when it is stored without them")
    func expiry() throws {
        let place = "protocol=https\nhost=h\n"
        _ = try helper(
            "store", place + "username=u\npassword=p\npassword_expiry_utc=1893456000\noauth_refresh_token=r-token\n\n")
        #expect(
            try helper("get", place + "\n")
                == "username=u\npassword=p\npassword_expiry_utc=1893456000\noauth_refresh_token=r-token\n")
        #expect(!(try sandbox.ok("list", "--json").output.contains("r-token")))
        _ = try helper("store", place + "username=u\npassword=p\n\n")
        #expect(try helper("get", place + "\n") == "username=u\npassword=p\n")
    }

    /// As git 2.46 and later speak: each line of a conversation in the order of its documentation.
    @Test("capability and authtype: a credential of another scheme comes back to who knows schemes, and to nobody else")
    func authenticationTypes() throws {
        let place = "capability[]=authtype\ncapability[]=state\nprotocol=https\nhost=h\n"
        let offers = "wwwauth[]=Basic realm=\"h\"\nwwwauth[]=Bearer realm=\"h\" error=\"invalid_token\"\n"
        _ = try helper("store", place + offers + "authtype=Bearer\ncredential=aGVsbG8=\n\n")
        let answer = "capability[]=authtype\nauthtype=Bearer\ncredential=aGVsbG8=\n"
        #expect(try helper("get", place + offers + "\n") == answer)
        #expect(try helper("get", place + "\n") == answer)
        #expect(try helper("get", place + "wwwauth[]=Basic realm=\"h\"\n\n") == "")
        #expect(try helper("get", place + "wwwauth[]=Basic\nwwwauth[]=\nwwwauth[]=bearer\n\n") == answer)
        #expect(try helper("get", "protocol=https\nhost=h\n\n") == "")
        #expect(try helper("get", "capability[]=authtype\ncapability[]=\nprotocol=https\nhost=h\n\n") == "")
        // A password beside it is for the others.
        _ = try helper("store", "protocol=https\nhost=h\nusername=u\npassword=p\n\n")
        #expect(try helper("get", "protocol=https\nhost=h\n\n") == "username=u\npassword=p\n")
        // What is not worth keeping is not kept.
        _ = try helper("store", place + "authtype=Negotiate\ncredential=x\nephemeral=1\n\n")
        #expect(try sandbox.ok("list").lines.count == 2)
        // A token that failed goes; the password stays.
        _ = try helper("erase", place + "authtype=Bearer\ncredential=other\n\n")
        #expect(try sandbox.ok("list").lines.count == 2)
        _ = try helper("erase", place + "authtype=Bearer\ncredential=aGVsbG8=\n\n")
        #expect(try helper("get", place + "\n") == "username=u\npassword=p\n")
    }
}
