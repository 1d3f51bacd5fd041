internal import VaultBytes
internal import VaultStore

/// The values of an item in a damaged vault that the item does not show, oldest first.
struct SalvageKept {
    struct One {
        let name: ValueName
        let kind: Kind
        let source: Source
        /// True if only the proven state has the value, as far as is known: it is kept unless a later value equals it.
        var isFormer = false
    }

    enum Kind {
        /// An earlier value.
        case earlier
        /// A value that is left to settle.
        case mark
        /// A value that the item shows in its proven state, which an unproven one replaces.
        case proven
    }

    enum Source {
        /// An entry or a list of earlier values refers to the value's records, which belong to the item with this id.
        case held(HeldValue, of: Bytes16, before: UInt64)
        /// The index no longer refers to the value's record.
        case loose(SalvageScan.Record)
    }

    /// A value of a field, compared by its bytes.
    struct Bytes: Hashable {
        private let field: FieldName
        private let value: ValueClass

        init(_ field: FieldName, _ value: ValueClass) {
            self.field = field
            self.value = value
        }

        init(_ field: FieldName, _ value: borrowing Secret) { self.init(field, .digest(ValueDigest.of(value), [])) }
    }

    var values: [One] = []
    /// False if the list of the values is damaged.
    var isWhole = true

    init() {}

    /// Reads the earlier values and the values to settle that an entry refers to.
    init(of item: Item, _ store: SalvageStore, limit: Int) throws(VaultError) {
        guard item.hasPast else { return }
        do throws(VaultError) {
            let state = try store.state(of: item, try store.past(of: item))
            let end = max(item.entry.past?.offset ?? 0, item.referrer)
            let view = try state.view(limit: limit) { (name) throws(VaultError) in
                try store.classOf(name, state.values[name], of: item, before: end)
            }
            let marks = Set(view.marks)
            for name in (view.earlier + view.marks).sorted(by: { ($0.dot, $0.field) < ($1.dot, $1.field) }) {
                guard let value = state.values[name] else { continue }
                values.append(
                    One(
                        name: name, kind: marks.contains(name) ? .mark : .earlier,
                        source: .held(value, of: item.entry.id, before: end)))
            }
        } catch {
            _ = try SalvageCopy.tolerated(error)
            isWhole = false
        }
    }

    /// Adds the secret and the sealed attributes that an item shows in its proven state, as the newest values.
    /// - `replaced`: The time of the change that replaced them, in milliseconds since 1970.
    mutating func addShown(of item: Item, _ store: SalvageStore, replaced: Int64) throws(VaultError) {
        do throws(VaultError) {
            let state = try store.state(of: item, nil)
            for (name, value) in state.values.sorted(by: { $0.key < $1.key }) where value.isProtected {
                var held = value
                held.replaced = replaced
                values.append(
                    One(name: name, kind: .proven, source: .held(held, of: item.entry.id, before: item.referrer)))
            }
        } catch {
            _ = try SalvageCopy.tolerated(error)
            isWhole = false
        }
    }

    /// Adds the secrets and sealed attributes that an item keeps in its proven state without showing them, as the oldest
    /// values. Someone else may have made the other state, and have left them out of it.
    mutating func addFormer(of item: Item, _ store: SalvageStore, limit: Int) throws(VaultError) {
        let proven = try SalvageKept(of: item, store, limit: limit)
        let former: [One] = proven.values.compactMap { one in
            guard case .held(let value, _, _) = one.source, value.isProtected else { return nil }
            return One(name: one.name, kind: one.kind, source: one.source, isFormer: true)
        }
        values = former + values
        isWhole = isWhole && proven.isWhole
    }

    /// Removes and returns the secret to show if no newer one can be read: the proven one, or else a value to settle,
    /// or else the newest earlier value.
    mutating func takeNewestSecret() -> One? {
        for kind in [Kind.proven, .mark, .earlier] {
            if let last = values.lastIndex(where: { $0.kind == kind && $0.name.field == .secret }) {
                return values.remove(at: last)
            }
        }
        return nil
    }

    // MARK: comparing

    /// Returns the values to keep besides the values that are shown. If they include those of a proven state, equal
    /// values are kept once.
    /// - Returns: The values, and whether a proven secret is one of them.
    func under(
        _ shown: Set<Bytes>, _ store: SalvageStore
    ) throws(VaultError) -> (kept: SalvageKept, keepsProven: Bool) {
        guard values.contains(where: { $0.kind == .proven || $0.isFormer }) else { return (self, false) }
        var known = shown
        for one in values where one.kind == .mark && !one.isFormer { known.formUnion(try store.bytes(of: one) ?? []) }
        var rest: [One] = []
        var keepsProven = false
        for one in values.reversed() {
            guard one.kind != .mark || one.isFormer, let bytes = try store.bytes(of: one) else {
                rest.append(one)
                continue
            }
            guard !bytes.isSubset(of: known) else { continue }
            known.formUnion(bytes)
            rest.append(one)
            if one.kind == .proven, one.name.field == .secret { keepsProven = true }
        }
        var kept = self
        kept.values = rest.reversed()
        return (kept, keepsProven)
    }

    /// Returns the bytes of the values to settle, or of all others, as far as they can be read.
    func bytes(areMarks: Bool, _ store: SalvageStore) throws(VaultError) -> Set<Bytes> {
        var all: Set<Bytes> = []
        for one in values where (one.kind == .mark) == areMarks { all.formUnion(try store.bytes(of: one) ?? []) }
        return all
    }
}

extension SalvageStore {
    /// The contents of an item's record.
    struct Content: ~Copyable {
        let key: ItemKey
        let secret: Secret
        let attributes: Attributes
    }

    /// Returns the contents of an item's record that was found without the index.
    func content(of record: SalvageScan.Record) throws(VaultError) -> Content {
        var body = try open(record)
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

    /// Returns the bytes of a value, or of all values in a record without a reference; nil if the value cannot be read.
    fileprivate func bytes(of one: SalvageKept.One) throws(VaultError) -> Set<SalvageKept.Bytes>? {
        do throws(VaultError) {
            switch one.source {
            case .held(let value, let item, let end):
                if let plain = value.plainClass { return [SalvageKept.Bytes(one.name.field, plain)] }
                let secret = try bytes(one.name, value, of: item, before: end)
                return [SalvageKept.Bytes(one.name.field, secret)]
            case .loose(let record):
                let content = try content(of: record)
                guard content.secret.count == 0, content.attributes.count > 0 else {
                    return [SalvageKept.Bytes(.secret, content.secret)]
                }
                var all: Set<SalvageKept.Bytes> = []
                for attribute in content.attributes.all {
                    if let value = attribute.secret {
                        all.insert(SalvageKept.Bytes(.attribute(attribute.name), value))
                    }
                }
                return all
            }
        } catch {
            _ = try SalvageCopy.tolerated(error)
            return nil
        }
    }
}
