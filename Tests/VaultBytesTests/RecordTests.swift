import Testing
import VaultBytes

@Suite("An item's record")
struct ItemRecordTests {
    static func body(form: UInt8 = 0, key: [UInt8] = [1, 2], secret: Int = 3, attributes: [UInt8] = [0], step: Int = 0)
        -> [UInt8]
    {
        var out =
            [form] + varint(UInt64(key.count)) + key + varint(UInt64(secret)) + [UInt8](repeating: 9, count: secret)
            + attributes
        out.append(zeros: Padding.record(max(out.count, step)) - out.count)
        return out
    }

    private func read(_ bytes: [UInt8]) throws(FormatError) -> RecordLayout {
        try RecordLayout(bytes.span, .item, at: 0)
    }

    @Test("is form, key, secret and attributes, padded")
    func parts() throws {
        let attributes = RecordAttributesTests.encoded([("notes", [.sealed, .inItemRecord], 5)])
        for size in [0, 3, 111, 112, 113, 5000] {
            let bytes = Self.body(secret: size, attributes: attributes)
            let layout = try read(bytes)
            #expect(RecordLayout.form(bytes.span) == .item)
            #expect(bytes[layout.key].elementsEqual([1, 2]))
            guard case .item(let secret, let list) = layout.content else {
                Issue.record("form does not match")
                return
            }
            #expect(secret.count == size && bytes[secret].allSatisfy { $0 == 9 })
            #expect(list.count == 1 && bytes[list[0].value].elementsEqual([7, 7, 7, 7, 7]))
            #expect(RecordLayout.itemBodySize(key: 2, secret: size, attributes: attributes.count) == bytes.count)
        }
    }

    @Test("cut short is refused, wherever it is cut")
    func truncated() {
        for size in [3, 200, 1500] {
            refusesTruncations(Self.body(secret: size)) { bytes throws(FormatError) in _ = try read(bytes) }
        }
    }

    @Test("has a length that is a step, and may be a later one than it needs (R-5.1)")
    func length() throws {
        for step in [128, 256, 512, 1024, 1088, 5120] { #expect(try read(Self.body(step: step)).key.count == 2) }
        for extra in [1, 127, 129, 895] {
            refuses(.structureInvalid, "not an allowed size") { () throws(FormatError) in
                _ = try read(Self.body() + [UInt8](repeating: 0, count: extra))
            }
        }
    }

    @Test("of another form is refused as such (R-5.4)")
    func forms() {
        for form in [1, 2, 3, 255] as [UInt8] {
            refuses(.unsupportedForm, "form does not match") { () throws(FormatError) in
                _ = try read(Self.body(form: form))
            }
        }
        #expect(RecordLayout.form(Self.body(form: 2).span) == nil)
        #expect(RecordLayout.form([UInt8]().span) == nil)
    }

    @Test("has zeros as padding (R-1.2), and parts that it can hold (R-2.2)")
    func contents() {
        let bytes = Self.body()
        func refusesBody(_ bytes: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
            refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
                _ = try read(bytes)
            }
        }
        for place in 9..<128 { refusesBody(patched(bytes, place, [1]), "not zero") }
        refusesBody(patched(bytes, 4, varint(16_000)), "past the end")
        refusesBody(patched(bytes, 4, varint((16 << 20) + 1)), "a secret: 16777217")
        refusesBody(patched(bytes, 1, varint(8177)), "an item key: 8177")
        refusesBody(patched(bytes, 1, varint(8176)), "past the end")
    }

    @Test("holds a secret of up to 16 MiB")
    func largest() throws {
        let bytes = Self.body(key: [UInt8](repeating: 1, count: 8176), secret: 16 << 20)
        #expect(try read(bytes).key.count == 8176)
        #expect(bytes.count + Format.recordOverhead <= Format.Limit.recordFrame)
    }
}

@Suite("An attribute's record")
struct AttributeRecordTests {
    private static func body(flags: UInt8 = 0x20, name: [UInt8] = [97], value: Int = 5000, key: [UInt8] = [1, 2])
        -> [UInt8]
    {
        var out = [1] + varint(UInt64(key.count)) + key + [flags, UInt8(name.count)] + name + varint(UInt64(value))
        out += [UInt8](repeating: 9, count: value)
        out.append(zeros: Padding.record(out.count) - out.count)
        return out
    }

    private func read(_ bytes: [UInt8]) throws(FormatError) -> RecordLayout {
        try RecordLayout(bytes.span, .attribute, at: 0)
    }

    private func refusesBody(_ bytes: [UInt8], _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try read(bytes)
        }
    }

    @Test("is form, key, flags, name and value, padded")
    func parts() throws {
        for flags in 0x20...0x27 as ClosedRange<UInt8> where flags & 8 == 0 {
            let bytes = Self.body(flags: flags, name: Array("über".utf8), value: 4097)
            let layout = try read(bytes)
            guard case .attribute(let name, let read, let value) = layout.content else {
                Issue.record("form does not match")
                return
            }
            #expect(String(decoding: bytes[name], as: UTF8.self) == "über" && read.rawValue == flags)
            #expect(value.count == 4097 && bytes[value].allSatisfy { $0 == 9 })
            #expect(RecordLayout.attributeBodySize(key: 2, name: 5, value: 4097) == bytes.count)
        }
        #expect(RecordLayout.form(Self.body().span) == .attribute)
        refusesTruncations(Self.body()) { bytes throws(FormatError) in _ = try read(bytes) }
    }

    @Test("of another form is refused as such (R-5.4)")
    func forms() {
        for form in [0, 2, 255] as [UInt8] {
            refuses(.unsupportedForm, "form does not match") { () throws(FormatError) in
                _ = try read(patched(Self.body(), 0, [form]))
            }
        }
    }

    @Test("has the flag of an attribute in a record of its own, and no other place (R-6.3, R-6.5)")
    func flags() {
        for flags in 0...255 as ClosedRange<UInt8> where flags & 0xF8 != 0x20 {
            refusesBody(Self.body(flags: flags), "unknown flags")
        }
    }

    @Test("has a value of 4097 bytes to 16 MiB, and a name that is text")
    func limits() throws {
        for size in [0, 4096] { refusesBody(Self.body(value: size), "wrong place") }
        #expect(try read(Self.body(value: 16 << 20)).key.count == 2)
        refusesBody(Self.body(value: (16 << 20) + 1), "16777217")
        refusesBody(Self.body(name: []), "has no name")
        refusesBody(Self.body(name: [0xC3]), "UTF-8")
        #expect(try read(Self.body(name: [UInt8](repeating: 97, count: 255))).key.count == 2)
    }

    @Test("has zeros as padding (R-1.2)")
    func padding() {
        let bytes = Self.body(value: 4200)
        for place in [bytes.count - 1, 4200 + 9] { refusesBody(patched(bytes, place, [1]), "not zero") }
    }
}
