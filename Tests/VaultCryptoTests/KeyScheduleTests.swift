import Testing
import VaultBytes
import VaultCrypto

@Suite("The key schedule")
struct KeyScheduleTests {
    private let epoch = Bytes32(words: (4, 4, 4, 4))

    @Test("is what the specification says (section 3.4)")
    func formula() {
        let vaultKey = Secret(bytes: [UInt8](repeating: 3, count: 32))
        let keys = VaultKeys(vaultKey: vaultKey.copy(), epoch: epoch)
        #expect(keys.index.equals(vaultKey.derive("vaultfmt-1 index", epoch.bytes)) == true)
        #expect(keys.isOwner == true)
        let owner = OwnerKeys(vaultKey: vaultKey.copy(), epoch: epoch)
        #expect(owner.vault.equals(vaultKey) == true)
        #expect(owner.mac.equals(vaultKey.derive("vaultfmt-1 owner")) == true)
        #expect(owner.locator.equals(vaultKey.derive("vaultfmt-1 locator")) == true)
        #expect(owner.slotOwner.equals(vaultKey.derive("vaultfmt-1 slot owner")) == true)
        #expect(owner.keyring.equals(vaultKey.derive("vaultfmt-1 keyring")) == true)
        #expect(owner.earlier.equals(vaultKey.derive("vaultfmt-1 earlier")) == true)
        #expect(owner.past.equals(vaultKey.derive("vaultfmt-1 past", epoch.bytes)) == true)
        #expect(owner.signing().publicKey == SigningKey(seed: vaultKey.derive("vaultfmt-1 signing")).publicKey)
        #expect(keys.ownersPublicKey() == owner.signing().publicKey)
        let id = Bytes16(high: 1, low: 2)
        let device = Secret(bytes: [UInt8](repeating: 6, count: 32))
        #expect(DeviceKey.derive(device, vault: id).equals(device.derive("vaultfmt-1 device", id.bytes)) == true)
    }

    @Test("gives keys that all differ, of which only the index key and the past key depend on the epoch")
    func distinct() {
        func all(_ epoch: Bytes32) -> [[UInt8]] {
            let vaultKey = Secret(bytes: [UInt8](repeating: 3, count: 32))
            let keys = VaultKeys(vaultKey: vaultKey.copy(), epoch: epoch)
            let owner = OwnerKeys(vaultKey: vaultKey, epoch: epoch)
            return [
                keys.index.array, owner.past.array, owner.vault.array, owner.mac.array, owner.locator.array,
                owner.slotOwner.array, owner.keyring.array, owner.earlier.array, keys.ownersPublicKey().bytes,
            ]
        }
        let first = all(epoch)
        let second = all(Bytes32(words: (4, 4, 4, 5)))
        #expect(Set(first).count == 9)
        #expect(Set(first + second).count == 11)
        #expect(first[0] != second[0] && first[1] != second[1] && first[2...] == second[2...])
    }

    @Test("gives a scoped holder, or a locked vault, the index key and the owners' public key, and nothing else")
    func scoped() {
        let keys = VaultKeys(vaultKey: Secret.random(count: 32), epoch: epoch)
        let locked = keys.withoutOwner()
        #expect(locked.isOwner == false)
        #expect(locked.index.equals(keys.index) == true)
        #expect(locked.ownersPublicKey() == keys.ownersPublicKey())
        let scoped = VaultKeys(index: keys.index.copy(), ownersPublicKey: epoch)
        #expect(scoped.isOwner == false)
        #expect(scoped.ownersPublicKey() == epoch)
    }
}
