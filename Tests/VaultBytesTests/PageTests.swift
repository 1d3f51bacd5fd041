import Testing
import VaultBytes

@Suite("A page")
struct PageTests {
    /// A page's body put together by hand, so that it can be wrong.
    struct Raw {
        var level: UInt8 = 0
        var prefix: [UInt8] = []
        var count: Int?
        /// Rest of the key, and value or child; an inner page's first has no rest.
        var entries: [(rest: [UInt8], value: [UInt8])]
        var extraPadding = 0

        var bytes: [UInt8] {
            var out: [UInt8] =
                [level] + varint(UInt64(count ?? entries.count - (level > 0 ? 1 : 0))) + varint(UInt64(prefix.count))
                + prefix
            for (index, entry) in entries.enumerated() {
                if level == 0 || index > 0 { out += varint(UInt64(entry.rest.count)) + entry.rest }
                if level == 0 { out += varint(UInt64(entry.value.count)) }
                out += entry.value
            }
            out.append(zeros: Padding.steppedFrame(out.count) - Format.sealOverhead - out.count + extraPadding)
            return out
        }
    }

    static func child(_ offset: UInt64 = 4096, _ length: UInt64 = 256) -> [UInt8] {
        varint(offset) + varint(length) + [UInt8](repeating: 5, count: 32)
    }

    /// Bytes in the order of the letters, of which any can start an item's key.
    private static func key(_ letters: String) -> [UInt8] { letters.utf8.map { $0 & 0x3F } }

    /// Any bytes as an item's key.
    static func itemKey(_ bytes: [UInt8]) -> [UInt8] { [(bytes.first ?? 0) % 63 + 1] + bytes.dropFirst() }

    static func leaf(_ keys: [String], prefix: String = "") -> Raw {
        Raw(prefix: key(prefix), entries: keys.map { (key($0), [1, 2, 3]) })
    }

    static func inner(_ separators: [String], prefix: String = "") -> Raw {
        Raw(level: 1, prefix: key(prefix), entries: [([], child())] + separators.map { (key($0), child()) })
    }

    private static let own: UInt64 = 1 << 20

    private func read(_ raw: Raw) throws(FormatError) -> PageLayout {
        let bytes = raw.bytes
        return try PageLayout(bytes.span, at: Self.own)
    }

    private func refusesPage(_ raw: Raw, _ phrase: String, sourceLocation: SourceLocation = #_sourceLocation) {
        refuses(.structureInvalid, phrase, sourceLocation: sourceLocation) { () throws(FormatError) in _ = try read(raw)
        }
    }

    /// An entry's whole key.
    private static func key(_ layout: PageLayout, _ index: Int, _ bytes: [UInt8]) -> [UInt8] {
        Array(bytes[layout.prefix]) + Array(bytes[layout.entries[index].rest])
    }

    /// Encodes what a layout means.
    static func recoded(_ bytes: [UInt8]) throws(FormatError) -> [UInt8] {
        let layout = try PageLayout(bytes.span, at: own)
        var builder = PageBuilder(level: layout.level)
        for index in layout.entries.indices {
            if layout.isLeaf {
                builder.append(key(layout, index, bytes), Array(bytes[layout.entries[index].value]))
            } else {
                builder.append(key(layout, index, bytes), PageBuilder.child(try layout.child(index, bytes.span)))
            }
        }
        return builder.encode()
    }

    @Test("is read as it was written: leaves and inner pages of all sizes", arguments: 1...60)
    func roundTrip(seed: Int) throws {
        var numbers = Numbers(UInt64(seed))
        for level in 0...1 as ClosedRange<UInt8> {
            let shared = numbers.bytes(Int.random(in: 0...(seed * 3), using: &numbers))
            let keys = Set(
                (0..<seed).map { _ in Self.itemKey(shared + numbers.bytes(Int.random(in: 0...20, using: &numbers))) }
            )
            .sorted { ByteOrder.isLess($0, $1) }
            var builder = PageBuilder(level: level)
            if level == 1 { builder.append([], Self.child()) }
            for key in keys {
                builder.append(key, level == 0 ? numbers.bytes(Int.random(in: 0...300, using: &numbers)) : Self.child())
            }
            let bytes = builder.encode()
            #expect(bytes.count + 48 <= builder.frameLength)
            #expect(try Self.recoded(bytes) == bytes)
            let layout = try PageLayout(bytes.span, at: Self.own)
            let first = Int(level)
            #expect((first..<layout.entries.count).map { Self.key(layout, $0, bytes) } == keys)
        }
    }

    @Test("has one encoding: whatever changed bytes are accepted mean something else")
    func oneEncoding() throws {
        hasOneEncoding(Self.leaf(["a", "ab", "b"], prefix: "key").bytes, seed: 1, Self.recoded)
        hasOneEncoding(Self.leaf([""], prefix: "whole key").bytes, seed: 2, Self.recoded)
        hasOneEncoding(Self.inner(["a", "b"], prefix: "s").bytes, seed: 3, Self.recoded)
        hasOneEncoding(Self.inner([]).bytes, seed: 4, Self.recoded)
    }

