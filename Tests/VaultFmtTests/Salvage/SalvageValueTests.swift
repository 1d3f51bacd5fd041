import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

@Suite("Salvaging what an item has besides its secret")
struct SalvageValueTests {
    private let memory = InMemory()
    private let key: ItemKey
    private let large = [UInt8](repeating: 7, count: 9000)

    init() throws { key = try password("s", "a") }

    private func filled() throws -> Vault {
        let vault = try memory.create(kept: 20)
        let attributes = Attributes([
            Attribute("file", large, flags: [.binary]), Attribute("label", Array("L".utf8)),
            Attribute("notes", Array("sealed".utf8)),
        ])
        for number in 0..<4 { try vault.set(key, secret: Secret(text: "\(number)"), attributes: setting(attributes)) }
        return vault
    }

    private func salvage() throws -> (Vault, SalvageReport) {
        if memory.files.bytes(of: "new.vault") != nil { try memory.files.remove("new.vault") }
        let report = try Vault.salvage(
            "a.vault", factors: try Fast.rawKey(), to: "new.vault", newFactors: try Fast.rawKey(),
            options: CreateOptions(),
            place: memory.place)
        let vault = try memory.open("new.vault")
        try expectSound(vault)
        return (vault, report)
    }

    private func damage(_ ranges: [ObjectRef]) throws {
        var bytes = try memory.bytes()
        for ref in ranges { bytes[Int(ref.offset) + 70] ^= 1 }
        memory.files.put("a.vault", bytes)
    }

