import Foundation
import Testing
import VaultExchange
import VaultFmt

@testable import VaultSecretService

@Suite("Items and collections")
struct ItemTests {
    @Test("What one client stores, another finds and reads, and so does the vault")
    func storing() throws {
        let test = try TestService()
        let attributes = [
            ("xdg:schema", "org.x"), ("server", "example.org"), ("user", "mira"), ("label", "not the label"),
        ]
        let item = try test.store(.one, "open sesame", label: "At example.org", attributes)
        let found = try test.search(.two, [("user", "mira"), ("xdg:schema", "org.x")])
        #expect(found.unlocked == [item] && found.locked.isEmpty)
        #expect(try test.read(.two, item) == ("open sesame", "text/plain"))
        #expect(try test.search(.two, [("user", "Mira")]).unlocked.isEmpty)
        let vault = try test.open()
        let key = try ItemKey.genericPassword(service: "example.org", account: "mira", group: "desktop")
        guard let opened = try vault.get(key) else { throw Unexpected() }
        let isSame = opened.secret.equals(Secret(text: "open sesame"))
        #expect(isSame)
        #expect(opened.item.attributes.label == "At example.org")
        #expect(opened.item.attributes.string("field:label") == "not the label")
        #expect(opened.item.attributes.string("xdg:schema") == "org.x")
        #expect(opened.item.attributes.count == 5)
        #expect("\(opened.item.id)" == item.suffix(32))
    }

