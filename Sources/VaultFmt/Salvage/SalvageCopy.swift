internal import VaultBytes
internal import VaultStore

/// Adds one item from a damaged vault to the new vault.
struct SalvageCopy {
    private let found: SalvageIndex.Found
    private let store: SalvageStore
    private let transaction: Transaction

    init(_ found: SalvageIndex.Found, _ store: SalvageStore, _ transaction: Transaction) {
        self.found = found
        self.store = store
        self.transaction = transaction
    }

    /// An opened value of the item.
    private struct Value: ~Copyable {
        let secret: Secret
        var attributes: Attributes
        /// True if a large attribute is missing.
        var isPartial = false
    }

    /// Returns the reason why a single item is lost; rethrows errors that concern all items.
    static func tolerated(_ error: VaultError) throws(VaultError) -> String {
        let some: [VaultError.Code] = [
            .authenticationFailed, .structureInvalid, .unsupportedForm, .deviceBound, .notPermitted, .limitExceeded,
        ]
        guard some.contains(error.code) else { throw error }
        return error.detail
    }

    /// The state of an item that a value belongs to.
    private enum Origin {
        /// A state that a commit proves.
        case committed
        /// A state from a change whose commit is damaged or missing.
        case uncommitted
        /// A record or an older page, because the page of the newest state is lost.
        case withoutIndex
        /// An older secret, because the newest is damaged.
        case older
        /// A value that was left to settle, because the value that was shown is damaged.
        case conflict
    }

    /// True if a record was found that is newer than the item's entry.
    private var hasNewerRecord: Bool {
        let named = found.item?.entry.recordRevision ?? 0
        return found.isUncertain && found.record?.identity.revision ?? 0 > named
    }

    /// Recovers the item.
    /// - Returns: The reason why the item is lost; nil if it was recovered.
    func run(_ report: inout SalvageReport) throws(VaultError) -> String? {
        try choose { (value: borrowing Value, kept: SalvageKept, origin: Origin) throws(VaultError) in
            try add(value, kept, &report)
            switch origin {
            case .committed: break
            case .uncommitted: report.uncommitted.append(found.key)
            case .withoutIndex: report.withoutIndex.append(found.key)
            case .older: report.older.append(found.key)
            case .conflict: report.fromConflict.append(found.key)
            }
        }
    }

    /// Calls `use` with the value in the record that the index refers to; in the newest record found, if that record is
    /// newer or the referenced record is damaged; or, otherwise, with a value that the item does not show.
    /// - Returns: The reason why the item is lost; nil if one of these values was used.
    private func choose(
        _ use: (borrowing Value, SalvageKept, Origin) throws(VaultError) -> Void
    ) throws(VaultError) -> String? {
        var reason = "its record is damaged"
        var kept = try keptValues()
        let newest: Origin =
            if found.isUncommitted { .uncommitted } else if found.isUncertain { .withoutIndex } else { .committed }
        if !hasNewerRecord, let item = found.item {
            do throws(VaultError) {
                try use(try value(of: item), kept, newest)
                return nil
            } catch { reason = try Self.tolerated(error) }
        }
        if let record = found.record {
            let origin: Origin =
                if hasNewerRecord { newest } else if found.isUncertain { .withoutIndex } else { .older }
            do throws(VaultError) {
                try use(try value(of: record), kept, origin)
                return nil
            } catch { if found.item == nil { reason = try Self.tolerated(error) } }
        }
        while let one = kept.takeNewestSecret() {
            do throws(VaultError) {
                try use(try value(of: one), kept, one.kind == .mark ? .conflict : .older)
                return nil
            } catch { _ = try Self.tolerated(error) }
        }
        return found.isRemovedLater ? "\(reason); a change whose commit is damaged or missing removed it" : reason
    }

    private var accessibility: Accessibility {
        let compartment = found.record.flatMap { store.view.compartment($0.identity.compartment) }
        return found.item?.accessibility ?? compartment?.accessibility ?? .whenUnlocked
    }

