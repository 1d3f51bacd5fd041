package import VaultBytes

/// The user's factors, prepared for use with slots: a passphrase in NFC, a key file or a raw key. External keys are
/// obtained from providers, separately for each slot.
package struct FactorKeys: ~Copyable, Sendable {
    package var passphrase: Secret?
    /// The 32 bytes of a generated key file or raw key.
    package var key: Secret?
    /// The hash of any other key file.
    package var fileHash: Secret?
    /// The set of factors, as slots store it.
    package let kinds: SlotFactors

    package init(passphrase: consuming Secret?, key: consuming Secret?, fileHash: consuming Secret?, kinds: SlotFactors)
    {
        self.passphrase = passphrase
        self.key = key
        self.fileHash = fileHash
        self.kinds = kinds
    }

    package borrowing func copy() -> FactorKeys {
        FactorKeys(passphrase: passphrase.copied(), key: key.copied(), fileHash: fileHash.copied(), kinds: kinds)
    }

    package static func hash(ofKeyFile content: borrowing Secret) -> Secret {
        var hash = Blake2b()
        hash.update(Label.keyFile)
        content.withUnsafeBytes { hash.update($0) }
        return hash.finishSecret()
    }

    /// Returns the input of Argon2id (section 3.1).
    package borrowing func stretchInput() -> Secret {
        var hash = Blake2b()
        hash.update(Label.stretch)
        hash.update([kinds.rawValue])
        hash.update(UInt32(passphrase.byteCount))
        passphrase.feed(&hash)
        fileHash.feed(&hash)
        return hash.finishSecret()
    }
}

/// The key of one slot, and the keys derived from it.
package struct SlotKey: ~Copyable {
    private let key: Secret

    /// `stretched`: the output of Argon2id for the passphrase or the other key file, if the factors include one.
    /// `key`: the generated, raw or external key, 32 bytes, if the factors include one.
    /// `derivedOver`: bytes 0 to 32+p of the slot.
    package init(stretched: borrowing Secret?, key: borrowing Secret?, vault: Bytes16, derivedOver: [UInt8]) {
        var material = Secret(count: stretched.byteCount + key.byteCount)
        let first = stretched.byteCount
        material.withUnsafeMutableBytes { out in
            stretched.copy(into: UnsafeMutableRawBufferPointer(rebasing: out[..<first]))
            key.copy(into: UnsafeMutableRawBufferPointer(rebasing: out[first...]))
        }
        self.key = material.derive(Label.slotKey, vault.bytes + derivedOver)
    }

    package borrowing func commitment() -> Bytes32 {
        key.mac(Label.slotCommitment, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    package borrowing func wrappingKey() -> Secret { key.derive(Label.slotWrap) }
}

extension Optional where Wrapped == Secret {
    package var byteCount: Int {
        borrowing get {
            switch self {
            case .some(let secret): secret.count
            case .none: 0
            }
        }
    }

    package borrowing func copied() -> Secret? {
        switch self {
        case .some(let secret): secret.copy()
        case .none: nil
        }
    }

    fileprivate borrowing func feed(_ hash: inout Blake2b) {
        switch self {
        case .some(let secret): secret.withUnsafeBytes { hash.update($0) }
        case .none: break
        }
    }

    fileprivate borrowing func copy(into out: UnsafeMutableRawBufferPointer) {
        switch self {
        case .some(let secret): secret.withUnsafeBytes { out.copyMemory(from: $0) }
        case .none: break
        }
    }
}
