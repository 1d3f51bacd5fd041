internal import VaultBytes

/// What becomes of the records that a transaction leaves behind if an item moves out of a group that a scoped slot
/// opens, gets a stricter accessibility, or is for this device only from now on: until the vault is compacted,
/// they open with fewer rights than the item asks for.
public enum Narrowing: Sendable, Hashable {
    /// The vault is compacted in the same commit: all of it or nothing happens, and no such record is left in the file.
    /// It costs rewriting the file, and throws `cannotReplace` where that is not possible, `noSpace` where there is no
    /// room for it.
    case atOnce
    /// They stay until the vault is compacted.
    case later
}

/// A record that an item has left behind, and that opens with fewer rights than the item asks for now.
public struct Remnant: Sendable, Hashable {
    /// The item, as it is named now.
    public let key: ItemKey
    /// The access group whose scoped slots open the record, and do not all open the item; nil if the item is still
    /// readable for them all.
    public let group: String?
    /// Whether programs that have locked the vault, and keep keys, open the record and not the item.
    public let isOpenWhenLocked: Bool
    /// Whether the record needs no device, or another one than the item.
    public let isForOtherDevices: Bool

    init(_ key: ItemKey, _ before: KeyringView.Compartment, _ now: KeyringView.Compartment, slots: Int) {
        self.key = key
        group = slots > 0 ? before.group.name : nil
        isOpenWhenLocked = before.accessibility.survivesLock && !now.accessibility.survivesLock
        isForOtherDevices = now.info.isDeviceBound && before.info.device != now.info.device
    }

    /// Whether anybody opens the record who does not open the item.
    var isReadable: Bool { group != nil || isOpenWhenLocked || isForOtherDevices }
}

/// What the scoped slots of a vault open. A slot of an unknown kind could open every group: nothing is hidden from it
/// by another group.
struct SlotGrants {
    private let groups: [Set<UInt64>]

    init(_ core: VaultCore) throws(VaultError) {
        var groups: [Set<UInt64>] = []
        for slot in core.store.header.slots {
            if let granted = try core.grantedGroups(of: slot) { groups.append(granted) }
        }
        self.groups = groups
    }

    /// How many slots open one group, and not the other.
    func count(with group: UInt64, without other: UInt64) -> Int {
        groups.count { $0.contains(group) && !$0.contains(other) }
    }
}
