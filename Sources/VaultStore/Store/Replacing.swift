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
            let grown = UInt64(keyring.length) + state.commit.liveBytes - UInt64(state.commit.keyring.length)
            try appender.finish { (offset, digest, isSyncedFirst) throws(VaultError) in
                var commit = state.commit
                commit.generation += 1
                commit.clock = clock
                commit.predecessor = state.asPredecessor
                commit.start = state.commit.end
                commit.offset = offset
                commit.wasSyncedFirst = isSyncedFirst
                commit.keyring = keyring
                commit.header = hash
                commit.digest = digest
                // The commit before is dead now, as long as this one.
                commit.liveBytes = grown
                return codec.seal(commit).frame
            }
        }
    }

    /// A new header and a new body, which `build` appends; it returns what the only commit says, but for the live bytes
    /// of header and commit.
    package func rebuild(
        _ replacement: consuming Replacement,
        _ build: (Appender, borrowing VaultKeys) throws(VaultError) -> NewState
    ) throws(VaultError) {
        let (bytes, hash) = try HeaderSeal.seal(&replacement.header, replacement.keys)
        let start = replacement.header.bodyStart
        let codec = CommitCodec(
            replacement.keys, sealing: sealing, vault: vault, isSigning: replacement.header.isSigned)
        let current = state
        try replaceFile(by: replacement) { (file, replacement) throws(VaultError) in
            try Store.writeHeader(bytes, to: file)
            let appender = Appender(unnamed: file, sealing: sealing, start: start)
            let new = try build(appender, replacement.keys)
            try requireGeneration(new.generation ?? current.commit.generation + 1)
            try appender.finish { (offset, digest, isSyncedFirst) throws(VaultError) in
                codec.seal(
                    Commit(
                        generation: new.generation ?? current.commit.generation + 1, predecessor: current.asPredecessor,
                        offset: offset,
                        start: start, clock: new.clock, tombstoneHorizon: new.tombstoneHorizon,
                        wasSyncedFirst: isSyncedFirst,
                        root: new.root, keyring: new.keyring, history: new.history, header: hash, digest: digest,
                        items: new.items,
                        tombstones: new.tombstones, versions: new.versions,
                        liveBytes: start + UInt64(Format.commitSize) + new.liveBytes)
                ).frame
            }
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

/// Files on their way to replace another: `.NAME.vaultfmt-XXXXXXXX` beside it.
package enum Temporary {
    package static func name(beside path: String, _ random: Randomness) -> String {
        let (directory, name) = RealFileSystem.split(path)
        let file = ".\(name).vaultfmt-\(Hex.encode(random.bytes(4)))"
        return directory == "/" ? "/" + file : directory + "/" + file
    }

    /// Whether it is a name that `name(beside:)` gives for a file of this name, or for one that has such a name itself.
    private static func isTemporary(_ sibling: String, of name: String) -> Bool {
        var rest = sibling[...]
        while rest.hasPrefix("."), rest.dropLast(8).hasSuffix(".vaultfmt-") {
            rest = rest.dropFirst().dropLast(8 + ".vaultfmt-".count)
            if rest == name { return true }
        }
        return false
    }

    /// Removes what an interrupted replacement left; one whose writer lives is locked.
    package static func removeStale(beside path: String, _ fileSystem: any FileSystem) throws(VaultError) {
        let (directory, name) = RealFileSystem.split(path)
        for sibling in try fileSystem.siblings(of: path) where isTemporary(sibling, of: name) {
            let stale = directory == "/" ? "/" + sibling : directory + "/" + sibling
            do throws(VaultError) {
                let file = try fileSystem.openOwn(stale, writable: true)
                // A second name of the vault itself, where one was made without RENAME_NOREPLACE: its lock says
                // nothing.
                let (own, vault) = (try file.identity(), try fileSystem.identity(of: path))
                let isSecondName = vault.map(own.isSameFile) ?? false
                let isAbandoned = try isSecondName ? true : file.lock()
                if isAbandoned { try fileSystem.remove(stale) }
            } catch {
                // Another process may have removed it just now; one that cannot be removed harms nobody.
            }
        }
    }
}
