internal import VaultFmt

/// Where a record's seal says that it can be opened: what a compartment is, in the harness's own words.
struct Placement: Equatable {
    var group: String
    var accessibility: Accessibility
    /// The number of the device that it is for.
    var device: Int?
}

/// What somebody has: all groups or some, devices, and perhaps only what a locked program keeps.
struct Opener: CustomStringConvertible {
    /// Nil: all of them.
    var groups: Set<String>?
    var devices: Set<Int>
    var isLocked = false

    func opens(_ placement: Placement) -> Bool {
        groups?.contains(placement.group) ?? true && placement.device.map(devices.contains) ?? true
            && (!isLocked || placement.accessibility.survivesLock)
    }

    var description: String { "groups \(groups?.sorted().description ?? "all"), devices \(devices.sorted())" }
}

/// A text that is nowhere else, in a secret, a sealed attribute or a label; and where it was sealed, from which version
/// to which.
struct Mark: CustomStringConvertible {
    struct Stay {
        let placement: Placement
        let from: Int
        /// The last version in which it was there; nil while it is.
        var to: Int?
        /// Whether it is of an earlier value.
        let isEarlier: Bool
    }

    let text: String
    let item: Int
    let isLabel: Bool
    var stays: [Stay] = []

    mutating func begin(_ placement: Placement, _ version: Int, isEarlier: Bool) {
        stays.append(Stay(placement: placement, from: version, isEarlier: isEarlier))
    }

    /// What a transaction wrote and replaced itself was there in no version, and is in the file as of the one that it
    /// makes.
    mutating func end(_ placement: Placement, _ version: Int, isEarlier: Bool) {
        let found = stays.lastIndex { $0.placement == placement && $0.isEarlier == isEarlier && $0.to == nil }
        if let found { stays[found].to = max(stays[found].from, version - 1) }
    }

    var description: String {
        "\(text) of item \(item): "
            + stays.map {
                "\($0.from)–\($0.to.map(String.init) ?? "") \($0.isEarlier ? "earlier " : "")\($0.placement.group)."
                    + "\($0.placement.accessibility.name).\($0.placement.device ?? -1)"
            }
            .joined(separator: "; ")
    }
}

/// What a vault holds and has held, and who may open it.
struct ScopesModel {
    /// The fields of an item whose earlier values are kept: secret, sealed attribute, large sealed attribute.
    static let fields: [Character] = ["s", "a", "b"]
    /// The number of equal earlier values that are kept.
    private static let equal = 8

    /// An earlier value of one field of an item, or one that a merge left to settle.
    struct Earlier {
        let field: Character
        let text: String
        /// Grows with the change that set the value.
        var order: Int
        var placement: Placement
        /// Whether it is left to settle: then it stays until somebody sets the field.
        var isOpen = false
    }

    struct Item {
        let number: Int
        var key: ItemKey
        var placement: Placement
        var secret: String
        var sealed: String?
        /// In an attribute that has a record of its own.
        var large: String?
        var label: String
        var earlier: [Earlier] = []
        /// When each field was set.
        fileprivate(set) var orders: [Character: Int] = [:]

        init(
            number: Int, key: ItemKey, placement: Placement, secret: String, sealed: String?, large: String?,
            label: String
        ) {
            self.number = number
            self.key = key
            self.placement = placement
            self.secret = secret
            self.sealed = sealed
            self.large = large
            self.label = label
        }

        var marks: [String] { [secret, sealed, large, label].compactMap { $0 } }

        subscript(_ field: Character) -> String? {
            switch field {
            case "s": secret
            case "a": sealed
            default: large
            }
        }

        /// Gives a field the value with a text.
        mutating func restore(_ field: Character, _ text: String) {
            switch field {
            case "s": secret = text
            case "a": sealed = text
            default: large = text
            }
        }
    }

    private(set) var items: [Item] = []
    private(set) var marks: [String: Mark] = [:]
    /// Items of which something was knowingly left until the next compaction.
    var tolerated: Set<Int> = []
    /// How many earlier values an item keeps.
    var kept = 10
    /// The version in which the file was rewritten last: nothing dead is older.
    private var rewritten = 0
    private var serial = 0
    /// No access group of this name can be granted.
    static let owners = "\u{0}owners"

