import Testing
import VaultBytes
import VaultStore

@testable import VaultFmt

@Suite("Salvaging a vault whose newest changes are damaged or cut off")
struct SalvageTailTests {
    private let memory = InMemory()

    /// A state of the vault: where its commit ends, and the secrets by service.
    private struct Past {
        let end: Int
        let offset: Int
        let generation: UInt64
        let anchor: Anchor
        let secrets: [String: String]
    }

    private func name(_ service: String) throws(VaultError) -> ItemKey {
        try .genericPassword(service: service, account: "")
    }

    /// A vault to which items were added one by one, of which one was then changed, one removed and one renamed.
    private func filled() throws -> [Past] {
        let vault = try memory.create()
        var past: [Past] = []
        var secrets: [String: String] = [:]
        func note() throws {
            let commit = try vault.withCore { (core) throws(VaultError) in core.store.state.commit }
            past.append(
                Past(
                    end: Int(commit.end), offset: Int(commit.offset), generation: commit.generation,
                    anchor: try vault.anchor, secrets: secrets))
        }
        func put(_ service: String, _ secret: String) throws {
            try vault.set(try name(service), secret: Secret(text: secret), attributes: setting(["label": service]))
            secrets[service] = secret
            try note()
        }
        try note()
        for number in 0..<5 { try put("s\(number)", "secret \(number)") }
        try put("s1", "changed")
        try vault.remove(try name("s2"))
        secrets["s2"] = nil
        try note()
        try vault.move(try name("s3"), to: try name("renamed"))
        secrets["renamed"] = secrets.removeValue(forKey: "s3")
        try note()
        return past
    }

