internal import Glibc
internal import TestSupport
internal import VaultFmt

/// A vault that several processes use at once. It has a raw-key slot, which stays, and one with a passphrase, which
/// they change.
struct ContestedVault {
    let path: String

    static let writer = "concurrency-writer"
    static let reader = "concurrency-reader"
    /// Items that one transaction always sets together.
    static let together = ["x", "y", "z"]
    static let firstPassphrase = "first"

    /// Makes it; says at which generation it then is.
    func create() throws -> UInt64 {
        let vault = try Vault.create(at: path, factors: try Keys.factors(0))
        _ = try vault.addSlot(try Self.factors(Self.firstPassphrase), cost: .testing, name: "changing", allowWeak: true)
        return vault.state.generation
    }

    private static func factors(_ passphrase: String) throws(VaultError) -> Factors {
        try Factors(passphrase: Secret(text: passphrase))
    }

    private func opened(writable: Bool) throws(VaultError) -> Vault {
        var options = OpenOptions()
        options.writable = writable
        options.lockWait = .seconds(60)
        return try Vault.open(path, factors: try Keys.factors(0), options: options)
    }

    private static func text(_ secret: borrowing Secret) -> String {
        secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: writing

    /// `PATH LOG SEED COUNT`: makes so many changes, and logs each one that was acknowledged.
    static func write(_ arguments: [String]) -> Int32 {
        guard arguments.count == 4, let seed = UInt64(arguments[2]), let count = Int(arguments[3]) else { return 2 }
        let shared = ContestedVault(path: arguments[0])
        let log = LogFile(arguments[1])
        var numbers = Numbers(seed)
        do {
            var vault = try shared.opened(writable: true)
            for number in 0..<count {
                if numbers.chance(20) { vault = try shared.opened(writable: true) }
                log.append(try change(vault, &numbers, value: "\(getpid()).\(number)").line)
            }
            return 0
        } catch {
            report("concurrency: a writer: \(error)")
            return 1
        }
    }

    private static func change(_ vault: Vault, _ numbers: inout Numbers, value: String) throws(VaultError)
        -> SharedChange
    {
        let start = SharedChange.now()
        let name = "k\(numbers.below(20))"
        switch numbers.below(20) {
        case 0:
            try vault.compact()
            return SharedChange(start: start, generation: vault.state.generation, .compact)
        case 1:
            try changePassphrase(vault, to: value)
            return SharedChange(start: start, generation: vault.state.generation, .passphrase, new: value)
        case 2, 3, 4:
            let old = try vault.transaction { (transaction) throws(VaultError) -> String in
                let old = try found(name, transaction)
                // Each operation is a commit of its own: removing nothing would be none.
                if old == "-" { try transaction.set(try Model.key("empty"), secret: Secret(text: value)) }
                _ = try transaction.remove(try Model.key(name))
                return old
            }
            return SharedChange(start: start, generation: vault.state.generation, .remove, name, old: old)
        default:
            let old = try vault.transaction { (transaction) throws(VaultError) -> String in
                let old = try found(name, transaction)
                for name in [name] + together { try transaction.set(try Model.key(name), secret: Secret(text: value)) }
                return old
            }
            return SharedChange(start: start, generation: vault.state.generation, .set, name, old: old, new: value)
        }
    }

    private static func found(_ name: String, _ transaction: Transaction) throws(VaultError) -> String {
        guard let opened = try transaction.get(try Model.key(name)) else { return "-" }
        return text(opened.secret)
    }

    /// Another process may change it first: the slot that was found is then no longer there.
    private static func changePassphrase(_ vault: Vault, to new: String) throws(VaultError) {
        while true {
            try vault.refresh()
            guard let slot = try vault.slots().first(where: { $0.factors == .passphrase }) else {
                throw VaultError(.noSuchSlot, "the slot with the passphrase is gone")
            }
            do throws(VaultError) {
                try vault.changeFactors(of: slot.id, to: try factors(new), cost: .testing, allowWeak: true)
                return
            } catch { guard error.code == .noSuchSlot || error.code == .busy else { throw error } }
        }
    }

    // MARK: reading

    /// `PATH LOG STOP`: reads everything again and again until the file STOP is there, and logs what was found.
    static func read(_ arguments: [String]) -> Int32 {
        guard arguments.count == 3 else { return 2 }
        let shared = ContestedVault(path: arguments[0])
        let log = LogFile(arguments[1])
        do {
            var vault = try shared.opened(writable: false)
            var rounds = 0
            while access(arguments[2], F_OK) != 0 {
                rounds += 1
                if rounds % 2 == 0 { try vault.refresh() } else { vault = try shared.opened(writable: false) }
                let found = try contents(vault).map { "\($0.key)=\($0.value)" }.joined(separator: " ")
                log.append("\(vault.state.generation) \(found)")
                usleep(2000)
            }
            return 0
        } catch {
            report("concurrency: a reader: \(error)")
            return 1
        }
    }

    private static func contents(_ vault: Vault) throws -> [String: String] {
        try Model(reading: vault).items.filter { $0.key != "empty" }.mapValues {
            String(decoding: $0.secret, as: UTF8.self)
        }
    }

    // MARK: the end

    /// What is wrong with the vault after all that.
    func wrong(at history: SharedHistory) throws -> [String] {
        var wrong: [String] = []
        let vault = try opened(writable: true)
        let (generation, state) = history.last
        if vault.state.generation != generation {
            wrong.append("the vault is at \(vault.state.generation), not \(generation)")
        }
        if try Self.contents(vault) != state { wrong.append("the vault does not hold what was put into it") }
        let verification = try vault.verify()
        if !verification.isSound { wrong.append("not sound: \(verification.problems)") }
        do throws(VaultError) { _ = try Vault.open(path, factors: try Self.factors(history.passphrase)) } catch {
            wrong.append("the last passphrase does not open the vault: \(error)")
        }
        return wrong
    }
}
