import Testing
import VaultBytes
import VaultCrypto

@Suite("A slot's key")
struct SlotKeyTests {
    private let vault = Bytes16(high: 0x0101_0101_0101_0101, low: 0x0202_0202_0202_0202)
    private let slot = [UInt8](repeating: 2, count: 76)

    private func factors(_ passphrase: String?, _ key: UInt8?, _ file: String?, kinds: SlotFactors) -> FactorKeys {
        FactorKeys(
            passphrase: passphrase.map { Secret(text: $0) },
            key: key.map { Secret(bytes: [UInt8](repeating: $0, count: 32)) },
            fileHash: file.map { FactorKeys.hash(ofKeyFile: Secret(text: $0)) }, kinds: kinds)
    }

    private func hash(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { Blake2b.hash($0) }.bytes }

    @Test("is what the specification's formula gives (section 3.1)")
    func formula() {
        // input = H(str8 "vaultfmt-1 stretch" ‖ factors ‖ u32 length(P) ‖ P ‖ F), written out here.
        let file = FactorKeys.hash(ofKeyFile: Secret(text: "content")).array
        #expect(file == hash(Array("\u{13}vaultfmt-1 key filecontent".utf8)))
        let input = Array("\u{12}vaultfmt-1 stretch".utf8) + [5, 2, 0, 0, 0] + Array("pw".utf8) + file
        #expect(factors("pw", nil, "content", kinds: [.passphrase, .otherKeyFile]).stretchInput().array == hash(input))
        let fileOnly = Array("\u{12}vaultfmt-1 stretch".utf8) + [4, 0, 0, 0, 0] + file
        #expect(factors(nil, nil, "content", kinds: .otherKeyFile).stretchInput().array == hash(fileOnly))

        let stretched: Secret? = Secret(bytes: [UInt8](repeating: 7, count: 32))
        let generated: Secret? = Secret(bytes: [UInt8](repeating: 8, count: 32))
        let key = SlotKey(stretched: stretched, key: generated, vault: vault, derivedOver: slot)
        let material = Secret(bytes: [UInt8](repeating: 7, count: 32) + [UInt8](repeating: 8, count: 32))
        let slotKey = material.derive("vaultfmt-1 slot key", vault.bytes + slot)
        #expect(key.wrappingKey().equals(slotKey.derive("vaultfmt-1 slot wrap")) == true)
        #expect(key.commitment().bytes == slotKey.derive("vaultfmt-1 slot commitment").array)
    }

    @Test("depends on every factor and every byte of the slot before its commitment, and its commitment with it")
    func dependence() {
        func commitment(_ stretched: UInt8?, _ key: UInt8?, _ vault: Bytes16, _ slot: [UInt8]) -> [UInt8] {
            let a: Secret? = stretched.map { Secret(bytes: [UInt8](repeating: $0, count: 32)) }
            let b: Secret? = key.map { Secret(bytes: [UInt8](repeating: $0, count: 32)) }
            return SlotKey(stretched: a, key: b, vault: vault, derivedOver: slot).commitment().bytes
        }
        var all = [
            commitment(1, nil, vault, slot), commitment(2, nil, vault, slot), commitment(1, 2, vault, slot),
            commitment(2, 1, vault, slot), commitment(1, nil, .zero, slot),
        ]
        for index in slot.indices {
            var changed = slot
            changed[index] ^= 1
            all.append(commitment(1, nil, vault, changed))
        }
        #expect(Set(all).count == all.count)
        // Which of the two 32 bytes came from is in the slot: its factors.
        #expect(commitment(1, nil, vault, slot) == commitment(nil, 1, vault, slot))
    }

    @Test("stretches factors so that none can stand for another")
    func inputs() {
        let all = [
            factors("a", nil, nil, kinds: .passphrase).stretchInput().array,
            factors("a", nil, nil, kinds: [.passphrase, .generatedKeyFile]).stretchInput().array,
            factors("a", nil, nil, kinds: [.passphrase, .externalKey]).stretchInput().array,
            factors("a", nil, "f", kinds: [.passphrase, .otherKeyFile]).stretchInput().array,
            factors(nil, nil, "f", kinds: .otherKeyFile).stretchInput().array,
            factors("af", nil, nil, kinds: .passphrase).stretchInput().array,
        ]
        #expect(Set(all).count == all.count)
    }

    @Test("keeps nothing of the factors that it was copied from")
    func copies() {
        let original = factors("pw", 3, "content", kinds: [.passphrase, .otherKeyFile])
        let copy = original.copy()
        #expect(copy.stretchInput().array == original.stretchInput().array)
        #expect(copy.key.byteCount == 32 && copy.kinds == original.kinds)
    }
}
