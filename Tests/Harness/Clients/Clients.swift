internal import Glibc

extension Part {
    /// What is quick is in the tests of the command; here are the programs that have to be installed first.
    static let clients = Part(
        name: "clients",
        about:
            "real programs with their secrets in a vault, file systems of programs, the Debian package; only where named",
        isEveryday: false
    ) { run in
        guard let binary = getenv("VAULTFMT_RELEASE_BINARY") else {
            return run.skip("Tools/harness says where the command is")
        }
        let command = "Tests/Harness/Clients/run '\(String(cString: binary))'"
        guard let output = popen(command, "r") else { return run.fail("cannot start a shell") }
        var buffer = [CChar](repeating: 0, count: 4096)
        while fgets(&buffer, Int32(buffer.count), output) != nil {
            let line = String(
                decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if line.hasPrefix("ok ") {
                run.count()
                if line.contains(": ") { run.note(String(line.dropFirst(3))) }
            } else if line.hasPrefix("skipped ") {
                run.note(line)
            } else if line.hasPrefix("failed ") {
                run.count()
                run.fail(line)
            }
        }
        let status = pclose(output)
        run.check(status == 0, "the script ended with status \(status)")
    }
}
