import Testing
import VaultFmt

@testable import VaultSecretService

@Suite("Names and paths")
struct NameTests {
    @Test(
        "A name becomes an element of a path, and comes back",
        arguments: ["", "desktop", "a/b", "..", "ä", "_", "session", "a b", "\u{0}", "%", "A_1"])
    func elements(_ name: String) {
        let element = PathElement.encode(name)
        #expect(
            element.utf8.allSatisfy { $0 == 95 || UnicodeScalar($0).properties.isASCIIHexDigit || $0 >= 48 && $0 < 123 }
        )
        #expect(!element.contains("/") && !element.contains("."))
        #expect(PathElement.decode(element[...]) == name)
    }

    @Test("What is not the only form of a name is none", arguments: ["_6", "_zz", "_61", "_C3", "a-b", "", "_c3"])
    func otherForms(_ element: String) { #expect(PathElement.decode(element[...]) == nil) }

    @Test(
        "Only the service's own paths are its objects",
        arguments: [
            "/", "/org/freedesktop/secrets/", "/org/freedesktop/secretsX", "/org/freedesktop/secrets/collection/",
            "/org/freedesktop/secrets/collection/a/b", "/org/freedesktop/secrets/session/+1",
            "/org/freedesktop/secrets/session/01", "/org/freedesktop/secrets/prompt/99999999999999999999",
            "/org/freedesktop/secrets/collection/a/00112233445566778899AABBCCDDEEFF",
            "/org/freedesktop/secrets/other/1", "/org/freedesktop/secrets/collection/a/b/c",
        ])
    func foreignPaths(_ path: String) { #expect(ServiceObject(path: path) == nil) }

    @Test("Paths of objects are parsed")
    func paths() throws {
        let id = try #require(ItemID(hex: "00112233445566778899aabbccddeeff"))
        let objects: [ServiceObject] = [
            .service, .collections, .collection(""), .collection("a/ü"), .item(group: "x y", id), .alias("default"),
            .session(7), .prompt(.max),
        ]
        for object in objects { #expect(ServiceObject(path: object.path) == object) }
    }

    @Test("Names that mean something to the vault are kept apart from lookup attributes")
    func reservedNames() {
        for name in [
            "label", "notes", "otp", "ssh", "ssh-certificate", "content-type", "sealed:x", "file:a", "field:x",
            "authentication-policy", "keychain-types", "generic", "secret-service", "user-name", "class", "id",
            "secret",
            "password", "group", "accessible", "created", "modified",
        ] {
            #expect(LookupNames.storedName(of: name) == "field:" + name)
            #expect(LookupNames.lookupName(of: "field:" + name) == name)
        }
        for name in ["label", "notes", "ssh", "sealed:x", "file:a", "field:"] {
            #expect(LookupNames.lookupName(of: name) == nil)
        }
        for name in ["xdg:schema", "server", "user", "Label", "\u{301}", "ü"] {
            #expect(LookupNames.storedName(of: name).utf8.elementsEqual(name.utf8))
            #expect(LookupNames.lookupName(of: name)?.utf8.elementsEqual(name.utf8) == true)
        }
        let combining = "\u{301}x"
        #expect(LookupNames.lookupName(of: "field:" + combining)?.utf8.elementsEqual(combining.utf8) == true)
    }

    @Test("Attributes are compared by their bytes, and none is given twice")
    func attributes() throws {
        let composed = try LookupAttributes([("a", "\u{E9}"), ("b", "2")])
        let decomposed = try LookupAttributes([("b", "2"), ("a", "e\u{301}")])
        #expect(composed != decomposed)
        #expect(composed.include(try LookupAttributes([("b", "2")])))
        #expect(!composed.include(decomposed))
        #expect(composed.include(LookupAttributes()))
        #expect(failure { _ = try LookupAttributes([("a", "1"), ("a", "1")]) } == "InvalidArgs")
        #expect(failure { _ = try LookupAttributes([("", "1")]) } == "InvalidArgs")
        let long = String(repeating: "x", count: 5000)
        #expect(failure { _ = try LookupAttributes([("a", long)]) } == "LimitsExceeded")
        #expect(failure { _ = try LookupAttributes((0..<49).map { ("\($0)", "") }) } == "LimitsExceeded")
    }

    @Test("Clients' collections are within the default one's name, and no other group is served")
    func groups() {
        let groups = ServedGroups(["desktop", "work"])
        for group in ["desktop", "work", "desktop/x"] { #expect(groups.include(group)) }
        for group in ["", "bank", "work/x", "desktop/", "desktopx", "Desktop"] { #expect(!groups.include(group)) }
        #expect(groups.label("desktop/x") == "x")
        #expect(groups.label("work") == "work")
        #expect(ServedGroups(["a", "b", "a", "e\u{301}", "\u{E9}"]).named.map(\.utf8.count) == [1, 1, 3, 2])
    }
}
