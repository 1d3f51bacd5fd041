package import VaultBytes
package import VaultCrypto

extension Store {
    /// What a new vault starts with.
    package struct New: Sendable {
        package let clock: UInt64
        package let keeping: Keyring.Keeping

        /// - Parameter keeping: How many earlier values an item keeps.
        package init(clock: UInt64, keeping: Keyring.Keeping) {
            self.clock = clock
            self.keeping = keeping
        }
    }

    /// Creates a vault that is complete before it has its name: generation 1, no items. An existing file is an error.
    ///
    /// - Parameter keepsLock: Whether nobody else may write to it before `releaseLock`.
    package static func create(
        at path: String, keys: consuming VaultKeys, header: consuming Header, wrappingKey: consuming Secret, _ new: New,
        place: Place, keepsLock: Bool = false
    ) throws(VaultError) -> Store {
        let resolved = try place.fileSystem.resolve(path)
        guard try place.fileSystem.identity(of: resolved) == nil else {
            throw VaultError(.fileExists, "\(path) exists already")
        }
        var header = header
        let (bytes, hash) = try HeaderSeal.seal(&header, keys)
        try Temporary.removeStale(beside: resolved, place.fileSystem)
        let directory = try place.fileSystem.directory(of: resolved)
        let loaded = try named(resolved, header, (bytes, hash), keys, wrappingKey, new, place)
        try directory.sync()
        let store = Store(loaded, path: resolved, isWritable: true, place: place)
        store.keepsLock = keepsLock
        store.endWriting()
        store.synced = store.state
        place.watch?.committed(store.watched)
        return store
    }

    /// A whole vault that has got its name.
    private static func named(
        _ path: String, _ header: Header, _ sealed: (bytes: [UInt8], hash: Bytes32), _ keys: consuming VaultKeys,
        _ wrappingKey: consuming Secret, _ new: New, _ place: Place
    ) throws(VaultError) -> Loaded {
        let temporary = Temporary.name(beside: path, place.random)
        let file = try place.fileSystem.create(temporary)
        do throws(VaultError) {
            guard try file.lock() else { throw VaultError(.busy, "\(temporary) is locked by another process") }
            try writeHeader(sealed.bytes, to: file)
            try writeFirst(file, header, sealed.hash, keys, new, place)
            let slot = OpenedSlot(id: header.slots[0].id, keys: keys, wrappingKey: wrappingKey, grants: Grants())
            let loaded = try load(file, header, sealed.bytes, slot, place)
            try place.fileSystem.rename(temporary, to: path, replacing: false)
            return loaded
        } catch {
            do throws(VaultError) { try place.fileSystem.remove(temporary) } catch {}
            switch error.code {
            case .fileExists: throw VaultError(.fileExists, "\(path) exists already")
            case .outcomeUnknown: throw VaultError(.io, "the vault could not be written: \(error.detail)")
            default: throw error
            }
        }
    }

    /// The header, and its copy.
    static func writeHeader(_ bytes: [UInt8], to file: any FileHandle) throws(VaultError) {
        try file.write(bytes + bytes, at: 0)
    }

    private static func writeFirst(
        _ file: any FileHandle, _ header: Header, _ hash: Bytes32, _ keys: borrowing VaultKeys, _ new: New,
        _ place: Place
    ) throws(VaultError) {
        let sealing = Sealing(vault: header.id, random: place.random)
        let codec = CommitCodec(keys, sealing: sealing, vault: header.id, isSigning: header.isSigned)
        let appender = Appender(unnamed: file, sealing: sealing, start: header.bodyStart)
        var ring = Keyring()
        ring.keeping = new.keeping
        let first = ring
        let body = try decoding { () throws(FormatError) in try first.encode() }
        let keyring = try appender.append(body, as: .keyring, .keyring, key: keys.index)
        let live = header.bodyStart + UInt64(keyring.length + Format.commitSize)
        try appender.finish { (offset, digest, isSyncedFirst) throws(VaultError) in
            codec.seal(
                Commit(
                    generation: 1, predecessor: nil, offset: offset, start: header.bodyStart, clock: new.clock,
                    tombstoneHorizon: 0,
                    wasSyncedFirst: isSyncedFirst, root: nil, keyring: keyring, history: nil, header: hash,
                    digest: digest, items: 0,
                    tombstones: 0, versions: 0, liveBytes: live)
            ).frame
        }
    }
}
