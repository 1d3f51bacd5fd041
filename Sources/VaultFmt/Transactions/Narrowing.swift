internal import VaultBytes

/// Determines the treatment of old records if a transaction moves an item out of a group that a scoped slot opens,
/// makes its accessibility stricter, or binds it to this device. Until the vault is compacted, these records
/// can be opened with fewer rights than the item requires.
public enum Narrowing: Sendable, Hashable {
    /// The vault is compacted in the same commit, so no such record remains in the file. The commit throws
    /// `cannotReplace` if the file cannot be rewritten, or `noSpace` if there is not enough space.
    case atOnce
    /// The records remain until the vault is compacted.
    case later
}

/// An old record of an item that can be opened with fewer rights than the item now requires.
public struct Remnant: Sendable, Hashable {
    /// The item's current key.
    public let key: ItemKey
    /// The access group of the record, if some of the group's scoped slots can open the record but not the item;
    /// otherwise nil.
    public let group: String?
    /// True if programs that have locked the vault but kept keys can open the record but not the item.
    public let isOpenWhenLocked: Bool
    /// True if the record does not require the item's device.
    public let isForOtherDevices: Bool

    init(_ key: ItemKey, _ before: KeyringView.Compartment, _ now: KeyringView.Compartment, slots: Int) {
        self.key = key
        group = slots > 0 ? before.group.name : nil
        isOpenWhenLocked = before.accessibility.survivesLock && !now.accessibility.survivesLock
        isForOtherDevices = now.info.isDeviceBound && before.info.device != now.info.device
    }

    /// True if the record can be opened without the rights that the item requires.
    var isReadable: Bool { group != nil || isOpenWhenLocked || isForOtherDevices }
}

/// The groups that the scoped slots of a vault open. A slot of an unknown kind could open every group, so moving an
/// item to another group does not hide it from that slot.
struct SlotGrants {
    private let groups: [Set<UInt64>]

    init(_ core: VaultCore) throws(VaultError) {
        var groups: [Set<UInt64>] = []
        for slot in core.store.header.slots {
            if let granted = try core.grantedGroups(of: slot) { groups.append(granted) }
        }
        self.groups = groups
    }

    /// Returns the number of slots that open one group but not the other.
    func count(with group: UInt64, without other: UInt64) -> Int {
        groups.count { $0.contains(group) && !$0.contains(other) }
    }
}
