import Testing
import VaultCrypto

@Suite("A generated key file")
final class KeyFileFormatTests {
    private let key = Secret(bytes: (0..<32).map { UInt8($0) })

    @Test("is 89 bytes of ASCII: marker, digits, check digits, newline")
    func form() throws {
        let text = String(decoding: KeyFileFormat.encode(key).array, as: UTF8.self)
        var hash = Blake2b()
        hash.update("vaultfmt-1 key file check")
        hash.update((0..<32).map { UInt8($0) })
        let check = withUnsafeBytes(of: hash.finish()) { $0[..<4].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
        #expect(text == "VAULTFMT-KEY-1-000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f-\(check)\n")
        #expect(text.utf8.count == KeyFileFormat.size)
        #expect(try KeyFileFormat.decode(Secret(text: text)).equals(key) == true)
        #expect(KeyFileFormat.isGenerated(Secret(text: text)) == true)
    }

    @Test("with any byte changed is damaged, and never another key (R-3.9)")
    func damaged() {
        let bytes = KeyFileFormat.encode(key).array
        for index in bytes.indices {
            for change in [1, 0x20, 0x80] as [UInt8] {
                var bad = bytes
                bad[index] ^= change
                #expect(throws: CryptoError.keyFileDamaged) { _ = try KeyFileFormat.decode(Secret(bytes: bad)) }
            }
        }
        for bad in [Array(bytes.dropLast()), bytes + [10], [], bytes.dropLast() + [13, 10]] {
            #expect(throws: CryptoError.keyFileDamaged) { _ = try KeyFileFormat.decode(Secret(bytes: bad)) }
        }
        let upper = String(decoding: bytes, as: UTF8.self).uppercased()
        #expect(throws: CryptoError.keyFileDamaged) { _ = try KeyFileFormat.decode(Secret(text: upper)) }
    }

    @Test("is known by its first bytes")
    func marker() {
        for text in ["VAULTFMT-KEY-", "VAULTFMT-KEY-2-", "VAULTFMT-KEY-1-zz"] {
            #expect(KeyFileFormat.isGenerated(Secret(text: text)) == true)
        }
        for text in ["", "VAULTFMT-KEY", "vaultfmt-key-1-", " VAULTFMT-KEY-1-"] {
            #expect(KeyFileFormat.isGenerated(Secret(text: text)) == false)
        }
    }
}

@Suite("A slot's key")
struct SlotKeyTests {
    private let vault = [UInt8](repeating: 1, count: 16)
    private let parameters = [UInt8](repeating: 2, count: 46)

    private func factors(_ passphrase: String?, _ key: UInt8?, _ file: String?, kinds: UInt8) -> FactorKeys {
        FactorKeys(
            passphrase: passphrase.map { Secret(text: $0) }, key: key.map { Secret(bytes: [UInt8](repeating: $0, count: 32)) },
            fileHash: file.map { FactorKeys.hash(ofKeyFile: Secret(text: $0)) }, kinds: kinds)
    }

    @Test("is what the specification's formula gives (section 3.1)")
    func formula() {
        // input = H(str8 "vaultfmt-1 stretch" ‖ factors ‖ u32 length(P) ‖ P ‖ F), written out here.
        let file = FactorKeys.hash(ofKeyFile: Secret(text: "content")).array
        let expectedFile = Array("\u{13}vaultfmt-1 key filecontent".utf8)
        #expect(file == bytes(expectedFile.withUnsafeBytes { Blake2b.hash($0) }))
        let input = Array("\u{12}vaultfmt-1 stretch".utf8) + [5, 2, 0, 0, 0] + Array("pw".utf8) + file
        #expect(factors("pw", nil, "content", kinds: 5).stretchInput().array == bytes(input.withUnsafeBytes { Blake2b.hash($0) }))

        let stretched = Secret(bytes: [UInt8](repeating: 7, count: 32))
        let generated = Secret(bytes: [UInt8](repeating: 8, count: 32))
        let both: Secret? = stretched.copy()
        let second: Secret? = generated.copy()
        let key = SlotKey(stretched: both, key: second, vault: vault, parameters: parameters)
        let material = Secret(bytes: [UInt8](repeating: 7, count: 32) + [UInt8](repeating: 8, count: 32))
        let slotKey = material.derive("vaultfmt-1 slot key", vault + parameters)
        #expect(key.wrappingKey().equals(slotKey.derive("vaultfmt-1 slot wrap")) == true)
        #expect(bytes(key.commitment()) == slotKey.derive("vaultfmt-1 slot commitment").array)
    }

