import Testing
import VaultBytes

@Suite("A keyring")
struct KeyringTests {
    static func sample(_ seed: UInt64 = 1, groups: Int = 3, compartments: Int = 5, devices: Int = 2) -> Keyring {
        var numbers = Numbers(seed)
        var ring = Keyring()
        ring.keeping = .init(count: Int(seed % 51), revision: seed % 3, device: seed % 2 == 0 ? .zero : numbers.id())
        ring.devices = (0..<devices).map { _ in numbers.id() }
        for index in 0..<groups {
            ring.groups.append(
                .init(
                    number: UInt64(index) << 58 + 1, name: index == 0 ? "" : "group \(index)",
                    wrapped: numbers.bytes(72)))
        }
        for index in 0..<compartments {
            let accessibility = UInt8(index % 7 + 1)
            let isBound = Keyring.isDeviceOnly(accessibility)
            let isOwners = index % 4 == 0 && (accessibility == 1 || accessibility == 5)
            ring.compartments.append(
                .init(
                    number: UInt64(index) << 55 + 9, group: isOwners ? 0 : UInt64(index % groups) << 58 + 1,
                    accessibility: accessibility,
                    device: isBound ? numbers.id() : .zero, wrapped: numbers.bytes(isBound ? 112 : 72)))
        }
        ring.removedSlots = (0..<Int(seed % 5)).map {
            .init(id: Bytes16(high: UInt64($0), low: 5), revision: numbers.next() >> 1)
        }
        ring.handOvers = (0..<Int(seed % 4)).map { _ in
            HandOver(
                publicKey: numbers.hash(), generation: numbers.number(), chain: numbers.hash(),
                signature: numbers.bytes(64))
        }
        ring.extensions = [
            Extension(name: "a", isCritical: false, value: numbers.bytes(5)),
            Extension(name: "b", isCritical: false, isReadOnly: true, value: []),
        ]
        return ring
    }

    private func read(_ ring: Keyring) throws(FormatError) -> Keyring {
        let bytes = try ring.encode()
        return try Keyring(bytes.span, at: 8192)
    }

