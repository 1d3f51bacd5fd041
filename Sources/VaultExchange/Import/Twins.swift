import Crypto
import VaultFmt
import VaultLocal

/// Distinguishes entries of one source that would become items with the same name: by their folders, then by their
/// titles, then by numbers. The distinguishing text is added to the account.
///
/// Only hashes are kept, so that a source with a million entries does not fill the memory.
struct Twins {
    /// The relation between an entry and the earlier entries of the source.
    enum Verdict {
        /// The entry has this key, which is its own key unless the entry is a twin.
        case new(ItemKey)
        /// The entry is identical to an earlier entry.
        case copy
    }

    /// The first entry with a name.
    private struct First {
        let contents: Mark
        let folder: UInt32
        let title: UInt32
        /// The number for the next entry with the name.
        var next: UInt32 = 2
    }

    /// The start of a keyed hash. Only this process has the key, so no one else can construct two texts with the same
    /// hash.
    private typealias Mark = UInt64

    private let key = [UInt8].random(16)
    private var names: [Mark: First] = [:]
    /// The names and contents of all entries that are not the first with their name.
    private var others: Set<Mark> = []
    /// The names of the items that entries have created or changed.
    private var targets: Set<Mark> = []
    /// The names of the items that were matched with entries, whether or not the entries changed them.
    private var matches: Set<Mark> = []
    /// The last number assigned to an item with each name.
    private var numbers: [Mark: UInt32] = [:]

    /// The maximum number of entries with the same name that are numbered.
    static let most: UInt32 = 1_000_000

    /// Finds a key that no earlier entry of the source has.
    ///
    /// `key`: the entry's own key.
    mutating func verdict(on key: ItemKey, _ record: borrowing ImportRecord) throws(VaultError) -> Verdict {
        // A certificate, key or identity with the same name is the same item.
        guard key.account != nil else { return .new(key) }
        let name = mark(key)
        let entry = first(record)
        guard let first = names[name] else {
            names[name] = entry
            return .new(key)
        }
        guard first.contents != entry.contents, others.insert(mark(name, entry.contents)).inserted else {
            return .copy
        }
        var words: [String] = []
        if first.folder != entry.folder { words.append(record.attributes.string(AttributeName.folder) ?? "") }
        if first.title != entry.title { words.append(record.attributes.label ?? "") }
        for suffix in words where !suffix.isEmpty {
            if let twin = try free(key, suffix, entry) { return .new(twin) }
        }
        guard try TwinName.key(key, String(Self.most)) != nil else {
            throw VaultError(
                .limitExceeded, "the account is too long for a number that would distinguish it from another account")
        }
        for number in first.next..<Self.most {
            names[name]?.next = number + 1
            if let twin = try free(key, String(number), entry) { return .new(twin) }
        }
        throw VaultError(.limitExceeded, "there are \(Self.most) entries with the same name")
    }

    /// Adds an entry whose name was determined in another way.
    mutating func note(_ key: ItemKey, _ record: borrowing ImportRecord) {
        let name = mark(key)
        if names[name] == nil { names[name] = first(record) }
    }

    /// Releases a name that no entry's item has any longer.
    mutating func release(_ key: ItemKey) { names[mark(key)] = nil }

    /// Records that an entry has created or changed an item.
    mutating func take(_ target: ItemKey) { targets.insert(mark(target)) }

    /// Returns whether an entry has created or changed an item. Such an item belongs only to that entry.
    func hasTaken(_ key: ItemKey) -> Bool { targets.contains(mark(key)) }

    /// Records that an entry was matched with an item.
    mutating func match(_ item: ItemKey) { matches.insert(mark(item)) }

    /// Returns whether no entry has matched or created this item.
    func isFree(_ key: ItemKey) -> Bool {
        let name = mark(key)
        return !targets.contains(name) && !matches.contains(name)
    }

    /// Returns the first number that may be free for an item with this name, so that no number is tried twice.
    func number(after key: ItemKey) -> UInt32 { numbers[mark(key)].map { min($0 + 1, Self.most) } ?? 2 }

    /// Records the number assigned to an item with a name.
    mutating func note(_ number: UInt32, of key: ItemKey) { numbers[mark(key)] = number }

    /// Returns the key with a suffix and reserves it, unless an earlier entry has that key or the key would be too
    /// long.
    private mutating func free(_ key: ItemKey, _ suffix: String, _ entry: First) throws(VaultError) -> ItemKey? {
        guard let twin = try TwinName.key(key, suffix) else { return nil }
        let name = mark(twin)
        guard names[name] == nil else { return nil }
        names[name] = entry
        return twin
    }

    // MARK: hashes

    private var keyed: SHA256 {
        var hash = SHA256()
        hash.update(data: key)
        return hash
    }

    private func mark(_ hash: SHA256) -> Mark {
        hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: Mark.self) }
    }

    private func mark(_ bytes: [UInt8]) -> Mark {
        var hash = keyed
        hash.update(data: bytes)
        return mark(hash)
    }

    private func mark(_ key: ItemKey) -> Mark { mark(key.bytes) }

    private func mark(_ name: Mark, _ contents: Mark) -> Mark {
        mark(name.littleEndianBytes + contents.littleEndianBytes)
    }

    private func first(_ record: borrowing ImportRecord) -> First {
        let (folder, title) = (record.attributes.string(AttributeName.folder) ?? "", record.attributes.label ?? "")
        return First(
            contents: contents(of: record), folder: UInt32(truncatingIfNeeded: mark(Array(folder.utf8))),
            title: UInt32(truncatingIfNeeded: mark(Array(title.utf8))))
    }

    /// Returns a hash of the item's entire contents.
    func contents(of record: borrowing ImportRecord) -> UInt64 {
        var hash = keyed
        Self.add(record.secret, record.attributes, [record.created, record.modified], to: &hash)
        hash.update(data: Array(record.accessibility.name.utf8))
        for earlier in record.earlier {
            let value = earlier.value
            Self.add(earlier.secret.secret, value.attributes, [earlier.modified, value.replaced], to: &hash)
        }
        return mark(hash)
    }

    private static func add(
        _ secret: borrowing Secret, _ attributes: Attributes, _ times: [Int64?], to hash: inout SHA256
    ) {
        secret.withUnsafeBytes { add($0, to: &hash) }
        for attribute in attributes.all {
            add(Array(attribute.name.utf8), to: &hash)
            hash.update(data: [attribute.flags.rawValue])
            attribute.withUnsafeBytes { add($0, to: &hash) }
        }
        for time in times { add(Array("\(time.map(String.init) ?? "none")".utf8), to: &hash) }
    }

    /// Adds bytes and their number to a hash.
    private static func add(_ bytes: [UInt8], to hash: inout SHA256) {
        bytes.withUnsafeBytes { add($0, to: &hash) }
    }

    private static func add(_ bytes: UnsafeRawBufferPointer, to hash: inout SHA256) {
        hash.update(data: UInt64(bytes.count).littleEndianBytes)
        hash.update(bufferPointer: bytes)
    }
}
