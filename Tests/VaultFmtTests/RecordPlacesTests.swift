import Testing

@testable import VaultFmt

@Suite("The places of records in a new file")
struct RecordPlacesTests {
    @Test("follow each other in the order of nonces, whatever the lengths are", arguments: [16, 1])
    func order(unit: UInt32) {
        var numbers = Numbers(unit == 16 ? 1 : 2)
        let lengths = (0..<500).map { _ in UInt32.random(in: 13...1000, using: &numbers) * unit }
        let nonces = (0..<500).map { _ in UInt64.random(in: 0...UInt64.max, using: &numbers) }
        var taken = lengths
        let places = RecordPlaces(&taken, by: nonces, from: 7777)
        #expect(taken.isEmpty)
        #expect(places.count == 500)
        var next: UInt64 = 7777
        for record in nonces.indices.sorted(by: { nonces[$0] < nonces[$1] }) {
            #expect(places[record] == next)
            next += UInt64(lengths[record])
        }
        #expect(places.bytes == next - 7777)
    }

    @Test("are exact beyond 64 GiB")
    func large() {
        // As many bytes as 40 records of 2^31 − 16 have.
        var lengths = [UInt32](repeating: 0x7FFF_FFF0, count: 40)
        let places = RecordPlaces(&lengths, by: (0..<40).map { 1000 - UInt64($0) }, from: 4096)
        #expect(places.bytes == 40 * 0x7FFF_FFF0)
        for record in 0..<40 { #expect(places[record] == 4096 + UInt64(39 - record) * 0x7FFF_FFF0) }
    }

    @Test("are none for no records")
    func none() {
        var lengths: [UInt32] = []
        let places = RecordPlaces(&lengths, by: [], from: 4096)
        #expect(places.count == 0)
        #expect(places.bytes == 0)
    }
}
