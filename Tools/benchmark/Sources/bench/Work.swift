import VaultFmt

/// The kinds of work that are compared with the peer's. Each is meant for a process of its own, so that its peak memory
/// is known.
enum Work {
    /// In the order in which they can follow each other on one file; `fill` makes it.
    static let names = [
        "fill", "open", "open-scoped", "get", "scan", "list", "set", "passphrase", "rotate", "verify", "compact",
    ]

    static func run(_ name: String, _ path: String, items: Int) throws(VaultError) -> Figures {
        var figures = Figures()
        switch name {
        case "fill": try fill(path, items, &figures)
        case "open": figures.add("open_get_us", try medianOpen(path, items))
        case "open-scoped": figures.add("open_scoped_us", try medianOpen(path, items, Workload.openScoped))
        case "get": try get(path, items, &figures)
        case "scan":
            figures.add(
                "scan_us_per_item",
                try medianWalk(path, items) { (vault) throws(VaultError) in try Workload.scan(vault, items) })
        case "list":
            figures.add(
                "list_us_per_item",
                try medianWalk(path, items) { (vault) throws(VaultError) in try Workload.list(vault, items) })
        case "set": try set(path, items, &figures)
        case "passphrase":
            let vault = try Workload.open(path, writable: true)
            // To the same key, which is as much work as to another.
            try figures.time("passphrase_us_per_item", per: items) { () throws(VaultError) in
                try vault.changeFactors(to: try Workload.rawKey())
            }
        case "rotate":
            let vault = try Workload.open(path, writable: true)
            try figures.time("rotate_us_per_item", per: items) { () throws(VaultError) in try Workload.rotate(vault) }
        case "verify":
            let vault = try Workload.open(path, writable: false)
            try figures.time("verify_us_per_item", per: items) { () throws(VaultError) in try Workload.verify(vault) }
        case "compact":
            let vault = try Workload.open(path, writable: true)
            try figures.time("compact_us_per_item", per: items) { () throws(VaultError) in try vault.compact() }
        default: preconditionFailure("no such work: \(name)")
        }
        figures.add("peak_memory", peakMemory())
        return figures
    }

    /// One transaction, from its begin until its commit is durable; making the vault comes before, as making the table
    /// does with the peer.
    private static func fill(_ path: String, _ items: Int, _ figures: inout Figures) throws(VaultError) {
        do {
            let vault = try Workload.create(path)
            try figures.time("fill_us_per_item", per: items) { () throws(VaultError) in try Workload.fill(vault, items)
            }
        }
        figures.add("file_bytes_per_item", fileSize(path) / Double(items))
    }

    /// From nothing to one secret, the key being at hand.
    static func medianOpen(
        _ path: String, _ items: Int, _ open: (String) throws(VaultError) -> Vault = Workload.openToRead
    ) throws(VaultError) -> Double {
        var numbers = Numbers()
        var times: [Double] = []
        for _ in 0..<201 {
            let start = now()
            try Workload.get(try open(path), Int.random(in: 0..<items, using: &numbers))
            times.append(now() - start)
        }
        return median(times)
    }

    /// A walk over everything in a vault that was opened for it; several where they are short. For each item.
    private static func medianWalk(_ path: String, _ items: Int, _ walk: (Vault) throws(VaultError) -> Void)
        throws(VaultError) -> Double
    {
        var times: [Double] = []
        for _ in 0..<max(1, min(7, 100_000 / items)) {
            let vault = try Workload.open(path, writable: false)
            let start = now()
            try walk(vault)
            times.append((now() - start) / Double(items))
        }
        return median(times)
    }

    private static func get(_ path: String, _ items: Int, _ figures: inout Figures) throws(VaultError) {
        var numbers = Numbers()
        let vault = try Workload.open(path, writable: false)
        try figures.time("get_us", per: 3000) { () throws(VaultError) in
            for _ in 0..<3000 { try Workload.get(vault, Int.random(in: 0..<items, using: &numbers)) }
        }
    }

    /// Changes of one item each, each durable before the next; and how much longer each makes the file.
    private static func set(_ path: String, _ items: Int, _ figures: inout Figures) throws(VaultError) {
        let size = fileSize(path)
        do {
            let vault = try Workload.open(path, writable: true)
            try figures.time("durable_update_us", per: 300) { () throws(VaultError) in
                try Workload.change(vault, items, times: 300)
            }
        }
        figures.add("commit_bytes", (fileSize(path) - size) / 300)
    }
}
