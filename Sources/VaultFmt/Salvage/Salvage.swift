internal import VaultBytes
package import VaultStore

/// The result of salvaging a damaged vault.
public struct SalvageReport: Sendable {
    /// The number of items in the new vault.
    public internal(set) var recovered = 0
    /// The number of earlier values in the new vault.
    public internal(set) var recoveredEarlierValues = 0
    /// The number of values in the new vault that are left to settle, as in the damaged one.
    public internal(set) var recoveredConflicts = 0
    /// Items whose index entries were lost. Their names and secrets are recovered, but not proven by any commit: their
    /// records only show that a holder of their group's key made them. Their short attributes and dates come from an
    /// older state or are lost, and some of these items may have been removed before the damage occurred.
    public internal(set) var withoutIndex: [ItemKey] = []
    /// Items for which only an older secret authenticates.
    public internal(set) var older: [ItemKey] = []
    /// Items whose secrets are damaged; in the new vault, they show values that were left to settle.
    public internal(set) var fromConflict: [ItemKey] = []
    /// Items whose proven secret is an earlier value in the new vault, because a newer state was recovered that no
    /// commit proves.
    public internal(set) var keptProven: [ItemKey] = []
    /// Items that could not be recovered, with the reasons. An item that was renamed by an unproven change is listed
    /// once, under the name that `unproven` has.
    public internal(set) var lost: [(key: ItemKey, reason: String)] = []
    /// Items that were recovered without some of their large attributes or earlier values.
    public internal(set) var partial: [ItemKey] = []
    /// Items for which something was found (the item itself, or a newer state of it) that no owner's commit refers to,
    /// and that the holder of a scoped slot could have made. It was left out, unless the caller asked for it.
    public internal(set) var unproven: [ItemKey] = []
    /// The items of `unproven` whose unproven state is in the new vault, because the caller asked for it.
    public internal(set) var recoveredUnproven: [ItemKey] = []
    /// The items of `unproven` of which the new vault contains another state, with the key of that state: an unproven
    /// change can have renamed the item.
    public internal(set) var recoveredInstead: [(key: ItemKey, recovered: ItemKey)] = []
    /// Items that were taken from a change whose commit is damaged or missing: no commit proves that the change was
    /// completed, or that nothing else belonged to it.
    public internal(set) var uncommitted: [ItemKey] = []
    /// Items that such a change removed; they were nevertheless recovered.
    public internal(set) var removedLater: [ItemKey] = []
    /// The number of bytes after the newest commit: a change that was being written, or whose commit is damaged.
    public internal(set) var bytesAfterNewest: UInt64 = 0
    /// The number of items counted by the newest commit that are not in the lists above: not even their names could be
    /// found.
    public internal(set) var unnamed: UInt64 = 0
    /// True if a commit proves the header. If false, the header or the change that made it is damaged or truncated, or
    /// someone else has replaced the header.
    public internal(set) var isHeaderProven = true
    /// The id of the damaged vault.
    public internal(set) var vault: VaultID?
    /// The owners' public key of the damaged vault.
    public internal(set) var owners: OwnersPublicKey?
    /// True if the caller has seen the vault under the public key of other owners.
    public private(set) var hasOtherOwners = false
    /// The generation of the newest commit that was found; nil if there is none.
    public internal(set) var generation: UInt64?
    /// The generation of the vault that the caller has seen, if it is greater than the newest commit's: all
    /// changes in between are missing, unless they are among `uncommitted`.
    public private(set) var missingUpTo: UInt64?
    /// Slots with kinds or factors that this version does not know; the new vault has no replacement for them.
    public internal(set) var unknownSlots: [SlotInfo] = []
    /// All other slots that the factors did not open; the new vault has only one slot.
    public internal(set) var otherSlots: [SlotInfo] = []
    /// Other findings.
    public internal(set) var notes: [String] = []

    /// True if all items that were found have been recovered and are up to date and proven, and no data is known to be
    /// missing.
    public var isComplete: Bool {
        lost.isEmpty && older.isEmpty && fromConflict.isEmpty && withoutIndex.isEmpty && unproven.isEmpty
            && partial.isEmpty && uncommitted.isEmpty && bytesAfterNewest == 0 && missingUpTo == nil && unnamed == 0
            && isHeaderProven && generation != nil && !hasOtherOwners
    }

