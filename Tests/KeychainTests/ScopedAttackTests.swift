import CSodium
import Glibc
import KeychainAccess
import Testing
import VaultBytes
import VaultCrypto
import VaultFmt
import VaultStore

extension KeychainTests {
    @Suite("The holder of a scoped slot")
    struct ScopedAttackTests {
        private static let labels: [StaticString] = [
            "vaultfmt-1 index", "vaultfmt-1 owner", "vaultfmt-1 signing", "vaultfmt-1 slot owner", "vaultfmt-1 keyring",
            "vaultfmt-1 earlier", "vaultfmt-1 locator", "vaultfmt-1 locator mask", "vaultfmt-1 device",
            "vaultfmt-1 slot key",
            "vaultfmt-1 slot wrap", "vaultfmt-1 slot commitment", "vaultfmt-1 group", "vaultfmt-1 compartment",
            "vaultfmt-1 record",
            "vaultfmt-1 slot",
        ]

        /// A program that knows the format and ignores the library: everything that is sealed in the file, and every
        /// key that can be made of what it holds.
        private final class Attacker {
            private let store: Store
            private var records: [(nonce: [UInt8], sealed: [UInt8])] = []
            private var held: Set<[UInt8]> = []

            init(_ path: String, rawKey: [UInt8]) throws {
                let factors = FactorKeys(passphrase: nil, key: Secret(bytes: rawKey), fileHash: nil, kinds: .rawKey)
                store = try Store.open(
                    path, writable: false, factors: factors, limits: ReaderLimits(), place: Store.Place())
                let region = store.header.bodyStart..<store.state.commit.end
                try FrameWalker(file: store.file, region).walk { (frame, head, _) throws(VaultError) in
                    guard head.type == .record else { return }
                    records.append((Array(frame[8..<32]), Array(frame[64...])))
                }
                held = [
                    rawKey, bytes(store.slot.wrappingKey), bytes(store.slot.keys.index), store.ownersPublicKey.bytes,
                ]
                for number in store.slot.grants.numbers {
                    if let key = store.slot.grants.key(number) { held.insert(bytes(key)) }
                }
            }

            var grantedGroups: Int { store.slot.grants.numbers.count }
            var isOwner: Bool { store.slot.keys.isOwner }
            var recordCount: Int { records.count }

            func learn(_ key: [UInt8]) { held.insert(key) }

            /// Every key that it can come by: what it holds, whatever the format derives from that, what any of these
            /// makes of anything wrapped in the file, whether that authenticates or not, and what that makes of wrapped
            /// keys again.
            func keys() -> Set<[UInt8]> {
                var known = held
                for key in held {
                    for label in ScopedAttackTests.labels {
                        for context in [[], store.header.epoch.bytes, store.vault.bytes] {
                            known.insert(bytes(Secret(bytes: key).derive(label, context)))
                        }
                    }
                }
                let wrappedKeys = store.keyring.groups.map(\.wrapped) + store.keyring.compartments.map(\.wrapped)
                let slotParts = store.header.slots.flatMap { [$0.payload, $0.owner] }
                let unwrapped = Self.unwrapped(wrappedKeys + slotParts, with: known)
                return known.union(unwrapped).union(Self.unwrapped(wrappedKeys, with: unwrapped))
            }

            /// Which of these texts any of these keys makes any record show.
            func sees(_ texts: [String], with keys: Set<[UInt8]>) -> Set<String> {
                var seen: Set<String> = []
                for key in keys {
                    for record in records {
                        let plain = Self.decrypt(record.sealed[...], nonce: record.nonce, key: key)
                        for text in texts where Self.contains(plain, Array(text.utf8)) { seen.insert(text) }
                    }
                }
                return seen
            }

            /// Looks for the first byte with the C library, as there is much to look through.
            private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
                bytes.withUnsafeBytes { bytes in
                    var rest = bytes[...]
                    while rest.count >= part.count, let start = rest.first.map({ _ in rest.startIndex }),
                        let base = bytes.baseAddress
                    {
                        guard let found = memchr(base + start, Int32(part[0]), rest.count) else { return false }
                        let at = UnsafeRawPointer(found) - base
                        if bytes.count - at >= part.count, memcmp(found, part, part.count) == 0 { return true }
                        rest = bytes[(at + 1)...]
                    }
                    return false
                }
            }

            private func bytes(_ key: borrowing Secret) -> [UInt8] { key.withUnsafeBytes { Array($0) } }

            /// All 32 bytes that can be a key: at the start, or where a slot keeps its second, a group's or its
            /// wrapping key.
            private static func unwrapped(_ blobs: [[UInt8]], with keys: Set<[UInt8]>) -> Set<[UInt8]> {
                var found: Set<[UInt8]> = []
                for key in keys {
                    for blob in blobs {
                        let plain = decrypt(blob[24...], nonce: Array(blob[..<24]), key: key)
                        for start in [0, 32, 64, 80] where start + 32 + 16 <= plain.count {
                            found.insert(Array(plain[start..<start + 32]))
                        }
                    }
                }
                return found
            }

            /// The cipher without its authentication: XChaCha20 from block 1 on, over all bytes, the tag's included.
            private static func decrypt(_ sealed: ArraySlice<UInt8>, nonce: [UInt8], key: [UInt8]) -> [UInt8] {
                var out = [UInt8](repeating: 0, count: sealed.count)
                let result = crypto_stream_xchacha20_xor_ic(&out, Array(sealed), UInt64(sealed.count), nonce, 1, key)
                precondition(result == 0)
                return out
            }
        }

        private static func vaultKey(_ store: Store) -> [UInt8]? {
            switch store.slot.keys.owner {
            case .some(let owner): owner.vault.withUnsafeBytes { Array($0) }
            case .none: nil
            }
        }

        @Test("cannot decrypt another group's secret with anything that the slot's key unwraps")
        func decryptEverything() throws {
            let used = try Used()
            try Keychain(service: "s", accessGroup: "ci").set("the secret of ci", key: "k")
            try Keychain(service: "s", accessGroup: "home").set("the secret of home", key: "k")
            try Keychain(service: "s", accessGroup: "").set("the secret of nobody", key: "k")
            _ = try used.vault.addSlot(try rawKey(9), grantedGroups: ["ci"])
            _ = try used.vault.addSlot(try rawKey(10), grantedGroups: ["home"])
            let secrets = ["the secret of ci", "the secret of home", "the secret of nobody"]
            let attacker = try Attacker(used.path, rawKey: [UInt8](repeating: 9, count: 32))
            #expect(attacker.grantedGroups == 1 && !attacker.isOwner && attacker.recordCount == 3)
            // It does find what it may read, by way of group key and compartment key: the search is one that works.
            #expect(attacker.sees(secrets, with: attacker.keys()) == ["the secret of ci"])
            // And it would find the others, had the slot given it the one key that only a full slot gives.
            let owner = FactorKeys(
                passphrase: nil, key: Secret(bytes: [UInt8](repeating: 0x2B, count: 32)), fileHash: nil, kinds: .rawKey)
            let full = try Store.open(
                used.path, writable: false, factors: owner, limits: ReaderLimits(), place: Store.Place())
            attacker.learn(try #require(Self.vaultKey(full)))
            #expect(attacker.sees(secrets, with: attacker.keys()) == Set(secrets))
        }
    }
}
