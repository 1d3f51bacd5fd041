import TestSupport
import Testing
import VaultStore

@Suite("The files of a rehearsal")
struct RehearsalTests {
    private static let path = "a.vault"
    /// More than two pages, and not a whole number of them.
    private static let original: [UInt8] = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 / 256) }
    private static let end = 600_001

    private let memory = MemoryFileSystem(Self.path, Self.original)

    private func files() throws -> RehearsalFiles {
        let file = try memory.open(Self.path, writable: false)
        return try RehearsalFiles(over: file, at: Self.path, end: UInt64(Self.end), memory)
    }

    @Test("hold what was written over the part of the file that they see, whatever was truncated; the file stays")
    func likeBytes() throws {
        var numbers = Numbers(1)
        let file = try files().open(Self.path, writable: true)
        var model = Array(Self.original[..<Self.end])
        for round in 0..<40 {
            let offset = Int.random(in: 0...700_000, using: &numbers)
            if round % 3 == 2 {
                try file.truncate(to: UInt64(offset))
                model = Array(model.prefix(offset)) + [UInt8](repeating: 0, count: max(0, offset - model.count))
            } else {
                let new = [UInt8](repeating: UInt8(round), count: Int.random(in: 0...300_000, using: &numbers))
                try file.write(new, at: UInt64(offset))
                let isLonger = !new.isEmpty && offset + new.count > model.count
                if isLonger { model += [UInt8](repeating: 0, count: offset + new.count - model.count) }
                if !new.isEmpty { model.replaceSubrange(offset..<offset + new.count, with: new) }
            }
            #expect(try file.size() == UInt64(model.count))
            #expect(try file.bytes(model.count, at: 0) == model, "round \(round)")
            if model.count > 300_000 {
                #expect(try file.bytes(299_998, at: 1) == Array(model[1..<299_999]), "round \(round)")
            }
        }
        fails(.structureInvalid) { _ = try file.bytes(2, at: UInt64(model.count) - 1) }
        #expect(memory.bytes(of: Self.path) == Self.original)
    }

    @Test("take over ranges of other files, around what was written before, and under what is written after")
    func copied() throws {
        let files = try files()
        let file = try files.open(Self.path, writable: true)
        let new = try files.create("b.vault")
        fails(.fileExists) { _ = try files.create("b.vault") }
        let head = [UInt8](repeating: 1, count: 5_000)
        try new.write(head, at: 0)
        try new.copy(from: file, 5_000..<UInt64(Self.end))
        try new.write([2, 3], at: 400_000)
        var model: [UInt8] = head + Array(Self.original[5_000..<Self.end])
        model.replaceSubrange(400_000..<400_002, with: [2, 3])
        #expect(try new.bytes(model.count, at: 0) == model)
        // A second range is copied over what is there.
        try new.copy(from: file, 4_000..<4_100)
        model.replaceSubrange(4_000..<4_100, with: Self.original[4_000..<4_100])
        #expect(try new.bytes(model.count, at: 0) == model)

        try files.rename("b.vault", to: Self.path, replacing: true)
        #expect(try files.identity(of: Self.path) == new.identity())
        #expect(try files.identity(of: "b.vault") == nil)
        // The replaced file is still there for those who read it.
        #expect(try file.bytes(100, at: 0) == Array(Self.original[..<100]))
    }

    @Test("differ from those of the rehearsal whose file they overlay")
    func nested() throws {
        let files = try files()
        let outer = try files.create("b.vault")
        let inner = try RehearsalFiles(over: outer, at: "b.vault", end: 0, files).create("c.vault")
        #expect(try inner.identity() != outer.identity())
    }
}
