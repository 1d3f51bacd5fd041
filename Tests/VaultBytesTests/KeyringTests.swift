import Testing
import VaultBytes

@Suite("A keyring")
struct KeyringTests {
    static func sample(_ seed: UInt64 = 1, groups: Int = 3, compartments: Int = 5, slots: Int = 2) -> Keyring {
        var numbers = Numbers(seed)
        var ring = Keyring(
            keeping: .init(count: Int(seed % 51), dot: StoredDot(seed % 3 + 1, Int(seed % 300))),
            vaultKey: StoredDot(seed % 5 + 1, Int(seed % 3)))
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
        ring.slots = (0..<slots).map { index in
            let made = StoredDot(numbers.next() >> 2 | 1, index)
            let grants = ring.groups.prefix(index).map { SlotDots.Grant(group: $0.number, dot: StoredDot(9, index)) }
            return SlotDots(
                id: Bytes16(high: UInt64(index), low: 5), made: made,
                changed: index % 2 == 0 ? made : StoredDot(made.revision + 1, 7), grants: Array(grants))
        }
        ring.handOvers = (0..<Int(seed % 4)).map { _ in handOver(&numbers) }.sorted(by: HandOver.precedes)
        ring.extensions = [
            Extension(name: "a", isCritical: false, value: numbers.bytes(5)),
            Extension(name: "b", isCritical: false, isReadOnly: true, value: []),
        ]
        return ring
    }

