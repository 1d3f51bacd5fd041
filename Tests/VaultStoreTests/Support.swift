import Foundation
import TestSupport
import Testing
import VaultBytes
import VaultCrypto
import VaultStore

typealias Folder = TestSupport.Folder
typealias Numbers = TestSupport.Numbers

extension Folder {
    /// The names of all files in it, sorted.
    var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }
}

/// A file's bytes.
func wholeContents(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }

/// A file's bytes, without a reserve of zeros.
func contents(_ path: String) throws -> [UInt8] {
    let bytes = try wholeContents(path)
    guard let last = bytes.lastIndex(where: { $0 != 0 }) else { return bytes }
    return Array(bytes[..<min(bytes.count, (last + 512) / 512 * 512)])
}

/// Writes a file's bytes into the same inode, or a new file.
func write(_ bytes: [UInt8], _ path: String) throws {
    if !FileManager.default.fileExists(atPath: path) { _ = FileManager.default.createFile(atPath: path, contents: nil) }
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data(bytes))
    try handle.close()
}

/// Writes bytes at an offset, as with a hole before it.
func write(_ bytes: [UInt8], _ path: String, at offset: UInt64) throws {
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try handle.seek(toOffset: offset)
    try handle.write(contentsOf: Data(bytes))
    try handle.close()
}

/// Expects a failure with this code; gives the error back for a closer look.
@discardableResult
func fails(
    _ code: VaultError.Code, _ phrase: String = "", sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) -> VaultError? {
    do {
        try body()
        Issue.record("succeeded, where \(code) should be thrown", sourceLocation: sourceLocation)
    } catch let error as VaultError {
        #expect(error.code == code, "\(error.code): \(error)", sourceLocation: sourceLocation)
        #expect(
            phrase.isEmpty || error.detail.contains(phrase), "another reason: \(error)", sourceLocation: sourceLocation)
        return error
    } catch {
        Issue.record("\(error)", sourceLocation: sourceLocation)
    }
    return nil
}

extension Numbers {
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &self) } }
}

/// Vaults below items: states are told apart by their keyrings' devices.
enum Lab {
    static let vaultKey: UInt8 = 7

    static func rawKey(_ byte: UInt8 = 1) -> FactorKeys {
        FactorKeys(passphrase: nil, key: Secret(repeating: byte), fileHash: nil, kinds: .rawKey)
    }

    static func owner(_ vaultKey: UInt8 = vaultKey) -> OwnerKeys { OwnerKeys(vaultKey: Secret(repeating: vaultKey)) }

    static func part(_ name: String = "") -> OwnerPart { OwnerPart(name: name, revision: 1, device: .zero) }

    /// A full slot for a raw key.
    static func slot(_ id: Bytes16, raw: UInt8 = 1, vaultKey: UInt8 = vaultKey) throws -> (
        slot: Slot, wrappingKey: SecretBox
    ) {
        try SlotSeal.make(
            SlotPayload(vaultKey: Secret(repeating: vaultKey)), rawKey(raw), cost: nil, owner: part(), vault: id,
            keys: owner(vaultKey),
            .system)
    }

    static let epoch = Bytes32(words: (3, 3, 3, 3))

    @discardableResult
    static func create(
        _ path: String, id: Bytes16 = Bytes16(high: 1, low: 2), place: Store.Place = .init(), keeping: Int = 0
    ) throws -> Store {
        let (slot, wrappingKey) = try slot(id)
        return try Store.create(
            at: path, keys: VaultKeys(vaultKey: Secret(repeating: vaultKey), epoch: epoch),
            header: Header(id: id, epoch: epoch, slots: [slot]), wrappingKey: wrappingKey.secret.copy(),
            .init(clock: 5, keeping: .init(count: keeping)), place: place)
    }

    static func open(_ path: String, writable: Bool = true, raw: UInt8 = 1, place: Store.Place = .init()) throws
        -> Store
    {
        try Store.open(path, writable: writable, factors: rawKey(raw), limits: ReaderLimits(), place: place)
    }

    /// What the state that is served is known by.
    static func mark(_ store: Store) -> UInt64 { store.keyring.devices.last?.words.1.byteSwapped ?? 0 }
}

extension Secret {
    init(repeating byte: UInt8, count: Int = 32) { self.init(bytes: [UInt8](repeating: byte, count: count)) }
}

extension Store {
    /// Appends a commit whose keyring has one device more, and as many bytes as `padding` records of 208 bytes take.
    func append(_ mark: UInt64, records: Int = 0, history: History? = nil, generation: UInt64? = nil) throws(VaultError)
    {
        try beginWriting(wait: 0)
        defer { endWriting() }
        let appender = try makeAppender()
        do throws(VaultError) {
            var ring = keyring
            ring.devices.append(Bytes16(high: 9, low: mark))
            let body = try decoding { () throws(FormatError) in try ring.encode() }
            for _ in 0..<records {
                _ = try appender.append(.record, length: 208) { frame, _, head in
                    frame.storeBytes(of: head.littleEndian, as: UInt64.self)
                }
            }
            let ref = try appender.append(body, as: .keyring, .keyring, key: slot.keys.index)
            var next = state.successor
            if let history {
                next.history = try appender.append(history.encode(), as: .history, .history, key: slot.keys.index)
            }
            next.keyring = ref
            next.clock += 1
            next.liveBytes = 0
            if let generation { next.generation = generation }
            try commit(appender, next, keyring: ring)
        } catch {
            abandon()
            throw error
        }
    }

    /// Replaces the file by one with a single commit, under these keys.
    func compact(
        vaultKey: UInt8 = Lab.vaultKey, epoch: Bytes32? = nil, handOver: Bool = false, keepHistory: Bool = true
    ) throws {
        try beginWriting(wait: 0)
        defer { endWriting() }
        let epoch = epoch ?? header.epoch
        let (slot, wrappingKey) = try Lab.slot(vault, vaultKey: vaultKey)
        var ring = keyring
        if handOver {
            let next = Lab.owner(vaultKey).signing().publicKey
            guard let old = self.slot.keys.vaultKey() else { throw VaultError(.notPermitted, "not an owner") }
            let owner = OwnerKeys(vaultKey: old)
            ring.handOvers.append(
                HandOver.make(
                    owner.signing(), vault: vault, generation: state.commit.generation, chain: state.chain, next: next))
        }
        let history = try past.historyForCompaction(after: state)
        let replacement = Replacement(
            header: Header(id: vault, epoch: epoch, slots: [slot]),
            keys: VaultKeys(vaultKey: Secret(repeating: vaultKey), epoch: epoch),
            wrappingKey: wrappingKey.secret.copy(), slotID: slot.id)
        let clock = state.commit.clock
        let new = ring
        try rebuild(replacement) { (appender, keys, next) throws(VaultError) in
            let body = try decoding { () throws(FormatError) in try new.encode() }
            next.keyring = try appender.append(body, as: .keyring, .keyring, key: keys.index)
            next.history = try appender.append(history.encode(), as: .history, .history, key: keys.index)
            next.clock = clock + 1
            next.liveBytes = 0
        }
    }

    var anchor: AnchorPoint {
        AnchorPoint(generation: state.commit.generation, chain: state.chain, ownersPublicKey: ownersPublicKey)
    }
}
