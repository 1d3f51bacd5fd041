internal import VaultBytes

/// What salvaging a damaged vault gave.
public struct SalvageReport: Sendable {
    /// How many items are in the new vault.
    public internal(set) var recovered = 0
    /// Items whose index entry was lost: their names and secrets are recovered; their short attributes and dates are those of an older state, or lost; and one
    /// or another may have been removed before the damage.
    public internal(set) var withoutIndex: [ItemKey] = []
    /// Items of which only an older secret authenticates.
    public internal(set) var older: [ItemKey] = []
    /// Items that could not be recovered, with the reason.
    public internal(set) var lost: [(key: ItemKey, reason: String)] = []
    /// Items of which something was found that no owner's commit names, and that the holder of a scoped slot could have made: an item, or a newer state of
    /// one. It was left out, or, asked for, taken.
    public internal(set) var unproven: [ItemKey] = []
    /// What else was found.
    public internal(set) var notes: [String] = []

    /// Whether everything that was named is there, as it was last, and proven.
    public var isComplete: Bool { lost.isEmpty && older.isEmpty && withoutIndex.isEmpty && unproven.isEmpty }
}

extension Vault {
    /// Recovers what still authenticates of a damaged vault into a new file, with new factors; the damaged one is only read.
    ///
    /// Needs a header whose slot opens. What an owner's commit names comes first. The rest counts where only an owner can have made it: all of it in a vault without
    /// scoped slots, else the records of groups that no scoped slot opens. What a scoped slot's holder could have made is named in the report, and taken only
    /// with `takesUnproven`. Throws what opening the header throws, `authenticationFailed` if no keyring is left, and what creating throws.
    public static func salvage(
        _ path: String, factors: borrowing Factors, to newPath: String, newFactors: borrowing Factors,
        options: consuming CreateOptions = .init(), limits: ReaderLimits = .init(), device: consuming Device? = nil,
        takesUnproven: Bool = false
    ) throws(VaultError) -> SalvageReport {
        try salvage(
            path, factors: factors, to: newPath, newFactors: newFactors, options: options, limits: limits, device: device,
            takesUnproven: takesUnproven, place: Store.Place())
    }

