internal import VaultBytes
internal import VaultStore

/// The outcome of a merge for one item.
struct ItemPlan {
    let id: Bytes16
    let ours: HeldItem?
    let theirs: HeldItem?
    /// The value that both sides' values are based on.
    var base: HeldValue?
    /// The base's live item, if the base's items are known.
    var known: HeldItem?
    var how: How
    /// The item's key after the merge.
    var key: ItemKey
    /// The items that this one absorbs, with their own plans.
    var joined: [ItemPlan] = []

    enum How {
        /// The item is taken as a whole from one side.
        case whole(HeldItem)
        /// The item is merged field by field.
        case byField(winner: HeldItem, loser: HeldItem)
    }

    /// The side whose records are reused if possible.
    var like: HeldItem {
        switch how {
        case .whole(let item): item
        case .byField(let winner, _): winner
        }
    }

    /// The greater stamp of the two, so that all machines make the same item.
    var stamp: Stamp { like.stamp }
}

/// The outcome of a merge for all items that differ; all other items stay as they are in our copy.
struct MergePlan {
    var items: [Bytes16: ItemPlan] = [:]
    /// Items that are removed from our copy, with their former keys.
    var removed: [Bytes16: HeldItem] = [:]
    /// The tombstone of each of these items before and after the merge; nil for none.
    var tombstones: [Bytes16: (before: Tombstone?, now: Tombstone?)] = [:]
    /// Items that are absorbed by others; the merge makes their tombstones.
    var gaveUp: Set<Bytes16> = []
    var notes: [MergeReport.Note] = []
    var removedKeys: [ItemKey] = []
    /// Whether both sides contain the same items, earlier values and tombstones, ignoring revisions and devices.
    var isSame = true
}

/// Decides which items and values a merge keeps. It writes nothing.
struct ItemUnion {
    private let ours: Branch
    private let theirs: Branch
    private let base: Base
    private let comparison: ValueComparison
    private var found = Differences()
    private var plan = MergePlan()

    /// All differences, by item.
    private struct Differences {
        var ours: [Bytes16: HeldItem] = [:]
        var theirs: [Bytes16: HeldItem] = [:]
        var base: [Bytes16: HeldItem] = [:]
        var oursGone: [Bytes16: Tombstone] = [:]
        var theirsGone: [Bytes16: Tombstone] = [:]
        /// The base's tombstones; a side has the same tombstone unless it is among the differences.
        var baseGone: [Bytes16: Tombstone] = [:]
        /// The ids that differ between the base and each side.
        var inOurs: Set<Bytes16> = []
        var inTheirs: Set<Bytes16> = []
    }

    /// The common ancestor with the greatest generation.
    struct Base {
        /// The branch with its items, if they are known.
        var branch: Branch?
        /// Whether every other common ancestor is also an ancestor of this one, which means that its items lack nothing
        /// that both sides know.
        var decides = false
        /// The greatest clock of all common ancestors; 0 if there are none.
        var greatestClock: UInt64 = 0
    }

    init(_ ours: Branch, _ theirs: Branch, _ base: Base) {
        self.ours = ours
        self.theirs = theirs
        self.base = base
        comparison = ValueComparison(device: ours.core.deviceID)
    }

    mutating func run() throws(VaultError) -> MergePlan {
        if let base = base.branch {
            try compare(base, ours, isOurs: true)
            try compare(base, theirs, isOurs: false)
            try complete()
        } else {
            try compareSides()
        }
        try planItems()
        planTombstones()
        var clash = KeyClash(ours, theirs, differing: found.inOurs.union(found.inTheirs))
        try clash.settle(&plan)
        return plan
    }

    // MARK: differences

    private mutating func compare(_ base: Branch, _ side: Branch, isOurs: Bool) throws(VaultError) {
        var difference = TreeDifference(base.tree, side.tree)
        while let pair = try difference.next() {
            let before = try pair.left.map { (entry) throws(VaultError) in try base.read(entry.page, entry.index) }
            let now = try pair.right.map { (entry) throws(VaultError) in try side.read(entry.page, entry.index) }
            if case .item(let before)? = before, case .item(let now)? = now, before.id == now.id,
                try comparison.isSame(now, before)
            {
                continue
            }
            if case .tombstone(_, let before)? = before, case .tombstone(_, let now)? = now, before == now { continue }
            switch before {
            case .item(let item)?:
                found.base[item.id] = item
                note(item.id, isOurs)
            case .tombstone(let id, let tombstone)?:
                found.baseGone[id] = tombstone
                note(id, isOurs)
            case nil: break
            }
            add(now, isOurs)
        }
    }

