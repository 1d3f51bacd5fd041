import Testing
import VaultBytes

@Suite("A forgotten value")
struct ForgottenValueTests {
    private func read(_ key: [UInt8], clock: UInt64 = 100, floor: UInt64 = 10) throws(FormatError) -> ForgottenValue {
        try ForgottenValue(key: key.span, clock: clock, floor: floor, at: 0)
    }

    private func refusesKey(_ key: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try read(key)
        }
    }

    private func value(_ revision: UInt64, _ replica: UInt64, _ kind: FieldKind = .secret, _ name: String = "")
        -> ForgottenValue
    {
        ForgottenValue(dot: Dot(revision: revision, replica: replica), kind: kind, name: Array(name.utf8))
    }

    @Test("is found under 7E, its dot in big-endian numbers, its kind, and its name")
    func key() throws {
        let key = value(0x0102, 0x0304).key
        #expect(key == [0x7E, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 0])
        #expect(value(0x0102, 0x0304, .attribute, "otp").key == key.dropLast() + [1] + Array("otp".utf8))
        for one in [
            value(11, 5), value(100, .max), value(10, 0), value(1, 0, .attribute, "é"),
            value(50, 1, .attribute, String(repeating: "n", count: 255)),
        ] {
            #expect(try read(one.key) == one)
            #expect(try read(one.key).key == one.key)
        }
    }

    @Test("has one encoding, and nothing of its dot can be left out")
    func oneEncoding() {
        let key = value(50, 77, .attribute, "otp").key
        hasOneEncoding(key, seed: 1) { changed throws(FormatError) in try read(changed).key }
        for length in 0..<19 { refusesKey(Array(key[..<length]), "") }
    }

    @Test("has a dot that the state can have: id 0 if and only if it is not above the floor (R-6.14)")
    func dots() {
        for one in [value(0, 0), value(101, 5), value(.max, 5), value(11, 0), value(10, 5)] {
            refusesKey(one.key, "out of range")
        }
    }

    @Test("is a secret without a name, or an attribute with one (R-6.14)")
    func kinds() {
        refusesKey(value(50, 1, .key).key, "unknown kind")
        refusesKey(value(50, 1, .place).key, "unknown kind")
        refusesKey(value(50, 1).key.dropLast() + [4], "unknown kind")
        refusesKey(value(50, 1, .secret, "x").key, "name of a forgotten value has 1 bytes")
        refusesKey(value(50, 1, .attribute).key, "name of a forgotten value has 0 bytes")
        refusesKey(value(50, 1, .attribute, String(repeating: "n", count: 256)).key, "has 256 bytes")
        refusesKey(value(50, 1, .attribute, "x").key.dropLast() + [0xFF], "UTF-8")
        refusesKey([0x7D] + value(50, 1).key.dropFirst(), "not a forgotten value")
    }
}

@Suite("The key of an item in a page")
struct PageKeyTests {
    private let item = Bytes16(high: 0x0102_0304_0506_0708, low: 9)

    private func isSecond(_ key: [UInt8], _ item: Bytes16) -> Bool { PageKey.isSecond(key.span, item) }

    @Test("is the item's key, or that with 2 added to its last byte and the item's id")
    func second() {
        for sync in [0, 1] as [UInt8] {
            let key: [UInt8] = [1, 65, 0, 0, 0, 0, 0, 0, sync]
            let second = PageKey.second(key, item)
            #expect(second == key.dropLast() + [sync + 2] + item.bytes)
            #expect(isSecond(second, item) && !isSecond(key, item))
            #expect(PageKey.itemKey(second, item) == key && PageKey.itemKey(key, item) == key)
            // Whoever has the key plain comes first.
            #expect(key.lexicographicallyPrecedes(second))
        }
    }

    @Test("ends with the id of its own item, and of no other")
    func others() {
        let second = PageKey.second([1, 65, 0, 0, 0, 0, 0, 0, 0], item)
        #expect(!isSecond(second, Bytes16(high: 1, low: 9)))
        for last in [0, 1, 4, 0x82, 0xFF] as [UInt8] {
            let other = patched(second, 8, [last])
            #expect(!isSecond(other, item) && PageKey.itemKey(other, item) == other)
        }
        for key in [[], item.bytes, [2] + item.bytes] { #expect(!isSecond(key, item)) }
    }
}
