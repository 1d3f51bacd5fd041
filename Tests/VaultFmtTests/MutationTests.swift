import Foundation
import Synchronization
import Testing

@testable import VaultFmt

@Suite("A small vault, altered")
struct MutationTests {
    /// Everything that a reader of one state sees.
    private static func dump(_ vault: Vault) throws(VaultError) -> [String] {
        var all = ["generation \(vault.anchor.generation) \(vault.anchor)"]
        var cursor = try vault.items()
        while let item = try cursor.next() {
            let opened = try vault.open(item)
            let attributes = opened.item.attributes.names.map { "\($0)=\(opened.item.attributes[$0] ?? [])" }
            all.append("\(item.key.fields) \(item.key.group) \(item.created) \(attributes) \(opened.secret.array)")
        }
        return all
    }

    /// A vault of several commits, and the dump of each of its states.
    private func vault(_ folder: Folder, isCompacted: Bool) throws -> (bytes: [UInt8], states: Set<[String]>) {
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        var states: Set<[String]> = [try Self.dump(vault)]
        for (index, account) in ["ann", "bob", "cy"].enumerated() {
            try vault.add(
                try password("s", account), secret: Secret(text: "secret of \(account)"), attributes: ["label": "\(index)"], created: 1,
                modified: 2)
            states.insert(try Self.dump(vault))
        }
        if isCompacted { try vault.compact() }
        states.insert(try Self.dump(vault))
        try vault.remove(try password("s", "bob"))
        states.insert(try Self.dump(vault))
        try vault.update(try password("s", "cy"), attributes: AttributeChanges(set: ["label": "new"]))
        states.insert(try Self.dump(vault))
        return (try folder.read("a.vault"), states)
    }

    /// Opens altered bytes: true if it is exactly a committed state, false for a typed error; anything else is recorded.
    private static func outcome(_ bytes: [UInt8], _ path: String, _ states: Set<[String]>, _ what: String) throws -> Bool {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        do throws(VaultError) {
            let dump = try dump(try Vault.open(path, factors: try Factors(rawKey: Secret(bytes: [UInt8](repeating: 0x2B, count: 32)))))
            if !states.contains(dump) { Issue.record("\(what) gave a state that was never committed") }
            return true
        } catch { return false }
    }

    @Test("by any one bit, gives a typed error or exactly a committed state", arguments: [false, true])
    func bits(isCompacted: Bool) throws {
        let folder = try Folder()
        let (bytes, states) = try vault(folder, isCompacted: isCompacted)
        let counts = Counts()
        let place = folder.file("")
        try counts.each(0..<bytes.count * 8) { bit, thread in
            var altered = bytes
            altered[bit / 8] ^= 1 << UInt8(bit % 8)
            return try Self.outcome(altered, place + "bit\(thread)", states, "bit \(bit)")
        }
        print("mutation: \(bytes.count * 8) single bits of \(bytes.count) bytes: \(counts.summary)")
        #expect(counts.cases == bytes.count * 8)
    }

    @Test("by cutting it off anywhere, gives a typed error or exactly a committed state", arguments: [false, true])
    func truncations(isCompacted: Bool) throws {
        let folder = try Folder()
        let (bytes, states) = try vault(folder, isCompacted: isCompacted)
        let counts = Counts()
        let place = folder.file("")
        try counts.each(0..<bytes.count) { length, thread in
            try Self.outcome(Array(bytes[..<length]), place + "cut\(thread)", states, "length \(length)")
        }
        print("mutation: \(bytes.count) truncations: \(counts.summary)")
        #expect(counts.cases == bytes.count)
        #expect(counts.served > 0)
    }
}

/// Runs cases on two threads and counts what came of them.
private final class Counts: Sendable {
    private let state = Mutex((cases: 0, served: 0, failure: String?.none))

    var cases: Int { state.withLock { $0.cases } }
    var served: Int { state.withLock { $0.served } }
    var summary: String { state.withLock { "\($0.served) gave a committed state, \($0.cases - $0.served) an error" } }

    func each(_ cases: Range<Int>, _ body: @escaping @Sendable (Int, Int) throws -> Bool) throws {
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
            for index in cases where index % 2 == thread {
                do {
                    let isServed = try body(index, thread)
                    state.withLock {
                        $0.cases += 1
                        $0.served += isServed ? 1 : 0
                    }
                } catch {
                    state.withLock { $0.failure = "case \(index): \(error)" }
                    return
                }
            }
        }
        if let failure = state.withLock({ $0.failure }) { Issue.record("\(failure)") }
    }
}
