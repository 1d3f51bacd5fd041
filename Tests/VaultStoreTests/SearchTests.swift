import Foundation
import Testing
import VaultBytes
import VaultCrypto
import VaultStore

/// Section 7.1, steps 3 to 5.
@Suite("The search for the newest commit")
struct SearchTests {
    private static let head = withUnsafeBytes(of: FrameHead.commit.littleEndian) { Array($0) }

    /// A vault of three states in generations 2 to 4, and the bytes up to the end of its newest commit.
    private func sample(_ path: String) throws -> [UInt8] {
        let store = try Lab.create(path)
        for mark in 1...3 as ClosedRange<UInt64> { try store.append(mark) }
        return try contents(path)
    }

    @Test("finds a commit behind any reserve of up to 262,144 zeros, and calls the tail clean (R-2.5)")
    func reserve() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let bytes = try sample(path)
        for zeros in [0, 1, 511, 512, 513, 16_384, 131_072, 262_143, 262_144] {
            try write(bytes, path)
            #expect(truncate(path, off_t(bytes.count + zeros)) == 0)
            let store = try Lab.open(path, writable: false)
            #expect(Lab.mark(store) == 3 && store.tail == .clean, "\(zeros) zeros")
        }
        for zeros in [262_145, 262_144 + 512, 300_000, 10 << 20] {
            try write(bytes, path)
            #expect(truncate(path, off_t(bytes.count + zeros)) == 0)
            let store = try Lab.open(path, writable: false)
            #expect(Lab.mark(store) == 3)
            // What is left of a longer run is a tail.
            #expect(store.tail == .torn(bytes: UInt64(zeros - 262_144)), "\(zeros) zeros")
        }
    }

    @Test("tells torn tails from those with the head of a commit, whole or cut off by the end of the file")
    func tails() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let bytes = try sample(path)
        let junk = [UInt8](repeating: 0x55, count: 700)
        for (tail, hasHead) in [
            ([1], false), (junk, false), ([0, 0, 0, 1], false), (Self.head, true), (Array(Self.head[..<7]), false),
            (Self.head + junk, true),
            ([UInt8](repeating: 1, count: 512) + Self.head, true),
            ([UInt8](repeating: 1, count: 512) + Self.head.dropLast(), false),
            // At another offset than a multiple of 512, it is the head of a commit that something moved.
            ([UInt8](repeating: 1, count: 256) + Self.head + junk, true),
            ([UInt8](repeating: 1, count: 3 << 20) + Self.head, true),
            ([UInt8](repeating: 1, count: (1 << 20) - 3) + Self.head, true),
            ([UInt8](repeating: 0, count: 512) + Self.head, true),
            (Array("vCMT".utf8) + [0, 2, 0, 1], false),
        ] as [([UInt8], Bool)] {
            try write(bytes + tail, path)
            let store = try Lab.open(path, writable: false)
            let count = UInt64(try wholeContents(path).count - bytes.count)
            let length = tail.last == 0 ? UInt64(tail.count) : count
            #expect(Lab.mark(store) == 3)
            #expect(
                store.tail == (hasHead ? .damaged(bytes: length) : .torn(bytes: length)),
                "\(tail.prefix(12))… \(tail.count)")
            #expect(try wholeContents(path) == bytes + tail, "a reader changes nothing")
        }
    }

    @Test("calls the rest damaged, never torn, where bytes were inserted or removed before commits (B5)")
    func shifted() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        var ends = [try contents(path).count]
        for mark in 1...4 as ClosedRange<UInt64> {
            try store.append(mark, records: 3)
            ends.append(try contents(path).count)
        }
        let bytes = try contents(path)
        // In what the last three commits appended, and within their frames.
        for place in stride(from: ends[1], to: ends[4] - 8, by: 123) {
            for count in [1, 8, 64, 511, 512, 700] {
                let junk = [UInt8](repeating: 0xA7, count: count)
                let longer = bytes[..<place] + junk + bytes[place...]
                let shorter = bytes[..<place] + bytes[min(place + count, ends[4] - 8)...]
                for altered in [longer, shorter] {
                    try write(Array(altered), path)
                    let served = try Lab.open(path, writable: false)
                    let isDamaged = if case .damaged = served.tail { true } else { false }
                    // Without the head of the last commit, nothing shows that there was one.
                    let isHeadLost = place > ends[3] && place < ends[4] - 504 && place + count > ends[4] - 512
                    #expect(isDamaged || isHeadLost, "\(count) bytes at \(place): \(served.tail)")
                    #expect(Lab.mark(served) <= 3)
                }
            }
        }
    }

    @Test("goes on over 63 heads that do not open, and stops at the 64th")
    func heads() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let bytes = try sample(path)
        let dead = Self.head + [UInt8](repeating: 7, count: 504)
        for count in [1, 62, 63] {
            try write(bytes + (0..<count).flatMap { _ in dead }, path)
            let store = try Lab.open(path, writable: false)
            #expect(Lab.mark(store) == 3 && store.tail == .damaged(bytes: UInt64(count * 512)))
        }
        for count in [64, 65, 1000] {
            try write(bytes + (0..<count).flatMap { _ in dead }, path)
            fails(.authenticationFailed, "no commit") { _ = try Lab.open(path, writable: false) }
        }
        // One that the end cuts off is not tried.
        try write(bytes + (0..<63).flatMap { _ in dead } + dead[..<100], path)
        #expect(try Lab.open(path, writable: false).tail == .damaged(bytes: 63 * 512 + 100))
    }

    @Test("goes back by 268,436,480 bytes at most, over holes too, and in little time")
    func bound() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let bytes = try sample(path)
        let commit = UInt64(bytes.count - 512)
        // The newest commit exactly as far from the end as the search goes, and 512 bytes further.
        for (end, isFound) in [
            (commit + Format.searchBound, true), (commit + Format.searchBound + 1, false), (10 << 30, false),
        ]
            as [(UInt64, Bool)]
        {
            try write(bytes, path)
            try write([1], path, at: end - 1)
            if isFound {
                let store = try Lab.open(path, writable: false)
                #expect(Lab.mark(store) == 3 && store.tail == .torn(bytes: end - UInt64(bytes.count)))
            } else {
                fails(.authenticationFailed, "no commit") { _ = try Lab.open(path, writable: false) }
            }
        }
        #expect(truncate(path, 0) == 0)
    }

    @Test("finds nothing where there is no commit, or only the header and its copy")
    func nothing() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let bytes = try sample(path)
        for count in [8192 + 1024, 8192 + 2000, 20_000] {
            let file = bytes[..<8192] + [UInt8](repeating: 0x11, count: count - 8192)
            try write(Array(file), path)
            fails(.authenticationFailed, "no commit") { _ = try Lab.open(path) }
            try write(Array(bytes[..<8192]) + [UInt8](repeating: 0, count: count - 8192), path)
            fails(.authenticationFailed, "no commit") { _ = try Lab.open(path) }
        }
        // Fewer than 2L + 1024 bytes are no whole vault.
        for count in [8192 + 1023, 8192, 4096, 16] {
            try write(Array(bytes[..<count]), path)
            fails(.headerInvalid, "truncated") { _ = try Lab.open(path) }
        }
        try write(Array(bytes[..<15]), path)
        fails(.notAVault) { _ = try Lab.open(path) }
    }

    @Test("finds no commit that was moved, by a multiple of 512 or not, or that is another vault's (R-4.1)")
    func moved() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let bytes = try sample(path)
        let commit = Array(bytes.suffix(512))
        for shift in [1, 256, 512, 1024] {
            try write(Array(bytes.dropLast(512)) + [UInt8](repeating: 1, count: shift) + commit, path)
            let store = try Lab.open(path, writable: false)
            #expect(Lab.mark(store) == 2)
            #expect(store.tail != .clean)
        }
        let other = folder.file("b.vault")
        try Lab.create(other, id: Bytes16(high: 8, low: 8))
        try write(Array(bytes[..<8192]) + (try contents(other)[8192...]), path)
        fails(.authenticationFailed, "no commit") { _ = try Lab.open(path) }
    }
}