    private func refusesRing(
        _ phrase: String, _ code: FormatError.Code = .structureInvalid,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout Keyring) -> Void
    ) {
        var ring = Self.sample(13, compartments: 7)
        change(&ring)
        refuses(code, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in _ = try read(ring) }
    }

    @Test("is read as it was written", arguments: 0..<60)
    func roundTrip(seed: Int) throws {
        let ring = Self.sample(UInt64(seed), groups: seed % 7 + 1, compartments: min(seed, 12), devices: seed % 4)
        let bytes = try ring.encode()
        #expect((bytes.count + 48) % 256 == 0)
        let again = try Keyring(bytes.span, at: 0)
        #expect(again == ring)
        #expect(try again.encode() == bytes)
        let empty = try Keyring().encode()
        #expect(try Keyring(empty.span, at: 0) == Keyring())
    }

    @Test("has one encoding, and nothing of it can be left out")
    func oneEncoding() throws {
        let bytes = try Self.sample(7).encode()
        hasOneEncoding(bytes, seed: 2, changes: 2) { changed throws(FormatError) in
            let ring = try Keyring(changed.span, at: 0)
            return try ring.encode()
        }
        refusesTruncations(bytes) { bytes throws(FormatError) in _ = try Keyring(bytes.span, at: 0) }
    }

    @Test("states how many earlier values an item keeps: 0 to 50")
    func keeping() throws {
        #expect(Keyring().keeping == .init(count: 0))
        for count in [51, 255] { refusesRing("to keep is out of range: \(count)") { $0.keeping.count = count } }
        var ring = Self.sample()
        ring.keeping = .init(count: 50, revision: 1 << 63 - 1, device: .zero)
        #expect(try read(ring).keeping == ring.keeping)
    }

    @Test("has groups with ascending numbers from 1 to 2^63 − 1, and names that differ (R-5.14)")
    func groups() throws {
        refusesRing("out of order") { $0.groups.swapAt(0, 1) }
        refusesRing("out of order") {
            $0.groups[1] = .init(number: $0.groups[0].number, name: "x", wrapped: $0.groups[1].wrapped)
        }
        refusesRing("out of range") { $0.groups[0] = .init(number: 0, name: "x", wrapped: $0.groups[0].wrapped) }
        refusesRing("out of range") { $0.groups[2] = .init(number: 1 << 63, name: "x", wrapped: $0.groups[2].wrapped) }
        refusesRing("the same name") {
            $0.groups[2] = .init(number: $0.groups[2].number, name: $0.groups[1].name, wrapped: $0.groups[2].wrapped)
        }
        refusesRing("a group's name: 4097") {
            $0.groups[2] = .init(
                number: 1 << 62, name: String(repeating: "n", count: 4097), wrapped: $0.groups[2].wrapped)
        }
        // Equivalent to readers, but different bytes.
        var ring = Self.sample(compartments: 1)
        ring.groups[1] = .init(number: 3, name: "\u{E9}", wrapped: ring.groups[1].wrapped)
        ring.groups[2] = .init(number: 1 << 63 - 1, name: "e\u{301}", wrapped: ring.groups[2].wrapped)
        #expect(try read(ring).groups.map { Array($0.name.utf8).count } == [0, 2, 3])
    }

    @Test(
        "has compartments with ascending numbers from 1 to 2^63 − 1, each of a group that exists or the owners' (R-5.14)"
    )
    func compartments() throws {
        func changed(
            _ at: Int, number: UInt64? = nil, group: UInt64? = nil, accessibility: UInt8? = nil, device: Bytes16? = nil
        ) -> (
            inout Keyring
        ) -> Void {
            { ring in
                let old = ring.compartments[at]
                let device = device ?? old.device
                ring.compartments[at] = .init(
                    number: number ?? old.number, group: group ?? old.group,
                    accessibility: accessibility ?? old.accessibility,
                    device: device, wrapped: [UInt8](repeating: 1, count: device == .zero ? 72 : 112))
            }
        }
        refusesRing("out of order") { changed(1, number: 9)(&$0) }
        refusesRing("out of range") { changed(0, number: 0)(&$0) }
        refusesRing("out of range") { changed(6, number: 1 << 63)(&$0) }
        refusesRing("group does not exist") { changed(0, group: 2)(&$0) }
        refusesRing("accessibility is unknown") { changed(1, accessibility: 0)(&$0) }
        refusesRing("accessibility is unknown") { changed(1, accessibility: 8)(&$0) }
        let device = Bytes16(high: 1, low: 1)
        for index in 0..<3 { refusesRing("device does not match") { changed(index, group: 1, device: device)(&$0) } }
        for index in 3..<7 { refusesRing("device does not match") { changed(index, group: 1, device: .zero)(&$0) } }
        refusesRing("device does not match") { changed(0, accessibility: 4)(&$0) }
        for index in [1, 2, 3, 5, 6] { refusesRing("that is not allowed") { changed(index, group: 0)(&$0) } }
        var ring = Self.sample(compartments: 7)
        for index in [0, 4] { changed(index, group: 0)(&ring) }
        changed(6, number: 1 << 63 - 1)(&ring)
        #expect(try read(ring) == ring)
        // Two branches can each have made one for the same items.
        changed(1, group: 1, accessibility: 1)(&ring)
        changed(2, group: 1, accessibility: 1)(&ring)
        #expect(try read(ring) == ring)
    }

    @Test("has devices that differ and are not zero (R-5.14)")
    func devices() {
        refusesRing("a device twice") { $0.devices[1] = $0.devices[0] }
        refusesRing("whose id is zero") { $0.devices[0] = .zero }
    }

    @Test("has removed slots in strictly ascending order of ids (R-5.14)")
    func removedSlots() throws {
        refusesRing("removed slots are out of order") { $0.removedSlots.swapAt(0, 1) }
        refusesRing("removed slots are out of order") { $0.removedSlots[1] = $0.removedSlots[0] }
        refusesRing("removed slots: 257") { ring in
            ring.removedSlots = (0..<257).map { .init(id: Bytes16(high: 0, low: UInt64($0)), revision: 1) }
        }
        var ring = Self.sample()
        ring.removedSlots = (0..<256).map { .init(id: Bytes16(high: 0, low: UInt64($0)), revision: 1) }
        #expect(try read(ring) == ring)
    }

    @Test(
        "has at most 16 hand-overs, in the order in which they were made, of generations from 1 to 2^63 − 1 (section 7.3)"
    )
    func handOvers() throws {
        var numbers = Numbers(1)
        let many = (0..<17).map { _ in
            HandOver(
                publicKey: numbers.hash(), generation: numbers.number(), chain: numbers.hash(),
                signature: numbers.bytes(64))
        }
        refusesRing("hand-overs: 17") { $0.handOvers = many }
        var ring = Self.sample()
        ring.handOvers = Array(many.dropLast())
        #expect(try read(ring).handOvers == ring.handOvers)
        var one: [UInt8] = []
        many[0].encode(into: &one)
        #expect(one.count == 136)
        func handOver(_ generation: UInt64) -> HandOver {
            HandOver(
                publicKey: many[0].publicKey, generation: generation, chain: many[0].chain, signature: many[0].signature
            )
        }
        for generation in [0, 1 << 63, .max] as [UInt64] {
            refusesRing("hand-over's generation is out of range") { $0.handOvers = [many[1], handOver(generation)] }
        }
        ring.handOvers = [handOver(1), handOver(1 << 63 - 1)]
        #expect(try read(ring).handOvers == ring.handOvers)
    }

    @Test("keeps extensions, refuses critical ones by name (R-3.23), and checks their order (R-3.22)")
    func extensions() {
        refusesRing("\"c\"", .unsupportedCritical) {
            $0.extensions.append(Extension(name: "c", isCritical: true, value: []))
        }
        refusesRing("out of order") { $0.extensions.reverse() }
        refusesRing("extensions: 17") { ring in
            ring.extensions = (10..<27).map { Extension(name: "x\($0)", isCritical: false, value: []) }
        }
    }

    @Test("refuses what it alone shows before a critical extension: revisions that cannot be (R-3.23, R-5.14)")
    func criticalAndMore() {
        for isCritical in [false, true] {
            func refusesBoth(_ what: String, _ edit: (inout Keyring) -> Void) {
                refusesRing(what) { ring in
                    edit(&ring)
                    if isCritical { ring.extensions.append(Extension(name: "c", isCritical: true, value: [])) }
                }
            }
            for revision in [0, 1 << 63] as [UInt64] {
                refusesBoth("revision of a removal is out of range") {
                    $0.removedSlots = [.init(id: Bytes16(high: 1, low: 1), revision: revision)]
                }
            }
            refusesBoth("revision of the number of earlier values is out of range") { $0.keeping.revision = 1 << 63 }
        }
    }

    @Test("has zeros to the next step, and no more (R-1.2, R-5.11)")
    func padding() throws {
        let bytes = try Self.sample().encode()
        for bad in [
            patched(bytes, bytes.count - 1, [1]), bytes + [UInt8](repeating: 0, count: 256), Array(bytes.dropLast()),
            [],
        ] {
            refuses(.structureInvalid, "") { () throws(FormatError) in _ = try Keyring(bad.span, at: 0) }
        }
    }

    @Test("has at most 1024 groups, 1024 devices and 8192 compartments, and 4 MiB")
    func limits() throws {
        func group(_ number: UInt64, _ name: String) -> Keyring.Group {
            .init(number: number, name: name, wrapped: [UInt8](repeating: 0, count: 72))
        }
        func compartment(_ number: UInt64) -> Keyring.Compartment {
            .init(number: number, group: 1, accessibility: 1, device: .zero, wrapped: [UInt8](repeating: 0, count: 72))
        }
        refusesRing("groups: 1025") { ring in ring.groups = (1...1025).map { group($0, "g\($0)") } }
        refusesRing("devices: 1025") { ring in ring.devices = (1...1025).map { Bytes16(high: 1, low: $0) } }
        refusesRing("compartments: 8193") { ring in ring.compartments = (1...8193).map(compartment) }
        var full = Keyring()
        full.groups = (1...1024).map { group($0, "g\($0)") }
        full.devices = (1...1024).map { Bytes16(high: 1, low: $0) }
        full.compartments = (1...8192).map(compartment)
        #expect(try read(full) == full)
        var huge = Keyring()
        huge.groups = (1...1024).map { group($0, String(repeating: "n", count: 4090) + "\($0)") }
        refuses(.limitExceeded, "a keyring of") { () throws(FormatError) in _ = try huge.encode() }
    }
}
