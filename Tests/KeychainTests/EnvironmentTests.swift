import Foundation
import Testing
import VaultFmt
import VaultLocal

extension KeychainTests {
    @Suite("A program that says nothing of a vault")
    struct EnvironmentTests {
        private let home: Folder
        private var vault: String { home.file(".local/share/vaultfmt/default.vault") }
        private var key: String { home.file(".config/vaultfmt/default.key") }

        init() throws { home = try Folder() }

        private struct Ended {
            let output: String
            let errors: String
            let status: Int32
        }

        private final class Started {
            let process = Process()
            private let output = Pipe()
            private let errors = Pipe()

            static let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
                .deletingLastPathComponent()
                .appendingPathComponent("KeychainProgram")

            init(program: URL = program, _ arguments: [String], _ environment: [String: String]) throws {
                process.executableURL = program
                process.arguments = arguments
                process.environment = environment
                process.standardOutput = output
                process.standardError = errors
                try process.run()
            }

            /// What it wrote is little: it fits the pipes.
            func end() throws -> Ended {
                process.waitUntilExit()
                func text(_ pipe: Pipe) throws -> String {
                    String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
                        .trimmingCharacters(in: .newlines)
                }
                return Ended(output: try text(output), errors: try text(errors), status: process.terminationStatus)
            }
        }

        private func start(_ arguments: [String], _ more: [String: String]) throws -> Started {
            try Started(arguments, ["HOME": home.path].merging(more) { $1 })
        }

        private func run(_ arguments: String..., environment: [String: String] = [:]) throws -> Ended {
            try start(arguments, environment).end()
        }

        private func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }

