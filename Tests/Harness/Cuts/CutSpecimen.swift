internal import TestSupport
internal import VaultBytes
internal import VaultFmt
internal import VaultLocal
internal import VaultStore

/// A small vault of several changes, some of them to its slots, and what each of its lengths and altered commits may
/// be called: on a machine that has seen its newest state, and on one that has not.
struct CutSpecimen: Sendable {
    /// A state of the vault, and the secrets of its items by service.
    struct Past: Sendable {
        let generation: UInt64
        let offset: Int
        let end: Int
        let header: Bytes32
        let secrets: [String: String]
    }

    let bytes: [UInt8]
    let past: [Past]
    /// Where the records of the newest items end, by service.
    private let recordEnds: [String: Int]
    /// What the machine that knows the vault has in its state folder.
    private let memory: (path: String, contents: [UInt8])
    private static let path = "a.vault"
    private static let stateFolder = "/state"

    private static let formerNames = ["renamed": "s3"]

    var newest: Past { past[past.count - 1] }
    private let isScoped: Bool

    /// - `isScoped`: Whether a scoped slot exists; else the slots change between the other changes.
    init(isScoped: Bool) throws {
        self.isScoped = isScoped
        let files = MemoryFileSystem(clock: 1_700_000_000_000)
        let place = Store.Place(fileSystem: files, random: .fixed(Numbers(isScoped ? 2 : 1)), cacheBytes: 1 << 16)
        let machine = Self.machine(place)
        let vault = try machine.create(at: Self.path, factors: try Keys.factors(0))
        var past: [Past] = []
        var secrets: [String: String] = [:]
        func note() throws {
            let (commit, start) = try vault.withStore { (store) throws(VaultError) in
                (store.state.commit, store.header.bodyStart)
            }
            // A new file has no earlier states.
            if commit.start == start { past = [] }
            past.append(
                Past(
                    generation: commit.generation, offset: Int(commit.offset), end: Int(commit.end),
                    header: commit.header, secrets: secrets))
        }
        func put(_ service: String, _ secret: String) throws {
            try vault.set(try Model.key(service), secret: Secret(text: secret))
            secrets[service] = secret
            try note()
        }
        // The first item brings the keys of its group: without that change's commit, nothing opens its record.
        for number in 0..<4 { try put("s\(number)", "secret \(number)") }
        if isScoped {
            _ = try vault.addSlot(try Keys.factors(9), grantedGroups: [""])
        } else {
            _ = try vault.addSlot(try Keys.factors(5))
        }
        try note()
        try put("s1", "changed")
        try put("late", "a later item")
        try vault.remove(try Model.key("s2"))
        secrets["s2"] = nil
        try note()
        if !isScoped {
            let slot = try vault.slots().last
            if let slot { try vault.renameSlot(slot.id, to: "another name") }
            try note()
        }
        try vault.move(try Model.key("s3"), to: try Model.key("renamed"))
        secrets["renamed"] = secrets.removeValue(forKey: "s3")
        try note()
        if !isScoped {
            _ = try vault.addSlot(try Keys.factors(6))
            try note()
        }
        var ends: [String: Int] = [:]
        var cursor = try vault.items()
        while let item = try cursor.next() {
            ends[item.key.service ?? ""] = Int(item.entry.record.offset) + item.entry.record.length
        }
        recordEnds = ends
        self.past = past
        bytes = Array((files.bytes(of: Self.path) ?? []).prefix(past.last?.end ?? 0))
        let folder = Self.stateFolder + "/anchors/"
        let names = try files.siblings(of: folder).filter { $0.hasPrefix("\(vault.id).") && $0.hasSuffix(".owner") }
        guard names.count == 1, let contents = files.bytes(of: folder + names[0]) else {
            throw Wrong("the machine remembers \(names)")
        }
        memory = (folder + names[0], contents)
    }

    private static func machine(_ place: Store.Place) -> Machine {
        Machine(Places(vault: "", generatedKeyFile: "", stateFolder: stateFolder, witnessFile: nil), place: place) {
            _ in
        }
    }

