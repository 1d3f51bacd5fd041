import TestSupport
import Testing
import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// Vaults in memory, with a clock that stands where it is set: nothing waits for a disk.
struct InMemory {
    let files = MemoryFileSystem(clock: 1_760_000_000_000)
    let place: Store.Place

    init() { place = Store.Place(fileSystem: files) }

    /// With the same ids, of items and of replicas, in each run with one seed.
    init(seed: String) {
        let random = Randomness.fixed(seed)
        place = Store.Place(fileSystem: files, random: random, replicas: ProcessReplicas(random: random))
    }

    func create(_ name: String = "a.vault", kept: Int = 10, device: consuming Device? = nil) throws -> Vault {
        var options = CreateOptions()
        options.keptVersions = kept
        options.device = device
        return try Vault.create(at: name, factors: try Fast.rawKey(), options: options, place: place)
    }

    func open(_ name: String = "a.vault", device: consuming Device? = nil) throws -> Vault {
        try open(name, with: try Fast.rawKey(), device: device)
    }

    func open(_ name: String = "a.vault", with factors: borrowing Factors, device: consuming Device? = nil) throws
        -> Vault
    {
        var options = OpenOptions()
        options.writable = true
        options.device = device
        return try Vault.open(name, factors: factors, options: options, place: place)
    }

    func bytes(_ name: String = "a.vault") throws -> [UInt8] {
        let bytes = try #require(files.bytes(of: name))
        guard let last = bytes.lastIndex(where: { $0 != 0 }) else { return bytes }
        return Array(bytes[..<min(bytes.count, (last + 512) / 512 * 512)])
    }

    /// Copies a file to another name.
    func copy(_ name: String = "a.vault", to other: String) throws { files.put(other, try bytes(name)) }
}

extension Vault {
    /// A rotation that keeps the slot of the usual raw key.
    func rotate() throws {
        var rotation = try rotation()
        try rotation.keep(try Fast.rawKey())
        _ = try rotation.run()
    }

    /// The header's slots, as they are in the file.
    var rawSlots: [Slot] {
        get throws { try withCore { (core) throws(VaultError) in core.store.header.slots } }
    }

    var keyring: Keyring {
        get throws { try withCore { (core) throws(VaultError) in core.store.keyring } }
    }
}

/// Checks that nothing is wrong with a vault, and says what is.
func expectSound(_ vault: Vault, unopened: Int = 0, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let report = try vault.verify()
    #expect(
        report.problems.isEmpty && report.unopened == unopened, "\(report.problems), \(report.unopened)",
        sourceLocation: sourceLocation)
}
