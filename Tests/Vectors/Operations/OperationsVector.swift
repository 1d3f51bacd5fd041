import TestSupport
import VaultBytes
import VaultCrypto
import VaultFmt
import VaultStore
import VectorMaking

/// What a writer is given, and the file that it must make (Spec/vectors/README.md).
struct OperationsVector {
    let name: String
    let spec: String
    /// Another vector's name, or `-`.
    let base: String
    let random: String
    let clock: Int64
    var device: (id: [UInt8], secret: [UInt8])?
    let operations: [String]
    let comment: String

    func encode(_ file: [UInt8]) -> [UInt8] {
        var lines = [
            ("vector", name), ("spec", spec), ("base", base), ("random", Hex.encode(Array(random.utf8))),
            ("clock", "\(clock)"),
            ("raw-key", Hex.encode(Base.key)),
        ]
        if let device { lines.append(("device", Hex.encode(device.id) + ":" + Hex.encode(device.secret))) }
        lines += operations.map { ("operation", $0) } + [("comment", comment)]
        return Array((lines.map { "\($0.0): \($0.1)\n" }.joined() + "\n").utf8) + file
    }

    /// The file that comes out. Without a `memory`, the writer continues no replica id.
    func result(_ base: [UInt8]?, memory: ProcessReplicas? = nil) throws -> [UInt8] {
        let fileSystem = MemoryFileSystem(clock: clock)
        if let base { fileSystem.put("vault", base) }
        let random = Randomness.fixed(random)
        var place = Store.Place(
            fileSystem: fileSystem, random: random, replicas: memory ?? ProcessReplicas(random: random))
        place.writesSpares = false
        // The writer is closed before the file is looked at.
        do {
            var writer = OperationsWriter(place: place, device: device)
            try writer.run(operations[...])
        }
        guard let file = fileSystem.bytes(of: "vault") else { throw ForgeError("\(name): no vault was made") }
        return file
    }
}

/// Runs operations, one line each: words with one space between them, bytes in hexadecimal, `-` for none.
struct OperationsWriter {
    private let place: Store.Place
    private let device: (id: [UInt8], secret: [UInt8])?
    private var vault: Vault?

    init(place: Store.Place, device: (id: [UInt8], secret: [UInt8])?) {
        self.place = place
        self.device = device
    }

    mutating func run(_ operations: ArraySlice<String>) throws {
        var rest = operations
        while let line = rest.popFirst() {
            let words = line.split(separator: " ").map(String.init)
            if words == ["create"] {
                vault = try create()
                continue
            }
            let vault = try self.vault ?? open()
            self.vault = vault
            if words == ["begin"] {
                let inner = rest.prefix { $0 != "end" }
                rest = rest.dropFirst(inner.count + 1)
                try vault.transaction { (transaction) throws(VaultError) in
                    for line in inner { try Self.change(line.split(separator: " ").map(String.init), transaction) }
                }
            } else if try !whole(words, vault) {
                try vault.transaction { (transaction) throws(VaultError) in try Self.change(words, transaction) }
            }
        }
    }

    private func create() throws -> Vault {
        var options = CreateOptions()
        options.slotName = "main"
        options.device = try madeDevice()
        return try Vault.create(at: "vault", factors: try Self.factors(), options: options, place: place)
    }

    private func open() throws -> Vault {
        var options = OpenOptions()
        options.writable = true
        options.device = try madeDevice()
        return try Vault.open("vault", factors: try Self.factors(), options: options, place: place)
    }

    private static func factors(_ key: [UInt8] = Base.key) throws(VaultError) -> Factors {
        try Factors(rawKey: Secret(bytes: key))
    }

    private func madeDevice() throws -> Device? {
        guard let device, let id = DeviceID(hex: Hex.encode(device.id)) else { return nil }
        return try Device(id: id, secret: Secret(bytes: device.secret))
    }