    /// A machine with an altered file.
    private func machine(_ altered: [UInt8], knows: Bool) -> (machine: Machine, place: Store.Place) {
        let files = MemoryFileSystem(Self.path, altered, clock: 1_700_000_000_000)
        if knows { files.put(memory.path, memory.contents) }
        let place = Store.Place(fileSystem: files, cacheBytes: 1 << 16)
        return (Self.machine(place), place)
    }

    // MARK: cutting

    /// Opens and salvages the file without what follows its first bytes.
    func checkCut(to length: Int) throws {
        let altered = Array(bytes[..<length])
        let known = past.last { $0.end <= length }
        for knows in [true, false] {
            let who = knows ? "a machine that knows the vault" : "a new machine"
            do {
                try checkOpening(altered, known, knows: knows)
                try checkSalvage(altered, known, knows: knows, isWhole: length == bytes.count)
            } catch let wrong as Wrong { throw Wrong("\(who): \(wrong.description)") }
        }
    }

    private func checkOpening(_ altered: [UInt8], _ known: Past?, knows: Bool) throws {
        let vault: Vault
        do throws(VaultError) {
            let factors = try Keys.factors(0)
            vault = try machine(altered, knows: knows).machine.open(Self.path, factors: factors)
        } catch {
            // A file that ends with a state of its own header does not show that it was longer.
            let isPlain = known?.end == altered.count && known?.header == newest.header
            let words = isPlain ? ["it was rolled back"] : ["cut off", "truncated", "not a vault"]
            guard words.contains(where: error.detail.contains) else { throw Wrong("it is called: \(error)") }
            guard knows || !isPlain else { throw Wrong("it does not open: \(error)") }
            guard knows || known?.header != newest.header else { throw Wrong("it does not open: \(error)") }
            return
        }
        guard let known, known.header == newest.header, !knows || altered.count == bytes.count else {
            throw Wrong("it opens at generation \(vault.state.generation)")
        }
        guard vault.state.generation == known.generation, try Self.secrets(vault) == known.secrets else {
            throw Wrong("generation \(vault.state.generation) is served, not \(known.generation)")
        }
        guard (vault.tail == .clean) == (known.end == altered.count) else { throw Wrong("its tail is \(vault.tail)") }
    }

    private static func secrets(_ vault: Vault) throws -> [String: String] {
        var secrets: [String: String] = [:]
        for (name, value) in try Model(reading: vault).items {
            secrets[name] = String(decoding: value.secret, as: UTF8.self)
        }
        return secrets
    }

    // MARK: salvaging

    private func checkSalvage(_ altered: [UInt8], _ known: Past?, knows: Bool, isWhole: Bool) throws {
        guard let (secrets, report) = try salvaged(altered, knows: knows) else {
            guard known == nil else { throw Wrong("salvage fails") }
            return
        }
        let isComplete = isWhole || !knows && known?.end == altered.count && known?.header == newest.header
        guard report.isComplete == isComplete else { throw Wrong("salvage calls it \(report)") }
        guard !knows || (report.missingUpTo == nil) == (known?.generation == newest.generation) else {
            throw Wrong("salvage does not say what this machine has seen")
        }
        guard known != nil else { return }
        // The holder of the scoped slot could have made what follows the last commit, as could anyone if no commit
        // proves the header.
        let leftOut = Set(report.unproven.map { $0.service ?? "" })
        guard leftOut.isEmpty || isScoped || known?.header != newest.header else {
            throw Wrong("\(leftOut) are left out")
        }
        for (name, secret) in newest.secrets where secrets[name] != secret && !leftOut.contains(name) {
            if let former = Self.formerNames[name], leftOut.contains(former) { continue }
            // What is in the file is recovered, whatever became of the commit.
            let isThere = recordEnds[name].map { $0 <= altered.count } ?? false
            // A new name makes no new record: before its commit, the secret has the old one.
            let isThereAsBefore =
                known?.secrets[name] == nil && Self.formerNames[name].flatMap { secrets[$0] } == secret
            guard !isThere || isThereAsBefore else {
                throw Wrong("'\(name)' is in the file, and salvage has \(secrets.sorted { $0.key < $1.key })")
            }
        }
        try checkProven(secrets, known, report)
    }