    @Test("has keys in strictly ascending order (R-5.5)")
    func order() throws {
        _ = try read(Self.leaf(["a", "b"]))
        for keys in [["b", "a"], ["a", "a"], ["a", "c", "b"], ["ab", "a"], ["", ""]] {
            refusesPage(Self.leaf(keys), "out of order")
            refusesPage(Self.inner(keys), "out of order")
        }
    }

    @Test("has the longest prefix that its keys share (R-5.6)")
    func prefix() throws {
        _ = try read(Self.leaf(["a", "b"], prefix: "k"))
        _ = try read(Self.leaf(["", "b"], prefix: "k"))
        refusesPage(Self.leaf(["ka", "kb"]), "shorter than possible")
        refusesPage(Self.leaf(["only"]), "shorter than possible")
        refusesPage(Self.inner(["ka", "kb"]), "shorter than possible")
        refusesPage(Self.inner(["only"]), "shorter than possible")
        refusesPage(Self.inner([], prefix: "k"), "without keys has a prefix")
    }

    @Test("has zeros to the next step, and no more (R-1.2, R-5.11)")
    func padding() {
        for raw in [Self.leaf(["a", "b"]), Self.inner(["a", "b"])] {
            let bytes = raw.bytes
            let bad = patched(bytes, bytes.count - 1, [1])
            refuses(.structureInvalid, "not zero") { () throws(FormatError) in
                _ = try PageLayout(bad.span, at: Self.own)
            }
            for extra in [256, -256, 1, -1] where bytes.count + extra > 0 {
                var longer = raw
                longer.extraPadding = extra
                let sized = extra > 0 ? longer.bytes : Array(bytes.dropLast(-extra))
                refuses(.structureInvalid, "") { () throws(FormatError) in _ = try PageLayout(sized.span, at: Self.own)
                }
            }
        }
    }

    @Test("has a level of at most 15")
    func level() throws {
        var raw = Self.inner(["a", "b"])
        raw.level = 15
        _ = try read(raw)
        raw.level = 16
        refusesPage(raw, "level 16")
    }

    @Test("has as many entries as it says: a leaf 1 to 4096, an inner page 0 to 4096 (R-5.9)")
    func counts() throws {
        refusesPage(Raw(entries: []), "has no entries")
        for count in [4097, Int.max] {
            var raw = Self.leaf(["a", "b"])
            raw.count = count
            refusesPage(raw, "at most 4096")
        }
        var raw = Self.leaf(["a", "b"])
        raw.count = 3
        refusesPage(raw, "")
        raw.count = 1
        refusesPage(raw, "")
        _ = try read(Self.inner([]))
    }

    @Test("has keys of at most 8192 bytes, prefix included, and values that fit")
    func lengths() throws {
        let long = String(repeating: "k", count: 8192)
        _ = try read(Self.leaf([""], prefix: long))
        refusesPage(Self.leaf([""], prefix: long + "k"), "8193")
        refusesPage(Self.leaf(["", "x"], prefix: long), "a key: 1")
        var bytes = Self.leaf([""], prefix: "k").bytes
        // Level, count, prefix length, prefix, length of the rest: then the value's length.
        bytes = patched(bytes, 5, [0x7F])
        let patchedBytes = patched(bytes, 5, varint(20_000))
        for bad in [patched(bytes, 5, varint(0x3FFF)), patchedBytes] {
            refuses(.structureInvalid, "past the end") { () throws(FormatError) in
                _ = try PageLayout(bad.span, at: Self.own)
            }
        }
    }

    @Test("has entries of items, whose keys start with 1 to 63, and of forgotten values, and of nothing else (R-5.10)")
    func kinds() throws {
        for tag in 0...255 as ClosedRange<UInt8> {
            let isKnown = (1...63).contains(tag) || tag == 0x7E
            // In the prefix, and behind an empty one.
            let pages = [
                Raw(prefix: [tag], entries: [([], [1])]), Raw(prefix: [tag], entries: [([1], [1]), ([2], [1])]),
                Raw(entries: [([UInt8(1)], [1]), ([tag, 5], [1])]),
            ]
            for (index, page) in pages.enumerated() where index < 2 || tag > 1 {
                if isKnown { _ = try read(page) } else { refusesPage(page, "unknown kind") }
            }
        }
        refusesPage(Raw(entries: [([], [1])]), "unknown kind")
        refusesPage(Raw(entries: [([], [1]), ([1], [1])]), "unknown kind")
        // Separators may be cut anywhere.
        _ = try read(Raw(level: 1, entries: [([], Self.child()), ([0x80], Self.child()), ([0x81], Self.child())]))
    }

    @Test("leaves the check of its children to who follows them (R-2.3)")
    func children() throws {
        for (offset, length) in [(0, 0), (Self.own, 256), (1 << 63 - 1, 1 << 63 - 1)] as [(UInt64, UInt64)] {
            let bytes = Raw(level: 1, entries: [([], Self.child(offset, length))]).bytes
            let child = try PageLayout(bytes.span, at: Self.own).child(0, bytes.span)
            #expect(child.offset == offset && child.length == Int(length))
        }
    }

