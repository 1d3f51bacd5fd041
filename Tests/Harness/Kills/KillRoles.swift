internal import Glibc
internal import TestSupport
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// A vault that several processes write to, each the items of its own number, and journals beside it.
struct SharedVault {
    static let items = 5

    let path: String
    let folder: String

    init(_ path: String, journals folder: String) {
        self.path = path
        self.folder = folder
    }

    func create() throws { _ = try Vault.create(at: path, factors: try Keys.factors(0)) }

    func open(writable: Bool) throws(VaultError) -> Vault {
        var options = OpenOptions()
        options.writable = writable
        options.lockWait = .seconds(60)
        return try Vault.open(path, factors: try Keys.factors(0), options: options)
    }

    func journal(_ writer: Int) -> Journal { Journal(folder, writer: writer) }

    static func name(_ writer: Int, _ item: Int) -> String { "writer-\(writer)-\(item)" }

    /// The number that a writer's items say, which must be the same in all of them; 0 if there are none.
    func number(of writer: Int, in model: Model) throws -> Int {
        let all = (0..<Self.items).map { item in
            model.items[Self.name(writer, item)].flatMap {
                Int(String(decoding: $0.secret.prefix { $0 != 32 }, as: UTF8.self))
            } ?? 0
        }
        guard Set(all).count == 1 else { throw Wrong("half a commit of writer \(writer) is seen: \(all)") }
        return all[0]
    }

    /// Every writer's newest number is one that was acknowledged, or begun after that.
    func check(_ model: Model, writers: Int, acknowledged: [Int]) throws -> [Int] {
        var seen: [Int] = []
        for writer in 0..<writers {
            let number = try number(of: writer, in: model)
            guard number >= acknowledged[writer] else {
                throw Wrong(
                    "change \(acknowledged[writer]) of writer \(writer) was acknowledged, and \(number) is there")
            }
            let begun = journal(writer).read().begun
            guard number <= begun else {
                throw Wrong("change \(number) of writer \(writer) is there, and \(begun) was the last begun")
            }
            seen.append(number)
        }
        return seen
    }
}

/// Processes that the kill loop starts and kills.
enum KillRoles {
    /// `writer PATH FOLDER NUMBER SEED`: changes its items until it is killed.
    static func writer(_ arguments: [String]) -> Int32 {
        running("writer") {
            let shared = SharedVault(arguments[0], journals: arguments[1])
            guard let writer = Int(arguments[2]), let seed = UInt64(arguments[3]) else { throw Wrong("bad arguments") }
            var numbers = Numbers(seed)
            let journal = shared.journal(writer)
            var next = journal.read().begun + 1
            var vault = try shared.open(writable: true)
            while true {
                if numbers.chance(12) { vault = try shared.open(writable: true) }
                let choice = numbers.below(24)
                if choice < 3 {
                    try maintain(vault, choice)
                    vault = try shared.open(writable: true)
                } else {
                    try journal.begin(next)
                    let isLarge = numbers.chance(20)
                    if choice < 7 {
                        try merge(vault, writer, next, large: isLarge)
                    } else {
                        try change(vault, writer, next, large: isLarge)
                    }
                    try journal.acknowledge(next)
                    next += 1
                }
            }
        }
    }

    /// Rewrites the file in one of three ways, if the slots are still those that this program knows.
    private static func maintain(_ vault: Vault, _ choice: Int) throws {
        do throws(VaultError) {
            switch choice {
            case 0: try vault.compact()
            case 1: try vault.changeFactors(to: try Keys.factors(0))
            default:
                var rotation = try vault.rotation()
                _ = try rotation.keep(try Keys.factors(0))
                _ = try rotation.run()
            }
        } catch {
            guard [.noSlotOpens, .noSuchSlot, .busy].contains(error.code) else { throw error }
        }
    }

    private static func change(_ vault: Vault, _ writer: Int, _ number: Int, large: Bool) throws {
        do throws(VaultError) { try setItems(vault, writer, number, large: large) } catch {
            // Another has rotated the keys: this program has to open the vault again.
            guard error.code == .noSlotOpens else { throw error }
            exit(0)
        }
    }

    private static func setItems(_ vault: Vault, _ writer: Int, _ number: Int, large: Bool) throws(VaultError) {
        let text = "\(number) " + String(repeating: "x", count: large ? 9000 : number % 30)
        try vault.transaction { (transaction) throws(VaultError) in
            for item in 0..<SharedVault.items {
                try transaction.set(try Model.key(SharedVault.name(writer, item)), secret: .init(text: text))
            }
        }
    }

    /// The same change, made in a copy on another machine that is merged then.
    private static func merge(_ vault: Vault, _ writer: Int, _ number: Int, large: Bool) throws {
        do throws(VaultError) {
            let bytes = try vault.withStore { (store) throws(VaultError) in
                try store.file.bytes(Int(store.state.commit.end), at: 0)
            }
            var options = OpenOptions()
            options.writable = true
            let copy = try Vault.open(
                "copy", factors: try Keys.factors(0), options: options,
                place: Store.Place(fileSystem: MemoryFileSystem("copy", bytes)))
            try setItems(copy, writer, number, large: large)
            try vault.merge(copy)
        } catch {
            // As above, and the copy may be of before a rotation.
            guard [.noSlotOpens, .foreignOwner].contains(error.code) else { throw error }
            exit(0)
        }
    }

    /// `reader PATH FOLDER WRITERS`: reads until it is killed; what it sees never goes back, and is never half a
    /// commit.
    static func reader(_ arguments: [String]) -> Int32 {
        running("reader") {
            let shared = SharedVault(arguments[0], journals: arguments[1])
            guard let writers = Int(arguments[2]) else { throw Wrong("bad arguments") }
            var vault = try shared.open(writable: false)
            var last = [Int](repeating: 0, count: writers)
            var round = 0
            while true {
                round += 1
                let acknowledged = (0..<writers).map { shared.journal($0).read().acknowledged }
                if round % 5 == 0 { vault = try shared.open(writable: false) } else { try refresh(&vault, shared) }
                let seen = try shared.check(try Model(reading: vault), writers: writers, acknowledged: acknowledged)
                for (before, now) in zip(last, seen) where now < before {
                    throw Wrong("a reader saw change \(before), and then \(now)")
                }
                last = seen
            }
        }
    }

    private static func refresh(_ vault: inout Vault, _ shared: SharedVault) throws {
        do throws(VaultError) { try vault.refresh() } catch {
            guard error.code == .noSlotOpens else { throw error }
            vault = try shared.open(writable: false)
        }
    }

    /// Exit code 3 says that something was wrong.
    private static func running(_ who: String, _ body: () throws -> Void) -> Int32 {
        do {
            try body()
            return 0
        } catch {
            report("\(who) \(getpid()): \(error)")
            return 3
        }
    }
}
