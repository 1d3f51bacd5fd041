package import VaultBytes
package import VaultCrypto

extension Store {
    /// Creates a vault that is complete before it has its name: generation 1, no items. An existing file is an error.
    package static func create(
        at path: String, keys: consuming VaultKeys, header: consuming Header, wrappingKey: consuming Secret, clock: UInt64, place: Place
    ) throws(VaultError) -> Store {
        let resolved = try place.fileSystem.resolve(path)
        guard try place.fileSystem.identity(of: resolved) == nil else { throw VaultError(.fileExists, "\(path) exists already") }
        var header = header
        let bytes = try HeaderSeal.seal(&header, keys)
        try Temporary.removeStale(beside: resolved, place.fileSystem)
        let directory = try place.fileSystem.directory(of: resolved)
        let loaded = try named(resolved, header, bytes, keys, wrappingKey, clock, place)
        try directory.sync()
        loaded.file.unlock()
        let store = Store(loaded, path: resolved, isWritable: true, place: place)
        store.synced = store.state
        place.watch?.committed(store.watched)
        return store
    }

    /// A whole vault that has got its name.
    private static func named(
        _ path: String, _ header: Header, _ bytes: [UInt8], _ keys: consuming VaultKeys, _ wrappingKey: consuming Secret, _ clock: UInt64,
        _ place: Place
    ) throws(VaultError) -> Loaded {
        let temporary = Temporary.name(beside: path, place.random)
        let file = try place.fileSystem.create(temporary)
        do throws(VaultError) {
            guard try file.lock() else { throw VaultError(.busy, "\(temporary) is locked by another process") }
            try file.write(bytes, at: 0)
            try writeFirst(file, header, Bytes32(hashing: bytes), keys, clock, place)
            let slot = OpenedSlot(id: header.slots[0].id, keys: keys, wrappingKey: wrappingKey, grants: Grants())
            let loaded = try load(file, header, bytes, slot, place)
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

    private static func writeFirst(
        _ file: any FileHandle, _ header: Header, _ hash: Bytes32, _ keys: borrowing VaultKeys, _ clock: UInt64, _ place: Place
    ) throws(VaultError) {
        let sealing = Sealing(vault: header.id.words, random: place.random)
        let codec = CommitCodec(keys, sealing: sealing, vault: header.id)
        let appender = Appender(file: file, sealing: sealing, start: UInt64(header.length))
        let body = try decoding { () throws(FormatError) in try Keyring().encode() }
        let keyring = try appender.append(body, as: .keyring, .keyring, key: keys.index)
        try appender.finish { (offset, digest, isSyncedFirst) throws(VaultError) in
            codec.seal(
                Commit(
                    generation: 1, offset: offset, start: UInt64(header.length), previous: 0, clock: clock, wasSyncedFirst: isSyncedFirst,
                    root: nil,
                    keyring: keyring, history: nil, header: hash, previousChain: .zero, digest: digest, items: 0, tombstones: 0,
                    liveBytes: UInt64(header.length + keyring.length + Format.commitSize)))
        }
    }
}
