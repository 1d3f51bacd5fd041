import Testing
import VaultBytes

@testable import VaultFmt

@Suite("Verifying")
struct VerifyTests {
    private let keys: [ItemKey]

    init() throws {
        keys = try (0..<8).map {
            try ItemKey.genericPassword(service: "s", account: "\($0)", group: $0 == 5 ? "g" : "")
        }
    }

    /// A file with dead and live objects of every type, alignment zeros included.
    private func sample(_ path: String) throws -> Vault {
        let vault = try Fast.create(path)
        for key in keys[..<4] { try vault.put(key, "first") }
        try vault.compact()
        try vault.set(
            keys[5], secret: Secret(text: "new group"),
            attributes: setting(["comment": String(repeating: "c", count: 600)]))
        for key in keys[..<2] { try vault.put(key, "second") }
        try vault.remove(keys[3])
        return vault
    }

    @Test("counts what is there, and calls a sound vault sound")
    func sound() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try sample(path)
        var progress: [(UInt64, UInt64)] = []
        let report = try vault.verify { progress.append(($0, $1)) }
        #expect(report.isSound && report.problems.isEmpty && report.unopened == 0, "\(report.problems)")
        #expect(report.items == 4)
        let expected = Dictionary(grouping: try frames(try contents(path)), by: \.type.name).mapValues(\.count)
        #expect(report.objects == expected)
        #expect(Set(expected.keys) == ["record", "past", "page", "keyring", "vector", "commit"])
        #expect(progress.allSatisfy { $0 <= $1 })
    }

    @Test("finds damage in each part of each object, dead or live, and in the zeros between them")
    func everywhere() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try sample(path)
        let bytes = try contents(path)
        let all = try frames(bytes)
        var places: [Int] = []
        for frame in all {
            let range = frame.range
            // Tag, length, nonce, locator or sealed body, its middle, tag.
            places += [
                range.lowerBound, range.lowerBound + 4, range.lowerBound + 6, range.lowerBound + 8,
                range.lowerBound + 33,
            ]
            places += [range.lowerBound + range.count / 2, range.upperBound - 1]
        }
        // The zeros before commits.
        for (left, right) in zip(all, all.dropFirst()) {
            places += Array(left.range.upperBound..<right.range.lowerBound)
        }
        var reported = 0
        var refused = 0
        for place in places {
            var damaged = bytes
            damaged[place] ^= 0x01
            try write(damaged, path)
            let vault: Vault
            do { vault = try Fast.open(path, writable: false) } catch let error as VaultError {
                #expect([.authenticationFailed, .structureInvalid, .tampered].contains(error.code), "\(error)")
                refused += 1
                continue
            }
            let report = try vault.verify()
            #expect(report.problemCount > 0 && !report.isSound, "byte \(place)")
            reported += 1
        }
        #expect(reported > 150 && refused > 0, "\(reported) reported, \(refused) refused")
    }

    @Test("says where the damage is, and that the rest is sound")
    func precise() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try sample(path)
        let bytes = try contents(path)
        let dead = try #require(try frames(bytes).first { $0.type == .record })
        var damaged = bytes
        damaged[dead.range.lowerBound + 100] ^= 1
        try write(damaged, path)
        let report = try Fast.open(path).verify()
        // The record itself, and the digest of the commit that appended it; nothing else.
        #expect(
            report.problems.allSatisfy { ($0.offset ?? 0) <= UInt64(dead.range.upperBound) }
                && report.problemCount <= 3,
            "\(report.problems)")
        #expect(report.problems.contains { $0.offset == UInt64(dead.range.lowerBound) })
        #expect(report.items == 4)
    }

    /// Writes the newest commit anew with something else in it, as an owner's program with a bug could.
    private func recommit(_ path: String, _ change: (inout Commit) -> Void) throws {
        let vault = try Fast.open(path)
        try vault.withCore { (core) throws(VaultError) in
            var commit = core.store.state.commit
            change(&commit)
            try core.store.file.write(core.store.codec.seal(commit).frame, at: commit.offset)
        }
    }

    @Test("compares what the newest commit counts and names with what there is")
    func counts() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try sample(path)
        let bytes = try contents(path)
        let changes: [(String, (inout Commit) -> Void)] = [
            ("items", { $0.items += 1 }), ("forgotten values", { $0.forgotten += 1 }),
            ("with a past", { $0.pasts += 1 }), ("live bytes", { $0.liveBytes -= 1 }),
            // As long as a vector, and none.
            ("instead of a vector", { $0.vector = $0.keyring }),
            (
                "does not match its commit",
                {
                    $0.digest = .zero
                    $0.wasSyncedFirst = true
                }
            ),
        ]
        for (what, change) in changes {
            try write(bytes, path)
            try recommit(path, change)
            let report = try Fast.open(path).verify()
            #expect(report.problems.contains { $0.what.contains(what) }, "\(what): \(report.problems)")
        }
    }

    @Test("names two entries with one id (R-6.9)")
    func ids() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try sample(path)
        try vault.withCore { (core) throws(VaultError) in
            try core.transaction { (transaction) throws(VaultError) in
                guard let item = try core.find(keys[0]) else { throw VaultError(.noSuchItem, "") }
                transaction.changes.set(keys[7].bytes, ItemCodec.encode(item.entry, item.attributes.listed))
                transaction.tally.items += 1
            }
        }
        let problems = try Fast.open(path).verify().problems.map(\.what)
        #expect(problems.contains { $0.contains("two entries have the same id") }, "\(problems)")
    }

    @Test("needs no check of the keyring's revisions: a vault with one from the future does not open (R-6.8)")
    func futureSetting() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        let vault = try sample(path)
        try vault.keepVersions(7)
        let revision = try vault.withCore { $0.store.keyring.keeping.dot.revision }
        try #require(revision > 1)
        try recommit(path) { $0.clock = revision }
        #expect(try Fast.open(path).verify().isSound)
        try recommit(path) { commit in
            commit.clock = revision - 1
            commit.own = commit.own.map { Commit.OwnRow(id: $0.id, revision: revision - 1) }
        }
        let error = #expect(throws: VaultError.self) { _ = try Fast.open(path) }
        #expect(error?.code == .structureInvalid)
        let isNamed = error?.detail.contains("a dot in the keyring is later than the vault's clock")
        #expect(isNamed == true, "\(String(describing: error))")
    }

    @Test("calls a tail and an incomplete generation what they are")
    func tails() throws {
        let folder = try Folder()
        let path = folder.file("a.vault")
        _ = try sample(path)
        let bytes = try contents(path)
        try write(bytes + [1, 2, 3], path)
        let torn = try Fast.open(path)
        #expect(torn.tail == .torn(bytes: 3))
        #expect(try torn.verify().problems.map(\.what).contains { $0.contains("3 bytes after the newest commit") })
        let body = try #require(try frames(bytes).last { $0.type == .page })
        var damaged = bytes
        damaged[body.range.lowerBound + 50] ^= 1
        try write(damaged, path)
        #expect(try Fast.open(path).verify().problems.contains { $0.what.contains("is incomplete") })
    }
}
