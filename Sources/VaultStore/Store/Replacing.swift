package import VaultBytes
package import VaultCrypto

/// Replaces the whole file: a new file is written next to it, synced, and renamed over it (section 7.3). The writer's
/// lock is held throughout.
extension Store {
    /// The keys, header and contents of a file that will replace this one.
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

    /// Replaces the header with one that has different slots, keeps the body, and appends a keyring and a commit bound
    /// to the new header.
    ///
    /// `next`: the vector of the new state, with the dots of the changes in the keyring.
    package func replaceHeader(
        _ replacement: consuming Replacement, keyring new: Keyring, _ next: NextVector
    ) throws(VaultError) {
        try requireGeneration(state.commit.generation + 1)
        let (bytes, hash) = try HeaderSeal.seal(&replacement.header, replacement.keys)
        precondition(replacement.header.length == header.length, "a header that outgrows its space requires compaction")
        let codec = CommitCodec(
            replacement.keys, sealing: sealing, vault: vault, isSigning: replacement.header.isSigned)
        try replaceFile(by: replacement) { (file, replacement) throws(VaultError) in
            try Store.writeHeader(bytes, to: file)
            try file.copy(from: self.file, header.bodyStart..<state.commit.end)
            let appender = Appender(unnamed: file, sealing: sealing, start: state.commit.end, threads: threads)
            let keyring = try appender.append(new, key: replacement.keys.index, withSpare: writesSpares)
            var commit = state.successor
            // The previous commit is now dead; it has the same length as this one.
            try commit.countLive(adding: UInt64(keyring.length), removing: UInt64(commit.keyring.length))
            commit.keyring = keyring
            commit.header = hash
            _ = try complete(&commit, next, appender, keyring: new, key: replacement.keys.index)
            try next.note()
            _ = try appender.finish(commit, codec)
        }
    }

