internal import TestSupport
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// What a grant costs: it rewrites the file and reseals the group's records, where a full slot only replaces the
/// header.
enum GrantCost {
    /// Measures both on a vault in memory with so many items, half of them in the granted group.
    static func measured(items: Int) throws -> String {
        let place = Store.Place(fileSystem: MemoryFileSystem(clock: 1_700_000_000_000), cacheBytes: 8 << 20)
        let vault = try Vault.create(
            at: "/cost.vault", factors: try Keys.factors(0), options: CreateOptions(), place: place)
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<items {
                let group = number.isMultiple(of: 2) ? "ci" : ""
                let key = try ItemKey.genericPassword(service: "service \(number)", account: "account", group: group)
                try transaction.add(
                    key, secret: Secret(bytes: [UInt8](repeating: 0x73, count: 64)), attributes: ["label": "l"])
            }
        }
        let moved = try ItemKey.genericPassword(service: "service 0", account: "account", group: "ci")
        let full = try milliseconds { _ = try vault.addSlot(try Keys.factors(1)) }
        let grant = try milliseconds { _ = try vault.addSlot(try Keys.factors(2), grantedGroups: ["ci"]) }
        let out = try milliseconds {
            try vault.move(moved, to: .genericPassword(service: "service 0", account: "account"))
        }
        return
            "with \(items) items, a full slot takes \(full) ms, granting half of them \(grant) ms, a move out of the group \(out) ms"
    }

    private static func milliseconds(_ body: () throws -> Void) rethrows -> Int {
        let start = ContinuousClock.now
        try body()
        return Int((ContinuousClock.now - start) / .milliseconds(1))
    }
}
