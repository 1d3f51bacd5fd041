import Testing
import VaultBytes

@testable import VaultFmt

@Suite("A class that a later version may define")
struct ReservedClassTests {
    private let ordinary: ItemKey

    init() throws { ordinary = try .genericPassword(service: "s", account: "a", group: "team") }

    private func reserved(_ number: UInt8, _ texts: [String], group: String = "team") throws(VaultError) -> ItemKey {
        try ItemKey(reserved: number, texts: texts, group: group, synchronizable: true)
    }

    /// A vault in which another program made an item of such a class.
    private func vault(_ path: String, _ key: ItemKey) throws -> Vault {
        let vault = try Fast.create(path)
        try vault.add(ordinary, secret: Secret(text: "x"))
        try vault.forge { (state, frames) throws(VaultError) in
            var entry = try state.entry(ordinary)
            entry.id = Bytes16(high: 1, low: 2)
            entry.recordRevision = state.clock
            let attributes = [Attribute("notes", [1])]
            entry.record = try RecordCodec.append(
                key, Secret(text: "passkey"), attributes, try frames.seal(entry.identity), to: frames.appender)
            let listed = Attributes(attributes).listed
            state.entries.append((key.bytes, ItemCodec.encode(entry, listed)))
            state.items += 1
            state.liveBytes += UInt64(entry.record.length)
        }
        return vault
    }

    @Test("has items that are listed, read, changed, moved and removed (R-6.2)", arguments: [6, 17, 63])
    func using(number: UInt8) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let key = try reserved(number, ["relying.example", "user \u{0} zero", ""])
        let vault = try vault(path, key)
        let again = try Fast.open(path)
        #expect(try again.allItems().map(\.key) == [ordinary, key])
        let item = try #require(try again.item(key))
        #expect(item.key.texts == ["relying.example", "user \u{0} zero", ""])
        #expect(item.key.group == "team" && item.key.synchronizable && item.key.itemClass == .reserved(number))
        #expect(item.key.itemClass.name == "class-\(number)" && ItemClass(name: "class-\(number)") == .reserved(number))
        #expect(try again.text(key) == "passkey")
        var query = Query()
        query.itemClass = .reserved(number)
        #expect(try again.items(matching: query).collected().map(\.key) == [key])
        var scanned = 0
        try again.forEachSecret { _, _ in scanned += 1 }
        #expect(scanned == 2)
        try again.set(key, secret: Secret(text: "renewed"), attributes: AttributeChanges(set: ["label": "L"]))
        let moved = try reserved(number, ["relying.example", "other"], group: "others")
        try again.move(key, to: moved)
        fails(.invalidArgument, "class") { try again.move(moved, to: try reserved(number == 6 ? 7 : 6, ["x"])) }
        try again.compact()
        #expect(try Fast.open(path).text(moved) == "renewed")
        #expect(try Fast.open(path).earlierValues(of: moved).count == 1)
        let report = try again.verify()
        #expect(report.isSound, "\(report.problems)")
        #expect(try again.remove(moved))
        #expect(try again.statistics().itemsByClass.count == 1)
        _ = vault
    }

    @Test("has items that salvage keeps, with all others (R-6.2)")
    func salvage() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let key = try reserved(6, ["relying.example", "user"])
        _ = try vault(path, key)
        let report = try Vault.salvage(
            path, factors: try Fast.rawKey(), to: folder.file("b.vault"), newFactors: try Fast.rawKey())
        #expect(report.isComplete && report.recovered == 2)
        let new = try Fast.open(folder.file("b.vault"))
        #expect(try new.text(key) == "passkey" && new.text(ordinary) == "x")
        try expectSound(new)
    }

    @Test("has no items that this version makes (R-6.2)")
    func making() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        let key = try reserved(6, ["x"])
        fails(.invalidArgument, "class-6") { try vault.add(key, secret: Secret(text: "")) }
        fails(.invalidArgument, "class-6") { try vault.set(key, secret: Secret(text: "")) }
        try vault.add(ordinary, secret: Secret(text: ""))
        fails(.invalidArgument, "class") { try vault.move(ordinary, to: key) }
        #expect(try vault.allItems().count == 1)
    }

    @Test("has keys of 1 to 16 texts, of which the last is the group (section 6.1)")
    func encoding() throws {
        for count in [0, 1, 14, 15] {
            let texts = (0..<count).map { "text \($0)" }
            let key = try reserved(40, texts)
            #expect(try ItemKey(key.bytes) == key)
            #expect(key.texts == texts && key.group == "team")
        }
        fails(.invalidArgument) { _ = try reserved(40, (0..<16).map { "\($0)" }) }
        for number in [0, 5, 64, 0x7E] as [UInt8] { fails(.invalidArgument) { _ = try reserved(number, ["x"]) } }
        let good = try reserved(40, ["a", "b"]).bytes
        let seventeen: [UInt8] = [40] + [[UInt8]](repeating: [65, 0, 0], count: 17).joined() + [0]
        var bad: [[UInt8]] = [seventeen, [40], [40, 0], [40, 1], Array(good.dropLast()), good + [0]]
        bad.append(good.dropLast() + [2])
        bad.append([64] + good.dropFirst())
        bad.append([40, 0xFF, 0, 0, 1])
        bad.append([40, 65, 0, 0, 0xC3, 0, 0, 1])
        bad.append([40, 65, 0, 1, 0, 0, 1])
        for bytes in bad { fails(.structureInvalid) { _ = try ItemKey(bytes) } }
        #expect(try ItemKey([40, 0, 0, 1]).texts == [])
        fails(.limitExceeded, "a text has 4097 bytes") { _ = try reserved(40, [String(repeating: "x", count: 4097)]) }
    }

    @Test("has a name that is read, and no other number has")
    func names() {
        for name in ["class-5", "class-64", "class-06", "class-", "class-6 "] { #expect(ItemClass(name: name) == nil) }
        #expect(ItemClass.allCases.count == 5 && ItemClass.allCases.allSatisfy(\.isDefined))
        for number in 0...255 as ClosedRange<UInt8> {
            #expect(ItemClass(rawValue: number)?.rawValue == ((1...63).contains(number) ? number : nil))
        }
    }
}
