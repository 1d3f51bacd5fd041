import VaultFmt

/// One secret of the greatest length.
enum Large {
    static let size = 16 * 1024 * 1024

    /// `set` and `get` are meant for a process each. The memory that counts is what the process had at most beyond what
    /// it had with the vault open.
    static func run(_ name: String, _ path: String) throws(VaultError) -> Figures {
        var figures = Figures()
        let key = try Workload.key(0)
        let vault = try name == "set" ? Workload.create(path) : Workload.open(path, writable: false)
        let before = peakMemory()
        if name == "set" {
            let secret = Secret.random(count: size)
            try figures.time("large_set_us", per: 1) { () throws(VaultError) in try vault.set(key, secret: secret) }
        } else {
            try figures.time("large_get_us", per: 1) { () throws(VaultError) in
                guard let item = try vault.get(key) else { preconditionFailure("missing item") }
                precondition(item.secret.count == size)
            }
        }
        figures.add("large_\(name)_memory", (peakMemory() - before) / Double(size))
        return figures
    }
}
