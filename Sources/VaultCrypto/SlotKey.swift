/// The factors that somebody has given, made ready for slots: passphrase in NFC, key file or raw key.
package struct FactorKeys: ~Copyable, Sendable {
    package var passphrase: Secret?
    /// Of a generated key file, or raw: 32 bytes.
    package var key: Secret?
    /// The hash of another key file.
    package var fileHash: Secret?
    /// As in a slot: 1 passphrase, 2 generated key file, 4 other key file, 8 raw key.
    package let kinds: UInt8

    package init(passphrase: consuming Secret?, key: consuming Secret?, fileHash: consuming Secret?, kinds: UInt8) {
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
        hash.update("vaultfmt-1 key file")
        content.withUnsafeBytes { hash.update($0) }
        return hash.finishSecret()
    }

    /// What Argon2id stretches (section 3.1).
    package borrowing func stretchInput() -> Secret {
        var hash = Blake2b()
        hash.update("vaultfmt-1 stretch")
        hash.update([kinds])
        hash.update(UInt32(passphrase.byteCount))
        passphrase.feed(&hash)
        fileHash.feed(&hash)
        return hash.finishSecret()
    }
}

/// The key of one slot, and what is derived from it.
package struct SlotKey: ~Copyable {
    private let key: Secret

    /// From the stretched passphrase (or other key file) and the 32-byte key, whichever the factors have; `parameters` are bytes 2 to 48 of the slot.
    package init(stretched: borrowing Secret?, key: borrowing Secret?, vault: [UInt8], parameters: [UInt8]) {
        var material = Secret(count: stretched.byteCount + key.byteCount)
        let first = stretched.byteCount
        material.withUnsafeMutableBytes { out in
            stretched.copy(into: UnsafeMutableRawBufferPointer(rebasing: out[..<first]))
            key.copy(into: UnsafeMutableRawBufferPointer(rebasing: out[first...]))
        }
        self.key = material.derive("vaultfmt-1 slot key", vault + parameters)
    }

    package borrowing func commitment() -> Blake2b.Output {
        key.mac("vaultfmt-1 slot commitment", UnsafeRawBufferPointer(start: nil, count: 0))
    }

    package borrowing func wrappingKey() -> Secret { key.derive("vaultfmt-1 slot wrap") }
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
