import Foundation
import Testing
import VaultBytes

@testable import VaultFmt

@Suite("Recovery")
struct RecoveryTests {
    private let keys: [ItemKey]

    init() throws { keys = try (0..<6).map { try password("s", "\($0)") } }

    /// A vault with a few commits: its bytes, where each state ends, and what is in each.
    private func sample(_ path: String) throws -> (bytes: [UInt8], ends: [Int], dumps: [Dump]) {
        let vault = try Fast.create(path)
        var ends: [Int] = []
        var dumps: [Dump] = []
        for index in 0..<4 {
            try vault.put(keys[index], "secret \(index)")
            ends.append(try contents(path).count)
            dumps.append(try vault.dump())
        }
        return (try contents(path), ends, dumps)
    }

    private static func garbage(_ count: Int) -> [UInt8] {
        var numbers = Numbers(UInt64(count))
        return numbers.bytes(count)
    }

    @Test(
        "serves the newest state around a tail of garbage, and the next writer cuts it off",
        arguments: [1, 511, 512, 513, 1000, 5000, 1_200_000])
    func garbageTail(count: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, _, dumps) = try sample(path)
        let tail = Self.garbage(count)
        try write(bytes + tail, path)
        let reader = try Fast.open(path, writable: false)
        #expect(reader.tail == .torn(bytes: UInt64(count)))
        #expect(try reader.dump() == dumps[3])
        #expect(try contents(path) == bytes + tail, "a reader changes nothing")
        let writer = try Fast.open(path)
        try writer.put(keys[4], "next")
        #expect(writer.tail == .clean)
        #expect(try Array(contents(path)[..<bytes.count]) == bytes)
        try reader.refresh()
        #expect(reader.tail == .clean)
        #expect(try reader.dump().count == 5)
        #expect(try reader.verify().isSound)
        #expect(folder.names == ["a.vault"])
    }

    @Test(
        "refuses to change a vault whose tail has what looks like commits, until it was repaired (R-7.10)",
        arguments: [512, 513, 1000, 5000])
    func damagedTail(count: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, _, dumps) = try sample(path)
        var tail = Self.garbage(count)
        let head = withUnsafeBytes(of: FrameHead.commit.littleEndian) { Array($0) }
        for place in stride(from: 0, to: tail.count - 8, by: 1024) {
            tail.replaceSubrange(place..<place + 8, with: head)
        }
        try write(bytes + tail, path)
        let reader = try Fast.open(path, writable: false)
        #expect(reader.tail == .damaged(bytes: UInt64(count)))
        #expect(try reader.dump() == dumps[3])
        let writer = try Fast.open(path)
        fails(.damagedTail, "vaultfmt repair") { try writer.put(keys[4], "next") }
        fails(.damagedTail) { try writer.compact() }
        #expect(try contents(path) == bytes + tail)
        #expect(try writer.repair() == path + ".damaged-6")
        #expect(try contents(path + ".damaged-6") == tail)
        #expect(try contents(path) == bytes)
        try writer.put(keys[4], "next")
        #expect(try writer.verify().isSound)
        #expect(folder.names == ["a.vault", "a.vault.damaged-6"])
    }

    @Test(
        "D13: a newest commit with any bit altered is never passed over in silence, and is kept aside before it is cut off"
    )
    func damagedCommit() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, ends, dumps) = try sample(path)
        let frame = (ends[3] - 512) * 8..<ends[3] * 8
        for bit in frame {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << (bit % 8)
            try write(damaged, path)
            let reader = try Fast.open(path, writable: false)
            let length = UInt64(ends[3] - ends[2])
            // Without its head it is no commit, and could be a torn write.
            let isHead = bit < frame.lowerBound + 64
            #expect(
                reader.tail == (isHead ? .torn(bytes: length) : .damaged(bytes: length)),
                "bit \(bit - frame.lowerBound)")
            guard !isHead, bit % 61 == 0 else { continue }
            let writer = try Fast.open(path)
            #expect(try writer.dump() == dumps[2])
            fails(.damagedTail) { try writer.put(keys[4], "next") }
            #expect(try writer.repair() == path + ".damaged-5")
            try writer.put(keys[4], "next")
            #expect(writer.tail == .clean)
            #expect(try contents(path + ".damaged-5") == Array(damaged[ends[2]...]))
            #expect(try permissions(path + ".damaged-5") == 0o600)
            try remove(path + ".damaged-5")
        }
    }

    @Test("H9: what follows the newest state is kept aside whole, but a hole in it takes no room")
    func holesAside() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, ends, _) = try sample(path)
        // A dead head, and zeros that are no reserve any more, in a hole: whoever can make the file longer need not pay
        // for it.
        var damaged = bytes
        damaged[ends[3] - 100] ^= 1
        try write(damaged, path)
        #expect(truncate(path, 80 << 20) == 0)
        defer { truncate(path, 0) }
        let writer = try Fast.open(path)
        let aside = try #require(try writer.repair())
        var status = stat()
        #expect(lstat(aside, &status) == 0)
        #expect(Int(status.st_size) == 80 << 20 - ends[2] && status.st_blocks * 512 < 4 << 20)
        #expect(try contents(path) == Array(bytes[..<ends[2]]))
        try writer.put(keys[4], "next")
        #expect(folder.names == ["a.vault", "a.vault.damaged-5"])
    }

    /// A crash can lose any of the sectors that were not synced: the newest commit is then wholly there or wholly
    /// absent.
    @Test("serves the state before, wherever the newest commit is torn", arguments: [512, 4096])
    func torn(sector: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        // Keys of several lengths, so that what commits append lies differently to the sectors.
        for length in [1, 60, 200] {
            let file = folder.file("\(length).vault")
            let vault = try Fast.create(file)
            try vault.put(keys[0], "before")
            let before = (try contents(file), try vault.dump())
            try vault.put(try password(String(repeating: "x", count: length)), "after")
            let after = (try contents(file), try vault.dump())
            let range = before.0.count..<after.0.count
            for start in stride(from: range.lowerBound / sector * sector, to: range.upperBound, by: sector) {
                for end in [start + sector, range.upperBound] {
                    let lost = max(start, range.lowerBound)..<min(end, range.upperBound)
                    var bytes = after.0
                    bytes.replaceSubrange(lost, with: [UInt8](repeating: 0, count: lost.count))
                    guard bytes != after.0 else { continue }
                    try write(bytes, path)
                    let reader = try Fast.open(path, writable: false)
                    #expect(try reader.dump() == before.1, "bytes \(lost) of \(range) lost")
                    #expect(
                        (reader.tail == .clean) == bytes[before.0.count...].allSatisfy { $0 == 0 },
                        "zeros are a reserve")
                    let writer = try Fast.open(path)
                    try writer.put(keys[1], "next")
                    #expect(try writer.dump().count == 2)
                    #expect(try writer.verify().isSound)
                    try removeAside(folder)
                }
            }
        }
    }

    private func removeAside(_ folder: Folder) throws {
        for name in folder.names where name.contains(".incomplete-") { try remove(folder.file(name)) }
    }

    @Test("calls a commit incomplete if what it appended is damaged, and keeps that aside before it goes on")
    func incomplete() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, ends, dumps) = try sample(path)
        for place in [ends[2], ends[2] + 40, ends[2] + 300, ends[3] - 513] {
            var damaged = bytes
            damaged[place] ^= 0x10
            try write(damaged, path)
            let reader = try Fast.open(path, writable: false)
            #expect(reader.tail == .incomplete(generation: 5))
            #expect(reader.state.generation == 4)
            #expect(try reader.dump() == dumps[2])
            let writer = try Fast.open(path)
            try writer.put(keys[4], "next")
            #expect(writer.tail == .clean && writer.state.generation == 5)
            #expect(try contents(path + ".incomplete-5") == Array(damaged[ends[2]...]))
            #expect(try permissions(path + ".incomplete-5") == 0o600)
            #expect(try writer.verify().isSound)
            #expect(try Fast.open(path).dump().count == 4)
            try remove(path + ".incomplete-5")
        }
    }

    @Test(
        "keeps an incomplete generation beside one from before, and once only where a crash came before it was cut off")
    func keptTwice() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, ends, _) = try sample(path)
        var damaged = bytes
        damaged[ends[2] + 40] ^= 1
        try write([1, 2, 3], path + ".incomplete-5")
        for _ in 0..<2 {
            // The copy is there already when this comes a second time.
            try write(damaged, path)
            let writer = try Fast.open(path)
            try writer.put(keys[4], "next")
            #expect(try writer.dump().count == 4)
            #expect(try contents(path + ".incomplete-5") == [1, 2, 3])
            #expect(try contents(path + ".incomplete-5-2") == Array(damaged[ends[2]...]))
            #expect(folder.names == ["a.vault", "a.vault.incomplete-5", "a.vault.incomplete-5-2"])
        }
    }

    @Test("goes back one state only: no writer builds upon what is not complete")
    func twoIncomplete() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        var (bytes, ends, _) = try sample(path)
        bytes[ends[1] + 40] ^= 1
        bytes[ends[2] + 40] ^= 1
        try write(bytes, path)
        fails(.authenticationFailed, "so is the one before it") { _ = try Fast.open(path) }
    }

    @Test("finds no state in a file whose commits are all gone")
    func noCommit() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, _, _) = try sample(path)
        for count in [8192, 8193, 8192 + 1024, 9728] {
            try write(Array(bytes[..<count]) + [UInt8](repeating: 0, count: 5000), path)
            if count == 9728 {
                #expect(try Fast.open(path).state.generation == 1)
            } else {
                fails(.authenticationFailed, "no commit") { _ = try Fast.open(path) }
            }
        }
        try write(Array(bytes[..<8192]), path)
        fails(.headerInvalid, "truncated") { _ = try Fast.open(path) }
    }

    @Test("refuses an old header before a new body, and a new one before an old (R-5.24)")
    func headerAndBody() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (old, _, _) = try sample(path)
        let vault = try Fast.open(path)
        _ = try vault.addSlot(try Fast.rawKey(7))
        let new = try contents(path)
        try write(Array(old[..<8192]) + new[8192...], path)
        fails(.tampered) { _ = try Fast.open(path) }
        try write(Array(new[..<8192]) + old[8192...], path)
        fails(.tampered) { _ = try Fast.open(path) }
        // Also if what came after is damaged, so that one could go back to a commit that fits.
        try write(new, path)
        try Fast.open(path).put(keys[4], "after the slot")
        var mixed = Array(old[..<8192]) + (try contents(path))[8192...]
        mixed[new.count + 40] ^= 1
        try write(mixed, path)
        fails(.tampered) { _ = try Fast.open(path) }
    }

    @Test("refuses the body of one vault after the header of another")
    func otherVault() throws {
        let folder = try Folder()
        let (first, _, _) = try sample(folder.file("a.vault"))
        let (second, _, _) = try sample(folder.file("b.vault"))
        try write(Array(first[..<8192]) + second[8192...], folder.file("c.vault"))
        fails(.authenticationFailed, "no commit of this vault") { _ = try Fast.open(folder.file("c.vault")) }
    }

    @Test("opens nothing that was moved, swapped or doubled within the file")
    func moved() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, _, _) = try sample(path)
        let records = try frames(bytes).filter { $0.type == .record }
        #expect(records.count == 4)
        // Of the commits before the newest: their contents are only looked at when they are read.
        for (left, right) in [(0, 1), (1, 2), (2, 0)] {
            var moved = bytes
            moved.replaceSubrange(records[left].range, with: bytes[records[right].range])
            try write(moved, path)
            let reader = try Fast.open(path, writable: false)
            #expect(reader.tail == .clean && reader.state.generation == 5)
            fails(.authenticationFailed) { _ = try reader.text(keys[left]) }
            #expect(try reader.text(keys[right]) == "secret \(right)")
            #expect(try reader.verify().isSound == false)
        }
        let pages = try frames(bytes).filter { $0.type == .page }
        var moved = bytes
        moved.replaceSubrange(pages[3].range, with: bytes[pages[2].range])
        try write(moved, path)
        #expect(
            try Fast.open(path, writable: false).tail == .incomplete(generation: 5), "the newest page is an older one")
    }
}
