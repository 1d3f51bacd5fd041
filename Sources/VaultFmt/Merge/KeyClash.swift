internal import VaultBytes
internal import VaultStore

/// Assigns each key to a single item.
struct KeyClash {
    private let ours: Branch
    private let theirs: Branch
    private let device: Bytes16
    /// The items that differ; all others are the same in both copies.
    private let differing: Set<Bytes16>
    /// The keys that items ask for, and the items that ask for them.
    private var claims: [ItemKey: Set<Bytes16>] = [:]

    init(_ ours: Branch, _ theirs: Branch, differing: Set<Bytes16>) {
        self.ours = ours
        self.theirs = theirs
        self.differing = differing
        device = ours.core.deviceID
    }

    mutating func settle(_ plan: inout MergePlan) throws(VaultError) {
        for id in plan.items.keys {
            guard var item = plan.items[id] else { continue }
            item.key = Self.asked(item)
            plan.items[id] = item
            claims[item.key, default: []].insert(id)
        }
        try takeBack(&plan)
        try addHolders(&plan)
        try divide(&plan)
        for item in plan.items.values {
            if let mine = item.ours, mine.key != item.key { plan.notes.append(.renamed(mine.key, to: item.key)) }
        }
    }

    /// Returns the key that an item asks for. An item whose key is the same on both sides keeps it, including a suffix,
    /// until its key without the suffix becomes free.
    private static func asked(_ item: ItemPlan) -> ItemKey {
        guard let mine = item.ours?.key, mine == item.theirs?.key, ConflictKey.plain(mine, item.id) == item.key else {
            return item.key
        }
        return mine
    }

    /// Lets items take back the keys that they had given up to items that no longer exist.
    private mutating func takeBack(_ plan: inout MergePlan) throws(VaultError) {
        var keys = Set(plan.removed.values.map(\.key))
        for item in plan.items.values {
            for held in [item.ours, item.theirs] { if let key = held?.key { keys.insert(key) } }
        }
        for key in keys.sorted() where claims[key] == nil {
            guard try untouched(key, plan) == nil else { continue }
            var waiting = plan.items.values.filter { item in
                item.key != key && ConflictKey.plain(item.key, item.id) == key && item.like.isOpen(for: device)
            }
            if let start = ConflictKey.start(key) { waiting += try untouched(startingWith: start, key, plan) }
            guard var first = waiting.min(by: { $0.id < $1.id }) else { continue }
            claims[first.key]?.remove(first.id)
            if claims[first.key]?.isEmpty == true { claims[first.key] = nil }
            first.key = key
            plan.items[first.id] = first
            claims[key, default: []].insert(first.id)
        }
    }

    /// Adds items that are the same on both sides if other items ask for their keys.
    private mutating func addHolders(_ plan: inout MergePlan) throws(VaultError) {
        for key in Array(claims.keys) {
            guard let holder = try untouched(key, plan) else { continue }
            plan.items[holder.id] = holder
            claims[key, default: []].insert(holder.id)
        }
    }

    /// Decides which item keeps a key: one that cannot be resealed, or otherwise the one with the smallest id.
    private mutating func divide(_ plan: inout MergePlan) throws(VaultError) {
        let contested = claims.filter { $0.value.count > 1 }
        guard !contested.isEmpty else { return }
        var keepers: [ItemKey: Bytes16] = [:]
        var losers: [Bytes16] = []
        for (key, ids) in contested {
            let closed = ids.filter { id in plan.items[id].map { !$0.like.isOpen(for: device) } ?? false }
            guard closed.count < 2 else {
                throw VaultError(
                    .deviceBound,
                    "two items that are bound to other devices have the same key, and neither can be renamed here: merge on one of those devices"
                )
            }
            guard let keeper = closed.first ?? ids.min() else { continue }
            keepers[key] = keeper
            losers += ids.filter { $0 != keeper }
        }
        for id in losers.sorted() {
            guard var item = plan.items[id] else { continue }
            if let other = try ConflictKey.other(item.key, id), claims[other] == nil,
                try untouched(other, plan) == nil
            {
                claims[other] = [id]
                item.key = other
                plan.items[id] = item
                if item.ours == nil { plan.notes.append(.renamed(ConflictKey.plain(other, id), to: other)) }
            } else if let keeper = keepers[item.key] {
                giveUp(item, to: keeper, &plan)
            }
        }
    }

    /// Handles an item for which no key is left: its values become part of the item that has its key.
    private func giveUp(_ item: ItemPlan, to keeper: Bytes16, _ plan: inout MergePlan) {
        plan.items[item.id] = nil
        if let mine = item.ours { plan.removed[item.id] = mine }
        plan.tombstones[item.id] = (plan.tombstones[item.id]?.before, nil)
        plan.gaveUp.insert(item.id)
        plan.items[keeper]?.joined.append(item)
        plan.notes.append(.joined(item.key))
    }

    // MARK: unchanged items

    /// Returns the unchanged item with the given key.
    private func untouched(_ key: ItemKey, _ plan: MergePlan) throws(VaultError) -> ItemPlan? {
        guard let held = try ours.find(key) else { return nil }
        return isUntouched(held, plan) ? Self.plan(held) : nil
    }

    /// Returns the unchanged items whose keys consist of this key and a suffix.
    private func untouched(
        startingWith start: [UInt8], _ key: ItemKey, _ plan: MergePlan
    ) throws(VaultError) -> [ItemPlan] {
        var out: [ItemPlan] = []
        var leaves = ours.tree.leaves(from: start)
        while let leaf = try leaves.next(1).first {
            let page = try ours.core.store.pages.inPassing(leaf)
            for index in page.lowerBound(start).index..<page.count {
                guard !page.isTombstone(index), page.key(index).starts(with: start),
                    case .item(let held) = try ours.read(page, index)
                else { return out }
                if isUntouched(held, plan), held.isOpen(for: device), ConflictKey.plain(held.key, held.id) == key {
                    out.append(Self.plan(held))
                }
            }
        }
        return out
    }

    private func isUntouched(_ held: HeldItem, _ plan: MergePlan) -> Bool {
        !differing.contains(held.id) && plan.items[held.id] == nil
    }

    private static func plan(_ held: HeldItem) -> ItemPlan {
        ItemPlan(
            id: held.id, ours: held, theirs: held, base: held.value, known: held, how: .whole(held), key: held.key)
    }
}
