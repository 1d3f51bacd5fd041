internal import TestSupport
internal import VaultBytes
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// A small vault with a raw-key slot and something of everything in it, and what a reader may find in any alteration of
/// it.
struct Specimen: Sendable {
    private struct Entry: Equatable, Sendable {
        let key: ItemKey
        let secret: [UInt8]
        let attributes: Attributes
        let accessibility: Accessibility
        /// Secrets of earlier values, the oldest first; nil where they do not open.
        let earlier: [[UInt8]?]

        /// Whether it is the other one, but for earlier values that do not open.
        func isAllowed(_ right: Entry) -> Bool {
            let isSame =
                key == right.key && secret == right.secret && attributes == right.attributes
                && accessibility == right.accessibility
            return isSame && earlier.count == right.earlier.count
                && zip(earlier, right.earlier).allSatisfy { $0 == nil || $0 == $1 }
        }
    }

    let bytes: [UInt8]
    /// What was in the vault at each generation that the file still holds, in the order of keys.
    private var states: [UInt64: [Entry]] = [:]
    private let newest: UInt64
    private static let path = "a.vault"
    private static let mostBytes = 24 << 10

    var generations: Int { states.count }

    init() throws {
        let files = MemoryFileSystem(clock: 1_700_000_000_000)
        let place = Store.Place(fileSystem: files, random: .fixed("mutation"), cacheBytes: 1 << 16)
        let vault = try Vault.create(
            at: Self.path, factors: try Keys.factors(0), options: CreateOptions(), place: place)
        try Self.fill(vault)
        try vault.compact()
        states[vault.state.generation] = try Self.entries(vault)
        try vault.set(
            Self.key("a"), secret: Secret(text: "new"), attributes: AttributeChanges(set: ["sealed:seed": "s"]))
        states[vault.state.generation] = try Self.entries(vault)
        try vault.transaction { (transaction) throws(VaultError) in
            _ = try transaction.remove(try Self.key("b"))
            try transaction.update(try Self.key("c", group: "g"), attributes: AttributeChanges(set: ["label": "C"]))
        }
        states[vault.state.generation] = try Self.entries(vault)
        newest = vault.state.generation
        // A writer that goes on keeps a reserve after the newest commit, and cuts it off when it closes.
        let whole = files.bytes(of: Self.path) ?? []
        let end = (whole.lastIndex { $0 != 0 } ?? 0) + 1
        bytes = Array(whole[..<((end + 511) / 512 * 512)])
        guard bytes.count <= Self.mostBytes else {
            throw VaultError(.limitExceeded, "the vault has \(bytes.count) bytes")
        }
    }

    private static func fill(_ vault: Vault) throws {
        try vault.add(try key("a"), secret: Secret(text: "a"), attributes: ["label": "A"])
        try vault.add(try key("b"), secret: Secret(text: "b"), accessibility: .afterFirstUnlock)
        try vault.add(try key("c", group: "g"), secret: Secret(text: "c"))
        _ = try vault.addSlot(try Keys.factors(9), name: "reader", grantedGroups: ["g"])
    }

    private static func key(_ account: String, group: String = "") throws(VaultError) -> ItemKey {
        try .genericPassword(service: "s", account: account, group: group)
    }

    /// Where the objects are, in order.
    func objects() throws -> [Range<Int>] {
        var all: [Range<Int>] = []
        let file = try MemoryFileSystem(Self.path, bytes).open(Self.path, writable: false)
        let start = try Store.readHeader(file).0.bodyStart
        try FrameWalker(file: file, start..<UInt64(bytes.count)).walk { (_, head, offset) throws(VaultError) in
            all.append(Int(offset)..<Int(offset) + head.length)
        }
        return all
    }

    /// Looks at one alteration: nil if what it gives is allowed, else what is wrong.
    func look(_ changed: [UInt8]) -> String? {
        do {
            let place = Store.Place(fileSystem: MemoryFileSystem(Self.path, changed), cacheBytes: 1 << 16)
            let vault = try Vault.open(Self.path, factors: try Keys.factors(0), options: OpenOptions(), place: place)
            let generation = vault.state.generation
            guard let state = states[generation] else { return "generation \(generation) out of nowhere" }
            // A file that was cut off right behind a commit is that state: only who remembers a later one can tell.
            if generation != newest, vault.tail == .clean, !bytes.starts(with: changed) {
                return "an older generation without a tail"
            }
            return try compare(vault, state)
        } catch let error as VaultError {
            return error.detail.isEmpty ? "an error without words" : nil
        } catch { return "\(error)" }
    }

    /// Every item that opens is as it was, and each is there; a listing that fails does so with an error.
    private func compare(_ vault: Vault, _ state: [Entry]) throws -> String? {
        var cursor = try vault.items()
        var index = 0
        while let item = try cursor.next() {
            guard index < state.count, state[index].key == item.key else { return "an item out of nowhere" }
            do throws(VaultError) {
                let opened = try vault.open(item)
                let found = Self.entry(opened, try Self.earlier(item, vault))
                guard found.isAllowed(state[index]) else { return "wrong data" }
            } catch {
                guard [.authenticationFailed, .structureInvalid].contains(error.code) else {
                    return "\(error.code): \(error)"
                }
            }
            index += 1
        }
        return index == state.count ? nil : "\(index) items of \(state.count)"
    }

    private static func entries(_ vault: Vault) throws -> [Entry] {
        var all: [Entry] = []
        var cursor = try vault.items()
        while let item = try cursor.next() { all.append(entry(try vault.open(item), try earlier(item, vault))) }
        return all
    }

    private static func earlier(_ item: Item, _ vault: Vault) throws(VaultError) -> [[UInt8]?] {
        try vault.earlierValues(of: item).map { (value) throws(VaultError) in
            do throws(VaultError) { return try vault.secret(of: value).withUnsafeBytes { Array($0) } } catch {
                guard [.authenticationFailed, .structureInvalid].contains(error.code) else { throw error }
                return nil
            }
        }
    }

    private static func entry(_ opened: borrowing OpenedItem, _ earlier: [[UInt8]?]) -> Entry {
        Entry(
            key: opened.item.key, secret: opened.secret.withUnsafeBytes { Array($0) },
            attributes: opened.item.attributes,
            accessibility: opened.item.accessibility, earlier: earlier)
    }
}
