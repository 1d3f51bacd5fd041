import VaultFmt

/// What many random changes do to a vault: its size, what is written for them, and what opening and changing it cost
/// before and after.
enum Growth {
    /// Changes that are made to learn how long a commit is: so few that at most one of them is followed by a
    /// compaction.
    private static let sample = 100

    static func run(_ path: String, items: Int, changes: Int) throws(VaultError) -> Figures {
        var figures = Figures()
        figures.add("open_before_us", try Work.medianOpen(path, items))
        let commitBefore = try sampleChanges("durable_before_us", path, items, &figures)
        let largest = try manyChanges(path, items, changes, &figures)
        let commitAfter = try sampleChanges("durable_after_us", path, items, &figures)
        figures.add("open_after_us", try Work.medianOpen(path, items))
        let commit = (commitBefore + commitAfter) / 2
        figures.add("commit_bytes", commit)
        let live = Double(try Workload.open(path, writable: false).statistics().liveBytes)
        figures.add("live_bytes", live)
        figures.add("file_bytes", fileSize(path))
        figures.add("largest_file_bytes", largest)
        figures.add("largest_over_bound", largest / (2.5 * live + 8 * 1024 * 1024))
        figures.add("peak_memory", peakMemory())
        return figures
    }

    /// The mean length of a commit: by how much the file grew, which ends with its newest commit once it is closed.
    /// After a compaction, which makes it shorter, once more.
    private static func sampleChanges(
        _ name: String, _ path: String, _ items: Int, _ figures: inout Figures
    ) throws(VaultError) -> Double {
        while true {
            let size = fileSize(path)
            var time = 0.0
            do {
                let vault = try Workload.open(path, writable: true)
                let start = now()
                try Workload.change(vault, items, times: sample, numbers: Numbers(seed: 2))
                time = now() - start
            }
            guard fileSize(path) > size else { continue }
            figures.add(name, time / Double(sample))
            return (fileSize(path) - size) / Double(sample)
        }
    }

    /// Returns the file's greatest length on the way. What is written holds commits, the zeros that are kept for the
    /// next ones, and compactions.
    private static func manyChanges(_ path: String, _ items: Int, _ changes: Int, _ figures: inout Figures)
        throws(VaultError) -> Double
    {
        let vault = try Workload.open(path, writable: true)
        var largest = fileSize(path)
        var slowest = 0.0
        var numbers = Numbers(seed: 1)
        let before = bytesWritten()
        let start = now()
        var secret = Workload.secret()
        for number in 0..<changes {
            Workload.vary(&secret, number)
            let begin = now()
            try vault.set(try Workload.key(Int.random(in: 0..<items, using: &numbers)), secret: secret)
            slowest = max(slowest, now() - begin)
            if number % 100 == 99 { largest = max(largest, fileSize(path)) }
        }
        figures.add("durable_mean_us", (now() - start) / Double(changes))
        figures.add("durable_slowest_us", slowest)
        figures.add("written_per_change", (bytesWritten() - before) / Double(changes))
        return largest
    }
}
