import Glibc
import VaultFmt

/// Two copies of one vault with changes of their own, merged; and all of these changes in one transaction. Each in a
/// process of its own, so that its peak memory is known.
enum Merge {
    static let names = ["prepare", "merge", "transaction"]

    static func run(_ name: String, _ path: String, items: Int, changes: Int) throws(VaultError) -> Figures {
        var figures = Figures()
        switch name {
        case "prepare": try prepare(path, items, changes)
        case "merge":
            let (ours, theirs) = (
                try Workload.open("\(path).ours", writable: true), try Workload.open("\(path).theirs", writable: false)
            )
            try figures.time("merge_us", per: 1) { () throws(VaultError) in
                let report = try ours.merge(theirs)
                precondition(report.outcome == .merged && report.taken.count == changes)
            }
            figures.add("merge_memory_mb", peakMemory() / 1e6)
        case "transaction":
            let vault = try Workload.open(path, writable: true)
            try figures.time("merge_transaction_us", per: 1) { () throws(VaultError) in
                try change(vault, items, changes, sides: 0...1)
            }
            figures.add("merge_transaction_memory_mb", peakMemory() / 1e6)
        default: preconditionFailure("no such work: \(name)")
        }
        return figures
    }

    /// The vault at `path`, and two copies of it that went on.
    private static func prepare(_ path: String, _ items: Int, _ changes: Int) throws(VaultError) {
        try Workload.fill(try Workload.create(path), items)
        for (side, name) in ["ours", "theirs"].enumerated() {
            copy(path, "\(path).\(name)")
            try change(try Workload.open("\(path).\(name)", writable: true), items, changes, sides: side...side)
        }
    }

    /// Other items on each side, all over the vault.
    private static func change(
        _ vault: Vault, _ items: Int, _ changes: Int, sides: ClosedRange<Int>
    ) throws(VaultError) {
        let step = items / (2 * changes)
        precondition(step > 0)
        var secret = Workload.secret()
        try vault.transaction { (transaction) throws(VaultError) in
            for number in 0..<changes {
                for side in sides {
                    Workload.vary(&secret, 2 * number + side)
                    try transaction.set(try Workload.key((2 * number + side) * step), secret: secret)
                }
            }
        }
    }

    private static func copy(_ path: String, _ name: String) {
        let (from, other) = (open(path, O_RDONLY), open(name, O_WRONLY | O_CREAT | O_TRUNC, 0o600))
        precondition(from >= 0 && other >= 0)
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(from, &piece, piece.count)
            guard count > 0 else { break }
            precondition(write(other, piece, count) == count)
        }
        close(from)
        close(other)
    }
}
