import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

/// Trees that authenticate and that no writer of ours makes.
@Suite("Hostile trees")
struct HostileTreeTests {
    private let key: ItemKey

    init() throws { key = try password("s", "a") }

    /// Commits a tree that `build` makes over the root of the current one.
    private func forge(_ vault: Vault, _ build: (Appender, Store) throws(VaultError) -> Commit.Root) throws {
        try vault.withStore { (store) throws(VaultError) in
            try store.beginWriting(wait: 1)
            defer { store.endWriting() }
            let appender = try store.makeAppender()
            var commit = store.state.successor
            commit.root = try build(appender, store)
            try store.commit(appender, commit, try store.nextVector(), keyring: store.keyring)
        }
    }

    @Test(
        "H11: 15 levels of pages that name one child three times are gone through once by verify and salvage, and refused by readers"
    )
    func oneChildThrice() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "x")
        try forge(vault) { (appender, store) throws(VaultError) in
            guard var root = store.state.commit.root else { throw VaultError(.structureInvalid, "no root") }
            while root.level < Format.Limit.level {
                var page = PageBuilder(level: root.level + 1)
                for low in [[], [0xFE], [0xFF]] as [[UInt8]] { page.append(low, PageBuilder.child(root.ref)) }
                let ref = try appender.append(page.encode(), as: .page, .page, key: store.slot.keys.index)
                root = Commit.Root(ref: ref, level: root.level + 1)
            }
            return root
        }
        let small = try contents(path).count
        #expect(small <= 16_384)
        let reader = try Fast.open(path, writable: false)
        // 3^15 pages, if each were gone through as often as it is named.
        let report = try reader.verify()
        #expect(report.problems.contains { $0.what.contains("referenced twice") } && report.problemCount < 100)
        fails(.structureInvalid) { _ = try reader.dump() }
        let salvaged = try Vault.salvage(
            path, factors: try Fast.rawKey(), to: folder.file("b.vault"), newFactors: try Fast.rawKey())
        #expect(salvaged.recovered == 1)
        #expect(try Fast.open(folder.file("b.vault")).text(key) == "x")
    }

    @Test("H12: a malformed forgotten value is refused by whoever reads the leaf that it is in", arguments: [0, 1, 2])
    func malformedForgottenValue(kind: Int) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try Fast.create(path)
        try vault.put(key, "x")
        try forge(vault) { (appender, store) throws(VaultError) in
            guard let root = store.state.commit.root else { throw VaultError(.structureInvalid, "no root") }
            let old = try store.pages.page(root.ref, level: 0)
            var page = PageBuilder(level: 0)
            page.append(old.key(0), old.value(0))
            let good = ForgottenValue(dot: Dot(revision: 5, replica: 7), kind: .secret).key
            switch kind {
            case 0: page.append(good + [0], [])
            case 1: page.append(good, [0])
            default: page.append(ForgottenValue(dot: Dot(revision: 5, replica: 0), kind: .secret).key, [])
            }
            return Commit.Root(
                ref: try appender.append(page.encode(), as: .page, .page, key: store.slot.keys.index), level: 0)
        }
        let reader = try Fast.open(path)
        fails(.structureInvalid) { _ = try reader.dump() }
        fails(.structureInvalid) { try reader.forEachSecret { _, _ in } }
        fails(.structureInvalid) { try reader.compact() }
        #expect(try !reader.verify().isSound)
    }

    @Test("H12: with a clock that no vault can hold, nothing is written", arguments: [1 << 47, 1 << 62, Int64.max])
    func impossibleClock(time: Int64) throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let clock = SettableClock()
        clock.set(time)
        fails(.limitExceeded, "clock") { _ = try Fast.create(path, fileSystem: clock) }
        #expect(folder.names.isEmpty)
        clock.set(0)
        let vault = try Fast.create(path, fileSystem: clock)
        try vault.put(key, "x")
        let bytes = try contents(path)
        clock.set(time)
        fails(.limitExceeded, "clock") { try vault.put(key, "y") }
        fails(.limitExceeded, "clock") { try vault.update(key, attributes: setting(["label": "l"])) }
        fails(.limitExceeded, "clock") { try vault.remove(key) }
        #expect(try contents(path).starts(with: bytes))
        clock.set((1 << 47) - 1)
        try vault.put(key, "z")
        #expect(try Fast.open(path).text(key) == "z")
    }
}
