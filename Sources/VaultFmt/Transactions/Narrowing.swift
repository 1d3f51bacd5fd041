internal import VaultBytes

/// Determines what happens to the records that a transaction leaves behind if an item moves out of a group that a
/// scoped slot opens, gets a stricter accessibility, or is bound to this device. Until the vault is compacted,
/// these records can be opened with fewer rights than the item requires.
public enum Narrowing: Sendable, Hashable {
    /// The vault is compacted in the same commit: either everything happens or nothing does, and no such record remains
    /// in the file. This requires rewriting the file; it throws `cannotReplace` if that is impossible, or `noSpace` if
    /// there is not enough space.
    case atOnce
    /// The records remain until the vault is compacted.
    case later
}

/// A record that an item has left behind and that can be opened with fewer rights than the item now requires.
public struct Remnant: Sendable, Hashable {
    /// The item's current key.
    public let key: ItemKey
    /// The access group whose scoped slots can open the record but cannot all open the item; nil if all of them can
    /// still read the item.
    public let group: String?
    /// Whether programs that have locked the vault but kept keys can open the record but not the item.
    public let isOpenWhenLocked: Bool
    /// Whether the record needs no device, or a different device from the item's.
    public let isForOtherDevices: Bool

    init(_ key: ItemKey, _ before: KeyringView.Compartment, _ now: KeyringView.Compartment, slots: Int) {
        self.key = key
        group = slots > 0 ? before.group.name : nil
        isOpenWhenLocked = before.accessibility.survivesLock && !now.accessibility.survivesLock
        isForOtherDevices = now.info.isDeviceBound && before.info.device != now.info.device
    }

    /// Whether anyone who cannot open the item can open the record.
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
