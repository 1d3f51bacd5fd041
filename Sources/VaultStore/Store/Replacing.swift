package import VaultBytes
package import VaultCrypto

/// Replacing the whole file: a new one beside it, synced, then renamed over it (section 7.3). The writer's lock is held
/// throughout.
extension Store {
    /// Keys, header and content of a file that is to take this one's place.
    package struct Replacement: ~Copyable {
        package var header: Header
        package var keys: VaultKeys
        package var wrappingKey: Secret
        package var slotID: Bytes16

        package init(header: Header, keys: consuming VaultKeys, wrappingKey: consuming Secret, slotID: Bytes16) {
            self.header = header
            self.keys = keys
            self.wrappingKey = wrappingKey
            self.slotID = slotID
        }
    }

    /// A header with other slots before the same body; a commit bound to it is appended, after another keyring if there
    /// is one.
    ///
    /// - Parameter clock: At least every revision in the header and the keyring.
    package func replaceHeader(_ replacement: consuming Replacement, keyring new: Keyring? = nil, clock: UInt64)
        throws(VaultError)
    {
        try requireGeneration(state.commit.generation + 1)
        let (bytes, hash) = try HeaderSeal.seal(&replacement.header, replacement.keys)
        precondition(replacement.header.length == header.length, "a header that outgrows its space compacts")
        let codec = CommitCodec(
            replacement.keys, sealing: sealing, vault: vault, isSigning: replacement.header.isSigned)
        try replaceFile(by: replacement) { (file, replacement) throws(VaultError) in
            try Store.writeHeader(bytes, to: file)
            try file.copy(from: self.file, header.bodyStart..<state.commit.end)
            let appender = Appender(unnamed: file, sealing: sealing, start: state.commit.end)
            var keyring = state.commit.keyring
            if let new {
                let body = try decoding { () throws(FormatError) in try new.encode() }
                keyring = try appender.append(body, as: .keyring, .keyring, key: replacement.keys.index)
            }
            var commit = state.successor
            commit.clock = clock
            // The commit before is dead now, as long as this one.
            commit.liveBytes = UInt64(keyring.length) + commit.liveBytes - UInt64(commit.keyring.length)
            commit.keyring = keyring
            commit.header = hash
            _ = try appender.finish(commit, codec)
        }
    }

    /// Puts a new header and a new body in the place of the current ones.
    ///
    /// - Parameter build: Appends the body, and sets what the only commit says of it, live bytes but for those of
    ///   header and commit.
    package func rebuild(
        _ replacement: consuming Replacement,
        _ build: (Appender, borrowing VaultKeys, inout Commit) throws(VaultError) -> Void
    ) throws(VaultError) {
        let (bytes, hash) = try HeaderSeal.seal(&replacement.header, replacement.keys)
        let start = replacement.header.bodyStart
        let codec = CommitCodec(
            replacement.keys, sealing: sealing, vault: vault, isSigning: replacement.header.isSigned)
        let current = state
        try replaceFile(by: replacement) { (file, replacement) throws(VaultError) in
            try Store.writeHeader(bytes, to: file)
            let appender = Appender(unnamed: file, sealing: sealing, start: start)
            var commit = current.successor
            commit.header = hash
            try build(appender, replacement.keys, &commit)
            try requireGeneration(commit.generation)
            commit.liveBytes += start + UInt64(Format.commitSize)
            _ = try appender.finish(commit, codec)
        }
    }

    private func loaded(_ file: any FileHandle, _ replacement: consuming Replacement) throws(VaultError) -> Loaded {
        let (header, bytes) = try Store.readHeader(file)
        let wrappingKey = replacement.wrappingKey.copy()
        let id = replacement.slotID
        let slot = OpenedSlot(id: id, keys: replacement.takeKeys(), wrappingKey: wrappingKey, grants: Grants())
        return try Store.load(file, header, bytes, slot, place)
    }

    /// Lets `write` fill a new file, which then takes the place of the current one, locked.
    func replaceFile(
        by replacement: consuming Replacement,
        _ write: (any FileHandle, borrowing Replacement) throws(VaultError) -> Void
    ) throws(VaultError) {
        try requireOneName()
        let directory = try fileSystem.directory(of: path)
        let new = try renamed(replacement, write)
        do throws(VaultError) { try directory.sync() } catch {
            // The new file has the name, but perhaps not for good. This handle goes on reading the old one, and writes
            // no more.
            isPoisoned = true
            throw error
        }
        let old = file
        adopt(new)
        synced = state
        watch?.committed(watched)
        old.unlock()
    }

