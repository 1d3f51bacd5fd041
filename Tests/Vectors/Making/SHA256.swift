internal import CSodium
internal import VaultBytes

/// Of dumps: the one hash here that is not the format's, so that any language's standard library has it.
package enum SHA256 {
    package static func hex(_ bytes: [UInt8]) -> String {
        var out = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256(&out, bytes, UInt64(bytes.count))
        return Hex.encode(out)
    }
}
