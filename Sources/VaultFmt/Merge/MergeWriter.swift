internal import VaultBytes
internal import VaultStore

/// Writes the merged items into a transaction on our copy.
struct MergeWriter {
    private let transaction: Transaction
    private let core: VaultCore
    /// The current item's records that are in our file or were copied from the other, by hash.
    private var places: [Bytes32: RecordRef] = [:]

    init(_ transaction: Transaction) {
        self.transaction = transaction
        core = transaction.core
    }

    // MARK: all of them

    /// Writes all items; calls `progress` with the number of items done and the total.
    mutating func write(
        _ plan: MergePlan, _ report: inout MergeReport, progress: ((UInt64, UInt64) -> Void)? = nil
    ) throws(VaultError) {
        let merger = ItemMerger(device: core.deviceID, kept: transaction.ring.kept)
        try remove(plan)
        for (id, change) in plan.tombstones.sorted(by: { $0.key < $1.key }) where !plan.gaveUp.contains(id) {
            put(change.now, of: id, before: change.before)
        }
        for (done, id) in plan.items.keys.sorted().enumerated() {
            guard let item = plan.items[id] else { continue }
            if done % 64 == 0 { progress?(UInt64(done), UInt64(plan.items.count)) }
            let merged = try merger.merged(item)
            report.notes += merged.notes
            if try write(merged) { try report.note(merged, core.deviceID) }
            for joined in item.joined { try putOwn(joined, before: plan.tombstones[joined.id]?.before) }
        }
    }

    private mutating func remove(_ plan: MergePlan) throws(VaultError) {
        for held in plan.removed.values {
            transaction.changes.set(held.key.bytes, nil)
            try uncount(held)
        }
        for item in plan.items.values {
            if let mine = item.ours, mine.key != item.key { transaction.changes.set(mine.key.bytes, nil) }
        }
    }

    private func uncount(_ held: HeldItem) throws(VaultError) {
        let versions = try transaction.versionsToRemove(held.item)
        transaction.tally.items -= 1
        transaction.tally.versions -= Int64(held.item.earlierValues)
        transaction.tally.liveBytes -= ItemFrames.bytes(held.item, versions)
    }

    // MARK: tombstones

    private func put(_ tombstone: Tombstone?, of id: Bytes16, before: Tombstone?) {
        transaction.tally.tombstones += (tombstone == nil ? 0 : 1) - (before == nil ? 0 : 1)
        let entry = tombstone.map { tombstone in
            TombstoneEntry(
                revision: tombstone.removal.revision, device: transaction.ring.position(of: tombstone.removal.device),
                lastRevision: tombstone.last.revision, lastDevice: transaction.ring.position(of: tombstone.last.device))
        }
        transaction.changes.set(TombstoneEntry.key(id), entry?.encode())
    }

    /// Writes the tombstone of an item that was absorbed by another, which is a removal made by the merge itself.
    private func putOwn(_ item: ItemPlan, before: Tombstone?) throws(VaultError) {
        let removal = Stamp(revision: try core.tick(), device: core.deviceID)
        put(Tombstone(removal: removal, last: item.stamp), of: item.id, before: before)
    }

    // MARK: one item

    /// Writes an item; returns whether it differs from the item in our copy.
    private mutating func write(_ item: MergedItem) throws(VaultError) -> Bool {
        let ours = item.plan.ours
        let own = try ours?.versions() ?? []
        if let ours, item.isHeld(ours, own) { return false }
        places = [:]
        for value in own + [ours?.value].compactMap(\.self) {
            for place in value.places { places[place.record.hash] = place }
        }
        let (place, placed) = try records(item)
        let versions = try self.versions(item, placed)
        var entry = ItemEntry(
            record: place.record, id: item.plan.id, revision: item.stamp.revision,
            device: transaction.ring.position(of: item.stamp.device), recordRevision: place.revision,
            compartment: place.compartment, created: item.created, modified: item.modified)
        entry.versions = try transaction.write(versions)
        transaction.changes.set(item.key.bytes, ItemCodec.encode(entry, placed.listed))
        if let ours {
            try uncount(ours)
            try transaction.note(ours.item, now: item.key, in: place.compartment)
        }
        transaction.tally.items += 1
        transaction.tally.versions += Int64(versions.versions.count)
        transaction.tally.liveBytes += ItemFrames.bytes(entry, placed.large, versions)
        return true
    }

    /// Returns the places of the item's records, which are copied if they are not in our file and sealed if they are
    /// new.
    private mutating func records(
        _ item: MergedItem
    ) throws(VaultError) -> (RecordRef, Transaction.PlacedAttributes) {
        let like = item.plan.like.value
        guard let content = item.content else {
            let attributes = try brought(like.attributes, like)
            let listed = attributes.listed
            return (
                try brought(like.place, like),
                Transaction.PlacedAttributes(listed: listed, large: listed.compactMap(\.record), moved: [:])
            )
        }
        return try seal(content, item.key, item.plan.id, like: like)
    }

