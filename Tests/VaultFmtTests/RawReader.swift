import VaultBytes
import VaultCrypto
import VaultStore

@testable import VaultFmt

/// An attacker who holds exactly what an open handle holds, and reads a raw file with it: every frame, live or dead,
/// with every key.
struct RawReader {
    private let index: [UInt8]
    private let locator: [UInt8]
    private let vault: Bytes16
    private let handle: Vault

    init(_ handle: Vault) throws {
        self.handle = handle
        (index, locator, vault) = try handle.withCore { (core) throws(VaultError) in
            (core.store.slot.keys.index.array, core.store.slot.keys.locator.array, core.store.vault)
        }
    }

    /// The secrets, as text, of all records in these bytes that open.
    func secrets(in bytes: [UInt8]) throws -> Set<String> {
        let all = try frames(bytes)
        var held = try keptKeys()
        for frame in all where frame.type == .keyring {
            if let body = open(bytes, frame, .keyring) { held += try keys(of: Keyring(body.span, at: 0)) }
        }
        var found: Set<String> = []
        for frame in all where frame.type == .record {
            let bytes = Array(bytes[frame.range])
            for key in held { if let secret = secret(bytes, key) { found.insert(secret) } }
        }
        return found
    }

    /// The keys that the handle has in memory: all that a locked one can use.
    private func keptKeys() throws -> [SecretBox] {
        try handle.withCore { (core) throws(VaultError) in
            core.view.keyring.compartments.compactMap { info in
                core.view.compartment(info.number).flatMap { try? core.compartments.key($0, core.context) }
            }
        }
    }

    /// The keys that a keyring's compartments unwrap to.
    private func keys(of keyring: Keyring) throws -> [SecretBox] {
        let view = KeyringView(keyring)
        return try handle.withCore { (core) throws(VaultError) in
            keyring.compartments.compactMap { info in
                view.compartment(info.number).flatMap { try? CompartmentKeys().key($0, core.context) }
            }
        }
    }

    private func open(_ bytes: [UInt8], _ frame: FrameInFile, _ kind: Sealing.Placed) -> [UInt8]? {
        let sealing = Sealing(vault: vault.words, random: .system)
        let part = Array(bytes[frame.range])
        var out = [UInt8](repeating: 0, count: part.count - 48)
        do {
            try out.withUnsafeMutableBytes { out in
                try part.withUnsafeBytes {
                    try sealing.open(
                        $0, as: kind, at: UInt64(frame.range.lowerBound), key: Secret(bytes: index), into: out)
                }
            }
            return out
        } catch { return nil }
    }

    private func secret(_ frame: [UInt8], _ key: SecretBox) -> String? {
        let sealing = Sealing(vault: vault.words, random: .system)
        let identity = frame.withUnsafeBytes { sealing.claimedIdentity($0, locatorKey: Secret(bytes: locator)) }
        do {
            let body = try frame.span.bytes.withUnsafeBytes { (frame) throws(VaultError) in
                try RecordCodec.open(frame, identity, key: key.secret, sealing, at: 0)
            }
            let parts = try RecordCodec.parts(body, at: 0)
            return String(decoding: body.array[parts.secret], as: UTF8.self)
        } catch { return nil }
    }
}
