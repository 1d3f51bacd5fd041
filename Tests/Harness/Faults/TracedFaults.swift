internal import Glibc
internal import TestSupport
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// The same with a real program and the real system: strace lets its system calls fail, or kills it there; and with
/// reads and writes that the system always cuts short.
enum TracedFaults {
    /// A system call on the vault's files, the `number`th of its name.
    private struct Call: Hashable {
        let name: String
        let number: Int
    }

    enum Kind: CaseIterable {
        case io, ioFromThenOn, full, interrupted, killed

        func injection(_ call: String, _ number: Int) -> String? {
            switch self {
            case .io: return "inject=\(call):error=EIO:when=\(number)"
            case .ioFromThenOn: return "inject=\(call):error=EIO:when=\(number)+"
            case .full:
                return ["pwrite64", "renameat2", "rename"].contains(call)
                    ? "inject=\(call):error=ENOSPC:when=\(number)" : nil
            case .interrupted:
                let restarted = ["pread64", "pwrite64", "fdatasync", "ftruncate", "copy_file_range"]
                return restarted.contains(call) ? "inject=\(call):error=EINTR:when=\(number)" : nil
            case .killed: return "inject=\(call):signal=KILL:when=\(number)"
            }
        }
    }

    private static let traced =
        "pread64,pwrite64,fdatasync,fsync,ftruncate,rename,renameat2,copy_file_range,fcntl,unlink,openat"

    static func run(_ run: PartRun) throws {
        guard try shell("strace -V && strace -e trace=none true") == 0 else {
            return run.skip("failures of real calls: strace does not work here")
        }
        var jobs: [(ChangedVault.Operation, Call, Kind)] = []
        for operation in ChangedVault.Operation.allCases {
            for call in try calls(of: operation) { for kind in Kind.allCases { jobs.append((operation, call, kind)) } }
        }
        var numbers = run.numbers(77)
        if !run.isLong { jobs = jobs.filter { _ in numbers.chance(3) } }
        let all = jobs
        run.parallel(all.count) { index in
            let (operation, call, kind) = all[index]
            guard let injection = kind.injection(call.name, call.number) else { return }
            run.count()
            do { try check(operation, injection, kind) } catch { run.fail("\(operation), \(injection): \(error)") }
        }
        for operation in ChangedVault.Operation.allCases {
            run.count()
            do { try checkShort(operation) } catch { run.fail("\(operation), reads and writes cut short: \(error)") }
        }
        run.note("\(ChangedVault.binary == nil ? "the harness" : "vaultfmt") traced")
    }

    /// The calls that an operation makes on the vault, its folder and what is beside it.
    private static func calls(of operation: ChangedVault.Operation) throws -> [Call] {
        let vault = try ChangedVault()
        let log = vault.folder.file("log")
        guard try vault.run(operation, under: ["strace", "-y", "-o", log, "-e", "trace=\(traced)"]) == 0 else {
            throw Wrong("\(operation) fails by itself: \(try vault.output())")
        }
        var counts: [String: Int] = [:]
        var calls: [Call] = []
        for line in String(decoding: try Files.read(log), as: UTF8.self).split(separator: "\n") {
            let name = String(line.prefix { $0 != "(" })
            counts[name, default: 0] += 1
            if line.contains(vault.place) { calls.append(Call(name: name, number: counts[name, default: 0])) }
        }
        guard calls.contains(where: { $0.name == "pwrite64" }) else {
            throw Wrong("no write was seen in the trace of \(operation)")
        }
        return calls
    }

    private static func check(_ operation: ChangedVault.Operation, _ injection: String, _ kind: Kind) throws {
        let vault = try ChangedVault()
        let status = try vault.run(
            operation, under: ["strace", "-o", "/dev/null", "-e", "trace=\(traced)", "-e", injection])
        let says = try vault.output()
        switch status {
        case 0: try vault.check(operation, isDone: true)
        case 74 where kind != .interrupted && kind != .killed:
            try vault.check(
                operation, isDone: says.contains("unknown") || says.contains("could not be synced") ? nil : false)
        case 128 + SIGKILL where kind == .killed: try vault.check(operation, isDone: nil)
        default: throw Wrong("exit code \(status): \(says)")
        }
    }

    // MARK: short reads and writes

    private static let shortSource = """
        #define _GNU_SOURCE
        #include <sys/syscall.h>
        #include <unistd.h>
        #define LEAST(n) ((n) > 100 ? 100 : (n))
        ssize_t pread(int fd, void *to, size_t n, off_t at) { return syscall(SYS_pread64, fd, to, LEAST(n), at); }
        ssize_t pread64(int fd, void *to, size_t n, off_t at) { return pread(fd, to, n, at); }
        ssize_t pwrite(int fd, const void *from, size_t n, off_t at) { return syscall(SYS_pwrite64, fd, from, LEAST(n), at); }
        ssize_t pwrite64(int fd, const void *from, size_t n, off_t at) { return pwrite(fd, from, n, at); }
        ssize_t copy_file_range(int in, off_t *from, int out, off_t *to, size_t n, unsigned flags) {
            return syscall(SYS_copy_file_range, in, from, out, to, LEAST(n), flags);
        }
        """

    private static func checkShort(_ operation: ChangedVault.Operation) throws {
        let vault = try ChangedVault()
        let (source, library) = (vault.folder.file("short.c"), vault.folder.file("short.so"))
        try Files.write(Array(shortSource.utf8), to: source)
        guard try shell("clang -shared -fPIC -o \(library) \(source)") == 0 else {
            throw Wrong("clang cannot make a library")
        }
        let status = try vault.run(operation, under: ["env", "LD_PRELOAD=\(library)"])
        guard status == 0 else { throw Wrong("exit code \(status): \(try vault.output())") }
        try vault.check(operation, isDone: true)
    }
}

