import Testing
import VaultFmt

@Suite("Attributes")
struct SealedAttributeTests {
    @Test("named sealed: stand with the secret: not in listings, and not for who may not open it")
    func sealed() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let key = try ItemKey.genericPassword(service: "a", group: "team")
        try vault.add(key, secret: Secret(text: "s"), attributes: ["sealed:seed": "JBSW", "label": "A"])
        _ = try vault.addSlot(try Fast.rawKey(9), name: "other", grantedGroups: ["elsewhere"], createsGroups: true)
        #expect(try vault.item(key)?.attributes.names == ["label"])
        #expect(try vault.item(key)?.largeAttributes == 1)
        #expect(try vault.get(key)?.item.attributes.string("sealed:seed") == "JBSW")
        let scoped = try Vault.open(path, factors: try Fast.rawKey(9))
        #expect(try scoped.item(key)?.attributes.names == ["label"])
        #expect(throws: VaultError(.notPermitted, "")) { _ = try scoped.get(key) }
        try vault.update(key, attributes: AttributeChanges(remove: ["sealed:seed"]))
        #expect(try vault.get(key)?.item.attributes.names == ["label"])
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
}
