import Foundation
import Testing

@Suite("export --format html: a page that opens a vault in a browser")
struct PageExportTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The page as the tool that assembles it makes it.
    private func assembled(_ sandbox: Sandbox, _ more: [String] = []) throws -> [UInt8] {
        let run = try sandbox.run(
            [
                "python3", Self.root.appendingPathComponent("Tools/page/assemble").path, "--output",
                sandbox.path("assembled.html"),
            ] + more, program: "/usr/bin/env")
        #expect(run.status == 0, "\(run.error)")
        return try sandbox.read("assembled.html")
    }

    @Test("without a vault, it is what its sources make, the same each time; its hash is printed; no factor is needed")
    func empty() throws {
        let sandbox = try Sandbox()
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let said = try sandbox.ok("export", "--format", "html", "--output", "page.html").error
        let page = try sandbox.read("page.html")
        #expect(try page == assembled(sandbox))
        #expect(page.count <= 400_000)
        let hash = try sandbox.run([sandbox.path("page.html")], program: "/usr/bin/sha256sum").output.prefix(64)
        #expect(said.contains("a page without a vault, SHA-256 \(hash)"), "\(said)")
        #expect(try sandbox.ok("export", "--format", "html").bytes == page)
        try sandbox.fails(73, "already exists", "export", "--format", "html", "--output", "page.html")
    }

    @Test("with a vault, it has the vault's bytes as they are, under a name that cannot be anything but text")
    func withVault() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "s3cret".utf8)
        let name = "a \"><script>alert(1)<!--&amp;'é\u{202E}.vault"
        try FileManager.default.copyItem(atPath: sandbox.path("test.vault"), toPath: sandbox.path(name))
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        for vault in ["test.vault", name] {
            let page = "\(vault.utf8.count).html"
            try sandbox.ok("export", sandbox.path(vault), "--format", "html", "--with-vault", "--output", page)
            #expect(try sandbox.read(page) == assembled(sandbox, ["--vault", sandbox.path(vault)]))
            let text = String(decoding: try sandbox.read(page), as: UTF8.self)
            let bytes = try Data(sandbox.read(vault))
            #expect(text.contains(">\(bytes.base64EncodedString())<"))
            #expect(!text.contains("<script>alert") && !text.contains("s3cret"))
        }
    }

    @Test("inspect --html writes a page with each frame's place and nothing that is sealed, and asks for no factor")
    func outline() throws {
        let sandbox = try Sandbox.withVault()
        for number in 1...3 { try sandbox.ok("set", "svc", "ann", input: "s3cret \(number)".utf8) }
        sandbox.environment["VAULTFMT_PASSPHRASE"] = nil
        let vault = try sandbox.read("test.vault")
        let said = try sandbox.ok("inspect", sandbox.vault, "--html", "page.html").error
        let page = try sandbox.read("page.html")
        let hash = try sandbox.run([sandbox.path("page.html")], program: "/usr/bin/sha256sum").output.prefix(64)
        #expect(said.contains("without its contents, SHA-256 \(hash)"), "\(said)")
        let text = String(decoding: page, as: UTF8.self)
        let begin = try #require(text.range(of: #"data-name="test.vault">"#)).upperBound
        let end = try #require(text[begin...].range(of: "</script>")).lowerBound
        let outline = try #require(
            try JSONSerialization.jsonObject(with: Data(text[begin..<end].utf8)) as? [String: Any])
        #expect(Set(outline.keys) == ["vault", "version", "size", "slots", "stretches"])
        #expect((outline["slots"] as? [[String: Any]])?.map { Set($0.keys) } == [["type", "factors", "kdf"]])
        let numbers = try #require(outline["stretches"] as? [Int])
        let types = ["vREC": 2, "vPAG": 3, "vPST": 4, "vKEY": 5, "vVEC": 6, "vCMT": 7]
        var (offset, kinds) = (0, Set<Int>())
        for index in stride(from: 0, to: numbers.count, by: 2) {
            let (kind, length) = (numbers[index], numbers[index + 1])
            kinds.insert(kind)
            let head = Array(vault[offset..<min(offset + 8, vault.count)])
            if let type = types[String(decoding: head.prefix(4), as: UTF8.self)] {
                let stated = head.suffix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
                #expect(kind == type && length == stated, "at \(offset)")
            } else {
                #expect(kind <= 1 || kind == 8, "at \(offset)")
            }
            offset += length
        }
        #expect(offset == vault.count && outline["size"] as? Int == vault.count && kinds.count >= 8)
        // The rest of the page is the page without a vault.
        let empty = String(decoding: try assembled(sandbox), as: UTF8.self)
        #expect(
            text.replacing(text[begin..<end], with: "").replacing(#"data-name="test.vault""#, with: #"data-name="""#)
                == empty)
        // What is cut or torn is there, too.
        try sandbox.write("torn.vault", vault.dropLast(3000) + [1, 2, 3])
        try sandbox.ok("inspect", sandbox.path("torn.vault"), "--html", "torn.html")
        try sandbox.fails(73, "already exists", "inspect", sandbox.vault, "--html", "page.html")
        try sandbox.fails(64, "cannot be combined", "inspect", sandbox.vault, "--html", "other.html", "--json")
        try sandbox.fails(66, "none.vault", "inspect", sandbox.path("none.vault"), "--html", "none.html")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("none.html")))
    }

    @Test("what makes no sense for it is refused, and nothing is written")
    func refused() throws {
        let sandbox = try Sandbox.withVault()
        let words = ["export", "--output", "page.html", "--format"]
        for (arguments, message) in [
            (words + ["html", "--service", "a"], "a page contains the whole vault"),
            (words + ["html", "--new-passphrase-file", "p"], "a page contains the whole vault"),
            (words + ["json", "--with-vault"], "--with-vault requires --format html"),
            (words + ["html", sandbox.path("test.vault")], "--with-vault embeds the vault in the page"),
            (["export", "--output", "page.html"], "use --format html"),
        ] {
            let run = try sandbox.run(arguments)
            #expect(run.status == 64 && run.error.contains(message), "\(arguments): \(run.error)")
        }
        try sandbox.write("no.vault", "this is no vault".utf8)
        try sandbox.fails(
            65, "not a vault", "export", sandbox.path("no.vault"), "--format", "html", "--with-vault", "--output",
            "page.html")
        try sandbox.fails(
            66, "none.vault", "export", sandbox.path("none.vault"), "--format", "html", "--with-vault", "--output",
            "page.html")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("page.html")))
    }
}
