internal import VaultBytes

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
        /// Whether a large attribute is missing.
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

    /// Recovers the item from the record that the index refers to, from the newest record found if that is newer or the
    /// referenced one is damaged, or otherwise from an earlier value.
    func run(_ report: inout SalvageReport) throws(VaultError) {
        var reason = "its record is damaged"
        var earlier = try earlierValues(&report)
        let named = found.item.map { $0.entry }
        let hasNewer =
            found.isUncertain && found.record.map { $0.identity.revision > named?.recordRevision ?? 0 } ?? false
        if !hasNewer, let item = found.item {
            do throws(VaultError) {
                try add(try value(of: item), earlier, &report)
                if found.isUncommitted {
                    report.uncommitted.append(found.key)
                } else if found.isUncertain {
                    report.withoutIndex.append(found.key)
                }
                return
            } catch { reason = try Self.tolerated(error) }
        }
        if let record = found.record {
            do throws(VaultError) {
                try add(try value(of: record), earlier, &report)
                if hasNewer, found.isUncommitted {
                    report.uncommitted.append(found.key)
                } else if found.isUncertain {
                    report.withoutIndex.append(found.key)
                } else {
                    report.older.append(found.key)
                }
                return
            } catch { if named == nil { reason = try Self.tolerated(error) } }
        }
        guard let last = earlier.popLast() else {
            report.lost.append((found.key, reason))
            return
        }
        let secret = try last.withSecret { (secret) throws(VaultError) in SecretBox(secret.copy()) }
        try add(Value(secret: secret.secret.copy(), attributes: last.attributes), earlier, &report)
        report.older.append(found.key)
    }

    private func add(
        _ value: consuming Value, _ earlier: [NewEarlierValue], _ report: inout SalvageReport
    ) throws(VaultError) {
        let compartment = found.record.flatMap { store.view.compartment($0.identity.compartment) }
        let accessibility = found.item?.accessibility ?? compartment?.accessibility ?? .whenUnlocked
        // An item bound to a device is bound to this device in the new vault; if there is no device, it is not bound.
        let isPossible = !accessibility.isThisDeviceOnly || transaction.hasDevice
        try transaction.add(
            found.key, secret: value.secret, attributes: value.attributes,
            accessibility: isPossible ? accessibility : .whenUnlocked,
            created: found.item?.created, modified: found.item?.modified)
        report.recovered += 1
        report.recoveredEarlierValues += try transaction.addEarlierValues(earlier, to: found.key)
        if value.isPartial, report.partial.last != found.key { report.partial.append(found.key) }
    }

    // MARK: the item's own value

    private func value(of item: Item) throws(VaultError) -> Value {
        let body = try store.open(item.entry.own, of: item.entry.id, before: item.referrer)
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
        guard case .item(let key, let secret, let attributes) = record, key == found.key else {
            throw VaultError(.structureInvalid, "a record does not belong to the item in the index", at: offset)
        }
        body.narrow(to: secret)
        var value = Value(secret: body, attributes: Attributes(attributes))
        try addListed(listed, of: found.item?.entry.id, before: found.item?.referrer ?? 0, to: &value)
        return value
    }

    /// Adds the attributes stored in a page, or in records of their own that a frame at `referrer` refers to.
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
                    let body = try store.open(own, of: item, before: referrer)
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

    // MARK: earlier values

    /// Returns the earlier values that the index refers to, or, if there is no entry, those whose records were found;
    /// oldest first.
    private func earlierValues(_ report: inout SalvageReport) throws(VaultError) -> [NewEarlierValue] {
        guard let item = found.item else { return try looseValues() }
        guard let frame = item.entry.versions?.frame else { return [] }
        var isPartial = false
        var out: [NewEarlierValue] = []
        do throws(VaultError) {
            let read = try store.frame(frame, .versions, before: item.referrer)
            let check = EntryCheck(store.view, clock: Format.Limit.number)
            let versions = try VersionsReader.read(read, frame, item, store.pages, check)
            for version in versions.versions {
                do throws(VaultError) {
                    out.append(try earlier(version, of: item.entry.id, before: frame.offset, &isPartial))
                } catch {
                    _ = try Self.tolerated(error)
                    isPartial = true
                }
            }
        } catch {
            _ = try Self.tolerated(error)
            isPartial = true
        }
        if isPartial { report.partial.append(found.key) }
        return out
    }

    private func earlier(
        _ version: Versions.Version, of item: Bytes16, before referrer: UInt64, _ isPartial: inout Bool
    ) throws(VaultError) -> NewEarlierValue {
        var body = try store.open(version.own, of: item, before: referrer)
        let record = try body.withSpan { (bytes) throws(VaultError) in
            try RecordCodec.found(bytes, at: version.record.offset)
        }
        guard case .item(_, let secret, let attributes) = record else {
            throw VaultError(
                .structureInvalid, "the record of an earlier value belongs to an attribute", at: version.record.offset)
        }
        body.narrow(to: secret)
        var value = Value(secret: body, attributes: Attributes(attributes))
        try addListed(Attributes(inPage: version.attributes), of: item, before: referrer, to: &value)
        if value.isPartial { isPartial = true }
        let all = value.attributes
        return NewEarlierValue(
            secret: value.secret.copy(), attributes: all, modified: version.modified, replaced: version.replaced)
    }

    /// Returns earlier values that nothing refers to any more. The times at which they were replaced are known only
    /// from their records' revisions.
    private func looseValues() throws(VaultError) -> [NewEarlierValue] {
        var out: [NewEarlierValue] = []
        for record in (found.records?.earlier ?? []).sorted(by: { $0.identity.revision < $1.identity.revision }) {
            do throws(VaultError) {
                var body = try store.open(record)
                let content = try body.withSpan { (bytes) throws(VaultError) in
                    try RecordCodec.found(bytes, at: record.offset)
                }
                guard case .item(_, let secret, let attributes) = content else { continue }
                body.narrow(to: secret)
                let date = Int64(record.identity.revision >> 16)
                out.append(
                    NewEarlierValue(secret: body, attributes: Attributes(attributes), modified: date, replaced: date))
            } catch { _ = try Self.tolerated(error) }
        }
        return out
    }
}
