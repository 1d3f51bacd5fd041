internal import TestSupport
internal import VaultFmt
internal import VaultStore

/// Vaults, recipes and choices to start fuzzing from: small, and each with something that the others have not.
package enum Seeds {
    /// Inputs of a target, by name.
    package static func all(_ target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        switch target {
        case .open: return try vaults()
        case .sealed:
            return try vaults().compactMap { name, bytes in
                Recipe(taking: bytes, rawKey: key).map { (name, $0.encoded) }
            }
        case .operations:
            return (1...16).map { number in
                var choices = SeededChoices(seed: UInt64(number))
                return ("seed-\(number)", choices.bytes(number * 60))
            }
        }
    }

    private static let key = [UInt8](repeating: 0x2B, count: 32)
    private static let path = "a.vault"

    private static func vaults() throws -> [(name: String, bytes: [UInt8])] {
        var all: [(name: String, bytes: [UInt8])] = []
        for (number, (name, fill)) in kinds.enumerated() {
            let files = MemoryFileSystem(clock: 1_700_000_000_000)
            let place = Store.Place(fileSystem: files, random: .fixed("seed \(number)"), cacheBytes: 1 << 20)
            var options = CreateOptions()
            options.device = try Device(fileContents: Secret(bytes: [UInt8](1...48)))
            let vault = try Vault.create(
                at: path, factors: try Factors(rawKey: Secret(bytes: key)), options: options, place: place)
            try fill(vault)
            // A reserve would only make them large.
            guard let bytes = files.bytes(of: path), let last = bytes.lastIndex(where: { $0 != 0 }) else { continue }
            // A commit, which may end with zeros, ends at a multiple of 512.
            all.append((name, Array(bytes[..<min(bytes.count, (last + 512) / 512 * 512)])))
        }
        if let whole = all.first(where: { $0.name == "changed" })?.bytes {
            all.append(("reserve", whole + [UInt8](repeating: 0, count: 1000)))
            all.append(("damaged-tail", whole + [UInt8](repeating: 0xA5, count: 130)))
            all.append(("cut-off", Array(whole.dropLast(100))))
        }
        return all
    }

    private static let kinds: [(String, @Sendable (Vault) throws -> Void)] = [
        ("empty", { _ in }),
        (
            "changed",
            { vault in
                let key = try ItemKey.genericPassword(service: "service", account: "account")
                try vault.add(key, secret: Secret(text: "secret"), attributes: ["label": "Label", "sealed:seed": "x"])
                try vault.update(
                    key,
                    attributes: AttributeChanges(set: [
                        "label": "other", "comment": "\(String(repeating: "c", count: 300))",
                    ]))
                try vault.add(try .genericPassword(service: "second"), secret: Secret(count: 0))
                try vault.remove(try .genericPassword(service: "second"))
            }
        ),
        (
            "classes",
            { vault in
                try vault.transaction { (transaction) throws(VaultError) in
                    let keys: [ItemKey] = [
                        try .internetPassword(
                            server: "example.org", account: "ann", protocol: "https", port: 443, path: "/"),
                        try .certificate(type: 3, issuer: [0x30, 0, 0xFF], serialNumber: [1]),
                        try .key(
                            keyClass: 1, keyType: 42, applicationLabel: [7], applicationTag: [], sizeInBits: 2048,
                            effectiveSize: 2048),
                        try .identity(type: 3, issuer: [0x30], serialNumber: [0], synchronizable: true),
                    ]
                    for key in keys { try transaction.add(key, secret: Secret(text: "s")) }
                }
            }
        ),
        (
            "compartments",
            { vault in
                try vault.transaction { (transaction) throws(VaultError) in
                    for (number, accessibility) in Accessibility.allCases.enumerated() {
                        let key = try ItemKey.genericPassword(
                            service: "s", account: "\(number)", group: number % 2 == 0 ? "" : "group")
                        try transaction.add(key, secret: Secret(text: "s"), accessibility: accessibility)
                    }
                }
                _ = try vault.addSlot(
                    try Factors(rawKey: Secret(bytes: [UInt8](repeating: 9, count: 32))), name: "reader",
                    grantedGroups: ["group"])
            }
        ),
        (
            "tree",
            { vault in
                try vault.transaction { (transaction) throws(VaultError) in
                    for number in 0..<60 {
                        let key = try ItemKey.genericPassword(service: "service \(number % 7)", account: "\(number)")
                        try transaction.add(
                            key, secret: Secret(text: "\(number)"), attributes: ["label": "item number \(number)"])
                    }
                }
                try vault.remove(try .genericPassword(service: "service 3", account: "3"))
            }
        ),
        (
            "long-keys",
            { vault in
                try vault.transaction { (transaction) throws(VaultError) in
                    for number in 0..<12 {
                        let key = try ItemKey.genericPassword(
                            service: String(repeating: "s", count: 700) + "\(number % 3)", account: "\(number)")
                        try transaction.add(key, secret: Secret(count: 0))
                    }
                }
            }
        ),
        (
            "compacted",
            { vault in
                let key = try ItemKey.genericPassword(service: "s")
                for number in 0..<4 { try vault.set(key, secret: Secret(text: "\(number)")) }
                try vault.compact()
                try vault.set(key, secret: Secret(text: "after"))
                try vault.changeFactors(to: try Factors(rawKey: Secret(bytes: Seeds.key)))
            }
        ),
        (
            "large",
            { vault in
                let key = try ItemKey.genericPassword(service: "large")
                try vault.add(key, secret: Secret(count: 34_000))
                try vault.update(key, attributes: AttributeChanges(set: ["label": "synced first"]))
            }
        ),
    ]
}
