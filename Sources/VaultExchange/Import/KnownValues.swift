import VaultFmt

/// The current and earlier secrets and sealed attributes of an item in the vault, by field. A source's earlier values
/// are compared with these values byte by byte, because the item's time of change does not show which of the source's
/// values the item has had.
struct KnownValues {
    /// A field: either the secret, whose name is empty, or a sealed attribute.
    private struct Field {
        var now: SharedSecret?
        /// The distinct earlier values.
        var earlier: [SharedSecret] = []
        /// True if the import replaces the field's value.
        var isReplaced = false

        func has(_ value: borrowing Secret) -> Bool {
            if let now, now.secret.equals(value) { return true }
            return hadBefore(value)
        }

        func hadBefore(_ value: borrowing Secret) -> Bool {
            for known in earlier where known.secret.equals(value) { return true }
            return false
        }

        /// The number of earlier values after the field's new value is set.
        var count: Int {
            guard isReplaced, let now, !hadBefore(now.secret) else { return earlier.count }
            return earlier.count + 1
        }
    }

    private var fields: [String: Field] = [:]
    /// The time at which the first of the earlier secrets was replaced.
    private var oldest = Int64.max
    /// The number of earlier values that the vault keeps for each field.
    private let limit: Int

    /// - `change`: The effect of the import on the values that the item shows.
    /// - `open`: Opens an earlier value of the item.
    init(
        _ item: borrowing OpenedItem, _ earlier: [EarlierValue], _ record: borrowing ImportRecord, _ change: Change,
        limit: Int, open: (EarlierValue) throws(VaultError) -> Secret
    ) throws(VaultError) {
        self.limit = limit
        fields[""] = Field(now: SharedSecret(item.secret.copy()))
        for attribute in item.item.attributes.all where attribute.flags.contains(.sealed) {
            if let value = attribute.secret { fields[attribute.name] = Field(now: SharedSecret(value)) }
        }
        for value in earlier {
            if value.attribute == nil { oldest = min(oldest, value.replaced) }
            do throws(VaultError) {
                let opened = SharedSecret(try open(value))
                let isKnown = fields[value.attribute ?? ""]?.hadBefore(opened.secret) ?? false
                if !isKnown { fields[value.attribute ?? "", default: Field()].earlier.append(opened) }
            } catch {
                guard error.code == .deviceBound else { throw error }
            }
        }
        note(change, record)
    }

    /// The effect of an import on the values that an item shows.
    enum Change {
        case none
        /// `merge`: the import sets the source's values; `replace`: the import also removes values that the source does
        /// not have.
        case merge, replace
    }

    private mutating func note(_ change: Change, _ record: borrowing ImportRecord) {
        guard change != .none else { return }
        for (name, field) in fields {
            guard let now = field.now else { continue }
            if name.isEmpty {
                fields[name]?.isReplaced = !now.secret.equals(record.secret)
            } else if let value = record.attributes.attribute(name)?.secret {
                fields[name]?.isReplaced = !now.secret.equals(value)
            } else {
                fields[name]?.isReplaced = change == .replace
            }
        }
    }

    /// Returns how many of the item's own earlier values are displaced by added values, not counting values that are
    /// displaced because the import changes the item.
    func displaced(by added: [ImportRecord.Earlier]) -> Int {
        Self.distinct(added, beside: fields).reduce(0) { sum, new in
            let own = fields[new.key]?.count ?? 0
            return sum + max(0, own + new.value - limit) - max(0, own - limit)
        }
    }

    private func has(_ earlier: ImportRecord.Earlier) -> Bool { Self.distinct([earlier], beside: fields).isEmpty }

    /// Returns the earlier values of a source that the item lacks, oldest first and at most as many as the vault keeps,
    /// and the number of values that are left out.
    ///
    /// - `known`: The time of the item in the vault. Every later value is new, and displaces older values of the item.
    /// - `isNamed`: True if an import of the same source has already reported the values that were older than
    ///   everything in a full list.
    func missing(
        _ earlier: [ImportRecord.Earlier], after known: Int64, isNamed: Bool
    ) -> (added: [ImportRecord.Earlier], dropped: Int) {
        let missing = earlier.filter { !has($0) }
        let (new, old) = (missing.filter { $0.modified > known }, missing.filter { $0.modified <= known })
        let newest = Self.longest(new, limit) { values in
            Self.distinct(values, beside: fields).allSatisfy { name, count in
                count <= limit - (fields[name]?.isReplaced ?? false ? 1 : 0)
            }
        }
        let base = Self.distinct(newest, beside: fields)
        let rest = Self.longest(old, limit - newest.count) { values in
            Self.distinct(values + newest, beside: fields).allSatisfy { name, count in
                let own = fields[name]?.count ?? 0
                return own + count <= max(limit, own + base[name, default: 0])
            }
        }
        let isFull = (fields[""]?.earlier.count ?? 0) >= limit
        let beyond = isNamed && isFull ? old.count { $0.value.replaced <= oldest } : 0
        let dropped = missing.count - newest.count - rest.count
        return (rest + newest, max(0, dropped - beyond))
    }

    /// Returns the last values that fit, but at most `most` values.
    private static func longest(
        _ values: [ImportRecord.Earlier], _ most: Int, fits: ([ImportRecord.Earlier]) -> Bool
    ) -> [ImportRecord.Earlier] {
        var count = max(0, min(values.count, most))
        while count > 0, !fits(values.suffix(count)) { count -= 1 }
        return values.suffix(count)
    }

    /// Returns the last of a new item's earlier values, at most as many as a vault keeps, and the number of values that
    /// are not kept. A value is omitted if a later value or the item itself has the same contents.
    static func last(of record: borrowing ImportRecord, _ most: Int) -> (added: [ImportRecord.Earlier], dropped: Int) {
        var known = ["": Field(now: SharedSecret(record.secret.copy()))]
        for attribute in record.attributes.all where attribute.flags.contains(.sealed) {
            if let secret = attribute.secret { known[attribute.name] = Field(now: SharedSecret(secret)) }
        }
        var (added, dropped): ([ImportRecord.Earlier], Int) = ([], 0)
        for value in record.earlier.reversed() where !distinct([value], beside: known).isEmpty {
            guard added.count < most else {
                dropped += 1
                continue
            }
            added.append(value)
            for (name, secret) in parts(of: value) { known[name, default: Field()].earlier.append(secret) }
        }
        return (added.reversed(), dropped)
    }

    /// Returns the number of different values that an item would have in each field.
    private static func distinct(
        _ values: [ImportRecord.Earlier], beside fields: [String: Field]
    ) -> [String: Int] {
        var found: [String: [SharedSecret]] = [:]
        for value in values {
            for (name, secret) in parts(of: value) {
                if fields[name]?.has(secret.secret) ?? false { continue }
                if found[name, default: []].contains(where: { $0.secret.equals(secret.secret) }) { continue }
                found[name, default: []].append(secret)
            }
        }
        return found.mapValues(\.count)
    }

    private static func parts(of value: ImportRecord.Earlier) -> [(String, SharedSecret)] {
        var parts = [("", value.secret)]
        for attribute in value.value.attributes.all where attribute.flags.contains(.sealed) {
            if let secret = attribute.secret { parts.append((attribute.name, SharedSecret(secret))) }
        }
        return parts
    }
}
