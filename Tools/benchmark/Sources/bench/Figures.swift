import Glibc
import VaultFmt

func remove(_ path: String) { unlink(path) }

/// Names and figures, in their order; printed as one JSON object.
struct Figures {
    private var lines: [(String, Double)] = []

    mutating func add(_ name: String, _ value: Double) { lines.append((name, value)) }

    mutating func time(_ name: String, per count: Int, _ body: () throws(VaultError) -> Void) throws(VaultError) {
        let start = now()
        try body()
        add(name, (now() - start) / Double(count))
    }

    var json: String { "{" + lines.map { "\"\($0)\": \(($1 * 1000).rounded() / 1000)" }.joined(separator: ", ") + "}" }
}

func fileSize(_ path: String) -> Double {
    var status = stat()
    stat(path, &status)
    return Double(status.st_size)
}

/// The most memory that this process has had, in KiB.
func peakMemory() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return Double(usage.ru_maxrss)
}