    @Test("depends on every factor and every parameter, and its commitment with it")
    func dependence() {
        func commitment(_ stretched: UInt8?, _ key: UInt8?, _ vault: [UInt8], _ parameters: [UInt8]) -> [UInt8] {
            let a: Secret? = stretched.map { Secret(bytes: [UInt8](repeating: $0, count: 32)) }
            let b: Secret? = key.map { Secret(bytes: [UInt8](repeating: $0, count: 32)) }
            return bytes(SlotKey(stretched: a, key: b, vault: vault, parameters: parameters).commitment())
        }
        var other = vault
        other[15] = 9
        var changed = parameters
        changed[45] = 9
        let all = [
            commitment(1, nil, vault, parameters), commitment(2, nil, vault, parameters), commitment(1, 2, vault, parameters),
            commitment(2, 1, vault, parameters), commitment(1, nil, other, parameters), commitment(1, nil, vault, changed),
        ]
        #expect(Set(all).count == all.count)
        // Which of the two 32 bytes came from is in the parameters: the factors.
        #expect(commitment(1, nil, vault, parameters) == commitment(nil, 1, vault, parameters))
    }

    @Test("stretches factors so that none can stand for another")
    func inputs() {
        let all = [
            factors("a", nil, nil, kinds: 1).stretchInput().array, factors("a", nil, nil, kinds: 3).stretchInput().array,
            factors("a", nil, "f", kinds: 5).stretchInput().array, factors(nil, nil, "f", kinds: 4).stretchInput().array,
            factors("af", nil, nil, kinds: 1).stretchInput().array,
        ]
        #expect(Set(all).count == all.count)
    }
}

@Suite("The key schedule")
struct KeyScheduleTests {
    private let epoch = [UInt8](repeating: 4, count: 32)

    @Test("is what the specification says (section 3.3)")
    func formula() {
        let vaultKey = Secret(bytes: [UInt8](repeating: 3, count: 32))
        let keys = VaultKeys(vaultKey: vaultKey.copy(), epoch: epoch)
        #expect(keys.index.equals(vaultKey.derive("vaultfmt-1 index", epoch)) == true)
        #expect(keys.locator.equals(vaultKey.derive("vaultfmt-1 index", epoch).derive("vaultfmt-1 locator")) == true)
        #expect(keys.reader.equals(vaultKey.derive("vaultfmt-1 reader", epoch)) == true)
        #expect(keys.isOwner == true)
        let owner = OwnerKeys(vaultKey: vaultKey.copy(), epoch: epoch)
        #expect(owner.mac.equals(vaultKey.derive("vaultfmt-1 owner", epoch)) == true)
        #expect(owner.slotOwner.equals(vaultKey.derive("vaultfmt-1 slot owner")) == true)
        #expect(owner.keyring.equals(vaultKey.derive("vaultfmt-1 keyring")) == true)
        let id = [UInt8](repeating: 9, count: 16)
        #expect(keys.fingerprint(vault: id) == Array(vaultKey.derive("vaultfmt-1 fingerprint", id).array[..<16]))
        #expect(keys.withoutOwner().fingerprint(vault: id) == Array(keys.index.derive("vaultfmt-1 fingerprint", id).array[..<16]))
    }

    @Test("gives keys that all differ, and others in another epoch")
    func distinct() {
        let vaultKey = Secret(bytes: [UInt8](repeating: 3, count: 32))
        func all(_ epoch: [UInt8]) -> [[UInt8]] {
            let keys = VaultKeys(vaultKey: vaultKey.copy(), epoch: epoch)
            let owner = OwnerKeys(vaultKey: vaultKey.copy(), epoch: epoch)
            return [
                keys.index.array, keys.locator.array, keys.reader.array, owner.mac.array, owner.slotOwner.array, owner.keyring.array,
                owner.vault.array,
            ]
        }
        let first = all(epoch)
        let second = all([UInt8](repeating: 5, count: 32))
        #expect(Set(first).count == 7)
        // The last three do not depend on the epoch: slots and groups outlive it.
        #expect(Set(first + second).count == 11)
    }

    @Test("gives a scoped holder, or a locked vault, nothing that only an owner has")
    func scoped() {
        let keys = VaultKeys(vaultKey: Secret.random(count: 32), epoch: epoch)
        #expect(keys.withoutOwner().isOwner == false)
        #expect(keys.withoutOwner().locator.equals(keys.locator) == true)
    }
}
