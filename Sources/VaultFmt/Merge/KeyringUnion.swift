internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

/// Combines the keyrings of two copies.
enum KeyringUnion {
    /// Combines the keyrings. Throws `structureInvalid` if one number has two keys.
    static func united(_ ours: VaultCore, _ theirs: VaultCore) throws(VaultError) -> Keyring {
        let (mine, its) = (ours.store.keyring, theirs.store.keyring)
        var out = mine
        out.keeping = greater(mine.keeping, its.keeping)
        out.devices += its.devices.filter { !mine.devices.contains($0) }
        out.devices = Array(out.devices.prefix(Format.Limit.devices))
        out.groups = try groups(ours, theirs)
        out.compartments = try compartments(ours, theirs)
        for slot in its.removedSlots {
            let known = mine.removedSlots.first { $0.id == slot.id }?.revision ?? 0
            out.noteRemoval(of: slot.id, max(known, slot.revision))
        }
        let overs = mine.handOvers + its.handOvers.filter { !mine.handOvers.contains($0) }
        out.handOvers = overs.sorted { $0.generation < $1.generation }.suffix(Format.Limit.handOvers)
        return out
    }

    private static func greater(_ one: Keyring.Keeping, _ other: Keyring.Keeping) -> Keyring.Keeping {
        (one.revision, one.device, one.count) < (other.revision, other.device, other.count) ? other : one
    }

    private static func groups(_ ours: VaultCore, _ theirs: VaultCore) throws(VaultError) -> [Keyring.Group] {
        var all = Dictionary(uniqueKeysWithValues: ours.store.keyring.groups.map { ($0.number, $0) })
        for group in theirs.store.keyring.groups {
            guard let known = all[group.number] else {
                all[group.number] = group
                continue
            }
            let mine = try ours.compartments.groupKey(known, ours.context)
            let its = try theirs.compartments.groupKey(group, theirs.context)
            guard known.name.utf8.elementsEqual(group.name.utf8), mine.secret.equals(its.secret) else {
                throw VaultError(.structureInvalid, "access group \(group.number) has two keys")
            }
        }
        return all.values.sorted { $0.number < $1.number }
    }

    /// Combines the compartments. Keys are compared if they can be opened; a device's inner layer is compared without
    /// opening it.
    private static func compartments(
        _ ours: VaultCore, _ theirs: VaultCore
    ) throws(VaultError) -> [Keyring.Compartment] {
        var all = Dictionary(uniqueKeysWithValues: ours.store.keyring.compartments.map { ($0.number, $0) })
        for info in theirs.store.keyring.compartments {
            guard let known = all[info.number] else {
                all[info.number] = info
                continue
            }
            let mine = try outer(known, ours)
            let its = try outer(info, theirs)
            guard known.accessibility == info.accessibility, known.device == info.device,
                mine.count == its.count, mine.equals(its)
            else {
                throw VaultError(.structureInvalid, "compartment \(info.number) has two keys")
            }
        }
        return all.values.sorted { $0.number < $1.number }
    }

    private static func outer(_ info: Keyring.Compartment, _ core: VaultCore) throws(VaultError) -> Secret {
        guard let compartment = core.view.compartment(info.number) else {
            throw VaultError(.structureInvalid, "a compartment's group does not exist")
        }
        let key = try core.compartments.groupKey(compartment.group, core.context)
        return try Wrapping.outerOpened(info, key.secret, core.store.vault)
    }

    /// Returns whether the merge must also replace the keys of all groups, because keys held by a removed slot
    /// must not remain in use, or because two groups of the same name become one.
    static func needsNewGroups(_ ours: VaultCore, _ theirs: VaultCore) -> Bool {
        let (mine, its) = (ours.store.header, theirs.store.header)
        func special(_ header: Header) -> [Slot] {
            header.slots.filter { $0.kind != .full || $0.isOpaque }.sorted { $0.id < $1.id }
        }
        let numbers = Dictionary(
            uniqueKeysWithValues: ours.store.keyring.groups.map { (Array($0.name.utf8), $0.number) })
        let hasTwo = theirs.store.keyring.groups.contains { group in
            (numbers[Array(group.name.utf8)] ?? group.number) != group.number
        }
        return mine.epoch != its.epoch || special(mine) != special(its) || hasTwo
    }

    /// Returns the names of groups that have two numbers.
    static func joinedGroups(_ ours: VaultCore, _ theirs: VaultCore) -> [String] {
        let names = ours.store.keyring.groups
        return theirs.store.keyring.groups.filter { group in
            names.contains { $0.name.utf8.elementsEqual(group.name.utf8) && $0.number != group.number }
        }.map(\.name)
    }

    /// Returns the other copy's extensions that our copy lacks or has with a different value.
    static func differingExtensions(_ ours: VaultCore, _ theirs: VaultCore) -> [String] {
        let (mine, its) = (ours.store, theirs.store)
        let pairs = [
            (mine.header.extensions, its.header.extensions), (mine.keyring.extensions, its.keyring.extensions),
        ]
        var names: Set<String> = []
        for (own, others) in pairs {
            for one in others where !own.contains(one) { names.insert(one.name) }
        }
        return names.sorted()
    }
}
