internal import VaultBytes
internal import VaultStore

/// An item as the merge leaves it, before any part of it is sealed.
struct MergedItem {
    /// An earlier value of the item.
    struct Version {
        enum Source {
            /// A value from a branch.
            case held(HeldValue)
            /// A value of an absorbed item, whose records are bound to another id.
            case content(ItemKey, FieldUnion.Result)
        }

        let modified: Int64
        let replaced: Int64
        let source: Source
    }

    let plan: ItemPlan
    /// The merged contents; nil if the item uses the records of `plan.like` unchanged.
    var content: FieldUnion.Result?
    var modified: Int64
    var created: Int64
    /// The earlier values that are kept.
    var versions: [Stamp: Version]
    var notes: [MergeReport.Note] = []

    var key: ItemKey { plan.key }
    var stamp: Stamp { plan.stamp }

    /// Returns whether a side already has exactly this item, including its earlier values.
    func isHeld(_ item: HeldItem, _ earlier: [HeldValue]) -> Bool {
        guard content == nil, key == item.key, stamp == item.stamp, created == item.created,
            modified == item.modified, versions.count == earlier.count, plan.like.value.hasSameRecords(as: item.value)
        else { return false }
        return earlier.allSatisfy { version in
            guard case .held(let held)? = versions[version.stamp]?.source else { return false }
            return held.hasSameRecords(as: version)
        }
    }
}

extension MergeReport {
    /// Lists an item that the merge changes.
    mutating func note(_ item: MergedItem, _ device: Bytes16) throws(VaultError) {
        if let ours = item.plan.ours, try item.keepsValue(of: ours, device) {
            supplemented.append(item.key)
        } else {
            taken.append(item.key)
        }
    }
}

extension MergedItem {
    /// Returns whether the item's key, secret, attributes and accessibility stay those of our item, whatever becomes of
    /// its earlier values and conflicts.
    fileprivate func keepsValue(of ours: HeldItem, _ device: Bytes16) throws(VaultError) -> Bool {
        guard key == ours.key else { return false }
        let comparison = ValueComparison(device: device)
        guard let content else {
            let like = plan.like
            guard like.item.accessibility == ours.item.accessibility, like.item.device == ours.item.device else {
                return false
            }
            return try comparison.haveSameValues(like.value, ours.value)
        }
        guard let own = try ours.value.content(for: device), content.secret.secret.equals(own.secret.secret),
            content.accessibility == own.accessibility, content.device == own.device
        else { return false }
        let attributes = own.attributes.all.filter { $0.name != ConflictAttribute.name }
        guard content.attributes.count == attributes.count else { return false }
        for (chosen, attribute) in zip(content.attributes, attributes) {
            guard try comparison.isSame(chosen.attribute, chosen.from, attribute, ours.value) else { return false }
        }
        return true
    }
}

/// Assembles items according to a plan.
struct ItemMerger {
    /// The device that performs the merge.
    let device: Bytes16
    /// The number of earlier values that an item keeps.
    let kept: Int

    func merged(_ plan: ItemPlan) throws(VaultError) -> MergedItem {
        var out = try withAllVersions(plan)
        for joined in plan.joined { try join(joined, to: &out) }
        for stamp in out.versions.keys.sorted().dropLast(kept) { out.versions[stamp] = nil }
        return out
    }

    private func withAllVersions(_ plan: ItemPlan) throws(VaultError) -> MergedItem {
        var held = UnitedVersions(device)
        for side in [plan.ours, plan.theirs] {
            for version in try side?.versions() ?? [] { try held.add(version) }
        }
        var out = MergedItem(
            plan: plan, modified: plan.like.modified,
            created: min(plan.ours?.created ?? .max, plan.theirs?.created ?? .max), versions: [:])
        if case .byField(let winner, let loser) = plan.how {
            try mergeFields(winner, loser, &out, &held)
        } else if plan.key != plan.like.key {
            out.content = try Self.content(of: plan.like, device)
        }
        try keep(held.lost, &out)
        held.values[out.stamp] = nil
        for (stamp, value) in held.values {
            out.versions[stamp] = MergedItem.Version(
                modified: value.modified, replaced: value.replaced ?? out.modified, source: .held(value))
        }
        return out
    }

    private func mergeFields(
        _ winner: HeldItem, _ loser: HeldItem, _ out: inout MergedItem, _ held: inout UnitedVersions
    ) throws(VaultError) {
        var union = FieldUnion(winner: winner, loser: loser, base: out.plan.base, device: device)
        var earlier = loser.value
        earlier.replaced = winner.modified
        guard let content = try union.run() else {
            // The value belongs to another device and cannot be resealed here, so its record becomes an earlier value
            // unchanged.
            if loser.stamp != winner.stamp { try held.add(earlier) }
            out.notes.append(.keptAsEarlierValue(out.key))
            return
        }
        if content.makesVersion, loser.stamp != winner.stamp {
            try held.add(earlier)
        }
        if !content.fields.isEmpty { out.notes.append(.conflict(out.key, fields: content.fields)) }
        out.modified = max(winner.modified, loser.modified)
        out.content = content
    }

