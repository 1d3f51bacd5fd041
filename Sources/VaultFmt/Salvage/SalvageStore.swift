internal import VaultBytes

/// The keys and readers of a damaged vault: like a `Store`, but content with what there is.
final class SalvageStore {
    private let file: any FileHandle
    let headerLength: Int
    let slot: OpenedSlot
    let sealing: Sealing
    let pages: PageSource
    let finder: StateFinder
    private(set) var view = KeyringView(Keyring())
    private(set) var forgeable: Forgeable
    private let headerHash: Bytes32
    private let vault: Bytes16
    private let device: SecretBox?
    private let deviceID: Bytes16
    private var keys: [UInt32: SecretBox] = [:]

    init(
        _ file: any FileHandle, _ factors: borrowing FactorKeys, _ limits: ReaderLimits, _ device: consuming Device?,
        _ report: inout SalvageReport
    ) throws(VaultError) {
        self.file = file
        let (header, bytes) = try Store.readHeader(file)
        let notes = report.notes.count
        slot = try Self.openSlot(header, bytes, factors, limits, &report)
        guard slot.keys.isOwner else { throw VaultError(.notPermitted, "salvaging needs a full slot") }
        forgeable = report.notes.count > notes ? .everything : Forgeable(header, slot.keys)
        headerHash = Bytes32(hashing: bytes)
        headerLength = header.length
        vault = header.id
        sealing = Sealing(vault: header.id.words, random: .system)
        pages = PageSource(file: file, sealing: sealing, indexKey: slot.keys.index.copy(), cacheBytes: 8 << 20)
        let codec = CommitCodec(slot.keys, sealing: sealing, vault: header.id)
        finder = StateFinder(
            file: file, codec: codec, vault: header.id, headerLength: UInt64(header.length), headerHash: headerHash)
        if let device = consume device {
            deviceID = device.id.bytes
            self.device = SecretBox(device.secret.copy())
        } else {
            deviceID = .zero
            self.device = nil
        }
    }

    /// A header that does not authenticate is worth a note here, where everything else authenticates by itself.
    private static func openSlot(
        _ header: Header, _ bytes: [UInt8], _ factors: borrowing FactorKeys, _ limits: ReaderLimits, _ report: inout SalvageReport
    ) throws(VaultError) -> OpenedSlot {
        do throws(VaultError) { return try SlotOpener.open(header, bytes, factors, limits) } catch {
            guard error.code == .authenticationFailed else { throw error }
        }
        report.notes.append("the header does not authenticate: its slots or extensions were damaged or altered")
        return try SlotOpener.open(header, bytes, factors, limits, checkingHeader: false)
    }

    func use(_ keyring: Keyring) {
        guard view.keyring != keyring else { return }
        view = KeyringView(keyring)
        keys = [:]
    }

    /// An owner's commit that names another header proves nothing about the slots in this one.
    func believe(_ newest: CommittedState?) {
        if let newest, newest.commit.header != headerHash { forgeable = .everything }
    }

    /// Whether somebody else than an owner could have made a record of this compartment.
    func isForgeable(_ compartment: UInt32) -> Bool {
        view.compartment(compartment).map { forgeable.contains(group: $0.group.number) } ?? true
    }

    func open(_ frame: [UInt8], _ identity: Sealing.RecordIdentity, at offset: UInt64) throws(VaultError) -> Secret {
        let key = try key(identity.compartment, at: offset)
        return try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
            try RecordCodec.open(frame, identity, key: key.secret, sealing, at: offset)
        }
    }

    /// The key that a record, which authenticated, has in its body.
    func key(of record: SalvageScan.Record) throws(VaultError) -> ItemKey {
        let frame = try file.bytes(record.length, at: record.offset)
        return try RecordCodec.parts(try open(frame, record.identity, at: record.offset), at: record.offset).key
    }

    private func key(_ number: UInt32, at offset: UInt64) throws(VaultError) -> SecretBox {
        if let known = keys[number] { return known }
        guard let compartment = view.compartment(number) else {
            throw VaultError(.authenticationFailed, "a record's compartment is not known", at: offset)
        }
        let groupKey = try Wrapping.groupKey(compartment.group, slot.keys, vault)
        let opened = SecretBox(
            try Wrapping.compartmentKey(compartment.info, groupKey, vault: vault, device: device, deviceID: deviceID))
        keys[number] = opened
        return opened
    }
}

/// What the holders of scoped slots could have made themselves: pages and keyrings, and the records of the groups that they open. Where no scoped slot is, all
/// that authenticates was made by an owner.
struct Forgeable {
    /// Whether pages and keyrings are.
    let hasIndex: Bool
    /// Nil: of all groups.
    private let groups: Set<UInt32>?

    static let everything = Forgeable(hasIndex: true, groups: nil)

    private init(hasIndex: Bool, groups: Set<UInt32>?) {
        self.hasIndex = hasIndex
        self.groups = groups
    }

    /// From a header that authenticates. A slot whose owner part does not open could grant anything.
    init(_ header: Header, _ keys: borrowing VaultKeys) {
        let scoped = header.slots.filter { $0.kind == .scoped }
        var groups: Set<UInt32>? = []
        for slot in scoped {
            do throws(VaultError) { groups?.formUnion(try Self.groups(of: slot, header, keys)) } catch { groups = nil }
        }
        self.init(hasIndex: !scoped.isEmpty, groups: groups)
    }

    func contains(group: UInt32) -> Bool { groups?.contains(group) ?? true }

    private static func groups(of slot: Slot, _ header: Header, _ keys: borrowing VaultKeys) throws(VaultError) -> [UInt32] {
        switch keys.owner {
        case .some(let owner):
            let part = try SlotSeal.openOwner(slot, vault: header.id, owner: owner)
            return try SlotOpener.grants(slot, header.id, wrappingKey: part.wrappingKey.secret).numbers
        case .none: throw VaultError(.notPermitted, "salvaging needs a full slot")
        }
    }
}
