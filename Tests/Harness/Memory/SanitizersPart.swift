internal import Glibc

/// The tests of the library, built with the sanitizers of threads and addresses.
extension Part {
    static let sanitizers = Part(
        name: "sanitizers", about: "the library's tests under the thread and address sanitizers; with --long only"
    ) { run in
        guard run.isLong else { return run.skip("it builds the tests twice more, which --long does") }
        for sanitizer in ["thread", "address"] {
            let log = ".build-\(sanitizer)/harness.log"
            mkdir(".build-\(sanitizer)", 0o755)
            // XCTest, which SwiftPM runs first, with no tests in it, leaves a few of its own objects when it ends.
            try Files.write(Array("leak:libXCTest.so\n".utf8), to: ".build-\(sanitizer)/leaks")
            let options = "LSAN_OPTIONS=suppressions=$PWD/.build-\(sanitizer)/leaks VAULTFMT_LIBRARY_ONLY=1"
            // The manifest then has the library and its tests only; what starts programs tests those.
            let line = "\(options) swift test --sanitize=\(sanitizer) --scratch-path .build-\(sanitizer)"
            let status = try shell(line, output: log)
            let lines = try LogFile.lines(log)
            // "Test run with 123 tests in …": one line for each bundle.
            let tests = lines.compactMap { line -> Int? in
                let words = line.split(separator: " ")
                return words.firstIndex(of: "with").flatMap {
                    line.contains("Test run with ") ? Int(words[$0 + 1]) : nil
                }
            }
            run.count(tests.reduce(0, +))
            run.check(status == 0 && !tests.isEmpty, "\(sanitizer): the tests failed; see \(log)")
            let reports = lines.filter { line in
                ["WARNING: ThreadSanitizer", "ERROR: AddressSanitizer", "ERROR: LeakSanitizer"].contains {
                    line.contains($0)
                }
            }
            run.check(reports.isEmpty, "\(sanitizer): \(reports.count) reports, first \(reports.first ?? "")")
        }
    }
}
