internal import VaultBytes
internal import VaultStore

/// The index of a damaged vault: the items of its newest state and, in ranges of keys whose pages are lost, the items
/// of earlier states. All of these states were made by an owner. An object outside of these states is used only if it
/// must have been made by an owner, or if the caller requests all objects.
struct SalvageIndex {
    /// An item that is in the index, or a record that was found without it.
    struct Found {
        /// The key in the item's entry or, without an entry, in its record. Two items can be listed under the same key.
        let name: PageName
        let item: Item?
        /// The records of the item that authenticate on their own.
        let records: SalvageScan.Records?
        /// True if the item's entry is lost, or is not from the newest state.
        let isUncertain: Bool
        /// True if the item is from a change whose commit is damaged or missing.
        var isUncommitted = false
        /// True if a change whose commit is damaged or missing removed the item.
        var isRemovedLater = false
        /// The proven state that a change whose commit is damaged or missing, or the holder of a scoped slot, replaced.
        var former: Item?
        /// The offset of the leaf that contains the item; nil if the item is not in any state.
        var leaf: UInt64?

        /// The key under which the item is listed.
        var key: ItemKey { name.listed }

        /// The item's id; nil if neither an entry nor a record was found.
        var id: Bytes16? { item?.entry.id ?? record?.identity.item }

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
    private(set) var items: [PageName: Found] = [:]
    /// The items whose entries are invalid and that were not found elsewhere either.
    private(set) var lost: [(key: ItemKey, reason: String)] = []
    /// The names of the items that were found in pages.
    private var names: [Bytes16: PageName] = [:]
    /// The invalid entries, which an older page can contain although a newer one has the item.
    private var invalid: [PageName: (item: Bytes16, reason: String)] = [:]
    private(set) var hasGaps = false
    /// The number of items that the newest commit counts beyond those that were found.
    private(set) var unnamed: UInt64 = 0
    /// Ranges that an older state covers, and the clock up to which that state includes every change.
    private var covered: [(gap: Gap, clock: UInt64)] = []
    private var open: [Gap] = []

    init(_ scan: SalvageScan, _ store: SalvageStore, withUnproven: Bool) {
        self.scan = scan
        self.store = store
        records = withUnproven ? scan.records : scan.provenRecords
        let newest = scan.newest?.commit
        entries = EntryCheck(
            store.view, clock: newest?.clock ?? Format.Limit.number, floor: newest?.floor ?? 0)
        store.floor = newest?.floor ?? 0
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
        findLost()
        guard let newest = scan.newest?.commit else { return }
        unnamed = newest.items - min(newest.items, UInt64(items.count + lost.count))
        if scan.bytesAfterNewest > 0 {
            readTail(newest, takesLeaves: takesLeaves)
            findLost()
        }
    }

    private mutating func findLost() {
        let found = Set(items.values.compactMap(\.id))
        lost = []
        for name in invalid.keys.sorted(by: PageName.precedes) where items[name] == nil {
            guard let entry = invalid[name], !found.contains(entry.item) else { continue }
            lost.append((name.listed, entry.reason))
        }
    }

    // MARK: states, newest first

