internal import Glibc
package import VaultBytes

extension Store {
    /// What a new commit says about the vault.
    package struct NewState {
        package var root: Commit.Root?
        package var keyring: ObjectRef
        package var history: ObjectRef?
        package var clock: UInt64
        package var tombstoneHorizon: UInt64
        package var items: UInt64
        package var tombstones: UInt64
        /// Earlier values.
        package var versions: UInt64
        package var liveBytes: UInt64
        /// Another generation than the next one: a merge's, which continues from the greater of two.
        package var generation: UInt64?

        package init(
            root: Commit.Root?, keyring: ObjectRef, history: ObjectRef?, clock: UInt64, tombstoneHorizon: UInt64,
            items: UInt64,
            tombstones: UInt64, versions: UInt64, liveBytes: UInt64, generation: UInt64? = nil
        ) {
            self.tombstoneHorizon = tombstoneHorizon
            self.versions = versions
            self.generation = generation
            self.root = root
            self.keyring = keyring
            self.history = history
            self.clock = clock
            self.items = items
            self.tombstones = tombstones
            self.liveBytes = liveBytes
        }
    }

    /// Takes the writer's lock, waiting for at most `seconds`, and moves to the newest state.
    ///
    /// - Parameter check: Run under the lock, at the newest state, before anything of the file changes.
    package func beginWriting(
        wait seconds: Double, _ check: () throws(VaultError) -> Void = { () throws(VaultError) in }
    ) throws(VaultError) {
        guard isWritable else { throw VaultError(.readOnly, "the vault was opened for reading only") }
        guard !isPoisoned else {
            throw VaultError(.outcomeUnknown, "an earlier sync failed: open the vault again to see what is there")
        }
        let start = Clock.seconds
        while true {
            if try file.lock() {
                do throws(VaultError) {
                    if try !isReplaced() {
                        try prepare(check)
                        return
                    }
                    file.unlock()
                } catch {
                    file.unlock()
                    throw error
                }
                _ = try refresh()
            } else {
                // Not by how often it slept: a signal ends a sleep early.
                let waited = Clock.seconds - start
                guard waited < seconds else {
                    let holder = file.lockHolder().map { " by \($0)" } ?? ""
                    throw VaultError(.busy, "the vault is locked\(holder); waited \(Int(waited)) s")
                }
                usleep(10_000)
            }
        }
    }

    package func endWriting() {
        if !keepsLock { file.unlock() }
    }

    /// Lets others write to a file that was created with its lock kept.
    package func releaseLock() {
        keepsLock = false
        file.unlock()
    }

    /// Under the lock: newest state, and no tail.
    private func prepare(_ check: () throws(VaultError) -> Void) throws(VaultError) {
        sweep()
        _ = try refresh()
        if tail == .writeInProgress {
            // Nobody else can be writing now: find out what there is.
            let found = try finder.newest()
            tail = found.tail
            incomplete = found.incomplete
        }
        try check()
        switch tail {
        case .clean, .writeInProgress: return
        case .torn: break
        case .incomplete(let generation): try keepAside("incomplete-\(generation)", to: incomplete?.commit.end)
        case .damaged:
            throw VaultError(
                .damagedTail,
                "a damaged commit follows generation \(state.commit.generation): 'vaultfmt repair' keeps it in a file and cuts it off",
                at: state.commit.end)
        }
        try cutTail()
    }

    /// Keeps a damaged tail in `FILE.damaged-G`, and cuts it off. Other tails are treated as before any
    /// change.
    ///
    /// - Parameter check: As of `beginWriting`.
    /// - Returns: The kept file's path; nil if there was nothing to keep.
    package func repair(
        wait seconds: Double, _ check: () throws(VaultError) -> Void = { () throws(VaultError) in }
    ) throws(VaultError) -> String? {
        var kept: String?
        try beginWriting(wait: seconds) { () throws(VaultError) in
            try check()
            guard case .damaged = tail else { return }
            kept = try keepAside("damaged-\(state.commit.generation + 1)", to: nil)
            try cutTail()
            try syncing { () throws(VaultError) in try file.sync() }
        }
        endWriting()
        return kept
    }

    /// Removes what a killed writer left beside the vault, once for each opening.
    private func sweep() {
        guard !hasSwept else { return }
        hasSwept = true
        // A folder that cannot be listed is no reason not to write.
        do throws(VaultError) { try Temporary.removeStale(beside: path, fileSystem) } catch {}
    }

