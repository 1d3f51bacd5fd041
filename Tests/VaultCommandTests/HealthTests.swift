import Crypto
import Foundation
import Testing

/// `check`.
@Suite("Health")
struct HealthTests {
    private static let strong = "kV7#pQ2z!mX9wR4t&Lb8"

    private func findings(_ run: Run) throws -> [(kind: String, services: [String])] {
        let report = try #require(try run.json() as? [String: Any])
        return try #require(report["findings"] as? [[String: Any]]).map { finding in
            let items = finding["items"] as? [[String: Any]] ?? []
            return (finding["kind"] as? String ?? "", items.map { $0["service"] as? String ?? "" })
        }
    }

    @Test("a damaged item does not keep the others from being checked: it is named, with exit code 3")
    func damaged() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: Self.strong.utf8)
        // What the newest commit has written itself would be an incomplete commit.
        try sandbox.ok("set", "easy", input: "123456".utf8)
        try sandbox.damageRecord(of: "svc", "ann")
        let run = try sandbox.run("check", "--json")
        #expect(run.status == 3 && run.error.contains("not checked, because it is damaged: "), "\(run.error)")
        #expect(run.error.contains("the secret of generic-password 'svc' 'ann' cannot be read"), "\(run.error)")
        #expect(try findings(run).contains { $0.services == ["easy"] })
        let report = try #require(try run.json() as? [String: Any])
        #expect((report["notChecked"] as? [[String: Any]])?.map { $0["service"] as? String } == ["svc"])
        try sandbox.ok("rekey", "--kdf-memory", "19MiB", "--kdf-passes", "2")
        try sandbox.ok("update", "easy", "--attribute", "check=off")
        try sandbox.fails(3, "1 item could not be checked, because of damage", "check")
    }

    @Test("weak and reused passwords are named, never shown; nothing found is exit 0, something 3")
    func weakAndReused() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "good", input: Self.strong.utf8)
        try sandbox.ok("rekey", "--kdf-memory", "19MiB", "--kdf-passes", "2")
        #expect(try sandbox.ok("check").output.contains("nothing found in 1 item"))
        try sandbox.ok("set", "easy", input: "123456".utf8)
        try sandbox.ok("set", "season", input: "Summer2024".utf8)
        try sandbox.ok("set", "twin", input: Self.strong.utf8)
        try sandbox.ok("set", "empty", "--allow-empty", input: "".utf8)
        try sandbox.ok("set", "empty2", "--allow-empty", input: "".utf8)
        let run = try sandbox.fails(3, "3 findings in 6 items", "check")
        #expect(run.lines.count == 3 && !run.output.contains("123456") && !run.output.contains(Self.strong))
        let found = try findings(sandbox.run("check", "--json"))
        #expect(found.map(\.kind) == ["weak", "weak", "reused"])
        #expect(Set(found.prefix(2).flatMap(\.services)) == ["easy", "season"])
        #expect(found.last?.services == ["good", "twin"])
        // What is meant to be so is left out, and said.
        for service in ["easy", "season", "twin"] { try sandbox.ok("update", service, "--attribute", "check=off") }
        #expect(try sandbox.ok("check").output.contains("left out by check=off: generic-password 'easy'"))
    }

    @Test("leaked passwords are found in a sorted list of hashes, wherever in it; another file is refused")
    func leaked() throws {
        let sandbox = try Sandbox.withVault()
        let passwords = (0..<12).map { "\(Self.strong)-\($0)" }
        for (index, password) in passwords.enumerated() { try sandbox.ok("set", "s\(index)", input: password.utf8) }
        func hash(_ text: String) -> String {
            Insecure.SHA1.hash(data: Data(text.utf8)).map {
                ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true)
            }.joined()
        }
        var hashes = (0..<500).map { hash("other \($0)") } + [passwords[3], passwords[7]].map(hash)
        hashes.sort()
        // The first and the last line, too.
        let ends = ["0000000000000000000000000000000000000000", "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"]
        let lines = ([ends[0]] + hashes + [ends[1]]).enumerated().map { "\($1):\($0 + 1)" }
        let list = try sandbox.write("list", (lines.joined(separator: "\r\n") + "\r\n").utf8)
        let found = try findings(sandbox.run("check", "--json", "--hibp", list)).filter { $0.kind == "leaked" }
        #expect(Set(found.flatMap(\.services)) == ["s3", "s7"])
        let first = try sandbox.write("first", "\(hash(passwords[0])):9".utf8)
        #expect(
            try sandbox.run("check", "--hibp", first).output.contains(
                "leaked: generic-password 's0' '': its password was seen 9 times"))
        try sandbox.fails(65, "not a sorted list", "check", "--hibp", try sandbox.write("words", "password\n".utf8))
        // In another order, a search would miss what is there.
        var swapped = lines
        swapped.swapAt(250, 251)
        let many = (0..<5000).map { hash("number \($0)") + ":1" }
        for (index, unsorted) in [swapped, many].enumerated() {
            let list = try sandbox.write("unsorted-\(index)", (unsorted.joined(separator: "\r\n") + "\r\n").utf8)
            try sandbox.fails(65, "its lines are not sorted", "check", "--hibp", list)
        }
        try sandbox.fails(65, "it is empty", "check", "--hibp", try sandbox.write("none", "".utf8))
        try sandbox.fails(66, "cannot open the list", "check", "--hibp", "nothing")
    }

    @Test("missing second factors, open addresses, dates, weak slots and open files are found where they are asked for")
    func listed() throws {
        let sandbox = try Sandbox.withVault()
        let past = "2020-01-31T00:00:00Z"
        try sandbox.ok(
            "set", "card", "ann", "--attribute", "expires=\(past)", "--attribute", "url=http://shop.example/login",
            input: Self.strong.utf8)
        try sandbox.ok("set", "local", "--attribute", "url=http://localhost:8080", input: "\(Self.strong)2".utf8)
        chmod(sandbox.vault, 0o640)
        let kinds = try findings(sandbox.run("check", "--json", "--second-factor")).map(\.kind)
        #expect(Set(kinds) == ["expired", "noSecondFactor", "unencryptedAddress", "weakSlot", "openFile"])
        #expect(kinds.count == 5)
        #expect(!(try findings(sandbox.run("check", "--json", "--older-than", "1d")).map(\.kind).contains("old")))
        try sandbox.fails(64, "--older-than", "check", "--older-than", "0y")
        sandbox.environment["VAULTFMT_PASSPHRASE"] = "wrong"
        try sandbox.fails(77, "wrong passphrase", "check")
    }

    @Test("what an import brings is judged by what it is: open addresses in keys, numbered logins, cards and notes")
    func imported() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("rekey", "--kdf-memory", "19MiB", "--kdf-passes", "2")
        try sandbox.ok(
            "set", "--server", "plain.example.org", "--protocol", "http", "--account", "al", input: Self.strong.utf8)
        try sandbox.write(
            "twins.csv",
            "name,url,username,password\nT,https://tw.example.com/,al,\(Self.strong)a\nT,https://tw.example.com/,al,\(Self.strong)b\n"
                .utf8)
        try sandbox.ok("import", "twins.csv")
        try sandbox.ok("set", "card", "--description", "card", input: "4111111111111111".utf8)
        let kinds = try findings(try sandbox.run("check", "--json")).map(\.kind).sorted()
        #expect(kinds == ["repeated", "unencryptedAddress"], "\(kinds)")
    }

    @Test("attributes give dates, intervals and exemptions; a login that is stored twice is found")
    func attributes() throws {
        let sandbox = try Sandbox.withVault()
        let attributes = ["card": "expires=2020-01-31", "far": "expires=2999-12-31", "bike": "check=off"]
        for (name, attribute) in attributes {
            try sandbox.ok("set", name, "--attribute", attribute, input: "\(Self.strong)\(name)".utf8)
        }
        for (name, url) in [("Ebay", "https://www.ebay.com/"), ("ebay.com", "https://ebay.com/signin")] {
            try sandbox.ok("set", name, "mira", "--attribute", "url=\(url)", input: "\(Self.strong)\(name)".utf8)
        }
        try sandbox.ok("set", "Ebay", "tom", "--attribute", "url=https://ebay.com", input: "\(Self.strong)tom".utf8)
        let found = try findings(sandbox.run("check", "--json")).filter { $0.kind != "weakSlot" }
        #expect(found.map(\.kind).sorted() == ["expired", "repeated"])
        #expect(found.contains { $0.kind == "repeated" && $0.services == ["Ebay", "ebay.com"] })
        #expect(try sandbox.run("check").output.contains("left out by check=off: generic-password 'bike' ''"))
        try sandbox.ok("set", "young", "--attribute", "change-every=90d", input: "\(Self.strong)young".utf8)
        #expect(!(try sandbox.run("check").output.contains("young")))
        #expect(try sandbox.ok("show", "young").output.contains("change due\t"))
        try sandbox.fails(64, "--attribute check=off", "check", "--ignore", "x")
        try sandbox.fails(64, "did you mean '--second-factor'?", "check", "--no-otp")
        try sandbox.fails(64, "--attribute expires=2026-12-31", "update", "card", "--expires", "x")
    }
}
