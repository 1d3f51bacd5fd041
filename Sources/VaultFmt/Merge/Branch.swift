internal import VaultBytes
internal import VaultStore

/// One of the states that a merge compares: ours, theirs, or what they have in common. It is read through the vault
/// whose file holds it.
final class Branch {
    let core: VaultCore
    let tree: TreeReader

    /// The newest state of a vault, or an earlier one of its file: what that refers to is still in the keyring.
    init(_ core: VaultCore, root: Commit.Root?) {
        self.core = core
        tree = TreeReader(source: core.store.pages, root: root)
    }

    convenience init(_ core: VaultCore) { self.init(core, root: core.store.state.commit.root) }

    func stamp(_ revision: UInt64, _ position: Int) -> Stamp {
        Stamp(revision: revision, device: core.view.device(position)?.bytes ?? .zero)
    }

    /// What an entry of a leaf is.
    enum Found {
        case item(HeldItem)
        case tombstone(Bytes16, Tombstone)
    }

    func read(_ page: Page, _ index: Int) throws(VaultError) -> Found {
        guard page.isTombstone(index) else { return .item(try item(page, index)) }
        let (id, entry) = try TombstoneCodec.decode(page, index, core.entryCheck)
        return .tombstone(
            id,
            Tombstone(
                removal: stamp(entry.revision, entry.device), last: stamp(entry.lastRevision, entry.lastDevice)))
    }

    /// The item with this key.
    func find(_ key: ItemKey) throws(VaultError) -> HeldItem? {
        guard let (page, index) = try tree.find(key.bytes) else { return nil }
        return try item(page, index)
    }

    /// Copied out of its page: a merge may hold many of them.
    private func item(_ page: Page, _ index: Int) throws(VaultError) -> HeldItem {
        let key = try ItemKey(page.key(index))
        return HeldItem(
            try ItemCodec.item(key, page.value(index), core.entryCheck, before: page.offset), key, self)
    }

    /// The records, as they are in the file.
    func frame(_ place: RecordRef, before referrer: UInt64) throws(VaultError) -> [UInt8] {
        try core.frame(place.record, .record, before: referrer)
    }
}

/// The removal of an item: its revision, and the last one that the item had.
struct Tombstone: Equatable, Sendable {
    var removal: Stamp
    var last: Stamp
}

/// A live or earlier value of an item, as one branch has it.
struct HeldValue {
    let branch: Branch
    let id: Bytes16
    let stamp: Stamp
    let modified: Int64
    /// Of an earlier value, when it ceased to be current.
    var replaced: Int64?
    let place: RecordRef
    let attributes: Attributes
    /// The frame that refers to the records.
    let referrer: UInt64
    /// Of a live value.
    let item: Item?

    /// What is read of it; nil for what belongs to a device other than the one that merges, `device`.
    func content(for device: Bytes16) throws(VaultError) -> HeldContent? {
        guard let compartment = branch.core.view.compartment(place.compartment) else {
            throw VaultError(.structureInvalid, "an item's compartment does not exist", at: place.record.offset)
        }
        let bound = compartment.info.device
        guard bound == .zero || bound == device else { return nil }
        do throws(VaultError) {
            let (key, secret, attributes) = try open()
            return HeldContent(
                key: key, secret: secret, attributes: attributes, accessibility: compartment.accessibility,
                device: bound)
        } catch {
            guard error.code == .deviceBound else { throw error }
            return nil
        }
    }

    private func open() throws(VaultError) -> (ItemKey, SecretBox, Attributes) {
        if let item {
            let opened = try branch.core.opened(item)
            let attributes = opened.item.attributes
            return (item.key, SecretBox(opened.takeSecret()), attributes)
        }
        var body = try branch.core.body(place, of: id, before: referrer)
        let (secret, key, attributes) = try body.withSpan { (bytes) throws(VaultError) in
            try RecordCodec.readEarlier(bytes, self.attributes, at: place.record.offset)
        }
        body.narrow(to: secret)
        return (key, SecretBox(body), attributes)
    }

    /// The value of one of its attributes, of any size.
    func value(of attribute: Attribute) throws(VaultError) -> Secret {
        guard case .inOwnRecord = attribute.content else { return attribute.secret ?? Secret(count: 0) }
        return try branch.core.large(attribute, of: id, before: referrer)
    }

    /// The places of its records.
    var places: [RecordRef] { [place] + attributes.largeRecords }

    /// Whether both refer to the same bytes, so that nothing has to be opened to know that they are the same.
    func hasSameRecords(as other: HeldValue) -> Bool {
        place.record.hash == other.place.record.hash && attributes.isListed(like: other.attributes)
    }
}

/// An item as one branch has it.
struct HeldItem {
    let item: Item
    let key: ItemKey
    let value: HeldValue

    init(_ item: Item, _ key: ItemKey, _ branch: Branch) {
        self.item = item
        self.key = key
        let entry = item.entry
        value = HeldValue(
            branch: branch, id: entry.id, stamp: branch.stamp(entry.revision, entry.device), modified: entry.modified,
            replaced: nil, place: entry.own, attributes: item.attributes, referrer: item.referrer, item: item)
    }

    var id: Bytes16 { item.entry.id }
    var stamp: Stamp { value.stamp }
    var created: Int64 { item.entry.created }
    var modified: Int64 { item.entry.modified }

    /// Whether its values can be sealed again on this device.
    func isOpen(for device: Bytes16) -> Bool { item.device == nil || item.device?.bytes == device }

