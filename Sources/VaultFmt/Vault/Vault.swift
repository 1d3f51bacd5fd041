internal import VaultBytes
internal import VaultCrypto
package import VaultStore

/// A vault: one encrypted file of items.
///
/// A handle reads one consistent state: the newest when it was opened. `refresh()` and every change move it to the
/// one that is newest then. Any number of threads may use one handle, and any number of processes one file; one of them writes
/// at a time, and the others wait. A handle belongs to the process that opened it: in a child, after fork(2), all its
/// functions throw `otherProcess`, and nothing of it changes the file or releases the lock. The format is described in
/// `Spec/vaultfmt-1.md`.
public final class Vault: Sendable {
    let exclusive = ExclusiveLock()
    // Only touched within `exclusive`: a mutex that would own it cannot lend it to the caller's closures.
    nonisolated(unsafe) let core: VaultCore
    /// The file, with symbolic links followed.
    public let path: String
    /// The vault's id.
    public let id: VaultID
    /// Whether it was opened for changing.
    public let isWritable: Bool
    /// The device that it was opened with.
    public let device: DeviceID?

    init(_ core: VaultCore) {
        self.core = core
        path = core.store.path
        id = VaultID(core.store.vault)
        isWritable = core.store.isWritable
        device = core.deviceID == .zero ? nil : DeviceID(core.deviceID)
    }

    func withCore<R: ~Copyable>(_ body: (VaultCore) throws(VaultError) -> R) throws(VaultError) -> R {
        try exclusive.withLock(waitingForTransaction: core.lockWait) { () throws(VaultError) in try body(core) }
    }

    /// Lets others write to a vault that was created with its lock kept.
    func releaseLock() { core.store.releaseLock() }

    /// The store beneath, for tools that look at what is not shown here.
    package func withStore<R>(_ body: (Store) throws(VaultError) -> R) throws(VaultError) -> R {
        try withCore { (core) throws(VaultError) in try body(core.store) }
    }

    /// The keys of compartments that this handle has in memory: all that a locked one opens secrets with.
    package var keptKeys: [SecretBox] { reading([]) { $0.compartments.held } }

    // MARK: state

    /// Whether it is locked.
    public var isLocked: Bool { reading(false) { $0.isLocked } }

    /// What the slot that opened it grants.
    public var access: Access {
        reading(.owner) { core in
            if core.isOwner { return .owner }
            let granted = core.store.slot.grants.numbers
            let names = core.store.keyring.groupNames { granted.contains($0) }
            return .scoped(groups: names)
        }
    }

    /// The state that is being read, to be remembered.
    public var anchor: Anchor {
        reading(Anchor(vault: id, generation: 0, chain: .zero, owners: OwnersPublicKey(.zero))) { $0.anchor }
    }

    /// The public key of the vault's owners, the same for all slots: another one means that the vault was rotated, or
    /// is somebody else's.
    public var owners: OwnersPublicKey { anchor.owners }

    /// What follows in the file after the state that is being read.
    public var tail: TailState { reading(.clean) { $0.store.tail } }

    /// Reads something that cannot fail but within one's own transaction, where it has the value `otherwise`.
    func reading<R>(_ otherwise: R, _ body: (VaultCore) -> R) -> R {
        guard exclusive.isOfThisProcess else {
            // What is in memory is whole, unless another thread was at work on it.
            guard exclusive.acquireIfFree() else { return otherwise }
            defer { exclusive.release() }
            return body(core)
        }
        do throws(VaultError) {
            return try exclusive.withLock(waitingForTransaction: .infinity) { () throws(VaultError) in body(core) }
        } catch { return otherwise }
    }

    /// Moves to the newest committed state of the file. A locked vault stays where it is.
    ///
    /// Throws `rolledBack`, `forked` or `ancestryUnprovable` if that state does not come from the current one,
    /// `noSlotOpens` if the keys were replaced, and what opening throws.
    public func refresh() throws(VaultError) { try withCore { (core) throws(VaultError) in try core.refresh() } }

    /// How the current state stands to one that was remembered. Throws `invalidArgument` for an anchor of another
    /// vault.
    public func verdict(on anchor: Anchor) throws(VaultError) -> Anchor.Verdict {
        guard anchor.vault == id else {
            throw VaultError(.invalidArgument, "the anchor belongs to another vault (\(anchor.vault))")
        }
        return try withCore { (core) throws(VaultError) in
            switch try core.store.verdict(on: anchor.point) {
            case .foreign: .foreign
            case .same: .same
            case .descends: .descends
            case .older: .older
            case .forked: .forked
            case .unprovable: .unprovable
            }
        }
    }

    /// What the properties say, of one moment, for callers that can take an error: as `refresh` throws.
    package struct StateSnapshot {
        package let isLocked: Bool
        package let isOwner: Bool
        package let anchor: Anchor
        package let tail: TailState
        /// How many earlier values an item keeps.
        package let keptVersions: Int
    }

    package func stateSnapshot() throws(VaultError) -> StateSnapshot {
        try withCore { (core) throws(VaultError) in
            StateSnapshot(
                isLocked: core.isLocked, isOwner: core.isOwner, anchor: core.anchor, tail: core.store.tail,
                keptVersions: core.store.keyring.keeping.count)
        }
    }

    // MARK: locking

    /// Wipes the vault key, the wrapping keys, and the keys of items that are accessible when unlocked only. Metadata
    /// can still be read, in the state of now, and secrets that are accessible after the first unlocking. Nothing can
    /// be changed until `unlock`.
    public func lock() {
        guard exclusive.isOfThisProcess else {
            guard exclusive.acquireIfFree() else { return }
            defer { exclusive.release() }
            return core.lock()
        }
        do throws(VaultError) {
            try exclusive.withLock(waitingForTransaction: .infinity) { () throws(VaultError) in core.lock() }
        } catch {
            // Only within this thread's own transaction, whose end needs the keys.
            preconditionFailure("a vault cannot be locked within a transaction")
        }
    }

    /// The same for callers that can take an error: `invalidArgument` within this thread's own transaction, `busy` and
    /// `otherProcess`.
    package func tryLock() throws(VaultError) { try withCore { (core) throws(VaultError) in core.lock() } }

    /// Unlocks it with the factors of any of its slots, and moves to the newest state. Throws as opening does.
    public func unlock(_ factors: borrowing Factors, limits: ReaderLimits = .init()) throws(VaultError) {
        try withCore { (core) throws(VaultError) in try core.unlock(factors, limits) }
    }
}

extension Anchor {
    /// Without the vault's id.
    package var point: AnchorPoint { AnchorPoint(generation: generation, chain: value, ownersPublicKey: owners.value) }
}

extension VaultCore {
    /// The state that is being read.
    var anchor: Anchor {
        Anchor(
            vault: VaultID(store.vault), generation: store.state.commit.generation, chain: store.state.chain,
            owners: OwnersPublicKey(store.ownersPublicKey))
    }
}