    private func cutTail() throws(VaultError) {
        try file.truncate(to: state.commit.end)
        tail = .clean
        incomplete = nil
    }

    /// what a killed writer left in the cache must not be built upon and then lost.
    private func takeOver() throws(VaultError) {
        guard synced != state else { return }
        let commit = state.commit
        let from = commit.wasSyncedFirst ? commit.offset : commit.start
        let count = Int(commit.end - from)
        let directory = try fileSystem.directory(of: path)
        try file.write(try file.bytes(count, at: from), at: from)
        try syncing { () throws(VaultError) in
            try file.sync()
            try directory.sync()
        }
        synced = state
    }

    /// Runs a sync; if it fails, this handle writes no more.
    func syncing(_ body: () throws(VaultError) -> Void) throws(VaultError) {
        do throws(VaultError) { try body() } catch {
            if error.code == .outcomeUnknown { isPoisoned = true }
            throw error
        }
    }

    /// Makes sure that the newest state is on the disk, so that it can be built upon; a file that replaces this one has
    /// it synced anyway.
    package func makeAppender() throws(VaultError) -> Appender {
        try takeOver()
        return Appender(file: file, sealing: sealing, start: state.commit.end, keepsReserve: hasCommitted) {
            [unowned self] (written) throws(VaultError) in try self.relocate(written)
        }
    }

    /// Writes the commit after what was appended, and syncs. If that fails before the sync, nothing has changed.
    package func commit(_ appender: Appender, _ new: NewState, keyring newKeyring: Keyring) throws(VaultError) {
        let generation = new.generation ?? state.commit.generation + 1
        try requireGeneration(generation)
        var next: CommittedState?
        do throws(VaultError) {
            try syncing { () throws(VaultError) in
                try appender.finish { (offset, digest, isSyncedFirst) throws(VaultError) in
                    let sealed = codec.seal(
                        successor(new, generation, start: appender.start, offset, digest, isSyncedFirst))
                    next = sealed.state
                    return sealed.frame
                }
            }
            try finishRelocation()
        } catch {
            abandon()
            throw error
        }
        guard let next else { return }
        state = next
        commitFrame = appender.commitFrame
        hasCommitted = true
        synced = next
        keyring = newKeyring
        tail = .clean
        watch?.committed(watched)
    }

    func requireGeneration(_ generation: UInt64) throws(VaultError) {
        guard generation <= Format.Limit.number else {
            throw VaultError(.limitExceeded, "the vault has no generations left")
        }
    }

    /// Cuts off what an unfinished change has written.
    package func abandon() {
        dropRelocation()
        guard !isPoisoned else { return }
        do throws(VaultError) {
            if try file.size() > state.commit.end { try file.truncate(to: state.commit.end) }
        } catch {
            // The tail belongs to no commit: readers pass over it, and the next writer cuts it off.
            tail = .torn(bytes: 0)
        }
    }

    /// Before the last user of this handle goes: the file then ends with its newest commit. A reserve that cannot be
    /// cut off harms nobody.
    func cutReserve() {
        guard hasCommitted, !isPoisoned, process.isThis else { return }
        do throws(VaultError) {
            guard try file.lock() else { return }
            defer { file.unlock() }
            guard try !isReplaced(), tail == .clean, try finder.isNewest(state.commit, commitFrame) else { return }
            abandon()
        } catch {
            // As above.
        }
    }

    private func successor(
        _ new: NewState, _ generation: UInt64, start: UInt64, _ offset: UInt64, _ digest: Bytes32, _ isSyncedFirst: Bool
    ) -> Commit {
        Commit(
            generation: generation, predecessor: state.asPredecessor, offset: offset, start: start, clock: new.clock,
            tombstoneHorizon: new.tombstoneHorizon, wasSyncedFirst: isSyncedFirst, root: new.root, keyring: new.keyring,
            history: new.history, header: headerHash, digest: digest, items: new.items, tombstones: new.tombstones,
            versions: new.versions, liveBytes: new.liveBytes)
    }
}

extension CommittedState {
    /// What a commit that follows says of it.
    package var asPredecessor: Commit.Predecessor { Commit.Predecessor(generation: commit.generation, chain: chain) }
}