    /// The reasons why the number of lost items is not known, each a clause; empty if `lost` and `unnamed` name and
    /// count all of them.
    public var countingObstacles: [String] {
        var reasons: [String] = []
        if hasOtherOwners { reasons.append("this machine has seen the vault under other owners") }
        if let missingUpTo {
            reasons.append("changes up to generation \(missingUpTo), which this machine has seen, are missing")
        }
        if generation == nil {
            reasons.append("no commit, which counts the items, could be recovered")
        } else if !isHeaderProven {
            reasons.append("no commit belongs to the header")
        } else if bytesAfterNewest > 0 {
            reasons.append("a change after the newest commit is incomplete or damaged")
        }
        // The newest commit's count does not show whether one of these items was removed and another one was lost.
        if !withoutIndex.isEmpty { reasons.append("parts of the index are lost") }
        return reasons
    }

    /// The new vault's id, the temporary path of its file, and its final path.
    package internal(set) var made: (vault: VaultID, path: String, target: String)?
    /// The contents of the newest commit that was found; nil if unknown.
    var newest: AnchorPoint?

    /// Records that the caller has seen a state of the vault. Changes are missing if the newest commit does not include
    /// that whole state.
    package mutating func compare(withSeen seen: AnchorPoint) {
        guard seen.ownersPublicKey == owners?.value else {
            hasOtherOwners = true
            if seen.generation > generation ?? 0 { missingUpTo = seen.generation }
            return
        }
        guard let newest else {
            // Without a vector, only the generations can be compared.
            if seen.generation > generation ?? 0 { missingUpTo = seen.generation }
            return
        }
        if !newest.vector.hasSeen(all: seen.vector) { missingUpTo = seen.generation }
    }
}

extension Vault {
    /// Recovers everything that still authenticates in a damaged vault into a new file with new factors. The damaged
    /// file is only read.
    ///
    /// Salvage requires a header, or its copy, with a slot that the factors open. Objects reachable from a commit with
    /// an owner's proof are preferred. Other objects are used if only an owner can have made them: in a vault without
    /// scoped slots, that applies to all of them; otherwise, to the records of groups that no scoped slot opens.
    /// Objects that the holder of a scoped slot could have made are listed in the report, and used only with
    /// `takesUnproven`. If `owners` is given, a vault with different owners is refused. Throws the same errors as
    /// opening the header, `foreignOwner`, `authenticationFailed` if no keyring is left, and the same errors as
    /// `create`.
    public static func salvage(
        _ path: String, factors: borrowing Factors, to newPath: String, newFactors: borrowing Factors,
        options: consuming CreateOptions = .init(), limits: ReaderLimits = .init(), device: consuming Device? = nil,
        takesUnproven: Bool = false, owners: OwnersPublicKey? = nil
    ) throws(VaultError) -> SalvageReport {
        try salvage(
            path, factors: factors, to: newPath, newFactors: newFactors, options: options, limits: limits,
            device: device, takesUnproven: takesUnproven, owners: owners, place: Store.Place())
    }

    package static func salvage(
        _ path: String, factors: borrowing Factors, to newPath: String, newFactors: borrowing Factors,
        options: consuming CreateOptions,
        limits: ReaderLimits = .init(), device: consuming Device? = nil, takesUnproven: Bool = false,
        owners: OwnersPublicKey? = nil, place: Store.Place
    ) throws(VaultError) -> SalvageReport {
        var report = SalvageReport()
        try Workers.check(threads: options.threads)
        let threads = options.threads ?? place.threads
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        let source = try SalvageSource(file, factors, limits, device, owners, threads, &report)
        let items = try source.collect(&report)
        // A partial vault would look complete, so the file is renamed only when it is complete.
        let target = try place.fileSystem.resolve(newPath)
        guard try place.fileSystem.identity(of: target) == nil else {
            throw VaultError(.fileExists, "\(newPath) already exists")
        }
        try Temporary.removeStale(beside: target, place.fileSystem)
        let unfinished = Temporary.name(beside: target, place.random)
        do throws(VaultError) {
            options.keptVersions = max(options.keptVersions, source.keptVersions)
            // Until then, no other program may write to the file or mistake it for one left by an interrupted writer.
            let vault = try create(
                at: unfinished, factors: newFactors, options: options, place: place, keepsLock: true)
            try source.copy(items, takesUnproven: takesUnproven, into: vault, &report)
            try place.fileSystem.rename(unfinished, to: target, replacing: false)
            report.made = (vault.id, unfinished, target)
            vault.releaseLock()
        } catch {
            do throws(VaultError) { try place.fileSystem.remove(unfinished) } catch {}
            throw error.code == .fileExists ? VaultError(.fileExists, "\(newPath) already exists") : error
        }
        try place.fileSystem.syncDirectory(of: target)
        return report
    }
}

/// The parts of a damaged vault that can be opened.
struct SalvageSource: ~Copyable {
    private let file: any FileHandle
    private let store: SalvageStore
    private let scan: SalvageScan

