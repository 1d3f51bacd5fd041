internal import VaultBytes
internal import VaultFmt

/// The changes that a state includes, as the model has them: the last revision of each id.
struct MachineVector: Equatable {
    var rows: [ReplicaID: UInt64] = [:]

    var clock: UInt64 { rows.values.max() ?? 0 }

    func hasSeen(_ dot: Dot) -> Bool { dot.revision <= rows[dot.replica] ?? 0 }

    func hasSeen(all other: MachineVector) -> Bool {
        other.rows.allSatisfy { hasSeen(Dot(revision: $0.value, replica: $0.key)) }
    }

    mutating func include(_ dot: Dot) { rows[dot.replica] = max(rows[dot.replica] ?? 0, dot.revision) }

    func united(with other: MachineVector) -> MachineVector {
        MachineVector(rows: rows.merging(other.rows, uniquingKeysWith: max))
    }
}

/// An item of which only the secret changes.
struct MachineItem: Equatable {
    /// The change that set the secret of each sibling, by the sibling's dot.
    var siblings: [Dot: Dot] = [:]
    /// The secrets that nobody who saw them has replaced.
    var open: Set<Dot> = []
    /// The secrets, by the changes that set them.
    var secrets: [Dot: String] = [:]

    /// The item as one change leaves it, which sets the secret.
    static func set(_ secret: String, by dot: Dot) -> MachineItem {
        MachineItem(siblings: [dot: dot], open: [dot], secrets: [dot: secret])
    }

    /// The change that set the secret that the item shows.
    private var shown: Dot? { siblings.values.filter(open.contains).max() ?? siblings.values.max() }
    /// The secret that the item shows.
    var secret: String? { shown.flatMap { secrets[$0] } }

    /// The item after a change that sets nothing that is shown, as an import of earlier values is.
    func touched(by dot: Dot) -> MachineItem {
        guard let shown else { return self }
        return MachineItem(siblings: [dot: shown], open: open, secrets: secrets)
    }
}

/// One side of a merge: what it has, and which changes it includes.
struct MachineSide<Content> {
    let content: Content
    let vector: MachineVector

    /// Whether the side lacks something because somebody has removed it.
    func hasRemoved(_ dot: Dot) -> Bool { vector.hasSeen(dot) }
}

extension MachineItem {
    /// The union of two forms of an item; nil if nothing of it stays.
    static func merged(_ one: MachineSide<MachineItem?>, _ other: MachineSide<MachineItem?>) -> MachineItem? {
        var out = MachineItem()
        out.secrets = (one.content?.secrets ?? [:]).merging(other.content?.secrets ?? [:]) { mine, _ in mine }
        for (mine, its) in [(one, other), (other, one)] {
            for (dot, secret) in mine.content?.siblings ?? [:]
            where its.content?.siblings[dot] != nil || !its.hasRemoved(dot) {
                out.siblings[dot] = secret
            }
            for dot in mine.content?.open ?? []
            where its.content?.open.contains(dot) == true || !its.hasRemoved(dot) {
                out.open.insert(dot)
            }
        }
        return out.siblings.isEmpty ? nil : out
    }
}

/// An item: two that were made under one name, each in another copy, stay two.
struct MachineItemName: Hashable {
    let name: String
    let made: Dot
}

/// A slot of a known kind.
struct MachineSlot: Equatable {
    var made: Dot
    /// The change that gave it its factors.
    var changed: Dot
    var key: Int
    let isFull: Bool
}

/// What a state holds.
struct MachineContents: Equatable {
    var items: [MachineItemName: MachineItem] = [:]
    var slots: [SlotID: MachineSlot] = [:]

    /// The items of a name.
    func all(_ name: String) -> [MachineItemName: MachineItem] { items.filter { $0.key.name == name } }

    /// The secret of the only item of a name.
    func secret(of name: String) -> String? { all(name).first?.value.secret }

    /// Changes the item of a name, or makes one.
    mutating func set(_ name: String, _ secret: String, by dot: Dot) {
        items[all(name).first?.key ?? MachineItemName(name: name, made: dot)] = .set(secret, by: dot)
    }

    /// The raw keys of full slots, and of scoped ones.
    var full: Set<Int> { Set(slots.values.filter(\.isFull).map(\.key)) }
    var scoped: Set<Int> { Set(slots.values.filter { !$0.isFull }.map(\.key)) }

    /// The union of what two states under one key hold (specification, section 8.1).
    static func merged(_ one: MachineSide<MachineContents>, _ other: MachineSide<MachineContents>) -> MachineContents {
        var out = MachineContents()
        for name in Set(one.content.items.keys).union(other.content.items.keys) {
            let mine = MachineSide(content: one.content.items[name], vector: one.vector)
            let its = MachineSide(content: other.content.items[name], vector: other.vector)
            if let item = MachineItem.merged(mine, its) { out.items[name] = item }
        }
        for id in Set(one.content.slots.keys).union(other.content.slots.keys) {
            let mine = MachineSide(content: one.content.slots[id], vector: one.vector)
            let its = MachineSide(content: other.content.slots[id], vector: other.vector)
            if let slot = MachineSlot.merged(mine, its) { out.slots[id] = slot }
        }
        return out
    }
}

extension MachineSlot {
    fileprivate static func merged(
        _ one: MachineSide<MachineSlot?>, _ other: MachineSide<MachineSlot?>
    ) -> MachineSlot? {
        if let mine = one.content, let its = other.content, mine.made == its.made {
            return mine.changed >= its.changed ? mine : its
        }
        let stays = one.content.flatMap { other.hasRemoved($0.made) ? nil : $0 }
        let comes = other.content.flatMap { one.hasRemoved($0.made) ? nil : $0 }
        return [stays, comes].compactMap { $0 }.max { $0.made < $1.made }
    }
}
