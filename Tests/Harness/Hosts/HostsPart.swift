internal import Glibc

extension Part {
    /// The programs stand beside this file: they are hosts as users write them, in C and in Python.
    static let hosts = Part(
        name: "hosts", about: "C and Python programs: threads, forks, signals, closes, descriptor limits"
    ) { run in
        // 20,000 operations each, or as many as an everyday run has time for.
        let command = "Tests/Harness/Hosts/run \(run.isLong ? 20_000 : 400) \(run.seed)"
        guard let output = popen(command, "r") else { return run.fail("cannot start a shell") }
        var buffer = [CChar](repeating: 0, count: 4096)
        while fgets(&buffer, Int32(buffer.count), output) != nil {
            let line = String(
                decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let words = line.split(separator: " ")
            if words.first == "operations", words.count > 2, let count = Int(words[1]) {
                run.count(count)
                run.note(line)
            } else {
                run.fail(line)
            }
        }
        let status = pclose(output)
        run.check(status == 0, "the script ended with status \(status)")
    }
}
