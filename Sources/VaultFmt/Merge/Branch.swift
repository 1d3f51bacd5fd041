internal import VaultBytes
internal import VaultStore

/// One of the states that a merge compares: our state, the other copy's state, or the common state of both. It is read
/// through the vault whose file contains it.
final class Branch {
    let core: VaultCore
    let tree: TreeReader

    /// Makes a branch from the newest state of a vault, or from an earlier state in its file; the keyring still has
    /// everything that the earlier state refers to.
    init(_ core: VaultCore, root: Commit.Root?) {
        self.core = core
        tree = TreeReader(source: core.store.pages, root: root)
    }

    convenience init(_ core: VaultCore) { self.init(core, root: core.store.state.commit.root) }

    func stamp(_ revision: UInt64, _ position: Int) -> Stamp {
        Stamp(revision: revision, device: core.view.device(position)?.bytes ?? .zero)
    }

    /// The contents of a leaf entry.
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

    /// Returns the item with this key.
    func find(_ key: ItemKey) throws(VaultError) -> HeldItem? {
        guard let (page, index) = try tree.find(key.bytes) else { return nil }
        return try item(page, index)
    }

    /// Returns an item copied out of its page, because a merge may hold many items.
    private func item(_ page: Page, _ index: Int) throws(VaultError) -> HeldItem {
        let key = try ItemKey(page.key(index))
        return HeldItem(
            try ItemCodec.item(key, page.value(index), core.entryCheck, before: page.offset), key, self)
    }

    /// Returns a record's frame as stored in the file.
    func frame(_ place: RecordRef, before referrer: UInt64) throws(VaultError) -> [UInt8] {
        try core.frame(place.record, .record, before: referrer)
    }
}

/// The removal of an item: the revision of the removal, and the item's last revision.
struct Tombstone: Equatable, Sendable {
    var removal: Stamp
    var last: Stamp
}

/// A live or earlier value of an item in one branch.
struct HeldValue {
    let branch: Branch
    let id: Bytes16
    let stamp: Stamp
    let modified: Int64
    /// When an earlier value ceased to be current.
    var replaced: Int64?
    let place: RecordRef
    let attributes: Attributes
    /// The frame that refers to the records.
    let referrer: UInt64
    /// The item, if this is a live value.
    let item: Item?

    /// Opens the value; returns nil if it belongs to a device other than `device`, which performs the merge.
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

    /// Returns the value of one of the attributes, whatever its size.
    func value(of attribute: Attribute) throws(VaultError) -> Secret {
        guard case .inOwnRecord = attribute.content else { return attribute.secret ?? Secret(count: 0) }
        return try branch.core.large(attribute, of: id, before: referrer)
    }

    /// The places of its records.
    var places: [RecordRef] { [place] + attributes.largeRecords }

    /// Returns whether both refer to the same bytes, so that they are known to be equal without opening anything.
    func hasSameRecords(as other: HeldValue) -> Bool {
        place.record.hash == other.place.record.hash && attributes.isListed(like: other.attributes)
    }
}

/// An item in one branch.
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

    /// Returns whether the item's values can be resealed on this device.
    func isOpen(for device: Bytes16) -> Bool { item.device == nil || item.device?.bytes == device }

    /// Returns the item's earlier values.
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

/// The contents of an item as its user sees it; values of more than 4096 bytes are still in their records.
struct HeldContent {
    var key: ItemKey
    var secret: SecretBox
    var attributes: Attributes
    var accessibility: Accessibility
    var device: Bytes16

    /// The accessibility and device as stored in a conflict.
    var binding: [UInt8] { [accessibility.rawValue] + device.bytes }

    /// Returns the entries of the attribute `conflict` of `value`.
    func conflicts(_ value: HeldValue) throws(VaultError) -> [LostValue] {
        guard let attribute = attributes.attribute(ConflictAttribute.name) else { return [] }
        return try ConflictAttribute.decode(try value.value(of: attribute))
    }
}

// MARK: comparing

/// Compares values of one item, opening their records only if nothing else decides the result.
struct ValueComparison {
    /// The device that performs the merge.
    let device: Bytes16

    /// Returns whether an item's value is the same as in the base. A revision can have two values, so the values are
    /// compared as well if they can be read.
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

    /// Returns whether a value is the same as in the base when one of the two is an earlier value, which has no
    /// accessibility.
    func isUnchanged(_ held: HeldValue, _ base: HeldValue) throws(VaultError) -> Bool {
        guard held.stamp == base.stamp else { return false }
        return try haveSameValues(held, base)
    }

    /// Compares key, secret and attributes, ignoring revisions. A value that cannot be opened is compared by its
    /// revision.
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

    /// Returns whether an attribute of one value equals an attribute of another.
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

    /// Returns whether an item is unchanged and was merely moved to another page: its value and earlier values are the
    /// same.
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

    /// Returns whether the first of two values wins if both sides changed a field: the value with the greater revision
    /// and device wins or, if these are equal, the one with the greater record.
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
    /// Returns the record's body.
    fileprivate func body() throws(VaultError) -> Secret {
        try value.branch.core.body(value.place, of: id, before: value.referrer)
    }
}

extension Attributes {
    /// The records of large attributes.
    var largeRecords: [RecordRef] {
        all.compactMap { if case .inOwnRecord(let own) = $0.content { own } else { nil } }
    }

    /// Returns whether both list the same names, flags and values, and refer to the same bytes.
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
    /// Whether the error means that bytes in the file are not what was written.
    var isDamage: Bool { code == .authenticationFailed || code == .structureInvalid }
}
