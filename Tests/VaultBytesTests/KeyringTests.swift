import Testing
import VaultBytes

@Suite("A keyring")
struct KeyringTests {
    static func sample(_ seed: UInt64 = 1, groups: Int = 3, compartments: Int = 5, devices: Int = 2) -> Keyring {
        var numbers = Numbers(seed)
        var ring = Keyring()
        ring.devices = (0..<devices).map { _ in numbers.id() }
        for index in 0..<groups {
            ring.groups.append(.init(number: UInt32(index * 2 + 1), name: index == 0 ? "" : "group \(index)", wrapped: numbers.bytes(72)))
        }
        for index in 0..<compartments {
            let accessibility = UInt8(index % 7 + 1)
            let isBound = Keyring.isDeviceOnly(accessibility)
            ring.compartments.append(
                .init(
                    number: UInt32(index + 1), group: UInt32(index % groups * 2 + 1), accessibility: accessibility,
                    device: isBound ? numbers.id() : .zero, wrapped: numbers.bytes(isBound ? 112 : 72)))
        }
        ring.extensions = [
            Extension(name: "a", isCritical: false, value: numbers.bytes(5)), Extension(name: "b", isCritical: false, value: []),
        ]
        ring.nextGroup = UInt32(groups * 2)
        ring.nextCompartment = UInt32(compartments + 1)
        return ring
    }

    private func read(_ ring: Keyring) throws(FormatError) -> Keyring {
        let bytes = try ring.encode()
        return try Keyring(bytes.span, at: 8192)
    }

    private func refusesRing(
        _ phrase: String, _ code: FormatError.Code = .structureInvalid, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout Keyring) -> Void
    ) {
        var ring = Self.sample(compartments: 7)
        change(&ring)
        refuses(code, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in _ = try read(ring) }
    }

    @Test("is read as it was written", arguments: 0..<30)
    func roundTrip(seed: Int) throws {
        let ring = Self.sample(UInt64(seed), groups: seed % 7 + 1, compartments: min(seed, 7), devices: seed % 4)
        let bytes = try ring.encode()
        #expect((bytes.count + 48) % 256 == 0)
        let again = try Keyring(bytes.span, at: 0)
        #expect(again == ring)
        #expect(try again.encode() == bytes)
        let empty = try Keyring().encode()
        #expect(try Keyring(empty.span, at: 0) == Keyring())
    }

    @Test("has one encoding: whatever changed bytes are accepted mean something else")
    func oneEncoding() throws {
        hasOneEncoding(try Self.sample().encode(), seed: 2) { changed throws(FormatError) in
            let ring = try Keyring(changed.span, at: 0)
            return try ring.encode()
        }
    }

    @Test("has groups with ascending numbers of at least 1 and below the next, and names that differ (R-5.8)")
    func groups() throws {
        refusesRing("out of order") { $0.groups.swapAt(0, 1) }
        refusesRing("out of order") { $0.groups[1] = .init(number: $0.groups[0].number, name: "x", wrapped: $0.groups[1].wrapped) }
        refusesRing("out of order") { $0.groups[0] = .init(number: 0, name: "x", wrapped: $0.groups[0].wrapped) }
        refusesRing("out of order") { $0.nextGroup = $0.groups[2].number }
        refusesRing("one name") { $0.groups[2] = .init(number: 5, name: $0.groups[1].name, wrapped: $0.groups[2].wrapped) }
        refusesRing("a group's name: 4097", .limitExceeded) {
            $0.groups[2] = .init(number: 5, name: String(repeating: "n", count: 4097), wrapped: $0.groups[2].wrapped)
        }
        // Equivalent to readers, but different bytes.
        var ring = Self.sample()
        ring.groups[1] = .init(number: 3, name: "\u{E9}", wrapped: ring.groups[1].wrapped)
        ring.groups[2] = .init(number: 5, name: "e\u{301}", wrapped: ring.groups[2].wrapped)
        #expect(try read(ring).groups.map { Array($0.name.utf8).count } == [0, 2, 3])
    }

    @Test("has compartments with ascending numbers, each of a group that exists, for items of its own (R-5.8)")
    func compartments() {
        func changed(_ at: Int, number: UInt32? = nil, group: UInt32? = nil, accessibility: UInt8? = nil, device: Bytes16? = nil) -> (
            inout Keyring
        ) -> Void {
            { ring in
                let old = ring.compartments[at]
                ring.compartments[at] = .init(
                    number: number ?? old.number, group: group ?? old.group, accessibility: accessibility ?? old.accessibility,
                    device: device ?? old.device, wrapped: old.wrapped)
            }
        }
        refusesRing("out of order") { changed(1, number: 1)(&$0) }
        refusesRing("out of order") { changed(0, number: 0)(&$0) }
        refusesRing("out of order") { $0.nextCompartment = 7 }
        refusesRing("group does not exist") { changed(0, group: 2)(&$0) }
        refusesRing("group does not exist") { changed(0, group: 0)(&$0) }
        refusesRing("accessibility is unknown") { changed(0, accessibility: 0)(&$0) }
        refusesRing("accessibility is unknown") { changed(0, accessibility: 8)(&$0) }
        refusesRing("device does not fit") { changed(0, device: Bytes16(high: 1, low: 1))(&$0) }
        refusesRing("device does not fit") { changed(3, device: .zero)(&$0) }
        refusesRing("device does not fit") { changed(0, accessibility: 4)(&$0) }
        refusesRing("the same items") { ring in
            let one = ring.compartments[0]
            ring.compartments[1] = .init(number: 2, group: one.group, accessibility: one.accessibility, device: .zero, wrapped: one.wrapped)
        }
    }

    @Test("has devices that differ and are not zero (R-5.8)")
    func devices() {
        refusesRing("stands twice") { $0.devices[1] = $0.devices[0] }
        refusesRing("or is zero") { $0.devices[0] = .zero }
    }

    @Test("has next numbers of at least 1")
    func nextNumbers() {
        refusesRing("next number is zero") { $0.nextCompartment = 0 }
        refusesRing("next number is zero") { $0.nextGroup = 0 }
    }

    @Test("keeps extensions, refuses critical ones by name (R-3.10), and checks their order")
    func extensions() {
        refusesRing("\"c\"", .unsupportedCritical) { $0.extensions.append(Extension(name: "c", isCritical: true, value: [])) }
        refusesRing("out of order") { $0.extensions.reverse() }
        refusesRing("extensions: 17", .limitExceeded) { ring in
            ring.extensions = (10..<27).map { Extension(name: "x\($0)", isCritical: false, value: []) }
        }
    }

    @Test("has zeros to the next step, and no more (R-1.2, R-1.3)")
    func padding() throws {
        let bytes = try Self.sample().encode()
        for bad in [patched(bytes, bytes.count - 1, [1]), bytes + [UInt8](repeating: 0, count: 256), Array(bytes.dropLast()), []] {
            refuses(.structureInvalid, "") { () throws(FormatError) in _ = try Keyring(bad.span, at: 0) }
        }
    }

    @Test("has at most 1024 groups, 1024 devices and 8192 compartments, and 4 MiB")
    func limits() throws {
        refusesRing("groups: 1025", .limitExceeded) { ring in
            ring.groups = (1...1025).map { .init(number: UInt32($0), name: "g\($0)", wrapped: [UInt8](repeating: 0, count: 72)) }
            ring.nextGroup = 2000
        }
        refusesRing("devices: 1025", .limitExceeded) { ring in ring.devices = (1...1025).map { Bytes16(high: 1, low: $0) } }
        refusesRing("compartments: 8193", .limitExceeded) { ring in
            ring.compartments = (1...8193).map {
                .init(number: $0, group: 1, accessibility: 1, device: .zero, wrapped: [UInt8](repeating: 0, count: 72))
            }
        }
        var huge = Self.sample()
        huge.groups = (1...1024).map {
            .init(number: UInt32($0), name: String(repeating: "n", count: 4090) + "\($0)", wrapped: [UInt8](repeating: 0, count: 72))
        }
        refuses(.limitExceeded, "a keyring of") { () throws(FormatError) in _ = try huge.encode() }
    }
}