    private func salvaged(
        _ bytes: [UInt8], takesUnproven: Bool = false
    ) throws -> (secrets: [String: String], report: SalvageReport) {
        memory.files.put("damaged.vault", bytes)
        if memory.files.bytes(of: "new.vault") != nil { try memory.files.remove("new.vault") }
        let report = try Vault.salvage(
            "damaged.vault", factors: try Fast.rawKey(), to: "new.vault", newFactors: try Fast.rawKey(),
            options: CreateOptions(), takesUnproven: takesUnproven, place: memory.place)
        let vault = try memory.open("new.vault")
        var secrets: [String: String] = [:]
        for item in try vault.allItems() {
            let opened = try vault.open(item)
            secrets[item.key.service ?? ""] = opened.secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
        return (secrets, report)
    }

    @Test("one bit in any commit: every item is recovered, and the newest change is called not proven")
    func flippedCommits() throws {
        let past = try filled()
        let bytes = try memory.bytes()
        let last = try #require(past.last)
        for state in past {
            for position in [0, 5, 20, 100, 400, 500] {
                var altered = bytes
                altered[state.offset + position] ^= 4
                let (secrets, report) = try salvaged(altered)
                for (service, secret) in last.secrets {
                    #expect(secrets[service] == secret, "\(service), commit \(state.generation), byte \(position)")
                }
                #expect(report.isComplete == (state.generation != last.generation), "\(state.generation), \(report)")
                if state.generation == last.generation { #expect(!report.uncommitted.isEmpty) }
            }
        }
    }

    @Test("a file cut at any length: what a commit proves is recovered, the rest is never called complete")
    func cut() throws {
        let past = try filled()
        let bytes = try memory.bytes()
        let last = try #require(past.last)
        let first = try #require(past.first)
        var lengths = Set(stride(from: first.end, through: bytes.count, by: 97))
        for state in past { lengths.formUnion([-513, -512, -1, 0, 1].map { state.end + $0 }) }
        for length in lengths.sorted() where length >= first.end && length <= bytes.count {
            let known = try #require(past.last { $0.end <= length })
            var (secrets, report) = try salvaged(Array(bytes[..<length]))
            for (service, secret) in known.secrets {
                // What follows the newest commit may be newer, and is then said to be.
                let isNewer = report.uncommitted.contains { $0.service == service } || last.secrets[service] == nil
                #expect(secrets[service] == secret || isNewer, "\(service) at \(length): \(report)")
            }
            #expect(report.isComplete == (known.end == length), "\(length): \(report)")
            report.compare(withSeen: last.anchor.point)
            let isWhole = last.secrets.allSatisfy { secrets[$0.key] == $0.value }
            #expect(isWhole || !report.isComplete, "\(length): \(report)")
            #expect((report.missingUpTo == nil) == (known.generation == last.generation))
        }
    }

    /// A vault with these items, and its bytes without the frames that `isLost` chooses.
    private func damaged(_ services: [String], _ isLost: (FrameType, Int) -> Bool) throws -> [UInt8] {
        let vault = try memory.create()
        try vault.transaction { (transaction) throws(VaultError) in
            for service in services { try transaction.add(try name(service), secret: Secret(text: "of \(service)")) }
        }
        try vault.compact()
        var bytes = try memory.bytes()
        var counts: [FrameType: Int] = [:]
        for frame in try frames(bytes) {
            let number = counts[frame.type, default: 0]
            counts[frame.type] = number + 1
            if isLost(frame.type, number) { for place in frame.range { bytes[place] = 0xEE } }
        }
        return bytes
    }

    @Test("items of which not even the name is left are counted by the newest commit (U22)", arguments: [0, 3])
    func unnamed(lost: Int) throws {
        let services = (0..<8).map { "s\($0)" }
        let bytes = try damaged(services) { type, number in type == .page || type == .record && number < lost }
        let (secrets, report) = try salvaged(bytes)
        #expect(secrets.count == 8 - lost && report.withoutIndex.count == 8 - lost)
        #expect(report.unnamed == UInt64(lost) && !report.isComplete)
        try memory.files.remove("a.vault")
        // Half of the file: nothing but the keyring is left.
        let none = try salvaged(try damaged(services) { type, _ in type == .page || type == .record })
        #expect(none.secrets.isEmpty && none.report.unnamed == 8 && !none.report.isComplete)
    }

    @Test("a file that was cut off in a change to its slots is not complete, and its items are proven (U22)")
    func cutSlotChange() throws {
        let past = try filled()
        _ = try memory.open().addSlot(try Fast.rawKey(9))
        let bytes = try memory.bytes()
        for length in [bytes.count - 1, bytes.count - 500, bytes.count - 511, try #require(past.last).end] {
            memory.files.put("a.vault", Array(bytes[..<length]))
            fails(.tampered, "the file was truncated during a change to its slots") { _ = try memory.open() }
            let (secrets, report) = try salvaged(Array(bytes[..<length]))
            #expect(secrets == past.last?.secrets, "\(length)")
            #expect(report.uncommitted.isEmpty && report.unnamed == 0)
            #expect(!report.isHeaderProven && !report.isComplete)
        }
    }

    @Test("a new item with all that its page says comes back from a change without its commit")
    func attributes() throws {
        _ = try filled()
        let vault = try memory.open()
        try vault.set(
            try name("late"), secret: Secret(text: "x"),
            attributes: setting(["label": "Late", "notes": "sealed", "comment": "c"]))
        let (_, report) = try salvaged(Array(try memory.bytes().dropLast()))
        #expect(report.uncommitted == [try name("late")] && report.withoutIndex.isEmpty)
        let recovered = try memory.open("new.vault")
        let item = try recovered.open(try #require(try recovered.item(try name("late")))).item
        #expect(item.attributes.string("label") == "Late" && item.attributes.string("comment") == "c")
        #expect(item.attributes.string("notes") == "sealed")
    }

    @Test("a removal without its commit does not remove, and is named")
    func removal() throws {
        _ = try filled()
        try memory.open().remove(try name("s4"))
        let (secrets, report) = try salvaged(Array(try memory.bytes().dropLast()))
        #expect(secrets["s4"] == "secret 4")
        #expect(report.removedLater == [try name("s4")] && !report.isComplete)
    }

    /// Cuts the last change, which replaced "second" by "third", at many lengths, and expects that the proven secret is
    /// the current one or an earlier value.
    private func expectProvenSecret(in key: ItemKey, _ start: Int, takesUnproven: Bool) throws {
        let bytes = try memory.bytes()
        var isEarlier = false
        for length in Array(stride(from: start, to: bytes.count, by: 13)) + [bytes.count - 100, bytes.count - 1] {
            let report = try salvaged(Array(bytes[..<length]), takesUnproven: takesUnproven).report
            let vault = try memory.open("new.vault")
            let now = try #require(try vault.text(key))
            let earlier = try vault.earlier(key).map(\.secret)
            #expect(now == "second" || now == "third" && earlier.last == "second", "\(length): \(now), \(earlier)")
            #expect(Set(earlier).count == earlier.count, "\(length): \(earlier)")
            #expect((report.keptProven == [key]) == (now == "third"), "\(length): \(report)")
            #expect(report.unproven.isEmpty, "\(length): \(report)")
            isEarlier = isEarlier || now == "third"
        }
        #expect(isEarlier)
    }

    @Test(
        "a newer secret that no commit proves leaves the proven one as an earlier value, wherever the change was cut",
        arguments: [true, false], [0, 10])
    func provenSecret(hasOlder: Bool, kept: Int) throws {
        let vault = try memory.create(kept: kept)
        let key = try name("s")
        for secret in (hasOlder ? ["first"] : []) + ["second"] { try vault.put(key, secret) }
        let start = try vault.withCore { (core) throws(VaultError) in Int(core.store.state.commit.end) }
        try vault.put(key, "third")
        try expectProvenSecret(in: key, start, takesUnproven: false)
        #expect(try memory.open("new.vault").keptVersions == max(1, kept))
    }

    @Test(
        "with a scoped slot, too, a proven secret stays as an earlier value, and an equal state is not another one",
        arguments: [true, false])
    func provenSecretWithScopedSlot(takesUnproven: Bool) throws {
        let vault = try memory.create()
        let key = try name("s")
        _ = try vault.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"], createsGroups: true)
        try vault.put(key, "second")
        let start = try vault.withCore { (core) throws(VaultError) in Int(core.store.state.commit.end) }
        try vault.put(key, "third")
        try expectProvenSecret(in: key, start, takesUnproven: takesUnproven)
        // A page that anyone with the index key could have made says the same of the item as its record.
        try vault.put(try name("once"), "only")
        let (secrets, report) = try salvaged(Array(try memory.bytes().dropLast()), takesUnproven: takesUnproven)
        #expect(secrets == ["s": "third", "once": "only"])
        #expect(report.uncommitted == [try name("once")] && report.unproven.isEmpty, "\(report)")
    }

    @Test("an item that is found by its record and in a leaf of a change without its commit is recovered once")
    func foundTwice() throws {
        let vault = try memory.create()
        func end() throws -> Int {
            try vault.withCore { (core) throws(VaultError) in Int(core.store.state.commit.end) }
        }
        try vault.put(try name("a"), "of a")
        let start = try end()
        try vault.put(try name("b"), "of b")
        let newest = start..<(try end())
        try vault.put(try name("c"), "of c")
        var bytes = try memory.bytes()
        for frame in try frames(bytes) where frame.type == .page && newest.contains(frame.range.lowerBound) {
            bytes[frame.range.lowerBound + 60] ^= 1
        }
        let (secrets, report) = try salvaged(Array(bytes.dropLast()))
        #expect(secrets == ["a": "of a", "b": "of b", "c": "of c"], "\(report)")
        #expect(report.recovered == 3 && report.removedLater.isEmpty, "\(report)")
    }

    @Test("an item that was removed and stored again by a change without its commit keeps its proven secrets")
    func storedAgain() throws {
        let vault = try memory.create()
        let key = try name("s")
        for secret in ["older", "proven"] { try vault.put(key, secret) }
        try vault.transaction { (transaction) throws(VaultError) in
            _ = try transaction.remove(key)
            try transaction.add(key, secret: Secret(text: "new"))
        }
        let (secrets, report) = try salvaged(Array(try memory.bytes().dropLast()))
        #expect(secrets == ["s": "new"] && report.keptProven == [key], "\(report)")
        #expect(try memory.open("new.vault").earlier(key).map(\.secret) == ["older", "proven"])
    }

    /// Salvages a vault whose last change, which is not proven, gives the names of items to others.
    private func renamed(
        scoped: Bool, takesUnproven: Bool, _ change: (Transaction) throws(VaultError) -> Void
    ) throws -> (secrets: [String], report: SalvageReport) {
        let vault = try memory.create()
        if scoped { _ = try vault.addSlot(try Fast.rawKey(9), grantedGroups: ["ci"], createsGroups: true) }
        for service in ["a", "b"] { try vault.put(try name(service), "of \(service)") }
        try vault.transaction(change)
        let report = try salvaged(Array(try memory.bytes().dropLast()), takesUnproven: takesUnproven).report
        let recovered = try memory.open("new.vault")
        let secrets = try recovered.allItems().map { item in
            let secret = try recovered.open(item).secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            return "\(item.key.service ?? ""): \(secret)"
        }
        return (secrets.sorted(), report)
    }

    @Test(
        "a change without its commit that gives an item the name of another one, which is renamed, loses neither",
        arguments: [(false, false), (true, false), (true, true)])
    func namesPassedOn(scoped: Bool, takesUnproven: Bool) throws {
        let (secrets, report) = try renamed(scoped: scoped, takesUnproven: takesUnproven) {
            (transaction) throws(VaultError) in
            try transaction.move(try name("b"), to: try name("c"))
            try transaction.move(try name("a"), to: try name("b"))
        }
        let isMoved = !scoped || takesUnproven
        #expect(secrets == (isMoved ? ["b: of a", "c: of b"] : ["a: of a", "b: of b"]), "\(report)")
        #expect(report.recovered == 2 && report.removedLater.isEmpty && !report.isComplete, "\(report)")
    }

    @Test("a change without its commit that removes an item and gives its name to another one does not remove it")
    func nameOfRemoved() throws {
        let (secrets, report) = try renamed(scoped: false, takesUnproven: false) {
            (transaction) throws(VaultError) in
            _ = try transaction.remove(try name("b"))
            try transaction.move(try name("a"), to: try name("b"))
        }
        #expect(secrets == ["b: of a", "b: of b"], "\(report)")
        #expect(try report.removedLater.count == 1 && report.uncommitted == [name("b")], "\(report)")
    }

    @Test("a change that removes an item does not hide the state that an earlier change, also without its commit, made")
    func removedAfterChange() throws {
        let vault = try memory.create()
        for service in ["a", "b"] { try vault.put(try name(service), "of \(service)") }
        try vault.put(try name("b"), "changed")
        let commit = try vault.withCore { (core) throws(VaultError) in Int(core.store.state.commit.offset) }
        try vault.transaction { (transaction) throws(VaultError) in
            _ = try transaction.remove(try name("b"))
            try transaction.move(try name("a"), to: try name("b"))
        }
        var bytes = Array(try memory.bytes().dropLast())
        bytes[commit + 100] ^= 4
        let report = try salvaged(bytes).report
        let recovered = try memory.open("new.vault")
        var secrets: [String: [String]] = [:]
        for item in try recovered.allItems() {
            let secret = try recovered.open(item).secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            secrets[secret] = try recovered.earlier(item.key).map(\.secret)
        }
        #expect(secrets == ["of a": [], "changed": ["of b"]], "\(report)")
        #expect(report.removedLater.count == 1 && !report.isComplete, "\(report)")
    }
}
