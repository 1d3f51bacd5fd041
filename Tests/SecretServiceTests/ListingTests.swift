import Testing
import VaultExchange
import VaultFmt

@testable import VaultSecretService

@Suite("What clients find and replace")
struct ListingTests {
    private func key(_ service: String, _ account: String = "") throws -> ItemKey {
        try .genericPassword(service: service, account: account, group: "desktop")
    }

    @Test("Of several items that match, the one whose secret was stored last comes first")
    func order() throws {
        let test = try TestService()
        let names = [("service", "s"), ("username", "u")]
        let old = try test.store(.one, "1", names + [("application", "x")])
        let new = try test.store(.one, "2", names, replaces: true)
        #expect(try test.search(.one, names).unlocked == [new, old])
        try test.setAttributes(.one, old, names + [("application", "y")])
        #expect(try test.search(.one, names).unlocked == [new, old])
        let session = try test.session(.one)
        _ = try test.call(.one, old, ServiceName.item, "SetSecret", TestService.secret(session, "3"))
        #expect(try test.search(.one, names).unlocked == [old, new])
    }

    @Test("A client replaces a user's item only under its service and its account")
    func otherAccount() throws {
        let test = try TestService()
        let vault = try test.open()
        try vault.add(try key("github"), secret: Secret(text: "token"))
        try vault.add(try key("mail", "mira"), secret: Secret(text: "old"))
        try test.store(.one, "bob's", [("service", "github"), ("username", "bob")], replaces: true)
        try test.store(.one, "any", [("username", "mira")], replaces: true)
        try test.store(.one, "new", [("service", "mail"), ("username", "mira"), ("application", "x")], replaces: true)
        try vault.refresh()
        for (service, account, text) in [("github", "", "token"), ("github", "bob", "bob's"), ("mail", "mira", "new")] {
            guard let opened = try vault.get(try key(service, account)) else { throw Unexpected() }
            let isSame = opened.secret.equals(Secret(text: text))
            #expect(isSame, "\(service) \(account)")
        }
        #expect(try test.search(.one, []).unlocked.count == 4)
    }

    @Test("An item without attributes has none, and is replaced by one with the same label")
    func noAttributes() throws {
        let test = try TestService()
        let item = try test.store(.one, "1", label: "L", [], replaces: true)
        #expect(try test.attributes(.one, item).isEmpty)
        #expect(try test.search(.one, [("service", "L")]).unlocked.isEmpty)
        #expect(try test.store(.one, "2", label: "L", [], replaces: true) == item)
        #expect(try test.store(.one, "3", label: "M", [], replaces: true) != item)
        #expect(try test.store(.one, "4", [("service", "L")], replaces: true) != item)
        try test.setAttributes(.one, item, [("a", "1")])
        #expect(try test.attributes(.one, item) == ["a": "1"])
        try test.setAttributes(.one, item, [])
        #expect(try test.attributes(.one, item).isEmpty)
        #expect(try test.read(.one, item).text == "2")
    }

    @Test("An account with a suffix is exported, and shown, without it")
    func suffix() throws {
        let test = try TestService()
        try test.store(.one, "1", [("service", "s"), ("user", "mira")])
        try test.store(.one, "2", [("service", "s"), ("user", "mira"), ("b", "1")])
        let vault = try test.open()
        let twin = try #require(try vault.item(try key("s", "mira (2)")))
        #expect(TwinName.userName(twin) == "mira")
        try vault.add(
            try key("imported", "ann (Work)"), secret: Secret(text: "3"), attributes: ["user-name": "ann"])
        #expect(try test.search(.one, [("service", "imported"), ("username", "ann")]).unlocked.count == 1)
    }

