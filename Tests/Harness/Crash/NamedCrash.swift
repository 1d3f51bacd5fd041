internal import VaultFmt
internal import VaultStore

/// A story that has lost data elsewhere, as a case of its own.
struct NamedCrash {
    let name: String
    let body: (Workload) throws -> Void

    /// Returns how many different states were found.
    static func check(_ run: PartRun) throws -> Int {
        var found = 0
        for one in all {
            let workload = try Workload(run.numbers(UInt64(found)), items: 5, remembers: true)
            do { try one.body(workload) } catch { run.fail("\(one.name): \(error)") }
            var checker = CrashChecker(run, one.name, numbers: run.numbers(1), goesOn: 20)
            checker.check(workload, randoms: 20, share: 1)
            found += checker.distinct
        }
        found += try checkCommit(run)
        run.note("\(all.count + 1) named cases")
        return found
    }

    /// A commit with any byte wrong is not served, and the one before it only with word of a damaged tail (section
    /// 7.1): no crash leaves that.
    private static func checkCommit(_ run: PartRun) throws -> Int {
        let workload = try Workload(run.numbers(99), items: 5)
        try workload.run(.add, try workload.open())
        guard let whole = workload.disk.content[Workload.name], let newest = workload.states.last else {
            throw Wrong("there is no vault")
        }
        let start = whole.count - 512
        for place in start..<whole.count {
            run.count()
            var bytes = whole
            bytes[place] ^= 0x55
            let system = Disk([Workload.name: bytes]).startProcess()
            let vault = try Vault.open(
                Workload.path, factors: try Keys.factors(newest.key), options: OpenOptions(),
                place: Store.Place(fileSystem: system))
            guard vault.state.generation == newest.generation - 1 else {
                run.fail(
                    "generation \(vault.state.generation) is served, where the newest commit is wrong at byte \(place - start)"
                )
                continue
            }
            // Without its head it is no commit, and could be a torn write.
            switch (vault.tail, place - start < 8) {
            case (.damaged, false), (.torn, true): continue
            default: run.fail("with byte \(place - start) of the newest commit wrong, the tail is \(vault.tail)")
            }
        }
        return 512
    }

    private static var all: [NamedCrash] {
        [
            NamedCrash(
                name: "a writer killed before its sync, another committing on top, then power loss",
                body: { workload in
                    let first = try workload.open()
                    first.process.plan { call, _ in call == .sync ? .kills() : nil }
                    _ = try? workload.run(.add, first)
                    guard first.process.isDead else { throw Wrong("the writer was not killed") }
                    try workload.run(.add, try workload.open())
                }
            ),
            NamedCrash(
                name: "M7: a writer killed before its sync, a reader that remembers what it saw, then power loss",
                body: { workload in
                    let first = try workload.open()
                    first.process.plan { call, _ in call == .sync ? .kills() : nil }
                    _ = try? workload.run(.add, first)
                    guard first.process.isDead else { throw Wrong("the writer was not killed") }
                    _ = try workload.open(writable: false)
                }
            ),
            NamedCrash(
                name: "M7: a writer killed before its sync, another that only opens the vault, then power loss",
                body: { workload in
                    let first = try workload.open()
                    first.process.plan { call, _ in call == .sync ? .kills() : nil }
                    _ = try? workload.run(.transaction, first)
                    _ = try workload.open()
                }
            ),
            NamedCrash(
                name: "M7: a rotation killed once its file has the name, before it is remembered",
                body: { workload in
                    for call in [DiskProcess.Call.syncDirectory, .lock] {
                        let writer = try workload.open()
                        var renames = 0
                        writer.process.plan { asked, _ in
                            defer { if asked == .rename { renames += 1 } }
                            return renames == 1 && asked == call ? .kills() : nil
                        }
                        _ = try? workload.run(.rotate, writer)
                        guard writer.process.isDead else { throw Wrong("the writer was not killed") }
                        _ = try workload.open(writable: false)
                    }
                }
            ),
            NamedCrash(
                name: "a sync that fails and leaves the pages clean, another writer on top",
                body: { workload in
                    let first = try workload.open()
                    try workload.run(.add, first)
                    first.process.plan { call, _ in call == .sync ? .loses : nil }
                    do {
                        try workload.run(.add, first)
                        throw Wrong("a failed sync was not reported")
                    } catch let error as VaultError where error.code == .outcomeUnknown {}
                    try workload.run(.add, try workload.open())
                }
            ),
            NamedCrash(
                name: "a rename not yet synced, a commit to the new file, power loss",
                body: { workload in
                    let first = try workload.open()
                    first.process.plan { call, _ in call == .syncDirectory ? .kills() : nil }
                    _ = try? workload.run(.compact, first)
                    guard first.process.isDead else { throw Wrong("the writer was not killed") }
                    try workload.run(.add, try workload.open())
                }
            ),
            NamedCrash(
                name: "the folder's sync fails after a rename, a commit to the new file by another, power loss",
                body: { workload in
                    let first = try workload.open()
                    first.process.plan { call, _ in
                        call == .syncDirectory ? .fails(VaultError(.outcomeUnknown, "planned")) : nil
                    }
                    do {
                        try workload.run(.changeKey, first)
                        throw Wrong("a failed sync was not reported")
                    } catch let error as VaultError where error.code == .outcomeUnknown {}
                    try workload.run(.add, try workload.open())
                }
            ),
            NamedCrash(
                name: "a writer killed while it takes over, a third one on top",
                body: { workload in
                    for _ in 0..<2 {
                        let writer = try workload.open()
                        writer.process.plan { call, _ in call == .sync ? .kills() : nil }
                        _ = try? workload.run(.transaction, writer)
                        guard writer.process.isDead else { throw Wrong("the writer was not killed") }
                    }
                    try workload.run(.add, try workload.open())
                }
            ),
            NamedCrash(
                name: "a writer killed in the middle of each write, another on top",
                body: { workload in
                    for part in [0.1, 0.5, 0.9] {
                        let writer = try workload.open()
                        writer.process.plan { call, _ in call == .write ? .kills(part: part) : nil }
                        _ = try? workload.run(.set, writer)
                        try workload.run(.add, try workload.open())
                    }
                }
            ),
            NamedCrash(
                name: "a large change, synced before its commit",
                body: { workload in
                    let writer = try workload.open()
                    try workload.run(.set, writer, large: true)
                    try workload.run(.add, writer)
                }
            ),
        ]
    }
}
