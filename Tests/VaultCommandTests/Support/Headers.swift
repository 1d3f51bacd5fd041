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
}
