import Foundation
import TestSupport
import Testing

/// Sources that are cut or altered at random, and imports with little memory or few descriptors: an import ends with a
/// code of its own and one line, changes nothing unless it succeeds, and takes no more memory than its source deserves.
@Suite("import: sources that are cut or altered, and limits of the system")
struct ImportSweepTests {
    /// How many alterations of each source: 5,000 before a release, which `VAULTFMT_IMPORT_SWEEP` says.
    private static let alterations =
        ProcessInfo.processInfo.environment["VAULTFMT_IMPORT_SWEEP"].flatMap(Int.init) ?? 12
    private static let isLong = alterations > 1000

    /// What every import may take, beside four times its source.
    private static let base = 64 << 10

    /// The codes with which an import may end.
    private static let codes: Set<Int32> = [0, 1, 3, 64, 65, 69, 74, 77, 78]

    private func check(_ run: Run, _ what: String, _ size: Int) throws {
        #expect(Self.codes.contains(run.status), "\(what): exit \(run.status): \(run.error)")
        let last = run.error.split(separator: "\n").last ?? ""
        #expect(last.hasPrefix("vaultfmt: "), "\(what): \(run.error)")
        guard run.peakKiB > Self.base + 4 * size / 1024 else { return }
        // A process is said to have had as much memory as the one that started it.
        let least = try Sandbox().run([], program: "/bin/true").peakKiB
        #expect(run.peakKiB <= least + 1024, "\(what): \(run.peakKiB) KiB for \(size) bytes")
    }

    @Test("a source that is cut or altered is imported whole or not at all", arguments: ImportSample.names)
    func altered(_ name: String) throws {
        let (sandbox, maker) = (try Sandbox.withVault(), try Sandbox.withVault())
        let sample = try ImportSample(name, in: maker)
        var numbers = Numbers(Numbers.seed &+ UInt64(ImportSample.names.firstIndex(of: name) ?? 0))
        // ssh-keygen derives a key each time, which takes a while.
        let count = name == "openssh-encrypted" ? Self.alterations / 4 : Self.alterations
        var accepted = 0
        for number in 0..<count {
            let bytes = Self.altered(sample.bytes, &numbers)
            try sandbox.write("source", bytes)
            let run = try sandbox.run(["import", "--dry-run", "source"] + sample.options)
            try check(run, "\(name), alteration \(number) of seed \(Numbers.seed)", bytes.count)
            accepted += run.status == 0 || run.status == 3 ? 1 : 0
            // The import does what its rehearsal said.
            guard number % 10 == 0 else { continue }
            let before = try sandbox.read("test.vault")
            let real = try sandbox.run(["import", "source", "--json", "--on-duplicate", "skip"] + sample.options)
            try check(real, "\(name), alteration \(number) of seed \(Numbers.seed), imported", bytes.count)
            if real.status == 0 || real.status == 3 {
                let counts = try #require(try real.json() as? [String: Any])
                let parts = ["added", "keptBoth", "skipped", "copies", "omitted"].compactMap { counts[$0] as? Int }
                #expect(parts.reduce(0, +) == counts["entries"] as? Int, "\(name), alteration \(number)")
            } else {
                #expect(try sandbox.read("test.vault") == before, "\(name), alteration \(number)")
            }
        }
        print("\(name): \(count) alterations, \(accepted) accepted")
    }

