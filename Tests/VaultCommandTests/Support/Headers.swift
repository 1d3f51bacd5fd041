import TestSupport
import Testing
import VaultBytes
import VaultCrypto

/// Altered headers of vaults.
enum Headers {
    /// The file with the hash that its header of 4096 bytes has now, as anybody can write it.
    static func sealed(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        let hash = bytes[..<(4096 - 64)].withUnsafeBytes { HeaderProof.hash($0) }
        bytes.replaceSubrange(4096 - 64..<4096 - 32, with: hash.bytes)
        return bytes
    }

    /// The file with another cost of its only slot, which a passphrase opens; `create` refuses a cost above the limits
    /// of readers.
    static func costing(_ cost: SlotParameters.Cost, _ file: [UInt8], passphrase: String) throws -> [UInt8] {
        let factors = ForgeFactors.passphrase(Array(passphrase.utf8))
        var forge = try Forge(file, factors)
        let old = try #require(forge.header.slots.first)
        let salt = try #require(old.known?.stretch?.salt)
        let stretch = SlotParameters.Stretch(cost: cost, salt: salt)
        let clear = Slot(
            id: old.id, kind: old.kind, factors: old.factors, SlotParameters(stretch: stretch),
            ownerPart: old.owner.count)
        let nonce = [UInt8](repeating: 0x5A, count: Format.nonceSize)
        forge.header.slots[0] = try forge.keys.slot(clear, factors, part: OwnerPart(name: ""), nonce: nonce)
        return try forge.assemble()
    }
}
