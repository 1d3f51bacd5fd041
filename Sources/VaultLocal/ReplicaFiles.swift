internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

/// The replica ids of this machine, stored in `replica-ids` in its state folder: for each vault, a file with the ids of
/// the present run (section 7.5).
final class ReplicaFiles: Sendable {
    private let files: PrivateFiles
    private let folder: String
    private let witness: ReplicaWitness?
    private let run: @Sendable () throws(VaultError) -> MachineRun?
    /// The contents read so far, by vault; files only grow.
    private let known = Guarded<[Bytes16: Known]>([:])
    /// The ids of this process, which are not stored in a file.
    let claimedByProcess = Guarded<Set<UInt64>>([])
    private static let what = "memory of replica ids"

    private struct Known {
        let identity: FileIdentity
        var log: ReplicaLog
    }

    /// The locked file of a vault, and its contents.
    private struct Opened {
        let file: any FileHandle
        let path: String
        let identity: FileIdentity
        var log: ReplicaLog
        var table: ReplicaWitness.Table?
    }

    var announcer: Announcer { files.announcer }

    /// `witness`: the path of the ``ReplicaWitness`` file; nil for none.
    init(
        files: PrivateFiles, folder: String, witness: String? = nil,
        run: @escaping @Sendable () throws(VaultError) -> MachineRun? = MachineRun.current
    ) {
        self.files = files
        self.folder = folder
        self.witness = witness.map { ReplicaWitness(path: $0, fileSystem: files.place.fileSystem) }
        self.run = run
    }

    // MARK: claiming

    /// Chooses the id for a change of a state, and claims it until it is recorded or released; nil if the current run
    /// cannot be determined.
    ///
    /// - Parameters:
    ///   - vault: The vault.
    ///   - row: Returns the state's row for an id: 0 if there is none, nil if the id is split.
    /// - Returns: The id, and the greatest revision that this machine has made.
    /// - Throws: `memoryDamaged`, `io`, `noSpace`, `busy`.
    func claim(
        _ vault: Bytes16, row: (UInt64) -> UInt64?
    ) throws(VaultError) -> (id: UInt64, greatest: UInt64)? {
        guard let run = try run() else { return nil }
        return try opened(vault, run) { (opened) throws(VaultError) in
            let known = opened.log.order.last { id in row(id).map { opened.log.canContinue(id, from: $0) } ?? false }
            let id = known ?? newID(opened.log, row)
            try append(.init(kind: .claim, id: id), to: &opened)
            return (id, opened.log.greatest)
        }
    }

    private func newID(_ log: ReplicaLog, _ row: (UInt64) -> UInt64?) -> UInt64 {
        while true {
            var id: UInt64 = 0
            withUnsafeMutableBytes(of: &id) { files.place.random.fill($0) }
            if id != 0, log.replicas[id] == nil, row(id) == 0 { return id }
        }
    }

    /// Records the last revision of a claimed change. This must be called before the commit is written.
    /// - Throws: `memoryDamaged`, `io`, `noSpace`, `busy`.
    func note(_ vault: Bytes16, _ id: UInt64, revision: UInt64) throws(VaultError) {
        try end(vault, .init(kind: .note, id: id, revision: revision))
    }

    /// Releases a claim whose change was not written.
    func release(_ vault: Bytes16, _ id: UInt64) {
        // An id that remains claimed is not used again; another id is used instead.
        do throws(VaultError) { try end(vault, .init(kind: .release, id: id)) } catch {}
    }

    private func end(_ vault: Bytes16, _ entry: ReplicaLog.Entry) throws(VaultError) {
        guard let run = try run() else { throw Self.runEnded }
        try opened(vault, run) { (opened) throws(VaultError) in
            // If the clock was set, a new file was begun.
            guard opened.log.replicas[entry.id]?.isClaimed == true else { throw Self.runEnded }
            try append(entry, to: &opened)
        }
    }

    private static let runEnded = VaultError(
        .busy, "the machine's clock or its record of replica ids was changed during this operation: try again")

    // MARK: two writers

