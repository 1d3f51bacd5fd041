internal import CVaultShim
internal import Glibc
package import VaultBytes
package import VaultCrypto

/// What opens a slot without its factors: its id and wrapping key. Worth nothing without the file.
package struct KeptKey: ~Copyable {
    package let slot: Bytes16
    package let wrappingKey: Secret

    package init(slot: Bytes16, wrappingKey: consuming Secret) {
        self.slot = slot
        self.wrappingKey = wrappingKey
    }
}

/// Keys of open vaults in the user's keyring in the kernel, by vault id: in no file, never swapped out, wiped when their time is up.
package enum KernelKeyring {
    private static let prefix = "vaultfmt:"
    /// The form of the payload: this number, the slot's id, its wrapping key.
    private static let form: UInt8 = 1
    private static let size = 1 + 16 + Format.keySize

    private static func description(_ vault: Bytes16) -> String { prefix + Hex.encode(vault.bytes) }

    package static func keep(_ key: borrowing KeptKey, vault: Bytes16, seconds: UInt32) throws(VaultError) {
        var payload = Secret(count: size)
        let slot = key.slot.bytes
        payload.withUnsafeMutableBytes { out in
            out[0] = form
            UnsafeMutableRawBufferPointer(rebasing: out[1..<17]).copyBytes(from: slot)
            key.wrappingKey.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: out[17...]).copyMemory(from: $0) }
        }
        let result = payload.withUnsafeBytes { vault_key_keep(description(vault), $0.baseAddress, $0.count, seconds) }
        guard result >= 0 else { throw failure(result) }
    }

    /// The key kept for a vault; nil if there is none, or not any more.
    package static func find(vault: Bytes16) throws(VaultError) -> KeptKey? {
        var payload = Secret(count: size)
        let count = payload.withUnsafeMutableBytes { vault_key_find(description(vault), $0.baseAddress, $0.count) }
        guard count >= 0 else {
            if isAbsent(count) { return nil }
            throw failure(count)
        }
        // Another version may keep something else.
        guard count == size, payload.withUnsafeBytes({ $0[0] }) == form else { return nil }
        let id = payload.withUnsafeBytes { Array($0[1..<17]) }
        return Bytes16(id).map { KeptKey(slot: $0, wrappingKey: payload.slice(17..<size)) }
    }

    /// Takes a key away; false if there is none.
    package static func drop(vault: Bytes16) throws(VaultError) -> Bool {
        let result = vault_key_drop(description(vault))
        guard result < 0 else { return true }
        if isAbsent(result) { return false }
        throw failure(result)
    }

    /// Takes all keys of vaults away; returns how many there were.
    package static func dropAll() throws(VaultError) -> Int {
        let result = vault_key_drop_all(prefix)
        guard result >= 0 else { throw failure(result) }
        return Int(result)
    }

    private static func isAbsent(_ result: Int64) -> Bool {
        [ENOKEY, EKEYEXPIRED, EKEYREVOKED].contains(Int32(truncatingIfNeeded: -result))
    }

    private static func failure(_ result: Int64) -> VaultError {
        let number = Int32(truncatingIfNeeded: -result)
        switch number {
        case ENOSYS, EPERM, EACCES, EOPNOTSUPP:
            return VaultError(.noKernelKeyring, "the kernel keyring cannot be used here (\(SystemCall.text(number)))")
        case EDQUOT:
            return VaultError(.noKernelKeyring, "this user's kernel keyring is full (\(SystemCall.text(number)))")
        default: return VaultError(.io, "the kernel keyring failed: \(SystemCall.text(number))")
        }
    }
}

extension Store {
    /// Opens the file at `path` with the key kept for it; nil if there is none, or its slot is gone. Everything is checked as with factors.
    package static func openKept(_ path: String, writable: Bool, place: Place) throws(VaultError) -> Store? {
        let resolved = try place.fileSystem.resolve(path)
        let file = try place.fileSystem.open(resolved, writable: writable)
        let (header, bytes) = try readHeader(file)
        guard let key = try KernelKeyring.find(vault: header.id), let slot = header.slots.first(where: { $0.id == key.slot }) else {
            return nil
        }
        let opened = try SlotOpener.open(slot, header, bytes, wrappingKey: key.wrappingKey.copy())
        return Store(try load(file, header, bytes, opened, place), path: resolved, isWritable: writable, place: place)
    }
}
