internal import VaultBytes
internal import VaultCrypto
internal import VaultStore

/// Copies other devices' records from a branch under a replaced key without opening them. Their compartments keep their
/// keys and numbers, as in a rotation: the inner layer is copied, and the outer layer is wrapped under one of our keys.
struct DeviceRecords {
    private let transaction: Transaction
    private let branch: VaultCore

    init(_ transaction: Transaction, _ branch: VaultCore) {
        self.transaction = transaction
        self.branch = branch
    }

    /// Returns the place of a copy of a record; nil if the record is not bound to a device.
    func brought(_ record: RecordRef) throws(VaultError) -> RecordRef? {
        guard let compartment = branch.view.compartment(record.compartment), compartment.info.isDeviceBound else {
            return nil
        }
        try bring(compartment)
        var frame = try branch.frame(record.record, .record, before: branch.store.state.commit.offset)
        let (from, to) = (try locatorKey(branch.store), try locatorKey(transaction.core.store))
        frame.withUnsafeMutableBytes { transaction.sealing.relocate($0, from: from.secret, to: to.secret) }
        let ref = try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
            try transaction.appender.append(sealed: frame)
        }
        return RecordRef(record: ref, revision: record.revision, compartment: record.compartment)
    }

    private func locatorKey(_ store: Store) throws(VaultError) -> SecretBox {
        try store.slot.keys.asOwner(else: SlotMaking.ownersOnly) { (owner) throws(VaultError) in
            SecretBox(owner.locator.copy())
        }
    }

    /// Returns a compartment for a place with a device: one of ours, or one of the branch's.
    func compartment(for place: Place) throws(VaultError) -> UInt64? {
        if let known = transaction.ring.compartment(of: place) { return known }
        for info in branch.store.keyring.compartments {
            guard let found = branch.view.compartment(info.number), !found.isOwners, found.place == place else {
                continue
            }
            try bring(found)
            return info.number
        }
        return nil
    }

    /// Adds a compartment of the branch to our keyring, unless the keyring already contains it from before the
    /// rotation.
    private func bring(_ compartment: KeyringView.Compartment) throws(VaultError) {
        let info = compartment.info
        if let known = transaction.ring.compartment(info.number) {
            guard known.info.device == info.device, known.info.accessibility == info.accessibility else {
                throw VaultError(.structureInvalid, "compartment \(info.number) has two keys")
            }
            return
        }
        let core = transaction.core
        let branchKey = try branch.compartments.groupKey(compartment.group, branch.context)
        let inner = try Wrapping.outerOpened(info, branchKey.secret, branch.store.vault)
        let group = try group(compartment)
        let key =
            group.number == Keyring.ownersGroup
            ? try core.compartments.groupKey(group, core.context)
            : SecretBox(try Wrapping.groupKey(group, core.store.slot.keys, core.store.vault))
        var same = Keyring.Compartment(
            number: info.number, group: group.number, accessibility: info.accessibility, device: info.device,
            wrapped: [])
        Wrapping.wrapOuter(&same, inner, key.secret, core.store.vault, core.store.random)
        let brought = same
        try transaction.ring.change { (keyring) throws(VaultError) in
            guard keyring.compartments.count < Format.Limit.compartments else {
                throw VaultError(
                    .limitExceeded, "a vault can have at most \(Format.Limit.compartments) compartments")
            }
            let index = keyring.compartments.firstIndex { $0.number > brought.number }
            keyring.compartments.insert(brought, at: index ?? keyring.compartments.count)
        }
    }

    /// Returns our group with the name of a compartment's group, adding it if necessary.
    private func group(_ compartment: KeyringView.Compartment) throws(VaultError) -> Keyring.Group {
        guard !compartment.isOwners else { return compartment.group }
        let name = GroupName(compartment.group.name)
        if let known = transaction.ring.keyring.groups.first(where: { GroupName($0.name) == name }) { return known }
        _ = try transaction.ring.compartment(name.text, .whenUnlocked)
        guard let added = transaction.ring.keyring.groups.first(where: { GroupName($0.name) == name }) else {
            throw VaultError(.structureInvalid, "an access group does not exist")
        }
        return added
    }
}
