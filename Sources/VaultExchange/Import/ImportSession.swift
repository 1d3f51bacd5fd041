import VaultBytes
package import VaultFmt
import VaultLocal

/// The treatment of an item that already exists in the vault.
package enum DuplicatePolicy: String, CaseIterable {
    case fail
    case skip
    case replace
    case keepBoth = "keep-both"
    case updateNewer = "update-newer"
}

/// Imports the items of a source into a vault in a single transaction. It decides how each item is handled; a front end
/// prompts and reports.
package struct ImportSession {
    package let policy: DuplicatePolicy
    package let group: GroupChoice
    package private(set) var tally = ImportTally()
    /// The parts of the source that are not imported.
    package private(set) var omissions: [Omission] = []
    /// The number of identifiers that were omitted because they belong to other items.
    private var foreignOrigins = 0
    /// The groups that scoped slots can read.
    private var readable: Set<String> = []
    /// Items in such a group to which the source's secrets are added although neither the source nor the user named the
    /// group: the first few items, and their total number.
    package private(set) var exposed: (items: [ItemKey], count: Int) = ([], 0)
    private var refused = RefusedEntries()
    /// The old records and values that were easier to open than their items are now; if there are any, the import
    /// rewrites the file.
    package private(set) var remnants = RemnantCounts()
    private var twins = Twins()
    /// The vault's items by origin, loaded when first needed.
    private var origins: [String: ItemKey]?
    private var room = EntryRoom()
    /// The number of earlier values that the vault keeps.
    private var limit = 0

    package init(policy: DuplicatePolicy, group: GroupChoice = .own) {
        self.policy = policy
        self.group = group
    }

    /// Imports everything.
    ///
    /// `counted`: called with the number of items so far. `accept`: called with the whole import before it is
    /// committed; if it throws, nothing is imported.
    package mutating func run(
        _ source: inout some ImportSource & ~Copyable, into vault: Vault, counted: (Int) -> Void,
        accept: (borrowing ImportSession) throws -> Void
    ) throws {
        limit = vault.keptVersions
        readable = try Self.groupsOfScopedSlots(vault)
        try vault.transaction(rethrowing: { transaction in
            omissions = try source.read { record in
                guard try hasGroup(record) else { return }
                try put(record, into: transaction)
                try room.note(tally.seen)
                counted(tally.seen)
            }
            omissions += refused.omissions + foreignOriginsLost
            remnants = RemnantCounts(transaction.remnants)
            try accept(self)
        })
    }

    /// The effect that an import would have on one item.
    package struct Rehearsed {
        package let decision: Decision
        /// The label in the source.
        package let label: String?
        /// The names of the attributes that would be set.
        package let attributes: [String]
        /// A description of the changes to an existing item, and of the parts that stay unchanged despite the source;
        /// empty if there are no such changes or parts.
        package let remarks: String
    }

    /// Reports what `run` would do to each item, without changing anything. Throws any error that `run` would throw
    /// before it calls `accept`.
    package mutating func rehearse(
        _ source: inout some ImportSource & ~Copyable, into vault: Vault, counted: (Int) -> Void,
        each: (Rehearsed) throws -> Void
    ) throws {
        var seen: [ItemKey: (modified: Int64?, contents: UInt64)] = [:]
        // The names that earlier entries have released.
        var freed: Set<ItemKey> = []
        limit = vault.keptVersions
        readable = try Self.groupsOfScopedSlots(vault)
        omissions = try source.read { record in
            guard try hasGroup(record) else { return }
            let (key, contents) = (record.key, twins.contents(of: record))
            let decision = try importing(record.place) { () throws -> Decision in
                try vault.rehearseAdding(
                    secretBytes: record.secret.count, attributes: record.attributes,
                    accessibility: record.accessibility,
                    group: key.group, created: record.created, modified: record.modified)
                for earlier in record.earlier {
                    try vault.rehearseAdding(
                        secretBytes: earlier.secret.count, attributes: earlier.value.attributes,
                        accessibility: record.accessibility,
                        group: key.group, created: earlier.value.replaced, modified: earlier.modified)
                }
                return try decide(
                    record, known: { () throws(VaultError) in try Self.origins(of: try vault.items()) },
                    isKnown: { key throws(VaultError) in
                        if seen[key] != nil { return true }
                        return freed.contains(key) ? false : try vault.item(key) != nil
                    },
                    origin: { key throws(VaultError) in
                        seen[key] != nil ? nil : try vault.item(key)?.attributes.string(AttributeName.origin)
                    },
                    compare: { key, name throws(VaultError) in
                        if let last = seen[key] {
                            return last.contents == contents
                                ? .none : Self.isNewer(record.modified, than: last.modified)
                        }
                        guard let old = try vault.whole(key) else { return .newer }
                        return try Self.compare(record, old, name)
                    })
            }
            note(decision, record)
            if let old = decision.old, decision.changes, old != decision.target { freed.insert(old) }
            freed.remove(decision.target)
            let before = try decision.changes ? vault.item(decision.old ?? decision.target) : nil
            tally.note(decision, record, Self.remarks(on: record, before, decision))
            let earlier = try importing(record.place) {
                try earlierValues(of: record, decision, whole: { key throws(VaultError) in try vault.whole(key) }) {
                    key throws(VaultError) in
                    try vault.earlierValues(of: key)
                } open: { value throws(VaultError) in
                    try vault.secret(of: value)
                }
            }
            tally.earlierValues += earlier.added.count
            tally.droppedEarlierValues += earlier.dropped
            tally.displacedEarlierValues += earlier.displaced
            if decision.action != .copy { seen[decision.target] = (record.modified, contents) }
            let dropsOrigin = try importing(record.place) {
                try hasForeignOrigin(record, decision) { () throws(VaultError) in try Self.origins(of: vault.items()) }
            }
            let attributes = try ImportedAttributes.changes(
                of: record, to: decision.target, before, decision.changeOfAttributes, dropsOrigin: dropsOrigin)
            try each(
                Rehearsed(
                    decision: decision, label: record.attributes.label, attributes: attributes.set.names,
                    remarks: Self.remarks(on: record, before, decision)))
            try room.note(tally.seen)
            counted(tally.seen)
        }
        omissions += refused.omissions + foreignOriginsLost
    }

    /// The omissions for identifiers that belong to other items.
    private var foreignOriginsLost: [Omission] {
        guard foreignOrigins > 0 else { return [] }
        let isOne = foreignOrigins == 1
        let items = isOne ? "1 item" : "\(foreignOrigins) items"
        let why = isOne ? "another item has the same value" : "other items have the same values"
        return [
            .loss("the attribute 'origin' of \(items), by which imports find \(isOne ? "it" : "them"), because \(why)")
        ]
    }

    /// Returns the groups that scoped slots can read.
    private static func groupsOfScopedSlots(_ vault: Vault) throws(VaultError) -> Set<String> {
        Set(try vault.slots().flatMap { $0.groups ?? [] })
    }

    /// Records a changed item that stays in a group that scoped slots can read, although the import would have put a
    /// new item into another group. An earlier import may have put the item into its present group.
    private mutating func noteExposed(_ decision: Decision) {
        guard decision.changes, !decision.renamesOnly, let asked = decision.asked,
            readable.contains(decision.target.group),
            !asked.group.utf8.elementsEqual(decision.target.group.utf8)
        else { return }
        if exposed.items.count < 5 { exposed.items.append(decision.target) }
        exposed.count += 1
    }

    /// Returns false for an item whose folder's path is too long to be a group's name, and records the item as left
    /// out.
    private mutating func hasGroup(_ record: borrowing ImportRecord) throws -> Bool {
        guard case .folder = group else { return true }
        do throws(VaultError) {
            for key in [record.key, record.formerKey ?? record.key] { _ = try group.key(key, record.attributes) }
            return true
        } catch {
            let name = "\(ItemText.summary(record.key, label: record.attributes.label)) (\(record.place))"
            try refused.add(record.place, error) { "\(name): \($0)" }
            return false
        }
    }

    /// The number of the source's entries that are omitted.
    package var omitted: Int { omissions.reduce(0) { $0 + $1.entries } }

    // MARK: deciding

    /// The treatment of an item, and its key.
    package struct Decision {
        package let action: Action
        package let target: ItemKey
        /// The key of the item that is replaced, if it differs from `target`.
        var old: ItemKey?
        /// The key that the source and the options request; set only for items that are changed.
        var asked: ItemKey?
        /// True if only the name or group of the item changes.
        var renamesOnly = false

        var adds: Bool { [.add, .keepBoth, .replace, .update].contains(action) }
        /// True if an existing item is changed.
        var changes: Bool { action == .replace || action == .update }

        var changeOfAttributes: ImportedAttributes.Change {
            switch action {
            case .add, .keepBoth, .replace: .replaceAll
            case .update: renamesOnly ? .name : .merge
            case .skip, .duplicate, .unchanged, .copy, .keep: .none
            }
        }
    }

    package enum Action: String {
        case add, replace, skip, duplicate, update, unchanged
        /// The entry is identical to an earlier entry of the source.
        case copy
        case keepBoth = "keep-both"
        /// The item in the vault was changed later, or the source does not record when the entry was changed.
        case keep
    }

    /// The difference between an item of the source and the item in the vault.
    private enum Difference {
        case none, newer, older
        /// Only the name or the group differs, and the source's name or group takes precedence.
        case name
        /// The source does not record which version is newer.
        case unknown
    }

    /// The difference between an item's new name and its current name.
    private enum Naming {
        case same, renamed
        /// The item loses the number that distinguished it from another item that previously had the name.
        case freed
        /// The item is moved to another group at the user's request.
        case moved
    }

    /// `known`: the vault's items by origin. `isKnown`: returns whether an item with the given key exists. `origin`:
    /// returns the origin of the vault's item with the given key. `compare`: compares the record with the item that has
    /// the given key.
    private mutating func decide(
        _ record: borrowing ImportRecord, known: () throws(VaultError) -> [String: ItemKey],
        isKnown: (ItemKey) throws(VaultError) -> Bool, origin: (ItemKey) throws(VaultError) -> String?,
        compare: (_ old: ItemKey, Naming) throws(VaultError) -> Difference
    ) throws(VaultError) -> Decision {
        let key = try group.key(record.key, record.attributes)
        var old: ItemKey?
        // In our own exports, an entry's identifier is its item's id, unless the item has an identifier from another
        // program.
        let isIdentified =
            record.formerKey == nil || record.attributes.string(AttributeName.origin) == record.origin
        if policy != .keepBoth, !record.origin.isEmpty, isIdentified {
            if origins == nil { origins = try known() }
            // An item that has since been removed, or that this import has moved, is looked up by its key.
            if let found = origins?[record.origin], try isKnown(found), twins.isFree(found) { old = found }
        }
        if policy != .keepBoth, old == nil, let former = record.formerKey {
            let found = try group.key(former, record.attributes)
            if try isKnown(found), twins.isFree(found) { old = found }
        }
        var name = key
        if let old {
            twins.note(old, record)
        } else if record.mayHaveTwins {
            switch try twins.verdict(on: key, record) {
            case .copy: return Decision(action: .copy, target: key)
            case .new(let own): name = own
            }
        }
        let isTaken = try isKnown(name)
        guard let found = old ?? (isTaken ? name : nil) else {
            return Decision(action: name == key ? .add : .keepBoth, target: name)
        }
        let target = try target(of: found, named: name, isKnown)
        var policy = policy
        if old == nil, policy == .updateNewer || policy == .replace {
            let isTaken =
                record.mayHaveTwins && twins.hasTaken(found) || record.formerKey != nil && !twins.isFree(found)
            // Neither entry is an older version of the other, whatever their times are, even if the two are identical
            // now.
            if try isTaken ? true : Self.areTwoEntries(record.origin, origin(found)) { policy = .keepBoth }
        }
        if policy != .keepBoth { twins.match(found) }
        switch policy {
        case .replace: return Decision(action: .replace, target: target, old: found, asked: key)
        case .skip: return Decision(action: .skip, target: found)
        case .fail: return Decision(action: .duplicate, target: found)
        case .updateNewer:
            let name: Naming =
                if target == found { .same } else if target.group != found.group { .moved } else {
                    TwinName.isTwin(found, of: target) ? .freed : .renamed
                }
            switch try compare(found, name) {
            case .none: return Decision(action: .unchanged, target: found)
            case .name:
                return Decision(action: .update, target: target, old: found, asked: key, renamesOnly: true)
            case .newer: return Decision(action: .update, target: target, old: found, asked: key)
            case .older, .unknown: return Decision(action: .keep, target: found)
            }
        case .keepBoth: break
        }
        // A certificate, key or identity with the same key is the same item.
        guard key.account != nil else { return Decision(action: .skip, target: key) }
        for number in twins.number(after: key)...Twins.most {
            if let other = try TwinName.key(key, String(number)), try !isKnown(other) {
                twins.note(other, record)
                twins.note(number, of: key)
                return Decision(action: .keepBoth, target: other)
            }
        }
        throw VaultError(.limitExceeded, "there are \(Twins.most) items with the same name")
    }

    /// Records which item an entry has created, changed or renamed.
    private mutating func note(_ decision: Decision, _ record: borrowing ImportRecord) {
        guard decision.adds else { return }
        twins.take(decision.target)
        noteExposed(decision)
        guard let old = decision.old, old != decision.target else { return }
        twins.release(old)
        twins.note(decision.target, record)
    }

    /// Returns the key of an existing item after the source has changed it; its name in the source may be different. If
    /// another item has that name, a suffix is added, as for entries with the same name; an existing suffix is kept.
    private mutating func target(
        of found: ItemKey, named name: ItemKey, _ isKnown: (ItemKey) throws(VaultError) -> Bool
    ) throws(VaultError) -> ItemKey {
        let named = try group.movesItems ? name : name.replacing(group: found.group)
        guard found.itemClass == name.itemClass, named != found else { return found }
        guard try isKnown(named) else { return named }
        if named.group == found.group, TwinName.isTwin(found, of: named) { return found }
        for number in twins.number(after: named)...Twins.most {
            guard let twin = try TwinName.key(named, String(number)) else { return found }
            if twin == found { return found }
            if try !isKnown(twin) {
                twins.note(number, of: named)
                return twin
            }
        }
        return found
    }

    /// Returns whether two identifiers belong to different entries of the same program, such as entries in two of that
    /// program's databases.
    private static func areTwoEntries(_ one: String, _ other: String?) -> Bool {
        guard let other, let program = one.firstIndex(of: ":") else { return false }
        return one != other && other.hasPrefix(one[...program])
    }

    private static func origins(of cursor: consuming ItemCursor) throws(VaultError) -> [String: ItemKey] {
        var origins: [String: ItemKey] = [:]
        var doubled: Set<String> = []
        var cursor = cursor
        while let item = try cursor.next() {
            guard let origin = item.attributes.string(AttributeName.origin) else { continue }
            if origins.updateValue(item.key, forKey: origin) != nil { doubled.insert(origin) }
        }
        // It is not known which of the two items is meant, and a malicious source may have caused the duplicate.
        for origin in doubled { origins[origin] = nil }
        return origins
    }

    /// Compares the source's item with the item in the vault. Attributes that the source does not have belong only to
    /// the vault and do not count as differences.
    private static func compare(
        _ record: borrowing ImportRecord, _ old: borrowing OpenedItem, _ name: Naming
    ) throws(VaultError) -> Difference {
        let item = old.item
        let isSame = record.secret.equals(old.secret) ? hasAll(of: record.attributes, item) : false
        let difference = isNewer(record.modified, than: item.modified)
        guard isSame else { return difference }
        switch name {
        case .same: return .none
        case .moved, .freed: return .name
        case .renamed: return difference == .newer ? .name : difference
        }
    }

    private static func hasAll(of attributes: Attributes, _ item: Item) -> Bool {
        func has(_ attributes: Attributes) -> Bool {
            attributes.all.allSatisfy {
                // The item in the vault may lack the attribute with the secret's date, because the vault itself records
                // that date.
                let known = item.attributes.attribute($0.name)
                return known == $0 || known == nil && $0.name == SecretDate.attribute
            }
        }
        if has(attributes) { return true }
        // Attributes that did not fit into the item were combined when the item was imported.
        do throws(ExchangeError) {
            let changes = try attributes.fitting(into: item.attributes)
            return changes.remove.isEmpty && has(changes.set)
        } catch { return false }
    }

    private static func isNewer(_ modified: Int64?, than other: Int64?) -> Difference {
        guard let modified, let other else { return .unknown }
        return modified > other ? .newer : .older
    }

    /// Returns whether a source assigns an identifier by which a later import finds another item, in the vault or in
    /// this source. The other item's secrets would then be imported into this item, or neither item would be found.
    private mutating func hasForeignOrigin(
        _ record: borrowing ImportRecord, _ decision: Decision, known: () throws(VaultError) -> [String: ItemKey]
    ) throws(VaultError) -> Bool {
        guard decision.adds, let origin = record.attributes.string(AttributeName.origin) else { return false }
        if origins == nil { origins = try known() }
        guard origin != record.origin, let other = origins?[origin], other != decision.target, other != decision.old
        else {
            origins?[origin] = decision.target
            return false
        }
        foreignOrigins += 1
        return true
    }

    // MARK: storing

    private mutating func put(_ record: consuming ImportRecord, into transaction: Transaction) throws {
        let place = record.place
        let decision = try importing(place) { () throws -> Decision in
            try decide(
                record, known: { () throws(VaultError) in try Self.origins(of: try transaction.items()) },
                isKnown: { key throws(VaultError) in try transaction.item(key) != nil },
                origin: { key throws(VaultError) in
                    try transaction.item(key)?.attributes.string(AttributeName.origin)
                },
                compare: { key, name throws(VaultError) in
                    guard let old = try transaction.whole(key) else { return .newer }
                    return try Self.compare(record, old, name)
                })
        }
        let target = decision.target
        note(decision, record)
        let earlier = try importing(place) {
            try earlierValues(of: record, decision, whole: { key throws(VaultError) in try transaction.whole(key) }) {
                key throws(VaultError) in
                try transaction.earlierValues(of: key)
            } open: { value throws(VaultError) in
                try transaction.open(value).takeSecret()
            }
        }
        // The source must not allow anyone to read more of an existing item than before.
        let before = try decision.changes ? importing(place) { try transaction.item(decision.old ?? target) } : nil
        tally.note(decision, record, Self.remarks(on: record, before, decision))
        let dropsOrigin = try importing(place) {
            try hasForeignOrigin(record, decision) { () throws(VaultError) in
                try Self.origins(of: transaction.items())
            }
        }
        var changes = try ImportedAttributes.changes(
            of: record, to: target, before, decision.changeOfAttributes, dropsOrigin: dropsOrigin)
        let old = decision.old ?? target
        switch decision.action {
        case .add, .keepBoth:
            if record.hasDateOfEarlierSecret { changes.set[SecretDate.attribute] = nil }
            if changes.set.count < Format.Limit.attributes, let date = record.secretDate {
                changes.set.set(Attribute(SecretDate.attribute, Array(date.utf8)))
            }
            try importing(place) {
                try transaction.add(
                    target, secret: record.secret, attributes: changes.set, accessibility: record.accessibility,
                    created: record.created, modified: record.modified)
            }
        case .update where decision.renamesOnly:
            try importing(place) {
                if !changes.isEmpty { try transaction.update(old, attributes: changes) }
                // Another time would hide the source's next changes, or restore an older name.
                let date = max(record.modified ?? .min, before?.modified ?? .min)
                try transaction.move(old, to: target, modified: date)
            }
        case .replace, .update:
            try importing(place) {
                try changes.keepDate(ofSecretOf: old, unlessNew: record.secret, in: transaction)
                if changes.replaceAll { changes.dropDate(ifSameDayAs: record.modified) }
                changes.dropDate(ifTooManyWith: before)
                // The item is stored both before and after it is moved, so that the earlier value keeps its own time.
                for key in old == target ? [target] : [old, target] {
                    if key != old { try transaction.move(old, to: target) }
                    try transaction.set(
                        key, secret: record.secret, attributes: changes, created: record.created,
                        modified: record.modified)
                }
            }
        case .unchanged: break
        case .skip, .copy, .duplicate, .keep: return
        }
        tally.droppedEarlierValues += earlier.dropped
        tally.displacedEarlierValues += earlier.displaced
        guard !earlier.added.isEmpty else { return }
        tally.earlierValues += try importing(place) {
            try transaction.addEarlierValues(earlier.added.map(\.value), to: target)
        }
    }

    /// Describes the changes to an existing item, and the parts that stay unchanged despite the source; empty if there
    /// are no such changes or parts.
    private static func remarks(on record: borrowing ImportRecord, _ before: Item?, _ decision: Decision) -> String {
        guard let before, decision.changes else { return "" }
        var parts = KeptProtection.parts(of: before, despite: record, decision.asked, decision.target)
        if decision.action == .replace, let text = ImportedAttributes.removed(from: before, by: record) {
            parts.append(text)
        }
        return parts.joined(separator: "; ")
    }

    /// The effect of an import on an item's earlier values.
    private struct EarlierChange {
        /// The source's values that are added to the item.
        var added: [ImportRecord.Earlier] = []
        /// The number of the source's values that the vault does not keep.
        var dropped = 0
        /// The number of the item's own values that are displaced by the source's values.
        var displaced = 0
    }

    private func earlierValues(
        of record: borrowing ImportRecord, _ decision: Decision, whole: (ItemKey) throws(VaultError) -> OpenedItem?,
        earlier: (ItemKey) throws(VaultError) -> [EarlierValue], open: (EarlierValue) throws(VaultError) -> Secret
    ) throws(VaultError) -> EarlierChange {
        guard !record.earlier.isEmpty else { return EarlierChange() }
        var item: OpenedItem?
        switch decision.action {
        case .skip, .copy, .duplicate, .keep: return EarlierChange()
        case .add, .keepBoth: break
        // In a dry run, an earlier entry may already have changed the item.
        case .replace, .update, .unchanged: item = try whole(decision.old ?? decision.target)
        }
        guard let item else {
            let last = KnownValues.last(of: record, limit)
            return EarlierChange(added: last.added, dropped: last.dropped)
        }
        var change = KnownValues.Change.none
        if decision.action == .replace { change = .replace }
        if decision.action == .update, !decision.renamesOnly { change = .merge }
        let known = try KnownValues(
            item, try earlier(decision.old ?? decision.target), record, change, limit: limit, open: open)
        // Values that were reported by an earlier import of the same source are not reported again.
        let isNamed = !record.origin.isEmpty && item.item.attributes.string(AttributeName.origin) == record.origin
        // A value that the item already has keeps its recorded data, such as the group in which it was set.
        let missing = known.missing(
            record.earlier, after: change == .merge ? item.item.modified : .max, isNamed: isNamed)
        return EarlierChange(
            added: missing.added, dropped: change == .none && isNamed ? 0 : missing.dropped,
            displaced: known.displaced(by: missing.added))
    }
}

extension ItemKey {
    /// Returns the key with another account; returns the key unchanged if its class has no account.
    func with(account: String) throws(VaultError) -> ItemKey {
        self.account == nil ? self : try replacing([.account: .text(account)])
    }
}
