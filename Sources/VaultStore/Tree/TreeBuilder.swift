package import VaultBytes
package import VaultCrypto

/// Writes a new tree bottom-up from entries that come in order.
package struct TreeBuilder: ~Copyable {
    private var levels: [Paginator] = [Paginator(level: 0)]
    private let appender: Appender
    private let key: Secret
    /// The bytes of all pages written.
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

    /// Writes what is left, up to the root.
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
