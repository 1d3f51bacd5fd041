import VaultFmt

/// Vaults with 64 slots, the most: what opening takes at worst. `raw` and `passphrases` are meant for a process each.
enum Slots {
    private static let most = 64
    /// As many of the default cost as the default policy of readers allows.
    private static let passphrases = 21

    static func run(_ name: String, _ path: String) throws(VaultError) -> Figures {
        var figures = Figures()
        switch name {
        case "raw": try raw(path, &figures)
        case "passphrases": try passphrases(path, &figures)
        default: preconditionFailure("raw or passphrases")
        }
        return figures
    }

    private static func raw(_ path: String, _ figures: inout Figures) throws(VaultError) {
        let vault = try Workload.create(path)
        try Workload.fill(vault, 1)
        figures.add("slots_only_us", try Work.medianOpen(path, 1))
        for number in 1..<most { try vault.addSlot(try key(number)) }
        figures.add(
            "slots_last_us",
            try Work.medianOpen(path, 1) { (path) throws(VaultError) in try Vault.open(path, factors: try key(63)) })
        var times: [Double] = []
        for _ in 0..<201 {
            let start = now()
            try requireRefusal(path, try key(most))
            times.append(now() - start)
        }
        figures.add("slots_wrong_us", median(times))
    }

    private static func passphrases(_ path: String, _ figures: inout Figures) throws(VaultError) {
        let vault = try Vault.create(at: path, factors: try passphrase(0))
        try Workload.fill(vault, 1)
        var one = Figures()
        try one.time("", per: 1) { () throws(VaultError) in try open(path, 0) }
        figures.add("slots_passphrases_bound_ms", one.first / 1000 * Double(passphrases))
        for number in 1..<passphrases { try vault.addSlot(try passphrase(number)) }
        for number in passphrases..<most { try vault.addSlot(try key(number)) }
        try vault.removeSlot(try vault.slots()[most - 1].id)
        do throws(VaultError) {
            try vault.addSlot(try passphrase(passphrases))
            preconditionFailure("one more than readers would try")
        } catch { precondition(error.code == .kdfLimit) }
        try vault.addSlot(try key(most - 1))
        try figures.time("slots_passphrases_last_ms", per: 1000) { () throws(VaultError) in
            try open(path, passphrases - 1)
        }
        try figures.time("slots_passphrases_wrong_ms", per: 1000) { () throws(VaultError) in
            try requireRefusal(path, try passphrase(passphrases))
        }
        figures.add("slots_memory_mb", peakMemory() / 1e6)
    }

    private static func open(_ path: String, _ number: Int) throws(VaultError) {
        try Workload.get(try Vault.open(path, factors: try passphrase(number)), 0)
    }

    private static func requireRefusal(_ path: String, _ factors: borrowing Factors) throws(VaultError) {
        do throws(VaultError) {
            _ = try Vault.open(path, factors: factors)
            preconditionFailure("it opens no slot")
        } catch { precondition(error.code == .noSlotOpens) }
    }

    private static func passphrase(_ number: Int) throws(VaultError) -> Factors {
        try Factors(passphrase: Secret(text: "correct horse \(number)"))
    }

    /// The first one is the key of every benchmark's vault.
    private static func key(_ number: Int) throws(VaultError) -> Factors { try Workload.rawKey(0x2B + UInt8(number)) }
}
