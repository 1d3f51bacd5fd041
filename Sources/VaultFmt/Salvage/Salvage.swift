internal import VaultBytes

/// What salvaging a damaged vault gave.
public struct SalvageReport: Sendable {
    /// How many items are in the new vault.
    public internal(set) var recovered = 0
    /// How many earlier values are.
    public internal(set) var recoveredEarlierValues = 0
    /// Items whose index entry was lost. Their names and secrets are recovered, though no commit proves them: their
    /// records show that a holder of their group's key made them. Their short attributes and dates are those of an
    /// older state, or lost; and one or another may have been removed before the damage.
    public internal(set) var withoutIndex: [ItemKey] = []
    /// Items of which only an older secret authenticates.
    public internal(set) var older: [ItemKey] = []
    /// Items that could not be recovered, with the reason.
    public internal(set) var lost: [(key: ItemKey, reason: String)] = []
    /// Items that were recovered without some of their large attributes, or of their earlier values.
    public internal(set) var partial: [ItemKey] = []
    /// Items of which something was found that no owner's commit refers to, and that the holder of a scoped slot could
    /// have made: an item, or a newer state of one. It was left out, or taken if that was asked for.
    public internal(set) var unproven: [ItemKey] = []
    /// Slots of kinds or factors that this version does not know: nothing in the new vault takes their place.
    public internal(set) var unknownSlots: [SlotInfo] = []
    /// The other slots that the factors did not open: the new vault has one slot only.
    public internal(set) var otherSlots: [SlotInfo] = []
    /// What else was found.
    public internal(set) var notes: [String] = []

    /// Whether everything that was named is there, as it was last, and proven.
    public var isComplete: Bool {
        lost.isEmpty && older.isEmpty && withoutIndex.isEmpty && unproven.isEmpty && partial.isEmpty
    }
}

extension Vault {
    /// Recovers what still authenticates of a damaged vault into a new file, with new factors; the damaged one is only
    /// read.
    ///
    /// Needs a header, or its copy, whose slot opens. What a commit with an owner's proof reaches comes first. The rest
    /// counts if only an owner can have made it: all of it in a vault without scoped slots, else the records of groups
    /// that no scoped slot opens. What a scoped slot's holder could have made is named in the report, and taken only
    /// with `takesUnproven`. With `owners`, a vault of others is refused. Throws what opening the header throws,
    /// `foreignOwner`, `authenticationFailed` if no keyring is left, and what creating throws.
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
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        let source = try SalvageSource(file, factors, limits, device, owners, &report)
        let items = try source.collect(&report)
        // Half a vault would look like a whole one: it gets its name when it is complete.
        let target = try place.fileSystem.resolve(newPath)
        guard try place.fileSystem.identity(of: target) == nil else {
            throw VaultError(.fileExists, "\(newPath) exists already")
        }
        try Temporary.removeStale(beside: target, place.fileSystem)
        let unfinished = Temporary.name(beside: target, place.random)
        do throws(VaultError) {
            options.keptVersions = max(options.keptVersions, source.keptVersions)
            // Nobody else may take it for what an interrupted program left, or write to it, before that.
            let vault = try create(
                at: unfinished, factors: newFactors, options: options, place: place, keepsLock: true)
            try source.copy(items, takesUnproven: takesUnproven, into: vault, &report)
            try place.fileSystem.rename(unfinished, to: target, replacing: false)
            vault.releaseLock()
        } catch {
            do throws(VaultError) { try place.fileSystem.remove(unfinished) } catch {}
            throw error.code == .fileExists ? VaultError(.fileExists, "\(newPath) exists already") : error
        }
        try place.fileSystem.syncDirectory(of: target)
        return report
    }
}

/// A damaged vault, as far as it opens.
struct SalvageSource: ~Copyable {
    private let file: any FileHandle
    private let store: SalvageStore
    private let scan: SalvageScan

    init(
        _ file: any FileHandle, _ factors: borrowing Factors, _ limits: ReaderLimits, _ device: consuming Device?,
        _ owners: OwnersPublicKey?, _ report: inout SalvageReport
    ) throws(VaultError) {
        let (store, found) = try SalvageStore.open(file, factors, limits, device, owners, &report)
        report.unknownSlots = store.otherSlots(known: false)
        report.otherSlots = store.otherSlots(known: true)
        scan = try Self.opened(found, store)
        self.store = store
        self.file = file
    }

