internal import Glibc

/// What a writer has begun and what was acknowledged, outside of the vault: lines `b N` and `a N` of a file. A kill
/// loses none of it.
struct Journal {
    private let path: String

    init(_ folder: String, writer: Int) { path = "\(folder)/journal-\(writer)" }

    func begin(_ number: Int) throws { try append("b \(number)\n") }

    func acknowledge(_ number: Int) throws { try append("a \(number)\n") }

    private func append(_ line: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Wrong("cannot open \(path)") }
        defer { close(descriptor) }
        let bytes = Array(line.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw Wrong("cannot write \(path)") }
    }

    /// The last numbers; 0 where there are none.
    func read() -> (begun: Int, acknowledged: Int) {
        guard let bytes = try? Files.read(path) else { return (0, 0) }
        var (begun, acknowledged) = (0, 0)
        // The newest lines are enough.
        for line in String(decoding: bytes.suffix(400), as: UTF8.self).split(separator: "\n") {
            guard let number = Int(line.dropFirst(2)) else { continue }
            if line.hasPrefix("b ") { begun = max(begun, number) }
            if line.hasPrefix("a ") { acknowledged = max(acknowledged, number) }
        }
        return (begun, acknowledged)
    }
}
