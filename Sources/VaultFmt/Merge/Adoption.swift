internal import VaultBytes
internal import VaultStore

/// Adopts the values of a branch that was continued under keys that our copy has replaced, if the user asks for it
/// . They are added only as earlier values with new revisions, because a leaked old key must not be able to
/// change current values.
struct Adoption {
    private let ours: VaultCore
    private let theirs: VaultCore
    private let base: Branch?
    private let options: MergeOptions
    private let progress: ((UInt64, UInt64) -> Void)?
    private let comparison: ValueComparison
    /// Items of the other copy that may contain something new.
    private var changed: [Bytes16: HeldItem] = [:]
    private var removed: Set<Bytes16> = []
    private var known: [Bytes16: HeldItem] = [:]
    private var mine: [Bytes16: HeldItem] = [:]

    init(
        _ ours: VaultCore, _ theirs: VaultCore, base: Branch?, _ options: MergeOptions,
        _ progress: ((UInt64, UInt64) -> Void)?
    ) {
        self.ours = ours
        self.theirs = theirs
        self.base = base
        self.options = options
        self.progress = progress
        comparison = ValueComparison(device: ours.deviceID)
    }

    /// The values of one item that our copy does not have, oldest first.
    private struct News {
        let item: HeldItem
        let there: HeldItem?
        let values: [HeldValue]
    }

    mutating func run() throws(VaultError) -> MergeReport {
        try compare()
        try findMine()
        var report = MergeReport(.adopted)
        for id in removed.sorted() where changed[id] == nil {
            if let there = mine[id] { report.notes.append(.removalNotCarriedOut(there.key)) }
        }
        let (slots, gone) = try slots(&report)
        guard !options.isRehearsal else {
            for id in changed.keys.sorted() {
                if let news = try news(id) { report.taken.append(news.there?.key ?? news.item.key) }
            }
            report.taken.sort()
            return report
        }
        let transaction = try Transaction(ours)
        do throws(VaultError) {
            for (done, id) in changed.keys.sorted().enumerated() {
                if done % 64 == 0 { progress?(UInt64(done), UInt64(changed.count)) }
                guard let news = try news(id) else { continue }
                if let key = try add(news, transaction) {
                    report.taken.append(key)
                } else {
                    report.notes.append(.notAdopted(news.item.key))
                }
            }
            report.taken.sort()
            for slot in gone { try transaction.ring.noteRemoval(of: slot.id) }
            let opened = (ours.store.slot.id, SecretBox(ours.store.slot.wrappingKey.copy()))
            try MergeEnd(ours, transaction, progress).commit(
                slots, opened: opened, needsNewGroups: gone.contains { $0.kind != .full || $0.isOpaque }, &report)
        } catch {
            transaction.end()
            throw error
        }
        return report
    }

    // MARK: differences

    private mutating func compare() throws(VaultError) {
        let before = base ?? Branch(ours)
        let after = Branch(theirs)
        var difference = TreeDifference(before.tree, after.tree)
        while let pair = try difference.next() {
            let left = try pair.left.map { (entry) throws(VaultError) in try before.read(entry.page, entry.index) }
            let right = try pair.right.map { (entry) throws(VaultError) in try after.read(entry.page, entry.index) }
            if case .item(let one)? = left, case .item(let other)? = right, one.id == other.id,
                one.item.earlierValues == 0, other.item.earlierValues == 0,
                try comparison.haveSameValues(one.value, other.value)
            {
                continue
            }
            if case .item(let item)? = left, base != nil { known[item.id] = item }
            switch right {
            case .item(let item)?: changed[item.id] = item
            case .tombstone(let id, _)?: removed.insert(id)
            case nil: break
            }
        }
    }

    /// Finds our items by their ids in a single walk, because the pages have been different since the rotation.
    private mutating func findMine() throws(VaultError) {
        let wanted = removed.union(changed.keys)
        guard !wanted.isEmpty else { return }
        let branch = Branch(ours)
        var leaves = branch.tree.leaves(isCaching: false)
        while let leaf = try leaves.next(1).first {
            let page = try ours.store.pages.load(leaf)
            for index in 0..<page.count where !page.isTombstone(index) {
                guard wanted.contains(try ItemCodec.decode(page, index).entry.id),
                    case .item(let held) = try branch.read(page, index)
                else { continue }
                mine[held.id] = held
            }
        }
    }

    private func news(_ id: Bytes16) throws(VaultError) -> News? {
        guard let item = changed[id] else { return nil }
        var seen: [HeldValue] = []
        for held in [mine[id], known[id]] {
            guard let held else { continue }
            seen += try held.versions() + [held.value]
        }
        var values: [HeldValue] = []
        for value in try item.versions() + [item.value] {
            var isKnown = false
            for other in seen where !isKnown { isKnown = try comparison.haveSameValues(value, other) }
            if !isKnown { values.append(value) }
        }
        return values.isEmpty ? nil : News(item: item, there: mine[id], values: values)
    }

    // MARK: writing