    private func add(
        _ value: borrowing Value, _ all: SalvageKept, _ report: inout SalvageReport
    ) throws(VaultError) {
        // An item bound to a device is bound to this device in the new vault; if there is no device, the item is not
        // bound.
        let isPossible = !accessibility.isThisDeviceOnly || transaction.hasDevice
        let key = try newKey()
        let (kept, keepsProven) = try all.under(try shown(value), store)
        try transaction.add(
            key, secret: value.secret, attributes: value.attributes,
            accessibility: isPossible ? accessibility : .whenUnlocked,
            created: found.item?.created, modified: found.item?.modified)
        report.recovered += 1
        if found.isRemovedLater { report.removedLater.append(found.key) }
        let isWhole = try addKept(kept.values, to: key, &report)
        if keepsProven { report.keptProven.append(found.key) }
        if value.isPartial || !isWhole || !kept.isWhole { report.partial.append(found.key) }
    }

    /// Returns the secret and the sealed attributes of a value.
    private func shown(_ value: borrowing Value) throws(VaultError) -> Set<SalvageKept.Bytes> {
        var all: Set<SalvageKept.Bytes> = [SalvageKept.Bytes(.secret, value.secret)]
        for attribute in value.attributes.all where attribute.flags.contains(.sealed) {
            if let secret = attribute.secret { all.insert(SalvageKept.Bytes(.attribute(attribute.name), secret)) }
        }
        return all
    }

    // MARK: comparing

    /// Everything that the new vault would contain of an item. Values are compared by their bytes.
    struct Contents {
        fileprivate let key: ItemKey
        fileprivate let accessibility: Accessibility
        fileprivate let lacksSecret: Bool
        fileprivate let attributes: Attributes
        fileprivate let shown: Set<SalvageKept.Bytes>
        fileprivate let marks: Set<SalvageKept.Bytes>
        fileprivate let earlier: Set<SalvageKept.Bytes>

        /// Returns whether both contents show the same values, and these contents keep all values that the others keep.
        func includes(_ other: Contents) -> Bool {
            key == other.key && accessibility == other.accessibility && lacksSecret == other.lacksSecret
                && attributes == other.attributes && shown == other.shown && other.marks.isSubset(of: marks)
                && other.earlier.isSubset(of: earlier)
        }
    }

    /// Returns what the new vault would contain of the item; nil if the item is lost.
    func contents() throws(VaultError) -> Contents? {
        var contents: Contents?
        let loss = try choose { (value: borrowing Value, all: SalvageKept, _: Origin) throws(VaultError) in
            let shown = try shown(value)
            let (kept, _) = try all.under(shown, store)
            contents = Contents(
                key: found.key, accessibility: accessibility, lacksSecret: found.item?.lacksSecret ?? false,
                attributes: value.attributes, shown: shown, marks: try kept.bytes(areMarks: true, store),
                earlier: try kept.bytes(areMarks: false, store))
        }
        return loss == nil ? contents : nil
    }

    /// Returns the key under which the item was listed, or a key with another suffix if two items were listed under
    /// that key.
    private func newKey() throws(VaultError) -> ItemKey {
        var key = found.key
        for _ in 0..<8 {
            guard try transaction.item(key) != nil else { return key }
            key = TwinKey.listed(found.name.key, transaction.core.store.random.bytes16())
        }
        return key
    }

    // MARK: earlier values and values to settle

    /// Returns the earlier values and the values to settle, oldest first; last, the values of the proven state that an
    /// unproven one replaces.
    private func keptValues() throws(VaultError) -> SalvageKept {
        let former = found.former ?? (hasNewerRecord ? found.item : nil)
        var kept = SalvageKept()
        if let item = found.item {
            kept = try SalvageKept(of: item, store, limit: transaction.limit)
        } else {
            kept.values = looseValues()
        }
        guard let former else { return kept }
        if found.item?.entry.id != former.entry.id || !kept.isWhole {
            // The new list of earlier values is damaged, was not found, or is that of another item, which was stored
            // under the same name; the proven one lacks only what is newer.
            let old = try SalvageKept(of: former, store, limit: transaction.limit)
            kept.values += old.values
            kept.isWhole = kept.isWhole && old.isWhole
        } else if store.forgeable.hasIndex {
            // The holder of a scoped slot can have made the new list, or an entry without a list. If nobody else can
            // have made it, it is an owner's, who can have forgotten values.
            try kept.addFormer(of: former, store, limit: transaction.limit)
        }
        let revision = max(found.item?.revision ?? 0, found.record?.identity.revision ?? 0)
        try kept.addShown(of: former, store, replaced: Int64(revision >> 16))
        return kept
    }

