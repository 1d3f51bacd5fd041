internal import Glibc

/// The tests of the library, built with the sanitizers of threads and addresses.
extension Part {
    static let sanitizers = Part(name: "sanitizers", about: "the library's tests under the thread and address sanitizers; with --long only")
    { run in
        guard run.isLong else { return run.skip("it builds the tests twice more, which --long does") }
        for sanitizer in ["thread", "address"] {
            let log = ".build-\(sanitizer)/harness.log"
            mkdir(".build-\(sanitizer)", 0o755)
            // The command's, the README's and the specification's tests start programs, and it is those that they test.
            let command = [
                "swift", "test", "--sanitize=\(sanitizer)", "--scratch-path", ".build-\(sanitizer)", "--skip", "VaultCommandTests",
                "--skip",
                "ReadmeTests", "--skip", "SpecTests",
            ]
            let status = try Shell.run(command, log: log)
            let lines = try LogFile.lines(log)
            // "Test run with 123 tests in …": one line for each bundle.
            let tests = lines.compactMap { line -> Int? in
                let words = line.split(separator: " ")
                return words.firstIndex(of: "with").flatMap { line.contains("Test run with ") ? Int(words[$0 + 1]) : nil }
            }
            run.count(tests.reduce(0, +))
            run.check(status == 0 && !tests.isEmpty, "\(sanitizer): the tests failed; see \(log)")
            let reports = lines.filter { $0.contains("WARNING: ThreadSanitizer") || $0.contains("ERROR: AddressSanitizer") }
            run.check(reports.isEmpty, "\(sanitizer): \(reports.count) reports, first \(reports.first ?? "")")
        }
    }
}

/// Programs found by their names.
private enum Shell {
    static func run(_ words: [String], log: String) throws -> Int32 {
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        let output = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        defer {
            close(null)
            close(output)
        }
        let names: [String] = ["PATH", "HOME", "TMPDIR"]
        let environment = names.compactMap { (name: String) -> String? in getenv(name).map { "\(name)=\(String(cString: $0))" } }
        let pid = try StartedProgram.start(
            "/usr/bin/env", ["env"] + words, environment: environment, directory: ".", input: null, output: output, error: output)
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return status == 0 ? 0 : 1
    }
}
