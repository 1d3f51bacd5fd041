import Foundation
import Testing

@Suite("Programs written for the Keychain")
struct SeedTests {
    /// A home of its own, removed with it.
    final class Home {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("vaultfmt-home-\(UUID().uuidString)")

        init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

        deinit { do { try FileManager.default.removeItem(at: folder) } catch {} }

        func path(_ name: String) -> String { folder.appendingPathComponent(name).path }
    }

    private func run(_ program: String, home: Home) throws -> (output: [String], errors: [String], status: Int32) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent()
            .appendingPathComponent(program)
        process.environment = ["HOME": home.folder.path, "PATH": "/usr/bin:/bin"]
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let printed = try output.fileHandleForReading.readToEnd() ?? Data()
        let said = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        func lines(_ data: Data) -> [String] {
            String(decoding: data, as: UTF8.self).split(separator: "\n").map { String($0) }
        }
        return (lines(printed), lines(said), process.terminationStatus)
    }

    @Test("run on a fresh home with no configuration, do what they did on iOS, and say once what was made")
    func freshHome() throws {
        let home = try Home()
        let first = try run("SeedProgram", home: home)
        #expect(first.status == 0)
        #expect(
            first.output == [
                "user before: nothing", "user: Ann Example", "user stored: true", "user after: nothing",
                "token: t0ken 2",
                "token elsewhere: t0ken 2", "token after: nothing", "pin: 1234", "pin after the first run: nothing",
                "pin after the second run: 5678", "pin after all: nothing", "store: bytes", "store after: nothing",
                "store saves: true",
                "store saves again: false", "store updates: true", "store has: 3", "dummy-access-token",
                "Error: -25299", "updated",
                "helper after: nothing", "dummy-access-token",
            ])
        let vault = home.path(".local/share/vaultfmt/default.vault")
        let key = home.path(".config/vaultfmt/default.key")
        let made = first.errors.filter { $0.hasPrefix("vaultfmt: created the vault") }
        #expect(made.count == 1 && made[0].contains(vault) && made[0].contains(key))
        for path in [vault, key] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        // The second time nothing is made, and what was stored is there.
        let second = try run("SeedProgram", home: home)
        #expect(second.status == 0)
        #expect(second.output.contains("store saves: false"))
        #expect(!second.errors.contains { $0.contains("created") })
    }
}
