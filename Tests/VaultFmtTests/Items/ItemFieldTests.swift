import Testing

@testable import VaultFmt

@Suite("The table of fields")
struct ItemFieldTests {
    @Test("has a row for each field, in the order of the cases, with names that no other field has")
    func rows() {
        let names = ItemKey.Field.allCases.map(\.name)
        #expect(names == ItemKey.Field.allCases.map { "\($0)" })
        #expect(Set(names).count == names.count)
        for itemClass in ItemClass.allCases {
            #expect(itemClass.fields.allSatisfy { $0.classes.contains(itemClass) })
            #expect(itemClass.fieldKinds == itemClass.fields.map(\.kind))
            #expect(Set(itemClass.fields.map(\.appleCode)).count == itemClass.fields.count)
        }
        #expect(ItemClass.reserved(6).fields.isEmpty)
        #expect(ItemKey.Field.securityDomain.words == ["security", "domain"])
    }

    @Test("makes keys of fields, and refuses fields and kinds of values that a class does not have")
    func making() throws {
        let key = try ItemKey(.internetPassword, [.server: "h", .port: 443, .account: "ann"], group: "g")
        #expect(try key == .internetPassword(server: "h", account: "ann", port: 443, group: "g"))
        #expect(key[.path] == "" && key[.service] == nil && key.group == "g")
        #expect(
            try key.replacing([.account: "bob"], group: "") == .internetPassword(server: "h", account: "bob", port: 443)
        )
        fails(.invalidArgument, "service") { _ = try ItemKey(.internetPassword, [.service: "s"]) }
        fails(.invalidArgument, "port") { _ = try ItemKey(.internetPassword, [.port: "443"]) }
        fails(.invalidArgument, "class-6") { _ = try ItemKey(.reserved(6), [:]) }
        fails(.invalidArgument) { _ = try key.replacing([.issuer: [1]]) }
    }

    @Test("bounds what a query reads by the fields that a class starts with")
    func prefixes() throws {
        let key = try ItemKey.internetPassword(server: "h", account: "a", protocol: "https", port: 1)
        for fields in [[.server: "h"], [.server: "h", .protocol: "https"]] as [[ItemKey.Field: ItemKey.Value]] {
            #expect(key.bytes.starts(with: Query(fields).keyPrefix) && Query(fields).keyPrefix.count > 2)
        }
        #expect(Query([.account: "a"]).keyPrefix.isEmpty)
        #expect(Query(itemClass: .key).keyPrefix == [4])
        #expect(Query() == Query() && Query(group: "g") != Query())
    }

    @Test("a cursor goes through items in a loop, and a vault is opened and created on another thread")
    func background() async throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        var options = CreateOptions()
        options.keptVersions = 3
        let vault = try await Vault.createInBackground(at: path, factors: try Fast.rawKey(), options: options)
        for name in ["a", "b", "c"] { try vault.add(try password("s", name), secret: Secret(text: name)) }
        let again = try await Vault.openInBackground(path, factors: try Fast.rawKey())
        var accounts: [String?] = []
        for try await item in try again.items(matching: Query([.service: "s"])) { accounts.append(item.key.account) }
        #expect(accounts == ["a", "b", "c"] && again.keptVersions == 3)
        await #expect(throws: VaultError(.noSlotOpens, "")) {
            _ = try await Vault.openInBackground(path, factors: try Fast.rawKey(99))
        }
    }
}
