import Foundation
import Fuzzing
import ImportFuzzing
import Testing

/// What Tools/fuzz starts from, and what it once failed on, runs again here, without libFuzzer.
@Suite("The fuzzing corpus")
struct ReplayTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func inputs(_ target: String) throws -> [(name: String, bytes: [UInt8])] {
        let folder = root.appendingPathComponent("Tools/fuzz/corpus/\(target)")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
            (name, Array(try Data(contentsOf: folder.appendingPathComponent(name))))
        }
    }

    private func replay(_ inputs: [(name: String, bytes: [UInt8])], _ check: (UnsafeRawBufferPointer) throws -> Void) {
        for (name, bytes) in inputs {
            do { try bytes.withUnsafeBytes(check) } catch { Issue.record("\(name): \(error)") }
        }
        print("\(inputs.count) inputs replayed")
        #expect(inputs.count >= 9)
    }

    @Test("holds what must hold, file by file", arguments: FuzzTarget.allCases)
    func library(target: FuzzTarget) throws { replay(try Self.inputs(target.rawValue), target.check) }

    @Test("of the import parsers comes out of a vault and its export as it went in")
    func imports() throws { replay(try Self.inputs("import"), ImportTarget.check) }

    @Test("holds for the files of the conformance vectors as well")
    func vectors() throws {
        let folder = Self.root.appendingPathComponent("Spec/vectors")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".vector") }.sorted()
        for name in names {
            let bytes = Array(try Data(contentsOf: folder.appendingPathComponent(name)))
            guard let end = zip(bytes, bytes.dropFirst()).enumerated().first(where: { $1 == (0x0A, 0x0A) })?.offset else { continue }
            do { try Array(bytes[(end + 2)...]).withUnsafeBytes(FuzzTarget.open.check) } catch { Issue.record("\(name): \(error)") }
        }
    }

    @Test("of sealed recipes seals to vaults that open, and that take apart to the same recipes again")
    func recipes() throws {
        // What fuzzing found need not open.
        for (name, bytes) in try Self.inputs("sealed") where !name.hasPrefix("found-") {
            let recipe = bytes.withUnsafeBytes { Recipe($0) }
            let file = recipe.sealed()
            let again = try #require(Recipe(taking: file, rawKey: FuzzFactors.usualKey), "\(name) does not open")
            #expect(again.objects.map(\.body.count) == recipe.objects.map(\.body.count), "\(name)")
        }
    }
}