    @Test("cut short anywhere is refused")
    func truncated() {
        for raw in [Self.leaf(["a", "b"], prefix: "k"), Self.inner(["a", "b"], prefix: "k")] {
            refusesTruncations(raw.bytes) { bytes throws(FormatError) in _ = try PageLayout(bytes.span, at: Self.own) }
        }
    }

    @Test("is the same with a value replaced as it would be if it were built with it")
    func replacing() throws {
        var numbers = Numbers(17)
        for level in 0...1 as ClosedRange<UInt8> {
            var raw = level == 0 ? Self.leaf(["a", "b", "c"], prefix: "k") : Self.inner(["a", "b"], prefix: "k")
            for index in 0..<3 {
                for size in [0, 1, 127, 128, 300] {
                    let layout = try read(raw)
                    let value = level == 0 ? numbers.bytes(size) : Self.child(UInt64(size) << 20 | 4096)
                    let bytes = raw.bytes
                    let (body, replaced) = layout.replacing(index, with: value, in: bytes.span)
                    raw.entries[index].value = value
                    #expect(body == raw.bytes)
                    #expect(replaced.entries.map(\.value) == (try read(raw).entries.map(\.value)))
                    #expect(replaced.entries.map(\.rest) == (try read(raw).entries.map(\.rest)))
                }
            }
        }
    }

    @Test("finds keys: those it has, and where others would be")
    func search() throws {
        var numbers = Numbers(9)
        let all = Set((0..<60).map { _ in [7, 7] + numbers.bytes(Int.random(in: 0...3, using: &numbers)) }).sorted {
            ByteOrder.isLess($0, $1)
        }
        let probes = all + [[], [7], [7, 6], [7, 8], [8], [0]] + (0..<200).map { _ in [7, 7] + numbers.bytes(2) }
        var leaf = PageBuilder(level: 0)
        for key in all { leaf.append(key, [1]) }
        let bytes = leaf.encode()
        let layout = try PageLayout(bytes.span, at: Self.own)
        var inner = PageBuilder(level: 1)
        inner.append([], Self.child())
        for key in all { inner.append(key, Self.child()) }
        let innerBytes = inner.encode()
        let innerLayout = try PageLayout(innerBytes.span, at: Self.own)
        for probe in probes {
            let less = all.count { ByteOrder.isLess($0, probe) }
            let isThere = all.contains(probe)
            let found = layout.lowerBound(probe.span, bytes.span)
            #expect(found.index == less && found.isEqual == isThere)
            #expect(innerLayout.childIndex(for: probe.span, innerBytes.span) == less + (isThere ? 1 : 0))
            for (index, key) in all.enumerated() {
                #expect(
                    layout.compareKey(index, probe.span, bytes.span).signum()
                        == ByteOrder.compare(key.span, probe.span).signum())
            }
        }
    }

    @Test("compares its keys with those of another page, whatever either has for a prefix")
    func otherPages() throws {
        var numbers = Numbers(13)
        let prefixes: [[UInt8]] = [[], [7], [7, 7], [7, 7, 9], [7, 8], [9, 9, 9, 9, 9, 9, 9, 9, 9, 9]]
        let pages = try prefixes.map { shared in
            let keys = Set(
                (0..<12).map { _ in Self.itemKey(shared + numbers.bytes(Int.random(in: 0...12, using: &numbers))) }
            ).sorted {
                ByteOrder.isLess($0, $1)
            }
            var leaf = PageBuilder(level: 0)
            for key in keys { leaf.append(key, [1]) }
            let bytes = leaf.encode()
            return (keys: keys, bytes: bytes, layout: try PageLayout(bytes.span, at: Self.own))
        }
        for left in pages {
            for right in pages {
                for (index, key) in left.keys.enumerated() {
                    for (otherIndex, other) in right.keys.enumerated() {
                        let order = left.layout.compareKey(
                            index, left.bytes.span, right.layout, otherIndex, right.bytes.span)
                        #expect(order.signum() == ByteOrder.compare(key.span, other.span).signum())
                    }
                }
            }
        }
    }
}

@Suite("A page in the making")
struct PageBuilderTests {
    @Test("never underestimates its length, long keys included")
    func estimate() {
        var numbers = Numbers(11)
        for _ in 0..<60 {
            for level in 0...1 as ClosedRange<UInt8> {
                var builder = PageBuilder(level: level)
                let shared = numbers.bytes(Int.random(in: 0...400, using: &numbers))
                let keys = Set((0..<12).map { _ in shared + numbers.bytes(Int.random(in: 1...300, using: &numbers)) })
                    .sorted {
                        ByteOrder.isLess($0, $1)
                    }
                for key in keys {
                    let value = level == 0 ? numbers.bytes(40) : PageTests.child()
                    let expected = builder.frameLength(adding: key, value)
                    builder.append(key, value)
                    #expect(builder.frameLength == expected)
                    #expect(builder.encode().count + 48 <= expected)
                }
            }
        }
    }
}
