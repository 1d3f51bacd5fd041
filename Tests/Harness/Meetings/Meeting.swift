internal import CTestSupport
internal import Glibc
internal import TestSupport
internal import VaultCrypto
internal import VaultFmt

/// One command that is stopped, and one that runs meanwhile.
struct Meeting {
    private let run: PartRun
    private let binary: String
    private let first: [String]
    private let second: [String]
    private let name: String

    /// What is stopped. `key` opens the vault from beginning to end, but where the first one changes it.
    static let stopped: [[String]] = [
        ["rekey", "--new-key-file", "key2"], ["rekey", "--new-key-file", "key"], ["rekey", "--rotate", "--yes"],
        ["rekey", "--new-key-file", "key2", "--rotate", "--yes"],
        ["slot", "add", "--new-key-file", "key3", "--name", "third"],
        ["slot", "remove", "spare", "--yes"], ["compact"], ["set", "new", "1", "--generate"], ["get", "item", "1"],
        ["list"], ["verify"],
        ["export"],
    ]
    /// What runs meanwhile; its factor stays what it was.
    static let others: [[String]] = [
        ["rekey", "--new-key-file", "key"], ["rekey", "--rotate", "--yes"],
        ["slot", "add", "--new-key-file", "key4", "--name", "fourth"],
        ["slot", "remove", "spare", "--yes"], ["compact"], ["set", "other", "1", "--generate"],
    ]
    private static let calls =
        "openat,pread64,pwrite64,fdatasync,fsync,rename,renameat,renameat2,unlink,unlinkat,statx,fcntl,ftruncate,copy_file_range"

    init(_ run: PartRun, _ binary: String, _ first: [String], _ second: [String]) throws {
        self.run = run
        self.binary = binary
        self.first = first
        self.second = second
        name = "\(first.joined(separator: " ")) and \(second.joined(separator: " "))"
    }

    /// The numbers of the calls from where the vault is first touched, by the name of the call, in the order of the
    /// names' first calls.
    func stops() throws -> [[Int]] {
        let folder = try prepared()
        let log = folder.file("trace")
        let child = try start(folder, ["-e", "trace=\(Self.calls)", "-o", log])
        guard child.wait() == 0 else { throw Wrong("\(name): fails by itself: \(message(folder, "first"))") }
        let lines = try LogFile.lines(log).filter { $0.contains("(") && !$0.hasPrefix("+++") && !$0.hasPrefix("---") }
        guard let start = lines.firstIndex(where: { $0.contains("a.vault") }) else {
            throw Wrong("\(name): the vault is not touched")
        }
        var places: [Substring: Int] = [:]
        var stops: [[Int]] = []
        for (index, line) in lines.enumerated().dropFirst(start) {
            let name = line.prefix { $0 != "(" }
            if let place = places[name] {
                stops[place].append(index + 1)
            } else {
                places[name] = stops.count
                stops.append([index + 1])
            }
        }
        return stops
    }

    func check(_ stop: Int) throws {
        let folder = try prepared()
        let injection = "inject=\(Self.calls):signal=STOP:when=\(stop)"
        let child = try start(folder, ["-e", "trace=\(Self.calls)", "-e", injection, "-o", "/dev/null"])
        let stopped = try tracee(of: child)
        let arguments = ["vaultfmt"] + Self.inFolder(second, folder) + ["--wait", "0.2"]
        let other = try Child(binary, arguments, environment: environment(folder), output: folder.file("second"))
        // What the first one holds of the vault makes the second report that it is busy; for what this machine
        // remembers it waits, until the first goes on.
        for _ in 0..<250 where other.poll() == nil { usleep(2000) }
        let firstCode = resume(stopped, child)
        let codes = (second: other.wait(), first: firstCode)
        run.count()
        let what = "\(name), at call \(stop)"
        run.check(
            Self.isAllowed(codes.first, first),
            "\(what): the first ends with \(codes.first): \(message(folder, "first"))")
        // Once the first has changed the factor, the old one is a wrong one.
        let isWrongFactor = codes.second == 77 && first.contains("key2")
        let isRight = isWrongFactor || Self.isAllowed(codes.second, second)
        run.check(isRight, "\(what): the second ends with \(codes.second): \(message(folder, "second"))")
        try checkVault(folder, what, codes)
    }

    /// Success, or busy; and 1 for a slot that the other has removed, as a rotation does.
    private static func isAllowed(_ code: Int32, _ arguments: [String]) -> Bool {
        [0, 75].contains(code) || code == 1 && arguments.starts(with: ["slot", "remove"])
    }

    // MARK: processes

    private func environment(_ folder: Folder) -> [String: String] {
        [
            "HOME": folder.path, "XDG_STATE_HOME": folder.path + "/state", "XDG_DATA_HOME": folder.path + "/data",
            "LC_ALL": "C.UTF-8",
            "VAULTFMT_VAULT": folder.file("a.vault"), "VAULTFMT_KEY_FILE": folder.file("key"),
            "SWIFT_BACKTRACE": "enable=no",
        ]
    }

