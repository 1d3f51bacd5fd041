internal import Glibc
internal import TestSupport
internal import VaultFmt

/// Four writers and two readers on one vault, killed at random moments: nothing acknowledged is lost, nothing is seen
/// by halves.
extension Part {
    static let kill = Part(
        name: "kill", about: "4 writers and 2 readers of one vault, and sync of two clones, killed at random"
    ) { run in
        let writers = 4
        let folder = try Folder()
        let shared = SharedVault(folder.file("a.vault"), journals: folder.path)
        try shared.create()
        var numbers = run.numbers()
        func start(_ index: Int) throws -> Child {
            index < writers
                ? try Child.role("writer", [shared.path, shared.folder, "\(index)", "\(numbers.next())"])
                : try Child.role("reader", [shared.path, shared.folder, "\(writers)"])
        }
        var children = try (0..<writers + 2).map { try start($0) }
        let kills = run.isLong ? 10_000 : 300
        for number in 0..<kills where !run.isOver {
            usleep(UInt32(numbers.below(40_000)))
            let victim = numbers.below(children.count)
            let status = children[victim].end()
            if status == 3 { run.fail("kill \(number): a process had found something wrong") }
            children[victim] = try start(victim)
            run.count()
            for (index, child) in children.enumerated() {
                guard let status = child.poll() else { continue }
                if status != 0 {
                    run.fail(
                        "kill \(number): \(index < writers ? "writer" : "reader") \(index) ended with status \(status)")
                }
                children[index] = try start(index)
            }
            if number % 100 == 99 { try checkStill(run, shared, &children, writers) }
        }
        for child in children { child.end() }
        try check(run, shared, writers)
        try leavesNothing(shared, folder)
        let changes = (0..<writers).reduce(0) { $0 + shared.journal($1).read().acknowledged }
        run.note("\(changes) acknowledged changes")
        try KilledSync.run(run)
    }

    /// With every process stopped, the vault is sound and holds what was acknowledged.
    private static func checkStill(_ run: PartRun, _ shared: SharedVault, _ children: inout [Child], _ writers: Int)
        throws
    {
        for child in children { child.signal(SIGSTOP) }
        try check(run, shared, writers)
        for child in children { child.signal(SIGCONT) }
    }

    private static func check(_ run: PartRun, _ shared: SharedVault, _ writers: Int) throws {
        let acknowledged = (0..<writers).map { shared.journal($0).read().acknowledged }
        do {
            _ = try shared.check(
                try Model(reading: try shared.open(writable: false)), writers: writers, acknowledged: acknowledged)
        } catch {
            run.fail("\(error)")
        }
    }

    private static func leavesNothing(_ shared: SharedVault, _ folder: Folder) throws {
        let vault = try shared.open(writable: true)
        try vault.compact()
        let report = try vault.verify()
        guard report.isSound else { throw Wrong("not sound: \(report.problems)") }
        let left = folder.names.filter {
            !$0.hasPrefix("journal-") && $0 != "a.vault" && !$0.hasPrefix("a.vault.incomplete-")
        }
        guard left.isEmpty else { throw Wrong("left behind: \(left)") }
    }
}
