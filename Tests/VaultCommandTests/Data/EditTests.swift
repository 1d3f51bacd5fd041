import Foundation
import Testing

@Suite("edit")
struct EditTests {
    /// A vault with one item, and an editor that is a shell script with the file as `$1`.
    private func sandbox(secret: String = "old", editor script: String) throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "alice", "--label", "L", "--exact", input: secret.utf8)
        try sandbox.write("editor.sh", "#!/bin/sh\n\(script)\n".utf8)
        chmod(sandbox.path("editor.sh"), 0o700)
        sandbox.environment["EDITOR"] = sandbox.path("editor.sh")
        return sandbox
    }

    /// What the editor noted in the file `seen`: the path of the file it was given.
    private func seen(_ sandbox: Sandbox) throws -> String {
        String(decoding: try sandbox.read("seen"), as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    @Test(
        "the editor gets the secret in a file of our own in memory, which is gone afterwards with what lies beside it")
    func inMemory() throws {
        let sandbox = try sandbox(
            editor: """
                cp "$1" "$HOME/copy"; echo "$1" > "$HOME/seen"; stat -c %a "$1" > "$HOME/mode"; stat -f -c %T "$1" > "$HOME/kind"
                echo backup > "$1~"; printf new > "$1"
                """)
        #expect(try sandbox.ok("edit", "svc").bytes == [])
        #expect(try sandbox.read("copy") == Array("old".utf8))
        #expect(try sandbox.read("mode") == Array("600\n".utf8))
        #expect(try sandbox.read("kind") == Array("tmpfs\n".utf8))
        let folder = URL(fileURLWithPath: try seen(sandbox)).deletingLastPathComponent().path
        #expect(!FileManager.default.fileExists(atPath: folder))
        #expect(try sandbox.ok("get", "svc").output == "new")
        #expect(try sandbox.ok("get", "svc", "--field", "label").output == "L")
    }

    @Test("H7: what a killed edit left in memory is wiped by the next one; a folder in use is not touched")
    func swept() throws {
        let sandbox = try sandbox(editor: "echo \"$1\" > \"$HOME/seen\"; kill -KILL $PPID")
        #expect(try sandbox.run("edit", "svc").status == 128 + SIGKILL)
        let left = try seen(sandbox)
        #expect(FileManager.default.fileExists(atPath: left))
        // The editor is told nothing that opens the vault (H3), so it is told here.
        let pass = try sandbox.write("pass", Sandbox.passphrase.utf8)
        try sandbox.write(
            "editor.sh",
            """
            #!/bin/sh
            EDITOR=true \(Child.binary) edit svc --passphrase-file \(pass) 2> "$HOME/inner"
            [ -e "$1" ] && echo there > "$HOME/own"

            """.utf8)
        chmod(sandbox.path("editor.sh"), 0o700)
        // Another test's edit may have been faster, and have said so.
        try sandbox.ok("edit", "svc")
        #expect(!FileManager.default.fileExists(atPath: URL(fileURLWithPath: left).deletingLastPathComponent().path))
        #expect(try sandbox.read("own") == Array("there\n".utf8))
        #expect(!String(decoding: try sandbox.read("inner"), as: UTF8.self).contains("interrupted"))
    }

    @Test("D3: a secret is not emptied by an editor")
    func emptied() throws {
        let sandbox = try sandbox(editor: ": > \"$1\"")
        try sandbox.fails(64, "the edited text is empty", "edit", "svc")
        #expect(try sandbox.ok("get", "svc").output == "old")
    }

    @Test("H3: the editor is told nothing that opens a vault")
    func withheld() throws {
        let sandbox = try sandbox(editor: "env > \"$HOME/env\"")
        sandbox.environment["VAULTFMT_PASSPHRASE_FILE"] = "/nothing"
        sandbox.environment["VAULTFMT_KEY_FILE"] = try sandbox.write("key", "k".utf8)
        sandbox.environment["VAULTFMT_NEW_PASSPHRASE"] = "new"
        try sandbox.ok("edit", "svc")
        let names = String(decoding: try sandbox.read("env"), as: UTF8.self).split(separator: "\n").map {
            $0.prefix { $0 != "=" }
        }
        #expect(names.filter { $0.hasPrefix("VAULTFMT_") } == ["VAULTFMT_VAULT"])
    }

    @Test("a newline that the editor adds is not kept where the secret had none, and kept where it had one")
    func newlines() throws {
        let without = try sandbox(editor: "echo new > \"$1\"")
        try without.ok("edit", "svc")
        #expect(try without.ok("get", "svc").output == "new")
        let with = try sandbox(secret: "old\n", editor: "echo new > \"$1\"")
        try with.ok("edit", "svc")
        #expect(try with.ok("get", "svc").output == "new\n")
        let two = try sandbox(editor: "printf 'new\\n\\n' > \"$1\"")
        try two.ok("edit", "svc")
        #expect(try two.ok("get", "svc").output == "new\n")
    }

    @Test("unchanged content changes nothing, also with a newline added")
    func unchanged() throws {
        for script in ["true", "echo >> \"$1\""] {
            let sandbox = try sandbox(editor: script)
            let before = try sandbox.read("test.vault")
            #expect(try sandbox.ok("edit", "svc").error.contains("nothing was changed"))
            #expect(try sandbox.read("test.vault") == before)
        }
    }

    @Test("an editor that fails, or takes the file away, leaves the item as it was")
    func failing() throws {
        let failing = try sandbox(editor: "echo new > \"$1\"; exit 3")
        try failing.fails(69, "the editor failed (exit 3)", "edit", "svc")
        #expect(try failing.ok("get", "svc").output == "old")
        let removing = try sandbox(editor: "rm \"$1\"")
        try removing.fails(66, "cannot open edited file", "edit", "svc")
        #expect(try removing.ok("get", "svc").output == "old")
        let none = try sandbox(editor: "true")
        none.environment["EDITOR"] = "/nonexistent/editor"
        try none.fails(69, "the editor failed (exit 127)", "edit", "svc")
    }

    @Test("VISUAL comes before EDITOR, and either may have arguments")
    func visual() throws {
        let sandbox = try sandbox(editor: "exit 9")
        sandbox.environment["VISUAL"] = "cp \(sandbox.path("replacement"))"
        try sandbox.write("replacement", "from visual".utf8)
        try sandbox.ok("edit", "svc")
        #expect(try sandbox.ok("get", "svc").output == "from visual")
    }

    @Test("a signal that ends vaultfmt ends the editor, and takes the file away first")
    func signals() throws {
        for (signal, status) in [("TERM", Int32(128 + 15)), ("HUP", 128 + 1)] {
            let sandbox = try sandbox(
                editor:
                    "echo \"$1\" > \"$HOME/seen\"; echo new > \"$1\"; trap '' INT; kill -INT $PPID; kill -\(signal) $PPID; exec sleep 60"
            )
            let run = try sandbox.run("edit", "svc")
            #expect(run.status == status)
            let folder = URL(fileURLWithPath: try seen(sandbox)).deletingLastPathComponent().path
            #expect(!FileManager.default.fileExists(atPath: folder))
            #expect(try sandbox.ok("get", "svc").output == "old")
        }
    }

    @Test("so it does on a terminal, where Ctrl-C is the editor's")
    func onTerminal() throws {
        let sandbox = try sandbox(
            editor: "trap '' INT; echo \"$1\" > \"$HOME/seen\"; echo ready; read -r line; echo new > \"$1\"")
        let interrupted = try PseudoTerminal(sandbox, "edit", "svc")
        try interrupted.expect("ready")
        try interrupted.type("\u{03}\r")
        #expect(try interrupted.finish() == 0)
        #expect(try sandbox.ok("get", "svc").output == "new")
        let ended = try PseudoTerminal(sandbox, "edit", "svc")
        try ended.expect("ready")
        kill(ended.pid, SIGTERM)
        #expect(try ended.finish() == 128 + SIGTERM)
        let folder = URL(fileURLWithPath: try seen(sandbox)).deletingLastPathComponent().path
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    @Test("what somebody else changed meanwhile is not overwritten: exit 75")
    func conflict() throws {
        let set = "\(Child.binary) set svc alice --passphrase-file \"$HOME/pass\""
        let sandbox = try sandbox(editor: "printf theirs | \(set) || exit 9; echo mine > \"$1\"")
        try sandbox.write("pass", Sandbox.passphrase.utf8)
        try sandbox.fails(75, "was changed by another process in the meantime", "edit", "svc")
        #expect(try sandbox.ok("get", "svc").output == "theirs")
    }

    @Test("without storage in memory nothing is written to a disk")
    func noMemory() throws {
        let sandbox = try sandbox(editor: "true")
        // XDG_RUNTIME_DIR on a disk is passed over; /dev/shm is then used, which every Linux has.
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        sandbox.environment["EDITOR"] = "f() { echo \"$1\" > \"$HOME/seen\"; }; f"
        try sandbox.ok("edit", "svc")
        #expect(try seen(sandbox).hasPrefix("/dev/shm/"))
    }

    @Test("secrets that are not text are refused, as are items that are not there or not named")
    func refused() throws {
        let sandbox = try sandbox(editor: "true")
        try sandbox.ok("set", "binary", "--exact", input: [0xFF, 0x00])
        try sandbox.fails(64, "the secret is not text", "edit", "binary")
        try sandbox.fails(1, "no item is named", "edit", "nothing")
        try sandbox.fails(64, "no item is named", "edit")
    }
}
