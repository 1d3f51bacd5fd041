import Foundation
import Testing

@Suite("Several items at once")
struct SeveralTests {
    private func filled() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        for (name, folder, tag) in [
            ("netflix", "acme", "temp"), ("spotify", "acme/music", "temp"), ("bank", "acme-old", "keep"),
            ("radio", "", ""),
        ] {
            try sandbox.ok(
                "set", name, "--attribute", "folder=\(folder)", "--attribute", "tags=\(tag)", input: "of \(name)".utf8)
        }
        return sandbox
    }

    private func names(_ sandbox: Sandbox, _ options: String...) throws -> [String] {
        let run = try sandbox.run(["list", "--columns", "name"] + options)
        return run.lines
    }

    @Test("rm takes several names, or a tag, with one question and one change; no is no, and yes is --yes in a script")
    func remove() throws {
        let sandbox = try filled()
        let before = try sandbox.read("test.vault")
        let no = try PseudoTerminal(sandbox, "rm", "--tag", "temp", columns: 80)
        try no.expect("'netflix'")
        try no.expect("'spotify'")
        try no.expect("Remove these 2 items? [y/N] ")
        try no.type("n\r")
        #expect(try no.finish() == 77)
        #expect(no.screen.contains("nothing was removed"))
        #expect(try sandbox.read("test.vault") == before)
        try sandbox.fails(64, "use --yes", "rm", "--tag", "temp")
        try sandbox.fails(1, "no item is named 'nosuch'", "rm", "netflix", "bank", "nosuch", "--yes")
        #expect(try sandbox.read("test.vault") == before)
        try sandbox.ok("rm", "netflix", "bank", "--yes")
        #expect(try names(sandbox) == ["radio", "spotify"])
        let yes = try PseudoTerminal(sandbox, "rm", "--tag", "temp", columns: 80)
        try yes.expect("[y/N] ")
        try yes.type("y\r")
        #expect(try yes.finish() == 0)
        #expect(try names(sandbox) == ["radio"])
        try sandbox.fails(1, "no item has the tag 'temp'", "rm", "--tag", "temp", "--yes")
    }

    @Test("two names are a service and its account where there is such an item")
    func pairs() throws {
        let sandbox = try filled()
        try sandbox.ok("set", "netflix", "spotify", input: "s".utf8)
        try sandbox.ok("rm", "netflix", "spotify", "--yes")
        #expect(try names(sandbox) == ["bank", "netflix", "radio", "spotify"])
        try sandbox.fails(1, "no item is named 'netflix' 'nobody'", "rm", "netflix", "nobody", "--yes")
    }

    @Test("move renames with two names, and puts into a folder with a slash")
    func move() throws {
        let sandbox = try filled()
        try sandbox.ok("update", "radio", "--label", "radio")
        try sandbox.ok("move", "radio", "wireless")
        #expect(try sandbox.ok("get", "wireless").output == "of radio")
        #expect(try sandbox.ok("show", "wireless", "--field", "label").output == "wireless")
        try sandbox.fails(1, "already exists", "move", "wireless", "bank")
        try sandbox.ok("move", "netflix", "wireless", "entertainment/", "--yes")
        #expect(try names(sandbox, "--folder", "entertainment") == ["netflix", "wireless"])
        try sandbox.fails(64, "nothing to change", "move", "bank")
    }

    @Test("a folder is renamed with what is below it, and not with what only begins alike")
    func folder() throws {
        let sandbox = try filled()
        try sandbox.fails(64, "use --yes", "move", "--folder", "acme", "--to-folder", "zenith")
        try sandbox.ok("move", "--folder", "acme", "--to-folder", "zenith", "--yes")
        #expect(try names(sandbox, "--folder", "zenith") == ["netflix", "spotify"])
        #expect(try sandbox.ok("show", "spotify", "--field", "folder").output == "zenith/music")
        #expect(try names(sandbox, "--folder", "acme-old") == ["bank"])
        try sandbox.fails(1, "no item has the folder 'acme'", "list", "--folder", "acme")
    }

    @Test("tags are added to several items once each, and taken away; the secrets stay")
    func tags() throws {
        let sandbox = try filled()
        for _ in 0..<2 { try sandbox.ok("update", "netflix", "spotify", "bank", "--add-tag", "work", "--yes") }
        #expect(try names(sandbox, "--tag", "work") == ["bank", "netflix", "spotify"])
        #expect(try sandbox.ok("show", "bank", "--field", "tags").output == "keep\nwork")
        try sandbox.ok("update", "--tag", "temp", "--remove-tag", "temp", "--yes")
        try sandbox.fails(1, "no item has the tag 'temp'", "list", "--tag", "temp")
        #expect(try sandbox.ok("get", "netflix").output == "of netflix")
        try sandbox.fails(64, "use --add-tag", "update", "bank", "--tag", "work")
        let terminal = try PseudoTerminal(sandbox, "update", "--folder", "acme", "--comment", "c", columns: 80)
        try terminal.expect("Change these 2 items? [y/N] ")
        try terminal.type("\r")
        #expect(try terminal.finish() == 77)
        #expect(terminal.screen.contains("nothing was changed"))
        try sandbox.fails(1, "no field 'comment'", "get", "netflix", "--field", "comment")
    }
}