    /// A new file that has got the name of the current one.
    private func renamed(
        _ replacement: consuming Replacement,
        _ write: (any FileHandle, borrowing Replacement) throws(VaultError) -> Void
    ) throws(VaultError) -> Loaded {
        try Temporary.removeStale(beside: path, fileSystem)
        let temporary = Temporary.name(beside: path, random)
        let new = try fileSystem.create(temporary)
        do throws(VaultError) {
            guard try new.lock() else { throw VaultError(.busy, "\(temporary) is locked by another process") }
            // Before any work: where owner or attributes cannot be kept, the file is not replaced.
            try new.adopt(attributesOf: file)
            // All of it is synced when its commit is.
            try write(new, replacement)
            // Read back while it can still be given up: once it has the name, nothing may fail.
            let loaded = try loaded(new, replacement)
            try fileSystem.rename(temporary, to: path, replacing: true)
            return loaded
        } catch {
            do throws(VaultError) { try fileSystem.remove(temporary) } catch {}
            throw error.code == .outcomeUnknown
                ? VaultError(.io, "the new file could not be written: \(error.detail)") : error
        }
    }
}

// MARK: changes that are too large to be appended in place

extension Store {
    /// A new file with all of the current one, to which a large change is appended; locked, and not named yet.
    struct Relocation {
        let temporary: String
        let file: any FileHandle
        let directory: any Directory
    }

    /// Copies the file, with what was appended so far, to a new one beside it.
    func relocate(_ written: UInt64) throws(VaultError) -> any FileHandle {
        try requireOneName()
        let directory = try fileSystem.directory(of: path)
        try Temporary.removeStale(beside: path, fileSystem)
        let temporary = Temporary.name(beside: path, random)
        let new = try fileSystem.create(temporary)
        relocation = Relocation(temporary: temporary, file: new, directory: directory)
        guard try new.lock() else { throw VaultError(.busy, "\(temporary) is locked by another process") }
        try new.adopt(attributesOf: file)
        try new.copy(from: file, 0..<written)
        return new
    }

    /// Gives the new file, whose commit is synced, the name of the current one.
    func finishRelocation() throws(VaultError) {
        guard let relocation else { return }
        let loaded = try Store.load(
            relocation.file, header, try file.bytes(header.length, at: 0), try reopenedSlot(header), place)
        try fileSystem.rename(relocation.temporary, to: path, replacing: true)
        self.relocation = nil
        do throws(VaultError) { try relocation.directory.sync() } catch {
            isPoisoned = true
            throw error
        }
        let old = file
        adopt(loaded)
        old.unlock()
    }

    /// Gives up a new file that has not got its name.
    package func dropRelocation() {
        guard let relocation else { return }
        self.relocation = nil
        do throws(VaultError) { try fileSystem.remove(relocation.temporary) } catch {
            // The next writer removes it.
        }
    }

    /// Where what a transaction appended can be read, once it was flushed, together with what was there before.
    package var pagesOfChange: PageSource {
        guard let relocation else { return pages }
        return PageSource(
            file: relocation.file, sealing: sealing, bodyStart: header.bodyStart, indexKey: slot.keys.index.copy(),
            cacheBytes: cacheBytes)
    }

    func requireOneName() throws(VaultError) {
        guard try file.identity().links == 1 else {
            throw VaultError(.cannotReplace, "\(path) has other names (hard links), which a new file would not have")
        }
    }
}

extension Store.Replacement {
    fileprivate consuming func takeKeys() -> VaultKeys { keys }
}

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
        let commit = Commit(
            generation: 1, predecessor: nil, offset: 0, start: header.bodyStart, clock: new.clock, tombstoneHorizon: 0,
            wasSyncedFirst: true, root: nil, keyring: keyring, history: nil, header: hash, digest: .zero, items: 0,
            tombstones: 0, versions: 0, liveBytes: live)
        _ = try appender.finish(commit, codec)
    }
}

/// Another copy of the same vault, taken in this one's place.
extension Store {
    /// Replaces the file by the other one up to its newest commit, and goes on with the slot that opened that.
    ///
    /// - Parameter append: Appends what a further commit needs, and sets what that says; without it, the file is taken
    ///   byte for byte.
    package func replace(
        byCopyOf other: Store, appending append: ((Appender, inout Commit) throws(VaultError) -> Void)? = nil
    ) throws(VaultError) {
        guard let vaultKey = other.slot.keys.vaultKey() else {
            throw VaultError(.notPermitted, "only an owner can do this")
        }
        let replacement = Replacement(
            header: other.header, keys: VaultKeys(vaultKey: vaultKey, epoch: other.header.epoch),
            wrappingKey: other.slot.wrappingKey.copy(), slotID: other.slot.id)
        let before = other.state
        try replaceFile(by: replacement) { (file, replacement) throws(VaultError) in
            try file.copy(from: other.file, 0..<before.commit.end)
            guard let append else { return try file.sync() }
            let appender = Appender(unnamed: file, sealing: other.sealing, start: before.commit.end)
            var commit = before.successor
            commit.header = other.headerHash
            try append(appender, &commit)
            try requireGeneration(commit.generation)
            _ = try appender.finish(commit, other.codec)
        }
    }
}
