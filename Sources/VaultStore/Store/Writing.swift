internal import Glibc
package import VaultBytes
internal import VaultCrypto

extension Store {
    /// Acquires the writer's lock, waiting at most `seconds`, and moves to the newest state.
    ///
    /// `check`: called with the lock held and the newest state loaded, before the file is changed.
    package func beginWriting(
        wait seconds: Double, _ check: () throws(VaultError) -> Void = { () throws(VaultError) in }
    ) throws(VaultError) {
        guard isWritable else { throw VaultError(.readOnly, "the vault was opened for reading only") }
        guard !isPoisoned else {
            throw VaultError(.outcomeUnknown, "an earlier change failed; open the vault again to see what was saved")
        }
        let start = Clock.seconds
        while true {
            if try file.lock() {
                do throws(VaultError) {
                    if try !isReplaced() {
                        if try prepare(check) { return }
                        continue
                    }
                    file.unlock()
                } catch {
                    file.unlock()
                    throw error
                }
                _ = try refresh()
            } else {
                // The elapsed time is measured, because a signal can end a sleep early.
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

    /// Releases the writer's lock on a file that has been locked since it was created.
    package func releaseLock() {
        keepsLock = false
        file.unlock()
    }

    /// Moves to the newest state and removes the tail. The caller holds the lock. Returns false if a program that
    /// ignores the lock has replaced the file in the meantime; the new file is not locked.
    private func prepare(_ check: () throws(VaultError) -> Void) throws(VaultError) -> Bool {
        sweep()
        let locked = file
        _ = try refresh()
        guard file === locked else {
            locked.unlock()
            return false
        }
        if tail == .writeInProgress {
            // No other process can be writing now, so search for the newest state.
            let found = try finder.newest()
            tail = found.tail
            incomplete = found.incomplete
        }
        try check()
        switch tail {
        case .clean, .writeInProgress: return true
        case .torn: break
        case .incomplete(let generation): try setAside("incomplete-\(generation)", to: incomplete?.commit.end)
        case .damaged:
            throw VaultError(
                .damagedTail,
                "a damaged commit follows generation \(state.commit.generation); 'vaultfmt repair' saves it to a file and removes it from the vault",
                at: state.commit.end)
        }
        try cutTail()
        return true
    }

    /// Saves a damaged tail as `FILE.damaged-G`, and truncates it. If the vector of the newest state is
    /// damaged, all states after the newest one with an intact vector are part of that tail. Other tails are
    /// handled as they are before any change.
    ///
    /// `check`: as for `beginWriting`.
    /// Returns the path of the saved file, or nil if there was nothing to save.
    package func repair(
        wait seconds: Double, _ check: () throws(VaultError) -> Void = { () throws(VaultError) in }
    ) throws(VaultError) -> String? {
        var kept: String?
        try beginWriting(wait: seconds) { () throws(VaultError) in
            try check()
            try leaveDamagedVector()
            guard case .damaged = tail else { return }
            kept = try setAside("damaged-\(state.commit.generation + 1)", to: nil)
            try cutTail()
            try syncing { () throws(VaultError) in try file.sync() }
        }
        endWriting()
        return kept
    }

    /// Goes back to the newest state with an intact vector, and treats the bytes after it as a damaged tail.
    private func leaveDamagedVector() throws(VaultError) {
        let size = try file.size()
        var sound = state
        while try !hasSoundVector(sound.commit) {
            guard let earlier = try past.states(before: sound, most: 1).first, earlier.commit.header == headerHash
            else {
                throw VaultError(
                    .authenticationFailed, "no state of this file has a sound vector; salvage the file",
                    at: sound.commit.vector.offset)
            }
            sound = earlier
        }
        guard sound != state, let (frame, _) = try finder.read(at: sound.commit.offset) else { return }
        keyring = try Store.readKeyring(of: sound.commit, pages, header)
        (state, commitFrame, incomplete) = (sound, frame, nil)
        tail = .damaged(bytes: size - min(sound.commit.end, size))
    }

    private func hasSoundVector(_ commit: Commit) throws(VaultError) -> Bool {
        do throws(VaultError) {
            _ = try pages.vector(of: commit).vector(of: commit)
            return true
        } catch {
            guard error.code == .authenticationFailed || error.code == .structureInvalid else { throw error }
            return false
        }
    }

    /// Removes temporary files of killed writers, once per opening.
    private func sweep() {
        guard !hasSwept else { return }
        hasSwept = true
        // A folder that cannot be listed must not prevent a write.
        do throws(VaultError) { try Temporary.removeStale(beside: path, fileSystem) } catch {}
    }

    private func cutTail() throws(VaultError) {
        try file.truncate(to: state.commit.end)
        tail = .clean
        incomplete = nil
    }

    /// A killed writer may have left data only in the page cache; a commit that builds on such data could be lost
    /// together with it.
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

    /// Runs a sync; if the sync fails, this handle refuses further writes.
    func syncing(_ body: () throws(VaultError) -> Void) throws(VaultError) {
        do throws(VaultError) { try body() } catch {
            if error.code == .outcomeUnknown { isPoisoned = true }
            throw error
        }
    }

    /// Makes the newest state durable and returns an appender. A change that replaces the file does not need this.
    package func makeAppender() throws(VaultError) -> Appender {
        try takeOver()
        return Appender(
            file: file, sealing: sealing, start: state.commit.end, keepsReserve: hasCommitted, threads: threads,
            check: { [unowned self] (marks) throws(VaultError) in try requireUntouched(marks) },
            relocate: { [unowned self] (written) throws(VaultError) in try self.relocate(written) })
    }

    /// Throws `busy` if a program that ignores our lock has written to the file since the change began. That program's
    /// data must not be overwritten.
    private func requireUntouched(_ marks: [Appender.Mark]) throws(VaultError) {
        // Before the first write, the newest commit must be followed only by zeros.
        guard try marks.isEmpty ? finder.isNewest(state.commit, commitFrame) : isOurs(marks) else {
            throw VaultError(
                .busy, "another program wrote to \(path) during the change; the change was not made")
        }
    }

    /// Returns whether the file still contains the newest commit and the data that the change has written after it.
    private func isOurs(_ marks: [Appender.Mark]) throws(VaultError) -> Bool {
        guard try finder.holds(commitFrame, at: state.commit.offset) else { return false }
        for mark in marks {
            guard try finder.holds(mark.bytes, at: mark.offset) else { return false }
        }
        return true
    }

    /// Returns whether the range of a failed write contains only the first part of that write, followed by zeros.
    private func isOurs(part attempt: Appender.Mark?) throws(VaultError) -> Bool {
        guard let attempt else { return true }
        let size = try file.size()
        guard size > attempt.offset else { return true }
        let there = try file.bytes(min(attempt.bytes.count, Int(clamping: size - attempt.offset)), at: attempt.offset)
        let same = zip(there, attempt.bytes).prefix { $0 == $1 }.count
        return there[same...].allSatisfy { $0 == 0 }
    }

    /// Throws `outcomeUnknown` if the data of a change, including its commit, is not in the file because another
    /// program has written there too.
    private func requireWritten(_ appender: Appender) throws(VaultError) {
        guard relocation == nil else { return }
        let isThere: Bool
        // The commit was synced, so treat it as durable if the file cannot be read.
        do throws(VaultError) { isThere = try isOurs(appender.marks) } catch { return }
        guard !isThere else { return }
        isPoisoned = true
        throw VaultError(
            .outcomeUnknown,
            "another program wrote to \(path) during the change; open the vault again to see what was saved")
    }

    /// Writes the commit after the appended frames and syncs the file. If this fails before the sync, nothing has
    /// changed.
    ///
    /// `next`: the vector of the new state, with the dots of its changes. It determines the commit's vector, clock,
    /// floor and own row; the commit's live bytes do not yet include the vector.
    package func commit(
        _ appender: Appender, _ commit: Commit, _ next: NextVector, keyring newKeyring: Keyring
    ) throws(VaultError) {
        try requireGeneration(commit.generation)
        do throws(VaultError) {
            var commit = commit
            let stored = try complete(&commit, next, appender, keyring: newKeyring, key: slot.keys.index)
            try next.note()
            var made = state
            try syncing { () throws(VaultError) in made = try appender.finish(commit, codec) }
            try requireWritten(appender)
            if relocation == nil { try requireStillInPlace() } else { try finishRelocation() }
            (state, knownVector) = (made, stored)
        } catch {
            abandon(appender)
            throw error
        }
        commitFrame = appender.commitFrame
        hasCommitted = true
        synced = state
        keyring = newKeyring
        tail = .clean
        watch?.committed(watched, false)
    }

    /// Makes the same check as `requireInPlace`, but after a commit in place. If the path cannot be looked up, the
    /// commit, which is durable, is assumed to be in the file.
    private func requireStillInPlace() throws(VaultError) {
        do throws(VaultError) { try requireInPlace() } catch {
            guard error.code != .busy, error.code != .noSuchFile else { throw error }
        }
    }

    func requireGeneration(_ generation: UInt64) throws(VaultError) {
        guard generation <= Format.Limit.number else {
            throw VaultError(.limitExceeded, "the vault has no generations left")
        }
    }

    /// Truncates the data of an unfinished change, unless another program has written there since.
    package func abandon(_ appender: Appender) {
        dropRelocation()
        guard !isPoisoned, appender.hasWritten else { return }
        do throws(VaultError) {
            guard try isOurs(appender.marks), try isOurs(part: appender.attempted) else {
                tail = .torn(bytes: 0)
                return
            }
            try cutAfterCommit()
        } catch {
            // The tail belongs to no commit: readers skip it, and the next writer truncates it.
            tail = .torn(bytes: 0)
        }
    }

    /// Truncates the zeros that are reserved for the next change.
    package func dropReserve() {
        guard !isPoisoned else { return }
        do throws(VaultError) {
            if try finder.isNewest(state.commit, commitFrame) { try cutAfterCommit() }
        } catch {
            // A reserve that could not be truncated is harmless.
        }
    }

    private func cutAfterCommit() throws(VaultError) {
        if try file.size() > state.commit.end { try file.truncate(to: state.commit.end) }
    }

    /// Makes the file end with its newest commit; called before the last user of this handle releases it. A reserve
    /// that cannot be truncated is harmless.
    func cutReserve() {
        guard hasCommitted, !isPoisoned, process.isThis else { return }
        do throws(VaultError) {
            guard try file.lock() else { return }
            defer { file.unlock() }
            guard try !isReplaced(), tail == .clean else { return }
            dropReserve()
        } catch {
            // A reserve that could not be truncated is harmless.
        }
    }
}

extension Store {
    /// Copies the bytes after the newest state to `FILE.incomplete-G` or `FILE.damaged-G` before they are truncated
    /// . The copy is renamed to that name only after it is complete and synced; if a crash occurs before then,
    /// the next writer makes another copy.
    ///
    /// `end`: the end of the bytes to copy; the end of the file if nil.
    /// Returns the path of the copy.
    @discardableResult
    func setAside(_ name: String, to end: UInt64?) throws(VaultError) -> String {
        let size = try file.size()
        let end = min(end ?? size, size)
        try Temporary.removeStale(beside: path, fileSystem)
        let directory = try fileSystem.directory(of: path)
        let (copy, temporary) = try Temporary.create(beside: path, fileSystem, random)
        do throws(VaultError) {
            try copyTail(to: copy, end)
            try copy.sync()
            let kept = try nameCopy(copy, temporary, name)
            try directory.sync()
            return kept
        } catch {
            do throws(VaultError) { try fileSystem.remove(temporary) } catch {}
            guard error.code == .outcomeUnknown else { throw error }
            throw VaultError(.io, "the bytes after the newest state could not be saved: \(error.detail)")
        }
    }

    private func copyTail(to copy: any FileHandle, _ end: UInt64) throws(VaultError) {
        var offset = state.commit.end
        while offset < end {
            let bytes = try file.bytes(Int(min(end - offset, 1 << 20)), at: offset)
            // Preserve holes: anyone who can write to the file can extend it beyond the size of the disk.
            if !StateFinder.isZero(bytes) { try copy.write(bytes, at: offset - state.commit.end) }
            offset += UInt64(bytes.count)
        }
        if try copy.size() < end - state.commit.end { try copy.truncate(to: end - state.commit.end) }
    }

    /// Renames the copy to the first name that is unused or belongs to a file with the same contents, and returns the
    /// path.
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
