internal import TestSupport
internal import VaultFmt
package import VaultStore

/// Does operations to a vault and to a model of it, and compares them.
package final class OperationRunner {
    private let place: Store.Place
    private let path: String
    private let letTimePass: (Int64) -> Void
    private var vault: Vault
    private var keyNumber: UInt8 = 1
    /// Counts rotations: they shut out handles that were open.
    private var epoch = 0
    private var handleEpoch = 0
    private var readers: [Reader] = []
    private var anchor: Anchor
    private(set) package var model = VaultModel()

    /// A handle on a state that others go on from.
    private struct Reader {
        let vault: Vault
        var model: VaultModel
        let epoch: Int
    }

    private static let deviceFile = [UInt8](1...48)

    /// - `path`: A file that is not there yet.
    /// - `letTimePass`: Moves the file system's clock on by so many milliseconds.
    package init(path: String, place: Store.Place, letTimePass: @escaping (Int64) -> Void = { _ in }) throws {
        self.place = place
        self.path = path
        self.letTimePass = letTimePass
        var options = CreateOptions()
        options.device = try Self.device()
        vault = try Vault.create(at: path, factors: try Self.factors(1), options: options, place: place)
        anchor = try vault.anchor
    }

    /// Runs all of them in memory, one after the other, and checks everything at the end. Throws at the first thing
    /// that is wrong.
    /// - Returns: The vault's file as it is then, and the raw key that opens it.
    @discardableResult
    package static func runInMemory(_ operations: [Operation], seed: UInt64) throws -> FuzzFile {
        let files = MemoryFileSystem(clock: 1_700_000_000_000)
        let place = Store.Place(fileSystem: files, random: .fixed(String(seed)), cacheBytes: 1 << 20)
        let runner = try OperationRunner(path: "a.vault", place: place) { files.setClock(files.now() + $0) }
        try runner.run(operations)
        let left = try files.siblings(of: "").filter { $0 != "a.vault" && !$0.hasPrefix("salvaged") }
        try Mismatch.require(left.isEmpty, "files were left behind: \(left)")
        return FuzzFile(bytes: files.bytes(of: "a.vault") ?? [], rawKey: rawKey(runner.keyNumber))
    }

    package func run(_ operations: [Operation]) throws {
        for (number, operation) in operations.enumerated() {
            do { try run(operation) } catch {
                throw Mismatch("operation \(number) of \(operations.count), \(operation.name): \(error)")
            }
        }
        try run(.reopen(cacheBytes: 0, goesOn: true))
        try run(.verify)
        try run(.checkReaders)
    }

    private func run(_ operation: Operation) throws {
        switch operation {
        case .transaction(let changes, let givesUp):
            try rejoin()
            try transact(vault, changes, givesUp: givesUp)
        case .transactionElsewhere(let changes): try transact(try opened(), changes, givesUp: false)
        case .compact:
            try rejoin()
            try vault.compact()
        case .lockAndUnlock: try lockAndUnlock()
        case .changeFactors:
            try rejoin()
            keyNumber = keyNumber % 200 + 1
            try vault.changeFactors(to: try Self.factors(keyNumber))
        case .rotate: try rotate()
        case .useScopedSlot(let group): try useScopedSlot(NameChoice.groups[group])
        case .refresh:
            try rejoin()
            try vault.refresh()
            try look(at: vault, secrets: false)
        case .reopen(let cacheBytes, let goesOn):
            let again = try opened(cacheBytes: cacheBytes)
            try look(at: again)
            let verdict = try again.verdict(on: anchor)
            try Mismatch.require(
                verdict == .same || verdict == .descends, "the vault is \(verdict) to its own past")
            anchor = try again.anchor
            if goesOn { (vault, handleEpoch) = (again, epoch) }
        case .openReader:
            readers.append(Reader(vault: try opened(writable: false), model: model, epoch: epoch))
            if readers.count > 4 { readers.removeFirst() }
        case .checkReaders: for reader in readers { try Self.compare(reader.vault, reader.model) }
        case .refreshReaders: try refreshReaders()
        case .wait(let days): letTimePass(Int64(days) * 86_400_000)
        case .verify:
            try rejoin()
            try vault.refresh()
            let report = try vault.verify()
            try Mismatch.require(report.isSound, "not sound: \(report.problems), \(report.unopened) not opened")
            try Mismatch.require(
                report.items == UInt64(model.items.count), "\(report.items) items, not \(model.items.count)")
        case .salvage: try salvage()
        }
    }

    // MARK: handles

    private static func factors(_ number: UInt8) throws -> Factors {
        try Factors(rawKey: Secret(bytes: rawKey(number)))
    }

    private static func rawKey(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func device() throws -> Device { try Device(fileContents: Secret(bytes: deviceFile)) }

    private func opened(writable: Bool = true, cacheBytes: Int = 1 << 20) throws -> Vault {
        var options = OpenOptions()
        options.writable = writable
        options.device = try Self.device()
        let place = Store.Place(fileSystem: place.fileSystem, random: place.random, cacheBytes: cacheBytes)
        return try Vault.open(path, factors: try Self.factors(keyNumber), options: options, place: place)
    }

    /// A handle that a rotation through another one has shut out opens the vault again.
    private func rejoin() throws {
        guard handleEpoch != epoch else { return }
        vault = try opened()
        handleEpoch = epoch
    }

    // MARK: changing

    private func transact(_ vault: Vault, _ changes: [Change], givesUp: Bool) throws {
        let before = model
        var wrong: Mismatch?
        do throws(VaultError) {
            try vault.transaction { (transaction) throws(VaultError) in
                do {
                    for change in changes { try self.change(transaction, change) }
                } catch let error as VaultError { throw error } catch {
                    wrong = error as? Mismatch ?? Mismatch("\(error)")
                    throw VaultError(.invalidArgument, "given up")
                }
                if givesUp { throw VaultError(.invalidArgument, "given up") }
            }
        } catch {
            if let wrong { throw wrong }
            guard givesUp, error.detail == "given up" else { throw error }
            model = before
        }
    }

    /// One change to both; what it answers must be what the model says.
    private func change(_ transaction: Transaction, _ change: Change) throws {
        let expected = try model.apply(change)
        do throws(VaultError) {
            switch change {
            case .set(let name, let secret, let attributes, let accessibility):
                try transaction.set(
                    try name.key(), secret: Secret(bytes: secret.bytes), attributes: attributes.changes,
                    accessibility: accessibility)
            case .add(let name, let secret, let attributes, let accessibility):
                try transaction.add(
                    try name.key(), secret: Secret(bytes: secret.bytes), attributes: attributes.attributes,
                    accessibility: accessibility)
            case .update(let name, let attributes, let accessibility):
                try transaction.update(try name.key(), attributes: attributes.changes, accessibility: accessibility)
            case .move(let name, let target): try transaction.move(try name.key(), to: try target.key())
            case .remove(let name): _ = try transaction.remove(try name.key())
            }
        } catch {
            guard error.code == expected else { throw error }
            return
        }
        try Mismatch.require(
            expected == nil, "\(change) succeeded, where \(String(describing: expected)) should be thrown")
        try lookWithin(transaction, change)
    }

    /// A transaction sees its own changes.
    private func lookWithin(_ transaction: Transaction, _ change: Change) throws {
        let name: NameChoice =
            switch change {
            case .set(let name, _, _, _), .add(let name, _, _, _), .update(let name, _, _), .move(_, let name),
                .remove(let name):
                name
            }
        let key = try name.key()
        let seen = try transaction.item(key)
        try Mismatch.require((seen == nil) == (model.items[key] == nil), "a transaction does not see its own change")
    }

    private func rotate() throws {
        try rejoin()
        keyNumber = keyNumber % 200 + 1
        try vault.changeFactors(to: try Self.factors(keyNumber))
        var rotation = try vault.rotation()
        _ = try rotation.keep(try Self.factors(keyNumber))
        _ = try rotation.run()
        epoch += 1
        handleEpoch = epoch
    }

    // MARK: looking

    private func lockAndUnlock() throws {
        try rejoin()
        try vault.refresh()
        vault.lock()
        var seen = 0
        var items = try vault.items()
        while let item = try items.next() {
            seen += 1
            do throws(VaultError) {
                let opened = try vault.open(item)
                try Self.require(
                    item.accessibility.survivesLock, "a locked vault opened an item that is \(item.accessibility.name)")
                try Self.require(
                    opened.secret.withUnsafeBytes { Array($0) } == model.items[item.key]?.secret, "another secret")
            } catch {
                guard error.code == .locked, !item.accessibility.survivesLock else { throw error }
            }
        }
        try Mismatch.require(seen == model.items.count, "\(seen) items while locked, not \(model.items.count)")
        try vault.unlock(try Self.factors(keyNumber))
        try look(at: vault)
    }

    private static func require(_ condition: Bool, _ what: String) throws(VaultError) {
        guard condition else { throw VaultError(.structureInvalid, what) }
    }

    private func useScopedSlot(_ group: String) throws {
        try rejoin()
        let hasGroup = try vault.statistics().compartments.contains { $0.group == group }
        guard hasGroup else { return }
        let slot = try vault.addSlot(try Self.factors(255), grantedGroups: [group]).id
        let scoped = try Vault.open(path, factors: try Self.factors(255), options: OpenOptions(), place: place)
        var items = try scoped.items()
        while let item = try items.next() {
            do throws(VaultError) {
                let opened = try scoped.open(item)
                try Self.require(item.key.group == group, "a scoped slot opened an item of another group")
                try Self.require(
                    opened.secret.withUnsafeBytes { Array($0) } == model.items[item.key]?.secret, "another secret")
            } catch {
                let isExpected =
                    item.key.group == group
                    ? error.code == .deviceBound && item.device != nil : error.code == .notPermitted
                guard isExpected else { throw error }
            }
        }
        try vault.removeSlot(slot)
        do throws(VaultError) {
            try scoped.refresh()
            throw VaultError(.structureInvalid, "a removed slot still reads")
        } catch { guard error.code == .noSlotOpens else { throw error } }
    }

    private func refreshReaders() throws {
        for index in readers.indices.reversed() {
            do throws(VaultError) {
                try readers[index].vault.refresh()
            } catch {
                guard error.code == .noSlotOpens, readers[index].epoch != epoch else { throw error }
                // It keeps what it has.
                try Self.compare(readers[index].vault, readers[index].model)
                readers.remove(at: index)
                continue
            }
            readers[index].model = model
        }
    }

    private func salvage() throws {
        let target = "salvaged \(model.items.count)"
        if try place.fileSystem.identity(of: target) != nil { try place.fileSystem.remove(target) }
        var options = CreateOptions()
        options.device = try Self.device()
        let report = try Vault.salvage(
            path, factors: try Self.factors(keyNumber), to: target, newFactors: try Self.factors(1), options: options,
            device: try Self.device(), place: place)
        try Mismatch.require(report.lost.isEmpty, "salvaging lost \(report.lost)")
        var reading = OpenOptions()
        reading.device = try Self.device()
        let salvaged = try Vault.open(target, factors: try Self.factors(1), options: reading, place: place)
        try Self.compare(salvaged, model, ids: false)
        try place.fileSystem.remove(target)
    }

    private func look(at vault: Vault, secrets: Bool = true) throws {
        try Self.compare(vault, model, secrets: secrets)
        var items = try vault.items()
        while let item = try items.next() { model.learn(item.id, item.key) }
        try Mismatch.require(
            try vault.statistics().items == UInt64(model.items.count), "the commit counts items wrongly")
    }

    /// Everything in a vault must be what the model says: by listing, by look-up and by a scan.
    private static func compare(_ vault: Vault, _ model: VaultModel, secrets: Bool = true, ids: Bool = true) throws {
        var seen = 0
        var last: ItemKey?
        var items = try vault.items()
        while let item = try items.next() {
            seen += 1
            if let last { try Mismatch.require(last < item.key, "the listing is out of order") }
            last = item.key
            guard let expected = model.items[item.key] else { throw Mismatch("an item that should not be there") }
            if ids, let id = expected.id { try Mismatch.require(id == item.id, "an item has another id than before") }
            try Mismatch.require(item.accessibility == expected.accessibility, "another accessibility")
            guard secrets else { continue }
            let opened = try vault.open(item)
            try Mismatch.require(opened.secret.withUnsafeBytes { $0.elementsEqual(expected.secret) }, "another secret")
            try Mismatch.require(opened.item.attributes.byBytes == expected.attributes, "other attributes")
            if seen <= 10 {
                try Mismatch.require(
                    try vault.item(item.key)?.revision == item.revision, "a look-up finds another item")
            }
        }
        try Mismatch.require(seen == model.items.count, "\(seen) items, not \(model.items.count)")
        guard secrets else { return }
        try scan(vault, model)
    }

    private static func scan(_ vault: Vault, _ model: VaultModel) throws {
        var count = 0
        try vault.forEachSecret { (item, secret) throws(VaultError) in
            count += 1
            guard case .opened(let bytes) = secret, bytes.elementsEqual(model.items[item.key]?.secret ?? [0]) else {
                throw VaultError(.structureInvalid, "a scan finds another secret")
            }
        }
        try Mismatch.require(count == model.items.count, "a scan finds \(count) items, not \(model.items.count)")
    }
}

extension Operation {
    /// For messages.
    var name: String {
        switch self {
        case .transaction(let changes, let givesUp): "transaction of \(changes.count)\(givesUp ? ", given up" : "")"
        case .transactionElsewhere(let changes): "transaction of \(changes.count) elsewhere"
        default: "\(self)"
        }
    }
}

extension Attributes {
    var byBytes: [[UInt8]: [UInt8]] {
        var all: [[UInt8]: [UInt8]] = [:]
        forEach { all[Array($0.utf8)] = $1 }
        return all
    }
}