    private func start(_ folder: Folder, _ options: [String]) throws -> Child {
        try Child(
            "/usr/bin/strace", ["strace", "-qq"] + options + [binary] + Self.inFolder(first, folder),
            environment: environment(folder),
            output: folder.file("first"))
    }

    /// The arguments with paths of key files.
    private static func inFolder(_ arguments: [String], _ folder: Folder) -> [String] {
        arguments.map { $0.hasPrefix("key") ? folder.file($0) : $0 }
    }

    /// The traced process, once it stands still: stopped, or at its end.
    private func tracee(of child: Child) throws -> pid_t? {
        var still = 0
        let end = ContinuousClock.now + .seconds(Int(test_patience))
        while ContinuousClock.now < end {
            usleep(2000)
            if child.poll() != nil { return nil }
            // Looked up each time: strace first has other children, with which it finds out what the kernel can do.
            guard let process = Self.child(of: child.pid), Self.runs(binary, process),
                let state = Self.state(of: process)
            else {
                still = 0
                continue
            }
            still = state == "T" || state == "t" ? still + 1 : 0
            if still == 8 { return process }
        }
        throw Wrong("\(name): the stopped command neither stops nor ends")
    }

    /// One letter. "pid (name) T": the name has no parenthesis here.
    private static func state(of process: pid_t) -> Substring? {
        do {
            return try LogFile.lines("/proc/\(process)/stat").first?.split(separator: ")").last?.split(separator: " ")
                .first
        } catch { return nil }
    }

    /// Whether a process runs this program: strace's other children do not.
    private static func runs(_ program: String, _ process: pid_t) -> Bool {
        var (one, other) = (stat(), stat())
        guard stat(program, &one) == 0, stat("/proc/\(process)/exe", &other) == 0 else { return false }
        return one.st_dev == other.st_dev && one.st_ino == other.st_ino
    }

    private static func child(of process: pid_t) -> pid_t? {
        do {
            let children = try LogFile.lines("/proc/\(process)/task/\(process)/children").first
            return children?.split(separator: " ").first.flatMap { pid_t($0) }
        } catch { return nil }
    }

    private func resume(_ process: pid_t?, _ child: Child) -> Int32 {
        guard let process else { return child.wait() }
        // Now and then only: strace stops it for each signal, too.
        let end = ContinuousClock.now + .seconds(Int(test_patience))
        while ContinuousClock.now < end {
            kill(process, SIGCONT)
            for _ in 0..<10 {
                if let code = child.poll() { return code }
                usleep(2000)
            }
        }
        child.end()
        return -1
    }

    private func message(_ folder: Folder, _ name: String) -> String {
        do { return String(decoding: try Files.read(folder.file(name)), as: UTF8.self) } catch { return "\(error)" }
    }

    // MARK: the vault

    private func prepared() throws -> Folder {
        let folder = try Folder()
        for name in ["key", "key2", "key3", "key4", "spare"] {
            try Files.write(KeyFile.generate().withUnsafeBytes { Array($0) }, to: folder.file(name))
        }
        let vault = try Vault.create(at: folder.file("a.vault"), factors: try factors(folder, "key"))
        for number in 1...3 {
            try vault.add(
                try .genericPassword(service: "item", account: "\(number)"), secret: Secret(text: "secret \(number)"))
        }
        _ = try vault.addSlot(try factors(folder, "spare"), name: "spare")
        return folder
    }

    private func factors(_ folder: Folder, _ key: String) throws -> Factors {
        try Factors(keyFile: try KeyFile(contents: Secret(bytes: try Files.read(folder.file(key)))))
    }

    /// The vault, with the factor that opens it now. A new factor and a rotation are two steps: the first may have been
    /// done, which is said, where the second is busy.
    private func opened(_ folder: Folder, _ firstCode: Int32) throws -> Vault {
        let isChanged =
            first.contains("key2") && (firstCode == 0 || message(folder, "first").contains("changed the factors of"))
        return try Vault.open(folder.file("a.vault"), factors: try factors(folder, isChanged ? "key2" : "key"))
    }

    private func checkVault(_ folder: Folder, _ what: String, _ codes: (second: Int32, first: Int32)) throws {
        let vault = try opened(folder, codes.first)
        let report = try vault.verify()
        run.check(report.problemCount == 0 && vault.tail == .clean, "\(what): not sound: \(report.problems)")
        var wanted = (1...3).map { ("item", "\($0)") }
        if codes.first == 0, first[0] == "set" { wanted.append(("new", "1")) }
        if codes.second == 0, second[0] == "set" { wanted.append(("other", "1")) }
        for (service, account) in wanted {
            let item = try vault.get(try .genericPassword(service: service, account: account))
            let isThere = item != nil
            run.check(isThere, "\(what): \(service) \(account) is missing")
        }
        let left = folder.names.filter { $0.contains(".vaultfmt-") }
        run.check(left.isEmpty, "\(what): left behind: \(left)")
    }
}
