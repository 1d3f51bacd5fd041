import CTestSupport
import Foundation
import Testing
import VaultBytes
import VaultStore

/// Section 7.4.
@Suite("A writer")
struct WriterTests {
    private func sample(_ path: String) throws -> (bytes: [UInt8], ends: [Int]) {
        let store = try Lab.create(path)
        var ends = [try contents(path).count]
        for mark in 1...3 as ClosedRange<UInt64> {
            try store.append(mark, records: 20)
            ends.append(try contents(path).count)
        }
        return (try contents(path), ends)
    }

    private static let deadCommit =
        withUnsafeBytes(of: FrameHead.commit.littleEndian) { Array($0) } + [UInt8](repeating: 7, count: 504)

    @Test("cuts off a torn tail, and keeps nothing of it (R-7.10)")
    func torn() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, _) = try sample(path)
        for tail in [[1], [UInt8](repeating: 0x33, count: 5000), [UInt8](repeating: 0, count: 300_000) + [1]] {
            try write(bytes + tail, path)
            let store = try Lab.open(path)
            try store.append(4)
            #expect(store.tail == .clean)
            #expect(try Array(contents(path)[..<bytes.count]) == bytes)
            #expect(try folder.names == ["a.vault"])
            #expect(Lab.mark(try Lab.open(path)) == 4)
        }
    }

    @Test("keeps an incomplete generation in a file beside the vault, up to its commit's end, and cuts it off (R-7.10)")
    func incomplete() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, ends) = try sample(path)
        var damaged = bytes
        damaged[ends[2] + 40] ^= 1
        for (tail, name) in [([], ""), ([1, 2, 3], "")] as [([UInt8], String)] {
            try write(damaged + tail, path)
            let store = try Lab.open(path)
            try store.append(9)
            #expect(store.state.commit.generation == 4 && Lab.mark(store) == 9)
            #expect(try wholeContents(path + ".incomplete-4") == Array(damaged[ends[2]...]), "\(name)")
            #expect(try folder.names == ["a.vault", "a.vault.incomplete-4"])
        }
        // Another one of the same number gets another name.
        damaged[ends[2] + 41] ^= 1
        try write(damaged, path)
        try Lab.open(path).append(9)
        #expect(try folder.names == ["a.vault", "a.vault.incomplete-4", "a.vault.incomplete-4-2"])
    }

    @Test("refuses a damaged tail, changes nothing, and names what repairs it (R-7.10)")
    func damaged() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, _) = try sample(path)
        let file = bytes + [1, 2, 3] + [UInt8](repeating: 0, count: 509) + Self.deadCommit
        try write(file, path)
        let store = try Lab.open(path)
        #expect(store.tail == .damaged(bytes: 1024))
        let error = fails(.damagedTail, "vaultfmt repair") { try store.append(4) }
        #expect(error?.offset == UInt64(bytes.count))
        #expect(try wholeContents(path) == file)
        #expect(try folder.names == ["a.vault"])
        // The lock was let go of.
        #expect(test_unlock(test_lock(path)) == 0)
        #expect(Lab.mark(try Lab.open(path, writable: false)) == 3)
    }

    @Test("that repairs keeps a damaged tail in a file beside the vault, and then cuts it off")
    func repair() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, ends) = try sample(path)
        var damaged = bytes
        damaged[ends[3] - 100] ^= 1
        try write(damaged, path)
        let store = try Lab.open(path)
        #expect(try store.repair(wait: 0) == path + ".damaged-4")
        #expect(store.tail == .clean)
        #expect(try wholeContents(path) == Array(bytes[..<ends[2]]))
        #expect(try wholeContents(path + ".damaged-4") == Array(damaged[ends[2]...]))
        let attributes = try FileManager.default.attributesOfItem(atPath: path + ".damaged-4")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try store.repair(wait: 0) == nil)
        try store.append(5)
        #expect(try folder.names == ["a.vault", "a.vault.damaged-4"])
        #expect(Lab.mark(try Lab.open(path)) == 5)
    }

    @Test("that repairs goes back to the newest state whose vector is sound, and keeps what follows (R-5.37)")
    func repairVector() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        try Lab.create(path)
        var ends: [Int] = []
        for mark in [1, 2, 3] as [UInt64] {
            // Three ids, each with a vector of its own, and two states.
            let store = try Lab.open(path, place: Lab.machine())
            try store.append(mark * 10)
            try store.append(mark * 10 + 1)
            ends.append(try contents(path).count)
        }
        let sound = try contents(path)
        let places = try [ends[1], ends[2]].map { end in
            try write(Array(sound[..<end]), path)
            return Int(try Lab.open(path).state.commit.vector.offset)
        }
        for (damaged, mark, end) in [([1], 21, ends[1]), ([0, 1], 11, ends[0])] as [([Int], UInt64, Int)] {
            var bytes = sound
            for one in damaged { bytes[places[one] + 60] ^= 1 }
            try write(bytes + (mark == 11 ? [1, 2, 3] : []), path)
            let store = try Lab.open(path)
            #expect(Lab.mark(store) == 31)
            fails(.authenticationFailed, "a vector") { try store.append(40) }
            let kept = try #require(try store.repair(wait: 0))
            #expect(Lab.mark(store) == mark && store.tail == .clean)
            #expect(try wholeContents(path) == Array(bytes[..<end]))
            #expect(try Array(wholeContents(kept).prefix(bytes.count - end)) == Array(bytes[end...]))
            try store.append(40)
            #expect(Lab.mark(try Lab.open(path)) == 40)
        }
        // There is none before the first.
        try write(sound, path)
        let store = try Lab.open(path)
        let states = try [store.state] + store.past.states(before: store.state)
        let all = Set(states.map { Int($0.commit.vector.offset) })
        var bytes = sound
        for place in all { bytes[place + 60] ^= 1 }
        try write(bytes, path)
        fails(.authenticationFailed, "no state of this file") { _ = try Lab.open(path).repair(wait: 0) }
        #expect(try contents(path) == bytes)
    }

    @Test("that repairs a file without a damaged tail treats it as before any change")
    func repairOther() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, ends) = try sample(path)
        try write(bytes + [1, 2, 3], path)
        #expect(try Lab.open(path).repair(wait: 0) == nil)
        #expect(try wholeContents(path) == bytes)
        var damaged = bytes
        damaged[ends[2] + 40] ^= 1
        try write(damaged, path)
        #expect(try Lab.open(path).repair(wait: 0) == nil)
        #expect(try folder.names == ["a.vault", "a.vault.incomplete-4"])
        fails(.readOnly) { _ = try Lab.open(path, writable: false).repair(wait: 0) }
    }

    @Test("keeps beside the vault all that follows the newest state, and its holes as holes")
    func holesAside() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, ends) = try sample(path)
        try write(Array(bytes[..<ends[2]]) + Self.deadCommit, path)
        try write([1], path, at: 80 << 20)
        let aside = try #require(try Lab.open(path).repair(wait: 0))
        #expect(try contents(path) == Array(bytes[..<ends[2]]))
        var status = stat()
        #expect(lstat(aside, &status) == 0)
        #expect(Int(status.st_size) == (80 << 20) + 1 - ends[2] && status.st_blocks * 512 < 4 << 20)
        let kept = try FileHandle(forReadingFrom: URL(fileURLWithPath: aside))
        #expect(try Array(kept.read(upToCount: 512) ?? Data()) == Self.deadCommit)
        try kept.seek(toOffset: UInt64((80 << 20) - ends[2]))
        #expect(try Array(kept.readToEnd() ?? Data()) == [1])
        try kept.close()
        #expect(truncate(aside, 0) == 0)
    }

    @Test("N11: repairs a vault that more heads, or more bytes, follow than the search passes, by searching all of it")
    func beyondSearch() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let (bytes, _) = try sample(path)
        var place = Store.Place()
        place.searchesWholeFile = true
        for (heads, end) in [(64, 0), (700, 0), (0, 300 << 20), (64, 300 << 20)] as [(Int, UInt64)] {
            try write(bytes + (0..<heads).flatMap { _ in Self.deadCommit }, path)
            if end > 0 { try write([1], path, at: end) }
            fails(.authenticationFailed, "'vaultfmt repair' searches all of it") {
                _ = try Lab.open(path, writable: false)
            }
            let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
            let found = try Lab.open(path, place: place)
            #expect(found.tail == .damaged(bytes: UInt64(size - bytes.count)))
            #expect(throws: VaultError.self) { try found.append(9) }
            let aside = try #require(try found.repair(wait: 0))
            #expect(try FileManager.default.attributesOfItem(atPath: aside)[.size] as? Int == size - bytes.count)
            #expect(try wholeContents(path) == bytes)
            try found.append(9)
            #expect(Lab.mark(try Lab.open(path)) == 9)
            try FileManager.default.removeItem(atPath: aside)
        }
        // Where there is no commit at all, a search of the whole file does not promise one.
        try write(Array(bytes[..<8192]) + [UInt8](repeating: 0x11, count: 40_000), path)
        fails(.authenticationFailed, "damaged, cut off or altered") { _ = try Lab.open(path, place: place) }
    }

    @Test("locks the one byte at 2^48 (section 7.4)")
    func lockByte() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        try store.beginWriting(wait: 0)
        // Everything before it, and everything behind, is free.
        for (start, length) in [(0, off_t(1) << 48), ((off_t(1) << 48) + 1, 0)] as [(off_t, off_t)] {
            let other = test_lock_range(path, start, length)
            #expect(other >= 0)
            #expect(test_unlock(other) == 0)
        }
        #expect(test_lock_range(path, off_t(1) << 48, 1) < 0)
        store.endWriting()
        let other = test_lock_range(path, off_t(1) << 48, 1)
        #expect(other >= 0)
        fails(.busy) { try store.append(1) }
        #expect(test_unlock(other) == 0)
        try store.append(1)
    }

    @Test(
        "is a commit at a multiple of 512, with zeros before it and at most 32,768 bytes without flag 1 (R-7.12)",
        arguments: 0...8)
    func alignment(records: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        let start = store.state.commit.end
        try store.append(1, records: records * 37)
        let commit = store.state.commit
        #expect(commit.offset % 512 == 0 && commit.start == start)
        #expect(
            commit.offset - start >= UInt64(records * 37 * 208 + 256)
                && commit.offset - start < UInt64(records * 37 * 208 + 256 + 512))
        #expect(commit.wasSyncedFirst == (commit.offset - start > 32_768))
        #expect(try Lab.open(path).state == store.state)
        #expect(commit.predecessor == Commit.Predecessor(generation: 1, chain: try #require(commit.predecessor).chain))
        #expect(commit.predecessorOffset(from: store.header.bodyStart) == start - 512)
    }

    @Test("of a generation that is not the next one, as a merge makes it, states its predecessor's (R-5.21)")
    func generations() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        let first = try store.anchor
        try store.append(1, generation: 40)
        let opened = try Lab.open(path)
        #expect(opened.state.commit.generation == 40 && opened.state.commit.predecessor?.generation == 1)
        #expect(try opened.verdict(on: first) == .descends)
        try opened.append(2)
        #expect(opened.state.commit.generation == 41)
    }

    @Test("does not go beyond generation 2^63 − 1 (R-11.2)")
    func lastGeneration() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let store = try Lab.create(path)
        try store.append(1, generation: Format.Limit.number)
        let bytes = try contents(path)
        fails(.limitExceeded, "no generations left") { try store.append(2) }
        #expect(try contents(path) == bytes)
        #expect(Lab.mark(try Lab.open(path)) == 1)
    }
}