    private func content(of item: MergedItem) throws(VaultError) -> FieldUnion.Result {
        if let content = item.content { return content }
        return try Self.content(of: item.plan.like, device)
    }

    /// Returns an item's contents in the form of a field union.
    static func content(of held: HeldItem, _ device: Bytes16) throws(VaultError) -> FieldUnion.Result {
        guard let content = try held.value.content(for: device) else {
            throw VaultError(.deviceBound, "an item that is bound to another device cannot be renamed or merged here")
        }
        return try self.content(content, held.value)
    }

    private static func content(
        _ content: HeldContent, _ value: HeldValue
    ) throws(VaultError) -> FieldUnion.Result {
        let attributes = content.attributes.all.filter { $0.name != ConflictAttribute.name }
        return FieldUnion.Result(
            secret: content.secret, attributes: attributes.map { FieldUnion.Chosen(attribute: $0, from: value) },
            accessibility: content.accessibility, device: content.device,
            conflicts: try content.conflicts(value), fields: [], makesVersion: false)
    }

    /// Absorbs an item: its values become earlier values and are kept as conflicts.
    private func join(_ joined: ItemPlan, to out: inout MergedItem) throws(VaultError) {
        var other = try withAllVersions(joined)
        let gone = try content(of: other)
        var content = try content(of: out)
        other.versions[other.stamp] = MergedItem.Version(
            modified: other.modified, replaced: other.modified, source: .content(joined.key, gone))
        for (stamp, version) in other.versions where stamp < out.stamp {
            var version = version
            if case .held(let value) = version.source {
                guard let content = try value.content(for: device) else { continue }
                version = MergedItem.Version(
                    modified: version.modified, replaced: version.replaced,
                    source: .content(content.key, try Self.content(content, value)))
            }
            out.versions[stamp] = version
        }
        let lost = try FieldUnion.everything(other.stamp, joined.key, gone)
        content.conflicts = ConflictAttribute.union(content.conflicts + lost)
        out.content = content
    }

    /// Keeps the values of versions that were dropped in favour of another with the same revision and device, until a
    /// user settles them.
    private func keep(_ lost: [LostValue], _ out: inout MergedItem) throws(VaultError) {
        guard !lost.isEmpty, out.plan.like.isOpen(for: device) else { return }
        var content = try content(of: out)
        let live = try FieldUnion.fields(out.stamp, ConflictKey.plain(out.key, out.plan.id), content)
        let new = lost.filter { entry in !live.contains { $0.hasSameValue(as: entry) } }
        guard !new.isEmpty else { return }
        content.conflicts = ConflictAttribute.union(content.conflicts + new)
        out.content = content
        out.notes.append(.conflict(out.key, fields: new.map(\.field)))
    }
}

/// The earlier values of both sides: one for each revision and device.
private struct UnitedVersions {
    private let device: Bytes16
    var values: [Stamp: HeldValue] = [:]
    /// The sealed values of versions that were dropped: machines without a device id can give two values the same
    /// revision.
    private(set) var lost: [LostValue] = []

    init(_ device: Bytes16) { self.device = device }

    mutating func add(_ value: HeldValue) throws(VaultError) {
        guard let there = values[value.stamp] else {
            values[value.stamp] = value
            return
        }
        let isOther = try Self.isPreferred(value, to: there)
        let (kept, other) = isOther ? (value, there) : (there, value)
        values[value.stamp] = kept
        guard !kept.hasSameRecords(as: other), let mine = try kept.content(for: device),
            let its = try other.content(for: device)
        else { return }
        if !mine.secret.secret.equals(its.secret.secret) { lost.append(LostValue(value.stamp, .secret, its.secret)) }
        let comparison = ValueComparison(device: device)
        for attribute in its.attributes.all
        where attribute.flags.contains(.sealed) && attribute.name != ConflictAttribute.name {
            if let own = mine.attributes.attribute(attribute.name), try comparison.isSame(own, kept, attribute, other) {
                continue
            }
            lost.append(
                LostValue(
                    value.stamp, .attribute, flags: AttributeFlags(rawValue: attribute.flags.rawValue),
                    name: attribute.name, SecretBox(try other.value(of: attribute))))
        }
    }

    /// Returns whether a value is preferred to another: values under group 0 first, then those without a device, then
    /// those with the smaller record revision.
    private static func isPreferred(_ one: HeldValue, to other: HeldValue) throws(VaultError) -> Bool {
        let (left, right) = (try rank(one), try rank(other))
        if left != right { return left.lexicographicallyPrecedes(right) }
        return ByteOrder.isLess(one.place.record.hash.bytes, other.place.record.hash.bytes)
    }

    private static func rank(_ value: HeldValue) throws(VaultError) -> [UInt64] {
        guard let compartment = value.branch.core.view.compartment(value.place.compartment) else {
            throw VaultError(.structureInvalid, "a compartment does not exist", at: value.place.record.offset)
        }
        return [compartment.isOwners ? 0 : 1, compartment.info.isDeviceBound ? 1 : 0, value.place.revision]
    }
}
