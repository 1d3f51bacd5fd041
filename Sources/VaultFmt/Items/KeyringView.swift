internal import VaultBytes
internal import VaultStore

/// A keyring in the form needed to read items: access rights by compartment number.
final class KeyringView: Sendable {
    /// A compartment, shared by all items in it.
    final class Compartment: Sendable {
        let info: Keyring.Compartment
        /// The group. Values that items do not show belong to the owners' group, which has number 0 and no name.
        let group: Keyring.Group
        /// The group's name as encoded in item keys; empty for the owners' group, which therefore matches no key.
        let encodedGroup: [UInt8]
        let accessibility: Accessibility
        /// The place of the compartment's items.
        let place: Place

        fileprivate init(_ info: Keyring.Compartment, _ group: Keyring.Group, _ accessibility: Accessibility) {
            self.info = info
            self.group = group
            encodedGroup = group.number == Keyring.ownersGroup ? [] : ItemKey.encodedGroup(group.name)
            self.accessibility = accessibility
            place = Place(
                group: Array(group.name.utf8), accessibility: info.accessibility, device: info.device)
        }

        /// True if the compartment is for values that items do not show.
        var isOwners: Bool { group.number == Keyring.ownersGroup }
        /// True if records that only a past refers to may be in the compartment.
        var mayHoldPast: Bool { isOwners || info.isDeviceBound }

        /// Returns whether records of an item in this compartment may remain in the other compartment.
        func isLike(_ other: Compartment) -> Bool {
            info.group == other.info.group && info.accessibility == other.info.accessibility
                && info.device == other.info.device
        }
    }

    let keyring: Keyring
    private let compartments: [UInt64: Compartment]

    init(_ keyring: Keyring) {
        self.keyring = keyring
        var all: [UInt64: Compartment] = [:]
        let owners = Keyring.Group(number: Keyring.ownersGroup, name: "", wrapped: [])
        let groups = Dictionary(
            (keyring.groups + [owners]).map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
        for info in keyring.compartments {
            guard let group = groups[info.group], let accessibility = Accessibility(rawValue: info.accessibility)
            else { continue }
            all[info.number] = Compartment(info, group, accessibility)
        }
        compartments = all
    }

    func compartment(_ number: UInt64) -> Compartment? { compartments[number] }
}

/// Checks entries against the keyring and the commit's clock and floor, and, if the vector was
/// read, against the vector's rows. Most items are in the same compartment as the previous item.
struct EntryCheck {
    let view: KeyringView
    /// The greatest valid revision.
    let clock: UInt64
    let floor: UInt64
    /// The state's vector; nil if it was not read.
    let vector: Vector?
    private var last: KeyringView.Compartment?

    init(_ view: KeyringView, clock: UInt64, floor: UInt64, vector: Vector? = nil) {
        self.view = view
        self.clock = clock
        self.floor = floor
        self.vector = vector
    }

    /// Checks an item's entry; `group` is the range of its encoded group in `bytes`.
    mutating func check(
        _ item: ItemCodec.Decoded, _ bytes: Span<UInt8>, _ group: Range<Int>, at offset: UInt64
    ) throws(VaultError) -> KeyringView.Compartment {
        let compartment = try compartment(item.entry.compartment, bytes, group, at: offset)
        for record in item.largeRecords {
            _ = try self.compartment(record.compartment, bytes, group, at: offset)
            try check(revision: record.revision, at: offset)
        }
        try check(item.entry.dot, at: offset)
        for further in item.entry.further {
            try check(StoredDot(item.entry.dot.revision - further.difference, further.position), at: offset)
        }
        if item.entry.hasRecord { try check(revision: item.entry.recordRevision, at: offset) }
        return compartment
    }

    /// Checks a forgotten value.
    func check(_ value: ForgottenValue, at offset: UInt64) throws(VaultError) {
        guard vector?.hasSeen(value.dot) ?? true else {
            throw VaultError(
                .structureInvalid, "a forgotten value belongs to a change that the vault does not include", at: offset)
        }
    }

    /// Checks the past of an item that has these large attributes.
    func check(_ past: Past, _ large: [RecordRef], at offset: UInt64) throws(VaultError) {
        for dot in past.values.map(\.dot) + past.siblings.map(\.dot) { try check(dot, at: offset) }
        for value in past.values {
            if case .key(let key) = value.content { try checkKey(key, at: offset) }
            for record in value.records { try check(revision: record.revision, at: offset) }
            for record in value.itemRecords { try checkOwners(record.compartment, at: offset) }
            // The item itself may still use the attribute's record.
            for record in value.largeRecords where !large.contains(record) {
                try checkOwners(record.compartment, at: offset)
            }
        }
    }

    /// Checks an item key with an empty access group, which is stored as a separate field.
    private func checkKey(_ key: [UInt8], at offset: UInt64) throws(VaultError) {
        let group = try decoding { () throws(FormatError) in try ItemKey.check(key.span) }
        guard Array(key[group]) == ItemKey.encodedGroup("") else {
            throw VaultError(.structureInvalid, "an item's former key has an access group", at: offset)
        }
    }

    private func checkOwners(_ number: UInt64, at offset: UInt64) throws(VaultError) {
        guard let compartment = view.compartment(number), compartment.mayHoldPast else {
            throw VaultError(
                .structureInvalid, "an earlier value is in a compartment that does not belong to the owners", at: offset
            )
        }
    }

    /// Checks a revision.
    private func check(revision: UInt64, at offset: UInt64) throws(VaultError) {
        guard revision >= 1, revision <= clock else {
            throw VaultError(.structureInvalid, "a revision is later than the vault's clock", at: offset)
        }
    }

    /// Checks a dot.
    func check(_ dot: StoredDot, at offset: UInt64) throws(VaultError) {
        guard dot.isPossible(clock: clock, floor: floor) else {
            throw VaultError(
                .structureInvalid, "a dot is later than the vault's clock, or wrongly encoded", at: offset)
        }
        guard let vector else { return }
        guard vector.dot(dot) != nil else {
            throw VaultError(.structureInvalid, "a dot belongs to a change that the vault does not include", at: offset)
        }
    }

    /// Returns the compartment of an item whose encoded group is a range of `bytes`.
    private mutating func compartment(
        _ number: UInt64, _ bytes: Span<UInt8>, _ group: Range<Int>, at offset: UInt64
    ) throws(VaultError) -> KeyringView.Compartment {
        if let last, last.info.number == number, Self.isSame(bytes, group, last) { return last }
        guard let found = view.compartment(number) else {
            throw VaultError(.structureInvalid, "an item's compartment does not exist", at: offset)
        }
        guard Self.isSame(bytes, group, found) else {
            throw VaultError(.structureInvalid, "an item's compartment belongs to a different group", at: offset)
        }
        last = found
        return found
    }

    private static func isSame(_ bytes: Span<UInt8>, _ group: Range<Int>, _ compartment: KeyringView.Compartment)
        -> Bool
    {
        let name = compartment.encodedGroup
        return ByteOrder.compare(bytes, group, name.span, 0..<name.count) == 0
    }
}
