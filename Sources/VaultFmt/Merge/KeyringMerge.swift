internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

/// Merges the keyrings of two copies: groups by name, compartments by number, and the setting by its dot (section 8.1).
struct KeyringMerge {
    private let ours: MergeSide
    private let theirs: MergeSide
    /// Groups and compartments of both sides. If `needsNewEpoch`, two groups can have the same name until their keys
    /// are replaced. Slots and hand-overs are taken from our copy.
    private(set) var keyring: Keyring
    /// The numbers of the groups whose compartments are replaced, because the group has a new key or a slot has lost
    /// the group.
    private(set) var replaced: Set<UInt64> = []
    /// The numbers of the groups that are combined with a group that has the same name and a smaller number.
    private var rewrapped: Set<UInt64> = []
    /// True if the merge is also an operation as defines it.
    private(set) var needsNewEpoch: Bool

    /// Throws `structureInvalid` if one number has two keys, or if correct writers cannot have produced the two states
    ///
    init(_ ours: MergeSide, _ theirs: MergeSide, _ slots: SlotMerge) throws(VaultError) {
        self.ours = ours
        self.theirs = theirs
        keyring = ours.keyring
        needsNewEpoch = ours.store.header.epoch != theirs.store.header.epoch
        guard ours.vector.floor == theirs.vector.floor,
            try ours.dot(ours.keyring.vaultKey) == theirs.dot(theirs.keyring.vaultKey)
        else { throw Self.impossible("the copies have different floors, or their vault keys have different dots") }
        let (mine, its) = (try ours.dot(ours.keyring.keeping.dot), try theirs.dot(theirs.keyring.keeping.dot))
        if mine < its { keyring.keeping = theirs.keyring.keeping }
        try uniteGroups(slots)
        try uniteCompartments()
        try rewrap()
    }

    private static func impossible(_ what: String) -> VaultError {
        VaultError(.structureInvalid, "\(what): no program makes such copies, and they cannot be merged")
    }

    /// The dot of the setting for earlier values.
    func keepingDot() throws(VaultError) -> Dot {
        max(try ours.dot(ours.keyring.keeping.dot), try theirs.dot(theirs.keyring.keeping.dot))
    }

    // MARK: groups

    /// The grants of each group: the slots that it is granted to, each with the dot of the grant.
    private typealias Grants = [GroupName: [Bytes16: Dot]]

    private static func grants(_ slots: some Sequence<(Bytes16, [GroupName: Dot])>) -> Grants {
        var all: Grants = [:]
        for (id, grants) in slots { for (name, dot) in grants { all[name, default: [:]][id] = dot } }
        return all
    }

    private mutating func uniteGroups(_ slots: SlotMerge) throws(VaultError) {
        let mine = Self.grants(try ours.slots().map { ($0.key, $0.value.grants) })
        let its = Self.grants(try theirs.slots().map { ($0.key, $0.value.grants) })
        let result = Self.grants(slots.slots.map { ($0.id, $0.grants) })
        // A slot of an unknown kind may hold the keys of all groups.
        let isUnknownGone = slots.gone.contains { !$0.isKnown }
        let own = Dictionary(uniqueKeysWithValues: ours.keyring.groups.map { (GroupName($0.name), $0) })
        for group in theirs.keyring.groups {
            guard let known = own[GroupName(group.name)] else {
                try requireUnused(group)
                keyring.groups.append(group)
                continue
            }
            if known.number == group.number { try requireSameKey(known, group) } else { keyring.groups.append(group) }
        }
        keyring.groups.sort { $0.number < $1.number }
        for name in Set(keyring.groups.map { GroupName($0.name) }) {
            let numbers = keyring.groups.filter { GroupName($0.name) == name }.map(\.number)
            let (isOurs, isTheirs) = (mine[name] ?? [:] == result[name] ?? [:], its[name] ?? [:] == result[name] ?? [:])
            let known = [(isOurs, ours), (isTheirs, theirs)].compactMap { isSide, side in
                isSide ? side.keyring.groups.first { GroupName($0.name) == name }?.number : nil
            }
            guard let stays = known.min(), !isUnknownGone else {
                replaced.formUnion(numbers)
                needsNewEpoch = true
                continue
            }
            let goes = numbers.filter { $0 != stays }
            if isOurs, isTheirs { rewrapped.formUnion(goes) } else { replaced.formUnion(goes) }
            needsNewEpoch = needsNewEpoch || !replaced.isDisjoint(with: goes)
        }
    }