    /// Adds the items of a state's tree within the ranges that are still open; ranges with damaged pages remain open.
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
        // A page that is referenced twice is visited only once; the rest of its range remains open.
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
            guard !page.isForgotten(index) else { continue }
            addItem(bytes, page, index, isUncertain: isUncertain)
        }
    }

    private mutating func addItem(_ bytes: [UInt8], _ page: Page, _ index: Int, isUncertain: Bool) {
        let name: PageName
        let id: Bytes16
        do throws(VaultError) {
            id = try ItemCodec.decode(page, index).entry.id
            name = try PageName(bytes, id)
        } catch { return }
        do throws(VaultError) {
            let item = try ItemCodec.item(name, page, index, entries)
            if let known = items[name]?.item, known.revision >= item.revision { return }
            if let other = names[id], other != name, let known = items[other], known.item?.entry.id == id {
                // The item was renamed, and only one of the pages has its newest name.
                guard known.isUncertain, known.item?.revision ?? 0 < item.revision else { return }
                items[other] = nil
            }
            names[id] = name
            items[name] = Found(
                name: name, item: item, records: records[id], isUncertain: isUncertain, leaf: page.offset)
        } catch { if invalid[name] == nil { invalid[name] = (id, error.detail) } }
    }

    private static func name(_ page: Page, _ index: Int) throws(VaultError) -> PageName {
        try PageName(page.key(index), try ItemCodec.decode(page, index).entry.id)
    }

    // MARK: after the newest state

    /// The items that are affected by a change after the newest state.
    private struct Tail {
        /// The names of the items, by id.
        var names: [Bytes16: PageName]
        /// The items that are in the change's leaves.
        var fromLeaves: Set<Bytes16> = []
        /// The items whose names other items have since, by id.
        var displaced: [Bytes16: Found] = [:]
    }

    /// Adds the objects appended after the newest commit: a change whose own commit is damaged or missing. Its items
    /// are whole if their pages and records authenticate, but nothing proves that the change was completed.
    private mutating func readTail(_ newest: Commit, takesLeaves: Bool) {
        var tail = Tail(
            names: Dictionary(
                items.values.compactMap { found in found.item.map { ($0.entry.id, found.name) } },
                uniquingKeysWith: { $1 }))
        if takesLeaves {
            var pages: [Page] = []
            for ref in scan.leaves where ref.offset >= newest.end {
                do throws(VaultError) { pages.append(try store.pages.load(ref, level: 0)) } catch { continue }
            }
            noteRemovals(pages)
            for page in pages {
                for index in 0..<page.count { addLater(page, index, after: newest, &tail) }
            }
        }
        for (id, found) in records where !tail.fromLeaves.contains(id) {
            guard let record = found.own, record.offset >= newest.end, record.identity.revision > newest.clock else {
                continue
            }
            do throws(VaultError) {
                let name = PageName(try store.key(of: record))
                let known = soFar(id, tail)
                guard items[name] == nil || (known?.name == name && items[name]?.id == id) else { continue }
                takeOut(id, &tail)
                items[name] = Found(
                    name: name, item: known?.name == name ? known?.item : nil, records: found, isUncertain: true,
                    isUncommitted: true, isRemovedLater: known?.name == name && known?.isRemovedLater == true,
                    former: known?.item)
            } catch { continue }
        }
        keepDisplaced(tail)
    }

    private mutating func addLater(_ page: Page, _ index: Int, after newest: Commit, _ tail: inout Tail) {
        guard !page.isForgotten(index) else { return }
        do throws(VaultError) {
            let name = try Self.name(page, index)
            let item = try ItemCodec.item(name, page, index, store.entryCheck)
            let id = item.entry.id
            let known = soFar(id, tail)
            guard item.revision > newest.clock, known?.item?.revision ?? 0 < item.revision else { return }
            takeOut(id, &tail)
            if let other = items[name], let holder = other.id, holder != id { tail.displaced[holder] = other }
            tail.names[id] = name
            tail.fromLeaves.insert(id)
            let former = known.flatMap { $0.isUncommitted ? $0.former : $0.item }
            items[name] = Found(
                name: name, item: item, records: records[id], isUncertain: false, isUncommitted: true, former: former)
        } catch { return }
    }

    /// Returns an item as it was found so far. The change can have given its name to another item.
    private func soFar(_ id: Bytes16, _ tail: Tail) -> Found? {
        if let displaced = tail.displaced[id] { return displaced }
        guard let found = tail.names[id].flatMap({ items[$0] }), found.id == id else { return nil }
        return found
    }

    /// Removes an item as it was found so far.
    private mutating func takeOut(_ id: Bytes16, _ tail: inout Tail) {
        let found = soFar(id, tail)
        if tail.displaced.removeValue(forKey: id) == nil, let found { items[found.name] = nil }
    }

    /// Keeps the items that the change removed although other items now have their names. If the other item is new, the
    /// values of the removed one become earlier values of it; an item that was renamed has earlier values of its own.
    private mutating func keepDisplaced(_ tail: Tail) {
        for (id, other) in tail.displaced.sorted(by: { $0.key < $1.key }) {
            let proven = other.isUncommitted ? other.former : other.item
            if let proven, let holder = items[other.name], holder.isUncommitted, holder.former == nil {
                items[other.name]?.former = proven
            } else if !other.isUncommitted || proven != nil {
                let name = items[other.name] == nil ? other.name : PageName(other.name.key, second: id)
                items[name] = Found(
                    name: name, item: other.item, records: other.records, isUncertain: other.isUncertain,
                    isUncommitted: other.isUncommitted, isRemovedLater: true, former: other.former, leaf: other.leaf)
            }
        }
    }

    /// Marks the items that the change removed: the change's leaves cover the keys of these items, or contain other
    /// items of their old leaf, but do not contain the items themselves. An item that the change renamed is found under
    /// its new name afterwards, without the mark.
    private mutating func noteRemovals(_ leaves: [Page]) {
        let there = Set(leaves.flatMap { page in (0..<page.count).map { page.key($0) } })
        func isThere(_ found: Found) -> Bool { found.item.map { there.contains($0.pageName.bytes) } ?? true }
        let replaced = Set(items.values.filter { $0.item != nil && isThere($0) }.compactMap(\.leaf))
        for found in Array(items.values) where !isThere(found) {
            guard let bytes = found.item?.pageName.bytes else { continue }
            let isCovered = leaves.contains { page in
                page.count > 0 && !ByteOrder.isLess(bytes, page.key(0))
                    && !ByteOrder.isLess(page.key(page.count - 1), bytes)
            }
            if isCovered || found.leaf.map(replaced.contains) == true { items[found.name]?.isRemovedLater = true }
        }
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
        for found in items.values where found.isUncertain && isMoved(found) { items[found.name] = nil }
        let named = Set(items.values.compactMap { $0.item?.entry.id })
        for (id, found) in records where !named.contains(id) {
            guard let record = found.own else { continue }
            do throws(VaultError) {
                let key = try store.key(of: record)
                // A record of one group must not contain the key of an item in another group.
                guard
                    store.view.compartment(record.identity.compartment)?.group.name.utf8.elementsEqual(key.group.utf8)
                        ?? false
                else {
                    continue
                }
                let name = PageName(key)
                guard items[name] == nil, isUnknown(key.bytes, record.identity.revision) else { continue }
                items[name] = Found(name: name, item: nil, records: found, isUncertain: true)
            } catch { continue }
        }
    }

    /// Returns whether the item now has a different key.
    private func isMoved(_ found: Found) -> Bool {
        guard let item = found.item, let record = found.record, record.identity.revision > item.entry.recordRevision
        else { return false }
        do throws(VaultError) { return try store.key(of: record) != item.storedKey } catch { return false }
    }

    private func isUnknown(_ key: [UInt8], _ revision: UInt64) -> Bool {
        if let state = covered.first(where: { $0.gap.contains(key) }) { return revision > state.clock }
        return open.contains { $0.contains(key) }
    }
}
