package import VaultBytes
package import VaultCrypto

/// What a slot grants, as it is sealed.
package struct SlotPayload: ~Copyable {
    package let kind: Slot.Kind
    let plain: Secret

    package init(vaultKey: borrowing Secret) {
        kind = .full
        plain = vaultKey.copy()
    }

    /// For a scoped slot: at most 32 groups.
    package init(_ keys: borrowing VaultKeys, grants: borrowing Grants) {
        kind = .scoped
        let numbers = grants.numbers
        var plain = Secret(count: ScopedPayload.size(groups: numbers.count))
        plain.withUnsafeMutableBytes { out in
            Self.copy(keys.index, into: out, at: 0)
            Self.copy(keys.reader, into: out, at: 32)
            out[64] = UInt8(numbers.count)
            for (position, number) in numbers.enumerated() {
                let at = 65 + position * Format.groupGrantSize
                out.storeBytes(of: number.littleEndian, toByteOffset: at, as: UInt32.self)
                if let key = grants.key(number) { Self.copy(key, into: out, at: at + 4) }
            }
        }
        self.plain = plain
    }

    private static func copy(_ secret: borrowing Secret, into out: UnsafeMutableRawBufferPointer, at offset: Int) {
        secret.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: out[offset..<offset + $0.count]).copyMemory(from: $0) }
    }
}

/// Makes slots.
package enum SlotSeal {
    /// A slot for these factors, and its wrapping key.
    package static func make(
        _ payload: borrowing SlotPayload, _ factors: borrowing FactorKeys, cost: Slot.Cost?, name: String, vault: Bytes16,
        owner: borrowing OwnerKeys,
        _ random: Randomness
    ) throws(VaultError) -> (slot: Slot, wrappingKey: SecretBox) {
        let isStretched = Slot.isStretched(factors.kinds)
        var slot = Slot(
            id: random.bytes16(), kind: payload.kind, factors: factors.kinds, cost: isStretched ? cost : nil,
            salt: isStretched ? random.bytes16() : .zero)
        let wrapping: Secret
        do throws(CryptoError) {
            let key = try key(slot, vault, factors)
            slot.commitment = Bytes32(words: key.commitment())
            wrapping = key.wrappingKey()
        } catch { throw VaultError(crypto: error, "a new slot") }
        seal(payload, into: &slot, wrappingKey: wrapping, vault: vault, random)
        sealOwner(name: name, wrappingKey: wrapping, into: &slot, vault: vault, owner: owner, random)
        return (slot, SecretBox(wrapping))
    }

    /// Seals what a slot grants, under its wrapping key.
    package static func seal(
        _ payload: borrowing SlotPayload, into slot: inout Slot, wrappingKey: borrowing Secret, vault: Bytes16, _ random: Randomness
    ) {
        slot.payload = AEAD.wrap(payload.plain, bound("vaultfmt-1 slot", vault, slot), key: wrappingKey, random)
    }

    /// Seals a slot's name, and for a scoped one its wrapping key, for owners.
    package static func sealOwner(
        name: String, wrappingKey: borrowing Secret, into slot: inout Slot, vault: Bytes16, owner: borrowing OwnerKeys, _ random: Randomness
    ) {
        let isScoped = slot.kind == .scoped
        var plain = Secret(count: Format.slotOwnerPlainSize)
        plain.withUnsafeMutableBytes { out in
            out[0] = UInt8(name.utf8.count)
            for (index, byte) in name.utf8.enumerated() { out[1 + index] = byte }
            guard isScoped else { return }
            wrappingKey.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: out[Format.slotNameArea...]).copyMemory(from: $0) }
        }
        slot.owner = AEAD.wrap(plain, bound("vaultfmt-1 slot owner", vault, slot), key: owner.slotOwner, random)
    }

    /// A slot's name, and a scoped slot's wrapping key.
    package static func openOwner(_ slot: Slot, vault: Bytes16, owner: borrowing OwnerKeys) throws(VaultError) -> (
        name: String, wrappingKey: SecretBox
    ) {
        let plain: Secret
        do throws(CryptoError) {
            plain = try AEAD.unwrap(slot.owner, bound("vaultfmt-1 slot owner", vault, slot), key: owner.slotOwner)
        } catch { throw VaultError(crypto: error, "the name of a slot") }
        let result: Result<String, FormatError> = plain.withSpan { bytes in
            do throws(FormatError) { return .success(try readName(bytes)) } catch { return .failure(error) }
        }
        let name = try decoding { () throws(FormatError) in try result.get() }
        return (name, SecretBox(plain.slice(Format.slotNameArea..<Format.slotOwnerPlainSize)))
    }

    private static func readName(_ bytes: Span<UInt8>) throws(FormatError) -> String {
        var cursor = Cursor(bytes, at: 0, else: .structureInvalid)
        let length = Int(try cursor.u8(bytes))
        guard length <= Format.Limit.slotName else { throw cursor.limit("a slot's name of \(length) bytes") }
        let name = try cursor.text(bytes, try cursor.take(length, "a slot's name"))
        try cursor.padding(bytes, to: Format.slotNameArea)
        return name
    }

    package static func bound(_ label: StaticString, _ vault: Bytes16, _ slot: Slot) -> [UInt8] {
        var out: [UInt8] = [UInt8(label.utf8CodeUnitCount)]
        out.append(contentsOf: UnsafeBufferPointer(start: label.utf8Start, count: label.utf8CodeUnitCount))
        out.append(vault)
        out.append(contentsOf: slot.clear)
        return out
    }

    package static func key(_ slot: Slot, _ vault: Bytes16, _ factors: borrowing FactorKeys) throws(CryptoError) -> SlotKey {
        var stretched: Secret?
        if let cost = slot.cost {
            stretched = try Argon2.stretch(
                factors.stretchInput(), salt: slot.salt.bytes, memoryKiB: cost.memoryKiB, passes: cost.passes, lanes: cost.lanes)
        }
        return SlotKey(stretched: stretched, key: factors.key, vault: vault.bytes, parameters: slot.parameters)
    }
}