    private func requireUnused(_ group: Keyring.Group) throws(VaultError) {
        guard ours.keyring.groups.contains(where: { $0.number == group.number }) else { return }
        throw Self.impossible("access group \(group.number) has two names")
    }

    private func requireSameKey(_ mine: Keyring.Group, _ its: Keyring.Group) throws(VaultError) {
        let (own, other) = (try groupKey(mine, ours), try groupKey(its, theirs))
        guard own.secret.equals(other.secret) else {
            throw Self.impossible("access group \(mine.number) has two keys")
        }
    }

    private func groupKey(_ group: Keyring.Group, _ side: MergeSide) throws(VaultError) -> SecretBox {
        try side.core.compartments.groupKey(group, side.core.context)
    }

    // MARK: compartments

    private mutating func uniteCompartments() throws(VaultError) {
        var all = Dictionary(uniqueKeysWithValues: ours.keyring.compartments.map { ($0.number, $0) })
        for info in theirs.keyring.compartments {
            guard let known = all[info.number] else {
                all[info.number] = info
                continue
            }
            let mine = try outer(known, ours)
            let its = try outer(info, theirs)
            guard known.accessibility == info.accessibility, known.device == info.device, mine.count == its.count,
                mine.equals(its)
            else { throw Self.impossible("compartment \(info.number) has two keys") }
            // One side has replaced the group's key, and has rewrapped another device's compartment.
            if replaced.contains(known.group) || rewrapped.contains(known.group) { all[info.number] = info }
        }
        keyring.compartments = all.values.sorted { $0.number < $1.number }
    }

    /// Opens the outer layer. This is sufficient for a comparison, because the inner layer of a device's compartment is
    /// never resealed.
    private func outer(_ info: Keyring.Compartment, _ side: MergeSide) throws(VaultError) -> Secret {
        guard let compartment = side.core.view.compartment(info.number) else {
            throw VaultError(.structureInvalid, "a compartment's group does not exist")
        }
        return try Wrapping.outerOpened(info, try groupKey(compartment.group, side).secret, side.store.vault)
    }

    /// Rewraps the compartments of a group under the key of the remaining group with the same name.
    private mutating func rewrap() throws(VaultError) {
        for number in rewrapped {
            guard let old = keyring.groups.first(where: { $0.number == number }),
                let new = keyring.groups.first(where: {
                    GroupName($0.name) == GroupName(old.name) && !rewrapped.contains($0.number)
                })
            else { continue }
            let (before, after) = (try unitedKey(old), try unitedKey(new))
            for (index, info) in keyring.compartments.enumerated() where info.group == number {
                let content = try Wrapping.outerOpened(info, before.secret, ours.store.vault)
                var same = Keyring.Compartment(
                    number: info.number, group: new.number, accessibility: info.accessibility, device: info.device,
                    wrapped: [])
                Wrapping.wrapOuter(&same, content, after.secret, ours.store.vault, ours.store.random)
                keyring.compartments[index] = same
            }
            keyring.groups.removeAll { $0.number == number }
        }
    }

    /// Returns the key of a group; both sides wrap it under the same vault key.
    private func unitedKey(_ group: Keyring.Group) throws(VaultError) -> SecretBox {
        SecretBox(try Wrapping.groupKey(group, ours.store.slot.keys, ours.store.vault))
    }

    // MARK: extensions

    /// The names of the other copy's extensions that are missing from our copy or have a different value there
    ///
    var differingExtensions: [String] {
        let (mine, its) = (ours.store, theirs.store)
        let pairs = [
            (mine.header.extensions, its.header.extensions), (mine.keyring.extensions, its.keyring.extensions),
        ]
        var names: Set<String> = []
        for (own, others) in pairs { for one in others where !own.contains(one) { names.insert(one.name) } }
        return names.sorted()
    }
}