    // MARK: changes

    mutating func newNumber() -> Int {
        serial += 1
        return serial
    }

    /// A new text: `s` for a secret, `a` for a sealed attribute, `b` for a large one, `l` for a label.
    mutating func newMark(_ kind: Character, item: Int) -> String {
        let text = "MARK-\(newNumber())-\(kind)"
        marks[text] = Mark(text: text, item: item, isLabel: kind == "l")
        return text
    }

    /// Puts an item there, new or instead of what it was, from this version on.
    ///
    /// - `devices`: Those of whoever changes it.
    mutating func put(_ item: Item, version: Int, devices: Set<Int>) {
        var item = item
        guard let index = items.firstIndex(where: { $0.number == item.number }) else {
            for field in Self.fields { item.orders[field] = newNumber() }
            items.append(item)
            return begin(item.marks, item.placement, version, isEarlier: false)
        }
        let old = items[index]
        for field in Self.fields where old[field] != item[field] {
            settle(field, of: &item, old)
            item.orders[field] = newNumber()
            guard kept > 0, let text = old[field] else { continue }
            item.earlier.append(
                Earlier(field: field, text: text, order: old.orders[field] ?? 0, placement: old.placement))
        }
        item.earlier = limited(item.earlier)
        seal(&item, devices)
        end(old.marks, old.placement, version, isEarlier: false)
        begin(item.marks, item.placement, version, isEarlier: false)
        replaceEarlier(of: old, with: item.earlier, version)
        items[index] = item
    }

    /// What was left to settle of a field loses. What would be older than as many values as are kept is the newest of them
    /// then (R-6.26).
    private mutating func settle(_ field: Character, of item: inout Item, _ old: Item) {
        let now = limited(item.earlier).filter { $0.field == field }.map(\.order)
        let shown = old[field] == nil ? [] : [old.orders[field] ?? 0]
        let losing = item.earlier.indices.filter { item.earlier[$0].field == field && item.earlier[$0].isOpen }
        var hasMoved = false
        for place in losing.sorted(by: { item.earlier[$0].order < item.earlier[$1].order }) {
            let order = item.earlier[place].order
            hasMoved = hasMoved || kept > 0 && (now + shown).count(where: { $0 > order }) >= kept
            if hasMoved { item.earlier[place].order = newNumber() }
            item.earlier[place].isOpen = false
        }
    }

    /// Whoever changes an item drops the earlier values beyond the limit, each field's own (R-6.26).
    private func limited(_ all: [Earlier]) -> [Earlier] {
        var out = all.filter(\.isOpen)
        for field in Self.fields {
            let newest = all.filter { $0.field == field && !$0.isOpen }.sorted { $0.order > $1.order }
            var counts: [String: Int] = [:]
            for one in newest where counts[one.text] ?? (counts.count < kept ? 0 : Self.equal) < Self.equal {
                counts[one.text, default: 0] += 1
                out.append(one)
            }
        }
        return out
    }

    /// Seals for owners what an item does not show, as far as it can be opened (R-6.10).
    private func seal(_ item: inout Item, _ devices: Set<Int>) {
        let bound = item.placement.device.flatMap { devices.contains($0) ? $0 : nil }
        for place in item.earlier.indices {
            let now = item.earlier[place].placement
            if now.group == Self.owners, bound == nil || now.device == bound { continue }
            // What this owner cannot open stays under its compartment.
            guard now.device.map(devices.contains) ?? true else { continue }
            item.earlier[place].placement = Self.owners(of: bound ?? now.device)
        }
    }

    /// An import adds earlier values, oldest first; returns their texts.
    mutating func importEarlier(_ count: Int, to item: Item, version: Int, devices: Set<Int>) -> [String] {
        var item = item
        let texts = (0..<count).map { _ in newMark("s", item: item.number) }
        for text in texts.suffix(kept) {
            item.earlier.append(
                Earlier(
                    field: "s", text: text, order: newNumber(), placement: Self.owners(of: item.placement.device)))
        }
        if kept > 0 { put(item, version: version, devices: devices) }
        return texts
    }