    /// Cuts a source, or changes, inserts, repeats or removes up to three pieces of it.
    private static func altered(_ source: [UInt8], _ numbers: inout Numbers) -> [UInt8] {
        if Int.random(in: 0..<4, using: &numbers) == 0 {
            return Array(source.prefix(Int.random(in: 0..<source.count, using: &numbers)))
        }
        let marks: [[UInt8]] = [
            [0], [0xFF], [0xEF, 0xBB, 0xBF], [0x0D, 0x0A], [0x0D], Array("\"".utf8), Array(",".utf8), Array("{".utf8),
            Array("[[[[[[[[".utf8), Array("null".utf8), Array("-1".utf8), Array("1e999".utf8), Array("\\ud800".utf8),
            [0xC3], [0xE2, 0x80, 0xAE], [0x7F, 0xFF, 0xFF, 0xFF], [0xFF, 0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0],
        ]
        var bytes = source
        for _ in 0...Int.random(in: 0..<3, using: &numbers) where !bytes.isEmpty {
            let start = Int.random(in: 0..<bytes.count, using: &numbers)
            let piece = start..<min(start + Int.random(in: 1...64, using: &numbers), bytes.count)
            switch Int.random(in: 0..<5, using: &numbers) {
            case 0: bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &numbers)
            case 1: bytes.insert(contentsOf: marks.randomElement(using: &numbers) ?? [], at: start)
            case 2: bytes.insert(contentsOf: bytes[piece], at: start)
            case 3: bytes.removeSubrange(piece)
            default:
                let mark = marks.randomElement(using: &numbers) ?? []
                bytes.replaceSubrange(start..<min(start + mark.count, bytes.count), with: mark)
            }
        }
        return bytes
    }

    /// Runs the command in a shell after a limit was set.
    private func limited(_ sandbox: Sandbox, _ limit: String, _ arguments: [String]) throws -> Run {
        try sandbox.run(
            ["-c", "ulimit -c 0; ulimit \(limit); exec \"$0\" \"$@\"", Child.binary] + arguments, program: "/bin/bash")
    }

    @Test("B3: with little memory, an import succeeds or is exit 74", arguments: ImportSample.names)
    func memory(_ name: String) throws {
        let sandbox = try Sandbox.withVault()
        let sample = try ImportSample(name, in: sandbox)
        let source = try sandbox.write("source", sample.bytes)
        let arguments = ["import", "--dry-run", source, "--on-duplicate", "skip"] + sample.options
        // The least with which the program starts. With less, the system does not load it (a signal, or 127), or its first
        // check fails, so that no command aborts on its arguments.
        var least = 16 << 10
        while true {
            let run = try limited(sandbox, "-v \(least)", arguments)
            guard run.status == 127 || run.status > 128 || run.error.contains("not enough memory to start") else {
                break
            }
            #expect([74, 127, 137, 139].contains(run.status), "-v \(least): exit \(run.status): \(run.error)")
            least += 256
        }
        var ends: [Int32: Int] = [:]
        for size in stride(from: least, to: least + (160 << 10), by: Self.isLong ? 512 : 15_360) {
            let run = try limited(sandbox, "-v \(size)", arguments)
            #expect([0, 3, 74].contains(run.status), "-v \(size): exit \(run.status): \(run.error)")
            ends[run.status, default: 0] += 1
        }
        print("\(name): from \(least) KiB on, \(ends)")
        #expect(ends[74] ?? 0 > 0 && (ends[0] ?? 0) + (ends[3] ?? 0) > 0, "\(ends)")
    }

    @Test("B3: a long list is imported or is exit 74, wherever memory runs out")
    func longList() throws {
        let sandbox = try Sandbox.withVault()
        let rows = (0..<60_000).map { "site\($0).example,user\($0),secret\($0)" }
        try sandbox.write("source", Array("url,username,password\n\(rows.joined(separator: "\n"))\n".utf8))
        let before = try sandbox.read("test.vault")
        var ends: [Int32: Int] = [:]
        for size in stride(from: 40 << 10, through: 160 << 10, by: Self.isLong ? 1024 : 12_288) {
            let run = try limited(sandbox, "-v \(size)", ["import", "source", "--on-duplicate", "skip"])
            #expect([0, 74].contains(run.status), "-v \(size): exit \(run.status): \(run.error)")
            ends[run.status, default: 0] += 1
            if run.status == 0 { break }
            #expect(try sandbox.read("test.vault") == before, "-v \(size)")
        }
        print("a long list: \(ends)")
        #expect(ends[74] ?? 0 > 0 && ends[0] == 1, "\(ends)")
    }

    @Test("B3: with few descriptors, an import succeeds or is a failure of its own", arguments: ImportSample.names)
    func descriptors(_ name: String) throws {
        let sandbox = try Sandbox.withVault()
        let sample = try ImportSample(name, in: sandbox)
        let source = try sandbox.write("source", sample.bytes)
        let arguments = ["import", "--dry-run", source, "--on-duplicate", "skip"] + sample.options
        var ends: [Int32: Int] = [:]
        for count in Self.isLong ? Array(4..<40) : [4, 6, 9, 16] {
            let run = try limited(sandbox, "-n \(count)", arguments)
            #expect([0, 3, 69, 74].contains(run.status), "-n \(count): exit \(run.status): \(run.error)")
            #expect(!run.error.contains("install the Debian package"), "-n \(count): \(run.error)")
            ends[run.status, default: 0] += 1
        }
        #expect((ends[0] ?? 0) + (ends[3] ?? 0) > 0, "\(ends)")
    }

    @Test("B3: any one file that cannot be opened while a KDBX file is read is exit 74, whatever library needs it")
    func injected() throws {
        let sandbox = try Sandbox.withVault()
        let sample = try ImportSample("kdbx-4", in: sandbox)
        let source = try sandbox.write("source", sample.bytes)
        var last = 0
        for number in 1..<80 {
            let trace = try sandbox.run(
                [
                    "-qq", "-o", sandbox.path("trace"), "-e", "trace=openat", "-e",
                    "inject=openat:error=EMFILE:when=\(number)+", Child.binary, "import", "--dry-run", source,
                ] + sample.options, program: "/usr/bin/strace")
            let text = String(decoding: try sandbox.read("trace"), as: UTF8.self)
            guard text.contains("INJECTED") else { break }
            last = number
            // Until the program's own libraries are loaded, it is the loader that ends.
            guard trace.status != 127 else { continue }
            #expect([0, 74, 77].contains(trace.status), "\(number): exit \(trace.status): \(trace.error)")
            #expect(!trace.error.contains("install the Debian package"), "\(number): \(trace.error)")
            #expect(!trace.error.contains("FATAL"), "\(number): \(trace.error)")
            let single = try sandbox.run(
                [
                    "-qq", "-o", "/dev/null", "-e", "trace=openat", "-e", "inject=openat:error=EMFILE:when=\(number)",
                    Child.binary, "import", "--dry-run", source,
                ] + sample.options, program: "/usr/bin/strace")
            #expect([0, 74, 77].contains(single.status), "\(number) alone: exit \(single.status): \(single.error)")
            #expect(!single.error.contains("FATAL"), "\(number) alone: \(single.error)")
        }
        #expect(last > 10)
    }

    @Test("a list that is one long field takes at most eight times its size, and 64 MiB")
    func longField() throws {
        let sandbox = try Sandbox.withVault()
        for size in [15 << 20, 17 << 20] {
            let text = "title,password,notes\na,p," + String(repeating: "x", count: size) + "\n"
            try sandbox.write("source", text.utf8)
            let run = try sandbox.run("import", "--dry-run", "source")
            #expect(run.status == (size > 16 << 20 ? 65 : 0), "\(run.error)")
            #expect(run.peakKiB <= Self.base + 8 * size / 1024, "\(run.peakKiB) KiB for \(size) bytes")
        }
    }

    @Test(
        "a long source takes at most four times its size, and 64 MiB", arguments: ["csv", "json", "bitwarden", "pem"])
    func long(_ name: String) throws {
        let sandbox = try Sandbox.withVault()
        var text = ""
        let count = Self.isLong ? 400_000 : 10_000
        switch name {
        case "csv":
            text = "name,url,username,password,note\n"
            for number in 0..<count { text += "site \(number),https://s\(number).example,user\(number),secret,n\n" }
        case "json":
            text = #"{"format":"vaultfmt-export","version":2,"items":["#
            for number in 0..<count {
                text += number == 0 ? "" : ","
                text += #"{"class":"generic-password","service":"s\#(number)","account":"ann","secret":"p"}"#
            }
            text += "]}"
        case "bitwarden":
            text = #"{"encrypted":false,"folders":[],"items":["#
            for number in 0..<count {
                text += number == 0 ? "" : ","
                text += #"{"id":"\#(number)","type":1,"name":"n\#(number)","login":{"username":"u","password":"p"}}"#
            }
            text += "]}"
        default:
            let sample = try ImportSample("pem", in: sandbox)
            text = String(repeating: String(decoding: sample.bytes, as: UTF8.self), count: count / 400)
        }
        try sandbox.write("source", text.utf8)
        let run = try sandbox.run("import", "source")
        #expect(run.status == 0, "\(run.error)")
        try check(run, name, text.utf8.count)
        print("\(name): \(run.peakKiB) KiB for \(text.utf8.count >> 10) KiB")
    }
}