    /// Adds values, and returns the key of the item that now has them; nil if no value can be read, or no key is free.
    private func add(_ news: News, _ transaction: Transaction) throws(VaultError) -> ItemKey? {
        var values: [(HeldValue, HeldContent)] = []
        for value in news.values {
            if let content = try value.content(for: ours.deviceID) { values.append((value, content)) }
        }
        guard !values.isEmpty else { return nil }
        if let there = news.there {
            try transaction.adopt(values, existing: there.item)
            return there.key
        }
        var key = ConflictKey.plain(news.item.key, news.item.id)
        if try transaction.item(key) != nil {
            guard let other = try ConflictKey.other(key, news.item.id), try transaction.item(other) == nil else {
                return nil
            }
            key = other
        }
        try transaction.adopt(values, newItem: news.item, key)
        return key
    }

    // MARK: slots

    /// Returns the slots that are kept and those that are removed. Removals are carried out unless the user declines.
    private func slots(
        _ report: inout MergeReport
    ) throws(VaultError) -> (stay: [SlotUnion.Choice], go: [Slot]) {
        let removed = Set(theirs.store.keyring.removedSlots.map(\.id))
        let all = ours.store.header.slots
        let full = all.filter { $0.kind == .full && !$0.isOpaque && !removed.contains($0.id) }
        var stay: [SlotUnion.Choice] = []
        var go: [Slot] = []
        for slot in all {
            let choice = try SlotUnion.choice(slot, ours)
            guard removed.contains(slot.id) else {
                stay.append(choice)
                continue
            }
            if options.removesSlotsOfOldKeys, slot.id != ours.store.slot.id, !full.isEmpty {
                go.append(slot)
                report.notes.append(.slotRemoved(SlotID(slot.id), name: choice.part.name))
            } else {
                stay.append(choice)
                report.notes.append(.slotRemovalNotCarriedOut(SlotID(slot.id), name: choice.part.name))
            }
        }
        return (stay, go)
    }
}

extension Transaction {
    /// Adds values of a branch under other keys to an existing item, as earlier values with new revisions.
    fileprivate func adopt(_ values: [(HeldValue, HeldContent)], existing old: Item) throws(VaultError) {
        let before = try versions(of: old)
        var entry = old.entry
        var versions = Versions(item: entry.id, versions: before?.versions ?? [])
        try add(values, to: &versions)
        entry.revision = try core.tick()
        entry.device = ring.devicePosition()
        entry.versions = try write(versions)
        changes.set(old.key.bytes, ItemCodec.encode(entry, old.attributes.listed))
        tally.versions += Int64(versions.versions.count) - Int64(old.earlierValues)
        tally.liveBytes += ItemFrames.bytes(entry, old.largeRecords, versions) - ItemFrames.bytes(old, before)
    }

    /// Adds values of a branch under other keys to a new item with an empty secret, as earlier values with new
    /// revisions.
    fileprivate func adopt(
        _ values: [(HeldValue, HeldContent)], newItem item: HeldItem, _ key: ItemKey
    ) throws(VaultError) {
        var versions = Versions(item: item.id, versions: [])
        let compartment = try ring.compartment(key.group, .whenUnlocked)
        let identity = Sealing.RecordIdentity(item: item.id, revision: try core.tick(), compartment: compartment)
        let record = try RecordCodec.append(key, Secret(count: 0), [], try seal(identity), to: appender)
        try add(values, to: &versions)
        var entry = ItemEntry(
            record: record, id: item.id, revision: try core.tick(), device: ring.devicePosition(),
            recordRevision: identity.revision, compartment: compartment, created: item.created, modified: item.modified)
        entry.versions = try write(versions)
        let tombstone = TombstoneEntry.key(item.id)
        if try core.store.tree.find(tombstone) != nil {
            changes.set(tombstone, nil)
            tally.tombstones -= 1
        }
        changes.set(key.bytes, ItemCodec.encode(entry, []))
        tally.items += 1
        tally.versions += Int64(versions.versions.count)
        tally.liveBytes += ItemFrames.bytes(entry, [], versions)
    }

    private func add(_ values: [(HeldValue, HeldContent)], to versions: inout Versions) throws(VaultError) {
        let room = Format.Limit.versions - versions.versions.count
        for (value, content) in values.suffix(max(room, 0)) {
            var all: [Attribute] = []
            for attribute in content.attributes.all {
                all.append(
                    attribute.isRead
                        ? attribute
                        : Attribute(attribute.name, secret: try value.value(of: attribute), flags: attribute.flags))
            }
            let attributes = Attributes(sorted: all)
            let compartment = try ring.owners(content.device)
            let placed = try place(attributes, of: content.key, versions.item, in: compartment)
            let revision = try core.tick()
            let identity = Sealing.RecordIdentity(item: versions.item, revision: revision, compartment: compartment)
            let record = try RecordCodec.append(
                content.key, content.secret.secret, attributes.inRecord, try seal(identity), to: appender)
            versions.versions.append(
                Versions.Version(
                    revision: try core.tick(), device: ring.devicePosition(),
                    replaced: value.replaced ?? value.modified,
                    modified: value.modified, record: record, recordRevision: revision, compartment: compartment,
                    attributes: placed.listed))
        }
    }
}