    /// A merge leaves a value to settle that another one has prevailed over.
    ///
    /// - order: When it was set, by `newNumber`.
    mutating func leaveOpen(_ text: String, of number: Int, order: Int, version: Int, devices: Set<Int>) {
        guard let index = items.firstIndex(where: { $0.number == number }) else { return }
        var item = items[index]
        var open = Earlier(field: "s", text: text, order: order, placement: item.placement)
        open.isOpen = true
        item.earlier.append(open)
        seal(&item, devices)
        replaceEarlier(of: items[index], with: item.earlier, version)
        items[index] = item
    }

    mutating func remove(_ item: Item, version: Int) {
        end(item.marks, item.placement, version, isEarlier: false)
        replaceEarlier(of: item, with: [], version)
        items.removeAll { $0.number == item.number }
    }

    /// Everything that is listed is forgotten: not what is left to settle, or is shown again.
    mutating func forgetEarlier(of item: Item, version: Int, devices: Set<Int>) {
        var left = item
        left.earlier = item.earlier.filter { $0.isOpen || item[$0.field] == $0.text }
        if left.earlier.count < item.earlier.count { put(left, version: version, devices: devices) }
    }

    /// The file was rewritten without what is dead.
    mutating func rewrite(version: Int) {
        tolerated = []
        rewritten = version
    }

    private static func owners(of device: Int?) -> Placement {
        Placement(
            group: owners, accessibility: device == nil ? .whenUnlocked : .whenUnlockedThisDeviceOnly, device: device)
    }

    private mutating func begin(_ texts: [String], _ placement: Placement, _ version: Int, isEarlier: Bool) {
        for text in texts { marks[text]?.begin(placement, version, isEarlier: isEarlier) }
    }

    private mutating func end(_ texts: [String], _ placement: Placement, _ version: Int, isEarlier: Bool) {
        for text in texts { marks[text]?.end(placement, version, isEarlier: isEarlier) }
    }

    private mutating func replaceEarlier(of old: Item, with new: [Earlier], _ version: Int) {
        for one in old.earlier { end([one.text], one.placement, version, isEarlier: true) }
        for one in new { begin([one.text], one.placement, version, isEarlier: true) }
    }

    // MARK: who may open what

    /// In the file as it is now, somebody who could open things since a version. What an item has left behind asks for
    /// no less than the item does now.
    ///
    /// - now: What the same somebody would open now, if it differs.
    func mayOpen(_ mark: Mark, _ opener: Opener, since: Int, now: Opener? = nil) -> Bool {
        let stays = mark.stays.filter { $0.to ?? .max >= max(since, rewritten) }
        guard !mark.isLabel else { return !stays.isEmpty }
        if stays.contains(where: { $0.isEarlier && opener.opens($0.placement) }) { return true }
        guard stays.contains(where: { opener.opens($0.placement) }) else { return false }
        guard let item = items.first(where: { $0.number == mark.item }) else { return true }
        return (now ?? opener).opens(item.placement) || tolerated.contains(item.number)
    }

    /// A compartment for a device keeps its key where those who replace keys do not have the device (R-3.27, R-7.17):
    /// its holder opens what he did.
    func isOnlyBoundToDevice(_ mark: Mark, _ opener: Opener) -> Bool {
        !mark.isLabel && mark.stays.contains { $0.placement.device != nil && opener.opens($0.placement) }
    }

    /// What somebody has to be able to open: for an owner, earlier values included. Only owners can find those.
    func live(_ opener: Opener, isOwner: Bool) -> Set<String> {
        var found: Set<String> = []
        for item in items {
            let shown = Self.fields.compactMap { item[$0] }.map { ($0, item.placement) }
            let earlier = isOwner ? item.earlier.map { ($0.text, $0.placement) } : []
            for (text, placement) in shown + earlier where opener.opens(placement) {
                found.insert(text)
            }
        }
        return found
    }

    var liveLabels: Set<String> { Set(items.map(\.label)) }
}