@Suite("A history")
struct HistoryTests {
    private func sample(_ count: Int, first: UInt64 = 7) -> History {
        var numbers = Numbers(UInt64(count))
        return History(first: first, links: (0..<count).map { _ in numbers.hash() })
    }

    @Test("is read as it was written", arguments: [1, 2, 5, 6, 7, 125, 126])
    func roundTrip(count: Int) throws {
        let history = sample(count)
        let bytes = history.encode()
        #expect((bytes.count + 48) % 256 == 0)
        #expect(try History(bytes.span, at: 0) == history)
        #expect(try History(bytes.span, at: 0).encode() == bytes)
        #expect(history.end == 7 + UInt64(count))
    }

    @Test("has one encoding")
    func oneEncoding() {
        hasOneEncoding(sample(3).encode(), seed: 5) { changed throws(FormatError) in try History(changed.span, at: 0).encode() }
    }

    @Test("has 1 to 126 links, from a generation that there can be")
    func limits() {
        let bytes = sample(2).encode()
        refuses(.structureInvalid, "without links") { () throws(FormatError) in _ = try History(patched(bytes, 8, u32(0)).span, at: 0) }
        for count in [127, .max] as [UInt32] {
            let bad = patched(bytes, 8, u32(count))
            refuses(.limitExceeded, "\(count) history links") { () throws(FormatError) in _ = try History(bad.span, at: 0) }
        }
        for first in [0, 1 << 63 - 2, 1 << 63, .max] as [UInt64] {
            let bad = patched(bytes, 0, u64(first))
            refuses(.structureInvalid, "first generation") { () throws(FormatError) in _ = try History(bad.span, at: 0) }
        }
        for bad in [patched(bytes, bytes.count - 1, [1]), bytes + [UInt8](repeating: 0, count: 256), patched(bytes, 8, u32(20)), []] {
            refuses(.structureInvalid, "") { () throws(FormatError) in _ = try History(bad.span, at: 0) }
        }
    }
}