    init(
        _ file: any FileHandle, _ factors: borrowing Factors, _ limits: ReaderLimits, _ device: consuming Device?,
        _ owners: OwnersPublicKey?, _ threads: Int?, _ report: inout SalvageReport
    ) throws(VaultError) {
        var search = SalvageSearch(file, limits, device, owners, Workers(threads))
        let reading = try search.run(factors, &report)
        store = reading.store
        scan = reading.scan
        self.file = store.file
        report.unknownSlots = store.otherSlots(known: false)
        report.otherSlots = store.otherSlots(known: true)
    }

    /// The number of earlier values that the damaged vault keeps for each item.
    var keptVersions: Int { store.view.keyring.keeping.count }
    private var isSettingProven: Bool { store.isKeyringProven }

    /// One item: its state proven by an owner's commit, and an unproven state that someone else may have made.
    struct Candidate {
        let proven: SalvageIndex.Found?
        /// The unproven state; nil if it adds nothing to the proven one.
        let unproven: SalvageIndex.Found?
        /// The reason why there is no proven state, if an owner's commit proves that there was one.
        var loss: String?
    }

    /// Collects every item whose name is known, in its newest state.
    func collect(_ report: inout SalvageReport) throws(VaultError) -> [Candidate] {
        if scan.damagedBytes > 0 {
            report.notes.append(
                "\(scan.damagedBytes) bytes of the file do not belong to any object that can be authenticated")
        }
        if scan.hasGivenUp {
            report.notes.append("the file contains too many false objects: not all of them were tried")
        }
        let damaged = try scan.damagedCommits()
        if damaged > 0 {
            report.notes.append("the data that \(damaged) \(damaged == 1 ? "commit" : "commits") appended is damaged")
        }
        if scan.bytesAfterNewest > 0 {
            report.notes.append("\(scan.bytesAfterNewest) bytes after the newest commit do not belong to any commit")
        }
        if scan.unopenedRecords > 0 {
            report.notes.append("\(scan.unopenedRecords) records are bound to other devices")
        }
        if scan.unknownForms > 0 {
            report.notes.append("\(scan.unknownForms) records have a form that this version does not support")
        }
        if scan.newest == nil {
            report.notes.append("none of the vault's commits could be recovered: no recovered item is proven")
        } else if !store.isKeyringProven, store.forgeable.hasIndex {
            report.notes.append(
                "no keyring that a commit refers to could be recovered: it is unknown which secrets were stored by an owner"
            )
        }
        report.bytesAfterNewest = scan.bytesAfterNewest
        report.vault = VaultID(store.header.id)
        report.owners = store.owners
        report.generation = scan.newest?.commit.generation
        report.newest = try newestPoint()
        let index = SalvageIndex(scan, store, withUnproven: false)
        if index.hasGaps {
            report.notes.append("parts of the index are lost: older pages and the records themselves were used instead")
        }
        report.unnamed = index.unnamed
        guard store.forgeable.hasIndex else {
            report.lost += index.lost
            return index.items.values.sorted { PageName.precedes($0.name, $1.name) }
                .map { Candidate(proven: $0, unproven: nil) }
        }
        let all = SalvageIndex(scan, store, withUnproven: true)
        report.unnamed = min(index.unnamed, all.unnamed)
        var losses = Dictionary(index.lost.map { ($0.key, $0.reason) }, uniquingKeysWith: { first, _ in first })
        let items = try candidates(index.items, all.items, &losses)
        report.lost += index.lost.filter { losses[$0.key] != nil }
        return items
    }

    /// Pairs the proven state of each item with its unproven one: by its id or, if only the proven state has that id,
    /// under the same name. An unproven change can have given the name of one item to another.
    /// - `losses`: The items whose proven state is lost. Those that have an unproven state are moved to it.
    private func candidates(
        _ proven: [PageName: SalvageIndex.Found], _ all: [PageName: SalvageIndex.Found],
        _ losses: inout [ItemKey: String]
    ) throws(VaultError) -> [Candidate] {
        let ids = Set(proven.values.compactMap(\.id))
        let names = Dictionary(
            all.values.compactMap { found in found.id.map { ($0, found.name) } },
            uniquingKeysWith: { first, _ in first })
        var others = all
        var named: [(name: PageName, candidate: Candidate)] = []
        for (name, found) in proven {
            var place = found.id.flatMap { names[$0] }
            if let id = all[name]?.id, id == found.id || (place == nil && !ids.contains(id)) { place = name }
            named.append((name, try candidate(found, place.flatMap { others.removeValue(forKey: $0) })))
        }
        for (name, other) in others {
            let loss = losses.removeValue(forKey: other.key)
            named.append((name, Candidate(proven: nil, unproven: other, loss: loss)))
        }
        return named.sorted { PageName.precedes($0.name, $1.name) }.map(\.candidate)
    }