    @Test("What a client is not shown of an item, it cannot overwrite")
    func hiddenAttributes() throws {
        let test = try TestService()
        let vault = try test.open()
        let attributes = Attributes([
            Attribute("pin", Array("1234".utf8), flags: .concealed), Attribute("a", Array("1".utf8)),
        ])
        try vault.add(try key("s"), secret: Secret(text: "1"), attributes: attributes)
        let item = try #require(try test.search(.one, [("a", "1")]).unlocked.first)
        #expect(try test.attributes(.one, item) == ["a": "1"])
        #expect(failure { try test.setAttributes(.one, item, [("pin", "x")]) } == "AccessDenied")
        try test.setAttributes(.one, item, [("a", "2")])
        try vault.refresh()
        #expect(try #require(try vault.item(try key("s"))).attributes.attribute("pin")?.flags == .concealed)
    }

    @Test("Without a label, a new item is called by its name, and an item that is replaced keeps its label")
    func noLabel() throws {
        let test = try TestService()
        let item = try test.store(.one, "1", label: "L", [("service", "s")])
        let properties = BusValue.properties([(ServiceName.item + ".Attributes", .texts([("service", "s")]))])
        let secret = TestService.secret(try test.session(.one), "2")
        _ = try test.call(
            .one, TestService.defaultPath, ServiceName.collection, "CreateItem", properties, secret, .boolean(true))
        guard case .text("L") = try test.property(.one, item, ServiceName.item, "Label") else { throw Unexpected() }
        let reply = try test.call(
            .one, TestService.defaultPath, ServiceName.collection, "CreateItem", properties, secret, .boolean(false))
        guard case .path(let other) = reply[0],
            case .text("s (2)") = try test.property(.one, other, ServiceName.item, "Label")
        else { throw Unexpected() }
    }

    @Test("One secret that cannot be given does not keep a client from the others, and none is given twice")
    func manySecrets() throws {
        let test = try TestService()
        let item = try test.store(.one, "1", [("a", "1")])
        let large = try test.store(.one, "2", [("b", "1")])
        try test.open().set(
            .genericPassword(service: "A label", account: "(2)", group: "desktop"),
            secret: Secret(text: String(repeating: "x", count: (1 << 20) + 1)))
        _ = test.service.takeEvents()
        #expect(try test.read(.one, [large, item, item, "/nothing"]) == [item: "1"])
        let events = test.service.takeEvents().map(\.action)
        #expect(events.count == 2 && events[1] == "read the secret A label")
        #expect(events[0].hasPrefix("refused: read the secret 'A label"))
        #expect(events[0].hasSuffix(": programs are given at most 1048576 bytes, and the secret has more"))
    }

    @Test("An answer has a limited size, and so has the list of aliases")
    func answers() throws {
        let test = try TestService()
        let large = String(repeating: "x", count: 1 << 20)
        let items = try (0..<5).map { number in try test.store(.one, large, [("n", "\(number)")]) }
        #expect(try test.read(.one, Array(items.prefix(4))).count == 4)
        #expect(failure { _ = try test.read(.one, items) } == "LimitsExceeded")
        func setAlias(_ number: Int) throws {
            _ = try test.call(.one, "SetAlias", .text("a\(number)"), .path(TestService.defaultPath))
        }
        for number in 0..<32 { try setAlias(number) }
        try setAlias(31)
        #expect(failure { try setAlias(32) } == "LimitsExceeded")
        #expect(failure { _ = try test.makeCollection("x", alias: "a32") } == "LimitsExceeded")
        #expect(failure { _ = try test.property(.one, ServiceObject.collection("desktop/x").path, "", "Label") } != nil)
    }

