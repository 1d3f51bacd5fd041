internal import VaultBytes
internal import VaultStore

/// Restores items of an earlier state of the same file. Records that are still in the file are referenced again, or
/// resealed if an item exists in both states.
struct UndoWriter {
    private let transaction: Transaction
    private let then: Branch
    private let now: Branch
    private let comparison: ValueComparison

    init(_ transaction: Transaction, then: Branch, now: Branch) {
        self.transaction = transaction
        self.then = then
        self.now = now
        comparison = ValueComparison(device: transaction.core.deviceID)
    }

    /// Restores all items that differ.
    func write() throws(VaultError) {
        var (earlier, later) = try differing()
        for (id, held) in later where earlier[id] == nil {
            _ = try transaction.remove(held.key)
            later[id] = nil
        }
        var changed: [(then: HeldItem, now: HeldItem)] = []
        for (id, held) in later {
            guard let before = earlier.removeValue(forKey: id) else { continue }
            changed.append((before, held))
        }
        try putBack(changed.sorted { $0.then.key < $1.then.key })
        for held in earlier.values.sorted(by: { $0.key < $1.key }) { try revive(held) }
    }

    /// Restores the item with this key if it does not exist now; returns false if it does.
    func revive(_ key: ItemKey) throws(VaultError) -> Bool {
        guard let held = try then.find(key) else { return false }
        if let present = try transaction.item(key) {
            guard present.entry.id != held.id else { return false }
            throw VaultError(.duplicateItem, "another item now has the name of a removed item")
        }
        try revive(held)
        return true
    }

    /// Returns the items that differ between the two states, by id.
    private func differing() throws(VaultError) -> (then: [Bytes16: HeldItem], now: [Bytes16: HeldItem]) {
        var out: (then: [Bytes16: HeldItem], now: [Bytes16: HeldItem]) = ([:], [:])
        var difference = TreeDifference(then.tree, now.tree)
        while let pair = try difference.next() {
            if let entry = pair.left, case .item(let held) = try then.read(entry.page, entry.index) {
                out.then[held.id] = held
            }
            if let entry = pair.right, case .item(let held) = try now.read(entry.page, entry.index) {
                out.now[held.id] = held
            }
        }
        return out
    }

    // MARK: items in both states

    /// Restores changed items. If another item currently has the name of a restored one, the latter waits until the
    /// name is free.
    private func putBack(_ changed: [(then: HeldItem, now: HeldItem)]) throws(VaultError) {
        var waiting = changed
        while !waiting.isEmpty {
            var left: [(then: HeldItem, now: HeldItem)] = []
            for pair in waiting {
                let holder = try transaction.item(pair.then.key)
                if holder == nil || pair.then.key == pair.now.key {
                    try putBack(pair.then, pair.now)
                } else {
                    left.append(pair)
                }
            }
            guard left.count < waiting.count else {
                throw VaultError(
                    .duplicateItem, "items have since swapped names, which cannot be undone in one step")
            }
            waiting = left
        }
    }

    private func putBack(_ past: HeldItem, _ held: HeldItem) throws(VaultError) {
        let old = try transaction.existing(held.key)
        guard past.stamp != held.stamp || past.key != held.key else {
            // Its earlier values were forgotten or restored.
            return try transaction.setEarlierValues(of: held.key, to: try transaction.versions(of: past.item))
        }
        if past.key == held.key, past.item.accessibility == held.item.accessibility,
            past.item.device == held.item.device, past.modified == held.modified,
            try comparison.haveSameValues(past.value, held.value)
        {
            // The item was changed and changed back, for example by an undo and a redo, and need not be resealed.
            guard past.item.earlierValues != held.item.earlierValues else { return }
            return try transaction.setEarlierValues(of: held.key, to: try transaction.versions(of: past.item))
        }
        let value = try transaction.opened(past.item)
        var change = ItemChange(old, value.item.attributes)
        change.key = past.key
        change.restored = value.item.attributes
        change.accessibility = past.item.accessibility
        (change.created, change.modified) = (past.created, past.modified)
        var failure: VaultError?
        if let now = try transaction.opened(old, else: &failure) {
            let losesSealed = try transaction.losesSealedValue(now.item, in: value.item.attributes)
            change.replaces = losesSealed || !now.secret.equals(value.secret)
        } else {
            change.replaces = failure?.code == .deviceBound
        }
        try transaction.apply(change, secret: value.secret)
        try transaction.setEarlierValues(of: past.key, to: try united(past, held))
    }

    /// Returns the earlier values of both states and of the change itself, excluding the item's restored value and
    /// duplicates of its last one, so that alternating undo and redo adds none.
    private func united(_ past: HeldItem, _ held: HeldItem) throws(VaultError) -> Versions? {
        var versions = try transaction.versions(of: try transaction.existing(past.key))?.versions ?? []
        for version in try transaction.versions(of: past.item)?.versions ?? []
        where !versions.contains(where: { $0.isSameValue(as: version) }) {
            versions.append(version)
        }
        var copies: [Stamp] = []
        for value in try held.versions() + past.versions() where value.stamp != held.stamp {
            let isUntilNow = try comparison.haveSameValues(value, held.value)
            let isAgain = try comparison.haveSameValues(value, past.value)
            if isUntilNow || isAgain { copies.append(value.stamp) }
        }
        versions.removeAll { version in
            let stamp = now.stamp(version.revision, version.device)
            return stamp == past.stamp || copies.contains(stamp)
        }
        versions.sort(by: Versions.Version.precedes)
        return Versions(item: held.id, versions: versions)
    }

    // MARK: removed items

    /// Restores an item under its own id, with its old records, and removes its tombstone. A merge sees it as the same
    /// item, changed after its removal.
    private func revive(_ held: HeldItem) throws(VaultError) {
        let item = held.item
        let versions = try transaction.versions(of: item)
        var entry = item.entry
        entry.revision = try transaction.core.tick()
        entry.device = transaction.ring.devicePosition()
        transaction.changes.set(held.key.bytes, ItemCodec.encode(entry, item.attributes.listed))
        let tombstone = TombstoneEntry.key(held.id)
        if try now.tree.find(tombstone) != nil {
            transaction.changes.set(tombstone, nil)
            transaction.tally.tombstones -= 1
        }
        transaction.tally.items += 1
        transaction.tally.versions += Int64(item.earlierValues)
        transaction.tally.liveBytes += ItemFrames.bytes(item, versions)
    }
}

extension Versions.Version {
    fileprivate func isSameValue(as other: Versions.Version) -> Bool {
        revision == other.revision && device == other.device
    }
}
