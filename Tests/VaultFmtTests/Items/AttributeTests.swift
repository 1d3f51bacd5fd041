import Testing
import VaultBytes

@testable import VaultFmt

@Suite("Attributes")
struct AttributeTests {
    private let key: ItemKey

    init() throws { key = try .genericPassword(service: "a", group: "team") }

    @Test("that are sealed are not in listings, nor for anyone who may not open the secret; their names and flags are")
    func sealed() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        var attributes: Attributes = ["sealed:seed": "JBSW", "label": "A", "otp": "otpauth:", "notes": "n"]
        attributes.set(Attribute("pin", secret: Secret(text: "1234")))
        attributes.set(Attribute("plain pin", [49], flags: .concealed))
        try vault.add(key, secret: Secret(text: "s"), attributes: attributes)
        _ = try vault.addSlot(try Fast.rawKey(9), name: "other", grantedGroups: ["elsewhere"], createsGroups: true)
        let names = ["label", "notes", "otp", "pin", "plain pin", "sealed:seed"]
        for reader in [vault, try Vault.open(path, factors: try Fast.rawKey(9))] {
            let listed = try #require(try reader.item(key))
            #expect(listed.attributes.names == names)
            #expect(listed.attributes.all.filter(\.isRead).map(\.name) == ["label", "plain pin"])
            #expect(listed.unreadAttributes == 4)
            #expect(listed.attributes.attribute("plain pin")?.flags == .concealed)
            for name in ["notes", "otp", "pin", "sealed:seed"] {
                #expect(listed.attributes.attribute(name)?.flags == .sealed)
                #expect(listed.attributes[name] == nil && listed.attributes.attribute(name)?.isRead == false)
            }
        }
        let opened = try #require(try vault.get(key)?.item)
        #expect(opened.attributes.string("sealed:seed") == "JBSW")
        #expect(opened.attributes["pin"] == Array("1234".utf8))
        #expect(opened.unreadAttributes == 0)
        let scoped = try Vault.open(path, factors: try Fast.rawKey(9))
        fails(.notPermitted) { _ = try scoped.get(key) }
        fails(.notPermitted) { _ = try scoped.attribute("pin", of: try #require(try scoped.item(key))) }
        try vault.update(key, attributes: AttributeChanges(remove: ["sealed:seed", "otp"]))
        #expect(try vault.get(key)?.item.attributes.names == ["label", "notes", "pin", "plain pin"])
        #expect(try vault.verify().isSound)
    }

    @Test("keep their flags when a value is set without any, and change them when they are stated")
    func flags() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        func flags(_ name: String) throws -> Attribute.Flags? { try vault.item(key)?.attributes.attribute(name)?.flags }
        let all: Attribute.Flags = [.sealed, .concealed, .binary]
        try vault.add(
            key, secret: Secret(text: "s"),
            attributes: Attributes([Attribute("x", [1], flags: all), Attribute("notes", [2], flags: [])]))
        #expect(try flags("x") == all && flags("notes") == [])
        try vault.update(key, attributes: setting(["x": "2", "notes": "3", "otp": "4"]))
        #expect(try flags("x") == all && flags("notes") == [] && flags("otp") == .sealed)
        try vault.set(key, secret: Secret(text: "s"), attributes: AttributeChanges(set: ["x": "3"], replaceAll: true))
        #expect(try flags("x") == all, "an attribute that is replaced keeps them too")
        try vault.update(key, attributes: AttributeChanges(set: Attributes([Attribute("x", [65], flags: .binary)])))
        #expect(try flags("x") == .binary && vault.item(key)?.attributes["x"] == [65])
        try vault.update(key, attributes: AttributeChanges(set: Attributes([Attribute("x", [65], flags: .sealed)])))
        #expect(try vault.item(key)?.attributes["x"] == nil && vault.get(key)?.item.attributes["x"] == [65])
        var opened = try #require(try vault.get(key)?.item.attributes)
        opened["x"] = [66]
        #expect(opened.attribute("x")?.flags == .sealed)
        fails(.invalidArgument, "flags") {
            try vault.update(
                key, attributes: AttributeChanges(set: Attributes([Attribute("y", [1], flags: .init(rawValue: 0x10))])))
        }
        #expect(try vault.verify().isSound)
    }

    @Test("are told apart by bytes, not by canonical equivalence")
    func names() throws {
        let folder = try Folder()
        let vault = try Fast.create(folder.file("a.vault"))
        let composed: Attributes = ["caf\u{E9}": "1"]
        let decomposed: Attributes = ["cafe\u{301}": "1"]
        #expect(composed != decomposed)
        try vault.add(try password("a"), secret: Secret(text: "s"), attributes: ["caf\u{E9}": "1", "cafe\u{301}": "2"])
        #expect(try vault.item(try password("a"))?.attributes.count == 2)
        #expect(try password("caf\u{E9}").fields != password("cafe\u{301}").fields)
    }

    @Test("are equal if names, flags and values are, wherever the values are kept")
    func equality() {
        let plain = Attribute("a", [1, 2], flags: .sealed)
        #expect(plain == Attribute("a", secret: Secret(bytes: [1, 2])))
        #expect(
            plain != Attribute("a", secret: Secret(bytes: [1, 3]))
                && plain != Attribute("a", secret: Secret(bytes: [1])))
        #expect(plain != Attribute("a", [1, 2], flags: []) && plain != Attribute("b", [1, 2], flags: .sealed))
        #expect(Attribute("a", [1]) == Attribute("a", [1]) && Attribute("a", []) == Attribute("a", []))
    }
}