    private mutating func compareSides() throws(VaultError) {
        var difference = TreeDifference(ours.tree, theirs.tree)
        while let pair = try difference.next() {
            let mine = try pair.left.map { (entry) throws(VaultError) in try ours.read(entry.page, entry.index) }
            let its = try pair.right.map { (entry) throws(VaultError) in try theirs.read(entry.page, entry.index) }
            if case .item(let mine)? = mine, case .item(let its)? = its, mine.id == its.id,
                try comparison.isSame(mine, its)
            {
                continue
            }
            if case .tombstone(_, let mine)? = mine, case .tombstone(_, let its)? = its, mine == its { continue }
            add(mine, true)
            add(its, false)
        }
    }

    private mutating func add(_ entry: Branch.Found?, _ isOurs: Bool) {
        switch entry {
        case .item(let item)?:
            if isOurs { found.ours[item.id] = item } else { found.theirs[item.id] = item }
            note(item.id, isOurs)
        case .tombstone(let id, let tombstone)?:
            if isOurs { found.oursGone[id] = tombstone } else { found.theirsGone[id] = tombstone }
            note(id, isOurs)
        case nil: break
        }
    }

    private mutating func note(_ id: Bytes16, _ isOurs: Bool) {
        if isOurs { found.inOurs.insert(id) } else { found.inTheirs.insert(id) }
    }

    /// Fills in items that differ on only one side: on the other side, they are the same as in the base.
    private mutating func complete() throws(VaultError) {
        for id in found.inTheirs.subtracting(found.inOurs) {
            if let base = found.base[id] {
                guard let mine = try ours.find(base.key), mine.id == id else { throw Self.changed }
                found.ours[id] = mine
            }
            found.oursGone[id] = found.baseGone[id]
        }
        for id in found.inOurs.subtracting(found.inTheirs) {
            found.theirs[id] = found.base[id]
            found.theirsGone[id] = found.baseGone[id]
        }
    }

    private static let changed = VaultError(.structureInvalid, "the index changed while it was being read")

    // MARK: items

    private mutating func planItems() throws(VaultError) {
        for id in found.inOurs.union(found.inTheirs).sorted() {
            let (left, right, known) = (found.ours[id], found.theirs[id], found.base[id])
            switch (left, right) {
            case (nil, nil): continue
            case (let left?, let right?): plan.items[id] = try merged(left, right, known)
            case (let held?, nil): try planOneSided(held, known, isOurs: true)
            case (nil, let held?): try planOneSided(held, known, isOurs: false)
            }
        }
    }

    /// Plans an item that one side lacks.
    private mutating func planOneSided(_ held: HeldItem, _ known: HeldItem?, isOurs: Bool) throws(VaultError) {
        plan.isSame = false
        let absent = isOurs ? found.theirsGone[held.id] : found.oursGone[held.id]
        let wasThere = known != nil || absent != nil
        let isConfirmed =
            try known.map { (known) throws(VaultError) in try comparison.isUnchanged(held, known) } ?? false
        if isConfirmed || isRemoved(held, absent, by: isOurs ? theirs : ours) {
            if isOurs {
                plan.removed[held.id] = held
                plan.removedKeys.append(held.key)
            }
            if !isConfirmed || absent == nil { plan.notes.append(.removedUnconfirmed(held.key)) }
            return
        }
        if wasThere { plan.notes.append(.keptAgainstRemoval(held.key)) }
        plan.items[held.id] = ItemPlan(
            id: held.id, ours: isOurs ? held : nil, theirs: isOurs ? nil : held, base: known?.value, known: known,
            how: .whole(held), key: whole(held))
    }

    /// Returns whether an item whose current value is not in the base was removed by the side that lacks it.
    private func isRemoved(_ held: HeldItem, _ tombstone: Tombstone?, by absent: Branch) -> Bool {
        guard !base.decides, held.stamp.revision <= base.greatestClock else { return false }
        if held.stamp.revision < absent.core.store.state.commit.tombstoneHorizon { return true }
        return tombstone.map { held.stamp <= $0.last } ?? false
    }

    /// Returns an item's key without the suffix of an earlier merge; an item that cannot be resealed keeps the suffix.
    private func whole(_ held: HeldItem) -> ItemKey {
        held.isOpen(for: comparison.device) ? ConflictKey.plain(held.key, held.id) : held.key
    }

