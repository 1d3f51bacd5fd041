import Glibc
import VaultFmt

func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) * 1e-3
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

/// What a vault is made with.
enum Variant: String {
    /// As a vault is by default: ten earlier values, one slot.
    case usual
    /// No earlier values.
    case forgetful
    /// A second slot, which opens the group of all items.
    case scoped

    var group: String { self == .scoped ? "team" : "" }
}

/// One item: class, service, account, a 64-byte secret, and a label. The same as the peer's.
enum Workload {
    static func secret() -> Secret { Secret(text: String(repeating: "s", count: 64)) }

    /// Makes it another secret for each number.
    static func vary(_ secret: inout Secret, _ number: Int) {
        secret.withUnsafeMutableBytes { $0.storeBytes(of: UInt64(truncatingIfNeeded: number), as: UInt64.self) }
    }

    /// What every item of this process's vault is in; set once, at the start.
    nonisolated(unsafe) static var variant = Variant.usual

    static func key(_ number: Int) throws(VaultError) -> ItemKey {
        try .genericPassword(
            service: name("service-", number % 997, 4, ".example.com"),
            account: name("user", number, 7, "@example.com"),
            group: variant.group)
    }

    /// Put together as cheaply as the peer's `snprintf` does it: what is measured is what comes after.
    private static func name(_ before: StaticString, _ number: Int, _ width: Int, _ after: StaticString) -> String {
        let (start, end) = (before.utf8CodeUnitCount, after.utf8CodeUnitCount)
        return String(unsafeUninitializedCapacity: start + width + end) { text in
            for index in 0..<start { text[index] = before.utf8Start[index] }
            var rest = number
            for index in (start..<start + width).reversed() {
                text[index] = UInt8(truncatingIfNeeded: 48 + rest % 10)
                rest /= 10
            }
            for index in 0..<end { text[start + width + index] = after.utf8Start[index] }
            return start + width + end
        }
    }

    private static func width(_ number: Int) -> Int {
        var width = 1
        var rest = number
        while rest >= 10 {
            width += 1
            rest /= 10
        }
        return width
    }

    static func rawKey(_ byte: UInt8 = 0x2B) throws(VaultError) -> Factors {
        var key = Secret(count: 32)
        key.withUnsafeMutableBytes { for index in $0.indices { $0[index] = byte } }
        return try Factors(rawKey: key)
    }

    static func create(_ path: String) throws(VaultError) -> Vault {
        var options = CreateOptions()
        if variant == .forgetful { options.keptVersions = 0 }
        let vault = try Vault.create(at: path, factors: try rawKey(), options: options)
        if variant == .scoped {
            try vault.addSlot(try scopedKey(), name: "team", grantedGroups: [variant.group], createsGroups: true)
        }
        return vault
    }

    private static func scopedKey() throws(VaultError) -> Factors { try rawKey(0x3C) }

    /// With the scoped slot's key.
    static func openScoped(_ path: String) throws(VaultError) -> Vault {
        try Vault.open(path, factors: try scopedKey())
    }

    static func fill(_ vault: Vault, _ count: Int) throws(VaultError) {
        let secret = secret()
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<count {
                var attributes = Attributes()
                attributes.label = name("Item ", number, width(number), "")
                try transaction.add(
                    try key(number), secret: secret, attributes: attributes, created: 1_700_000_000_000,
                    modified: 1_700_000_000_000)
            }
        }
    }

    static func open(_ path: String, writable: Bool) throws(VaultError) -> Vault {
        var options = OpenOptions()
        options.writable = writable
        return try Vault.open(path, factors: try rawKey(), options: options)
    }

    static func openToRead(_ path: String) throws(VaultError) -> Vault { try open(path, writable: false) }

    /// Changes of one item each.
    static func change(_ vault: Vault, _ items: Int, times: Int, numbers given: Numbers = Numbers()) throws(VaultError)
    {
        var numbers = given
        var secret = secret()
        for number in 0..<times {
            vary(&secret, number)
            try vault.set(try key(Int.random(in: 0..<items, using: &numbers)), secret: secret)
        }
    }

    static func get(_ vault: Vault, _ number: Int) throws(VaultError) {
        guard let item = try vault.get(try key(number)) else { preconditionFailure("missing item") }
        precondition(item.secret.count == 64)
    }

    static func scan(_ vault: Vault, _ count: Int) throws(VaultError) {
        var bytes = 0
        try vault.forEachSecret { (_, secret) throws(VaultError) in
            if case .opened(let opened) = secret { bytes += opened.count }
        }
        precondition(bytes == count * 64)
    }

    static func list(_ vault: Vault, _ count: Int) throws(VaultError) {
        var cursor = try vault.items()
        var seen = 0
        while let item = try cursor.next() { seen += item.created == 1_700_000_000_000 ? 1 : 0 }
        precondition(seen >= count / 2)
    }

    static func verify(_ vault: Vault) throws(VaultError) {
        let report = try vault.verify()
        precondition(report.isSound)
    }

    static func rotate(_ vault: Vault) throws(VaultError) {
        var rotation = try vault.rotation()
        _ = try rotation.keep(try rawKey())
        _ = try rotation.run()
    }
}

/// Which items are touched: the same in every run.
struct Numbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64 = 0) { state = 0x9E37_79B9_7F4A_7C15 &+ seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}
