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

    /// The first figure.
    var first: Double { lines.first?.1 ?? 0 }

    var json: String { "{" + lines.map { "\"\($0)\": \(($1 * 1000).rounded() / 1000)" }.joined(separator: ", ") + "}" }
}

func fileSize(_ path: String) -> Double {
    var status = stat()
    stat(path, &status)
    return Double(status.st_size)
}

/// A number that the system tells of this process, by its name in a file of /proc/self; 0 if it is not there.
private func ownFigure(_ name: String, in file: String) -> Double {
    guard let stream = fopen("/proc/self/\(file)", "r") else { return 0 }
    defer { fclose(stream) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), stream) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard text.hasPrefix(name + ":") else { continue }
        return Double(text.dropFirst(name.count + 1).filter(\.isNumber)) ?? 0
    }
    return 0
}

/// The most memory that this program has had, in bytes. Not `getrusage`, whose figure goes on with what the process had
/// before it became this program.
func peakMemory() -> Double { ownFigure("VmHWM", in: "status") * 1024 }

/// What this process has handed to the system to write, in bytes, copies by the system included. The system's own
/// figure of what goes to the disk (write_bytes) counts the whole piece of its cache that a write touches, which may be
/// many times longer.
func bytesWritten() -> Double { ownFigure("wchar", in: "io") }