    @Test("Where not all is shown, a search never says that there is nothing, and at most half of it is clients' own")
    func limits() throws {
        var limits = ListingLimits()
        (limits.items, limits.itemsToStore, limits.collections) = (4, 2, 2)
        let test = try TestService(limits: limits)
        try test.store(.one, "1", [("a", "1")])
        let item = try test.store(.one, "2", [("b", "1")])
        #expect(failure { try test.store(.one, "3", [("c", "1")]) } == "LimitsExceeded")
        #expect(try test.store(.one, "3", [("b", "1")], replaces: true) == item)
        let vault = try test.open()
        // The one that was made first has no items, and gives way.
        let first = try test.makeCollection("x", alias: "x")
        _ = try test.makeCollection("y")
        #expect(failure { _ = try test.property(.one, first, ServiceName.collection, "Label") } == "NoSuchObject")
        guard case .path("/") = try test.call(.one, "ReadAlias", .text("x"))[0] else { throw Unexpected() }
        let other = try ItemKey.genericPassword(service: "s", account: "", group: "desktop/z")
        try vault.add(other, secret: Secret(text: "z"))
        #expect(failure { _ = try test.makeCollection("x") } == "LimitsExceeded")
        try vault.remove(other)
        for number in 1...3 { try vault.add(try key("z\(number)"), secret: Secret(text: "z")) }
        #expect(try test.search(.one, [("b", "1")]).unlocked == [item])
        #expect(failure { _ = try test.search(.one, [("service", "z3")]) } == "LimitsExceeded")
        try vault.remove(try key("z3"))
        #expect(try test.search(.one, [("service", "z3")]).unlocked.isEmpty)
    }

    @Test("A collection that a client has made lasts as long as the agent, whatever becomes of others")
    func madeCollections() throws {
        let test = try TestService()
        let (first, second) = (try test.makeCollection("First", alias: "f"), try test.makeCollection("Second"))
        let item = try test.store(.one, "1", [("a", "1")], in: second)
        try test.store(.one, "2", [("b", "1")], in: first)
        _ = try test.call(.one, item, ServiceName.item, "Delete")
        try test.store(.one, "3", [("c", "1")], in: second)
        _ = try test.call(.one, second, ServiceName.collection, "Delete")
        try test.store(.one, "4", [("d", "1")], in: first)
        // Its alias goes with it, so that the next program with this alias gets a collection.
        _ = try test.call(.one, first, ServiceName.collection, "Delete")
        guard case .path("/") = try test.call(.one, "ReadAlias", .text("f"))[0] else { throw Unexpected() }
        let again = try test.makeCollection("First", alias: "f")
        try test.store(.one, "5", [("e", "1")], in: again)
        // What is refused makes nothing.
        let long = String(repeating: "x", count: 65)
        #expect(failure { _ = try test.makeCollection("Third", alias: long) } == "InvalidArgs")
        #expect(
            failure { try test.store(.one, "6", [], in: ServiceObject.collection("desktop/Third").path) }
                == "NoSuchObject")
    }

    @Test("A client can make a number of collections without items, and so can the next one")
    func emptyCollections() throws {
        let test = try TestService()
        let paths = try (1...32).map { try test.makeCollection("c\($0)") }
        #expect(failure { _ = try test.makeCollection("c33") } == "LimitsExceeded")
        // One that exists is not made.
        #expect(try test.makeCollection("c1") == paths[0])
        let properties = BusValue.properties([(ServiceName.collection + ".Label", .text("c33"))])
        _ = try test.call(.two, "CreateCollection", properties, .text(""))
        try test.store(.one, "1", [("a", "1")], in: paths[0])
        _ = try test.makeCollection("c34")
        #expect(failure { _ = try test.makeCollection("c35") } == "LimitsExceeded")
    }

    @Test("Lists are sent with their new values: GDBus forgets a list that is only called stale")
    func listSignals() throws {
        let test = try TestService()
        let first = try test.store(.one, "1", [("a", "1")])
        _ = test.service.takeSignals()
        let second = try test.store(.one, "2", [("b", "1")])
        let made = try test.makeCollection("x")
        let signals = test.service.takeSignals()
        #expect(
            signals.map(\.member) == ["ItemCreated", "PropertiesChanged", "CollectionCreated", "PropertiesChanged"])
        let desktop = ServiceObject.collection("desktop").path
        let expected = [("Items", Set([first, second])), ("Collections", Set([desktop, made]))]
        for (signal, (name, paths)) in zip([signals[1], signals[3]], expected) {
            guard case .array(_, let entries) = signal.arguments[1], entries.count == 1,
                case .entry(.text(name), .variant(let value)) = entries[0],
                case .array("s", let stale) = signal.arguments[2]
            else { throw Unexpected() }
            #expect(Set(TestService.paths(value)) == paths && stale.isEmpty)
        }
    }
}
