// The work of a vault, as peer/sqlcipher.c does it: one JSON line a size on standard output; microseconds.
import Glibc
import VaultFmt

func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) * 1e-3
}

func digits(_ number: Int, _ width: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, width - text.count)) + text
}

func key(_ number: Int) throws(VaultError) -> ItemKey {
    try .genericPassword(service: "service-\(digits(number % 997, 4)).example.com", account: "user\(digits(number, 7))@example.com")
}

func rawKey(_ byte: UInt8) throws(VaultError) -> Factors {
    var key = Secret(count: 32)
    key.withUnsafeMutableBytes { for index in $0.indices { $0[index] = byte } }
    return try Factors(rawKey: key)
}

func opened(_ path: String, writable: Bool) throws(VaultError) -> Vault {
    var options = OpenOptions()
    options.writable = writable
    return try Vault.open(path, factors: try rawKey(0x2B), options: options)
}

func readOne(_ vault: Vault, _ number: Int) throws(VaultError) {
    guard let item = try vault.get(try key(number)) else { preconditionFailure("missing item") }
    precondition(item.secret.count == 64)
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

/// Runs one row, and keeps its figure by name.
struct Figures {
    var lines: [(String, Double)] = []

    mutating func time(_ name: String, per count: Int, _ body: () throws(VaultError) -> Void) throws(VaultError) {
        let start = now()
        try body()
        lines.append((name, (now() - start) / Double(count)))
    }
}

/// For profilers: one row, again and again.
func profile(_ n: Int, rounds: Int) throws(VaultError) {
    let path = "vaultfmt-bench-\(getpid())-\(n).vault"
    defer { unlink(path) }
    let secret = Secret(text: String(repeating: "s", count: 64))
    var vault = try Vault.create(at: path, factors: try rawKey(0x2B))
    try vault.transaction { (transaction) throws(VaultError) in
        for number in 0..<n { try transaction.add(try key(number), secret: secret, attributes: ["label": "Item \(number)"]) }
    }
    vault = try opened(path, writable: false)
    var bytes = 0
    let start = now()
    for _ in 0..<rounds {
        try vault.forEachSecret { (_, secret) throws(VaultError) in if case .opened(let opened) = secret { bytes += opened.count } }
    }
    print("scan \((now() - start) / Double(n * rounds)) us per item, \(bytes) bytes")
}

func measure(_ n: Int) throws(VaultError) {
    let path = "vaultfmt-bench-\(getpid())-\(n).vault"
    defer { unlink(path) }
    var figures = Figures()
    let secret = Secret(text: String(repeating: "s", count: 64))

    var vault = try Vault.create(at: path, factors: try rawKey(0x2B))
    try figures.time("fill_us_per_item", per: n) { () throws(VaultError) in
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<n {
                var attributes = Attributes()
                attributes.label = "Item \(number)"
                try transaction.add(
                    try key(number), secret: secret, attributes: attributes, created: 1_700_000_000_000, modified: 1_700_000_000_000)
            }
        }
    }
    var status = stat()
    stat(path, &status)
    let bulkBytes = Double(status.st_size) / Double(n)

    var opens: [Double] = []
    for _ in 0..<21 {
        let start = now()
        vault = try opened(path, writable: false)
        try readOne(vault, Int.random(in: 0..<n))
        opens.append(now() - start)
    }
    figures.lines.append(("open_get_us", median(opens)))

    vault = try opened(path, writable: true)
    try figures.time("get_us", per: 3000) { () throws(VaultError) in
        for _ in 0..<3000 { try readOne(vault, Int.random(in: 0..<n)) }
    }
    try figures.time("durable_update_us", per: 300) { () throws(VaultError) in
        for _ in 0..<300 { try vault.set(try key(Int.random(in: 0..<n)), secret: secret) }
    }
    vault = try opened(path, writable: true)
    var bytes = 0
    try figures.time("scan_us_per_item", per: n) { () throws(VaultError) in
        try vault.forEachSecret { (_, secret) throws(VaultError) in if case .opened(let opened) = secret { bytes += opened.count } }
    }
    precondition(bytes == n * 64)
    vault = try opened(path, writable: true)
    try figures.time("list_us_per_item", per: n) { () throws(VaultError) in
        var cursor = try vault.items()
        while let item = try cursor.next() { bytes += item.attributes.count }
    }
    try figures.time("passphrase_us_per_item", per: n) { () throws(VaultError) in try vault.changeFactors(to: try rawKey(0x2C)) }
    try figures.time("rotate_us_per_item", per: n) { () throws(VaultError) in
        var rotation = try vault.rotation()
        _ = try rotation.keep(try rawKey(0x2C))
        _ = try rotation.run()
    }
    try figures.time("verify_us_per_item", per: n) { () throws(VaultError) in
        let report = try vault.verify()
        precondition(report.isSound)
    }
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    figures.lines.append(("file_bytes_per_item", bulkBytes))
    figures.lines.append(("max_rss_kib", Double(usage.ru_maxrss)))
    print("{\"n\": \(n), " + figures.lines.map { "\"\($0)\": \(($1 * 100).rounded() / 100)" }.joined(separator: ", ") + "}")
}

do throws(VaultError) {
    if CommandLine.arguments.count == 4, CommandLine.arguments[1] == "profile", let size = Int(CommandLine.arguments[2]),
        let rounds = Int(CommandLine.arguments[3])
    {
        try profile(size, rounds: rounds)
        exit(0)
    }
    for size in CommandLine.arguments.dropFirst().compactMap({ Int($0) }) { try measure(size) }
} catch {
    print("bench: \(error)")
    exit(1)
}