    /// Plans an item that both sides have.
    private mutating func merged(_ left: HeldItem, _ right: HeldItem, _ known: HeldItem?) throws(VaultError) -> ItemPlan
    {
        var out = ItemPlan(
            id: left.id, ours: left, theirs: right, base: known?.value, known: known, how: .whole(left),
            key: whole(left))
        let (winner, loser) = try comparison.isGreater(left, right) ? (left, right) : (right, left)
        if try comparison.isUnchanged(loser, winner) {
            out.how = .whole(winner)
            out.key = whole(winner)
            if plan.isSame, left.key == right.key {
                plan.isSame = try haveSameVersions(left, right)
            } else {
                plan.isSame = false
            }
            return out
        }
        if plan.isSame { plan.isSame = try holdTheSame(left, right) }
        if known == nil { out.base = try common(left, right) }
        if try isUnchanged(loser, out) {
            out.how = .whole(winner)
        } else if loser.stamp == winner.stamp, try isUnchanged(winner, out) {
            out.how = .whole(loser)
        } else {
            // This also applies if only the loser changed: it was removed, but kept because of a change that is older
            // than the base, and the base's earlier values may be newer than that change.
            out.how = .byField(winner: winner, loser: loser)
        }
        out.key = try key(out)
        return out
    }

    private func isUnchanged(_ held: HeldItem, _ plan: ItemPlan) throws(VaultError) -> Bool {
        if let known = plan.known { return try comparison.isUnchanged(held, known) }
        guard let base = plan.base else { return false }
        return try comparison.isUnchanged(held.value, base)
    }

    /// Returns the newest value that both sides have, if the base's items are not known.
    private func common(_ left: HeldItem, _ right: HeldItem) throws(VaultError) -> HeldValue? {
        let mine = try left.versions() + [left.value]
        var its: [Stamp: HeldValue] = [:]
        for value in try right.versions() + [right.value] { its[value.stamp] = value }
        for value in mine.sorted(by: { $0.stamp > $1.stamp }) {
            if let other = its[value.stamp], try comparison.isUnchanged(value, other) { return value }
        }
        return nil
    }

    /// Returns the key that results from the fields of both sides.
    private func key(_ plan: ItemPlan) throws(VaultError) -> ItemKey {
        guard case .byField(let winner, let loser) = plan.how else { return whole(plan.like) }
        guard winner.isOpen(for: comparison.device), loser.isOpen(for: comparison.device) else {
            return whole(winner)
        }
        let base = try plan.base.flatMap { (base) throws(VaultError) in try baseKey(base, plan) }
        var choice = FieldChoice(winner.stamp, loser.stamp)
        if winner.stamp == loser.stamp { choice.named = try conflicts(winner) + conflicts(loser) }
        return try FieldUnion.key(
            ConflictKey.plain(winner.key, winner.id), ConflictKey.plain(loser.key, loser.id), base: base, &choice)
    }

    private func conflicts(_ held: HeldItem) throws(VaultError) -> [LostValue] {
        guard held.value.attributes.attribute(ConflictAttribute.name) != nil,
            let content = try held.value.content(for: comparison.device)
        else { return [] }
        return try content.conflicts(held.value)
    }

    private func baseKey(_ base: HeldValue, _ plan: ItemPlan) throws(VaultError) -> ItemKey? {
        if let known = plan.known, !known.isOpen(for: comparison.device) { return nil }
        if let item = base.item { return ConflictKey.plain(item.key, plan.id) }
        do throws(VaultError) {
            return try base.content(for: comparison.device).map { ConflictKey.plain($0.key, plan.id) }
        } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }

    // MARK: comparing contents

    private func holdTheSame(_ left: HeldItem, _ right: HeldItem) throws(VaultError) -> Bool {
        guard left.key == right.key, left.isOpen(for: comparison.device) == right.isOpen(for: comparison.device),
            left.item.accessibility == right.item.accessibility, left.item.device == right.item.device
        else { return false }
        guard left.isOpen(for: comparison.device) else {
            guard left.value.place.revision == right.value.place.revision else { return false }
            return try haveSameVersions(left, right)
        }
        guard try comparison.haveSameValues(left.value, right.value) else { return false }
        return try haveSameVersions(left, right)
    }

    private func haveSameVersions(_ left: HeldItem, _ right: HeldItem) throws(VaultError) -> Bool {
        guard left.item.earlierValues == right.item.earlierValues else { return false }
        for (one, other) in zip(try left.versions(), try right.versions()) {
            guard try comparison.haveSameValues(one, other) else { return false }
        }
        return true
    }

    // MARK: tombstones

    /// Plans the tombstones: if both sides have one, the greater of each pair of revision and device is used.
    private mutating func planTombstones() {
        for id in found.inOurs.union(found.inTheirs) {
            let (mine, its) = (found.oursGone[id], found.theirsGone[id])
            if (mine == nil) != (its == nil) { plan.isSame = false }
            var now = mine ?? its
            if let mine, let its {
                now = Tombstone(removal: max(mine.removal, its.removal), last: max(mine.last, its.last))
            }
            if plan.items[id] != nil { now = nil }
            if mine != now { plan.tombstones[id] = (mine, now) }
        }
    }
}
