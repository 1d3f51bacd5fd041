internal import VaultBytes

/// The index of a damaged vault: the items of its newest state and, in ranges of keys whose pages are lost, those of
/// earlier states. All of these states were made by an owner. Anything that is in none of these states is used only if
/// an owner must have made it, unless the caller requests everything.
struct SalvageIndex {
    /// An item that is in the index, or a record that was found without it.
    struct Found {
        let key: ItemKey
        let item: Item?
        /// The records of the item that authenticate on their own.
        let records: SalvageScan.Records?
        /// Whether the item's entry is lost, or is not from the newest state.
        let isUncertain: Bool
        /// Whether it is from a change whose commit is damaged or missing.
        var isUncommitted = false

        /// The newest record of the item, not counting earlier values.
        var record: SalvageScan.Record? { records?.own }
    }

    /// The keys from `low` up to but not including `high`, or up to the end.
    private struct Gap {
        let low: [UInt8]
        let high: [UInt8]?

        func contains(_ key: [UInt8]) -> Bool {
            !ByteOrder.isLess(key, low) && high.map { ByteOrder.isLess(key, $0) } ?? true
        }

        func intersection(_ other: Gap) -> Gap? {
            let from = ByteOrder.isLess(low, other.low) ? other.low : low
            guard let to = Gap.least(high, other.high) else { return Gap(low: from, high: nil) }
            return ByteOrder.isLess(from, to) ? Gap(low: from, high: to) : nil
        }

        private static func least(_ left: [UInt8]?, _ right: [UInt8]?) -> [UInt8]? {
            guard let left, let right else { return left ?? right }
            return ByteOrder.isLess(left, right) ? left : right
        }
    }

    private let scan: SalvageScan
    private let store: SalvageStore
    private let records: [Bytes16: SalvageScan.Records]
    private let entries: EntryCheck
    private(set) var items: [ItemKey: Found] = [:]
    private(set) var lost: [(key: ItemKey, reason: String)] = []
    private(set) var hasGaps = false
    /// The number of items that the newest commit counts beyond those that were found.
    private(set) var unnamed: UInt64 = 0
    /// Items that a change whose commit is damaged or missing removed.
    private(set) var removedLater: [ItemKey] = []
    private var removed: Set<Bytes16> = []
    /// Ranges that an older state covers, and the clock up to which that state includes every change.
    private var covered: [(gap: Gap, clock: UInt64)] = []
    private var open: [Gap] = []

    init(_ scan: SalvageScan, _ store: SalvageStore, withUnproven: Bool) {
        self.scan = scan
        self.store = store
        records = withUnproven ? scan.records : scan.provenRecords
        entries = EntryCheck(store.view, clock: scan.newest?.commit.clock ?? Format.Limit.number)
        let states = scan.commits.sorted { $0.commit.generation > $1.commit.generation }
        open = [Gap(low: [], high: nil)]
        for (index, state) in states.enumerated() where !open.isEmpty {
            readState(state.commit, isNewest: index == 0)
            if index == 0 { hasGaps = !open.isEmpty }
        }
        if states.isEmpty { hasGaps = true }
        let takesLeaves = withUnproven || !store.forgeable.hasIndex
        if hasGaps {
            if takesLeaves { readLooseLeaves() }
            addRecords()
        }
        guard let newest = scan.newest?.commit else { return }
        unnamed = newest.items - min(newest.items, UInt64(items.count + lost.count))
        if scan.bytesAfterNewest > 0 { readTail(newest, takesLeaves: takesLeaves) }
    }

    // MARK: states, newest first

    /// Adds the items of a state's tree within the ranges that are still open; ranges whose pages are damaged stay
    /// open.
    private mutating func readState(_ commit: Commit, isNewest: Bool) {
        let gaps = open
        open = []
        for gap in gaps {
            guard let root = commit.root else {
                covered.append((gap, commit.clock))
                continue
            }
            walk(root, within: gap, commit, isNewest: isNewest)
        }
    }

    private mutating func walk(_ root: Commit.Root, within gap: Gap, _ commit: Commit, isNewest: Bool) {
        // A page that is referenced twice is visited only once; anything else that it should cover stays open.
        var seen: Set<UInt64> = []
        var walk = TreeWalk(root)
        while let next = walk.next() {
            guard let part = Gap(low: next.low ?? [], high: next.high).intersection(gap) else { continue }
            do throws(VaultError) {
                let ref = try next.ref()
                guard seen.insert(ref.offset).inserted else {
                    open.append(part)
                    continue
                }
                let page = try store.pages.page(ref, level: next.level)
                guard page.layout.isLeaf else {
                    walk.enter(page, next)
                    continue
                }
                if !isNewest { covered.append((part, commit.clock)) }
                addItems(of: page, within: part, isUncertain: !isNewest)
            } catch { open.append(part) }
        }
    }