/// A vault that a program of its own changes: `vaultfmt` where there is one and strace may read its calls, else this
/// program in the role `change`.
struct ChangedVault {
    enum Operation: String, CaseIterable { case set, compact, rekey, `import` }

    static let items = 12
    static var binary: String? {
        Privilege.readsHardened ? getenv("VAULTFMT_RELEASE_BINARY").map { String(cString: $0) } : nil
    }

    let folder: Folder
    /// Where the vault is, and what is made beside it.
    let place: String
    private var path: String { "\(place)/a.vault" }

    init() throws {
        folder = try Folder()
        place = folder.file("place")
        mkdir(place, 0o700)
        for (name, key): (String, UInt8) in [("key", 1), ("new-key", 2)] {
            try Files.write(Self.key(key), to: folder.file(name))
        }
        let list = "url,username,password\n" + (0..<30).map { "https://\($0).example,a,x\n" }.joined()
        try Files.write(Array(list.utf8), to: folder.file("list.csv"))
        let vault = try Vault.create(at: "\(place)/a.vault", factors: try Keys.factors(1))
        for item in 0..<Self.items { try vault.set(try Model.key("item-\(item)"), secret: .init(text: "\(item)")) }
    }

    private static func key(_ number: UInt8) -> [UInt8] {
        var bytes = [UInt8](repeating: 0x2B, count: 32)
        (bytes[0], bytes[1]) = (number, 0)
        return bytes
    }

    func run(_ operation: Operation, under wrapper: [String]) throws -> Int32 {
        let command: [String]
        if let binary = Self.binary {
            let key = ["--raw-key-file", folder.file("key"), "--no-input"]
            switch operation {
            case .set: command = [binary, "set", "new", "a", "--generate=24", "-f", path] + key
            case .compact: command = [binary, "compact", path] + key
            case .rekey: command = [binary, "rekey", path, "--new-raw-key-file", folder.file("new-key")] + key
            case .import: command = [binary, "import", folder.file("list.csv"), "-f", path] + key
            }
        } else {
            command = ["/proc/self/exe", "--role", "change", operation.rawValue, path].map {
                $0 == "/proc/self/exe" ? Self.own : $0
            }
        }
        let child = try Child(
            "/usr/bin/env", ["env"] + wrapper + command, environment: ["XDG_STATE_HOME": folder.file("state")],
            output: folder.file("output"))
        return child.wait()
    }

    private static var own: String {
        guard let path = realpath("/proc/self/exe", nil) else { return "harness" }
        defer { free(path) }
        return String(cString: path)
    }

    func output() throws -> String { String(decoding: try Files.read(folder.file("output")), as: UTF8.self) }

    /// `change OPERATION PATH`: exit codes as those of the command.
    static func role(_ arguments: [String]) -> Int32 {
        guard arguments.count == 2, let operation = Operation(rawValue: arguments[0]) else { return 2 }
        do throws(VaultError) {
            var options = OpenOptions()
            options.writable = true
            let vault = try Vault.open(arguments[1], factors: try Keys.factors(1), options: options)
            switch operation {
            case .set: try vault.set(try Model.key("new"), secret: .init(text: "new"))
            case .compact: try vault.compact()
            case .rekey: try vault.changeFactors(to: try Keys.factors(2))
            case .import:
                try vault.transaction { (transaction) throws(VaultError) in
                    for number in 0..<30 {
                        try transaction.add(try Model.key("imported-\(number)"), secret: .init(text: "x"))
                    }
                }
            }
            return 0
        } catch {
            report("\(error)")
            return error.code == .io || error.code == .noSpace || error.code == .outcomeUnknown ? 74 : 65
        }
    }

    /// The vault opens, holds what it held, and the change if that is done (nil: perhaps); then it can be changed, and
    /// nothing lies about.
    func check(_ operation: Operation, isDone: Bool?) throws {
        let key = try key(operation, isDone)
        var options = OpenOptions()
        options.writable = true
        let vault = try Vault.open(path, factors: try Keys.factors(key), options: options)
        let names = try names(vault)
        let old = (0..<Self.items).filter { names.contains("item-\($0)") }.count
        guard old == Self.items else { throw Wrong("\(Self.items - old) items are gone") }
        let added = names.count - Self.items
        let whole = operation == .set ? 1 : operation == .import ? 30 : 0
        guard added == 0 || added == whole else { throw Wrong("\(added) of \(whole) new items are there") }
        if let isDone, whole > 0, (added == whole) != isDone {
            throw Wrong("reported \(isDone), and \(added) new items are there")
        }
        try vault.set(try Model.key("after"), secret: .init(text: "x"))
        try vault.compact()
        guard try vault.verify().isSound else { throw Wrong("not sound: \(try vault.verify().problems)") }
        let left = Files.names(in: place).filter { $0 != "a.vault" && !$0.hasPrefix("a.vault.incomplete-") }
        guard left.isEmpty else { throw Wrong("left behind: \(left)") }
    }

    private func key(_ operation: Operation, _ isDone: Bool?) throws -> Int {
        guard operation == .rekey else { return 1 }
        if let isDone { return isDone ? 2 : 1 }
        do throws(VaultError) {
            _ = try Vault.open(path, factors: try Keys.factors(1))
            return 1
        } catch {
            guard error.code == .noSlotOpens else { throw error }
            return 2
        }
    }

    private func names(_ vault: Vault) throws -> Set<String> {
        var cursor = try vault.items()
        var names: Set<String> = []
        while let item = try cursor.next() { names.insert(item.key.service ?? item.key.server ?? "\(names.count)") }
        return names
    }
}