    /// Finds this machine's ids that another writer also uses. The state's row for such an id has a revision that this
    /// machine never made (section 7.5). These ids are not used again.
    ///
    /// - Parameters:
    ///   - vault: The vault.
    ///   - row: As for ``claim(_:row:)``.
    /// - Returns: The ids that are not yet marked as split in the state.
    /// - Throws: `memoryDamaged`, `io`, `noSpace`, `busy`.
    func splitIDs(_ vault: Bytes16, row: (UInt64) -> UInt64?) throws(VaultError) -> [UInt64] {
        guard let run = try run(), files.exists(path(vault)) else { return [] }
        return try opened(vault, run) { (opened) throws(VaultError) in
            for id in opened.log.order {
                guard let replica = opened.log.replicas[id], !replica.isSplit, let row = row(id), row != 0,
                    !replica.made.contains(row)
                else { continue }
                try append(.init(kind: .split, id: id), to: &opened)
            }
            return opened.log.order.filter { opened.log.replicas[$0]?.isSplit == true && row($0) != nil }
        }
    }

    // MARK: the file

    private func path(_ vault: Bytes16) -> String { folder + "/" + Hex.encode(vault.bytes) }

    /// Calls `body` with the vault's locked file of this run, which is created if necessary.
    private func opened<R>(
        _ vault: Bytes16, _ run: MachineRun, _ body: (inout Opened) throws(VaultError) -> R
    ) throws(VaultError) -> R {
        let path = path(vault)
        let table = witness?.open()
        let seen = table?.entry(of: path)
        var isNew = false
        while true {
            guard let file = try open(path) else {
                try make(path, vault, run, greatest: seen?.greatest ?? 0, replacing: false, table)
                isNew = true
                continue
            }
            try files.lock(file, path)
            defer { file.unlock() }
            // While this process waited, another process may have begun a new file.
            let identity = try file.identity()
            guard try files.identity(path)?.isSameFile(as: identity) == true else { continue }
            var opened = try read(file, path, identity, vault)
            opened.table = table
            // A new file is accepted anyway: if the witness is not writable, its answer does not change.
            guard isOf(run, opened), try isUntouched(opened), isNew || !isPutBack(opened), !opened.log.isFull else {
                let greatest = max(opened.log.greatest, seen?.greatest ?? 0)
                try make(path, vault, run, greatest: greatest, replacing: true, table)
                isNew = true
                continue
            }
            return try body(&opened)
        }
    }

    private func open(_ path: String) throws(VaultError) -> (any FileHandle)? {
        do throws(VaultError) { return try files.openOwn(path, writable: true) } catch {
            switch error.code {
            case .noSuchFile: return nil
            case .notAVault: throw Self.damaged(path, "it is a link or not a regular file")
            default: throw files.explained(error, path)
            }
        }
    }

    private func isOf(_ run: MachineRun, _ opened: Opened) -> Bool {
        let head = opened.log.head
        return head.run.isContinued(by: run) && head.device == opened.identity.device
            && head.inode == opened.identity.inode
    }

    /// Returns whether the file is unchanged since the last append. If an older copy was restored, the file's times do
    /// not match its last entry: the program that restored it has set the old time or has written the file later.
    private func isUntouched(_ opened: Opened) throws(VaultError) -> Bool {
        guard opened.log.head.hasTimes, opened.log.count > 0, let times = try opened.file.times() else { return true }
        return times.modified == times.changed && Self.isAt(opened.log.last, times)
    }

    /// Returns whether the witness recorded more entries for the file, or another file at the same path.
    private func isPutBack(_ opened: Opened) -> Bool {
        // Another process may have changed the file while this one waited for the lock.
        guard let seen = opened.table?.entry(of: opened.path) else { return false }
        return seen.device != opened.identity.device || seen.inode != opened.identity.inode
            || seen.count > UInt64(opened.log.count)
    }

    /// Returns whether a file was written at a time, in milliseconds since 1970.
    private static func isAt(_ time: UInt64, _ times: FileTimes) -> Bool {
        // File times come from a coarser clock, and a program can be delayed.
        let (later, overflow) = (times.modified / 1_000_000).subtractingReportingOverflow(Int64(clamping: time))
        return !overflow && (-100...2000).contains(later)
    }

