import Testing
import VaultBytes

@testable import VaultFmt

/// Zeros after the newest commit.
@Suite("A reserve")
struct ReserveTests {
    private func size(_ path: String) throws -> Int { try bytes(path).count }

    private func bytes(_ path: String) throws -> [UInt8] { try wholeContents(path) }

    @Test("is kept by a handle that commits often, written over, and cut off when the handle goes")
    func keptAndCut() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        var ends: [UInt64] = []
        do {
            let vault = try Fast.create(path)
            try vault.put(try password("s", "0"), "0")
            #expect(try size(path) == contents(path).count, "one change makes none")
            var lengths: Set<Int> = []
            for number in 1..<40 {
                try vault.put(try password("s", "\(number)"), "\(number)")
                lengths.insert(try size(path))
                ends.append(UInt64(try contents(path).count))
                #expect(try Fast.open(path, writable: false).tail == .clean)
            }
            #expect(lengths.count < 5, "the length seldom changes: \(lengths)")
            #expect(ends == ends.sorted() && Set(ends).count == ends.count)
            #expect(try vault.verify().isSound)
        }
        #expect(try size(path) == contents(path).count)
        #expect(try Fast.open(path).dump().count == 40)
    }

    @Test("that another handle has used meanwhile is left to it")
    func shared() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        var first: Vault? = try Fast.create(path)
        for number in 0..<3 { try first?.put(try password("s", "\(number)"), "x") }
        let second = try Fast.open(path)
        for number in 3..<6 { try second.put(try password("s", "\(number)"), "x") }
        first = nil
        #expect(try second.dump().count == 6)
        try second.put(try password("s", "6"), "x")
        #expect(try Fast.open(path).dump().count == 7)
        #expect(try second.verify().isSound)
    }

    @Test(
        "has 262,144 bytes at most, and nothing but zeros",
        arguments: [1, 512, 4096, 262_143, 262_144, 262_145, 500_000])
    func limits(count: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        do { try Fast.create(path).put(try password("s", "a"), "x") }
        let committed = try contents(path)
        var bytes = committed + [UInt8](repeating: 0, count: count)
        try write(bytes, path)
        // The reserve is left out, and what remains of the zeros is a torn tail.
        let isReserve = count <= 262_144
        #expect((try Fast.open(path, writable: false).tail == .clean) == isReserve)
        #expect((try Vault.inspect(path).tail == .clean) == isReserve)
        bytes[committed.count + count / 2] = 1
        try write(bytes, path)
        guard case .torn = try Fast.open(path, writable: false).tail else {
            Issue.record("a byte that is not zero is no reserve")
            return
        }
        let writer = try Fast.open(path)
        try writer.put(try password("s", "b"), "y")
        #expect(try writer.dump().count == 2 && writer.tail == .clean)
        #expect(try writer.verify().isSound)
    }

    @Test(
        "does not reach into the header: a file that ends with the zeros of a damaged one has none",
        arguments: [4096, 8192, 9215, 9216, 300_000])
    func zerosFromTheHeaderOn(size: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        do { try Fast.create(path).put(try password("s", "a"), "x") }
        let bytes = try contents(path)
        for kept in [4000, 4096, 8192] where kept <= size {
            let header = Array(bytes[..<kept])
            try write(header + [UInt8](repeating: 0, count: size - kept), path)
            let new = folder.file("new.vault")
            #expect(throws: VaultError.self) {
                _ = try Vault.salvage(path, factors: try Fast.rawKey(), to: new, newFactors: try Fast.rawKey(3))
            }
            // The least length of a file and the header's hash, then the search for a commit.
            fails(size < 9216 || kept < 4096 ? .headerInvalid : .authenticationFailed) { _ = try Fast.open(path) }
            if size >= 9216, kept >= 4096 { _ = try Vault.inspect(path) }
        }
    }

    @Test("that cannot be written does not keep a change from being made")
    func full() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let system = FaultyFileSystem()
        let vault = try Fast.create(path, fileSystem: system)
        try vault.put(try password("s", "0"), "x")
        for part in [0, 0.5] {
            system.reset()
            system.fail(.write, 2, VaultError(.noSpace, "planned"), part: part)
            try vault.put(try password("s", "1"), "\(part)")
            #expect(system.counts.write == 2)
            #expect(vault.tail == .clean)
            #expect(try Fast.open(path, writable: false).tail == .clean)
        }
        system.reset()
        #expect(try Fast.open(path).dump().count == 2)
    }
}
