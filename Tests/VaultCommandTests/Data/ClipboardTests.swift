import Foundation
import Testing

@Suite("get --clip")
struct ClipboardTests {
    /// A vault with one item, and clipboard programs that keep what they are given in the file `board`, which may be
    /// cleared at any time, and append it to `given`.
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", input: "hunter2".utf8)
        let folder = sandbox.path("bin")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let programs = [
            "wl-copy":
                "echo \"wl-copy $*\" >> \"$HOME/calls\"; [ \"$1\" = --help ] && exit; if [ \"$1\" = --clear ]; then rm \"$HOME/board\"; else tee -a \"$HOME/given\" > \"$HOME/board\"; fi",
            "wl-paste": "[ \"$1\" = --no-newline ] && cat \"$HOME/board\"",
            "xclip":
                "echo \"xclip $*\" >> \"$HOME/calls\"; case \"$3\" in -in) tee -a \"$HOME/given\" > \"$HOME/board\";; -out) cat \"$HOME/board\";; esac",
        ]
        for (name, script) in programs {
            try sandbox.write("bin/\(name)", "#!/bin/sh\n\(script)\n".utf8)
            chmod(sandbox.path("bin/\(name)"), 0o700)
        }
        sandbox.environment["PATH"] = "\(folder):/usr/bin:/bin"
        return sandbox
    }

    /// Waits until the clipboard holds this; nil is no clipboard at all.
    private func waitForBoard(_ sandbox: Sandbox, _ expected: String?) throws {
        func board() throws -> String? {
            guard FileManager.default.fileExists(atPath: sandbox.path("board")) else { return nil }
            return String(decoding: try sandbox.read("board"), as: UTF8.self)
        }
        try Patience.until("the clipboard holds \(expected ?? "nothing")") { try board() == expected }
    }

    @Test("the secret goes to wl-copy under Wayland, to nobody's arguments, and is cleared after a while")
    func wayland() throws {
        let sandbox = try sandbox()
        sandbox.environment["WAYLAND_DISPLAY"] = "wayland-0"
        sandbox.environment["DISPLAY"] = ":0"
        let run = try sandbox.ok("get", "svc", "--clip=2")
        #expect(run.bytes == [])
        #expect(run.error.contains("cleared in 2 s if unchanged"))
        #expect(try sandbox.read("given") == Array("hunter2".utf8))
        try waitForBoard(sandbox, nil)
        #expect(try sandbox.read("calls") == Array("wl-copy --help\nwl-copy --type text/plain\nwl-copy --clear\n".utf8))
    }

    @Test("H8: a wl-copy that can mark secrets is told to, so that histories leave them out")
    func sensitive() throws {
        let sandbox = try sandbox()
        let program = String(decoding: try sandbox.read("bin/wl-copy"), as: UTF8.self)
        let help = "[ \"$1\" = --help ] && { echo '  -s, --sensitive'; exit; }"
        try sandbox.write("bin/wl-copy", program.replacing("#!/bin/sh\n", with: "#!/bin/sh\n\(help)\n").utf8)
        chmod(sandbox.path("bin/wl-copy"), 0o700)
        sandbox.environment["WAYLAND_DISPLAY"] = "wayland-0"
        try sandbox.ok("get", "svc", "--clip=1")
        try waitForBoard(sandbox, nil)
        #expect(try sandbox.read("calls") == Array("wl-copy --sensitive --type text/plain\nwl-copy --clear\n".utf8))
    }

    @Test("H8: a clipboard that cannot be read back is cleared", arguments: ["exit 1", "head -c 20000000 /dev/zero"])
    func unreadable(_ reading: String) throws {
        let sandbox = try sandbox()
        try sandbox.write("bin/wl-paste", "#!/bin/sh\n\(reading)\n".utf8)
        chmod(sandbox.path("bin/wl-paste"), 0o700)
        sandbox.environment["WAYLAND_DISPLAY"] = "wayland-0"
        try sandbox.ok("get", "svc", "--clip=1")
        try waitForBoard(sandbox, nil)
    }

    @Test(
        "E4: within tmux the secret is in a buffer of tmux's that goes again",
        .enabled(if: Machine.has("tmux"), "no tmux here"))
    func tmux() throws {
        let sandbox = try sandbox()
        let script = """
            unset TMUX
            tmux="tmux -S $HOME/socket -f /dev/null"
            trap '$tmux kill-server' EXIT
            $tmux new-session -d "'\(Child.binary)' get svc --clip=977 2>said; echo >first; until [ -e held ]; do sleep 0.05; done
              '\(Child.binary)' get svc --clip=1; echo >second; cat"
            until [ -e first ]; do sleep 0.05; done
            $tmux save-buffer -b vaultfmt held
            until [ -e second ] && [ -z "$($tmux list-buffers)" ]; do sleep 0.05; done
            $tmux list-buffers >left
            """
        try sandbox.okShell(script)
        #expect(try sandbox.read("held") == Array("hunter2".utf8))
        #expect(try sandbox.read("left") == [])
        let said = String(decoding: try sandbox.read("said"), as: UTF8.self)
        #expect(said.contains("copied to tmux's buffer") && !said.contains("hunter2"))
    }

    @Test("without Wayland, to xclip under X11")
    func x11() throws {
        let sandbox = try sandbox()
        sandbox.environment["DISPLAY"] = ":0"
        try sandbox.ok("get", "svc", "--clip=1")
        #expect(try sandbox.read("given") == Array("hunter2".utf8))
        try waitForBoard(sandbox, "")
        let calls = String(decoding: try sandbox.read("calls"), as: UTF8.self)
        #expect(
            calls == "xclip -selection clipboard -in\nxclip -selection clipboard -out\nxclip -selection clipboard -in\n"
        )
    }

    @Test("H3: clipboard programs are told nothing that opens a vault")
    func withheld() throws {
        let sandbox = try sandbox()
        try sandbox.write(
            "bin/xclip",
            "#!/bin/sh\nenv > \"$HOME/env$3\"\n: > \"$HOME/done$3\"\n[ \"$3\" = -out ] || cat > /dev/null\n".utf8)
        chmod(sandbox.path("bin/xclip"), 0o700)
        sandbox.environment["DISPLAY"] = ":0"
        try sandbox.ok("get", "svc", "--clip=1")
        for use in ["-in", "-out"] {
            try Patience.until("xclip \(use)") { FileManager.default.fileExists(atPath: sandbox.path("done\(use)")) }
            let names = String(decoding: try sandbox.read("env\(use)"), as: UTF8.self).split(separator: "\n").map {
                $0.prefix { $0 != "=" }
            }
            #expect(names.contains("HOME") && names.filter { $0.hasPrefix("VAULTFMT_") } == ["VAULTFMT_VAULT"])
        }
    }

    @Test("what was copied since stays")
    func changed() throws {
        let sandbox = try sandbox()
        // Copied just before the clipboard is read back, however soon that is.
        let program = String(decoding: try sandbox.read("bin/xclip"), as: UTF8.self)
        let copying = "-out) printf 'something else' > \"$HOME/board\"; echo $PPID > \"$HOME/clearing\";"
        try sandbox.write("bin/xclip", program.replacing("-out)", with: copying).utf8)
        chmod(sandbox.path("bin/xclip"), 0o700)
        sandbox.environment["DISPLAY"] = ":0"
        try sandbox.ok("get", "svc", "--clip=1")
        let clearing = {
            guard FileManager.default.fileExists(atPath: sandbox.path("clearing")) else { return nil as pid_t? }
            return pid_t(String(decoding: try sandbox.read("clearing"), as: UTF8.self).prefix { $0 != "\n" })
        }
        try Patience.until("the clipboard is read back") { try clearing() != nil }
        try Patience.untilEnd(of: try #require(try clearing()))
        #expect(try sandbox.read("board") == Array("something else".utf8))
        #expect(
            !String(decoding: try sandbox.read("calls"), as: UTF8.self).hasSuffix(
                "-out\nxclip -selection clipboard -in\n"))
    }

    @Test("the process that waits has the secret neither in its arguments nor in its environment")
    func waiting() throws {
        let sandbox = try sandbox()
        sandbox.environment["DISPLAY"] = ":0"
        try sandbox.ok("get", "svc", "--clip=977")
        var waiting: [String] = []
        try Patience.until("a process waits") {
            waiting = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { process in
                guard Int(process) != nil, let line = FileManager.default.contents(atPath: "/proc/\(process)/cmdline")
                else { return false }
                return String(decoding: line, as: UTF8.self).contains("clear-clipboard\u{0}xclip\u{0}977")
            }
            return !waiting.isEmpty
        }
        for process in waiting {
            let arguments = FileManager.default.contents(atPath: "/proc/\(process)/cmdline") ?? Data()
            #expect(!String(decoding: arguments, as: UTF8.self).contains("hunter2"))
            if let pid = Int32(process) { kill(pid, SIGTERM) }
        }
    }

    @Test("a console has no clipboard, and the secret is not shown instead", arguments: ["linux", "dumb", ""])
    func console(_ name: String) throws {
        let sandbox = try sandbox()
        sandbox.environment["TERM"] = name
        let terminal = try PseudoTerminal(sandbox, "get", "svc", "--clip")
        #expect(try terminal.finish() == 69)
        #expect(terminal.screen.contains("no clipboard is available") && terminal.screen.contains("leave out --clip"))
        #expect(!terminal.screen.contains("hunter2") && !terminal.screen.contains("aHVudGVyMg"))
    }

    @Test("without either, to the terminal by OSC 52, and emptied again")
    func terminal() throws {
        let sandbox = try sandbox()
        // A shell keeps the terminal, as it does for a person.
        let terminal = try PseudoTerminal(sandbox, shell: "\"$0\" get svc --clip=1; read -r line")
        try terminal.expect("\u{1B}]52;c;aHVudGVyMg==\u{07}")
        try terminal.expect(
            "the terminal does not report whether it was copied; it will be told to clear the clipboard in 1 s\r")
        try terminal.expect("\u{1B}]52;c;\u{07}")
        try terminal.type("\r")
        #expect(try terminal.finish() == 0)
    }

    @Test("without any, it is an error, and so is a clipboard program that fails")
    func none() throws {
        let sandbox = try sandbox()
        try sandbox.fails(69, "no clipboard is available", "get", "svc", "--clip")
        sandbox.environment["DISPLAY"] = ":0"
        try sandbox.write("bin/xclip", "#!/bin/sh\nexit 1\n".utf8)
        chmod(sandbox.path("bin/xclip"), 0o700)
        try sandbox.fails(69, "xclip failed (exit 1)", "get", "svc", "--clip")
    }
}
