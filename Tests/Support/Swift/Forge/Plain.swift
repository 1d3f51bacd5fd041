package import VaultBytes
package import VaultCrypto

/// What went wrong while a vault was taken apart or put together.
package struct ForgeError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The primitives of section 1 over plain bytes, with every input given: a forge makes vaults for tests, and its keys
/// are no secrets.
package enum Plain {
    /// `H(bytes)`.
    package static func hash(_ bytes: [UInt8]) -> Bytes32 { bytes.withUnsafeBytes { Blake2b.hash($0) } }

    /// `str8 label`.
    package static func label(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }

    /// `derive(key, label, x)`.
    package static func mac(_ key: [UInt8], _ label: String, _ x: [UInt8]) -> [UInt8] {
        var mac = Blake2b(key: Secret(bytes: key))
        mac.update(Plain.label(label) + x)
        return mac.finish().bytes
    }

    /// nonce ‖ sealed.
    package static func seal(_ plain: [UInt8], key: [UInt8], nonce: [UInt8], bound: [UInt8]) -> [UInt8] {
        AEAD.wrap(Secret(bytes: plain), bound, key: Secret(bytes: key), .repeating(nonce))
    }

    /// What nonce ‖ sealed opens to; nil if it does not open.
    package static func open(_ sealed: [UInt8], key: [UInt8], bound: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Format.nonceSize + Format.tagSize else { return nil }
        do throws(CryptoError) {
            return try AEAD.unwrap(sealed, bound, key: Secret(bytes: key)).plain
        } catch { return nil }
    }

    /// The Ed25519 signature of a message under the key pair with this seed.
    package static func sign(_ message: [UInt8], seed: [UInt8]) -> [UInt8] {
        SigningKey(seed: Secret(bytes: seed)).sign(message)
    }

    package static func publicKey(seed: [UInt8]) -> Bytes32 { SigningKey(seed: Secret(bytes: seed)).publicKey }
}

/// Associated data and signed messages, put together from the specification (sections 3, 4, 5.4, 5.6 and 7.3).
package enum Bindings {
    package static func label(_ text: String, _ vault: Bytes16) -> [UInt8] { Plain.label(text) + vault.bytes }

    /// `AD(label, x)` of a frame that is bound to its own offset.
    package static func placed(_ type: FrameType, _ vault: Bytes16, at offset: UInt64, length: Int) -> [UInt8] {
        var out = label(labelOf(type), vault)
        out.append(u64: offset)
        out.append(u64: FrameHead(type, length: length).encoded)
        return out
    }

    package static func record(_ vault: Bytes16, _ name: ForgedObject.RecordName, length: Int) -> [UInt8] {
        var out = label("vaultfmt-1 record", vault) + name.bytes
        out.append(u64: FrameHead(.record, length: length).encoded)
        return out
    }

    package static func labelOf(_ type: FrameType) -> String {
        switch type {
        case .record: "vaultfmt-1 record"
        case .page: "vaultfmt-1 page"
        case .past: "vaultfmt-1 past"
        case .keyring: "vaultfmt-1 keyring"
        case .vector: "vaultfmt-1 vector"
        case .commit: "vaultfmt-1 commit"
        case .chunk: "vaultfmt-1 chunk"
        }
    }

    package static func group(_ vault: Bytes16, _ number: UInt64, _ name: [UInt8]) -> [UInt8] {
        var out = label("vaultfmt-1 group", vault)
        out.append(u64: number)
        return out + name
    }

    /// A of section 5.4.
    package static func compartment(_ vault: Bytes16, _ info: Keyring.Compartment) -> [UInt8] {
        var out = label("vaultfmt-1 compartment", vault)
        out.append(u64: info.number)
        out.append(u64: info.group)
        out.append(info.accessibility)
        out.append(info.device)
        return out
    }

    /// A' of section 5.4.
    package static func deviceCompartment(_ vault: Bytes16, _ info: Keyring.Compartment) -> [UInt8] {
        var out = label("vaultfmt-1 device compartment", vault)
        out.append(u64: info.number)
        out.append(info.accessibility)
        out.append(info.device)
        return out
    }

    package static func slot(_ vault: Bytes16, _ slot: Slot) -> [UInt8] { label("vaultfmt-1 slot", vault) + slot.clear }
    package static func slotOwner(_ vault: Bytes16, _ slot: Slot) -> [UInt8] {
        label("vaultfmt-1 slot owner", vault) + slot.beforeOwner
    }

    /// What the signature of a commit signs.
    package static func commit(_ chain: [UInt8]) -> [UInt8] { Plain.label("vaultfmt-1 commit") + chain }

    /// What a hand-over signs.
    package static func handOver(_ vault: Bytes16, _ vector: Vector, next: Bytes32) -> [UInt8] {
        var rows: [UInt8] = []
        for row in vector.rows.sorted(by: { $0.id < $1.id }) {
            rows.append(u64: row.id)
            rows.append(u64: row.revision | (row.isSplit ? 1 << 63 : 0))
        }
        var out = label("vaultfmt-1 hand-over", vault) + Plain.hash(rows).bytes
        out.append(u64: vector.floor)
        return out + next.bytes
    }

    /// The chain value of a core.
    package static func chain(_ vault: Bytes16, _ core: [UInt8]) -> Bytes32 {
        Plain.hash(label("vaultfmt-1 chain", vault) + core)
    }

    /// The digest of what a commit appended.
    package static func digest(_ hashes: [Bytes32]) -> Bytes32 {
        Plain.hash(Plain.label("vaultfmt-1 digest") + hashes.flatMap(\.bytes))
    }
}

extension Secret {
    package borrowing func plainBytes() -> [UInt8] { withUnsafeBytes { Array($0) } }
    package var plain: [UInt8] { borrowing get { plainBytes() } }
}
