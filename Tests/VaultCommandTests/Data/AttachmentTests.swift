import Foundation
import Testing

@Suite("attachments")
struct AttachmentTests {
    @Test("a file attached to an item is shown with its size, and comes back byte for byte by its name")
    func whole() throws {
        let sandbox = try Sandbox.withVault()
        let scan = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        try sandbox.ok("set", "passport", "ann", input: "s3cret".utf8)
        try sandbox.ok("update", "passport", "--attach", sandbox.write("scan of it.pdf", scan))
        let shown = try sandbox.ok("show", "passport").lines
        #expect(shown.contains("file:scan of it.pdf\t(hidden; 2.9 MiB)"), "\(shown)")
        for field in ["scan of it.pdf", "file:scan of it.pdf"] {
            #expect(try sandbox.ok("get", "passport", "--field", field).bytes == scan)
        }
        #expect(try sandbox.ok("get", "passport").output == "s3cret")
        // The file is still there after the secret was replaced, and is not stored a second time.
        let size = try sandbox.read("test.vault").count
        try sandbox.ok("set", "passport", "ann", input: "other".utf8)
        #expect(try sandbox.read("test.vault").count - size < 100_000)
        #expect(try sandbox.ok("get", "passport", "--field", "scan of it.pdf").bytes == scan)
    }

    @Test("several files, small and empty ones, are attached to a new item; each is removed or replaced by name")
    func several() throws {
        let sandbox = try Sandbox.withVault()
        try FileManager.default.createDirectory(atPath: sandbox.path("other"), withIntermediateDirectories: true)
        let other = try sandbox.write("other/a.txt", "two".utf8)
        try sandbox.ok(
            "add", "server", "--attach", sandbox.write("a.txt", "one".utf8), "--attach", sandbox.write("empty", []),
            input: "s".utf8)
        #expect(try sandbox.ok("show", "server").lines.contains("file:a.txt\t(hidden; 3 B)"))
        #expect(try sandbox.ok("get", "server", "--field", "empty").output == "")
        try sandbox.ok("update", "server", "--attach", other)
        #expect(try sandbox.ok("get", "server", "--field", "a.txt").output == "two")
        #expect(try sandbox.ok("get", "server", "--field", "a.txt", "--earlier", "1").output == "one")
        try sandbox.ok("update", "server", "--remove-attribute", "file:a.txt")
        try sandbox.fails(1, "no field 'a.txt'", "get", "server", "--field", "a.txt")
        try sandbox.fails(
            64, "two attachments are named 'a.txt'", "update", "server", "--attach", sandbox.path("a.txt"), "--attach",
            other)
        try sandbox.fails(66, "cannot open file to attach", "update", "server", "--attach", "missing.pdf")
    }

    @Test("a pipe has no name that an attachment could have, so it is given one; a file may be given another one")
    func named() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        try sandbox.ok("set", "server", input: "s".utf8)
        try sandbox.ok("update", "server", "--attach", "notes.txt=/dev/stdin", input: "piped".utf8)
        #expect(try sandbox.ok("get", "server", "--field", "notes.txt").output == "piped")
        try sandbox.okShell("vaultfmt update server --attach config=<(printf one)")
        #expect(try sandbox.ok("get", "server", "--field", "config").output == "one")
        try sandbox.ok("update", "server", "--attach", "b.txt=" + sandbox.write("a.txt", "a".utf8))
        #expect(try sandbox.ok("get", "server", "--field", "b.txt").output == "a")
        // If a file has the whole word as its path, the word means that file.
        try sandbox.write("x=a.txt", "whole".utf8)
        try sandbox.ok("update", "server", "--attach", "x=a.txt")
        #expect(try sandbox.ok("get", "server", "--field", "x=a.txt").output == "whole")
        let before = try sandbox.read("test.vault")
        for device in ["/dev/stdin", "/dev/null"] {
            try sandbox.fails(64, "--attach NAME=\(device)", "update", "server", "--attach", device)
        }
        let shell = try sandbox.shell("vaultfmt update server --attach <(printf one)")
        #expect(shell.status == 64 && shell.error.contains("--attach NAME=/dev/fd/"), "\(shell.error)")
        try sandbox.fails(64, "--attach NAME=/dev/stdin", "update", "server", "--attach", "-", input: "x".utf8)
        try sandbox.fails(66, "cannot open file to attach", "update", "server", "--attach", "b.txt=missing.pdf")
        #expect(try sandbox.read("test.vault") == before)
    }

    @Test("an attribute that has the name of a file is found before the file")
    func ambiguous() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok(
            "set", "a", "--attribute", "x=text", "--attach", sandbox.write("x", "file".utf8), input: "s".utf8)
        #expect(try sandbox.ok("get", "a", "--field", "x").output == "text")
        #expect(try sandbox.ok("get", "a", "--field", "file:x").output == "file")
    }

    @Test("the words that other programs use lead to it")
    func words() throws {
        let sandbox = try Sandbox.withVault()
        for word in ["--file", "--attachment", "--document"] {
            try sandbox.fails(64, "did you mean '--attach'?", "update", "a", word, "x")
        }
        try sandbox.fails(64, "--field FILE", "get", "a", "--attachment", "x")
        try sandbox.fails(64, "--attach FILE", "attach", "a", "x")
    }
}
