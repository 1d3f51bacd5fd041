// The work of a vault, as peer/sqlcipher.c does it: one JSON line a size on standard output; microseconds.
//
//     bench measure SIZE …                    all rows
//     bench make ITEMS PATH                   a vault to work on
//     bench operation NAME PATH ITEMS COUNT   one kind of work, for profilers
import Glibc
import VaultFmt

func measure(_ n: Int) throws(VaultError) {
    let path = "vaultfmt-bench-\(getpid())-\(n).vault"
    defer { remove(path) }
    var figures = Figures()
    figures.add("n", Double(n))
    var vault = try Workload.create(path)
    let start = peakMemory()
    try figures.time("fill_us_per_item", per: n) { () throws(VaultError) in try Workload.fill(vault, n) }
    figures.add("fill_memory_bytes_per_item", (peakMemory() - start) * 1024 / Double(n))
    figures.add("file_bytes_per_item", fileSize(path) / Double(n))

    var opens: [Double] = []
    for _ in 0..<21 {
        let start = now()
        try Workload.get(try Workload.open(path, writable: false), Int.random(in: 0..<n))
        opens.append(now() - start)
    }
    figures.add("open_get_us", median(opens))

    vault = try Workload.open(path, writable: true)
    try figures.time("get_us", per: 3000) { () throws(VaultError) in
        for _ in 0..<3000 { try Workload.get(vault, Int.random(in: 0..<n)) }
    }
    let secret = Workload.secret()
    try figures.time("durable_update_us", per: 300) { () throws(VaultError) in
        for _ in 0..<300 { try vault.set(try Workload.key(Int.random(in: 0..<n)), secret: secret) }
    }
    vault = try Workload.open(path, writable: true)
    try figures.time("scan_us_per_item", per: n) { () throws(VaultError) in try Workload.scan(vault, n) }
    vault = try Workload.open(path, writable: true)
    try figures.time("list_us_per_item", per: n) { () throws(VaultError) in try Workload.list(vault, n) }
    try figures.time("passphrase_us_per_item", per: n) { () throws(VaultError) in try vault.changeFactors(to: try Workload.rawKey(0x2C)) }
    try figures.time("rotate_us_per_item", per: n) { () throws(VaultError) in try Workload.rotate(vault, key: 0x2C) }
    try figures.time("verify_us_per_item", per: n) { () throws(VaultError) in try Workload.verify(vault) }
    print(figures.json)
}

func number(_ index: Int) -> Int {
    guard index < CommandLine.arguments.count, let value = Int(CommandLine.arguments[index]) else {
        preconditionFailure("a number is missing")
    }
    return value
}

do throws(VaultError) {
    let arguments = CommandLine.arguments
    switch arguments.count > 1 ? arguments[1] : "" {
    case "make": try Workload.fill(try Workload.create(arguments[3]), number(2))
    case "operation": try Operations.run(arguments[2], arguments[3], items: number(4), count: number(5))
    case "measure": for index in 2..<arguments.count { try measure(number(index)) }
    default: preconditionFailure("measure, make or operation")
    }
} catch {
    print("bench: \(error)")
    exit(1)
}
