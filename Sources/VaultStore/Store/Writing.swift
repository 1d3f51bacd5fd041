internal import Glibc
package import VaultBytes

extension Store {
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
                _ = ForkGate.outside { usleep(10_000) }
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
        case .incomplete(let generation): try setAside("incomplete-\(generation)", to: incomplete?.commit.end)
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
            kept = try setAside("damaged-\(state.commit.generation + 1)", to: nil)
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
    package func commit(_ appender: Appender, _ commit: Commit, keyring newKeyring: Keyring) throws(VaultError) {
        try requireGeneration(commit.generation)
        do throws(VaultError) {
            var next = state
            try syncing { () throws(VaultError) in next = try appender.finish(commit, codec) }
            try finishRelocation()
            state = next
        } catch {
            abandon()
            throw error
        }
        commitFrame = appender.commitFrame
        hasCommitted = true
        synced = state
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
}

extension Store {
    /// Copies what follows the newest state to `FILE.incomplete-G` or `FILE.damaged-G` before it is cut off.
    /// The copy gets that name only once it is complete and synced: after a crash in between, the next writer copies
    /// again.
    ///
    /// - Parameter end: Where what is kept ends; the end of the file if nil.
    /// - Returns: The copy's path.
    @discardableResult
    func setAside(_ name: String, to end: UInt64?) throws(VaultError) -> String {
        let size = try file.size()
        let end = min(end ?? size, size)
        let bytes = end - min(end, state.commit.end)
        // As much as the vault has itself, or what a small one may get in one change: somebody who can extend the file
        // must not fill the disk.
        let most = max(state.commit.end, Self.longestAside)
        guard bytes <= most else {
            let what = "\(bytes) bytes follow generation \(state.commit.generation), more than are kept aside"
            throw VaultError(.limitExceeded, "\(what): copy the file, and salvage that", at: state.commit.end)
        }
        try Temporary.removeStale(beside: path, fileSystem)
        let temporary = Temporary.name(beside: path, random)
        let directory = try fileSystem.directory(of: path)
        let copy = try fileSystem.create(temporary)
        do throws(VaultError) {
            guard try copy.lock() else { throw VaultError(.busy, "\(temporary) is locked by another process") }
            try copyTail(to: copy, end)
            try copy.sync()
            let kept = try nameCopy(copy, temporary, name)
            try directory.sync()
            return kept
        } catch {
            do throws(VaultError) { try fileSystem.remove(temporary) } catch {}
            guard error.code == .outcomeUnknown else { throw error }
            throw VaultError(.io, "what follows the newest state could not be kept: \(error.detail)")
        }
    }

    private static let longestAside: UInt64 = 64 << 20

    private func copyTail(to copy: any FileHandle, _ end: UInt64) throws(VaultError) {
        var offset = state.commit.end
        while offset < end {
            let count = Int(min(end - offset, 1 << 20))
            try copy.write(try file.bytes(count, at: offset), at: offset - state.commit.end)
            offset += UInt64(count)
        }
    }

    /// The first name that is free, or that a copy of the same bytes has.
    private func nameCopy(_ copy: any FileHandle, _ temporary: String, _ name: String) throws(VaultError) -> String {
        var number = 1
        while true {
            let aside = "\(path).\(name)" + (number == 1 ? "" : "-\(number)")
            do throws(VaultError) {
                guard try fileSystem.identity(of: aside) != nil else {
                    try fileSystem.rename(temporary, to: aside, replacing: false)
                    return aside
                }
                if try isCopy(aside, of: copy) {
                    try fileSystem.rename(temporary, to: aside, replacing: true)
                    return aside
                }
            } catch {
                guard error.code == .fileExists || error.code == .noSuchFile else { throw error }
            }
            number += 1
        }
    }

    private func isCopy(_ path: String, of other: any FileHandle) throws(VaultError) -> Bool {
        let file = try fileSystem.openOwn(path, writable: false)
        let size = try file.size()
        guard try other.size() == size else { return false }
        var offset: UInt64 = 0
        while offset < size {
            let count = Int(min(size - offset, 1 << 20))
            let (left, right) = (try file.bytes(count, at: offset), try other.bytes(count, at: offset))
            guard left == right else { return false }
            offset += UInt64(count)
        }
        return true
    }
}
