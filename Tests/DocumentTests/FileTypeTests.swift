import Foundation
import Testing
import VaultFmt

/// `Spec/magic` and `Spec/vaultfmt.xml`, with the programs that read them.
@Suite("Other programs")
struct FileTypeTests {
    private static let env = URL(fileURLWithPath: "/usr/bin/env")
    private static let type = "application/vnd.vaultfmt"

    /// A vault under a name that tells, one under a name that does not, and a file that only looks like one after its
    /// line ends were changed.
    private struct Files {
        let vault: String
        let unnamed: String
        let altered: String

        init(_ folder: Folder) throws {
            vault = folder.file("passwords.vault")
            unnamed = folder.file("unnamed")
            _ = try Vault.create(at: vault, factors: Factors(rawKey: Secret(Array(0..<32))))
            try FileManager.default.copyItem(atPath: vault, toPath: unnamed)
            altered = try folder.write("altered", Array("\u{89}VAULT\n".unicodeScalars.map { UInt8($0.value) }))
        }
    }

    private func run(_ arguments: [String], _ environment: [String: String] = [:]) throws -> String {
        try Readers.run(Self.env, arguments, environment: environment).trimmingCharacters(in: .newlines)
    }

    @Test("know a vault by its first bytes: file(1), with our magic as it is and compiled")
    func magic() throws {
        let folder = try Folder()
        let files = try Files(folder)
        let source = Readers.root.appendingPathComponent("Spec/magic").path
        // Compiled into the folder that file(1) is started in.
        let compiled = try Readers.run(Self.env, ["-C", folder.path, "file", "-C", "-m", source])
        #expect(compiled.isEmpty, "a warning")
        for magic in [source, folder.file("magic.mgc")] {
            for path in [files.vault, files.unnamed] {
                #expect(try run(["file", "-b", "-m", magic, path]) == "vaultfmt vault, version 1, 1 slot")
                #expect(try run(["file", "-b", "--mime-type", "-m", magic, path]) == Self.type)
                #expect(try run(["file", "-b", "--extension", "-m", magic, path]) == "vault")
            }
            #expect(try !run(["file", "-b", "-m", magic, files.altered]).contains("vault"))
        }
        let second = try Vault.open(
            files.vault, factors: Factors(rawKey: Secret(Array(0..<32))), options: Self.writable())
        _ = try second.addSlot(Factors(rawKey: Secret(Array(32..<64))))
        #expect(try run(["file", "-b", "-m", source, files.vault]) == "vaultfmt vault, version 1, 2 slots")
    }

    @Test("know it by its name, and without one by its first bytes: xdg-mime and mimetype, with our type installed")
    func desktop() throws {
        let folder = try Folder()
        let files = try Files(folder)
        let home = folder.file("data")
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        let environment = ["XDG_DATA_HOME": home, "HOME": folder.path]
        let description = Readers.root.appendingPathComponent("Spec/vaultfmt.xml").path
        #expect(
            try run(["xdg-mime", "query", "filetype", files.vault], environment) != Self.type,
            "it is installed on this machine")
        _ = try run(["xdg-mime", "install", "--novendor", "--mode", "user", description], environment)
        let named = try folder.write("of another kind.vault", [])
        for path in [files.vault, files.unnamed, named] {
            #expect(try run(["xdg-mime", "query", "filetype", path], environment) == Self.type)
            #expect(try run(["mimetype", "-b", path], environment) == Self.type)
        }
        #expect(try run(["mimetype", "-b", "--magic-only", files.vault], environment) == Self.type)
        #expect(try run(["mimetype", "-b", files.altered], environment) != Self.type)
        #expect(try run(["mimetype", "-b", "-d", files.vault], environment) == "encrypted vault")
    }

    private static func writable() -> OpenOptions {
        var options = OpenOptions()
        options.writable = true
        return options
    }
}
