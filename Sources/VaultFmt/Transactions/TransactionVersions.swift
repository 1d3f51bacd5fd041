internal import VaultBytes
internal import VaultStore

// Earlier values within a transaction: keeping, moving, restoring and forgetting them (specification, section 6.4).
extension Transaction {
    // MARK: for callers

    /// Returns the earlier values of an item, oldest first. Throws `noSuchItem`.
    public func earlierValues(of key: ItemKey) throws(VaultError) -> [EarlierValue] {
        try allEarlierValues(of: try existing(key))
    }

    /// Opens the secret of an earlier value, with its attributes at the time.
    public func open(_ value: EarlierValue) throws(VaultError) -> OpenedEarlierValue {
        try requireOpen()
        return try opened(value)
    }

    /// Returns the value that an attribute had at the time, whatever its size; nil if the item had no attribute of this
    /// name.
    package func attribute(_ name: String, of value: EarlierValue) throws(VaultError) -> Secret? {
        try requireOpen()
        return try self.value(of: name, value)
    }

    /// Restores the secret and attributes of an earlier value of an item. The current value becomes an earlier one, if
    /// the vault keeps any and it is not damaged; the restored value remains in the list. The key and accessibility do
    /// not change. Throws `noSuchItem` if the item or this earlier value does not exist.
    public func restore(_ value: EarlierValue, of key: ItemKey) throws(VaultError) {
        let old = try existing(key)
        guard value.item.bytes == old.entry.id,
            let version = try versions(of: old)?.versions.first(where: { value.isSame(as: $0) }),
            let frame = old.entry.versions?.frame
        else { throw Self.noSuchValue }
        let current = EarlierValue(version, of: old.entry.id, ring.view, referrer: frame.offset)
        let earlier = try opened(current)
        var change = ItemChange(old, earlier.attributes)
        change.restored = earlier.attributes
        var failure: VaultError?
        if let now = try opened(old, else: &failure) {
            let losesSealed = try losesSealedValue(now.item, in: earlier.attributes)
            change.replaces = losesSealed || !now.secret.equals(earlier.secret)
        } else {
            change.replaces = failure?.code == .deviceBound
        }
        try apply(change, secret: earlier.secret)
    }

    /// Forgets these earlier values of an item, or all of them, and returns how many were forgotten. Their records stay
    /// in the file until it is compacted.
    ///
    /// Throws `noSuchItem` if the item or one of these values does not exist.
    @discardableResult
    public func forgetEarlierValues(of key: ItemKey, _ values: [EarlierValue]? = nil) throws(VaultError) -> Int {
        let old = try existing(key)
        guard let values else {
            if old.earlierValues > 0 { replaceVersions(old, try versionsToRemove(old), nil, nil) }
            return old.earlierValues
        }
        guard !values.isEmpty else { return 0 }
        guard var versions = try versions(of: old) else { throw Self.noSuchValue }
        let before = versions
        for value in values {
            guard value.item.bytes == old.entry.id,
                let index = versions.versions.firstIndex(where: { value.isSame(as: $0) })
            else {
                throw Self.noSuchValue
            }
            versions.versions.remove(at: index)
        }
        replaceVersions(old, before, try write(versions), versions)
        return before.versions.count - versions.versions.count
    }

    /// Adds earlier values, oldest first, to an item, as an import does. Only the newest ones are added, up to the
    /// number that the vault keeps; returns how many were added.
    ///
    /// They are sorted after existing ones. Throws `noSuchItem`, and the same errors as adding an item with such a
    /// secret and such attributes.
    @discardableResult
    public func addEarlierValues(_ values: [NewEarlierValue], to key: ItemKey) throws(VaultError) -> Int {
        let old = try existing(key)
        for value in values {
            try value.withSecret { (secret) throws(VaultError) in
                try ItemLimits.check(
                    secretBytes: secret.count, value.attributes, created: nil, modified: value.modified)
            }
            try ItemLimits.check(date: value.replaced)
        }
        let new = values.suffix(ring.kept)
        guard !new.isEmpty else { return 0 }
        let before = try versions(of: old)
        let device = ring.compartment(old.entry.compartment)?.info.device ?? .zero
        let compartment = try ring.owners(device)
        var versions = Versions(item: old.entry.id, versions: before?.versions ?? [])
        for value in new { versions.versions.append(try sealed(value, of: old, in: compartment)) }
        versions.versions = Array(versions.versions.suffix(ring.kept))
        var entry = old.entry
        entry.revision = try core.tick()
        entry.device = ring.devicePosition()
        replaceVersions(old, before, try write(versions), versions, entry)
        return new.count
    }

