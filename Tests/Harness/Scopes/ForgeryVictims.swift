internal import TestSupport
internal import VaultCrypto
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// What became of forged files.
struct ForgeryTotals: Sendable, CustomStringConvertible {
    /// By kind.
    private var made: [String: Int] = [:]
    private var openings = 0
    private var refused = 0
    /// The owners' newest state, or an older one that no memory speaks against, with what is not in it gone.
    private var genuine = 0
    /// A stranger's vault on a machine that never saw the owners', and was not given their key.
    private var atFirstSight = 0

    mutating func count(_ what: String) { made[what, default: 0] += 1 }
    mutating func countRefusal() { (openings, refused) = (openings + 1, refused + 1) }
    mutating func countGenuine() { (openings, genuine) = (openings + 1, genuine + 1) }
    mutating func countFirstSight() { (openings, atFirstSight) = (openings + 1, atFirstSight + 1) }

    mutating func add(_ other: ForgeryTotals) {
        made.merge(other.made) { $0 + $1 }
        openings += other.openings
        refused += other.refused
        genuine += other.genuine
        atFirstSight += other.atFirstSight
    }

    var description: String {
        let kinds = made.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        return
            "\(made.values.reduce(0, +)) forgeries (\(kinds)) opened \(openings) times: \(refused) refused, \(genuine) times a state of the "
            + "owners' under its own header, \(atFirstSight) times a stranger's vault at first sight, none else"
    }
}

/// Owners and holders of scoped slots who get a forged file in the place of the owners': on machines that have seen
/// every version, and on machines that have seen none.
final class ForgeryVictims {
    private let vault: ScopesVault
    private let owner: Machine
    /// By the version that made the slot.
    private var holders: [Int: Machine] = [:]
    private static let path = "/forged.vault"

    init(_ vault: ScopesVault) {
        self.vault = vault
        owner = Self.machine("owner", vault)
    }

    private static func place(_ vault: ScopesVault) -> Store.Place {
        Store.Place(fileSystem: vault.files, cacheBytes: 1 << 18)
    }

    private static func machine(_ name: String, _ vault: ScopesVault) -> Machine {
        Machine(Places(vault: "", generatedKeyFile: "", stateFolder: "/\(name)", witnessFile: nil), place: place(vault))
        { _ in }
    }

    /// Every machine sees the newest version where it will find the forged one, and follows rotations and grants to it
    /// without being asked.
    func remember() throws {
        vault.files.put(Self.path, vault.bytes)
        _ = try owner.open(Self.path, factors: try ScopesVault.factors(vault.ownerKey))
        for slot in vault.slots {
            guard let key = slot.rawKeys.last else { continue }
            let machine = holders[slot.since] ?? Self.machine("slot-\(slot.since)", vault)
            holders[slot.since] = machine
            _ = try machine.open(Self.path, factors: try ScopesVault.factors(key.rawKey))
        }
    }

    func meet(_ what: String, _ bytes: [UInt8], _ totals: inout ForgeryTotals) throws {
        totals.count(what)
        vault.files.put(Self.path, bytes)
        try meet(what, bytes, "an owner", vault.ownerKey, owner, &totals)
        for slot in vault.slots {
            guard let key = slot.rawKeys.last, let machine = holders[slot.since] else { continue }
            try meet(what, bytes, "the holder of \(slot)", key.rawKey, machine, &totals)
        }
    }

    private func meet(
        _ what: String, _ bytes: [UInt8], _ who: String, _ rawKey: [UInt8], _ machine: Machine,
        _ totals: inout ForgeryTotals
    ) throws {
        let place = Self.place(vault)
        let newest = vault.newest
        try judge(bytes, "\(who) with a memory", &totals, isAllowed: { $0?.chain == newest.chain }) {
            try machine.open(Self.path, factors: try ScopesVault.factors(rawKey))
        }
        try judge(bytes, "\(who) without a memory", &totals, isAllowed: { $0 != nil || what == "stranger" }) {
            try Vault.open(Self.path, factors: try ScopesVault.factors(rawKey), options: OpenOptions(), place: place)
        }
        guard what == "stranger" else { return }
        try judge(bytes, "\(who) with the owners' key", &totals, isAllowed: { $0 != nil }) {
            var options = OpenOptions()
            options.owners = newest.owners
            return try Vault.open(Self.path, factors: try ScopesVault.factors(rawKey), options: options, place: place)
        }
    }

    /// - `isAllowed`: Whether a state may be served; nil for one that the owners did not make.
    private func judge(
        _ bytes: [UInt8], _ who: String, _ totals: inout ForgeryTotals, isAllowed: (ScopesVault.Genuine?) -> Bool,
        _ open: () throws -> Vault
    ) throws {
        let opened: Vault
        do { opened = try open() } catch is VaultError { return totals.countRefusal() }
        let genuine = vault.genuine[opened.state.chain]
        guard isAllowed(genuine) else {
            throw Wrong("\(who) accepts \(genuine.map { "version \($0.version)" } ?? "what no owner made")")
        }
        guard let genuine else { return totals.countFirstSight() }
        guard bytes.starts(with: genuine.header) else {
            throw Wrong("\(who) accepts version \(genuine.version) under another header")
        }
        try compare(opened, genuine, who)
        totals.countGenuine()
    }

    /// What is read of a state of the owners' is what they wrote, or an error.
    private func compare(_ opened: Vault, _ genuine: ScopesVault.Genuine, _ who: String) throws {
        var count = 0
        do {
            var cursor = try opened.items()
            while let item = try cursor.next() {
                count += 1
                guard let secret = genuine.contents[item.key] else {
                    throw Wrong("\(who) reads an item that was not there")
                }
                do {
                    let found = try opened.open(item).secret.withUnsafeBytes { Array($0) }
                    guard found == Array(secret.utf8) else {
                        throw Wrong("\(who) reads another secret than was stored")
                    }
                } catch is VaultError { continue }
            }
        } catch is VaultError { return }
        guard count == genuine.contents.count else {
            throw Wrong("\(who) reads \(count) items of \(genuine.contents.count)")
        }
    }
}