    package static func salvage(
        _ path: String, factors: borrowing Factors, to newPath: String, newFactors: borrowing Factors, options: consuming CreateOptions,
        limits: ReaderLimits = .init(), device: consuming Device? = nil, takesUnproven: Bool = false, place: Store.Place
    ) throws(VaultError) -> SalvageReport {
        var report = SalvageReport()
        let file = try place.fileSystem.open(try place.fileSystem.resolve(path), writable: false)
        let source = try SalvageSource(file, factors.keys, limits, device, &report)
        let items = try source.collect(&report)
        // Half a vault would look like a whole one: it gets its name when it is complete.
        let target = try place.fileSystem.resolve(newPath)
        guard try place.fileSystem.identity(of: target) == nil else { throw VaultError(.fileExists, "\(newPath) exists already") }
        try Temporary.removeStale(beside: target, place.fileSystem)
        let unfinished = Temporary.name(beside: target, place.random)
        do throws(VaultError) {
            let vault = try create(at: unfinished, factors: newFactors, options: options, place: place)
            try source.copy(items, takesUnproven: takesUnproven, into: vault, &report)
            try place.fileSystem.rename(unfinished, to: target, replacing: false)
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

    init(
        _ file: any FileHandle, _ factors: borrowing FactorKeys, _ limits: ReaderLimits, _ device: consuming Device?,
        _ report: inout SalvageReport
    ) throws(VaultError) {
        self.file = file
        store = try SalvageStore(file, factors, limits, device, &report)
    }

    /// One item, as an owner is proven to have made it, and as somebody else may have.
    struct Candidate {
        let proven: SalvageIndex.Found?
        /// Nil if it says no more than the proven one.
        let unproven: SalvageIndex.Found?
    }

    /// Puts all into a new vault, at once.
    func copy(_ items: [Candidate], takesUnproven: Bool, into vault: consuming Vault, _ report: inout SalvageReport) throws(VaultError) {
        try vault.transaction { (transaction) throws(VaultError) in
            for item in items { try copy(item, takesUnproven: takesUnproven, into: transaction, &report) }
        }
    }

    /// Everything that can be named, the newest state of each.
    func collect(_ report: inout SalvageReport) throws(VaultError) -> [Candidate] {
        var scan = try SalvageScan(file, store)
        store.believe(scan.newest)
        repeat {
            guard let keyring = scan.keyring else {
                guard try scan.openRecords() else {
                    throw VaultError(.authenticationFailed, "no keyring of the vault is left: no secret can be opened")
                }
                continue
            }
            store.use(keyring)
        } while try scan.openRecords()
        if scan.damagedBytes > 0 { report.notes.append("\(scan.damagedBytes) bytes of the file are no object that authenticates") }
        if scan.bytesAfterNewest > 0 { report.notes.append("\(scan.bytesAfterNewest) bytes after the newest commit belong to none") }
        if scan.unopenedRecords > 0 { report.notes.append("\(scan.unopenedRecords) records are for other devices") }
        if scan.newest == nil { report.notes.append("no commit of the vault is left: all states of it were looked through") }
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

    private func candidate(_ proven: SalvageIndex.Found?, _ other: SalvageIndex.Found?) throws(VaultError) -> Candidate {
        guard let other else { return Candidate(proven: proven, unproven: nil) }
        guard let proven else { return Candidate(proven: nil, unproven: other) }
        let named = proven.item?.entry
        let known = max(named?.recordRevision ?? 0, proven.record?.identity.revision ?? 0)
        var isNews = other.item?.revision ?? 0 > proven.item?.revision ?? 0
        if other.isUncertain, other.record?.identity.revision ?? 0 > known { isNews = true }
        // Where the proven record is damaged, an older one may be left that anybody may have made.
        if !isNews, let named, let record = other.record, record.offset != proven.record?.offset { isNews = try !isReadable(named, record) }
        return Candidate(proven: proven, unproven: isNews ? other : nil)
    }

    private func isReadable(_ named: ItemEntry, _ other: SalvageScan.Record) throws(VaultError) -> Bool {
        guard named.record.offset != other.offset else { return true }
        do throws(VaultError) {
            _ = try FrameReader.read(named.record, .record, file)
            return true
        } catch {
            _ = try Self.tolerated(error)
            return false
        }
    }

    /// Puts an item into the new vault, as it is proven, or asked for, as it is found.
    func copy(
        _ candidate: Candidate, takesUnproven: Bool, into transaction: Transaction, _ report: inout SalvageReport
    ) throws(VaultError) {
        if let unproven = candidate.unproven { report.unproven.append(unproven.key) }
        let chosen = takesUnproven ? candidate.unproven ?? candidate.proven : candidate.proven
        if let chosen { try copy(chosen, into: transaction, &report) }
    }

    /// Puts an item into the new vault: from the record that the index names, or from the newest that there is, where that is newer or the named one is damaged.
    private func copy(_ found: SalvageIndex.Found, into transaction: Transaction, _ report: inout SalvageReport) throws(VaultError) {
        var reason = "its record is damaged"
        let named = found.item?.entry
        let hasNewer = found.isUncertain && found.record.map { $0.identity.revision > named?.recordRevision ?? 0 } ?? false
        if !hasNewer, let named {
            do throws(VaultError) {
                let frame = try FrameReader.read(named.record, .record, file)
                try put(found, frame, named.identity, named.record.offset, into: transaction)
                report.recovered += 1
                if found.isUncertain { report.withoutIndex.append(found.key) }
                return
            } catch { reason = try Self.tolerated(error) }
        }
        guard let record = found.record else {
            report.lost.append((found.key, reason))
            return
        }
        do throws(VaultError) {
            try put(found, try file.bytes(record.length, at: record.offset), record.identity, record.offset, into: transaction)
        } catch {
            report.lost.append((found.key, named == nil ? try Self.tolerated(error) : reason))
            return
        }
        report.recovered += 1
        if found.isUncertain { report.withoutIndex.append(found.key) } else { report.older.append(found.key) }
    }

    /// Why one item is lost; what concerns all of them is thrown.
    private static func tolerated(_ error: VaultError) throws(VaultError) -> String {
        guard [.authenticationFailed, .structureInvalid, .deviceBound, .notPermitted, .limitExceeded].contains(error.code) else {
            throw error
        }
        return error.detail
    }

    private func put(
        _ found: SalvageIndex.Found, _ frame: [UInt8], _ identity: Sealing.RecordIdentity, _ offset: UInt64, into transaction: Transaction
    ) throws(VaultError) {
        var body = try store.open(frame, identity, at: offset)
        let parts = try RecordCodec.parts(body, at: offset)
        guard parts.key == found.key else {
            throw VaultError(.structureInvalid, "a record belongs to another item than the index says", at: offset)
        }
        var attributes = found.item?.attributes ?? Attributes()
        for entry in parts.attributes { attributes[entry.name] = entry.value }
        let accessibility = found.item?.accessibility ?? store.view.compartment(identity.compartment)?.accessibility ?? .whenUnlocked
        body.keep(parts.secret)
        // What was for one device is, in the new vault, for this one; without a device it is for any.
        let isPossible = !accessibility.isThisDeviceOnly || transaction.hasDevice
        try transaction.add(
            found.key, secret: body, attributes: attributes, accessibility: isPossible ? accessibility : .whenUnlocked,
            created: found.item?.created, modified: found.item?.modified)
    }
}
