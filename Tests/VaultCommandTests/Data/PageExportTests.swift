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

    @Test("what makes no sense for it is refused, and nothing is written")
    func refused() throws {
        let sandbox = try Sandbox.withVault()
        let words = ["export", "--output", "page.html", "--format"]
        for (arguments, message) in [
            (words + ["html", "--service", "a"], "a page has the whole vault"),
            (words + ["html", "--new-passphrase-file", "p"], "a page has the whole vault"),
            (words + ["json", "--with-vault"], "--with-vault requires --format html"),
            (words + ["html", sandbox.path("test.vault")], "--with-vault puts the vault into the page"),
            (["export", "--output", "page.html"], "give --format html"),
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