        @Test("gets a vault and its key file on first use, readable by the user alone, and says so once")
        func firstUse() throws {
            let first = try run("set", "k", "value")
            #expect(first.status == 0 && first.output.isEmpty)
            #expect(
                first.errors.hasPrefix("vaultfmt: created the vault '\(vault)' and its key file '\(key)'")
                    && !first.errors.contains("\n"))
            #expect(try mode(vault) == 0o600 && mode(key) == 0o600)
            #expect(
                try mode(home.file(".local/share/vaultfmt")) == 0o700 && mode(home.file(".config/vaultfmt")) == 0o700)
            let second = try run("get", "k")
            #expect(second.output == "value" && second.errors.isEmpty && second.status == 0)
            #expect(try run("service").output == "KeychainProgram")
            // The key file opens it for everybody else too.
            let file = try Data(contentsOf: URL(fileURLWithPath: key))
            let factors = try Factors(keyFile: KeyFile(contents: Secret(text: String(decoding: file, as: UTF8.self))))
            let opened = try Vault.open(vault, factors: factors)
            #expect(opened.access == .owner)
            #expect(try opened.slots().map(\.name) == ["default key file"])
        }

        @Test("can be the README's, which gets its password back")
        func readme() throws {
            let ended = try run("readme")
            #expect(ended.output == "s3cret" && ended.status == 0)
        }

        @Test("is for the bundle id of an Info.plist in the program's folder, or for the program's name (K4)")
        func bundleID() throws {
            let copy = home.file("KeychainProgram")
            try FileManager.default.copyItem(at: Started.program, to: URL(fileURLWithPath: copy))
            func service() throws -> String {
                try Started(program: URL(fileURLWithPath: copy), ["service"], ["HOME": home.path]).end().output
            }
            #expect(try service() == "KeychainProgram")
            let plist = try PropertyListSerialization.data(
                fromPropertyList: ["CFBundleIdentifier": "com.example.app"], format: .xml, options: 0)
            try plist.write(to: URL(fileURLWithPath: home.file("Info.plist")))
            #expect(try service() == "com.example.app")
            try FileManager.default.createDirectory(atPath: home.file("Contents"), withIntermediateDirectories: true)
            try FileManager.default.moveItem(atPath: home.file("Info.plist"), toPath: home.file("Contents/Info.plist"))
            #expect(try service() == "com.example.app")
        }

        @Test("finds its places by the XDG variables")
        func places() throws {
            let variables = [
                "XDG_DATA_HOME": home.file("data"), "XDG_CONFIG_HOME": home.file("config"),
                "XDG_STATE_HOME": home.file("state"),
            ]
            #expect(try run("set-on-this-device", "k", "value", environment: variables).status == 0)
            for file in ["data/vaultfmt/default.vault", "config/vaultfmt/default.key", "state/vaultfmt/device"] {
                #expect(try mode(home.file(file)) == 0o600)
            }
            #expect(try run("get", "k", environment: variables).output == "value")
            #expect(!FileManager.default.fileExists(atPath: vault))
        }

        @Test("gets one vault and one key file, however many of it start at once")
        func firstUseAtOnce() throws {
            let names = (0..<8).map { "p\($0)" }
            let processes = try names.map { try start(["fill", $0, "3"], [:]) }
            let ended = try processes.map { try $0.end() }
            #expect(ended.allSatisfy { $0.status == 0 }, "\(ended.map { $0.output + $0.errors })")
            let said = ended.map(\.errors).joined(separator: "\n")
            #expect(said.components(separatedBy: "created the vault").count == 2)
            // By the one that made the vault, or by another.
            #expect(
                said.components(separatedBy: "and its key file '").count
                    + said.components(separatedBy: "created its key file '").count == 3)
            let expected = names.flatMap { name in (0..<3).map { "\(name)-\($0)" } } + ["shared"]
            #expect(try run("keys").output.split(separator: "\n").map { String($0) }.sorted() == expected.sorted())
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: home.file(".config/vaultfmt")) == ["default.key"])
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: home.file(".local/share/vaultfmt")) == [
                    "default.vault"
                ])
        }

        @Test("shares the default vault with another process that writes at the same time")
        func twoProcesses() throws {
            let both = [try start(["fill", "a", "60"], [:]), try start(["fill", "b", "60"], [:])]
            for process in both { #expect(try process.end().status == 0) }
            let keys = try run("keys").output.split(separator: "\n").map { String($0) }
            #expect(keys.count == 121 && Set(keys).count == 121)
            #expect(try ["a", "b"].contains(run("get", "shared").output))
            #expect(try run("get", "b-59").output == "59")
        }

        @Test("makes this machine's device for the first item of this device only")
        func device() throws {
            #expect(try run("set", "free", "1").status == 0)
            let bound = try run("set-on-this-device", "bound", "2")
            #expect(bound.status == 0 && bound.errors.contains("created this machine's device file"))
            #expect(try run("get", "bound").output == "2")
            try FileManager.default.removeItem(atPath: home.file(".local/state/vaultfmt/device"))
            let refused = try run("get", "bound")
            #expect(refused.status == 1 && refused.output.contains("status -25316") && refused.output.contains(vault))
            #expect(try run("get", "free").output == "1")
        }

        @Test("locks and unlocks the vault by itself")
        func lock() throws {
            #expect(try run("set-on-this-device", "k", "value").status == 0)
            let locked = try run("lock-and-get", "k")
            #expect(locked.output == "refused\nvalue" && locked.status == 0)
        }

        @Test("says what is missing where the default vault does not open")
        func missingKey() throws {
            #expect(try run("set", "k", "value").status == 0)
            try FileManager.default.removeItem(atPath: key)
            let missing = try run("get", "k")
            #expect(missing.status == 1 && missing.output.contains("status -25293") && missing.output.contains(key))
            #expect(missing.errors.contains(vault) && missing.errors.contains("does not exist"))
            // No other key file is made for a vault that is there.
            #expect(!FileManager.default.fileExists(atPath: key))
            try KeyFile.generate().write(to: key)
            let wrong = try run("get", "k")
            #expect(
                wrong.status == 1 && wrong.output.contains("status -25293") && wrong.output.contains("no slot opens"))
            try Data("VAULTFMT-KEY-1-x".utf8).write(to: URL(fileURLWithPath: key))
            #expect(try run("get", "k").output.contains("key file is damaged"))
        }

        @Test("makes the vault of a key file that is there, and keeps it")
        func keyFileThere() throws {
            try FileManager.default.createDirectory(
                atPath: home.file(".config/vaultfmt"), withIntermediateDirectories: true)
            try KeyFile.generate().write(to: key)
            let before = try Data(contentsOf: URL(fileURLWithPath: key))
            let first = try run("set", "k", "value")
            #expect(first.status == 0 && first.errors.contains("which its key file"))
            #expect(try run("get", "k").output == "value")
            #expect(try Data(contentsOf: URL(fileURLWithPath: key)) == before)
        }

        @Test("uses the vault and the factors that the environment names")
        func named() throws {
            let path = home.file("named.vault")
            let keyFile = home.file("named.key")
            try KeyFile.generate().write(to: keyFile)
            let contents = String(decoding: try Data(contentsOf: URL(fileURLWithPath: keyFile)), as: UTF8.self)
            var options = CreateOptions()
            options.cost = .testing
            options.allowWeak = true
            let made = try Vault.create(
                at: path, factors: try Factors(passphrase: Secret(text: "pass phrase")), options: options)
            _ = try made.addSlot(try Factors(keyFile: KeyFile(contents: Secret(text: contents))))
            try Data("pass phrase\n".utf8).write(to: URL(fileURLWithPath: home.file("passphrase")))
            #expect(
                try run("set", "k", "value", environment: ["VAULTFMT_VAULT": path, "VAULTFMT_KEY_FILE": keyFile]).status
                    == 0)
            let ways = [
                ["VAULTFMT_KEY_FILE": keyFile], ["VAULTFMT_PASSPHRASE": "pass phrase"],
                ["VAULTFMT_PASSPHRASE_FILE": home.file("passphrase")],
                ["VAULTFMT_PASSPHRASE": "pass phrase", "VAULTFMT_KEY_FILE": keyFile],
                ["VAULTFMT_PASSPHRASE": "wrong", "VAULTFMT_KEY_FILE": keyFile],
            ]
            for way in ways {
                let ended = try run("get", "k", environment: way.merging(["VAULTFMT_VAULT": path]) { $1 })
                #expect(ended.output == "value" && ended.errors.isEmpty, "\(way.keys.sorted())")
            }
            let refused: [([String: String], String)] = [
                ([:], "no factor is given"), (["VAULTFMT_PASSPHRASE": "wrong"], "wrong passphrase"),
                (["VAULTFMT_KEY_FILE": home.file("none")], "does not exist"),
                (["VAULTFMT_PASSPHRASE_FILE": home.path], "cannot read"),
            ]
            for (way, words) in refused {
                let ended = try run("get", "k", environment: way.merging(["VAULTFMT_VAULT": path]) { $1 })
                #expect(
                    ended.status == 1 && ended.output.contains(words) && ended.errors.contains(path), "\(ended.output)")
            }
            #expect(!FileManager.default.fileExists(atPath: vault))
        }

        @Test("opens a vault that is kept open, without a factor", .enabled(if: Self.hasKernelKeyring))
        func keptOpen() throws {
            let path = home.file("kept.vault")
            let kept = try Vault.create(at: path, factors: try rawKey())
            #expect(
                try run("set", "k", "value", environment: ["VAULTFMT_VAULT": path]).output.contains(
                    "no factor is given"))
            try Machine.keepUnlocked(kept, seconds: 60)
            #expect(try run("set", "k", "value", environment: ["VAULTFMT_VAULT": path]).status == 0)
            #expect(try run("get", "k", environment: ["VAULTFMT_VAULT": path]).output == "value")
            try Machine.lock(path)
            #expect(try run("get", "k", environment: ["VAULTFMT_VAULT": path]).status == 1)
        }

        private static var hasKernelKeyring: Bool {
            do {
                let folder = try Folder()
                let vault = try Vault.create(at: folder.file("a.vault"), factors: try rawKey())
                try Machine.keepUnlocked(vault, seconds: 10)
                try Machine.lock(vault.path)
                return true
            } catch { return false }
        }

        @Test("is told of a vault that is not there, or is none, and makes nothing")
        func noVault() throws {
            let path = home.file("none.vault")
            for environment in [["VAULTFMT_VAULT": path], ["VAULTFMT_VAULT": path, "VAULTFMT_PASSPHRASE": "x"]] {
                let ended = try run("set", "k", "value", environment: environment)
                #expect(
                    ended.status == 1 && ended.output.contains("status -25294") && ended.output.contains("'\(path)'"))
            }
            // The default vault is made with a key file of its own, never with factors that somebody named for another.
            #expect(try run("get", "k", environment: ["VAULTFMT_PASSPHRASE": "x"]).output.contains("status -25294"))
            try Data(repeating: 7, count: 5000).write(to: URL(fileURLWithPath: path))
            let none = try run("get", "k", environment: ["VAULTFMT_VAULT": path, "VAULTFMT_PASSPHRASE": "x"])
            #expect(none.output.contains("status -25295") && none.errors.contains(path))
            #expect(
                try run("status", environment: ["VAULTFMT_VAULT": path, "VAULTFMT_PASSPHRASE": "x"]).output == "-25295")
            #expect(
                try !FileManager.default.fileExists(atPath: vault)
                    && FileManager.default.contentsOfDirectory(atPath: home.path) == ["none.vault"])
        }

        @Test("goes on where nothing can be written to standard error", arguments: ["2>&-", "2>/dev/full"])
        func noStandardError(redirection: String) throws {
            let shell = URL(fileURLWithPath: "/bin/sh")
            let script = "exec \"$0\" set k value \(redirection)"
            let ended = try Started(
                program: shell, ["-c", script, Started.program.path], ["HOME": home.path]
            ).end()
            #expect(ended.status == 0)
            #expect(try run("get", "k").output == "value")
        }

        @Test("is told where the disk refuses")
        func disk() throws {
            try Data().write(to: URL(fileURLWithPath: home.file(".config")))
            let ended = try run("set", "k", "value")
            #expect(
                ended.status == 1 && ended.output.contains("status -36")
                    && ended.output.contains("cannot create the folder"))
        }

        @Test("uses a later version's vault no more than it can")
        func laterVersion() throws {
            #expect(try run("set", "k", "value").status == 0)
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: vault))
            let magic = try #require(try handle.read(upToCount: 16))
            // The version stands after the magic, whose last bytes are not letters.
            let at = try #require(magic.firstIndex(of: 1))
            try handle.seek(toOffset: UInt64(at))
            try handle.write(contentsOf: Data([2]))
            try handle.close()
            #expect(try run("get", "k").output.contains("status -25310"))
        }
    }
}

extension Secret {
    /// Writes it to a file, 0600.
    borrowing func write(to path: String) throws {
        let data = withUnsafeBytes { Data($0) }
        try data.write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}