    /// Sets the earlier values of an item to those of an earlier state of the file, up to the number that the vault
    /// keeps.
    func setEarlierValues(of key: ItemKey, to new: Versions?) throws(VaultError) {
        let item = try existing(key)
        let before = try versions(of: item)
        let placed = PlacedAttributes(listed: item.attributes.listed, large: item.largeRecords)
        let kept = Array((new?.versions ?? []).suffix(ring.kept))
        let versions = Versions(item: item.entry.id, versions: try withdrawn(kept, of: item.entry.id, placed))
        guard versions.versions != before?.versions ?? [] else { return }
        replaceVersions(item, before, try write(versions), versions)
    }

    private static let noSuchValue = VaultError(.noSuchItem, "the item has no such earlier value")

    private func sealed(
        _ value: NewEarlierValue, of item: Item, in compartment: UInt64
    ) throws(VaultError) -> Versions.Version {
        let id = item.entry.id
        let placed = try place(value.attributes, of: item.key, id, in: compartment)
        let revision = try core.tick()
        let identity = Sealing.RecordIdentity(item: id, revision: revision, compartment: compartment)
        let record = try value.withSecret { (secret) throws(VaultError) in
            try RecordCodec.append(item.key, secret, value.attributes.inRecord, try seal(identity), to: appender)
        }
        return Versions.Version(
            revision: revision, device: ring.devicePosition(), replaced: value.replaced, modified: value.modified,
            record: record,
            recordRevision: revision, compartment: compartment, attributes: placed.listed)
    }

    // MARK: keeping

    /// An item's earlier values after a change, their place, and the previous ones if they were read.
    struct ChangedVersions {
        var ref: ItemEntry.Versions?
        var before: Versions?
        var now: Versions?
    }

    /// Keeps the value that a change replaces, and reseals for owners the records that only earlier values now refer to
    ///
    func changedVersions(
        _ change: ItemChange, _ placed: PlacedAttributes, _ compartment: UInt64, at now: Int64
    ) throws(VaultError) -> ChangedVersions {
        let old = change.old
        let keeps = change.replaces && ring.kept > 0
        let isLargeChanged = !placed.moved.isEmpty || Set(placed.large) != Set(old.largeRecords)
        let bound = newDevice(old.entry.compartment, compartment)
        guard keeps || (old.earlierValues > 0 && (isLargeChanged || bound != nil)) else {
            return ChangedVersions(ref: old.entry.versions)
        }
        let before: Versions?
        do throws(VaultError) { before = try versions(of: old) } catch {
            throw error.naming(.earlierValues, of: old.key)
        }
        var withdrawal = Withdrawal(item: old.entry.id, placed: placed, bound: bound)
        var new: [Versions.Version] = []
        for version in before?.versions ?? [] {
            do throws(VaultError) { new.append(try withdrawn(version, &withdrawal)) } catch {
                throw error.naming(.earlierValue, of: old.key)
            }
        }
        if keeps {
            let version = Versions.Version(old.entry, replaced: now, old.attributes)
            // A damaged value cannot be kept.
            do throws(VaultError) { new.append(try withdrawn(version, &withdrawal)) } catch {
                guard Self.cannotBeRead.contains(error.code) else { throw error }
            }
            // A merge can produce an earlier value with the item's own revision from another device.
            new.sort(by: Versions.Version.precedes)
            new = new.suffix(ring.kept)
        }
        if let before, before.versions == new {
            return ChangedVersions(ref: old.entry.versions, before: before, now: before)
        }
        let versions = Versions(item: old.entry.id, versions: new)
        return ChangedVersions(ref: try write(versions), before: before, now: versions)
    }

    /// Returns the device to which an item is now bound, if it was not bound to it before.
    private func newDevice(_ before: UInt64, _ now: UInt64) -> Bytes16? {
        guard let before = ring.compartment(before), let now = ring.compartment(now), now.info.isDeviceBound,
            now.info.device != before.info.device
        else { return nil }
        return now.info.device
    }

    /// The compartments in which to reseal the records of an item's earlier values.
    private struct Withdrawal {
        let item: Bytes16
        let placed: PlacedAttributes
        let bound: Bytes16?
        /// Several versions can share a record.
        var done: [RecordRef: RecordRef] = [:]
    }

    /// Returns the earlier values united by a merge; records that the live item does not share are moved under group 0.
    func withdrawn(
        _ versions: [Versions.Version], of id: Bytes16, _ placed: PlacedAttributes
    ) throws(VaultError) -> [Versions.Version] {
        var withdrawal = Withdrawal(item: id, placed: placed, bound: nil)
        var out: [Versions.Version] = []
        for version in versions { out.append(try withdrawn(version, &withdrawal)) }
        return out
    }