    /// Returns the state of the newest commit; nil if there is none, or its vector is damaged.
    private func newestPoint() throws(VaultError) -> AnchorPoint? {
        guard let newest = scan.newest else { return nil }
        do throws(VaultError) {
            let vector = try store.pages.vector(of: newest.commit).vector(of: newest.commit)
            return AnchorPoint(
                ownersPublicKey: store.ownersPublicKey, generation: newest.commit.generation, chain: newest.chain,
                vector: vector)
        } catch {
            _ = try SalvageCopy.tolerated(error)
            return nil
        }
    }

    private func candidate(_ proven: SalvageIndex.Found, _ other: SalvageIndex.Found?) throws(VaultError) -> Candidate {
        guard let other else { return Candidate(proven: proven, unproven: nil) }
        let named = proven.item?.entry
        let known = max(named?.recordRevision ?? 0, proven.record?.identity.revision ?? 0)
        var isNews = other.item?.revision ?? 0 > proven.item?.revision ?? 0
        if other.isUncertain, other.record?.identity.revision ?? 0 > known { isNews = true }
        // If the proven record is damaged, an older record may be found, but anyone could have made the older one.
        if !isNews, let named, let record = other.record, record.offset != proven.record?.offset {
            isNews = try !isReadable(named, record)
        }
        guard isNews else { return Candidate(proven: proven, unproven: nil) }
        var unproven = other
        if unproven.former == nil, other.item?.revision != proven.item?.revision { unproven.former = proven.item }
        return Candidate(proven: proven, unproven: unproven)
    }

    private func isReadable(_ named: ItemEntry, _ other: SalvageScan.Record) throws(VaultError) -> Bool {
        guard named.record.offset != other.offset else { return true }
        do throws(VaultError) {
            _ = try FrameReader.read(named.record, .record, file)
            return true
        } catch {
            _ = try SalvageCopy.tolerated(error)
            return false
        }
    }

    /// Adds all items to a new vault in one transaction.
    func copy(_ items: [Candidate], takesUnproven: Bool, into vault: Vault, _ report: inout SalvageReport)
        throws(VaultError)
    {
        try vault.transaction { (transaction) throws(VaultError) in
            // Existing items are kept even if this version would not create items of their class (R-6.2).
            transaction.makesAnyClass = true
            for item in items { try recover(item, takesUnproven: takesUnproven, transaction, &report) }
            // All values that were found have been added; restore the number of earlier values that the damaged vault
            // kept. Even if it kept none, a proven secret is not dropped in favor of one that is not proven.
            guard isSettingProven else { return }
            try transaction.keepVersions(report.keptProven.isEmpty ? keptVersions : max(1, keptVersions))
            if keptVersions == 0, !report.keptProven.isEmpty {
                report.notes.append(
                    "the new vault keeps 1 earlier value of each secret, for the proven ones; the damaged vault kept none"
                )
            }
        }
    }

    /// Adds the unproven state of an item if the caller wants it and it can be read, or else the proven one. Each item
    /// thus comes back once, or is lost.
    private func recover(
        _ item: Candidate, takesUnproven: Bool, _ transaction: Transaction, _ report: inout SalvageReport
    ) throws(VaultError) {
        var loss: (key: ItemKey, reason: String)?
        let news = try news(of: item, transaction)
        if let unproven = news {
            if let reason = item.loss { loss = (unproven.key, reason) }
            report.unproven.append(unproven.key)
            if takesUnproven {
                guard let reason = try SalvageCopy(unproven, store, transaction).run(&report) else {
                    return report.recoveredUnproven.append(unproven.key)
                }
                if loss == nil { loss = (unproven.key, reason) }
            }
        }
        if let proven = item.proven {
            guard let reason = try SalvageCopy(proven, store, transaction).run(&report) else {
                if let unproven = news {
                    report.recoveredInstead.append((unproven.key, proven.key))
                }
                return
            }
            // Both states are lost. This is one loss, reported under the name that the unproven state has.
            loss = (news?.key ?? proven.key, reason)
        }
        if let loss { report.lost.append(loss) }
    }

    /// Returns the unproven state of an item; nil if there is none, or if the proven one has the same values.
    private func news(of item: Candidate, _ transaction: Transaction) throws(VaultError) -> SalvageIndex.Found? {
        guard let unproven = item.unproven, let proven = item.proven else { return item.unproven }
        guard let other = try SalvageCopy(unproven, store, transaction).contents(),
            let own = try SalvageCopy(proven, store, transaction).contents(), own.includes(other)
        else { return unproven }
        return nil
    }
}