    @Test("brings its earlier values along, its attributes of all sizes, and the setting")
    func everything() throws {
        let vault = try filled()
        let before = try vault.earlier(key).map { [$0.secret, $0.label ?? "", "\($0.replaced)"] }
        let (new, report) = try salvage()
        #expect(report.isComplete && report.recovered == 1 && report.recoveredEarlierValues == 3, "\(report)")
        #expect(try new.earlier(key).map { [$0.secret, $0.label ?? "", "\($0.replaced)"] } == before)
        #expect(try new.earlier(key).allSatisfy { $0.large == large })
        let item = try #require(try new.item(key))
        #expect(
            try new.attribute("file", of: item)?.array == large
                && new.attribute("notes", of: item)?.array == Array("sealed".utf8))
        #expect(
            item.attributes.attribute("file")?.flags == .binary && item.attributes.attribute("notes")?.flags == .sealed)
        #expect(new.keptVersions == 20)
    }

    @Test("keeps the setting of a vault that keeps no earlier values", arguments: [0, 3])
    func keptNumber(kept: Int) throws {
        let vault = try memory.create(kept: kept)
        for number in 0..<5 { try vault.set(key, secret: Secret(text: "\(number)")) }
        let (new, report) = try salvage()
        #expect(new.keptVersions == kept && report.recoveredEarlierValues == kept)
        try new.put(key, "other")
        #expect(try new.earlier(key).count == kept)
    }

    @Test("counts what is damaged once, where a damaged record claims to hold what follows it, and finds all of that")
    func claimingRecord() throws {
        let vault = try memory.create()
        for number in 0..<12 { try vault.put(try password("s", "\(number)"), "\(number)") }
        var bytes = try memory.bytes()
        let record = try #require(try frames(bytes).first { $0.type == .record }).range
        // Without any key: eight bytes of somebody who can write to the file.
        let place = record.lowerBound + 64
        let head = FrameHead(.record, length: bytes.count - place).encoded
        bytes.replaceSubrange(place..<place + 8, with: withUnsafeBytes(of: head.littleEndian, Array.init))
        memory.files.put("a.vault", bytes)
        let (new, report) = try salvage()
        #expect(try report.recovered == 11 && report.lost.map(\.key) == [password("s", "0")])
        #expect(
            report.notes.contains { $0.hasPrefix("208 bytes of the file do not belong to any object") },
            "\(report.notes)"
        )
        #expect(try new.allItems().count == 11)
    }

    @Test(
        "reads a file that is full of heads of frames a few times, whatever they claim",
        arguments: [FrameType.keyring, .record, .page])
    func heads(type: FrameType) throws {
        let vault = try memory.create()
        for number in 0..<12 { try vault.put(try password("s", "\(number)"), "\(number)") }
        let claim = FrameHead(type, length: type == .page ? 65_536 : 1 << 18).encoded
        let head = withUnsafeBytes(of: claim.littleEndian, Array.init)
        let junk = Array(repeating: head, count: 65_536).joined()
        memory.files.put("a.vault", try memory.bytes() + junk)
        let (new, report) = try salvage()
        #expect(report.recovered == 12)
        #expect(try new.allItems().count == 12)
        // 256 MiB and 64 times the file to read false frames, and as much again to search them for other heads.
        #expect(memory.files.bytesRead(of: "a.vault") < (256 << 20) + 256 * junk.count)
    }

    @Test("names an item whose earlier values or large attributes are damaged, and keeps the rest")
    func partial() throws {
        let vault = try filled()
        let entry = try #require(try vault.item(key))
        let records = try vault.earlierValues(of: key).filter { $0.attribute == nil }.compactMap(\.value.record?.record)
        let bytes = try memory.bytes()
        try damage([try #require(records.count == 3 ? records[1] : nil)])
        var (new, report) = try salvage()
        #expect(report.partial == [key] && !report.isComplete)
        #expect(try new.earlier(key).map(\.secret) == ["0", "2"])
        memory.files.put("a.vault", bytes)
        try damage([try #require(entry.entry.past)])
        (new, report) = try salvage()
        #expect(report.partial == [key])
        #expect(try new.text(key) == "3" && new.earlier(key).isEmpty)
        memory.files.put("a.vault", bytes)
        try damage(entry.largeRecords.map(\.record))
        (new, report) = try salvage()
        #expect(report.partial == [key])
        #expect(try new.text(key) == "3" && new.item(key)?.attributes.names == ["label", "notes"])
    }

    @Test("uses the newest earlier value in place of a damaged record, and says so")
    func older() throws {
        let vault = try filled()
        try vault.compact()
        let entry = try #require(try vault.item(key)).entry
        try damage([entry.record])
        let (new, report) = try salvage()
        #expect(report.older == [key] && report.lost.isEmpty)
        #expect(try new.text(key) == "2" && new.earlier(key).map(\.secret) == ["0", "1"])
    }

    @Test("uses a value that was left to settle in place of a damaged record, and says so")
    func fromConflict() throws {
        let copies = try Copies { try $0.put(key, "base") }
        try copies.ours.put(key, "mine")
        copies.tick()
        try copies.theirs.put(key, "theirs")
        try copies.ours.merge(copies.theirs)
        try copies.ours.forgetEarlierValues(of: key)
        // Former records are gone then.
        try copies.ours.compact()
        #expect(try copies.ours.text(key) == "theirs" && copies.ours.conflict(in: key) != nil)
        let record = try #require(try copies.ours.item(key)).entry.record
        var bytes = try copies.memory.bytes("ours")
        bytes[Int(record.offset) + 70] ^= 1
        memory.files.put("a.vault", bytes)
        let (new, report) = try salvage()
        #expect(report.fromConflict == [key] && report.lost.isEmpty && !report.isComplete, "\(report)")
        #expect(try new.text(key) == "mine")
    }

    @Test(
        "finds earlier values and large attributes by their records where the index is lost, and takes none for the item's own"
    )
    func lostIndex() throws {
        let vault = try filled()
        try vault.compact()
        var bytes = try memory.bytes()
        for frame in try frames(bytes) where frame.type == .page || frame.type == .past {
            bytes[frame.range.lowerBound + 60] ^= 1
        }
        memory.files.put("a.vault", bytes)
        let (new, report) = try salvage()
        #expect(report.withoutIndex == [key] && report.lost.isEmpty)
        #expect(try new.text(key) == "3" && new.earlier(key).map(\.secret) == ["0", "1", "2"])
        #expect(try new.attribute("file", of: try #require(try new.item(key)))?.array == large)
    }

    @Test("finds the copy of a long header whose length cannot be read (R-3.4)", arguments: [13, 14, 0, 100])
    func longHeader(place: Int) throws {
        let vault = try filled()
        for number in 0..<40 { try vault.addSlot(try Fast.rawKey(UInt8(100 + number)), name: "slot \(number)") }
        #expect(try vault.rawSlots.count == 41)
        var bytes = try memory.bytes()
        #expect(try bodyStart(bytes) == 2 * 16_384)
        bytes[place] ^= 0x20
        memory.files.put("a.vault", bytes)
        let (new, report) = try salvage()
        #expect(report.isComplete && report.notes == ["the header is damaged: its copy was used"], "\(report.notes)")
        #expect(try new.text(key) == "3")
    }
}