    private var now: UInt64 { UInt64(clamping: files.place.fileSystem.now()) }

    /// Creates a file for this run. Its head is durable before the file is renamed into place.
    private func make(
        _ path: String, _ vault: Bytes16, _ run: MachineRun, greatest: UInt64, replacing: Bool,
        _ table: ReplicaWitness.Table?
    ) throws(VaultError) {
        var made: FileIdentity?
        let isMade = try files.write(path, what: Self.what, replacing: replacing) { (file) throws(VaultError) in
            let identity = try file.identity()
            made = identity
            var head = ReplicaLog.Head(
                vault: vault, run: run, device: identity.device, inode: identity.inode, greatest: greatest)
            let now = now
            try file.write(ReplicaLog.encode(head), at: 0)
            guard let times = try file.times(), times.modified == times.changed, Self.isAt(now, times) else { return }
            head.hasTimes = true
            try file.write(ReplicaLog.encode(head), at: 0)
        }
        guard isMade, let made else { return }
        table?.note(.init(device: made.device, inode: made.inode, count: 0, greatest: greatest), of: path)
    }

    private func read(
        _ file: any FileHandle, _ path: String, _ identity: FileIdentity, _ vault: Bytes16
    ) throws(VaultError) -> Opened {
        let size = try file.size()
        let most = ReplicaLog.headSize + (ReplicaLog.mostEntries + 1) * ReplicaLog.entrySize
        guard size >= UInt64(ReplicaLog.headSize), size <= UInt64(most) else {
            throw Self.damaged(path, "it is \(size) bytes long")
        }
        if let known = known.withLock({ $0[vault] }), known.identity.isSameFile(as: identity) {
            let opened = Opened(file: file, path: path, identity: identity, log: known.log)
            if let opened = try reading(opened, to: size) { return opened }
        }
        guard let log = ReplicaLog(head: try file.bytes(ReplicaLog.headSize, at: 0)), log.head.vault == vault else {
            throw Self.damaged(path, "its header has been altered")
        }
        let opened = Opened(file: file, path: path, identity: identity, log: log)
        if let opened = try reading(opened, to: size) { return opened }
        throw Self.damaged(path, "its entries have been altered")
    }

    /// Reads the entries that were added; returns nil if they are damaged, unless a power failure may have lost
    /// entries.
    private func reading(_ opened: Opened, to size: UInt64) throws(VaultError) -> Opened? {
        var opened = opened
        let start = UInt64(ReplicaLog.headSize + opened.log.count * ReplicaLog.entrySize)
        guard size >= start else { return nil }
        let isSound = opened.log.read(try opened.file.bytes(Int(size - start), at: start))
        if !isSound, try isOfThisRun(opened) { return nil }
        remember(opened)
        return opened
    }

    private func isOfThisRun(_ opened: Opened) throws(VaultError) -> Bool {
        guard let run = try run() else { return false }
        return isOf(run, opened)
    }

    private func remember(_ opened: Opened) {
        let known = Known(identity: opened.identity, log: opened.log)
        self.known.withLock { $0[opened.log.head.vault] = known }
    }

    private func append(_ entry: ReplicaLog.Entry, to opened: inout Opened) throws(VaultError) {
        var entry = entry
        entry.time = now
        let bytes = opened.log.encode(entry)
        let offset = UInt64(ReplicaLog.headSize + opened.log.count * ReplicaLog.entrySize)
        do throws(VaultError) { try opened.file.write(bytes, at: offset) } catch {
            // A partial entry would be treated as damage.
            do throws(VaultError) { try opened.file.truncate(to: offset) } catch {}
            throw error
        }
        guard opened.log.apply(entry) else { preconditionFailure("a writer appends only entries that readers accept") }
        remember(opened)
        opened.table?.note(
            .init(
                device: opened.identity.device, inode: opened.identity.inode, count: UInt64(opened.log.count),
                greatest: opened.log.greatest), of: opened.path)
    }

    private static func damaged(_ path: String, _ how: String) -> VaultError {
        VaultError(
            .memoryDamaged,
            "the \(what) \(TerminalText.path(path)) is damaged: \(how); move it away, and the next change uses a new id"
        )
    }
}