    private mutating func seal(
        _ content: FieldUnion.Result, _ key: ItemKey, _ id: Bytes16, like: HeldValue? = nil, in owners: UInt64? = nil
    ) throws(VaultError) -> (RecordRef, Transaction.PlacedAttributes) {
        var all: [Attribute] = []
        for chosen in content.attributes { all.append(try brought(chosen, id)) }
        var attributes = Attributes(sorted: all)
        if !content.conflicts.isEmpty { attributes.set(try ConflictAttribute.attribute(content.conflicts)) }
        try attributes.check(replacing: attributes)
        let compartment: UInt64
        if let owners {
            compartment = owners
        } else {
            compartment = try transaction.ring.compartment(key.group, content.accessibility)
        }
        let placed = try transaction.place(attributes, of: key, id, in: compartment)
        if let like, let there = try reusable(like, content, key, attributes, compartment) { return (there, placed) }
        let identity = Sealing.RecordIdentity(item: id, revision: try core.tick(), compartment: compartment)
        let ref = try RecordCodec.append(
            key, content.secret.secret, attributes.inRecord, try transaction.seal(identity), to: transaction.appender)
        return (RecordRef(record: ref, revision: identity.revision, compartment: compartment), placed)
    }

    /// Returns an existing record with the same key, secret and attributes, for the same readers.
    private mutating func reusable(
        _ like: HeldValue, _ content: FieldUnion.Result, _ key: ItemKey, _ attributes: Attributes, _ compartment: UInt64
    ) throws(VaultError) -> RecordRef? {
        guard let before = try like.content(for: core.deviceID), before.key == key,
            before.secret.secret.equals(content.secret.secret), before.attributes.inRecord == attributes.inRecord,
            let here = transaction.ring.compartment(like.place.compartment),
            let there = transaction.ring.compartment(compartment), here.isLike(there)
        else { return nil }
        return try brought(like.place, like)
    }

    // MARK: earlier values

    private mutating func versions(
        _ item: MergedItem, _ placed: Transaction.PlacedAttributes
    ) throws(VaultError) -> Versions {
        var all: [Versions.Version] = []
        for (stamp, version) in item.versions.sorted(by: { $0.key < $1.key }) {
            let place: RecordRef
            let listed: [PageAttribute]
            switch version.source {
            case .held(let held):
                place = try brought(held.place, held)
                listed = try brought(held.attributes, held).listed
            case .content(let key, let content):
                let owners = try transaction.ring.owners(content.device)
                let sealed = try seal(content, key, item.plan.id, in: owners)
                (place, listed) = (sealed.0, sealed.1.listed)
            }
            all.append(
                Versions.Version(
                    revision: stamp.revision, device: transaction.ring.position(of: stamp.device),
                    replaced: version.replaced, modified: version.modified, record: place.record,
                    recordRevision: place.revision, compartment: place.compartment, attributes: listed))
        }
        all.sort(by: Versions.Version.precedes)
        return Versions(item: item.plan.id, versions: try transaction.withdrawn(all, of: item.plan.id, placed))
    }

    // MARK: records from the other file

    /// Returns the place of a branch's record in our file, copying it if necessary.
    private mutating func brought(_ place: RecordRef, _ value: HeldValue) throws(VaultError) -> RecordRef {
        if value.branch.core === core { return place }
        if let known = places[place.record.hash] { return known }
        let frame = try value.branch.frame(place, before: value.referrer)
        let ref = try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
            try transaction.appender.append(sealed: frame)
        }
        let copied = RecordRef(record: ref, revision: place.revision, compartment: place.compartment)
        places[place.record.hash] = copied
        return copied
    }

    private mutating func brought(_ attributes: Attributes, _ value: HeldValue) throws(VaultError) -> Attributes {
        var all: [Attribute] = []
        for attribute in attributes.all { all.append(try brought(attribute, value)) }
        return Attributes(sorted: all)
    }

    private mutating func brought(_ attribute: Attribute, _ value: HeldValue) throws(VaultError) -> Attribute {
        guard case .inOwnRecord(let own) = attribute.content else { return attribute }
        let place = try brought(own, value)
        return Attribute(attribute.name, .inOwnRecord(place), flags: attribute.flags)
    }

    /// Returns an attribute for the item with this id, resealed if it belonged to another item.
    private mutating func brought(_ chosen: FieldUnion.Chosen, _ id: Bytes16) throws(VaultError) -> Attribute {
        guard chosen.from.id == id else {
            return Attribute(
                chosen.attribute.name, secret: try chosen.from.value(of: chosen.attribute),
                flags: chosen.attribute.flags)
        }
        return try brought(chosen.attribute, chosen.from)
    }
}
