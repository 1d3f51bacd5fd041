import VaultAge
package import VaultFmt

/// Finds the slot of a vault that is the easiest to open without its factors.
package enum SlotStrength {
    /// Returns the weakest slot; nil if there is only one slot, or if several are equally weak.
    package static func weakest(of slots: [SlotInfo]) -> SlotID? {
        guard slots.count > 1 else { return nil }
        let ranked = slots.filter(\.isKnown).map { (id: $0.id, rank: rank($0)) }
        guard let least = ranked.map(\.rank).min(by: <) else { return nil }
        let all = ranked.filter { $0.rank == least }
        return all.count == 1 ? all.first?.id : nil
    }

    /// Ranks a slot, the weakest first: slots whose factors were chosen by a person, ordered by the cost of their
    /// derivation; slots that a quantum computer could open; all others.
    private static func rank(_ slot: SlotInfo) -> (Int, UInt64) {
        if slot.factors == .passphrase || slot.factors == .otherKeyFile, let cost = slot.cost {
            return (0, UInt64(cost.memoryKiB) * UInt64(cost.passes))
        }
        return (RecipientList.slot(slot)?.isPostQuantum == false ? 1 : 2, 0)
    }
}