    /// Opens records until nothing more is found with the best keyring.
    private static func opened(_ found: SalvageScan, _ store: SalvageStore) throws(VaultError) -> SalvageScan {
        var scan = found
        repeat {
            guard let keyring = scan.keyring else {
                guard try scan.openRecords() else {
                    throw VaultError(.authenticationFailed, "no keyring of the vault is left: no secret can be opened")
                }
                continue
            }
            store.use(keyring.keyring, isProven: keyring.isProven)
        } while try scan.openRecords()
        return scan
    }

    /// The damaged vault's setting.
    var keptVersions: Int { store.view.keyring.keeping.count }
    private var isSettingProven: Bool { store.isKeyringProven }

    /// One item, as an owner is proven to have made it, and as somebody else may have.
    struct Candidate {
        let proven: SalvageIndex.Found?
        /// Nil if it says no more than the proven one.
        let unproven: SalvageIndex.Found?
    }

    /// Everything that can be named, the newest state of each.
    func collect(_ report: inout SalvageReport) throws(VaultError) -> [Candidate] {
        if scan.damagedBytes > 0 {
            report.notes.append("\(scan.damagedBytes) bytes of the file are not part of an object that authenticates")
        }
        if scan.hasGivenUp {
            report.notes.append("the file is full of what claims to be objects and is none: not all of it was tried")
        }
        let damaged = try scan.damagedCommits()
        if damaged > 0 { report.notes.append("what \(damaged) commits appended is damaged") }
        if scan.bytesAfterNewest > 0 {
            report.notes.append("\(scan.bytesAfterNewest) bytes after the newest commit belong to none")
        }
        if scan.unopenedRecords > 0 { report.notes.append("\(scan.unopenedRecords) records are for other devices") }
        if scan.unknownForms > 0 {
            report.notes.append("\(scan.unknownForms) records are of a form that this version does not know")
        }
        if scan.newest == nil {
            report.notes.append("no commit of the vault is left: nothing that was found is proven")
        } else if !store.isKeyringProven, store.forgeable.hasIndex {
            report.notes.append("no keyring that a commit names is left: which secrets an owner made cannot be told")
        }
        let index = SalvageIndex(scan, store, withUnproven: false)
        if index.hasGaps {
            report.notes.append("parts of the index are lost: older pages and the records themselves were used instead")
        }
        report.lost += index.lost
        guard store.forgeable.hasIndex else {
            return index.items.values.sorted { $0.key < $1.key }.map { Candidate(proven: $0, unproven: nil) }
        }
        let all = SalvageIndex(scan, store, withUnproven: true)
        return try Set(index.items.keys).union(all.items.keys).sorted().map { (key) throws(VaultError) in
            try candidate(index.items[key], all.items[key])
        }
    }

    private func candidate(_ proven: SalvageIndex.Found?, _ other: SalvageIndex.Found?) throws(VaultError) -> Candidate
    {
        guard let other else { return Candidate(proven: proven, unproven: nil) }
        guard let proven else { return Candidate(proven: nil, unproven: other) }
        let named = proven.item?.entry
        let known = max(named?.recordRevision ?? 0, proven.record?.identity.revision ?? 0)
        var isNews = other.item?.revision ?? 0 > proven.item?.revision ?? 0
        if other.isUncertain, other.record?.identity.revision ?? 0 > known { isNews = true }
        // If the proven record is damaged, an older one may be left that anybody may have made.
        if !isNews, let named, let record = other.record, record.offset != proven.record?.offset {
            isNews = try !isReadable(named, record)
        }
        return Candidate(proven: proven, unproven: isNews ? other : nil)
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

    /// Puts all into a new vault, at once.
    func copy(_ items: [Candidate], takesUnproven: Bool, into vault: Vault, _ report: inout SalvageReport)
        throws(VaultError)
    {
        try vault.transaction { (transaction) throws(VaultError) in
            // What is there is kept, also of classes that nobody here would make.
            transaction.makesAnyClass = true
            for item in items {
                if let unproven = item.unproven { report.unproven.append(unproven.key) }
                guard let chosen = takesUnproven ? item.unproven ?? item.proven : item.proven else { continue }
                try SalvageCopy(chosen, store, transaction).run(&report)
            }
            // All values that were found are there; how many are kept from now on is as it was.
            if isSettingProven { try transaction.keepVersions(keptVersions) }
        }
    }
}
