import Foundation
import Testing

@Suite("docker's credential helper")
struct DockerTests {
    private let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
    }

    private func helper(_ operation: String, _ request: String) throws -> Run {
        try sandbox.shell("docker-credential-vaultfmt \(operation)", input: request.utf8)
    }

    private func store(_ server: String, _ user: String, _ secret: String) throws -> Run {
        let data = try JSONSerialization.data(withJSONObject: ["ServerURL": server, "Username": user, "Secret": secret])
        return try helper("store", String(decoding: data, as: UTF8.self))
    }

    @Test("what is stored is got, listed and erased")
    func roundTrip() throws {
        let servers = [
            "https://index.docker.io/v1/", "ghcr.io", "registry.example.org:5000", "http://127.0.0.1:5000",
            "https://example.org/v2/?a=b#c",
        ]
        for server in servers {
            let run = try store(server, "user \"of\" \(server)", "s€cret\n\"\\ of \(server)")
            #expect(run.status == 0 && run.output == "")
        }
        for server in servers {
            let answer = try #require(try helper("get", server + "\n").json() as? [String: String])
            #expect(
                answer == [
                    "ServerURL": server, "Username": "user \"of\" \(server)", "Secret": "s€cret\n\"\\ of \(server)",
                ])
        }
        let users = Dictionary(uniqueKeysWithValues: servers.map { ($0, "user \"of\" \($0)") })
        #expect(try helper("list", "").json() as? [String: String] == users)
        #expect(try helper("erase", "ghcr.io").status == 0)
        #expect(try helper("erase", "ghcr.io").status == 0)
        #expect((try helper("list", "").json() as? [String: String])?.count == servers.count - 1)
    }

    @Test("the sentences that docker's clients look for are on standard output, with exit code 1")
    func sentences() throws {
        let cases = [
            ("get", "absent.example.org", "credentials not found in native keychain"),
            ("get", "\n", "no credentials server URL"),
            ("erase", "", "no credentials server URL"),
            ("store", #"{"ServerURL":"","Username":"u","Secret":"s"}"#, "no credentials server URL"),
            ("store", #"{"ServerURL":"s","Username":"","Secret":"s"}"#, "no credentials username"),
        ]
        for (operation, request, sentence) in cases {
            let run = try helper(operation, request)
            #expect(run.status == 1 && run.output == sentence + "\n", "\(operation): \(run.output)")
        }
        #expect(try helper("store", "{}").status == 1)
        #expect(try helper("frobnicate", "").status == 1)
        #expect(try helper("version", "").output.contains("."))
        sandbox.forgetPassphrase()
        let locked = try helper("get", "absent.example.org")
        #expect(locked.status == 1 && locked.output.contains("no terminal") && locked.error.contains("no terminal"))
    }

    @Test("H1: a field of docker's request that cannot be understood stores, gives and erases nothing")
    func flawedFields() throws {
        _ = try store("s", "u", "kept")
        let before = try sandbox.read("test.vault")
        for field in ["ServerURL", "Username", "Secret"] {
            let others = ["ServerURL", "Username", "Secret"].filter { $0 != field }.map { "\"\($0)\": \"s\"" }
            for (form, text) in [
                ("missing", []), ("twice", ["\"\(field)\": \"s\"", "\"\(field)\": \"t\""]),
                ("twice the same", ["\"\(field)\": \"s\"", "\"\(field)\": \"s\""]), ("null", ["\"\(field)\": null"]),
                (
                    "escaped",
                    [
                        "\"\(field)\": \"s\"",
                        "\"\\u00\(String(field.utf8.first ?? 0, radix: 16))\(field.dropFirst())\": \"t\"",
                    ]
                ),
                ("lone surrogate", ["\"\(field)\": \"\\ud800\""]),
            ] {
                let run = try helper("store", "{" + (others + text).joined(separator: ", ") + "}")
                #expect(run.status == 1, "\(field) \(form): \(run.output)")
                #expect(try sandbox.read("test.vault") == before, "\(field) \(form)")
            }
            let bytes =
                Array("{".utf8) + Array(others.joined(separator: ", ").utf8) + Array(", \"\(field)\": \"a".utf8) + [
                    0xFF, 0x22, 0x7D,
                ]
            #expect(try sandbox.shell("docker-credential-vaultfmt store", input: bytes).status == 1)
        }
        for field in ["ServerURL", "Username"] {
            let others = ["ServerURL", "Username", "Secret"].filter { $0 != field }.map { "\"\($0)\": \"s\"" }
            #expect(
                try helper("store", "{" + (others + ["\"\(field)\": \"a\\u0000b\""]).joined(separator: ", ") + "}")
                    .status == 1)
        }
        for request in [[0x73, 0xFF], [0x80], [0x73, 0], Array("s\ns".utf8), [UInt8](repeating: 0x73, count: 60_000)]
            as [[UInt8]]
        {
            for operation in ["get", "erase"] {
                let run = try sandbox.shell("docker-credential-vaultfmt \(operation)", input: request)
                #expect(!run.output.contains("kept"), "\(operation): \(run.output)")
            }
        }
        #expect(try sandbox.read("test.vault") == before)
    }

    @Test("a server has one user; an item of git at the same server is another item, and neither sees the other's")
    func separate() throws {
        let place = "protocol=https\nhost=ghcr.io\n"
        try sandbox.ok("git-credential", "store", input: (place + "username=ann\npassword=for git\n\n").utf8)
        _ = try store("https://ghcr.io", "ann", "for docker")
        #expect(
            try sandbox.ok("git-credential", "get", input: (place + "\n").utf8).output
                == "username=ann\npassword=for git\n")
        _ = try store("https://ghcr.io", "bob", "for bob")
        #expect((try helper("get", "https://ghcr.io").json() as? [String: String])?["Username"] == "bob")
        #expect(try helper("list", "").json() as? [String: String] == ["https://ghcr.io": "bob"])
        #expect(try sandbox.ok("list").lines.count == 2)
    }

    @Test(
        "docker's Python client finds, stores, lists and erases through it",
        .enabled(if: Machine.hasDockerClient, "no docker for Python here"))
    func pythonClient() throws {
        try sandbox.write(
            "client.py",
            """
            from docker.auth import AuthConfig, load_config
            from docker.credentials import CredentialsNotFound, Store

            store = Store("vaultfmt")
            try:
                store.get("registry.example.org")
                raise SystemExit("found what is not there")
            except CredentialsNotFound:
                pass
            store.store("registry.example.org", "ann", "s3cret")
            store.store("https://index.docker.io/v1/", "bob", "other")
            assert store.get("registry.example.org") == {
                "ServerURL": "registry.example.org", "Username": "ann", "Secret": "s3cret"
            }
            assert store.list() == {"registry.example.org": "ann", "https://index.docker.io/v1/": "bob"}
            config = load_config("config.json")
            assert config.resolve_authconfig("registry.example.org") == {
                "ServerAddress": "registry.example.org", "Username": "ann", "Password": "s3cret"
            }
            assert config.resolve_authconfig()["Username"] == "bob"
            assert config.resolve_authconfig("absent.example.org") is None
            store.erase("registry.example.org")
            assert store.list() == {"https://index.docker.io/v1/": "bob"}
            """.utf8)
        try sandbox.write("config.json", #"{"credsStore": "vaultfmt"}"#.utf8)
        try sandbox.okShell("/usr/bin/python3 -W ignore client.py")
    }
}

extension Machine {
    static let hasDockerClient = access("/usr/lib/python3/dist-packages/docker/credentials/store.py", R_OK) == 0
}