    @Test("Replacing changes the item that has exactly these attributes")
    func replacing() throws {
        let test = try TestService()
        let first = try test.store(.one, "1", [("service", "s"), ("username", "u")])
        let wider = try test.store(.one, "2", [("service", "s"), ("username", "u"), ("more", "x")], replaces: true)
        #expect(first != wider)
        let again = try test.store(
            .two, "3", label: "New", [("username", "u"), ("service", "s")], replaces: true, type: "x/y")
        #expect(again == first)
        #expect(try test.read(.one, first) == ("3", "x/y"))
        #expect(try test.read(.one, wider).text == "2")
        let twin = try test.store(.one, "4", [("service", "s"), ("username", "u")])
        #expect(twin != first)
        #expect(try test.search(.one, [("service", "s")]).unlocked.count == 3)
        #expect(
            try test.store(.two, "5", [("service", "s"), ("username", "u")], replaces: true, type: "text/plain")
                == first)
        #expect(try test.read(.one, first) == ("5", "text/plain"))
        let vault = try test.open()
        #expect(try vault.earlierValues(of: .genericPassword(service: "s", account: "u", group: "desktop")).count == 2)
        #expect(try vault.item(.genericPassword(service: "s", account: "u (2)", group: "desktop")) != nil)
    }

    @Test("Other groups and other classes are not shown, and a client cannot ask for them")
    func others() throws {
        let test = try TestService()
        let vault = try test.open()
        try vault.add(try .genericPassword(service: "bank", account: "", group: "bank"), secret: Secret(text: "x"))
        try vault.add(try .internetPassword(server: "s", account: "a", group: "desktop"), secret: Secret(text: "y"))
        try vault.add(
            try .genericPassword(service: "seen", account: "mira", group: "desktop"), secret: Secret(text: "z"))
        let found = try test.search(.one, [])
        #expect(found.unlocked.count == 1)
        // Without attributes of its own, it is found by its name.
        #expect(try test.search(.one, [("service", "seen"), ("username", "mira")]).unlocked == found.unlocked)
        let marked = [("service", "seen"), ("username", "mira"), ("application", "x")]
        #expect(try test.store(.one, "new", marked, replaces: true) == found.unlocked[0])
        #expect(try test.search(.one, marked).unlocked == found.unlocked)
        let item = try #require(try vault.item(try .genericPassword(service: "bank", account: "", group: "bank")))
        for group in ["bank", "desktop"] {
            let path = ServiceObject.item(group: group, item.id).path
            #expect(failure { _ = try test.read(.one, path) } == "NoSuchObject")
            #expect(failure { _ = try test.isLocked(.one, path) } == "NoSuchObject")
        }
        let bank = ServiceObject.collection("bank").path
        #expect(failure { try test.store(.one, "x", [], in: bank) } == "NoSuchObject")
        #expect(failure { _ = try test.call(.one, "SetAlias", .text("a"), .path(bank)) } == "NoSuchObject")
        let made = try test.call(
            .one, "CreateCollection", .properties([(ServiceName.collection + ".Label", .text("bank"))]), .text(""))
        guard case .path(let path) = made[0] else { throw Unexpected() }
        #expect(path == ServiceObject.collection("desktop/bank").path)
        try test.store(.one, "w", [("b", "1")], in: path)
        try vault.refresh()
        var items = try vault.items(matching: Query(group: "bank"))
        #expect(try items.next() != nil && items.next() == nil)
    }

    @Test("No client can make an item a key of the ssh agent")
    func attributeInjection() throws {
        let test = try TestService()
        try test.store(
            .one, "-----BEGIN OPENSSH PRIVATE KEY-----", [("ssh", "offer"), ("sealed:x", "1"), ("otp", "2")])
        #expect(try test.served.offers(now: 0).isEmpty)
        let found = try test.search(.two, [("ssh", "offer"), ("otp", "2"), ("sealed:x", "1")]).unlocked
        #expect(found.count == 1)
        let vault = try test.open()
        let key = try ItemKey.genericPassword(service: "off", account: "", group: "desktop")
        try vault.add(key, secret: Secret(text: "x"), attributes: ["ssh": "off", "ssh-public-key": "k"])
        let off = try #require(try vault.item(key))
        for item in found + [ServiceObject.item(group: "desktop", off.id).path] {
            try test.setAttributes(.two, item, [("ssh", "offer"), ("ssh-public-key", "y"), ("ssh-certificate", "z")])
            try test.setAttributes(.two, item, [("a", "1")])
        }
        #expect(try test.served.offers(now: 0).isEmpty)
        try vault.refresh()
        let kept = try #require(try vault.item(key)).attributes
        #expect(kept.string("ssh") == "off" && kept.string("ssh-public-key") == "k" && kept.string("a") == "1")
    }

    @Test("Label, attributes and secret can be changed, and items deleted")
    func changing() throws {
        let test = try TestService()
        let item = try test.store(.one, "1", label: "Old", [("a", "1"), ("notes", "n")])
        func set(_ name: String, _ value: BusValue) throws {
            _ = try test.call(
                .two, item, ServiceName.properties, "Set", .text(ServiceName.item), .text(name), .variant(value))
        }
        try set("Label", .text("New"))
        try set("Attributes", .texts([("b", "2")]))
        #expect(failure { try set("Locked", .boolean(false)) } == "PropertyReadOnly")
        #expect(failure { try set("Other", .boolean(false)) } == "UnknownProperty")
        guard case .text(let label) = try test.property(.one, item, ServiceName.item, "Label") else {
            throw Unexpected()
        }
        #expect(label == "New")
        #expect(try test.search(.one, [("a", "1")]).unlocked.isEmpty)
        #expect(try test.search(.one, [("b", "2")]).unlocked == [item])
        let session = try test.session(.two)
        _ = try test.call(.two, item, ServiceName.item, "SetSecret", TestService.secret(session, "2", type: "a/b"))
        #expect(try test.read(.one, item) == ("2", "a/b"))
        let reply = try test.call(.two, item, ServiceName.item, "Delete")
        guard case .path("/") = reply[0] else { throw Unexpected() }
        #expect(failure { _ = try test.read(.one, item) } == "NoSuchObject")
        #expect(failure { _ = try test.property(.one, item, ServiceName.item, "Label") } == "NoSuchObject")
    }

    @Test("Long values are found, and what is too long is refused")
    func limits() throws {
        let test = try TestService()
        let long = String(repeating: "v", count: 4000)
        let item = try test.store(.one, "1", label: String(repeating: "l", count: 1000), [("long", long)])
        #expect(try test.search(.two, [("long", long)]).unlocked == [item])
        #expect(
            failure { try test.store(.one, "1", label: String(repeating: "l", count: 1025), []) } == "LimitsExceeded")
        #expect(failure { try test.store(.one, "1", [("a", long + long)]) } == "LimitsExceeded")
        #expect(failure { try test.store(.one, "1", [], type: String(repeating: "t", count: 256)) } == "LimitsExceeded")
        let secret = String(repeating: "s", count: 1 << 20)
        let large = try test.store(.one, secret, [("large", "1")])
        #expect(try test.read(.one, large).text == secret)
        #expect(failure { try test.store(.one, secret + "s", [("larger", "1")]) } == "LimitsExceeded")
    }

    @Test("The default collection is the configured one, under each of its names")
    func aliases() throws {
        let test = try TestService(["desktop", "work"])
        let standard = ServiceObject.collection("desktop").path
        guard case .path(let path) = try test.call(.one, "ReadAlias", .text("default"))[0] else { throw Unexpected() }
        #expect(path == standard)
        guard case .path("/") = try test.call(.one, "ReadAlias", .text("session"))[0] else { throw Unexpected() }
        guard case .text("desktop") = try test.property(.one, TestService.defaultPath, ServiceName.collection, "Label")
        else { throw Unexpected() }
        let work = ServiceObject.collection("work").path
        #expect(failure { _ = try test.call(.one, "SetAlias", .text("default"), .path(work)) } == "AccessDenied")
        _ = try test.call(.one, "SetAlias", .text("w"), .path(work))
        let item = try test.store(.one, "1", [("a", "1")], in: ServiceObject.alias("w").path)
        #expect(item.hasPrefix(work + "/"))
        _ = try test.call(.one, "SetAlias", .text("w"), .path("/"))
        #expect(failure { try test.store(.one, "1", [], in: ServiceObject.alias("w").path) } == "NoSuchObject")
        let made = try test.call(
            .one, "CreateCollection", .properties([(ServiceName.collection + ".Label", .text("x"))]), .text("default"))
        guard case .path(standard) = made[0] else { throw Unexpected() }
    }

    @Test("A collection that a client has made outlasts the agent with its first item, and is deleted with its items")
    func collections() throws {
        let test = try TestService()
        let made = try test.call(
            .one, "CreateCollection", .properties([(ServiceName.collection + ".Label", .text("Fotos"))]), .text("f"))
        guard case .path(let path) = made[0] else { throw Unexpected() }
        #expect(test.service.takeSignals().contains { $0.member == "CollectionCreated" })
        try test.store(.one, "1", [("a", "1")], in: path)
        let later = SecretService(test.served, ServedGroups(["desktop"]), confirms: false)
        let all = try later.answer(
            BusCall(
                .two, ServiceName.path, ServiceName.properties, "Get",
                [.text(ServiceName.service), .text("Collections")]),
            now: 1
        ).get()
        guard case .variant(let value) = all[0] else { throw Unexpected() }
        #expect(TestService.paths(value) == [ServiceObject.collection("desktop").path, path])
        _ = try test.call(.one, path, ServiceName.collection, "Delete")
        #expect(
            test.service.takeSignals().map(\.member).filter { $0 != "PropertiesChanged" }.suffix(2) == [
                "ItemDeleted", "CollectionDeleted",
            ])
        #expect(failure { _ = try test.property(.one, path, ServiceName.collection, "Label") } == "NoSuchObject")
    }

    @Test("Clients are told of changes, whoever has made them")
    func signals() throws {
        let test = try TestService()
        let item = try test.store(.one, "1", [("a", "1")])
        #expect(test.service.takeSignals().map(\.member) == ["ItemCreated", "PropertiesChanged"])
        let vault = try test.open()
        try vault.set(
            try .genericPassword(service: "A label", account: "", group: "desktop"), secret: Secret(text: "2"))
        _ = try test.search(.two, [])
        let changed = test.service.takeSignals()
        #expect(changed.map(\.member) == ["ItemChanged", "PropertiesChanged"])
        #expect(changed.map(\.path) == [ServiceObject.collection("desktop").path, item])
        try vault.remove(try .genericPassword(service: "A label", account: "", group: "desktop"))
        #expect(try test.search(.two, []).unlocked.isEmpty)
        #expect(test.service.takeSignals().map(\.member) == ["ItemDeleted", "PropertiesChanged"])
    }

    @Test("A scoped slot shows what it opens, and changes nothing")
    func scoped() throws {
        let test = try TestService(["desktop", "work"], key: "s") { vault in
            for group in ["desktop", "work"] {
                try vault.add(
                    try .genericPassword(service: group, account: "", group: group), secret: Secret(text: group))
            }
            try vault.addSlot(try TestService.factors("s"), grantedGroups: ["work"])
        }
        let found = try test.search(.one, [])
        #expect(found.unlocked.count == 1)
        #expect(try test.read(.one, found.unlocked[0]).text == "work")
        let work = ServiceObject.collection("work").path
        #expect(failure { try test.store(.one, "x", [], in: work) } == "AccessDenied")
        #expect(failure { _ = try test.call(.one, found.unlocked[0], ServiceName.item, "Delete") } == "AccessDenied")
        let properties = BusValue.properties([(ServiceName.collection + ".Label", .text("x"))])
        #expect(failure { _ = try test.call(.one, "CreateCollection", properties, .text("")) } == "AccessDenied")
    }

    @Test("Wrong arguments, methods and interfaces are refused")
    func wrongCalls() throws {
        let test = try TestService()
        let item = try test.store(.one, "1", [("a", "1")])
        #expect(failure { _ = try test.call(.one, "Shutdown") } == "UnknownMethod")
        #expect(
            failure { _ = try test.call(.one, item, ServiceName.service, "GetSecret", .path("/")) } == "UnknownMethod")
        #expect(failure { _ = try test.call(.one, item, ServiceName.item, "GetSecret", .text("x")) } == "InvalidArgs")
        #expect(failure { _ = try test.call(.one, item, ServiceName.item, "GetSecret", .path("/")) } == "NoSession")
        #expect(failure { _ = try test.call(.one, "SearchItems", .array("{ss}", [.other])) } == "InvalidArgs")
        #expect(failure { _ = try test.call(.one, "SearchItems", .texts([("a", "1")]), .text("")) } == "InvalidArgs")
        #expect(
            failure { _ = try test.call(.one, "/else", ServiceName.service, "ReadAlias", .text("x")) } == "NoSuchObject"
        )
        #expect(failure { _ = try test.call(.one, "OpenSession", .other, .other) } == "InvalidArgs")
        let all = try test.call(.one, item, ServiceName.properties, "GetAll", .text(ServiceName.item))
        guard case .array("{sv}", let entries) = all[0] else { throw Unexpected() }
        #expect(entries.count == 6)
        let text = try test.call(.one, ServiceName.path, ServiceName.introspectable, "Introspect")
        guard case .text(let description) = text[0] else { throw Unexpected() }
        #expect(description.contains("OpenSession"))
    }

    @Test("From the root, tools find each collection, alias and item, and each path that they find has a description")
    func tree() throws {
        let test = try TestService()
        let made = try test.makeCollection("x y", alias: "other one")
        let item = try test.store(.one, "1", [("a", "1")], in: made)
        func paths(below path: String) throws -> [String] {
            let reply = try test.call(.two, path, ServiceName.introspectable, "Introspect")
            guard case .text(let description) = reply[0] else { throw Unexpected() }
            let names = description.components(separatedBy: "<node name=\"").dropFirst().map { rest in
                String(rest.prefix { $0 != "\"" })
            }
            #expect(names.allSatisfy { !$0.contains("/") })
            let start = path == "/" ? path : path + "/"
            return try [path] + names.flatMap { name in try paths(below: start + name) }
        }
        let aliases = ["default", "other one"].map { ServiceObject.alias($0).path }
        #expect(
            Set(try paths(below: "/"))
                == Set(
                    [
                        "/", "/org", "/org/freedesktop", ServiceName.path, ServiceObject.collections.path,
                        ServiceObject.aliases.path, ServiceObject.collection("desktop").path, made, item,
                    ] + aliases))
        // Also while the vault is locked.
        _ = try test.call(.one, "Lock", .paths([made]))
        #expect(try paths(below: "/").contains(item))
    }
}
