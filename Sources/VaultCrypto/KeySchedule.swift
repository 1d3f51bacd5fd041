package import VaultBytes

/// The keys that a slot grants (section 3.4): all of them for an owner, but only the index key for the holder of a
/// scoped slot.
package struct VaultKeys: ~Copyable, Sendable {
    package let index: Secret
    package let owner: OwnerKeys?
    /// The owners' public key from a scoped slot's payload; nil for an owner, who derives it instead.
    private let statedPublicKey: Bytes32?

    /// Derives the keys available to a holder of the vault key.
    package init(vaultKey: consuming Secret, epoch: Bytes32) {
        index = vaultKey.derive(Label.index, epoch.bytes)
        owner = OwnerKeys(vaultKey: vaultKey, epoch: epoch)
        statedPublicKey = nil
    }

    /// Creates the keys available to the holder of a scoped slot's payload.
    package init(index: consuming Secret, ownersPublicKey: Bytes32) {
        self.index = index
        owner = nil
        statedPublicKey = ownersPublicKey
    }

    /// Returns the subset of these keys that a locked vault may hold.
    package borrowing func withoutOwner() -> VaultKeys {
        VaultKeys(index: index.copy(), ownersPublicKey: ownersPublicKey())
    }

    /// Returns the key that verifies the owners' commits. For an owner, deriving it takes about 28 µs.
    package borrowing func ownersPublicKey() -> Bytes32 {
        switch owner {
        case .some(let owner): owner.signing().publicKey
        case .none: statedPublicKey ?? .zero
        }
    }

    /// Passes the owner's keys to `body`; throws `error` for the holder of a scoped slot.
    package borrowing func asOwner<R: ~Copyable, E: Error>(
        else error: @autoclosure () -> E, _ body: (borrowing OwnerKeys) throws(E) -> R
    ) throws(E) -> R {
        switch owner {
        case .some(let owner): return try body(owner)
        case .none: throw error()
        }
    }

    package var isOwner: Bool {
        borrowing get {
            switch owner {
            case .some: true
            case .none: false
            }
        }
    }
}

/// The keys that only a full slot grants.
package struct OwnerKeys: ~Copyable, Sendable {
    package let vault: Secret
    /// The key for the owner MAC of commits.
    package let mac: Secret
    package let slotOwner: Secret
    /// The key that wraps group keys.
    package let keyring: Secret
    /// The key of group 0, which wraps the compartments of earlier values.
    package let earlier: Secret
    package let locator: Secret
    /// The key that seals past frames; unlike the others, it depends on the epoch.
    package let past: Secret

    package init(vaultKey: consuming Secret, epoch: Bytes32) {
        mac = vaultKey.derive(Label.owner)
        slotOwner = vaultKey.derive(Label.slotOwner)
        keyring = vaultKey.derive(Label.keyringKey)
        earlier = vaultKey.derive(Label.earlier)
        locator = vaultKey.derive(Label.locator)
        past = vaultKey.derive(Label.past, epoch.bytes)
        vault = vaultKey
    }

    /// Derives the key pair that signs commits and hand-overs.
    package borrowing func signing() -> SigningKey { SigningKey(seed: vault.derive(Label.signing)) }
}

/// The key of one device, which opens device-only items (section 3.6).
package enum DeviceKey {
    package static func derive(_ secret: borrowing Secret, vault: Bytes16) -> Secret {
        secret.derive(Label.device, vault.bytes)
    }
}