/// Section 7.1, steps 6 to 8, and.
@Suite("The state that is served")
struct ServedStateTests {
    /// A vault of four states; its bytes, and where each state ends.
    private func sample(_ path: String, records: Int = 2) throws -> (bytes: [UInt8], ends: [Int]) {
        let store = try Lab.create(path)
        var ends = [try contents(path).count]
        for mark in 1...3 as ClosedRange<UInt64> {
            try store.append(mark, records: records)
            ends.append(try contents(path).count)
        }
        return (try contents(path), ends)
    }

    @Test("is the one before an incomplete generation, wherever that is damaged")
    func incomplete() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, ends) = try sample(path)
        for place in ends[2]..<ends[3] - 512 where place % 37 == 0 || place < ends[2] + 8 || place >= ends[3] - 520 {
            var damaged = bytes
            damaged[place] ^= 0x10
            try write(damaged, path)
            let store = try Lab.open(path, writable: false)
            #expect(Lab.mark(store) == 2 && store.tail == .incomplete(generation: 4), "byte \(place - ends[2])")
        }
    }

    @Test("is never that of two generations before: more than one incomplete generation is damage (R-7.2)")
    func twoIncomplete() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        var (bytes, ends) = try sample(path)
        bytes[ends[2] + 40] ^= 1
        var twice = bytes
        twice[ends[1] + 40] ^= 1
        try write(twice, path)
        fails(.authenticationFailed, "so is the one before it") { _ = try Lab.open(path) }
        var without = bytes
        without[ends[2] - 400] ^= 1
        try write(without, path)
        fails(.authenticationFailed, "damaged or missing") { _ = try Lab.open(path) }
        // A file whose only commit is incomplete has none to go back to; flag 1 says that it was synced.
        try write(Array(bytes[..<ends[0]]), path)
        #expect(Lab.mark(try Lab.open(path)) == 0)
    }

    @Test("is that before a newest commit that is damaged anywhere, with a damaged tail")
    func damagedCommit() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, ends) = try sample(path)
        for bit in stride(from: (ends[3] - 512) * 8, to: ends[3] * 8, by: 13) {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << UInt8(bit % 8)
            try write(damaged, path)
            let store = try Lab.open(path, writable: false)
            #expect(Lab.mark(store) == 2)
            let length = UInt64(ends[3] - ends[2])
            #expect(
                store.tail == (bit / 8 < ends[3] - 504 ? .torn(bytes: length) : .damaged(bytes: length)), "bit \(bit)")
        }
    }

    @Test("is damaged, not incomplete, where a dead head follows an incomplete generation, or is in it")
    func damagedAndIncomplete() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, ends) = try sample(path, records: 20)
        let head = withUnsafeBytes(of: FrameHead.commit.littleEndian) { Array($0) } + [UInt8](repeating: 9, count: 504)
        var damaged = bytes
        damaged[ends[2] + 40] ^= 1
        try write(damaged + head, path)
        #expect(try Lab.open(path, writable: false).tail == .damaged(bytes: UInt64(bytes.count - ends[2] + 512)))
        try write(damaged + [1, 2, 3], path)
        #expect(try Lab.open(path, writable: false).tail == .incomplete(generation: 4))
        let place = ends[2] + 1024
        damaged.replaceSubrange(place..<place + 512, with: head)
        try write(damaged, path)
        #expect(try Lab.open(path, writable: false).tail == .damaged(bytes: UInt64(bytes.count - ends[2])))
    }

    @Test("is refused, and no other is looked for, where a commit opens but has a wrong proof (R-7.1)")
    func wrongProof() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try sample(path)
        let store = try Lab.open(path)
        let bytes = try contents(path)
        for owner in [99, 1] as [UInt8] {
            try write(bytes + Forger.seal(Forger.successor(of: store), store, owner: owner), path)
            fails(.tampered, "not made by an owner") { _ = try Lab.open(path) }
        }
        // Under the owners' own key it is a state like any other, unless the table says no.
        let next = Forger.successor(of: store)
        try write(bytes + Forger.seal(next, store, owner: Lab.vaultKey), path)
        #expect(try Lab.open(path).state.commit == next)
        for change in [
            { $0.offset += 512 }, { $0.start += 512 }, { $0.clock = 0 }, { $0.liveBytes = 1 << 40 },
            { $0.generation = 1 }, { $0.own = .init(id: 1, revision: 1) }, { $0.floor = .max },
            { $0.keyring = ObjectRef(offset: $0.offset, length: 256, hash: .zero) },
        ] as [(inout Commit) -> Void] {
            var bad = next
            change(&bad)
            // Sealed for where it is put, whatever it states.
            try write(bytes + Forger.seal(bad, store, owner: Lab.vaultKey, at: next.offset), path)
            let error = fails(.structureInvalid) { _ = try Lab.open(path) }
            #expect(error?.offset != nil)
        }
    }

    @Test("belongs to the file's header: neither an old header nor a new one before another body is served (R-5.24)")
    func header() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (old, _) = try sample(path)
        let store = try Lab.open(path)
        try store.beginWriting(wait: 0)
        let (slot, _) = try Lab.slot(store.vault, raw: 9)
        var header = store.header
        header.slots.append(slot)
        let next = try store.nextVector()
        let dot = next.stored(try next.tick())
        var ring = store.keyring
        ring.slots.append(SlotDots(id: slot.id, made: dot, changed: dot))
        ring.slots.sort { $0.id < $1.id }
        try store.replaceHeader(
            .init(
                header: header, keys: VaultKeys(vaultKey: Secret(repeating: Lab.vaultKey), epoch: Lab.epoch),
                wrappingKey: store.slot.wrappingKey.copy(), slotID: store.slot.id), keyring: ring, next)
        store.endWriting()
        let new = try contents(path)
        #expect(new[8192..<old.count] == old[8192...])
        #expect(Array(new[4096..<8192]) == Array(new[..<4096]), "the copy (R-3.5)")
        #expect(try Lab.open(path, writable: false, raw: 9).state.commit.generation == 5)
        try write(Array(old[..<8192]) + new[8192...], path)
        fails(.tampered, "another header") { _ = try Lab.open(path) }
        try write(Array(new[..<8192]) + old[8192...], path)
        fails(.tampered, "another header") { _ = try Lab.open(path) }
        // The copy is not looked at.
        try write(Array(new[..<4096]) + old[..<4096] + new[8192...], path)
        #expect(try Lab.open(path, writable: false).state.commit.generation == 5)
    }
}

