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

/// Vaults below items: states are told apart by an extension of their keyrings.
enum Lab {
    static let vaultKey: UInt8 = 7

    static func rawKey(_ byte: UInt8 = 1) -> FactorKeys {
        FactorKeys(passphrase: nil, key: Secret(repeating: byte), fileHash: nil, kinds: .rawKey)
    }

    static func owner(_ vaultKey: UInt8 = vaultKey) -> OwnerKeys {
        OwnerKeys(vaultKey: Secret(repeating: vaultKey), epoch: epoch)
    }

    static func part(_ name: String = "") -> OwnerPart { OwnerPart(name: name) }

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
        _ path: String, id: Bytes16 = Bytes16(high: 1, low: 2), place: Store.Place = .init(), limit: Int = 0
    ) throws -> Store {
        let (slot, wrappingKey) = try slot(id)
        return try Store.create(
            at: path, keys: VaultKeys(vaultKey: Secret(repeating: vaultKey), epoch: epoch),
            header: Header(id: id, epoch: epoch, slots: [slot]), wrappingKey: wrappingKey.secret.copy(), limit: limit,
            place: place)
    }

    static func open(_ path: String, writable: Bool = true, raw: UInt8 = 1, place: Store.Place = .init()) throws
        -> Store
    {
        try Store.open(path, writable: writable, factors: rawKey(raw), limits: ReaderLimits(), place: place)
    }

    /// A place as another machine has it: with a memory of its own.
    static func machine() -> Store.Place { Store.Place(replicas: ProcessReplicas(random: .system)) }

    /// What the state that is served is known by.
    static func mark(_ store: Store) -> UInt64 {
        store.keyring.extensions.first.map { $0.value.reduce(0) { $0 << 8 | UInt64($1) } } ?? 0
    }

    fileprivate static func extensions(_ mark: UInt64) -> [Extension] {
        let value = (0..<8).map { UInt8(truncatingIfNeeded: mark >> UInt64(56 - 8 * $0)) }
        return [Extension(name: "mark", isCritical: false, value: value)]
    }
}

extension Secret {
    init(repeating byte: UInt8, count: Int = 32) { self.init(bytes: [UInt8](repeating: byte, count: count)) }
}

extension Store {
    /// Appends a change: a commit whose keyring has another mark, and as many dead records of 208 bytes. `join`: the
    /// vectors of states that it merges; without a change, if `isChange` is false.
    func append(
        _ mark: UInt64, records: Int = 0, generation: UInt64? = nil, joining others: [Vector] = [],
        isChange: Bool = true,
        _ change: (inout Keyring) -> Void = { _ in }
    ) throws(VaultError) {
        try beginWriting(wait: 0)
        defer { endWriting() }
        let appender = try makeAppender()
        do throws(VaultError) {
            let next = try nextVector()
            for one in others { next.join(one) }
            if isChange { _ = try next.tick() }
            var ring = keyring
            ring.extensions = Lab.extensions(mark)
            change(&ring)
            for _ in 0..<records {
                _ = try appender.append(.record, length: 208) { frame, _, head in
                    frame.storeBytes(of: head.littleEndian, as: UInt64.self)
                }
            }
            let new = ring
            let body = try decoding { () throws(FormatError) in try new.encode() }
            var commit = state.successor
            commit.keyring = try appender.append(body, as: .keyring, .keyring, key: slot.keys.index)
            commit.liveBytes += UInt64(commit.keyring.length) - UInt64(state.commit.keyring.length)
            if let generation { commit.generation = generation }
            try self.commit(appender, commit, next, keyring: ring)
        } catch {
            abandon(appender)
            throw error
        }
    }

    /// Replaces the file by one with a single commit, under these keys; with others, it is a rotation that hands over.
    func compact(vaultKey: UInt8 = Lab.vaultKey, handOver: Bool = false, restart: Bool = false) throws {
        try beginWriting(wait: 0)
        defer { endWriting() }
        let next = try nextVector()
        let before = next.vector
        let epoch = vaultKey == Lab.vaultKey ? header.epoch : Bytes32(words: (UInt64(vaultKey), 0, 0, 0))
        let (slot, wrappingKey) = try Lab.slot(vault, vaultKey: vaultKey)
        var ring = keyring
        if vaultKey != Lab.vaultKey {
            let dot = next.stored(restart ? try next.restart(above: before.clock) : try next.tick())
            (ring.vaultKey, ring.keeping.dot) = (dot, restart ? dot : ring.keeping.dot)
            ring.slots = [SlotDots(id: slot.id, made: dot, changed: dot)]
        } else {
            ring.slots[0] = SlotDots(id: slot.id, made: ring.slots[0].made, changed: ring.slots[0].changed)
        }
        let replacement = Replacement(
            header: Header(id: vault, epoch: epoch, slots: [slot]),
            keys: VaultKeys(vaultKey: Secret(repeating: vaultKey), epoch: epoch),
            wrappingKey: wrappingKey.secret.copy(), slotID: slot.id)
        var known = handOvers
        let old = try known.all()
        guard let oldKey = self.slot.keys.vaultKey() else { throw VaultError(.notPermitted, "not an owner") }
        let signer = handOver ? SecretBox(oldKey) : nil
        let unfinished = ring
        try rebuild(replacement, next) { (appender, keys, commit) throws(VaultError) in
            var ring = unfinished
            ring.handOvers = []
            var bytes: UInt64 = 0
            for one in old {
                let ref = try Store.append(one.vector, to: appender, key: keys.index)
                bytes += UInt64(ref.length)
                ring.handOvers.append(one.handOver.moved(to: ref))
            }
            if let signer {
                let ref = try Store.append(before, to: appender, key: keys.index)
                bytes += UInt64(ref.length)
                let owner = OwnerKeys(vaultKey: signer.secret.copy(), epoch: .zero)
                ring.handOvers.append(
                    HandOver.make(
                        owner.signing(), vault: vault, vector: before, stored: ref, next: keys.ownersPublicKey()))
            }
            ring.handOvers.sort(by: HandOver.precedes)
            let new = ring
            let body = try decoding { () throws(FormatError) in try new.encode() }
            commit.keyring = try appender.append(body, as: .keyring, .keyring, key: keys.index)
            commit.liveBytes = bytes + UInt64(commit.keyring.length)
        }
    }

    /// What a machine remembers of the state.
    var anchor: AnchorPoint { get throws { try watched.point() } }
}

extension HandOver {
    /// The same with its vector at another place.
    func moved(to ref: ObjectRef) -> HandOver {
        HandOver(publicKey: publicKey, next: next, vector: ref, floor: floor, signature: signature)
    }
}
