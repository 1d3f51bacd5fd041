internal import Synchronization
internal import TestSupport
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// What a vault should hold: passwords of services, each with a label.
struct Model: Equatable {
    struct Value: Equatable {
        var secret: [UInt8]
        var label: String
    }

    var items: [String: Value] = [:]

    /// Everything that can be read of a vault.
    init(reading vault: Vault) throws {
        var cursor = try vault.items()
        while let item = try cursor.next() {
            let opened = try vault.open(item)
            let secret = opened.secret.withUnsafeBytes { Array($0) }
            items[item.key.service ?? "?"] = Value(secret: secret, label: opened.item.attributes.label ?? "")
        }
    }

    init() {}

    static func key(_ service: String) throws(VaultError) -> ItemKey {
        try .genericPassword(service: service, account: "a")
    }
}

/// Tells one content from another, fast.
struct Digest: Hashable {
    private let value: Int

    init(_ model: Model) {
        var hasher = Hasher()
        for (name, value) in model.items.sorted(by: { $0.key < $1.key }) {
            Self.add(name, value.secret, value.label, &hasher)
        }
        value = hasher.finalize()
    }

    /// Reads everything.
    init(reading vault: Vault) throws {
        var hasher = Hasher()
        var cursor = try vault.items()
        while let item = try cursor.next() {
            let opened = try vault.open(item)
            opened.secret.withUnsafeBytes { secret in
                Self.add(item.key.service ?? "?", secret, opened.item.attributes.label ?? "", &hasher)
            }
        }
        value = hasher.finalize()
    }

    private static func add(_ name: String, _ secret: some Collection<UInt8>, _ label: String, _ hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(secret.count)
        secret.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(label)
    }
}

/// Ways in, of which each step of a workload may have another.
enum Keys {
    static func factors(_ number: Int) throws(VaultError) -> Factors {
        try Factors(rawKey: Secret(bytes: bytes(number)))
    }

    /// A raw key.
    static func bytes(_ number: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0x2B, count: 32)
        bytes[0] = UInt8(truncatingIfNeeded: number)
        bytes[1] = UInt8(truncatingIfNeeded: number >> 8)
        return bytes
    }
}

extension Randomness {
    /// The same bytes for the same numbers.
    static func fixed(_ numbers: Numbers) -> Randomness {
        let numbers = Mutex(numbers)
        return Randomness(fill: { out in numbers.withLock { out.copyBytes(from: $0.bytes(out.count)) } })
    }
}