    /// Returns an earlier value; records that the live item does not share are moved under group 0. Records of another
    /// device are not moved.
    private func withdrawn(
        _ version: Versions.Version, _ withdrawal: inout Withdrawal
    ) throws(VaultError) -> Versions.Version {
        var version = version
        version.own = try underOwners(version.own, &withdrawal)
        let placed = withdrawal.placed
        var attributes: [PageAttribute] = []
        for attribute in version.attributes {
            guard let old = attribute.record else {
                attributes.append(attribute)
                continue
            }
            let live = placed.moved[old] ?? old
            let own = placed.large.contains(live) ? live : try underOwners(old, &withdrawal)
            attributes.append(PageAttribute(name: attribute.name, flags: attribute.flags, value: .inOwnRecord(own)))
        }
        version.attributes = attributes
        return version
    }

    private func underOwners(_ own: RecordRef, _ withdrawal: inout Withdrawal) throws(VaultError)
        -> RecordRef
    {
        if let known = withdrawal.done[own] { return known }
        let new = try underOwners(own, of: withdrawal.item, withdrawal.bound)
        withdrawal.done[own] = new
        return new
    }

    private func underOwners(
        _ own: RecordRef, of id: Bytes16, _ bound: Bytes16?
    ) throws(VaultError) -> RecordRef {
        guard let here = ring.compartment(own.compartment) else {
            throw VaultError(.structureInvalid, "a compartment does not exist")
        }
        let device = bound ?? here.info.device
        if here.isOwners, here.info.device == device { return own }
        do throws(VaultError) { return try resealed(own, of: id, in: try ring.owners(device)) } catch {
            guard error.code == .deviceBound, here.mayHoldEarlierValues else { throw error }
            return own
        }
    }

    // MARK: frames

    /// Reads the earlier values that are removed with an item; returns nil if they are unreadable, which does not
    /// prevent the removal.
    func versionsToRemove(_ item: Item) throws(VaultError) -> Versions? {
        do throws(VaultError) { return try versions(of: item) } catch {
            guard error.code == .authenticationFailed || error.code == .structureInvalid else { throw error }
            // The records to which they referred can no longer be determined.
            tally.isLiveBytesLost = true
            return nil
        }
    }

    func write(_ versions: Versions) throws(VaultError) -> ItemEntry.Versions? {
        guard !versions.versions.isEmpty else { return nil }
        let body = try decoding { () throws(FormatError) in try versions.encode() }
        let ref = try appender.append(body, as: .versions, .versions, key: core.store.slot.keys.index)
        return ItemEntry.Versions(count: versions.versions.count, frame: ref)
    }

    /// Replaces an item's earlier values. The rest of its entry stays the same unless a new entry is given.
    private func replaceVersions(
        _ old: Item, _ before: Versions?, _ ref: ItemEntry.Versions?, _ now: Versions?, _ new: ItemEntry? = nil
    ) {
        var entry = new ?? old.entry
        entry.versions = ref
        changes.set(old.key.bytes, ItemCodec.encode(entry, old.attributes.listed))
        tally.versions += Int64(ref?.count ?? 0) - Int64(old.earlierValues)
        tally.liveBytes += ItemFrames.bytes(entry, old.largeRecords, now) - ItemFrames.bytes(old, before)
    }
}

extension Versions.Version {
    /// Makes an earlier value from the current value of an item, before a change; its record is still in the item's
    /// compartment.
    init(_ entry: ItemEntry, replaced: Int64, _ attributes: Attributes) {
        self.init(
            revision: entry.revision, device: entry.device, replaced: replaced, modified: entry.modified,
            record: entry.record,
            recordRevision: entry.recordRevision, compartment: entry.compartment, attributes: attributes.listed)
    }
}

extension Attributes {
    /// The attributes in the form of a page, in which all large attributes have their own records.
    var listed: [PageAttribute] {
        all.map { attribute in
            let value: PageAttribute.Value =
                switch attribute.content {
                case .inOwnRecord(let own): .inOwnRecord(own)
                case .inItemRecord: .inItemRecord
                case .bytes, .secret:
                    attribute.fileFlags.contains(.inItemRecord) ? .inItemRecord : .inPage(attribute.value ?? [])
                }
            return PageAttribute(name: attribute.name, flags: attribute.fileFlags, value: value)
        }
    }
}
