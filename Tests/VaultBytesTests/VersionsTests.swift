import Testing
import VaultBytes

@Suite("The earlier values of an item")
struct VersionsTests {
    static func sample(_ count: Int) -> Versions {
        var numbers = Numbers(UInt64(count))
        return Versions(
            item: numbers.id(),
            versions: (0..<count).map { index in
                .init(
                    revision: UInt64(index / 2 + 1), device: index % 2, replaced: Int64(index) - 3,
                    modified: -Int64(index),
                    record: ObjectRef(offset: numbers.next() >> 20, length: 208, hash: numbers.hash()),
                    recordRevision: UInt64(index),
                    compartment: numbers.next() >> 1, attributes: Array(PageAttributesTests.all.prefix(index % 8)))
            })
    }

    private func read(_ bytes: [UInt8]) throws(FormatError) -> Versions { try Versions(bytes.span, at: 0) }

    private func refusesVersions(
        _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation, _ change: (inout Versions) -> Void
    ) {
        var versions = Self.sample(6)
        change(&versions)
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
            _ = try read(versions.encode())
        }
    }

    @Test("are read as they were written", arguments: [1, 2, 7, 49, 50])
    func roundTrip(count: Int) throws {
        let versions = Self.sample(count)
        let bytes = try versions.encode()
        #expect(FrameType.versions.isPossible(bytes.count + 48))
        #expect(try read(bytes) == versions)
        #expect(try read(bytes).encode() == bytes)
    }

    @Test("have one encoding, and nothing of them can be left out")
    func oneEncoding() throws {
        let bytes = try Self.sample(3).encode()
        hasOneEncoding(bytes, seed: 4) { changed throws(FormatError) in try read(changed).encode() }
        refusesTruncations(bytes) { bytes throws(FormatError) in _ = try read(bytes) }
    }

    @Test("are 1 to 50, in strictly ascending order of revision, then of device (R-5.13)")
    func order() throws {
        refusesVersions("0 earlier values") { $0.versions = [] }
        refusesVersions("51 earlier values") { $0 = Self.sample(51) }
        refusesVersions("out of order") { $0.versions.swapAt(0, 1) }
        refusesVersions("out of order") { $0.versions.swapAt(1, 2) }
        refusesVersions("out of order") { $0.versions[1] = $0.versions[0] }
        refusesVersions("device's number: 1025") { $0.versions[5].device = 1025 }
    }

    @Test("are those of the item that refers to them, as many as it states, and earlier than it (R-5.13)")
    func check() throws {
        let versions = Self.sample(3)
        var entry = ItemEntryTests.sample(versions: 3)
        entry.id = versions.item
        entry.revision = 2
        entry.device = 1
        try versions.check(entry, at: 0)
        func refusesEntry(
            _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation, _ change: (inout ItemEntry) -> Void
        ) {
            var other = entry
            change(&other)
            refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in
                try versions.check(other, at: 0)
            }
        }
        refusesEntry("belongs to another item") { $0.id = .zero }
        refusesEntry("belongs to another item") { $0.versions = nil }
        refusesEntry("belongs to another item") { $0.versions?.count = 2 }
        refusesEntry("not earlier") { $0.revision = 1 }
        // The last one is (2, 0): of the item's own revision, by another device or by the same.
        refusesEntry("not earlier") { $0.device = 0 }
    }

    @Test("fit into a frame of 2 MiB, or are refused")
    func limits() throws {
        var versions = Self.sample(50)
        let value = [UInt8](repeating: 1, count: 256)
        let attributes = (0..<64).map {
            PageAttribute(name: String(repeating: "n", count: 250) + "\($0 + 100)", flags: [], value: .inPage(value))
        }
        for index in versions.versions.indices { versions.versions[index].attributes = attributes }
        #expect(try read(versions.encode()) == versions)
        let more = Versions(item: versions.item, versions: versions.versions + versions.versions)
        refuses(.limitExceeded, "need a frame of") { () throws(FormatError) in _ = try more.encode() }
    }
}
