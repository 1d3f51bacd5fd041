internal import CTestSupport
internal import Fuzzing
internal import Glibc
internal import TestSupport
internal import VaultCrypto
internal import VaultExchange
internal import VaultFmt
internal import VaultStore

/// The command's import parsers, as `FuzzTarget` has the library's: the first byte says the form, the rest is the
/// source.
public enum ImportTarget {
    private static let formats: [String?] = [
        nil, "json", "csv", "pem", Interchange.kdbxContents, "kdbx", "bitwarden", "enpass",
    ]

    /// Runs one input; traps if a property does not hold, or if it takes too long.
    public static func run(_ input: UnsafeRawBufferPointer) {
        do { try InputTime.limited(bytes: input.count) { try check(input) } } catch { fatalError("import: \(error)") }
    }

    /// What is accepted comes out of a vault and of its export as it went in; throws if it does not.
    public static func check(_ input: UnsafeRawBufferPointer) throws { _ = try accepts(input) }

    /// The form that an input is read as.
    public static func form(of input: [UInt8]) -> String {
        guard let first = input.first else { return "none" }
        return formats[Int(first) % formats.count] ?? "any"
    }

    /// Checks an input; returns whether it was accepted.
    public static func accepts(_ input: UnsafeRawBufferPointer) throws -> Bool {
        guard let first = input.first else { return false }
        let source = Array(input.dropFirst())
        var message = "none"
        let items = Interchange.items(in: source, format: formats[Int(first) % formats.count], isCheap: true) {
            message = $0
        }
        guard let items else {
            guard !message.isEmpty, !message.contains("\n") else {
                throw Mismatch("a refusal is not one line: \(message)")
            }
            return false
        }
        let vault = try emptyVault()
        let stored = try store(items, in: vault)
        let export = try exported(vault)
        guard let again = Interchange.items(in: export, format: "json", refused: { message = $0 }) else {
            throw Mismatch("an export is refused: \(message)")
        }
        try compare(stored, again)
        return true
    }

    /// Imports a source as the command does it, into an empty vault: throws unless it is there whole, or not at all.
    public static func checkIsWhole(_ source: [UInt8]) throws {
        var message = ""
        let items = Interchange.items(in: source, format: nil, isCheap: true) { message = $0 }
        let vault = try emptyVault()
        let before = vault.state.generation
        do throws(VaultError) {
            try Interchange.importItems(in: source, into: vault, policy: "keep-both", isCheap: true)
        } catch {
            guard vault.state.generation == before, try count(vault) == 0 else {
                throw Mismatch("an import that failed left something: \(error)")
            }
            return
        }
        guard let items else { throw Mismatch("what is refused was imported: \(message)") }
        let imported = try count(vault)
        // A certificate, a key or an identity of one name is imported once, and so are entries that are equal.
        let distinct = items.indices.count { !items[..<$0].contains(items[$0]) }
        guard (distinct...items.count).contains(imported) || items.contains(where: { $0.key.account == nil }) else {
            throw Mismatch("of \(items.count) items \(imported) were imported")
        }
    }

    private static func count(_ vault: Vault) throws -> Int {
        var count = 0
        var cursor = try vault.items()
        while try cursor.next() != nil { count += 1 }
        return count
    }

    private static func emptyVault() throws -> Vault {
        let place = Store.Place(
            fileSystem: MemoryFileSystem(clock: 1_700_000_000_000), random: .fixed("1"), cacheBytes: 1 << 20)
        var options = CreateOptions()
        options.device = try Device(fileContents: Secret(bytes: [UInt8](1...48)))
        let factors = try Factors(rawKey: Secret(bytes: [UInt8](repeating: 0x2B, count: 32)))
        return try Vault.create(at: "a.vault", factors: factors, options: options, place: place)
    }

    /// The JSON export of a conformance vector's vault; nil if it does not open, or has something that does not.
    public static func seed(from vector: [UInt8]) -> [UInt8]? {
        guard let bytes = VectorSeeds.vault(in: vector) else { return nil }
        let place = Store.Place(
            fileSystem: MemoryFileSystem("a.vault", bytes), random: .fixed("1"), cacheBytes: 1 << 20)
        do {
            let factors = try Factors(rawKey: Secret(bytes: VectorSeeds.rawKey))
            return [1]
                + (try exported(try Vault.open("a.vault", factors: factors, options: OpenOptions(), place: place)))
        } catch { return nil }
    }

    /// Puts items into a vault; those that it refuses are left out, and of two with one key the first counts.
    private static func store(_ items: [Interchange.Item], in vault: Vault) throws -> [ItemKey: Interchange.Item] {
        var stored: [ItemKey: Interchange.Item] = [:]
        try vault.transaction { (transaction) throws(VaultError) in
            for item in items {
                do throws(VaultError) {
                    try transaction.add(
                        item.key, secret: Secret(bytes: item.secret), attributes: item.attributes,
                        accessibility: item.accessibility,
                        created: item.created, modified: item.modified)
                    stored[item.key] = item
                } catch {
                    guard [.duplicateItem, .limitExceeded, .invalidArgument].contains(error.code) else { throw error }
                }
            }
        }
        return stored
    }

    private static func exported(_ vault: Vault) throws -> [UInt8] {
        let descriptor = test_memory_file()
        guard descriptor >= 0 else { throw Mismatch("no memory file: error \(-descriptor)") }
        defer { close(descriptor) }
        try Interchange.writeJSON(of: vault, to: descriptor)
        let size = Int(lseek(descriptor, 0, SEEK_END))
        var bytes = [UInt8](repeating: 0, count: size)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, size, 0) }
        guard count == size else { throw Mismatch("the export could not be read") }
        return bytes
    }

    private static func compare(_ stored: [ItemKey: Interchange.Item], _ again: [Interchange.Item]) throws {
        guard again.count == stored.count else {
            throw Mismatch("\(stored.count) items went in, \(again.count) came out")
        }
        for item in again {
            guard let expected = stored[item.key] else { throw Mismatch("an item came out that did not go in") }
            guard item.secret == expected.secret, item.attributes == expected.attributes,
                item.accessibility == expected.accessibility,
                expected.created == nil || item.created == expected.created,
                expected.modified == nil || item.modified == expected.modified
            else { throw Mismatch("an item came out otherwise than it went in") }
        }
    }
}