@Suite("The frames of a region")
struct FrameWalkerTests {
    private func types(_ bytes: [UInt8]) throws -> [FrameType] {
        let folder = try Folder()
        let path = folder.file("a")
        try write(bytes, path)
        var types: [FrameType] = []
        let file = try RealFileSystem().open(path, writable: false)
        try FrameWalker(file: file, 0..<UInt64(bytes.count)).walk { (_, head, _) throws(VaultError) in
            types.append(head.type)
        }
        return types
    }

    private func frame(_ type: FrameType, _ length: Int) -> [UInt8] {
        withUnsafeBytes(of: FrameHead(type, length: length).encoded.littleEndian, Array.init)
            + [UInt8](repeating: 7, count: length - 8)
    }

    @Test("follow one another; zeros are nowhere but before a commit, and at most 511 (section 2, R-2.1)")
    func padding() throws {
        let zeros = [UInt8](repeating: 0, count: 256)
        #expect(try types(frame(.page, 256) + zeros + frame(.commit, 512)) == [.page, .commit])
        #expect(try types(frame(.page, 256) + zeros) == [.page])
        #expect(try types(frame(.page, 256) + frame(.page, 256) + frame(.commit, 512)) == [.page, .page, .commit])
        fails(.structureInvalid) { _ = try types(frame(.page, 256) + zeros + frame(.page, 256)) }
        fails(.structureInvalid) { _ = try types(frame(.page, 512) + zeros + zeros + frame(.commit, 512)) }
        fails(.structureInvalid) { _ = try types(frame(.page, 256) + zeros + zeros) }
    }
}
