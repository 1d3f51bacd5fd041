import Foundation
import Testing

private let releaseBinary = ProcessInfo.processInfo.environment["VAULTFMT_RELEASE_BINARY"]

@Suite(
    "The released file (H10)",
    .enabled(if: releaseBinary != nil, "Tools/test builds it and sets VAULTFMT_RELEASE_BINARY"))
struct ReleaseBuildTests {
    private func output(_ program: String, _ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["LC_ALL": "C"]) { $1 }
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(program)")
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        "looks for no library beside itself, and resolves everything before it starts, into memory that is then read-only"
    )
    func hardening() throws {
        let binary = try #require(releaseBinary)
        let dynamic = try output("readelf", "-dW", binary)
        #expect(!dynamic.contains("RPATH") && !dynamic.contains("RUNPATH"))
        #expect(dynamic.contains("BIND_NOW"))
        let segments = try output("readelf", "-lW", binary)
        #expect(segments.contains("GNU_RELRO"))
        #expect(segments.contains("Elf file type is DYN"))
        let stack = try #require(segments.split(separator: "\n").first { $0.contains("GNU_STACK") })
        #expect(stack.contains(" RW ") && !stack.contains("RWE"))
    }

    @Test("needs the C libraries that it names, and none of Swift's")
    func libraries() throws {
        let needed = try output("readelf", "-dW", try #require(releaseBinary)).matches(of: /NEEDED.*\[(.+?)\.so/).map {
            String($0.1)
        }
        let known: Set = [
            "libcsv", "libsodium", "libargon2", "libutf8proc", "libm", "libstdc++", "libgcc_s", "libc",
            "ld-linux-x86-64",
        ]
        #expect(Set(needed).subtracting(known) == [])
    }
}