    private mutating func addItems(of page: Page, within part: Gap, isUncertain: Bool) {
        for index in 0..<page.count {
            let bytes = page.key(index)
            guard part.contains(bytes) else { continue }
            if bytes.first == Format.tombstoneTag {
                if let id = Bytes16(Array(bytes.dropFirst())) { removed.insert(id) }
                continue
            }
            addItem(bytes, page, index, isUncertain: isUncertain)
        }
    }

    private mutating func addItem(_ bytes: [UInt8], _ page: Page, _ index: Int, isUncertain: Bool) {
        let key: ItemKey
        do throws(VaultError) { key = try ItemKey(bytes) } catch { return }
        do throws(VaultError) {
            let item = try ItemCodec.item(key, page, index, entries)
            if let known = items[key]?.item, known.revision >= item.revision { return }
            items[key] = Found(key: key, item: item, records: records[item.id.bytes], isUncertain: isUncertain)
        } catch { lost.append((key, error.detail)) }
    }

    // MARK: after the newest state

    /// Adds what was appended after the newest commit: a change whose own commit is damaged or missing. Its items are
    /// whole if their pages and records authenticate, but nothing proves that the change was completed.
    private mutating func readTail(_ newest: Commit, takesLeaves: Bool) {
        var keys = Dictionary(
            items.values.compactMap { found in found.item.map { ($0.id.bytes, found.key) } }, uniquingKeysWith: { $1 })
        var fromLeaves: Set<Bytes16> = []
        if takesLeaves {
            for ref in scan.leaves where ref.offset >= newest.end {
                do throws(VaultError) {
                    let page = try store.pages.load(ref, level: 0)
                    for index in 0..<page.count { addLater(page, index, after: newest, &keys, &fromLeaves) }
                } catch { continue }
            }
        }
        for (id, found) in records where !fromLeaves.contains(id) {
            guard let record = found.own, record.offset >= newest.end, record.identity.revision > newest.clock else {
                continue
            }
            do throws(VaultError) {
                let key = try store.key(of: record)
                let known = keys[id].flatMap { items[$0] }
                guard items[key] == nil || known?.key == key else { continue }
                if let known, known.key != key { items[known.key] = nil }
                items[key] = Found(
                    key: key, item: known?.key == key ? known?.item : nil, records: found, isUncertain: true,
                    isUncommitted: true)
            } catch { continue }
        }
    }

    private mutating func addLater(
        _ page: Page, _ index: Int, after newest: Commit, _ keys: inout [Bytes16: ItemKey],
        _ fromLeaves: inout Set<Bytes16>
    ) {
        let bytes = page.key(index)
        if bytes.first == Format.tombstoneTag {
            if let id = Bytes16(Array(bytes.dropFirst())), let key = keys[id] { removedLater.append(key) }
            return
        }
        do throws(VaultError) {
            let key = try ItemKey(bytes)
            let item = try ItemCodec.item(key, page, index, EntryCheck(store.view, clock: Format.Limit.number))
            let id = item.id.bytes
            guard item.revision > newest.clock else { return }
            if let old = keys[id] {
                guard items[old]?.item?.revision ?? 0 < item.revision else { return }
                items[old] = nil
            }
            keys[id] = key
            fromLeaves.insert(id)
            items[key] = Found(
                key: key, item: item, records: records[id], isUncertain: false, isUncommitted: true)
        } catch { return }
    }

    // MARK: items outside of all states

    /// Adds the items of leaves whose states are lost.
    private mutating func readLooseLeaves() {
        for ref in scan.leaves where !open.isEmpty {
            do throws(VaultError) {
                let page = try store.pages.load(ref, level: 0)
                for gap in open { addItems(of: page, within: gap, isUncertain: true) }
            } catch { continue }
        }
    }

    /// Adds items that were added or changed after the state that covers their range, and all items outside of any
    /// covered range.
    private mutating func addRecords() {
        for found in items.values where found.isUncertain {
            guard let id = found.item?.id.bytes, removed.contains(id) || isMoved(found) else { continue }
            items[found.key] = nil
        }
        let named = Set(items.values.compactMap { $0.item?.id.bytes })
        for (id, found) in records where !named.contains(id) && !removed.contains(id) {
            guard let record = found.own else { continue }
            do throws(VaultError) {
                let key = try store.key(of: record)
                // A record of one group must not contain the key of an item in another.
                guard
                    store.view.compartment(record.identity.compartment)?.group.name.utf8.elementsEqual(key.group.utf8)
                        ?? false
                else {
                    continue
                }
                guard items[key] == nil, isUnknown(key.bytes, record.identity.revision) else { continue }
                items[key] = Found(key: key, item: nil, records: found, isUncertain: true)
            } catch { continue }
        }
    }

    /// Returns whether the item now has a different key.
    private func isMoved(_ found: Found) -> Bool {
        guard let item = found.item, let record = found.record, record.identity.revision > item.entry.recordRevision
        else { return false }
        do throws(VaultError) { return try store.key(of: record) != found.key } catch { return false }
    }

    private func isUnknown(_ key: [UInt8], _ revision: UInt64) -> Bool {
        if let state = covered.first(where: { $0.gap.contains(key) }) { return revision > state.clock }
        return open.contains { $0.contains(key) }
    }
}
