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

/// A text that stands nowhere else, in a secret, a sealed attribute or a label; and where it was live, from which
/// version to which.
struct Mark: CustomStringConvertible {
    struct Stay {
        let placement: Placement
        let from: Int
        /// The last version in which it was live; nil while it is.
        var to: Int?
    }

    let text: String
    let item: Int
    let isLabel: Bool
    var stays: [Stay] = []

    var description: String {
        "\(text) of item \(item): "
            + stays.map {
                "\($0.from)–\($0.to.map(String.init) ?? "") \($0.placement.group).\($0.placement.accessibility.name).\($0.placement.device ?? -1)"
            }
            .joined(separator: "; ")
    }
}

/// What a vault holds and has held, and who may open it.
struct ScopesModel {
    struct Item {
        let number: Int
        var key: ItemKey
        var placement: Placement
        var secret: String
        var sealed: String?
        var label: String
    }

    var items: [Item] = []
    private(set) var marks: [String: Mark] = [:]
    /// Items of which something was knowingly left until the next compaction.
    var tolerated: Set<Int> = []
    private var serial = 0

    // MARK: changes

    mutating func newNumber() -> Int {
        serial += 1
        return serial
    }

    /// A new text: `s` for a secret, `a` for a sealed attribute, `l` for a label.
    mutating func newMark(_ kind: Character, item: Int) -> String {
        let text = "MARK-\(newNumber())-\(kind)"
        marks[text] = Mark(text: text, item: item, isLabel: kind == "l")
        return text
    }

    /// Puts an item there, new or instead of what it was, from this version on.
    mutating func put(_ item: Item, version: Int) {
        if let old = items.firstIndex(where: { $0.number == item.number }) {
            end(items[old], version: version)
            items[old] = item
        } else {
            items.append(item)
        }
        for text in [item.secret, item.sealed, item.label].compactMap({ $0 }) {
            marks[text]?.stays.append(Mark.Stay(placement: item.placement, from: version))
        }
    }

    mutating func remove(_ item: Item, version: Int) {
        end(item, version: version)
        items.removeAll { $0.number == item.number }
    }

    /// What a transaction wrote and replaced itself was live in no version, and is in the file as of the one that it
    /// makes.
    private mutating func end(_ item: Item, version: Int) {
        for text in [item.secret, item.sealed, item.label].compactMap({ $0 }) {
            guard let last = marks[text]?.stays.indices.last, let from = marks[text]?.stays[last].from else { continue }
            marks[text]?.stays[last].to = max(from, version - 1)
        }
    }

    // MARK: who may open what

    /// In the file as it is now, somebody who could open things since a version. What an item has left behind asks for
    /// no less than the item does now.
    func mayOpen(_ mark: Mark, _ opener: Opener, since: Int) -> Bool {
        let stays = mark.stays.filter { $0.to ?? .max >= since }
        guard !mark.isLabel else { return !stays.isEmpty }
        guard stays.contains(where: { opener.opens($0.placement) }) else { return false }
        guard let item = items.first(where: { $0.number == mark.item }) else { return true }
        return opener.opens(item.placement) || tolerated.contains(item.number)
    }

    /// A compartment for a device keeps its key where those who replace keys do not have the device:
    /// its holder opens what he did.
    func isOnlyBoundToDevice(_ mark: Mark, _ opener: Opener) -> Bool {
        !mark.isLabel && mark.stays.contains { $0.placement.device != nil && opener.opens($0.placement) }
    }

    /// What somebody has to be able to open.
    func live(_ opener: Opener) -> Set<String> {
        Set(items.filter { opener.opens($0.placement) }.flatMap { [$0.secret, $0.sealed].compactMap { $0 } })
    }

    var liveLabels: Set<String> { Set(items.map(\.label)) }
}
