internal import VaultBytes
internal import VaultCrypto
package import VaultStore

/// A vault: one encrypted file of items.
///
/// A handle reads one consistent state: the newest one when the vault was opened. `refresh()` and every change move the
/// handle to the newest state at that time. Any number of threads may use one handle, and any number of processes may
/// use one file; only one process writes at a time, and the others wait. A handle belongs to the process that opened
/// it: in a child process after fork(2), all of the handle's functions throw `otherProcess`, and it neither changes the
/// file nor releases the lock. The format is described in `Spec/vaultfmt-1.md`.
public final class Vault: Sendable {
    let exclusive = ExclusiveLock()
    // Accessed only within `exclusive`: a mutex that owned it could not pass it to the caller's closures.
    nonisolated(unsafe) let core: VaultCore
    /// The path of the file, with symbolic links resolved.
    public let path: String
    /// The vault's id.
    public let id: VaultID
    /// True if the vault was opened for writing.
    public let isWritable: Bool
    /// The device with which the vault was opened.
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

    /// Releases the lock of a vault that was created with its lock held.
    func releaseLock() { core.store.releaseLock() }

    /// Passes the underlying store to a closure, for tools that need information not available here.
    package func withStore<R>(_ body: (Store) throws(VaultError) -> R) throws(VaultError) -> R {
        try withCore { (core) throws(VaultError) in try body(core.store) }
    }

    /// The compartment keys in this handle's memory; a locked handle can use only these to open secrets.
    package var keptKeys: [SecretBox] { reading([]) { $0.compartments.held } }

    // MARK: state

    /// True if the vault is locked.
    public var isLocked: Bool { reading(false) { $0.isLocked } }

    /// The access granted by the slot that opened the vault.
    public var access: Access {
        reading(.owner) { core in
            if core.isOwner { return .owner }
            let granted = core.store.slot.grants.numbers
            let names = core.store.keyring.groupNames { granted.contains($0) }
            return .scoped(groups: names)
        }
    }

    /// The state that is being read, in a form that can be remembered. Throws `authenticationFailed` or
    /// `structureInvalid` if the part of the file that lists the state's changes is damaged.
    public var anchor: Anchor {
        get throws(VaultError) { try withCore { (core) throws(VaultError) in try core.anchor() } }
    }

    /// Identifies the state that is being read.
    public var state: StateID {
        reading(StateID(vault: id, generation: 0, chainValue: .zero)) { $0.state }
    }

    /// The public key of the vault's owners, which is the same for all slots. A different key means that the vault's
    /// keys were rotated, or that the vault belongs to someone else.
    public var owners: OwnersPublicKey {
        reading(OwnersPublicKey(.zero)) { OwnersPublicKey($0.store.ownersPublicKey) }
    }

    /// The state of the bytes that follow the current state in the file.
    public var tail: TailState { reading(.clean) { $0.store.tail } }

    /// Reads a value. This can fail only within this thread's own transaction, in which case `otherwise` is returned.
    func reading<R>(_ otherwise: R, _ body: (VaultCore) -> R) -> R {
        guard exclusive.isOfThisProcess else {
            // The data in memory is consistent unless another thread was changing it.
            guard exclusive.acquireIfFree() else { return otherwise }
            defer { exclusive.release() }
            return body(core)
        }
        do throws(VaultError) {
            return try exclusive.withLock(waitingForTransaction: .infinity) { () throws(VaultError) in body(core) }
        } catch { return otherwise }
    }

    /// Moves to the newest committed state of the file. A locked vault remains at its current state.
    ///
    /// Throws `rolledBack` or `forked` if that state does not descend from the current one, `noSlotOpens` if the keys
    /// were replaced, and the same errors as opening.
    public func refresh() throws(VaultError) { try withCore { (core) throws(VaultError) in try core.refresh() } }

    /// Returns the relation of the current state to a remembered one. Throws `invalidArgument` for an anchor of another
    /// vault.
    public func verdict(on anchor: Anchor) throws(VaultError) -> Anchor.Verdict {
        guard anchor.vault == id else {
            throw VaultError(.invalidArgument, "the anchor belongs to another vault (\(anchor.vault))")
        }
        return try withCore { (core) throws(VaultError) in
            Anchor.Verdict(try core.store.verdict(on: anchor.point))
        }
    }

    /// The values of several properties at a single moment, for callers that can handle an error.
    package struct StateSnapshot {
        package let isLocked: Bool
        package let isOwner: Bool
        package let state: StateID
        package let owners: OwnersPublicKey
        package let tail: TailState
        /// The number of earlier values that each field of an item keeps.
        package let keptVersions: Int
    }

    package func stateSnapshot() throws(VaultError) -> StateSnapshot {
        try withCore { (core) throws(VaultError) in
            StateSnapshot(
                isLocked: core.isLocked, isOwner: core.isOwner, state: core.state,
                owners: OwnersPublicKey(core.store.ownersPublicKey), tail: core.store.tail, keptVersions: core.limit)
        }
    }

    // MARK: locking

    /// Wipes the vault key, the wrapping keys, and the keys of items that are accessible only when unlocked. The
    /// metadata of the current state can still be read, and so can secrets that are accessible after first unlock.
    /// Nothing can be changed until `unlock` is called.
    public func lock() {
        guard exclusive.isOfThisProcess else {
            guard exclusive.acquireIfFree() else { return }
            defer { exclusive.release() }
            return core.lock()
        }
        do throws(VaultError) {
            try exclusive.withLock(waitingForTransaction: .infinity) { () throws(VaultError) in core.lock() }
        } catch {
            // Only possible within this thread's own transaction, which needs the keys when it ends.
            preconditionFailure("a vault cannot be locked within a transaction")
        }
    }

    /// Locks the vault like `lock`, for callers that can handle an error: `invalidArgument` within this thread's own
    /// transaction, `busy` or `otherProcess`.
    package func tryLock() throws(VaultError) { try withCore { (core) throws(VaultError) in core.lock() } }

    /// Unlocks the vault with the factors of any of its slots, and moves to the newest state. Throws the same errors as
    /// opening.
    public func unlock(_ factors: borrowing Factors, limits: ReaderLimits = .init()) throws(VaultError) {
        try withCore { (core) throws(VaultError) in try core.unlock(factors, limits) }
    }
}

extension VaultCore {
    /// Identifies the state that is being read.
    var state: StateID { id(of: store.state) }

    /// Returns the id of a state of the file.
    func id(of state: CommittedState) -> StateID {
        StateID(vault: VaultID(store.vault), generation: state.commit.generation, chainValue: state.chain)
    }

    /// Returns the state that is being read, in a form that can be remembered.
    func anchor() throws(VaultError) -> Anchor {
        let point = AnchorPoint(
            ownersPublicKey: store.ownersPublicKey, generation: store.state.commit.generation, chain: store.state.chain,
            vector: try store.vector())
        return Anchor(vault: VaultID(store.vault), point: point)
    }
}