    /// Its earlier values.
    func versions() throws(VaultError) -> [HeldValue] {
        guard let frame = item.entry.versions?.frame, let versions = try value.branch.core.versions(of: item) else {
            return []
        }
        return versions.versions.map { version in
            HeldValue(
                branch: value.branch, id: id, stamp: value.branch.stamp(version.revision, version.device),
                modified: version.modified, replaced: version.replaced, place: version.own,
                attributes: Attributes(inPage: version.attributes), referrer: frame.offset, item: nil)
        }
    }
}

/// What an item is, as its user sees it; values of more than 4096 bytes are still in their records.
struct HeldContent {
    var key: ItemKey
    var secret: SecretBox
    var attributes: Attributes
    var accessibility: Accessibility
    var device: Bytes16

    /// What a conflict holds of accessibility and device.
    var binding: [UInt8] { [accessibility.rawValue] + device.bytes }

    /// The entries of its attribute `conflict`, which `value` has.
    func conflicts(_ value: HeldValue) throws(VaultError) -> [LostValue] {
        guard let attribute = attributes.attribute(ConflictAttribute.name) else { return [] }
        return try ConflictAttribute.decode(try value.value(of: attribute))
    }
}

// MARK: comparing

/// Compares values of one item, and opens their records only where nothing else tells.
struct ValueComparison {
    /// The device that merges.
    let device: Bytes16

    /// Whether an item's value is what it was in the base: one revision can have two values, so that these are compared
    /// as well, where they can be read.
    func isUnchanged(_ held: HeldItem, _ base: HeldItem) throws(VaultError) -> Bool {
        guard held.stamp == base.stamp else { return false }
        guard held.isOpen(for: device), base.isOpen(for: device) else { return true }
        guard held.item.accessibility == base.item.accessibility, held.item.device == base.item.device else {
            return false
        }
        if held.key == base.key, held.value.hasSameRecords(as: base.value) { return true }
        guard ConflictKey.plain(held.key, held.id) == ConflictKey.plain(base.key, base.id) else { return false }
        return try haveSameValues(held.value, base.value)
    }

    /// The same where one of them is an earlier value, which has no accessibility.
    func isUnchanged(_ held: HeldValue, _ base: HeldValue) throws(VaultError) -> Bool {
        guard held.stamp == base.stamp else { return false }
        return try haveSameValues(held, base)
    }

    /// Key, secret and attributes, whatever their revisions. What cannot be opened is known by its revision.
    func haveSameValues(_ held: HeldValue, _ other: HeldValue) throws(VaultError) -> Bool {
        if held.hasSameRecords(as: other) { return true }
        guard let mine = try held.content(for: device), let its = try other.content(for: device) else {
            return held.stamp == other.stamp
        }
        guard ConflictKey.plain(mine.key, held.id) == ConflictKey.plain(its.key, other.id),
            mine.secret.secret.equals(its.secret.secret), mine.attributes.count == its.attributes.count
        else { return false }
        for (one, another) in zip(mine.attributes.all, its.attributes.all) {
            guard try isSame(one, held, another, other) else { return false }
        }
        return true
    }

    /// Whether an attribute of one value is that of another.
    func isSame(
        _ one: Attribute, _ held: HeldValue, _ another: Attribute, _ other: HeldValue
    ) throws(VaultError) -> Bool {
        guard one.name.utf8.elementsEqual(another.name.utf8), one.flags == another.flags else { return false }
        guard case .inOwnRecord(let mine) = one.content, case .inOwnRecord(let its) = another.content else {
            return one.hasSameValue(as: another)
        }
        if mine.record.hash == its.record.hash { return true }
        return try held.value(of: one).equals(try other.value(of: another))
    }

    /// Whether a change of pages only moved an item: the same value, the same earlier values.
    func isSame(_ held: HeldItem, _ base: HeldItem) throws(VaultError) -> Bool {
        guard held.key == base.key, held.item.earlierValues == base.item.earlierValues,
            held.created == base.created, held.modified == base.modified, try isUnchanged(held, base)
        else { return false }
        guard held.item.entry.versions?.frame.hash != base.item.entry.versions?.frame.hash else { return true }
        let (mine, its) = (try held.versions(), try base.versions())
        for (one, other) in zip(mine, its) {
            guard one.stamp == other.stamp, one.hasSameRecords(as: other) else { return false }
        }
        return mine.count == its.count
    }

    /// Which of two values of an item wins where both sides changed a field: the greater revision and device, and of
    /// equal ones the greater record.
    func isGreater(_ held: HeldItem, _ other: HeldItem) throws(VaultError) -> Bool {
        guard held.stamp == other.stamp else { return held.stamp > other.stamp }
        guard held.isOpen(for: device), other.isOpen(for: device),
            held.value.place.record.hash != other.value.place.record.hash
        else { return true }
        let its = try other.body()
        return try held.body().compare(its) >= 0
    }
}

extension HeldItem {
    /// The record's body.
    fileprivate func body() throws(VaultError) -> Secret {
        try value.branch.core.body(value.place, of: id, before: value.referrer)
    }
}

extension Attributes {
    /// The records of large ones.
    var largeRecords: [RecordRef] {
        all.compactMap { if case .inOwnRecord(let own) = $0.content { own } else { nil } }
    }

    /// Whether both are listed with the same names, flags and values, and refer to the same bytes.
    fileprivate func isListed(like other: Attributes) -> Bool {
        guard count == other.count else { return false }
        return zip(all, other.all).allSatisfy { one, other in
            guard one.name.utf8.elementsEqual(other.name.utf8), one.flags == other.flags else { return false }
            switch (one.content, other.content) {
            case (.inOwnRecord(let own), .inOwnRecord(let others)): return own.record.hash == others.record.hash
            default: return one.hasSameValue(as: other)
            }
        }
    }
}

extension VaultError {
    /// Whether bytes of the file are not what was written.
    var isDamage: Bool { code == .authenticationFailed || code == .structureInvalid }
}