    /// Returns earlier values that the index no longer refers to. The times at which they were replaced are known only
    /// from their records' revisions.
    private func looseValues() -> [SalvageKept.One] {
        (found.records?.earlier ?? []).sorted { $0.identity.revision < $1.identity.revision }.map { record in
            let dot = Dot(revision: record.identity.revision, replica: record.offset)
            return SalvageKept.One(name: ValueName(.secret, dot), kind: .earlier, source: .loose(record))
        }
    }

    /// Adds values to the item that was just made, each under a new dot, in the old order. Returns whether all of them
    /// were readable.
    private func addKept(
        _ kept: [SalvageKept.One], to key: ItemKey, _ report: inout SalvageReport
    ) throws(VaultError) -> Bool {
        guard !kept.isEmpty || found.item?.lacksSecret ?? false else { return true }
        let item = try transaction.existing(key)
        let device = item.device == nil ? .zero : transaction.core.deviceID
        var state = try ItemStates(transaction.next.vector).state(of: item, nil)
        var earlier: Set<ValueName> = []
        var isWhole = true
        for one in kept {
            var source = Bytes16.zero
            if case .held(_, let id, _) = one.source { source = id }
            let values = try sealed(
                one, AdoptedValues(transaction, from: store, source, to: item.entry.id, device: device))
            isWhole = isWhole && !values.isEmpty
            let dot = try transaction.nextDot()
            for (field, value) in values {
                let name = ValueName(field, dot)
                state.values[name] = value
                let isMark = one.kind == .mark
                if isMark { state.open.insert(name) } else { earlier.insert(name) }
                report.recoveredConflicts += isMark ? 1 : 0
                report.recoveredEarlierValues += isMark ? 0 : 1
            }
        }
        var fields = state.shown().fields
        if found.item?.lacksSecret ?? false, let dot = fields.removeValue(forKey: .secret) {
            state.open.remove(ValueName(.secret, dot))
            state.values[ValueName(.secret, dot)] = nil
        }
        let sibling = Sibling(fields, earlier: earlier, created: state.created, modified: state.modified)
        state.siblings = [try transaction.nextDot(): sibling]
        try transaction.write(state, of: item.entry.id, insteadOf: item, transaction)
        return isWhole
    }

    /// Seals a value in the new vault; returns nothing if the value cannot be read.
    private func sealed(
        _ kept: SalvageKept.One, _ sealing: AdoptedValues
    ) throws(VaultError) -> [(field: FieldName, value: HeldValue)] {
        do throws(VaultError) {
            switch kept.source {
            case .held(let value, _, let end):
                return [(kept.name.field, try sealing.sealed(kept.name, value, before: end))]
            case .loose(let record): return try sealed(record, sealing)
            }
        } catch {
            _ = try Self.tolerated(error)
            return []
        }
    }

    /// Seals the contents of a record without a reference: a secret, or the sealed attributes that were replaced
    /// together with it.
    private func sealed(
        _ record: SalvageScan.Record, _ sealing: AdoptedValues
    ) throws(VaultError) -> [(field: FieldName, value: HeldValue)] {
        let content = try store.content(of: record)
        let (key, attributes) = (content.key, content.attributes)
        let compartment = try sealing.owners(of: .zero)
        let date = Int64(record.identity.revision >> 16)
        guard content.secret.count == 0, attributes.count > 0 else {
            let plain = Attributes(sorted: attributes.all.filter { !$0.flags.contains(.sealed) })
            let value = try sealing.sealed(content.secret, plain, of: key, in: compartment, replaced: date)
            return [(.secret, value)]
        }
        // A sealed attribute that was replaced is in a record without a secret.
        var values: [(field: FieldName, value: HeldValue)] = []
        for attribute in attributes.all {
            let value = try sealing.sealed(attribute, of: key, in: compartment, replaced: date)
            values.append((.attribute(attribute.name), value))
        }
        return values
    }

