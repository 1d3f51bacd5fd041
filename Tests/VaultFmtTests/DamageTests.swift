import Foundation
import Synchronization
import Testing

@testable import VaultFmt

/// A file, and what a reader may find in any variation of it.
private struct Specimen {
    let bytes: [UInt8]
    /// What was in the vault at each generation that a reader could be served.
    let states: [UInt64: Dump]

    /// Looks at one variation: nil if what it gives is allowed, else what is wrong. `isWhole` says whether it was a
    /// whole state.
    func look(_ changed: [UInt8]) -> (wrong: String?, isWhole: Bool) {
        do {
            let vault = try Fast.open(changed)
            let anchor = vault.state
            guard let state = states[anchor.generation] else {
                return ("generation \(anchor.generation) out of nowhere", false)
            }
            let newest = states.keys.max()
            // A file that was cut off right behind a commit is that state: only who remembers a later one can tell.
            if anchor.generation != newest, vault.tail == .clean, !bytes.starts(with: changed) {
                return ("an older generation without a tail", false)
            }
            return try check(vault, state)
        } catch let error as VaultError {
            return (error.detail.isEmpty ? "an error without words" : nil, false)
        } catch {
            return ("\(error)", false)
        }
    }

    /// Every item that can be read is as it was; those that cannot give an error.
    private func check(_ vault: Vault, _ state: Dump) throws -> (String?, Bool) {
        var cursor = try vault.items()
        var seen = 0
        var refused = 0
        while let item = try cursor.next() {
            guard let expected = state[item.key] else { return ("an item out of nowhere", false) }
            seen += 1
            do throws(VaultError) {
                if Contents(try vault.open(item)) != expected { return ("wrong data", false) }
            } catch { refused += 1 }
        }
        if seen != state.count { return ("\(seen) items of \(state.count)", false) }
        return (nil, refused == 0)
    }

    /// Looks at so many variations on two threads.
    func lookAtAll(_ count: Int, _ what: String, _ change: @escaping @Sendable (Int) -> [UInt8]) {
        let wrong = Mutex<[String]>([])
        let whole = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: (count + 255) / 256) { block in
            for number in block * 256..<min((block + 1) * 256, count) {
                let (problem, isWhole) = look(change(number))
                if let problem { wrong.withLock { $0.append("\(what) \(number): \(problem)") } }
                if isWhole { whole.add(1, ordering: .relaxed) }
            }
        }
        let problems = wrong.withLock { $0 }
        #expect(problems.isEmpty, "\(problems.count): \(problems.prefix(10))")
        let states = whole.load(ordering: .relaxed)
        print(
            "\(what): \(count) cases over \(bytes.count) bytes; \(states) gave a whole state, \(count - states) an error"
        )
        #expect(states > 0 && states < count)
    }
}

@Suite("A damaged vault")
struct DamageTests {
    private static func record(_ vault: Vault, _ states: inout [UInt64: Dump]) throws {
        states[vault.state.generation] = try vault.dump()
    }

    /// A few items in several commits.
    private static func plain() throws -> Specimen {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        var states: [UInt64: Dump] = [:]
        try record(vault, &states)
        try vault.transaction { (transaction) throws(VaultError) in
            for name in ["a", "b"] {
                try transaction.add(try password("s", name), secret: Secret(text: name), attributes: ["label": name])
            }
        }
        try record(vault, &states)
        try vault.update(try password("s", "a"), attributes: setting(["label": "changed"]))
        try record(vault, &states)
        return Specimen(bytes: try contents(path), states: states)
    }

    /// A vault that was compacted, and changed after that.
    private static func rebuilt() throws -> Specimen {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        for name in ["a", "b", "c"] { try vault.put(try password("s", name), name) }
        try vault.remove(try password("s", "b"))
        try vault.put(try .genericPassword(service: "s", group: "g"), "of a group")
        _ = try vault.addSlot(try Fast.rawKey(9), name: "reader", grantedGroups: ["g"])
        try vault.compact()
        var states: [UInt64: Dump] = [:]
        try record(vault, &states)
        try vault.put(try password("s", "a"), "new")
        try record(vault, &states)
        return Specimen(bytes: try contents(path), states: states)
    }

    /// A vault with a commit that was synced before it was written, and so is not looked through when opened.
    private static func large() throws -> Specimen {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        var states: [UInt64: Dump] = [:]
        try record(vault, &states)
        for round in 0..<2 {
            try vault.transaction { (transaction) throws(VaultError) in
                for number in 0..<60 {
                    try transaction.set(
                        try password("s", "\(number)"), secret: Secret(text: "\(round) \(number)"),
                        attributes: setting(["label": "L"]))
                }
                try transaction.set(try password("s", "big"), secret: Secret(count: 33_000))
            }
            try record(vault, &states)
        }
        return Specimen(bytes: try contents(path), states: states)
    }

    @Test("gives an error or a committed state for any bit of it that is flipped", arguments: ["plain", "rebuilt"])
    func flips(which: String) throws {
        let specimen = try which == "plain" ? Self.plain() : Self.rebuilt()
        let bytes = specimen.bytes
        // At least one bit of each byte: the harness's part `mutation` flips all of them in an optimised build, and so does this
        // where VAULTFMT_LONG is set.
        let step = ProcessInfo.processInfo.environment["VAULTFMT_LONG"] == nil ? 7 : 1
        let flips = Array(stride(from: 0, to: bytes.count * 8, by: step))
        specimen.lookAtAll(flips.count, "flipped bits, \(which)") { index in
            var changed = bytes
            changed[flips[index] / 8] ^= 1 << UInt8(flips[index] % 8)
            return changed
        }
    }

    @Test("gives an error or a committed state wherever it is cut off", arguments: ["plain", "rebuilt"])
    func truncations(which: String) throws {
        let specimen = try which == "plain" ? Self.plain() : Self.rebuilt()
        let bytes = specimen.bytes
        specimen.lookAtAll(bytes.count, "cut off, \(which)") { Array(bytes[..<$0]) }
    }

    @Test(
        "gives an error or a committed state with ranges of it zeroed, doubled, moved or made up, also in large commits"
    )
    func ranges() throws {
        for specimen in [try Self.plain(), try Self.rebuilt(), try Self.large()] {
            let bytes = specimen.bytes
            specimen.lookAtAll(1000, "changed ranges") { number in
                var numbers = Numbers(UInt64(number) + 1)
                var changed = bytes
                for _ in 0..<Int.random(in: 1...3, using: &numbers) {
                    let length = Int.random(in: 1...700, using: &numbers)
                    let from = Int.random(in: 0..<changed.count - length, using: &numbers)
                    let to = Int.random(
                        in: number % 4 == 0 ? 0..<changed.count - length : 4096..<changed.count - length,
                        using: &numbers)
                    let part: [UInt8] =
                        switch number % 5 {
                        case 0: [UInt8](repeating: 0, count: length)
                        case 1: numbers.bytes(length)
                        default: Array(changed[from..<from + length])
                        }
                    if number % 5 == 4 {
                        changed.insert(contentsOf: part, at: to)
                    } else {
                        changed.replaceSubrange(to..<to + length, with: part)
                    }
                }
                return changed
            }
        }
    }
}
