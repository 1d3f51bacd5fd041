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
    /// An earlier value of an item.
    struct Earlier {
        var placement: Placement
        let marks: [String]
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

        var marks: [String] { [secret, sealed, large, label].compactMap { $0 } }
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
            items.append(item)
            return begin(item.marks, item.placement, version, isEarlier: false)
        }
        let old = items[index]
        // A sealed attribute that the item did not have replaces nothing.
        let losesSealed = old.sealed != nil && old.sealed != item.sealed || old.large != nil && old.large != item.large
        // A lower setting drops what exceeds it with the next value that is kept, or with the next rewriting.
        let keeps = kept > 0 && (old.secret != item.secret || losesSealed)
        if keeps {
            let canOpen = old.placement.device.map(devices.contains) ?? true
            // What this owner cannot open stays under its compartment (R-6.10).
            let placement = canOpen ? Self.owners(of: old.placement.device) : old.placement
            item.earlier.append(Earlier(placement: placement, marks: old.marks))
        }
        let bound = item.placement.device == old.placement.device ? nil : item.placement.device
        // Either way, a large attribute's record is no longer the one that earlier values share.
        let changesLarge = old.large != item.large || item.large != nil && old.placement != item.placement
        // Whoever writes the list of earlier values anew takes along what others could not open (R-6.10).
        if keeps || changesLarge || bound != nil {
            for place in item.earlier.indices where item.earlier[place].placement.device.map(devices.contains) ?? true {
                let device = bound ?? item.earlier[place].placement.device
                item.earlier[place].placement = Self.owners(of: device)
            }
        }
        if keeps { item.earlier = item.earlier.suffix(kept) }
        end(old.marks, old.placement, version, isEarlier: false)
        begin(item.marks, item.placement, version, isEarlier: false)
        replaceEarlier(of: old, with: item.earlier, version)
        items[index] = item
    }

    mutating func remove(_ item: Item, version: Int) {
        end(item.marks, item.placement, version, isEarlier: false)
        replaceEarlier(of: item, with: [], version)
        items.removeAll { $0.number == item.number }
    }

    mutating func forgetEarlier(of item: Item, version: Int) {
        replaceEarlier(of: item, with: [], version)
        for index in items.indices where items[index].number == item.number { items[index].earlier = [] }
    }

    /// The file was rewritten without what is dead.
    mutating func rewrite(version: Int) {
        tolerated = []
        rewritten = version
        for index in items.indices where items[index].earlier.count > kept {
            let earlier = Array(items[index].earlier.suffix(kept))
            replaceEarlier(of: items[index], with: earlier, version)
            items[index].earlier = earlier
        }
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
        for one in old.earlier { end(one.marks, one.placement, version, isEarlier: true) }
        for one in new { begin(one.marks, one.placement, version, isEarlier: true) }
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

    /// What somebody has to be able to open, earlier values included.
    func live(_ opener: Opener) -> Set<String> {
        var found: Set<String> = []
        for item in items {
            // All values that have a large attribute share its record, which is where the newest of them has it.
            var large: Set<String> = []
            let values = [(item.placement, item.marks)] + item.earlier.reversed().map { ($0.placement, $0.marks) }
            for (placement, texts) in values {
                for text in texts where marks[text]?.isLabel == false {
                    if text.hasSuffix("-b"), !large.insert(text).inserted { continue }
                    if opener.opens(placement) { found.insert(text) }
                }
            }
        }
        return found
    }

    var liveLabels: Set<String> { Set(items.map(\.label)) }
}
