import Foundation
import Testing

@Suite("list: filters, order and columns")
struct ListColumnTests {
    private func filled() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        func set(_ name: String, _ account: String, _ attributes: String...) throws {
            let options = attributes.flatMap { ["--attribute", $0] }
            let run = try sandbox.run(["set", name, account] + options, input: Array("s".utf8))
            #expect(run.status == 0, "\(run.error)")
        }
        try set("router", "admin", "folder=home", "tags=net\nold", "env=prod")
        try set("mower", "mira", "folder=home/garden", "label=Café Zürich")
        try set(
            "essay", "mira", "folder=homework", "tags=old", "notes=customer 88-4521", "url=https://sso.example.com/a")
        return sandbox
    }

    private func names(_ run: Run) -> [String] { run.lines.map { $0.components(separatedBy: "\t")[1] } }

    @Test("a folder is found with those below it, and not with those whose names only begin alike")
    func folders() throws {
        let sandbox = try filled()
        #expect(try names(sandbox.ok("list", "--folder", "Home")) == ["mower", "router"])
        #expect(try names(sandbox.ok("list", "--folder", "home/garden")) == ["mower"])
        try sandbox.fails(
            1, "no item has the folder 'attic'; choose from 'home', 'home/garden', 'homework'", "list", "--folder",
            "attic")
    }

    @Test("a folder with a slash or a quote in its name is suggested in the form in which a shell takes it")
    func typedFolders() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        for (service, folder) in [("a", #"A\/B"#), ("b", "Ann's")] {
            try sandbox.ok("set", service, "--attribute", "folder=\(folder)", input: "s".utf8)
        }
        let message = #"choose from 'A\/B', 'Ann'\''s'"#
        try sandbox.fails(1, message, "list", "--folder", "nope")
        #expect(try names(sandbox.okShell(#"vaultfmt list --folder 'A\/B'"#)) == ["a"])
        #expect(try names(sandbox.okShell(#"vaultfmt list --folder 'Ann'\''s'"#)) == ["b"])
    }

    @Test("--notes also searches notes, shows none of them, and never searches a secret")
    func notes() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "shop", "--attribute", "notes=Customer number\n88-4521, Café", input: "sesame".utf8)
        try sandbox.ok("set", "bank", "--attribute", "notes=nothing here", input: "88-4521".utf8)
        try sandbox.ok("set", "mail", input: "88-4521".utf8)
        let found = try sandbox.ok("list", "88-4521", "--notes")
        #expect(names(found) == ["shop"] && !found.output.contains("88-4521"))
        // A word may be in the name, and another one in the notes.
        #expect(try names(sandbox.ok("list", "SHOP", "cafe", "--notes")) == ["shop"])
        #expect(try names(sandbox.ok("list", "bank", "--notes")) == ["bank"])
        try sandbox.fails(1, "not even in notes", "list", "sesame", "--notes")
        try sandbox.fails(64, "add a word", "list", "--notes")
        try sandbox.fails(64, "--notes", "list", "--attribute", "notes=nothing here")
        try sandbox.fails(64, "did you mean '--notes'?", "list", "88-4521", "--in-notes")
        try sandbox.fails(64, "list WORD --notes", "list", "88-4521", "--all-fields")
    }

    @Test("tags, attributes and words combine: all must match; what is sealed is not looked at")
    func combined() throws {
        let sandbox = try filled()
        #expect(try names(sandbox.ok("list", "--tag", "OLD")) == ["essay", "router"])
        #expect(try names(sandbox.ok("list", "--tag", "old", "--tag", "net")) == ["router"])
        #expect(try names(sandbox.ok("list", "--attribute", "env=prod", "router")) == ["router"])
        #expect(try sandbox.ok("list", "--tag", "net", "--folder", "homework").lines == [])
        #expect(try names(sandbox.ok("list", "mira", "home")) == ["essay", "mower"])
        #expect(try names(sandbox.ok("list", "https://sso.example.com/login?x")) == ["essay"])
        for word in ["CAFÉ", "café zürich", "cafe"] { #expect(try names(sandbox.ok("list", word)) == ["mower"]) }
        try sandbox.fails(1, "notes are sealed and were not searched: add --notes", "list", "88-4521")
        try sandbox.fails(1, "no item has the tag 'nobody'", "list", "--tag", "nobody")
        try sandbox.fails(1, "no item has the group 'nobody'", "list", "--group", "nobody")
        for command in ["get", "show", "list", "edit", "rm"] {
            let line = [command, "--folder", "gerdan"] + (command == "rm" ? ["--yes"] : [])
            let run = try sandbox.run(line)
            #expect(run.status == 1 && run.error.contains("no item has the folder 'gerdan'; "), "\(line): \(run.error)")
        }
        try sandbox.fails(1, "no item has the folder 'hoem'; did you mean 'home'?", "list", "--folder", "hoem")
        try sandbox.fails(64, "did you mean 'certificate'? The choices are ", "list", "--class", "certifcate")
        try sandbox.fails(64, "--attribute takes NAME=VALUE", "list", "--attribute", "env")
        try sandbox.fails(64, "'notes' is sealed", "list", "--attribute", "notes=x")
    }

    @Test("--sort and --columns know the words that people try, and name the others")
    func sorted() throws {
        let sandbox = try filled()
        try sandbox.ok("update", "router", "--label", "New")
        #expect(try names(sandbox.ok("list", "--sort", "modified")).first == "router")
        #expect(try names(sandbox.ok("list", "--sort", "name", "--reverse")) == ["router", "mower", "essay"])
        #expect(
            try sandbox.ok("list", "--columns", "title,user,attribute:env", "router").output == "New\tadmin\tprod\n")
        try sandbox.fails(64, "modified", "list", "--sort", "colour")
        try sandbox.fails(
            64, "there is no column 'colour'; choose from name, account", "list", "--columns", "colour")
    }

    @Test("several vaults are searched, each item listed with its vault, and a word that is in none of them fails")
    func severalVaults() throws {
        let sandbox = try filled()
        let home = sandbox.vault
        let work = sandbox.path("work.vault")
        try sandbox.ok("create", work, "--kdf", "testing")
        for service in ["printer", "router"] {
            try sandbox.ok("set", service, "clerk", "--vault", work, input: "other".utf8)
        }
        func list(_ arguments: String...) throws -> Run {
            try sandbox.run(["list", "--vault", home, "--vault", work] + arguments)
        }
        #expect(
            try list("router", "--columns", "name,account").output
                == "\(home)\trouter\tadmin\n\(work)\trouter\tclerk\n")
        #expect(try list("printer", "--columns", "name,account").output == "\(work)\tprinter\tclerk\n")
        let json = try list("printer", "--json")
        #expect(json.status == 0 && json.output.contains("\"vault\"") && json.output.contains("work.vault"))
        try sandbox.fails(1, "nothing matches", "list", "toaster", "--vault", home, "--vault", work)
        // A folder that one of them has is known.
        try sandbox.ok("update", "printer", "--attribute", "folder=office", "--vault", work)
        #expect(try list("--folder", "office").output.contains("printer"))
        try sandbox.fails(66, "nosuch.vault", "list", "--vault", home, "--vault", sandbox.path("nosuch.vault"))
        let terminal = try PseudoTerminal(sandbox, "list", "router", "--vault", home, "--vault", work, columns: 80)
        #expect(try terminal.finish() == 0)
        let lines = terminal.screen.components(separatedBy: "\r\n")
        #expect(lines.first == "\(home):" && lines.contains("") && lines.contains("\(work):"))
    }

    @Test("on 80 columns every line fits, dates are whole, rows differ, and long labels are cut, not left out")
    func narrow() throws {
        let sandbox = try filled()
        sandbox.environment["NO_COLOR"] = "1"
        let label = String(repeating: "long ", count: 70) + "end"
        try sandbox.ok("set", "long", "mira", "--label", label, input: "s".utf8)
        for port in ["443", "8443"] {
            try sandbox.ok("set", "--server", "host", "--port", port, "--account", "x", input: "s".utf8)
        }
        let terminal = try PseudoTerminal(sandbox, "list", columns: 80)
        #expect(try terminal.finish() == 0)
        let lines = terminal.screen.components(separatedBy: "\r\n").dropLast()
        #expect(lines.count == 7)
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(terminal.screen)")
        let day = try #require(
            try sandbox.ok("get", "router", "--field", "modified").output.split(separator: "T").first)
        #expect(lines.dropFirst().allSatisfy { $0.hasSuffix(String(day)) })
        #expect(lines.contains { $0.contains("long lo") && $0.contains("end") })
        #expect(Set(lines).count == 7)
        let wide = try PseudoTerminal(sandbox, "list", "--wide", columns: 80)
        #expect(try wide.finish() == 0)
        #expect(wide.screen.contains(label))
    }
}
