import Foundation
import Testing

/// Tools/test says where the statically linked binary is; without it these checks have nothing to look at.
private let releaseBinary = ProcessInfo.processInfo.environment["VAULTFMT_RELEASE_BINARY"]

@Suite(
    "The statically linked binary",
    .enabled(if: releaseBinary != nil, "Tools/test builds it and sets VAULTFMT_RELEASE_BINARY"))
struct ReleaseBinaryTests {
    /// A header with one slot (unless said otherwise), whose figures may be anything; nothing in it opens. Its hash is
    /// right, as anybody can make it.
    private static func header(
        memory: UInt32 = 65_536, lanes: UInt32 = 1, slots: UInt8 = 1, slotLength: UInt32 = 348,
        headerLength: UInt32 = 4096,
        parameters: UInt32 = 44
    ) -> [UInt8] {
        func bytes(_ value: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: value.littleEndian, Array.init) }
        var out: [UInt8] = [0x89, 0x56, 0x41, 0x55, 0x4C, 0x54, 0x0D, 0x0A]
        out += bytes(UInt16(1)) + bytes(UInt16(0)) + bytes(headerLength)
        out += [UInt8](repeating: 7, count: 48) + [slots, 0, 0, 0]
        out +=
            bytes(slotLength) + [UInt8](repeating: 9, count: 16) + [1, 1, 0, 0] + bytes(parameters) + bytes(UInt32(168))
        out += bytes(memory) + bytes(UInt32(3)) + bytes(lanes)
        // Salt, commitment, nonce, payload and owner part.
        out += [UInt8](repeating: 5, count: 32 + 32 + 24 + 48 + 168)
        out += [UInt8](repeating: 0, count: 4096 - out.count)
        return Headers.sealed(out + out + [UInt8](repeating: 1, count: 1024))
    }

    enum Hostile: String, CaseIterable {
        case memory, lanes, slots, slotLength, headerLength, parameters

        var header: [UInt8] {
            switch self {
            case .memory: ReleaseBinaryTests.header(memory: .max)
            case .lanes: ReleaseBinaryTests.header(lanes: 0)
            case .slots: ReleaseBinaryTests.header(slots: 255)
            case .slotLength: ReleaseBinaryTests.header(slotLength: .max)
            case .headerLength: ReleaseBinaryTests.header(headerLength: 1 << 31)
            case .parameters: ReleaseBinaryTests.header(parameters: .max)
            }
        }
    }

    @Test("refuses hostile headers before any key derivation, in at most 20 MB", arguments: Hostile.allCases)
    func hostileHeaders(_ hostile: Hostile) throws {
        let sandbox = try Sandbox()
        try sandbox.write("hostile.vault", hostile.header)
        // A process keeps the peak of the one that it was started from; time(1) is small, and measures what it starts.
        let measured = ["--quiet", "-f", "%M", "-o", sandbox.path("peak"), try #require(releaseBinary)]
        let status = try start(measured + ["list", "--vault", sandbox.path("hostile.vault")], "/usr/bin/time", sandbox)
            .status
        #expect(status == (hostile == .memory ? 78 : 65))
        let peak = String(decoding: try sandbox.read("peak"), as: UTF8.self).split(separator: "\n").last.flatMap {
            Int($0)
        }
        #expect(try #require(peak) <= 20 * 1024, "\(peak ?? 0) KiB")
    }

    private func start(_ arguments: [String], _ program: String, _ sandbox: Sandbox) throws -> (
        status: Int32, output: String, error: String
    ) {
        let name = UUID().uuidString
        let child = try Child.start(
            arguments, program: program, environment: sandbox.environment, directory: sandbox.folder,
            output: sandbox.path(name),
            error: sandbox.path(name + ".err"))
        let status = try child.wait()
        return (
            status, String(decoding: try sandbox.read(name), as: UTF8.self),
            String(decoding: try sandbox.read(name + ".err"), as: UTF8.self)
        )
    }

    @Test("opens a vault of 200,000 items, and gets one of them, with at most 64 KiB read")
    func manyItems() throws {
        let sandbox = try Sandbox()
        let binary = try #require(releaseBinary)
        var csv = "name,url,username,password\n"
        for number in 0..<200_000 {
            csv +=
                "Item \(number),https://host\(number % 997).example.com/,user\(number)@example.com,secret-\(number)\n"
        }
        try sandbox.write("many.csv", csv.utf8)
        #expect(try start(["create", "--kdf", "testing"], binary, sandbox).status == 0)
        let imported = try start(["import", sandbox.path("many.csv")], binary, sandbox)
        #expect(imported.status == 0, "\(imported.error)")
        let trace = ["-f", "-y", "-e", "trace=pread64,read", "-o", sandbox.path("trace"), binary]
        let got = try start(
            trace + ["get", "host123.example.com", "user123@example.com", "--class", "internet-password"],
            "/usr/bin/strace", sandbox)
        #expect(got.status == 0, "\(got.error)")
        #expect(got.output == "secret-123")
        let reads = String(decoding: try sandbox.read("trace"), as: UTF8.self).split(separator: "\n").filter {
            $0.contains("test.vault>")
        }
        let sum = reads.reduce(0) { $0 + (Int($1.split(separator: " ").last ?? "") ?? 0) }
        print("a get out of 200,000 items read \(sum) bytes of the vault in \(reads.count) calls")
        #expect(sum > 0 && sum <= 65_536)
    }

    @Test("killed at any system call of set leaves every acknowledged item")
    func killedAtEveryCall() throws {
        let sandbox = try Sandbox()
        let binary = try #require(releaseBinary)
        #expect(try start(["create", "--kdf", "testing"], binary, sandbox).status == 0)
        var acknowledged: Set<String> = []
        var kills = 0
        for call in ["pwrite64", "fdatasync", "fsync", "ftruncate", "fcntl", "openat", "close", "pread64", "rename"] {
            for when in 1...400 {
                let name = "\(call)-\(when)"
                try sandbox.write("secret", "s-\(name)".utf8)
                let inject = [
                    "-f", "-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(when)",
                ]
                let set = [binary, "set", "service", name, "--secret-file", sandbox.path("secret")]
                let status = try start(inject + set, "/usr/bin/strace", sandbox).status
                // What ended well is acknowledged; one that was killed may have been written, or not.
                if status == 0 {
                    acknowledged.insert(name)
                    break
                }
                kills += 1
            }
        }
        let listed = try start(["list", "--json"], binary, sandbox)
        #expect(listed.status == 0, "\(listed.error)")
        let items = try #require(try JSONSerialization.jsonObject(with: Data(listed.output.utf8)) as? [[String: Any]])
        let accounts = Set(items.compactMap { $0["account"] as? String })
        #expect(accounts.isSuperset(of: acknowledged))
        // Also what was killed, and is there all the same, is there whole.
        for name in accounts { #expect(try start(["get", "service", name], binary, sandbox).output == "s-\(name)") }
        let verified = try start(["verify"], binary, sandbox)
        #expect(verified.status == 0, "\(verified.error)")
        print("set was killed \(kills) times; \(acknowledged.count) acknowledged, \(accounts.count) items there")
        #expect(kills >= 30)
    }
}
