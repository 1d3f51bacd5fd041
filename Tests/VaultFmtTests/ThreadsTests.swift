import TestSupport
import Testing
import VaultCrypto
import VaultStore

@testable import VaultFmt

@Suite("Any number of threads")
struct ThreadsTests {
    private static let numbers = [1, 2, 3, 8, 64]
    private let memory = InMemory()
    /// A file with 3,000 items: some large, some with earlier values and attributes in records of their own.
    private let name = "a.vault"

    init() throws {
        var place = memory.place
        place.threads = 2
        let vault = try Vault.create(at: name, factors: try Fast.rawKey(), options: CreateOptions(), place: place)
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<3000 {
                var attributes = Attributes()
                if number % 200 == 3 { attributes["note"] = [UInt8](repeating: 65, count: 3000) }
                let size = number % 300 == 7 ? 400_000 : number % 90
                try transaction.add(
                    try Self.key(number), secret: Secret(bytes: [UInt8](repeating: UInt8(number % 251), count: size)),
                    attributes: attributes)
            }
        }
        try vault.transaction { (transaction) throws(VaultError) in
            for number in stride(from: 0, to: 3000, by: 20) {
                try transaction.set(try Self.key(number), secret: Secret(text: "later"))
            }
            for number in stride(from: 5, to: 3000, by: 50) { _ = try transaction.remove(try Self.key(number)) }
        }
    }

    private static func key(_ number: Int) throws(VaultError) -> ItemKey {
        try .genericPassword(service: "s\(number % 7)", account: "\(number)")
    }

    private func open(_ name: String, threads: Int, seed: String = "threads") throws -> Vault {
        var options = OpenOptions()
        options.writable = true
        options.threads = threads
        let place = Store.Place(fileSystem: memory.files, random: .fixed(seed))
        return try Vault.open(name, factors: try Fast.rawKey(), options: options, place: place)
    }

    private func copy(_ number: Int) throws -> String {
        try memory.copy(name, to: "\(number).vault")
        return "\(number).vault"
    }

    /// Keys and secrets in the order in which a scan brings them, and what ended it.
    private func scan(_ vault: Vault) -> (found: [String], failure: VaultError?) {
        var found: [String] = []
        do throws(VaultError) {
            try vault.forEachSecret { (item, secret) throws(VaultError) in
                guard case .opened(let bytes) = secret else { return }
                found.append(
                    "\(item.key.account ?? "") \(bytes.count) \(bytes.first ?? 0) \(item.attributes.all.count)")
            }
        } catch { return (found, error) }
        return (found, nil)
    }

    @Test("list and scan the same items in the same order")
    func reading() throws {
        let one = try open(name, threads: 1)
        let (listed, scanned) = (try one.allItems().map(\.key), scan(one))
        #expect(listed.count == 2940)
        #expect(listed == listed.sorted())
        #expect(scanned.found.count == 2940)
        #expect(scanned.failure == nil)
        for threads in Self.numbers {
            let vault = try open(name, threads: threads)
            #expect(try vault.allItems().map(\.key) == listed, "\(threads) threads")
            #expect(scan(vault).found == scanned.found, "\(threads) threads")
        }
    }

    @Test("compact a vault to the same bytes")
    func compaction() throws {
        var files: Set<[UInt8]> = []
        for threads in Self.numbers {
            let copy = try copy(threads)
            try open(copy, threads: threads).compact()
            files.insert(try memory.bytes(copy))
        }
        #expect(files.count == 1)
        #expect(try open(try copy(1), threads: 1).allItems().count == 2940)
    }

    @Test("rotate a vault to the same contents")
    func rotation() throws {
        let before = try open(name, threads: 1).dump()
        for threads in Self.numbers {
            let copy = try copy(threads)
            try open(copy, threads: threads).rotate()
            let rotated = try open(copy, threads: threads)
            #expect(try rotated.dump() == before, "\(threads) threads")
            #expect(try rotated.verify().isSound, "\(threads) threads")
        }
    }

    @Test("stop at the same damaged record, and name it alike")
    func damage() throws {
        let item = try open(name, threads: 1).allItems()[1700]
        var bytes = try memory.bytes(name)
        bytes[Int(item.entry.record.offset) + 100] ^= 1
        memory.files.put("damaged", bytes)
        let expected = scan(try open("damaged", threads: 1))
        #expect(expected.found.count == 1700)
        #expect(expected.failure?.code == .authenticationFailed)
        var reasons: Set<String> = []
        for threads in Self.numbers {
            let found = scan(try open("damaged", threads: threads))
            #expect(found.found == expected.found, "\(threads) threads")
            #expect(found.failure?.detail == expected.failure?.detail)
            memory.files.put("changed", bytes)
            let failure = fails(.authenticationFailed) { try open("changed", threads: threads).compact() }
            reasons.insert("\(failure?.detail ?? "")")
            #expect(memory.files.bytes(of: "changed") == bytes, "\(threads) threads")
        }
        #expect(reasons.count == 1, "\(reasons)")
    }

    @Test("are 1 to 64")
    func limits() throws {
        for threads in [0, -3, 65] {
            fails(.invalidArgument, "must be 1 to 64") { _ = try open(name, threads: threads) }
            fails(.invalidArgument, "must be 1 to 64") {
                var options = CreateOptions()
                options.threads = threads
                _ = try Vault.create(
                    at: "new.vault", factors: try Fast.rawKey(), options: options, place: memory.place)
            }
            #expect(memory.files.bytes(of: "new.vault") == nil)
        }
    }
}
