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

    /// A value that the item does not show.
    private struct Kept {
        let name: ValueName
        /// True if the value is left to settle; otherwise, it is an earlier value.
        let isMark: Bool
        let source: Source

        enum Source {
            /// The index refers to the value's records.
            case held(HeldValue, before: UInt64)
            /// The index no longer refers to the value's record.
            case loose(SalvageScan.Record)
        }
    }

    /// The values that the item does not show, oldest first.
    private struct KeptValues {
        var values: [Kept] = []
        /// False if the list of them is damaged.
        var isWhole = true
    }

    /// Recovers the item from the record that the index refers to; from the newest record found, if that record is
    /// newer or the referenced record is damaged; or, otherwise, from an earlier value.
    /// - Returns: The reason why the item is lost; nil if it was recovered.
    func run(_ report: inout SalvageReport) throws(VaultError) -> String? {
        var reason = "its record is damaged"
        var kept = try keptValues()
        let named = found.item.map { $0.entry }
        let hasNewer =
            found.isUncertain && found.record.map { $0.identity.revision > named?.recordRevision ?? 0 } ?? false
        if !hasNewer, let item = found.item {
            do throws(VaultError) {
                try add(try value(of: item), kept, &report)
                if found.isUncommitted {
                    report.uncommitted.append(found.key)
                } else if found.isUncertain {
                    report.withoutIndex.append(found.key)
                }
                return nil
            } catch { reason = try Self.tolerated(error) }
        }
        if let record = found.record {
            do throws(VaultError) {
                try add(try value(of: record), kept, &report)
                if hasNewer, found.isUncommitted {
                    report.uncommitted.append(found.key)
                } else if found.isUncertain {
                    report.withoutIndex.append(found.key)
                } else {
                    report.older.append(found.key)
                }
                return nil
            } catch { if named == nil { reason = try Self.tolerated(error) } }
        }
        while let last = kept.values.lastIndex(where: { $0.name.field == .secret && !$0.isMark }) {
            do throws(VaultError) {
                try add(try value(of: kept.values.remove(at: last)), kept, &report)
                report.older.append(found.key)
                return nil
            } catch { _ = try Self.tolerated(error) }
        }
        return found.isRemovedLater ? "\(reason); a change whose commit is damaged or missing removed it" : reason
    }

    private func add(
        _ value: consuming Value, _ kept: KeptValues, _ report: inout SalvageReport
    ) throws(VaultError) {
        let compartment = found.record.flatMap { store.view.compartment($0.identity.compartment) }
        let accessibility = found.item?.accessibility ?? compartment?.accessibility ?? .whenUnlocked
        // An item bound to a device is bound to this device in the new vault; if there is no device, the item is not
        // bound.
        let isPossible = !accessibility.isThisDeviceOnly || transaction.hasDevice
        let key = try newKey()
        try transaction.add(
            key, secret: value.secret, attributes: value.attributes,
            accessibility: isPossible ? accessibility : .whenUnlocked,
            created: found.item?.created, modified: found.item?.modified)
        report.recovered += 1
        if found.isRemovedLater { report.removedLater.append(found.key) }
        let isWhole = try addKept(kept.values, to: key, &report)
        if value.isPartial || !isWhole || !kept.isWhole { report.partial.append(found.key) }
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

    /// Returns the earlier values and the values to settle that the index refers to, oldest first. If there is no
    /// entry, returns the earlier values whose records were found.
    private func keptValues() throws(VaultError) -> KeptValues {
        guard let item = found.item else { return KeptValues(values: looseValues()) }
        guard item.hasPast else { return KeptValues() }
        do throws(VaultError) {
            let state = try store.state(of: item, try store.past(of: item))
            let end = max(item.entry.past?.offset ?? 0, item.referrer)
            let view = try state.view(limit: transaction.limit) { (name) throws(VaultError) in
                try store.classOf(name, state.values[name], of: item, before: end)
            }
            let marks = Set(view.marks)
            let names = (view.earlier + view.marks).sorted { ($0.dot, $0.field) < ($1.dot, $1.field) }
            let values = names.compactMap { name in
                state.values[name].map {
                    Kept(name: name, isMark: marks.contains(name), source: .held($0, before: end))
                }
            }
            return KeptValues(values: values)
        } catch {
            _ = try Self.tolerated(error)
            return KeptValues(isWhole: false)
        }
    }

    /// Returns earlier values that the index no longer refers to. The times at which they were replaced are known only
    /// from their records' revisions.
    private func looseValues() -> [Kept] {
        (found.records?.earlier ?? []).sorted { $0.identity.revision < $1.identity.revision }.map { record in
            let dot = Dot(revision: record.identity.revision, replica: record.offset)
            return Kept(name: ValueName(.secret, dot), isMark: false, source: .loose(record))
        }
    }

    /// Adds values to the item that was just made, each under a new dot, in the old order. Returns whether all of them
    /// were readable.
    private func addKept(
        _ kept: [Kept], to key: ItemKey, _ report: inout SalvageReport
    ) throws(VaultError) -> Bool {
        guard !kept.isEmpty || found.item?.lacksSecret ?? false else { return true }
        let item = try transaction.existing(key)
        let device = item.device == nil ? .zero : transaction.core.deviceID
        let sealing = AdoptedValues(
            transaction, from: store, found.item?.entry.id ?? .zero, to: item.entry.id, device: device)
        var state = try ItemStates(transaction.next.vector).state(of: item, nil)
        var earlier: Set<ValueName> = []
        var isWhole = true
        for one in kept {
            let values = try sealed(one, sealing)
            isWhole = isWhole && !values.isEmpty
            let dot = try transaction.nextDot()
            for (field, value) in values {
                let name = ValueName(field, dot)
                state.values[name] = value
                if one.isMark { state.open.insert(name) } else { earlier.insert(name) }
                report.recoveredConflicts += one.isMark ? 1 : 0
                report.recoveredEarlierValues += one.isMark ? 0 : 1
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
        _ kept: Kept, _ sealing: AdoptedValues
    ) throws(VaultError) -> [(field: FieldName, value: HeldValue)] {
        do throws(VaultError) {
            switch kept.source {
            case .held(let value, let end):
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
        let content = try content(of: record)
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

    /// The contents of an item's record.
    private struct Content: ~Copyable {
        let key: ItemKey
        let secret: Secret
        let attributes: Attributes
    }

    private func content(of record: SalvageScan.Record) throws(VaultError) -> Content {
        var body = try store.open(record)
        let content = try body.withSpan { (bytes) throws(VaultError) in
            try RecordCodec.found(bytes, at: record.offset)
        }
        guard case .item(let key, let secret, let attributes) = content else {
            throw VaultError(
                .structureInvalid, "the record of an earlier value belongs to an attribute", at: record.offset)
        }
        body.narrow(to: secret)
        return Content(key: key, secret: body, attributes: Attributes(attributes))
    }

    /// Returns an earlier secret, with the item's current attributes that are in pages.
    private func value(of kept: Kept) throws(VaultError) -> Value {
        switch kept.source {
        case .held(let value, let end):
            guard let item = found.item else { throw VaultError(.structureInvalid, "an item has no entry") }
            var attributes = Attributes()
            let secret = try store.bytes(kept.name, value, of: item.entry.id, before: end) { attributes = $1 }
            var whole = Value(secret: secret, attributes: Attributes())
            try addListed(attributes, of: item.entry.id, before: end, to: &whole)
            return whole
        case .loose(let record):
            let content = try content(of: record)
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
