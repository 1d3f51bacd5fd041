import VaultBytes
package import VaultFmt

/// An earlier state of an item, before one of its secrets or sealed attributes was replaced, in the form that exports
/// write.
package struct EarlierState {
    /// The time at which the state began, in milliseconds since 1970; nil if it is not known. An imported value was set
    /// before the import, but the vault records the time of the import, which is later than the value's replacement.
    package let modified: Int64?
    /// The time at which one of the state's values was replaced.
    package let replaced: Int64
    package let secret: SharedSecret
    /// All attributes at that time, with their values.
    package let attributes: Attributes
    /// The access group that contained the item at that time. If the values were set in several groups, this is one of
    /// those groups.
    package let group: String

    /// Returns the states of an item that can be derived from its earlier values, oldest first.
    ///
    /// Each field has its own earlier values, but other programs store versions of whole entries. A state contains the
    /// value that each field had until the state ended; an import recognizes equal values. Values of one field that
    /// were replaced at the same time each end a state. A value from a merge that the user has not settled yet comes
    /// last.
    ///
    /// - `refused`: Called with each value that can be opened only on another device.
    package static func all(
        of opened: borrowing OpenedItem, in vault: Vault, refused: (EarlierValue) -> Void
    ) throws -> [EarlierState] {
        try all(of: opened, in: vault, without: nil, refused: refused)
    }

    /// Returns the states as the function above does, but without damaged values, which are noted in `damaged`.
    static func all(
        of opened: borrowing OpenedItem, in vault: Vault, without damaged: DamagedParts?,
        refused: (EarlierValue) -> Void
    ) throws -> [EarlierState] {
        let item = opened.item
        guard item.hasPast, vault.access == .owner else { return [] }
        let values = try readable(of: item, in: vault, damaged, refused)
        let current = (SharedSecret(opened.secret.copy()), try plain(of: item, in: vault, damaged))
        var secrets = Field(now: current)
        for past in values where past.value.attribute == nil {
            secrets.add((past.secret, try plain(of: past.value, in: vault, damaged)), past)
        }
        var sealed = try sealed(of: item, values, in: vault, damaged)
        var states: [EarlierState] = []
        while let time = ([secrets.next] + sealed.map(\.next)).compactMap(\.self).min() {
            guard let (secret, plain) = secrets.value else { break }
            // The values that end the state come first, because a state may have more values than an item can hold.
            let ending = sealed.filter { $0.next == time }.compactMap(\.value)
            var attributes = Attributes(ending)
            for attribute in plain.all + sealed.compactMap(\.value) where attributes.count < Format.Limit.attributes {
                if attributes.attribute(attribute.name) == nil { attributes.set(attribute) }
            }
            let groups = ([secrets.group] + sealed.map(\.group)).compactMap(\.self)
            let set = [secrets.end(at: time)] + sealed.indices.map { sealed[$0].end(at: time) }
            let modified = set.compactMap(\.self).max()
            states.append(
                EarlierState(
                    modified: modified.flatMap { $0 <= time ? $0 : nil }, replaced: time, secret: secret,
                    attributes: attributes,
                    group: groups.first { !$0.utf8.elementsEqual(item.key.group.utf8) } ?? item.key.group))
        }
        return states
    }

    /// A past value of an item, the group in which it was set, and the time at which it was replaced.
    private typealias Past = (value: EarlierValue, secret: SharedSecret, group: String, ended: Int64)

    /// Returns the past values of an item, oldest first.
    ///
    /// A value from an unsettled merge has not been replaced: it comes last, and ends when the item was last changed.
    private static func readable(
        of item: Item, in vault: Vault, _ damaged: DamagedParts?, _ refused: (EarlierValue) -> Void
    ) throws -> [Past] {
        func list(_ read: () throws(VaultError) -> [EarlierValue]) throws(VaultError) -> [EarlierValue] {
            guard let damaged else { return try read() }
            let found = try damaged.reading { () throws(VaultError) -> [EarlierValue]? in try read() }
            return found ?? []
        }
        let listed = try list { () throws(VaultError) in try EarlierValues.newestFirst(of: item, in: vault) }
        let earlier = listed.reversed().map { ($0, $0.lastUsed) }
        let last = max(item.modified, earlier.map(\.1).max() ?? .min)
        let unsettled = try list { () throws(VaultError) in try vault.unsettledValues(of: item) }
            .map { ($0, max(last, $0.modified)) }
        var values: [Past] = []
        for (value, ended) in earlier + unsettled.sorted(by: { $0.1 < $1.1 }) {
            do throws(VaultError) {
                let opened = try vault.open(value)
                let group = opened.key.group
                values.append((value, SharedSecret(opened.takeSecret()), group, ended))
            } catch {
                if error.code == .deviceBound {
                    refused(value)
                } else {
                    guard let damaged, error.isDamage else { throw error }
                    damaged.note(earlierValue: error)
                }
            }
        }
        return values
    }

    /// The earlier values of a field, and its current value.
    private struct Field<Value> {
        private var earlier: [(value: Value, group: String, set: Int64, replaced: Int64)] = []
        private var ended = 0
        private let now: Value?

        init(now: Value?) { self.now = now }

        /// Adds the next newer value.
        mutating func add(_ value: Value, _ past: Past) {
            earlier.append((value, past.group, past.value.modified, past.ended))
        }

        /// The first value that has not ended; nil if the field has no such value.
        var value: Value? { ended < earlier.count ? earlier[ended].value : now }

        /// The group in which the value was set; nil for the field's current value.
        var group: String? { ended < earlier.count ? earlier[ended].group : nil }

        /// The time at which the value was replaced; nil for the field's current value.
        var next: Int64? { ended < earlier.count ? earlier[ended].replaced : nil }

        /// Moves on to the next value if this one was replaced at the given time; returns when it was set.
        mutating func end(at time: Int64) -> Int64? {
            guard next == time else { return nil }
            ended += 1
            return earlier[ended - 1].set
        }
    }

    /// Returns the attributes that were recorded with an earlier secret.
    private static func plain(
        of value: EarlierValue, in vault: Vault, _ damaged: DamagedParts?
    ) throws(VaultError) -> Attributes {
        var read = Attributes()
        for attribute in value.attributes.all {
            guard !attribute.isRead else {
                read.set(attribute)
                continue
            }
            do throws(VaultError) {
                guard let bytes = try vault.attribute(attribute.name, of: value) else { continue }
                read.set(Attribute(attribute.name, secret: bytes, flags: attribute.flags))
            } catch {
                guard let damaged, error.isDamage else { throw error }
                damaged.note(earlierValue: error)
            }
        }
        return read
    }

    private static func plain(
        of item: Item, in vault: Vault, _ damaged: DamagedParts?
    ) throws(VaultError) -> Attributes {
        var all = Attributes()
        for attribute in item.attributes.all where !attribute.flags.contains(.sealed) {
            if let attribute = try read(attribute, of: item, in: vault, damaged) { all.set(attribute) }
        }
        return all
    }

    private static func read(
        _ attribute: Attribute, of item: Item, in vault: Vault, _ damaged: DamagedParts?
    ) throws(VaultError) -> Attribute? {
        if attribute.isRead { return attribute }
        func stored() throws(VaultError) -> Attribute? {
            guard let bytes = try vault.attribute(attribute.name, of: item) else { return nil }
            return Attribute(attribute.name, secret: bytes, flags: attribute.flags)
        }
        guard let damaged else { return try stored() }
        return try damaged.reading(stored)
    }

    /// Returns the values of each of an item's sealed attributes.
    private static func sealed(
        of item: Item, _ values: [Past], in vault: Vault, _ damaged: DamagedParts?
    ) throws -> [Field<Attribute>] {
        let now = item.attributes.all.filter { $0.flags.contains(.sealed) }
        return try Set(values.compactMap(\.value.attribute) + now.map(\.name)).sorted().map { name in
            let current = now.first { $0.name == name }
            var field = Field(now: try current.flatMap { try read($0, of: item, in: vault, damaged) })
            for past in values where past.value.attribute == name {
                field.add(Attribute(name, secret: past.secret.secret.copy(), flags: past.value.flags), past)
            }
            return field
        }
    }
}

/// The values that an export omits: earlier values that can be opened only on another device, and damaged values.
package struct LeftOutValues {
    private let report: (String) -> Void
    /// The number of earlier values that can be opened only on another device.
    package private(set) var count = 0
    /// The number of items with damaged values.
    package private(set) var damagedItems = 0

    /// `report`: called with one line for each item.
    init(report: @escaping (String) -> Void) { self.report = report }

    /// Counts and reports an item's values.
    package mutating func add(_ number: Int, of item: Item) {
        guard number > 0 else { return }
        count += number
        report("not exported: \(Self.text(number, of: item))")
    }

    /// Counts an item with damaged values, and reports these values.
    mutating func add(_ damaged: DamagedParts) {
        guard !damaged.reasons.isEmpty else { return }
        damagedItems += 1
        for reason in damaged.reasons { report(DamagedParts.message(reason)) }
    }

    package static func text(_ number: Int, of item: Item) -> String {
        let what = number == 1 ? "an earlier value" : "\(number) earlier values"
        return
            "\(what) of \(ItemText.summary(item.key, label: item.attributes.label)), because another device is needed to open \(number == 1 ? "it" : "them")"
    }
}