    /// Returns an earlier secret, with the item's current attributes that are in pages.
    private func value(of kept: SalvageKept.One) throws(VaultError) -> Value {
        switch kept.source {
        case .held(let value, let item, let end):
            var attributes = Attributes()
            let secret = try store.bytes(kept.name, value, of: item, before: end) { attributes = $1 }
            var whole = Value(secret: secret, attributes: Attributes())
            try addListed(attributes, of: item, before: end, to: &whole)
            return whole
        case .loose(let record):
            let content = try store.content(of: record)
            guard content.secret.count > 0 || content.attributes.count == 0 else {
                throw VaultError(.structureInvalid, "a record has no secret", at: record.offset)
            }
            return Value(secret: content.secret.copy(), attributes: content.attributes)
        }
    }

    // MARK: the item's own value

    private func value(of item: Item) throws(VaultError) -> Value {
        guard item.entry.hasRecord else {
            var value = Value(secret: Secret(count: 0), attributes: Attributes())
            try addListed(item.attributes, of: item.entry.id, before: item.referrer, to: &value)
            return value
        }
        let body = try store.body(item.entry.own, of: item.entry.id, before: item.referrer)
        return try value(of: body, listed: item.attributes, at: item.entry.record.offset)
    }

    /// Returns the value in a record that was found without the index, with the large attributes found in the same way.
    private func value(of record: SalvageScan.Record) throws(VaultError) -> Value {
        var value = try value(
            of: try store.open(record), listed: found.item?.attributes ?? Attributes(), at: record.offset)
        for (name, record) in found.records?.attributes ?? [:] {
            do throws(VaultError) {
                if let attribute = try large(record), Array(attribute.name.utf8) == name {
                    value.attributes.set(attribute)
                }
            } catch {
                _ = try Self.tolerated(error)
                value.isPartial = true
            }
        }
        return value
    }

    /// Returns the value in an opened record. `listed` are the attributes in the index; for attributes in the item's
    /// record, the record takes precedence.
    private func value(of body: consuming Secret, listed: Attributes, at offset: UInt64) throws(VaultError) -> Value {
        let record = try body.withSpan { (bytes) throws(VaultError) in try RecordCodec.found(bytes, at: offset) }
        // The key in the record may be outdated, because a renamed item keeps its record.
        guard case .item(_, let secret, let attributes) = record else {
            throw VaultError(.structureInvalid, "a record does not belong to the item in the index", at: offset)
        }
        body.narrow(to: secret)
        // Another device's record can contain more attributes than the entry lists.
        let known = found.item.map { Set($0.attributes.names.map { Array($0.utf8) }) }
        let all = attributes.filter { known?.contains(Array($0.name.utf8)) ?? true }
        var value = Value(secret: body, attributes: Attributes(all))
        try addListed(listed, of: found.item?.entry.id, before: found.item?.referrer ?? 0, to: &value)
        return value
    }

    /// Adds the attributes stored in a page, or in separate records that a frame at `referrer` refers to.
    private func addListed(
        _ listed: Attributes, of item: Bytes16?, before referrer: UInt64, to value: inout Value
    ) throws(VaultError) {
        for attribute in listed.all {
            switch attribute.content {
            case .bytes, .secret: value.attributes.set(attribute)
            case .inItemRecord: if value.attributes.attribute(attribute.name) == nil { value.isPartial = true }
            case .inOwnRecord(let own):
                guard let item else { continue }
                do throws(VaultError) {
                    let body = try store.body(own, of: item, before: referrer)
                    let range = try body.withSpan { (bytes) throws(VaultError) in
                        try RecordCodec.readLarge(bytes, attribute, at: own.record.offset)
                    }
                    value.attributes.set(Self.attribute(attribute.name, body.slice(range), attribute.flags))
                } catch {
                    _ = try Self.tolerated(error)
                    value.isPartial = true
                }
            }
        }
    }

    private func large(_ record: SalvageScan.Record) throws(VaultError) -> Attribute? {
        let body = try store.open(record)
        let content = try body.withSpan { (bytes) throws(VaultError) in try RecordCodec.found(bytes, at: record.offset)
        }
        guard case .attribute(_, let name, let flags, let value) = content else { return nil }
        return Self.attribute(name, body.slice(value), flags)
    }

    private static func attribute(_ name: String, _ value: consuming Secret, _ flags: Attribute.Flags) -> Attribute {
        flags.contains(.sealed)
            ? Attribute(name, secret: value, flags: flags)
            : Attribute(name, value.withUnsafeBytes { Array($0) }, flags: flags)
    }
}