    /// Replaces the current header and body.
    ///
    /// `next`: the vector of the new state. It determines the commit's vector, clock, floor and own row.
    /// `build`: appends the body and fills in its only commit; the commit's live bytes exclude the header, the vector
    /// and the commit itself.
    package func rebuild(
        _ replacement: consuming Replacement, _ next: NextVector,
        _ build: (Appender, borrowing VaultKeys, inout Commit) throws(VaultError) -> Void
    ) throws(VaultError) {
        let (bytes, hash) = try HeaderSeal.seal(&replacement.header, replacement.keys)
        let start = replacement.header.bodyStart
        let codec = CommitCodec(
            replacement.keys, sealing: sealing, vault: vault, isSigning: replacement.header.isSigned)
        let current = state
        try replaceFile(by: replacement) { (file, replacement) throws(VaultError) in
            try Store.writeHeader(bytes, to: file)
            let appender = Appender(unnamed: file, sealing: sealing, start: start, threads: threads)
            var commit = current.successor
            commit.header = hash
            try build(appender, replacement.keys, &commit)
            try requireGeneration(commit.generation)
            let stored = try VectorWriter.writeWhole(next.vector, appender, key: replacement.keys.index)
            commit.take(next.vector, next.own, stored)
            commit.liveBytes += start + UInt64(Format.commitSize + stored.ref.length)
            try next.note()
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

    /// Creates a new, locked file, lets `write` fill it, and replaces the current file with it.
    func replaceFile(
        by replacement: consuming Replacement, isCopy: Bool = false,
        _ write: (any FileHandle, borrowing Replacement) throws(VaultError) -> Void
    ) throws(VaultError) {
        try requireOneName()
        let directory = try fileSystem.directory(of: path)
        let new = try renamed(replacement, write)
        do throws(VaultError) { try directory.sync() } catch {
            // The new file has its final name, but the rename may not be durable. This handle continues to read the old
            // file and refuses to write.
            isPoisoned = true
            throw error
        }
        let old = file
        adopt(new)
        synced = state
        watch?.committed(watched, isCopy)
        old.unlock()
    }

    /// Creates a new file and renames it over the current one.
    private func renamed(
        _ replacement: consuming Replacement,
        _ write: (any FileHandle, borrowing Replacement) throws(VaultError) -> Void
    ) throws(VaultError) -> Loaded {
        try Temporary.removeStale(beside: path, fileSystem)
        let (new, temporary) = try Temporary.create(beside: path, fileSystem, random)
        do throws(VaultError) {
            // Do this first: if the owner or attributes cannot be preserved, the file is not replaced.
            try new.adopt(attributesOf: file)
            // Syncing the commit makes everything durable.
            try write(new, replacement)
            // Read the file back while it can still be discarded: nothing may fail after the rename.
            let loaded = try loaded(new, replacement)
            try requireInPlace()
            try putInPlace(new, temporary)
            return loaded
        } catch {
            // The temporary file may be the only complete copy.
            if !isPoisoned { do throws(VaultError) { try fileSystem.remove(temporary) } catch {} }
            throw error.code == .outcomeUnknown && !isPoisoned
                ? VaultError(.io, "the new file could not be written: \(error.detail)") : error
        }
    }
}

extension Store {
    /// Renames a new file over the vault's. On a network file system, the rename may succeed even if the reply is lost.
    ///
    /// Throws `outcomeUnknown` if this cannot be determined; in that case, this handle does not write again.
    fileprivate func putInPlace(_ new: any FileHandle, _ temporary: String) throws(VaultError) {
        let failure: VaultError
        do throws(VaultError) { return try fileSystem.rename(temporary, to: path, replacing: true) } catch {
            failure = error
        }
        var isOld = false
        do throws(VaultError) {
            let own = try new.identity()
            if let named = try fileSystem.identity(of: path) {
                if named.isSameFile(as: own) { return }
                // Both names are checked, because a single result may come from a stale cache.
                let new = try fileSystem.identity(of: temporary)
                isOld = named.isSameFile(as: try file.identity()) && new?.isSameFile(as: own) == true
            }
        } catch {
            // If this fails, the outcome is still unknown.
        }
        if isOld { throw failure }
        isPoisoned = true
        throw VaultError(
            .outcomeUnknown,
            "it is unknown whether \(path) was replaced: \(failure.detail); open the vault again")
    }
}

// MARK: changes that are too large to be appended in place

extension Store {
    /// A new, locked file that does not have its final name yet: a copy of the current file, to which a large change is
    /// appended.
    struct Relocation {
        let temporary: String
        let file: any FileHandle
        let directory: any Directory
    }

    /// Copies the file, including everything appended so far, to a new file next to it.
    func relocate(_ written: UInt64) throws(VaultError) -> any FileHandle {
        try requireOneName()
        let directory = try fileSystem.directory(of: path)
        try Temporary.removeStale(beside: path, fileSystem)
        let (new, temporary) = try Temporary.create(beside: path, fileSystem, random)
        relocation = Relocation(temporary: temporary, file: new, directory: directory)
        try new.adopt(attributesOf: file)
        try new.copy(from: file, 0..<written)
        return new
    }

    /// Renames the new file over the current one after the new file's commit has been synced.
    func finishRelocation() throws(VaultError) {
        guard let relocation else { return }
        let loaded = try Store.load(
            relocation.file, header, try file.bytes(header.length, at: 0), try reopenedSlot(header), place)
        try requireInPlace()
        try putInPlace(relocation.file, relocation.temporary)
        self.relocation = nil
        do throws(VaultError) { try relocation.directory.sync() } catch {
            isPoisoned = true
            throw error
        }
        let old = file
        adopt(loaded)
        old.unlock()
    }

    /// Discards a new file that has not been renamed yet.
    package func dropRelocation() {
        guard let relocation else { return }
        self.relocation = nil
        // The temporary file may be the only complete copy.
        guard !isPoisoned else { return }
        do throws(VaultError) { try fileSystem.remove(relocation.temporary) } catch {
            // The next writer removes it.
        }
    }

    /// A source for the pages that a transaction has appended and flushed, and for all earlier pages.
    package var pagesOfChange: PageSource {
        guard let relocation else { return pages }
        return PageSource(
            file: relocation.file, sealing: sealing, bodyStart: header.bodyStart, indexKey: slot.keys.index.copy(),
            cacheBytes: cacheBytes)
    }

    /// Throws `busy` if a program that ignores our lock has replaced this file since the change began. Otherwise, that
    /// program's file would be overwritten, or would lack the change.
    func requireInPlace() throws(VaultError) {
        guard try isReplaced() else { return }
        throw VaultError(
            .busy,
            "another program replaced \(path) during the change; the change was not made")
    }

    func requireOneName() throws(VaultError) {
        guard try file.identity().links == 1 else {
            throw VaultError(.cannotReplace, "\(path) has other names (hard links), which would be lost")
        }
    }
}

extension Store.Replacement {
    fileprivate consuming func takeKeys() -> VaultKeys { keys }
}

extension Store {
    /// Creates an empty vault at generation 1, which is complete before the file appears under its name. It is an error
    /// if the file already exists.
    ///
    /// `limit`: the number of earlier values that each field of an item keeps. `keepsLock`: true to hold the writer's
    /// lock until `releaseLock`.
    package static func create(
        at path: String, keys: consuming VaultKeys, header: consuming Header, wrappingKey: consuming Secret,
        limit: Int, place: Place, keepsLock: Bool = false
    ) throws(VaultError) -> Store {
        let resolved = try place.fileSystem.resolve(path)
        guard try place.fileSystem.identity(of: resolved) == nil else {
            throw VaultError(.fileExists, "\(path) already exists")
        }
        var header = header
        let (bytes, hash) = try HeaderSeal.seal(&header, keys)
        try Temporary.removeStale(beside: resolved, place.fileSystem)
        let directory = try place.fileSystem.directory(of: resolved)
        let loaded = try named(resolved, header, (bytes, hash), keys, wrappingKey, limit, place)
        try directory.sync()
        let store = Store(loaded, path: resolved, isWritable: true, place: place)
        store.keepsLock = keepsLock
        store.endWriting()
        store.synced = store.state
        place.watch?.committed(store.watched, false)
        return store
    }

    /// Writes a complete vault to a temporary file, and then renames the file.
    private static func named(
        _ path: String, _ header: Header, _ sealed: (bytes: [UInt8], hash: Bytes32), _ keys: consuming VaultKeys,
        _ wrappingKey: consuming Secret, _ limit: Int, _ place: Place
    ) throws(VaultError) -> Loaded {
        let (file, temporary) = try Temporary.create(beside: path, place.fileSystem, place.random)
        do throws(VaultError) {
            try writeHeader(sealed.bytes, to: file)
            try writeFirst(file, header, sealed.hash, keys, limit, place)
            let slot = OpenedSlot(id: header.slots[0].id, keys: keys, wrappingKey: wrappingKey, grants: Grants())
            let loaded = try load(file, header, sealed.bytes, slot, place)
            try place.fileSystem.rename(temporary, to: path, replacing: false)
            return loaded
        } catch {
            do throws(VaultError) { try place.fileSystem.remove(temporary) } catch {}
            switch error.code {
            case .fileExists: throw VaultError(.fileExists, "\(path) already exists")
            case .outcomeUnknown: throw VaultError(.io, "the vault could not be written: \(error.detail)")
            default: throw error
            }
        }
    }

    /// Writes the header and its copy.
    static func writeHeader(_ bytes: [UInt8], to file: any FileHandle) throws(VaultError) {
        try file.write(bytes + bytes, at: 0)
    }

    private static func writeFirst(
        _ file: any FileHandle, _ header: Header, _ hash: Bytes32, _ keys: borrowing VaultKeys, _ limit: Int,
        _ place: Place
    ) throws(VaultError) {
        let sealing = Sealing(vault: header.id, random: place.random)
        let codec = CommitCodec(keys, sealing: sealing, vault: header.id, isSigning: header.isSigned)
        let appender = Appender(
            unnamed: file, sealing: sealing, start: header.bodyStart, threads: place.threads)
        let next = NextVector(
            Vector(), vault: header.id, memory: place.replicas, random: place.random, now: place.fileSystem.now())
        let made = next.stored(try next.tick())
        let setting = next.stored(try next.tick())
        var ring = Keyring(keeping: Keyring.Keeping(count: limit, dot: setting), vaultKey: made)
        for slot in header.slots.sorted(by: { $0.id < $1.id }) {
            let dot = next.stored(try next.tick())
            ring.slots.append(SlotDots(id: slot.id, made: dot, changed: dot))
        }
        let keyring = try appender.append(ring, key: keys.index, withSpare: place.writesSpares)
        let stored = try VectorWriter.writeWhole(next.vector, appender, key: keys.index)
        var commit = Commit(
            generation: 1, predecessor: nil, offset: 0, start: header.bodyStart, clock: 0, floor: 0,
            wasSyncedFirst: true, root: nil, keyring: keyring, vector: stored.ref, header: hash, digest: .zero,
            items: 0,
            forgotten: 0, pasts: 0, liveBytes: 0, own: nil)
        commit.take(next.vector, next.own, stored)
        commit.liveBytes = header.bodyStart + UInt64(keyring.length + stored.ref.length + Format.commitSize)
        try next.note()
        _ = try appender.finish(commit, codec)
    }
}

/// Replaces this vault with another copy of it.
extension Store {
    /// Replaces the file with the contents of another, up to the other file's newest commit, and continues with the
    /// slot that opened that file.
    package func replace(byCopyOf other: Store) throws(VaultError) {
        guard let vaultKey = other.slot.keys.vaultKey() else {
            throw VaultError(.notPermitted, "only an owner can do this")
        }
        let replacement = Replacement(
            header: other.header, keys: VaultKeys(vaultKey: vaultKey, epoch: other.header.epoch),
            wrappingKey: other.slot.wrappingKey.copy(), slotID: other.slot.id)
        let end = other.state.commit.end
        try replaceFile(by: replacement, isCopy: true) { (file, _) throws(VaultError) in
            try file.copy(from: other.file, 0..<end)
            try file.sync()
        }
    }
}
