import Testing

@testable import VaultFmt

@Suite("A name")
struct NameTests {
    static let strange = [
        "", "\0", "a\0b", "\0\0", "\n", "line one\r\nline two", "\u{1B}[31mred\u{1B}[0m", "\u{7}",
        "\u{202E}drowssap\u{202C}",
        "\u{200F}\u{200E}",
        "\u{FEFF}", "é", "e\u{301}", "👩‍👧‍👦", "\u{FFFF}", "\u{10FFFF}", " ", "-rf", "--", "/", "..", "~",
        String(repeating: "ä", count: 500),
        String(repeating: "x", count: 1000), "\"", "\\", "%n", "\u{85}\u{2028}",
    ]

    @Test("of any text survives, byte for byte, in every field")
    func everywhere() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        var all: [ItemKey] = []
        for name in Self.strange {
            all.append(try .genericPassword(service: name, account: name))
            all.append(
                try .internetPassword(
                    server: name, account: name, protocol: name, path: name, securityDomain: name,
                    authenticationType: name))
            all.append(try .genericPassword(service: "group", account: "", group: name))
        }
        try vault.transaction { (transaction) throws(VaultError) in
            for key in all {
                let label = key.account ?? ""
                try transaction.add(
                    key, secret: Secret(text: label),
                    attributes: Attributes(["label": Array(label.utf8), "n" + label.prefix(60): [1]]))
            }
        }
        let again = try Fast.open(path)
        #expect(try again.allItems().map(\.key) == all.sorted())
        let dump = try again.dump()
        for key in all {
            let opened = try #require(dump[key])
            #expect(opened.secret == Array((key.account ?? "").utf8))
            #expect(opened.attributes[Array("label".utf8)] == Array((key.account ?? "").utf8))
        }
        #expect(try again.verify().isSound)
    }

    @Test("is told from others by its bytes: text is not normalised")
    func notNormalised() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        let composed = try password("\u{E9}", "x")
        let decomposed = try password("e\u{301}", "x")
        try vault.add(composed, secret: Secret(text: "1"))
        try vault.add(decomposed, secret: Secret(text: "2"))
        #expect(try vault.text(composed) == "1" && vault.text(decomposed) == "2")
        var query = Query()
        query[.service] = "e\u{301}"
        #expect(try vault.items(matching: query).collected().map(\.key) == [decomposed])

        // Groups too, which decide who may read.
        try vault.add(try .genericPassword(service: "s", group: "\u{E9}"), secret: Secret(text: "3"))
        try vault.add(try .genericPassword(service: "s", group: "e\u{301}"), secret: Secret(text: "4"))
        #expect(try vault.statistics().compartments.count == 3)
        // And attributes.
        var attributes = Attributes()
        attributes["\u{E9}"] = [1]
        attributes["e\u{301}"] = [2]
        #expect(attributes.count == 2)
        var other = Attributes()
        other["\u{E9}"] = [1]
        var same = Attributes()
        same["e\u{301}"] = [1]
        #expect(other != same)
    }
}

extension ItemCursor {
    /// All that is left.
    func collected() throws -> [Item] {
        var cursor = self
        var all: [Item] = []
        while let item = try cursor.next() { all.append(item) }
        return all
    }
}
