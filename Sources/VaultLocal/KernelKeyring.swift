internal import CVaultShim
internal import Glibc
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// Stores keys of unlocked vaults in the user's kernel keyring, by vault id. They are never stored in a file or swapped
/// out, and are wiped when they expire.
///
/// All functions throw `noKernelKeyring` if the system has no keyring or denies access.
enum KernelKeyring {
    private static let prefix = "vaultfmt:"
    /// The version of the payload, which consists of this number, the slot's id, its wrapping key, the expiry time
    /// (seconds since 1970), and the path that was unlocked. The kernel also stores the expiry time, but does not
    /// return it.
    private static let form: UInt8 = 3
    private static let keyEnd = 1 + 16 + Format.keySize
    private static let fixedSize = keyEnd + 8
    private static let longestPath = 4096
    /// The maximum number of keys to examine in a keyring.
    private static let mostKeys = 4096

    private static func description(_ vault: VaultID) -> String { prefix + vault.description }

    /// Stores a key, together with the path of the file that was unlocked with the key.
    static func keep(_ key: borrowing KeptKey, vault: VaultID, path: String, seconds: UInt32) throws(VaultError) {
        let path = path.utf8.count <= longestPath ? Array(path.utf8) : []
        var payload = Secret(count: fixedSize + path.count)
        let slot = key.slot.bytes
        let end = UInt64(clamping: time(nil)) + UInt64(seconds)
        payload.withUnsafeMutableBytes { out in
            out[0] = form
            UnsafeMutableRawBufferPointer(rebasing: out[1..<17]).copyBytes(from: slot)
            key.wrappingKey.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: out[17..<keyEnd]).copyMemory(from: $0)
            }
            out.storeBytes(of: end.littleEndian, toByteOffset: keyEnd, as: UInt64.self)
            UnsafeMutableRawBufferPointer(rebasing: out[fixedSize...]).copyBytes(from: path)
        }
        let result = payload.withUnsafeBytes { vault_key_keep(description(vault), $0.baseAddress, $0.count, seconds) }
        guard result >= 0 else { throw failure(result) }
    }

    /// Returns the key stored for a vault; nil if there is no key or it has expired.
    static func find(vault: VaultID) throws(VaultError) -> KeptKey? {
        let entry = try read { payload in vault_key_find(description(vault), payload.baseAddress, payload.count) }
        switch consume entry {
        case .some(let entry): return entry.takeKey()
        case .none: return nil
        }
    }

    /// Returns the time at which a vault's key expires, in seconds since 1970; nil if there is no key, or if the key
    /// belongs to another slot.
    static func end(vault: VaultID, slot: Bytes16? = nil) throws(VaultError) -> UInt64? {
        let entry = try read { payload in vault_key_find(description(vault), payload.baseAddress, payload.count) }
        switch consume entry {
        case .some(let entry): return slot == nil || entry.slot == slot ? entry.end : nil
        case .none: return nil
        }
    }

    /// Removes a key; returns false if there is none.
    static func drop(vault: VaultID) throws(VaultError) -> Bool {
        let result = vault_key_drop(description(vault))
        guard result < 0 else { return true }
        if isAbsent(result) { return false }
        throw failure(result)
    }

    /// Removes a vault's key if it was stored for this path; otherwise returns false. A copy of the vault at another
    /// path must not affect the key.
    static func drop(vault: VaultID, unlockedAt path: String) throws(VaultError) -> Bool {
        let entry = try read { payload in vault_key_find(description(vault), payload.baseAddress, payload.count) }
        guard let entry, entry.path == path else { return false }
        return try drop(vault: vault)
    }

    /// Removes the keys that were stored for this path, regardless of the file that is now there; returns their number.
    static func drop(path: String) throws(VaultError) -> Int {
        var dropped = 0
        for number in try numbers() {
            let entry = try read { payload in vault_key_read(number, payload.baseAddress, payload.count) }
            if let entry, entry.path == path, vault_key_drop_numbered(number) >= 0 { dropped += 1 }
        }
        return dropped
    }

    /// Removes the keys of all vaults; returns how many were valid.
    static func dropAll() throws(VaultError) -> Int {
        var dropped = 0
        for number in try numbers() {
            // An expired key remains listed for a while.
            let wasValid = vault_key_read(number, nil, 0) >= 0
            if vault_key_drop_numbered(number) >= 0, wasValid { dropped += 1 }
        }
        return dropped
    }

    /// True if this process is not in the initial user namespace; it then has its own keyrings and cannot see the
    /// user's.
    static var isApart: Bool {
        do throws(VaultError) {
            let file = try RealFileSystem().open("/proc/self/uid_map", writable: false)
            var map = [UInt8](repeating: 0, count: 256)
            var failure: VaultError?
            let count = map.withUnsafeMutableBytes { buffer in
                do throws(VaultError) { return try file.readAvailable(into: buffer, at: 0) } catch {
                    failure = error
                    return 0
                }
            }
            guard failure == nil else { return false }
            let fields = String(decoding: map[..<count], as: UTF8.self).split(whereSeparator: \.isWhitespace)
            return fields != ["0", "0", "4294967295"]
        } catch {
            return false
        }
    }

    // MARK: payloads

    private struct Entry: ~Copyable {
        let slot: Bytes16
        let wrappingKey: Secret
        let end: UInt64
        let path: String

        consuming func takeKey() -> KeptKey { KeptKey(slot: slot, wrappingKey: wrappingKey) }
    }

    private static func read(_ body: (UnsafeMutableRawBufferPointer) -> Int64) throws(VaultError) -> Entry? {
        var payload = Secret(count: fixedSize + longestPath)
        let count = payload.withUnsafeMutableBytes { body($0) }
        guard count >= 0 else {
            if isAbsent(count) { return nil }
            throw failure(count)
        }
        // Another version may use a different payload.
        guard (Int64(fixedSize)...Int64(payload.count)).contains(count), payload.withUnsafeBytes({ $0[0] }) == form
        else { return nil }
        let slot = payload.withUnsafeBytes { Array($0[1..<17]) }
        let end = payload.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: keyEnd, as: UInt64.self) }
        let path = payload.withUnsafeBytes { String(decoding: $0[fixedSize..<Int(count)], as: UTF8.self) }
        guard let slot = Bytes16(slot) else { return nil }
        return Entry(slot: slot, wrappingKey: payload.slice(17..<keyEnd), end: UInt64(littleEndian: end), path: path)
    }

    private static func numbers() throws(VaultError) -> [Int32] {
        var numbers = [Int32](repeating: 0, count: mostKeys)
        let count = numbers.withUnsafeMutableBufferPointer { vault_keys(prefix, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw failure(count) }
        return Array(numbers.prefix(Int(clamping: count)))
    }

    private static func isAbsent(_ result: Int64) -> Bool {
        [ENOKEY, EKEYEXPIRED, EKEYREVOKED].contains(Int32(truncatingIfNeeded: -result))
    }

    private static func failure(_ result: Int64) -> VaultError {
        let number = Int32(truncatingIfNeeded: -result)
        let text = strerror(number).map { String(cString: $0) } ?? "error \(number)"
        switch number {
        case ENOSYS, EPERM, EACCES, EOPNOTSUPP:
            return VaultError(.noKernelKeyring, "the kernel keyring cannot be used here (\(text))")
        case EDQUOT: return VaultError(.noKernelKeyring, "this user's kernel keyring is full (\(text))")
        default: return VaultError(.io, "the kernel keyring failed: \(text)")
        }
    }
}