/// A secret where a copyable value is needed: shared, and wiped with its last holder.
package final class SecretBox: Sendable {
    package let secret: Secret

    package init(_ secret: consuming Secret) { self.secret = secret }
}

extension Randomness {
    package func bytes16() -> Bytes16 {
        var out: (UInt64, UInt64) = (0, 0)
        withUnsafeMutableBytes(of: &out) { fill($0) }
        return Bytes16(high: out.0.bigEndian, low: out.1.bigEndian)
    }

    package func bytes32() -> Bytes32 {
        var out = Bytes32.zero
        withUnsafeMutableBytes(of: &out.words) { fill($0) }
        return out
    }
}

/// A header's MACs.
package enum HeaderSeal {
    ///
    package static func check(_ header: Header, _ bytes: [UInt8], _ keys: borrowing VaultKeys) throws(VaultError) {
        let macs = compute(bytes, keys)
        let isReaderMACRight = macs.reader == header.readerMAC
        let isOwnerMACRight = macs.owner == nil || macs.owner == header.ownerMAC
        guard isReaderMACRight, isOwnerMACRight else {
            throw VaultError(.authenticationFailed, "the header does not authenticate: damaged or altered", at: 0)
        }
    }

    /// The whole region, with MACs; for who holds the owner keys.
    package static func seal(_ header: inout Header, _ keys: borrowing VaultKeys) throws(VaultError) -> [UInt8] {
        let bytes: [UInt8]
        do throws(FormatError) { bytes = try header.encodeWithoutMACs() } catch { throw VaultError(format: error) }
        let macs = compute(bytes + [UInt8](repeating: 0, count: Format.headerMACSize), keys)
        header.readerMAC = macs.reader
        header.ownerMAC = macs.owner ?? .zero
        return header.encode(without: bytes)
    }

    private static func compute(_ bytes: [UInt8], _ keys: borrowing VaultKeys) -> (reader: Bytes32, owner: Bytes32?) {
        bytes.withUnsafeBytes { bytes in
            let covered = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - Format.headerMACSize)])
            let reader = Bytes32(words: keys.reader.mac("vaultfmt-1 header reader", covered))
            switch keys.owner {
            case .some(let owner): return (reader, Bytes32(words: owner.mac.mac("vaultfmt-1 header owner", covered)))
            case .none: return (reader, nil)
            }
        }
    }
}
