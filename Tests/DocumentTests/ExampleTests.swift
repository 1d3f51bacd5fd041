import Foundation
import Testing
import VaultFmt

@Suite("The specification's example")
struct ExampleTests {
    @Test("is a vault that opens, holds what the page says, and is sound")
    func opens() throws {
        let folder = try Folder()
        let path = try folder.write("example.vault", try Page().file())
        let vault = try Vault.open(path, factors: Self.factors())
        #expect(vault.state.generation == 3)
        guard let opened = try vault.get(ItemKey.genericPassword(service: "example.org", account: "ann")) else {
            Issue.record("the item is not there")
            return
        }
        #expect(opened.secret.withUnsafeBytes { Array($0) } == Array("s3cret".utf8))
        #expect(opened.item.attributes.label == "Example")
        let report = try vault.verify()
        #expect(report.isSound, "\(report.problems)")
        #expect(
            report.objects == ["record": 2, "past": 1, "page": 1, "keyring": 1, "vector": 1, "commit": 1])
        #expect(report.itemsWithPast == 1 && opened.item.hasPast)
        #expect(try vault.earlierValues(of: opened.item).count == 1)
    }

    @Test("is what the reference implementation prints of it")
    func isCurrent() throws {
        let folder = try Folder()
        let path = try folder.write("example.vault", try Page().file())
        let printed = try Readers.reference(["example", Readers.hex(Array(0..<32)), path])
        #expect(try Page().text.hasSuffix("\n\n" + printed))
    }

    private static func factors() throws -> Factors { try Factors(rawKey: Secret(Array(0..<32))) }

    /// `Spec/example.md`.
    private struct Page {
        let text: String

        init() throws {
            text = try String(contentsOf: Readers.root.appendingPathComponent("Spec/example.md"), encoding: .utf8)
        }

        /// The bytes that it shows at their offsets, with zeros between; where it says so, the header's copy.
        func file() throws -> [UInt8] {
            var file: [UInt8] = []
            var isShown = false
            for line in text.split(separator: "\n") {
                if line.hasSuffix("bytes:") { isShown = !line.contains("opened") }
                if let match = line.wholeMatch(of: /The header's copy, from ([0-9a-f]+) to ([0-9a-f]+), is the same\./)
                {
                    let start = try #require(Int(match.1, radix: 16))
                    #expect(file.count == start && Int(match.2, radix: 16) == 2 * start)
                    file += file
                }
                guard isShown, let match = line.wholeMatch(of: /([0-9a-f]{4})  ([0-9a-f ]+?) *(?:# .*)?/) else {
                    continue
                }
                let offset = try #require(Int(match.1, radix: 16))
                let digits = Array(match.2.filter { $0 != " " })
                #expect(offset >= file.count)
                file += Array(repeating: 0, count: offset - file.count)
                for index in stride(from: 0, to: digits.count, by: 2) {
                    file.append(try #require(UInt8(String(digits[index...index + 1]), radix: 16)))
                }
            }
            return file
        }
    }
}