    /// Operations on the whole vault; false if it is none.
    private func whole(_ words: [String], _ vault: Vault) throws -> Bool {
        switch (words[0], words.count) {
        case ("compact", 1): _ = try vault.compact()
        case ("rotate", 1):
            var rotation = try vault.rotation()
            _ = try rotation.keep(try Self.factors())
            _ = try rotation.run()
        case ("add-slot", 3...):
            let groups = try words.dropFirst(3).map { try Self.text($0) }
            _ = try vault.addSlot(
                try Self.factors(try Self.bytes(words[1])), name: try Self.text(words[2]),
                grantedGroups: groups.isEmpty ? nil : groups)
        case ("remove-slot", 2): try vault.removeSlot(try Self.slot(words[1], vault))
        case ("change-slot", 3):
            _ = try vault.changeFactors(
                of: try Self.slot(words[1], vault), to: try Self.factors(try Self.bytes(words[2])))
        case ("grant", 2...):
            let groups = try words.dropFirst(2).map { try Self.text($0) }
            _ = try vault.setGrants(of: try Self.slot(words[1], vault), to: groups, createsGroups: true)
        case ("limit", 2):
            guard let count = Int(words[1]) else { throw Self.malformed(words) }
            try vault.keepVersions(count)
        case ("rename-slot", 3): try vault.renameSlot(try Self.slot(words[1], vault), to: try Self.text(words[2]))
        default: return false
        }
        return true
    }

    private static func slot(_ name: String, _ vault: Vault) throws -> SlotID {
        let wanted = try text(name)
        guard let slot = try vault.slots().first(where: { $0.name == wanted }) else {
            throw ForgeError("no slot \(name)")
        }
        return slot.id
    }

    private static func change(_ words: [String], _ transaction: Transaction) throws(VaultError) {
        do {
            switch (words[0], words.count) {
            case ("add", 4...):
                guard let number = UInt8(words[3]), let accessibility = Accessibility(rawValue: number) else {
                    throw malformed(words)
                }
                try transaction.add(
                    try key(words[1]), secret: Secret(bytes: try bytes(words[2])),
                    attributes: try attributes(words.dropFirst(4)).set,
                    accessibility: accessibility)
            case ("set", 3...):
                try transaction.set(
                    try key(words[1]), secret: Secret(bytes: try bytes(words[2])),
                    attributes: try attributes(words.dropFirst(3)))
            case ("update", 3...):
                try transaction.update(try key(words[1]), attributes: try attributes(words.dropFirst(2)))
            case ("move", 3): try transaction.move(try key(words[1]), to: try key(words[2]))
            case ("settle", 2...):
                let item = try key(words[1])
                let marks = try transaction.conflict(in: item)?.values ?? []
                try transaction.settle(item, keeping: try pick(words.dropFirst(2), of: marks))
            case ("forget", 3...):
                let item = try key(words[1])
                let values = try pick(words.dropFirst(2), of: try transaction.earlierValues(of: item))
                _ = try transaction.forgetEarlierValues(of: item, values)
            case ("restore", 3):
                let item = try key(words[1])
                for value in try pick(words.dropFirst(2), of: try transaction.earlierValues(of: item)) {
                    try transaction.restore(value, of: item)
                }
            case ("remove", 2): _ = try transaction.remove(try key(words[1]))
            default: throw malformed(words)
            }
        } catch let error as VaultError { throw error } catch { throw VaultError(.invalidArgument, "\(error)") }
    }

    /// Values by their numbers, from 1.
    private static func pick<Value>(_ words: ArraySlice<String>, of values: [Value]) throws -> [Value] {
        try words.map { word in
            guard let number = Int(word), values.indices.contains(number - 1) else {
                throw ForgeError("no value \(word) of \(values.count)")
            }
            return values[number - 1]
        }
    }

    private static func malformed(_ words: [String]) -> ForgeError {
        ForgeError("no operation: \(words.joined(separator: " "))")
    }

    private static func key(_ word: String) throws -> ItemKey { try ItemKey(try bytes(word)) }
    private static func text(_ word: String) throws -> String { String(decoding: try bytes(word), as: UTF8.self) }

    private static func bytes(_ word: String) throws -> [UInt8] {
        if word == "-" { return [] }
        guard let bytes = Hex.decode(word) else { throw ForgeError("not hexadecimal: \(word)") }
        return bytes
    }

    /// `name=value`, both in hexadecimal; a name alone is removed.
    private static func attributes(_ words: ArraySlice<String>) throws -> AttributeChanges {
        var changes = AttributeChanges()
        for word in words {
            let parts = word.split(separator: "=", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2 else {
                changes.remove.append(try text(word))
                continue
            }
            changes.set[try text(parts[0])] = try bytes(parts[1])
        }
        return changes
    }
}
