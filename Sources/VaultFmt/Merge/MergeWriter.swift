internal import VaultBytes
internal import VaultStore

/// Writes merged items into a transaction on our copy.
struct MergeWriter {
    private let transaction: Transaction
    private let merge: ItemsMerge
    private let theirs: VaultCore
    /// True if values to settle stay although a removal in the other copy took them (`MergeOptions.keepsNewerValues`).
    private let keepsOpenValues: Bool
    private let progress: ((UInt64, UInt64) -> Void)?

    init(
        _ transaction: Transaction, _ merge: ItemsMerge, _ theirs: VaultCore, keepsOpenValues: Bool,
        _ progress: ((UInt64, UInt64) -> Void)?
    ) {
        self.keepsOpenValues = keepsOpenValues
        self.transaction = transaction
        self.merge = merge
        self.theirs = theirs
        self.progress = progress
    }

    /// Writes all items that differ from ours, and lists the values that only the other copy has forgotten.
    func write(_ report: inout MergeReport) throws(VaultError) {
        let ids = try takeAway(&report)
        for value in merge.newlyForgotten {
            transaction.changes.set(value.key, [])
            transaction.tally.forgotten += 1
        }
        for (done, id) in ids.enumerated() {
            if done % 64 == 0 { progress?(UInt64(done), UInt64(ids.count)) }
            try write(try merge.merged(id), &report)
        }
    }

    /// Removes the entries of items that were removed or renamed, to free their keys for other items. Returns the ids
    /// of the items to write.
    private func takeAway(_ report: inout MergeReport) throws(VaultError) -> [Bytes16] {
        var ids: [Bytes16] = []
        for id in merge.ids {
            let item = try merge.merged(id)
            guard !item.isOurs else { continue }
            guard let state = item.settled else {
                if let old = item.ours { try remove(old, &report) }
                continue
            }
            ids.append(id)
            if let old = item.ours?.item, try state.key(state.shown()) != old.storedKey { try take(old) }
        }
        return ids
    }

    /// Removes one of our entries; the item may now be listed under its plain key.
    private func take(_ old: Item) throws(VaultError) {
        guard let now = try transaction.current(old) else {
            throw VaultError(.structureInvalid, "an item is not where it is listed", at: old.referrer)
        }
        try transaction.take(now)
    }

    private func remove(_ old: MergedItem.Held, _ report: inout MergeReport) throws(VaultError) {
        report.removed.append(old.item.key)
        let past = try transaction.pastToRemove(old.item)
        try take(old.item)
        transaction.tally.items -= 1
        transaction.tally.pasts -= old.item.hasPast ? 1 : 0
        transaction.tally.liveBytes -= ItemFrames.bytes(old.item.entry, old.item.largeRecords, past)
    }

    // MARK: one item

    private func write(_ item: MergedItem, _ report: inout MergeReport) throws(VaultError) {
        var item = item
        if keepsOpenValues { try item.reopenRemoved(transaction, forgotten: merge.forgotten) }
        guard let state = item.settled else { return }
        var writer = MergedItemWriter(transaction, item, theirs)
        let view = try item.view(state, limit: transaction.limit)
        let key = try state.key(view.shown)
        let (entry, placed, past) = try writer.write(state, view)
        let before = try item.ours?.item.storedKey == key ? nil : transaction.entry(PageName(key))
        if writer.hasDroppedValues || item.hasDroppedValues { report.notes.append(.earlierValuesDropped(key)) }
        try transaction.put(ItemCodec.encode(entry, placed.listed), for: item.id, under: key)
        transaction.tally.items += item.ours == nil ? 1 : 0
        transaction.tally.pasts += (entry.past == nil ? 0 : 1) - (item.ours?.item.hasPast ?? false ? 1 : 0)
        transaction.tally.liveBytes += ItemFrames.bytes(entry, placed.large, past)
        if let old = item.ours?.item {
            transaction.tally.liveBytes -= ItemFrames.bytes(
                old.entry, old.largeRecords, try transaction.core.past(of: old))
            if entry.hasRecord { try transaction.note(old, now: key, in: entry.compartment) }
            // The other copy may have sealed an attribute whose value is in our pages.
            let sealed = placed.listed.filter { $0.flags.contains(.sealed) }.map(\.name)
            try transaction.note(sealed: sealed, before: old, now: key, in: entry.compartment)
        }
        let plain = try transaction.entry(PageName(key))
        let listed = PageName(key, second: plain?.entry.id == item.id ? nil : item.id).listed
        try merge.note(item, view, key: listed, &report)
        if let before, before.entry.id != item.id {
            report.notes.append(ItemsMerge.sharedKey(key, item.id, before.entry.id))
        }
    }
}
