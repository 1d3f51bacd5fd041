package import VaultBytes
package import VaultCrypto

/// Writes a new tree bottom-up from entries in ascending order.
package struct TreeBuilder: ~Copyable {
    private var levels: [Paginator] = [Paginator(level: 0)]
    private let appender: Appender
    private let key: Secret
    /// The total size of all pages written.
    package private(set) var bytes: UInt64 = 0

    package init(appender: Appender, indexKey: consuming Secret) {
        self.appender = appender
        key = indexKey
    }

    package mutating func append(_ key: [UInt8], _ value: [UInt8]) throws(VaultError) { try add(key, value, to: 0) }

    private mutating func add(_ key: [UInt8], _ value: [UInt8], to level: Int) throws(VaultError) {
        if level == levels.count { levels.append(Paginator(level: try TreeLevel.checked(level))) }
        if let (separator, page) = levels[level].append(key, value) {
            try add(separator, PageBuilder.child(try seal(page)), to: level + 1)
        }
    }

    private mutating func seal(_ page: PageBuilder) throws(VaultError) -> ObjectRef {
        let ref = try appender.append(page.encode(), as: .page, .page, key: key)
        bytes += UInt64(ref.length)
        return ref
    }

    /// Writes the remaining pages, up to the root, and returns the root.
    package mutating func finish() throws(VaultError) -> Commit.Root? {
        var level = 0
        while true {
            let rest = levels[level].finish()
            let isTop = level == levels.count - 1
            if isTop, rest.count <= 1 {
                guard let top = rest.first?.page else { return nil }
                return Commit.Root(ref: try seal(top), level: UInt8(level))
            }
            for (separator, page) in rest { try add(separator, PageBuilder.child(try seal(page)), to: level + 1) }
            level += 1
        }
    }
}

enum TreeLevel {
    static func checked(_ level: Int) throws(VaultError) -> UInt8 {
        guard level <= Int(Format.Limit.level) else {
            throw VaultError(.limitExceeded, "the index would have more than 16 levels")
        }
        return UInt8(level)
    }
}

/// Divides a sorted stream of entries into pages. Full pages are returned as they are completed. The last two are held
/// back until the end and balanced: pages are then at least half full after random insertions, rather than nearly
/// empty.
struct Paginator {
    let level: UInt8
    /// True if entries are only ever added at the end, so that balancing would leave every page half full.
    var isAppending = false
    private var full: (key: [UInt8], page: PageBuilder)?
    private var current: PageBuilder
    private var currentKey: [UInt8] = []

    init(level: UInt8) {
        self.level = level
        current = PageBuilder(level: level)
    }

    /// Adds an entry. If this completes a page, returns that page with the key that separates it from the preceding
    /// page.
    mutating func append(_ key: [UInt8], _ value: [UInt8]) -> (key: [UInt8], page: PageBuilder)? {
        var done: (key: [UInt8], page: PageBuilder)?
        if current.isEmpty {
            currentKey = key
        } else if !current.accepts(key, value) {
            done = full
            full = (currentKey, current)
            currentKey = separator(after: current, before: key)
            current = PageBuilder(level: level)
        }
        current.append(key, value)
        return done
    }

    /// Returns the remaining pages: none, one or two.
    mutating func finish() -> [(key: [UInt8], page: PageBuilder)] {
        guard !current.isEmpty else { return [] }
        guard let full else { return [(currentKey, current)] }
        if isAppending || current.frameLength * 2 >= Format.pageTarget { return [full, (currentKey, current)] }
        return balanced(full.key, full.page, current)
    }

    private func balanced(_ key: [UInt8], _ left: PageBuilder, _ right: PageBuilder) -> [(
        key: [UInt8], page: PageBuilder
    )] {
        let entries = left.entries + right.entries
        let half = entries.reduce(0) { $0 + $1.key.count + $1.value.count } / 2
        var first = PageBuilder(level: level)
        var second = PageBuilder(level: level)
        var size = 0
        for entry in entries {
            if second.isEmpty, first.isEmpty || size + (entry.key.count + entry.value.count) / 2 <= half {
                first.append(entry.key, entry.value)
            } else {
                second.append(entry.key, entry.value)
            }
            size += entry.key.count + entry.value.count
        }
        guard let next = second.firstKey else { return [(key, first)] }
        return [(key, first), (separator(after: first, before: next), second)]
    }

    /// Returns the separator before `key`. In a leaf, it is the shortest key greater than all earlier keys and not
    /// greater than `key`; on higher levels, it is the child's own separator.
    private func separator(after page: PageBuilder, before key: [UInt8]) -> [UInt8] {
        guard level == 0, let last = page.lastKey else { return key }
        return Array(key[..<min(ByteOrder.commonPrefix(last, key) + 1, key.count)])
    }
}
