internal import VaultBytes
internal import VaultStore

/// A keyring in the form needed to read items: access rights by compartment number.
final class KeyringView: Sendable {
    /// A compartment, shared by all items in it.
    final class Compartment: Sendable {
        let info: Keyring.Compartment
        /// The group; for earlier values, the owners' group, which has number 0 and no name.
        let group: Keyring.Group
        /// The group's name as encoded in item keys; empty for the owners' group, so that no key matches it.
        let encodedGroup: [UInt8]
        let accessibility: Accessibility

        fileprivate init(_ info: Keyring.Compartment, _ group: Keyring.Group, _ accessibility: Accessibility) {
            self.info = info
            self.group = group
            encodedGroup = group.number == Keyring.ownersGroup ? [] : ItemKey.encodedGroup(group.name)
            self.accessibility = accessibility
        }

        /// Whether the compartment is for earlier values only.
        var isOwners: Bool { group.number == Keyring.ownersGroup }
        /// Whether records that only earlier values refer to may be in the compartment.
        var mayHoldEarlierValues: Bool { isOwners || info.isDeviceBound }

        /// Returns whether records in the other compartment may stay there when their item is in this one.
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

    /// Returns the position of a device in the list, starting at 1; nil if it is not listed.
    func position(of device: Bytes16) -> Int? { keyring.devices.firstIndex(of: device).map { $0 + 1 } }

    /// Returns the device at a position; nil for 0.
    func device(_ position: Int) -> DeviceID? {
        guard position > 0, position <= keyring.devices.count else { return nil }
        return DeviceID(keyring.devices[position - 1])
    }
}

/// Checks entries against the keyring and the commit's clock. Most items are in the same compartment
/// as the previous one.
struct EntryCheck {
    let view: KeyringView
    /// The greatest valid revision.
    let clock: UInt64
    private var last: KeyringView.Compartment?

    init(_ view: KeyringView, clock: UInt64) {
        self.view = view
        self.clock = clock
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
        try check(revision: item.entry.revision, at: offset)
        try check(revision: item.entry.recordRevision, at: offset)
        try check(device: item.entry.device, at: offset)
        return compartment
    }

    /// Checks a tombstone's value.
    func check(_ tombstone: TombstoneEntry, at offset: UInt64) throws(VaultError) {
        for revision in [tombstone.revision, tombstone.lastRevision] { try check(revision: revision, at: offset) }
        for device in [tombstone.device, tombstone.lastDevice] { try check(device: device, at: offset) }
    }

    /// Checks the earlier values of an item that has these large attributes.
    func check(_ versions: Versions, of item: ItemEntry, _ large: [RecordRef], at offset: UInt64)
        throws(VaultError)
    {
        try decoding { () throws(FormatError) in try versions.check(item, at: offset) }
        for version in versions.versions {
            try check(revision: version.revision, at: offset)
            try check(revision: version.recordRevision, at: offset)
            try check(device: version.device, at: offset)
            try checkOwners(version.compartment, at: offset)
            for attribute in version.attributes {
                guard case .inOwnRecord(let record) = attribute.value else { continue }
                try check(revision: record.revision, at: offset)
                if !large.contains(record) { try checkOwners(record.compartment, at: offset) }
            }
        }
    }

    private func checkOwners(_ number: UInt64, at offset: UInt64) throws(VaultError) {
        guard let compartment = view.compartment(number), compartment.mayHoldEarlierValues else {
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

    /// Checks a device position.
    private func check(device: Int, at offset: UInt64) throws(VaultError) {
        guard device <= view.keyring.devices.count else {
            throw VaultError(.structureInvalid, "a device's number is not in the device list", at: offset)
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
