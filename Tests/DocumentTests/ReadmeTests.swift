import Foundation
import Testing

@Suite("The README")
struct ReadmeTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test("shows exactly the example that is built and run here")
    func example() throws {
        let example = try Self.text("Tests/Programs/ReadmeExample/main.swift")
        #expect(try Self.text("README.md").contains("```swift\n\(example)```\n"))
        #expect(example.split(separator: "\n").count == 10)
    }

    @Test("has an example that does what it says")
    func run() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "vaultfmt-readme-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { do { try FileManager.default.removeItem(at: folder) } catch {} }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent()
            .appendingPathComponent("ReadmeExample")
        process.currentDirectoryURL = folder
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(String(decoding: bytes, as: UTF8.self) == "the secret has 6 bytes\nexample.org ann Example\n")
        #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("example.vault").path))
    }

    @Test("names only files and folders that exist")
    func links() throws {
        let documents = [
            "README.md", "SECURITY.md", "CHANGELOG.md", "Docs/building.md", "Docs/incidents.md",
            "Docs/many-machines.md", "Docs/programs.md", "Docs/releasing.md",
            "Spec/performance.md", "Spec/rationale.md", "Spec/threat-model.md", "Spec/vaultfmt-1.md", "Tools/README.md",
            "Tools/python/README.md", "CONTRIBUTING.md", "ARCHITECTURE.md",
        ]
        for document in documents {
            let folder = Self.root.appendingPathComponent(document).deletingLastPathComponent()
            for match in try Self.text(document).matches(of: /\]\(([^)#:]+)\)/) {
                let target = folder.appendingPathComponent(String(match.1)).path
                #expect(FileManager.default.fileExists(atPath: target), "\(document) points to \(match.1)")
            }
        }
    }
}
