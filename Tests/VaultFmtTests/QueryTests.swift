import Testing

@testable import VaultFmt

@Suite("A query")
struct QueryTests {
    /// Passwords over a grid of fields, and one item of each other class.
    private static func fill(_ vault: Vault) throws {
        try vault.transaction { (transaction) throws(VaultError) in
            for service in ["git", "Git", "mail"] {
                for account in ["ann", "bob"] {
                    for group in ["", "work"] {
                        let key = try ItemKey.genericPassword(
                            service: service, account: account, group: group, synchronizable: account == "bob")
                        try transaction.add(
                            key, secret: Secret(text: "x"), attributes: ["label": "\(service) of \(account)"],
                            accessibility: group.isEmpty ? .whenUnlocked : .afterFirstUnlock)
                    }
                }
            }
            for (server, port) in [("a.example", 80), ("a.example", 443), ("b.example", 443)] as [(String, UInt32)] {
                for proto in ["http", "https"] {
                    let key = try ItemKey.internetPassword(
                        server: server, account: "ann", protocol: proto, port: port, path: "/\(port)")
                    try transaction.add(key, secret: Secret(text: "x"))
                }
            }
            try transaction.add(
                try .certificate(type: 1, issuer: [1], serialNumber: [2]), secret: Secret(text: "x"),
                attributes: ["label": "CA"])
            try transaction.add(try .identity(type: 1, issuer: [1], serialNumber: [2]), secret: Secret(text: "x"))
        }
    }

    @Test("gives exactly the items that match every field, in the order of keys")
    func subsets() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        try Self.fill(vault)
        let all = try vault.allItems()
        #expect(all.count == 20)
        var combinations = 0
        // Every combination of some values of every field against a filter over everything.
        for itemClass in [nil, .genericPassword, .internetPassword, .certificate] as [ItemClass?] {
            for service in [nil, "git", "absent"] {
                for account in [nil, "ann"] {
                    for server in [nil, "a.example"] {
                        for group in [nil, "", "work"] {
                            for rest in 0..<6 {
                                var query = Query()
                                query.itemClass = itemClass
                                query[.service] = service.map { .text($0) }
                                query[.account] = account.map { .text($0) }
                                query[.server] = server.map { .text($0) }
                                query.group = group
                                if rest == 1 { query.label = "git of ann" }
                                if rest == 2 { query[.port] = 443 }
                                if rest == 3 { query.synchronizable = true }
                                if rest == 4 { query.accessibility = .afterFirstUnlock }
                                if rest == 5 { (query[.protocol], query[.path]) = ("https", "/443") }
                                let expected = all.filter { Self.matches($0, query) }.map(\.key)
                                #expect(try vault.items(matching: query).collected().map(\.key) == expected)
                                combinations += 1
                            }
                        }
                    }
                }
            }
        }
        #expect(combinations == 864)
    }

    /// The meaning of a query, written down once more.
    private static func matches(_ item: Item, _ query: Query) -> Bool {
        var server: String?
        var port: UInt32?
        var proto: String?
        var path: String?
        if item.key.itemClass == .internetPassword {
            (server, proto) = (item.key[.server]?.text, item.key[.protocol]?.text)
            (port, path) = (item.key[.port]?.number, item.key[.path]?.text)
        }
        return (query.itemClass ?? item.key.itemClass) == item.key.itemClass
            && (query[.service] == nil || query[.service]?.text == item.key.service)
            && (query[.account] == nil || query[.account]?.text == item.key.account)
            && (query[.server] == nil || query[.server]?.text == server)
            && (query[.protocol] == nil || query[.protocol]?.text == proto)
            && (query[.port] == nil || query[.port]?.number == port)
            && (query[.path] == nil || query[.path]?.text == path) && (query.group ?? item.key.group) == item.key.group
            && (query.label == nil || query.label == item.attributes.label)
            && (query.synchronizable ?? item.key.synchronizable) == item.key.synchronizable
            && (query.accessibility ?? item.accessibility) == item.accessibility
    }

    @Test(
        "finds a pattern in service, account, server and label, whatever the case",
        arguments: [
            ("GIT", 8), ("ann", 12), ("example", 6), ("of bob", 6), ("ca", 1), ("zzz", 0), ("", 20), (" ", 12),
            ("b.ex", 2),
            ("longer than anything", 0),
        ])
    func patterns(pattern: String, count: Int) throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        try Self.fill(vault)
        var query = Query()
        query.pattern = pattern
        #expect(try vault.items(matching: query).collected().count == count)
    }

    @Test("reads the part of the index that it needs, and streams it")
    func reading() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let counting = FaultyFileSystem()
        let vault = try Fast.create(path, fileSystem: counting)
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<3000 {
                try transaction.add(try password("service \(number % 100)", "\(number)"), secret: Secret(text: ""))
            }
        }
        let again = try Fast.open(path, fileSystem: counting)
        var query = Query()
        query[.service] = "service 42"
        counting.reset()
        #expect(try again.items(matching: query).collected().count == 30)
        #expect(counting.counts.read <= 12)
        counting.reset()
        var cursor = try again.items()
        _ = try cursor.next()
        #expect(counting.counts.read <= 4)
        counting.reset()
        #expect(try again.text(try password("service 7", "1007")) == "")
        #expect(counting.counts.read <= 4, "a look-up reads a path and a record")
    }
}
