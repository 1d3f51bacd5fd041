internal import VaultBytes
internal import VaultStore

/// Merges the items that differ between two copies. Shared pages are not read.
struct ItemsMerge {
    private let ours: MergeSide
    private let theirs: MergeSide
    /// The differing items of each copy, by id.
    private var mine: [Bytes16: Item] = [:]
    private var its: [Bytes16: Item] = [:]
    /// The values that only one copy has forgotten.
    private(set) var forgotten: Set<ForgottenValue> = []
    /// The values that only the other copy has forgotten.
    private(set) var newlyForgotten: [ForgottenValue] = []

    init(_ ours: MergeSide, _ theirs: MergeSide) throws(VaultError) {
        self.ours = ours
        self.theirs = theirs
        let (left, right) = (StateReader(ours.core), StateReader(theirs.core))
        var difference = TreeDifference(ours.store.tree, theirs.store.tree)
        while let pair = try difference.next() {
            switch try pair.left.map({ (entry) throws(VaultError) in try left.read(entry.page, entry.index) }) {
            case .item(let item)?: mine[item.entry.id] = item
            case .forgotten(let value)?: if pair.right == nil { forgotten.insert(value) }
            case nil: break
            }
            switch try pair.right.map({ (entry) throws(VaultError) in try right.read(entry.page, entry.index) }) {
            case .item(let item)?: its[item.entry.id] = item
            case .forgotten(let value)? where pair.left == nil:
                forgotten.insert(value)
                newlyForgotten.append(value)
            case .forgotten?, nil: break
            }
        }
    }

    /// The ids of the items that differ, in ascending order.
    var ids: [Bytes16] { Set(mine.keys).union(its.keys).sorted() }

    /// Merges one of these items. If only one copy lists the item as differing, the item does not exist in the other
    /// copy.
    func merged(_ id: Bytes16) throws(VaultError) -> MergedItem {
        let left = try mine[id].map { (item) throws(VaultError) in try MergedItem.Held(item, ours, isOurs: true) }
        let right = try its[id].map { (item) throws(VaultError) in try MergedItem.Held(item, theirs, isOurs: false) }
        return MergedItem(id, left, right, ours, theirs, forgotten: forgotten)
    }

    /// Returns our items whose shown values would be replaced by older ones, with the affected fields, in a
    /// fixed order.
    func regressed() throws(VaultError) -> [(item: Item, fields: Set<FieldName>)] {
        var found: [(item: Item, fields: Set<FieldName>)] = []
        for id in ids {
            // Without a past, an item has a single sibling, which remains or goes as a whole.
            guard let item = mine[id], its[id] != nil || item.hasPast else { continue }
            do throws(VaultError) {
                if let fields = try merged(id).regressedFields(ours, forgotten) { found.append((item, fields)) }
            } catch {
                guard Self.isDamage(error) else { throw error }
            }
        }
        return found
    }

    /// Returns whether an error means that data is damaged. The merge itself reports such damage, or replaces the data
    /// with the other copy's intact data.
    static func isDamage(_ error: VaultError) -> Bool {
        error.code == .authenticationFailed || error.code == .structureInvalid
    }

    // MARK: report

    /// Adds notes about a merged item to the report. `key` is the key under which the item is listed now.
    func note(
        _ item: MergedItem, _ view: ItemView, key: ItemKey, _ report: inout MergeReport
    ) throws(VaultError) {
        if let old = item.ours {
            let changed = try item.changedFields(view.shown)
            if !changed.isEmpty {
                report.taken.append(key)
            } else if item.isSettled(view) {
                report.notes.append(.settled(key))
            } else {
                report.supplemented.append(key)
            }
            if old.item.key != key { report.notes.append(.renamed(old.item.key, to: key)) }
        } else {
            report.added.append(key)
        }
        if view.shown.fields[.secret] == nil, item.ours?.item.lacksSecret != true {
            report.noteMissingSecret(key, item.state?.missingSecret(view) ?? .unknown)
        }
        if !view.marks.isEmpty {
            let fields = Set(view.marks.map(\.field)).sorted().map { ConflictField($0) }
            report.notes.append(.conflict(key, fields: fields))
        }
        for (side, held, missing) in [(theirs, item.ours, item.theirs), (ours, item.theirs, item.ours)] {
            if item.isKeptForSplitID(side, held, missing) {
                report.notes.append(.keptForSplitID(key))
            } else if item.isKept(against: side, held, missing) {
                report.notes.append(.keptAgainstRemoval(key))
            }
        }
    }

    /// Returns the note about two items with the same key; the item with the greater id is listed under another key
    /// (section 6.1).
    static func sharedKey(_ key: ItemKey, _ one: Bytes16, _ other: Bytes16) -> MergeReport.Note {
        .sharedKey(key, other: PageName(key, second: max(one, other)).listed)
    }
}

extension ItemState {
    /// Returns the item key that is shown, in the group of the shown place.
    func key(_ shown: ShownItem) throws(VaultError) -> ItemKey {
        guard let key = shown.fields[.key].flatMap({ values[ValueName(.key, $0)] }), case .key(let bytes) = key.content,
            let place = place(shown)
        else { throw VaultError(.structureInvalid, "an item has no key or no place") }
        return try ItemKey(bytes, group: place.group)
    }

    func place(_ shown: ShownItem) -> Place? {
        shown.fields[.place].flatMap { values[ValueName(.place, $0)]?.place }
    }
}