    /// Nothing that no commit proves passes for proven.
    private func checkProven(_ secrets: [String: String], _ known: Past?, _ report: SalvageReport) throws {
        let unproven = report.uncommitted + report.withoutIndex + report.older + report.fromConflict
        let named = Set(unproven.map { $0.service ?? "" })
        for (name, secret) in secrets where known?.secrets[name] != secret && !named.contains(name) {
            throw Wrong("'\(name)' passes for proven")
        }
    }

    /// What salvage recovers; nil if it fails.
    private func salvaged(_ altered: [UInt8], knows: Bool) throws -> (secrets: [String: String], SalvageReport)? {
        let (machine, place) = machine(altered, knows: knows)
        let report: SalvageReport
        do throws(VaultError) {
            let factors = try Keys.factors(0)
            let new = try Keys.factors(1)
            report = try machine.salvage(Self.path, factors: factors, to: "new.vault", newFactors: new)
        } catch {
            guard [.notAVault, .headerInvalid, .authenticationFailed].contains(error.code) else { throw error }
            return nil
        }
        let factors = try Keys.factors(1)
        let vault = try Vault.open("new.vault", factors: factors, options: OpenOptions(), place: place)
        return (try Self.secrets(vault), report)
    }

    // MARK: altering a commit

    /// Opens, verifies and salvages the file with one other bit in a commit.
    func checkFlip(_ index: Int, byte: Int, bit: Int) throws {
        var altered = bytes
        altered[past[index].offset + byte] ^= 1 << UInt8(bit)
        let isNewest = index == past.count - 1
        let served = isNewest ? past.dropLast().last : past.last
        for knows in [true, false] {
            let isServed = served?.header == newest.header && (!knows || !isNewest)
            try checkFlipped(altered, served, isServed: isServed, knows: knows)
            guard let (secrets, report) = try salvaged(altered, knows: knows) else {
                guard past.count == 1 else { throw Wrong("salvage fails") }
                continue
            }
            guard report.isComplete == !isNewest else { throw Wrong("salvage calls it \(report)") }
            let expected = newest.secrets.merging(report.removedSecrets(served)) { own, _ in own }
            let leftOut = Set(report.unproven.map { $0.service ?? "" })
            guard leftOut.isEmpty || isScoped || served?.header != newest.header,
                expected.allSatisfy({ secrets[$0.key] == $0.value || leftOut.contains($0.key) })
            else { throw Wrong("salvage has \(secrets.sorted { $0.key < $1.key }), and leaves out \(leftOut)") }
            try checkProven(secrets, served, report)
        }
    }

    private func checkFlipped(_ altered: [UInt8], _ served: Past?, isServed: Bool, knows: Bool) throws {
        let vault: Vault
        do throws(VaultError) {
            let factors = try Keys.factors(0)
            vault = try machine(altered, knows: knows).machine.open(Self.path, factors: factors)
        } catch {
            guard !isServed || knows else { throw Wrong("it does not open: \(error)") }
            return
        }
        guard isServed, vault.state.generation == served?.generation else {
            throw Wrong("it opens at generation \(vault.state.generation)")
        }
        guard try !vault.verify().isSound else { throw Wrong("verification finds nothing") }
    }
}

extension SalvageReport {
    /// The items that a change without its commit removed: they are kept.
    fileprivate func removedSecrets(_ served: CutSpecimen.Past?) -> [String: String] {
        Dictionary(
            removedLater.compactMap { key in
                let name = key.service ?? ""
                return served?.secrets[name].map { (name, $0) }
            }, uniquingKeysWith: { $1 })
    }
}