    private static func handOver(_ numbers: inout Numbers) -> HandOver {
        HandOver(
            publicKey: numbers.hash(), next: numbers.hash(),
            vector: ObjectRef(offset: numbers.next() >> 20, length: 256, hash: numbers.hash()),
            floor: numbers.next() >> 1, signature: numbers.bytes(64))
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
        let ring = Self.sample(UInt64(seed), groups: seed % 7 + 1, compartments: min(seed, 12), slots: seed % 64 + 1)
        let bytes = try ring.encode()
        #expect((bytes.count + 48) % 256 == 0)
        let again = try Keyring(bytes.span, at: 0)
        #expect(again == ring)
        #expect(try again.encode() == bytes)
        #expect(ring.dots.count == 2 + ring.slots.reduce(0) { $0 + 2 + $1.grants.count })
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
        for count in [51, 255] { refusesRing("to keep is out of range: \(count)") { $0.keeping.count = count } }
        var ring = Self.sample()
        ring.keeping = .init(count: 50, dot: StoredDot(1 << 63 - 1, 262_000))
        #expect(try read(ring).keeping == ring.keeping)
        for revision in [0, 1 << 63, .max] as [UInt64] {
            refusesRing("revision is out of range") { $0.keeping.dot.revision = revision }
            refusesRing("revision is out of range") { $0.vaultKey.revision = revision }
        }
        refusesRing("replica's position: 262001") { $0.keeping.dot.position = 262_001 }
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

    @Test("has 1 to 64 slots in strictly ascending order of ids (R-5.31)")
    func slots() throws {
        refusesRing("slots are out of order") { $0.slots.swapAt(0, 1) }
        refusesRing("slots are out of order") { $0.slots[1] = $0.slots[0] }
        refusesRing("no slots") { $0.slots = [] }
        func many(_ count: Int) -> [SlotDots] {
            (1...count).map {
                .init(id: Bytes16(high: 0, low: UInt64($0)), made: StoredDot(1, 1), changed: StoredDot(1, 1))
            }
        }
        refusesRing("slots: 65") { $0.slots = many(65) }
        var ring = Self.sample()
        ring.slots = many(64)
        #expect(try read(ring) == ring)
    }

    @Test("has slots that were changed after they were made, by another change, or never (R-5.31)")
    func changed() throws {
        for changed in [StoredDot(9, 1), StoredDot(10, 2), StoredDot(10, 0)] {
            refusesRing("before it was created") {
                ($0.slots[0].made, $0.slots[0].changed) = (StoredDot(10, 1), changed)
            }
        }
        var ring = Self.sample()
        for changed in [StoredDot(10, 1), StoredDot(11, 0), StoredDot(11, 9)] {
            (ring.slots[0].made, ring.slots[0].changed) = (StoredDot(10, 1), changed)
            #expect(try read(ring) == ring)
        }
    }

    @Test("has grants of groups that exist, in strictly ascending order (R-5.31)")
    func grants() throws {
        func grants(_ groups: [UInt64]) -> [SlotDots.Grant] { groups.map { .init(group: $0, dot: StoredDot(3, 1)) } }
        let known = Self.sample(13, compartments: 7).groups.map(\.number)
        refusesRing("grants are out of order") { $0.slots[0].grants = grants([known[1], known[0]]) }
        refusesRing("grants are out of order") { $0.slots[0].grants = grants([known[0], known[0]]) }
        refusesRing("a group that does not exist") { $0.slots[0].grants = grants([known[2] + 1]) }
        refusesRing("group's number is out of range") { $0.slots[0].grants = grants([0]) }
        refusesRing("grants of a slot: 33") { $0.slots[0].grants = grants((1...33).map { $0 }) }
        var ring = Self.sample()
        ring.slots[0].grants = grants(known)
        #expect(try read(ring) == ring)
        var one: [UInt8] = []
        ring.slots[0].encode(into: &one)
        #expect(one.count == 35 + 17 * known.count)
    }

    @Test("has at most 16 hand-overs, in strictly ascending order of their keys and signatures (R-5.32)")
    func handOvers() throws {
        var numbers = Numbers(1)
        let many = (0..<17).map { _ in Self.handOver(&numbers) }.sorted(by: HandOver.precedes)
        refusesRing("hand-overs: 17") { $0.handOvers = many }
        refusesRing("hand-overs are out of order") { $0.handOvers = [many[1], many[0]] }
        refusesRing("hand-overs are out of order") { $0.handOvers = [many[0], many[0]] }
        var ring = Self.sample()
        ring.handOvers = Array(many.dropLast())
        #expect(try read(ring).handOvers == ring.handOvers)
        let old = many[0]
        func other(next: Bytes32? = nil, floor: UInt64? = nil, signature: [UInt8]? = nil) -> HandOver {
            HandOver(
                publicKey: old.publicKey, next: next ?? old.next, vector: old.vector, floor: floor ?? old.floor,
                signature: signature ?? old.signature)
        }
        refusesRing("keys in a hand-over are identical") { $0.handOvers = [other(next: old.publicKey)] }
        for floor in [1 << 63, .max] as [UInt64] {
            refusesRing("floor is out of range") { $0.handOvers = [other(floor: floor)] }
        }
        ring.handOvers = [other(floor: 0), other(floor: 1 << 63 - 1, signature: [UInt8](repeating: 0xFF, count: 64))]
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

    @Test("refuses what it alone shows before a critical extension (R-3.23, R-5.31, R-5.32)")
    func criticalAndMore() {
        for isCritical in [false, true] {
            func refusesBoth(_ what: String, _ edit: (inout Keyring) -> Void) {
                refusesRing(what) { ring in
                    edit(&ring)
                    if isCritical { ring.extensions.append(Extension(name: "c", isCritical: true, value: [])) }
                }
            }
            refusesBoth("revision is out of range") { $0.keeping.dot.revision = 0 }
            refusesBoth("a group that does not exist") { $0.slots[0].grants = [.init(group: 77, dot: StoredDot(1, 1))] }
            refusesBoth("hand-overs are out of order") { $0.handOvers = $0.handOvers + $0.handOvers }
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

    @Test("has at most 1024 groups and 8192 compartments, and 4 MiB")
    func limits() throws {
        func group(_ number: UInt64, _ name: String) -> Keyring.Group {
            .init(number: number, name: name, wrapped: [UInt8](repeating: 0, count: 72))
        }
        func compartment(_ number: UInt64) -> Keyring.Compartment {
            .init(number: number, group: 1, accessibility: 1, device: .zero, wrapped: [UInt8](repeating: 0, count: 72))
        }
        refusesRing("groups: 1025") { ring in ring.groups = (1...1025).map { group($0, "g\($0)") } }
        refusesRing("compartments: 8193") { ring in ring.compartments = (1...8193).map(compartment) }
        var full = Self.sample(4, groups: 1, compartments: 0, slots: 1)
        full.groups = (1...1024).map { group($0, "g\($0)") }
        full.compartments = (1...8192).map(compartment)
        #expect(try read(full) == full)
        var huge = Self.sample(4, groups: 1, compartments: 0, slots: 1)
        huge.groups = (1...1024).map { group($0, String(repeating: "n", count: 4090) + "\($0)") }
        refuses(.limitExceeded, "a keyring of") { () throws(FormatError) in _ = try huge.encode() }
    }
}
