internal import CTestSupport
internal import Glibc
internal import TestSupport
internal import VaultCrypto
internal import VaultFmt
internal import VaultStore

/// Modes, owners and link targets stay as documented: umask × symbolic link × owner × read-only folder × hard link ×
/// operation.
extension Part {
    static let files = Part(
        name: "files", about: "umask, symbolic links, foreign owners, read-only folders, hard links"
    ) { run in
        let folder = try Folder()
        chmod(folder.path, 0o755)
        // As root, who may do anything; and as somebody who may not.
        var users: [UInt32] = [getuid()]
        if getuid() == 0 { users.append(65_534) } else { run.skip("foreign owners: not run as root") }
        for user in users {
            let place = folder.file("user-\(user)")
            mkdir(place, 0o700)
            chown(place, user, user)
            let results = folder.file("results-\(user)")
            let child = try Child("/proc/self/exe", ["harness", "--role", "files", place, "\(user)"], output: results)
            let status = child.wait()
            for line in String(decoding: try Files.read(results), as: UTF8.self).split(separator: "\n") {
                if let cases = line.split(separator: " ").last.flatMap({ Int($0) }), line.hasPrefix("cases ") {
                    run.count(cases)
                } else {
                    run.fail("user \(user): \(line)")
                }
            }
            if status != 0 { run.fail("user \(user): ended with status \(status)") }
        }
    }
}

/// One combination.
struct FileCase {
    enum Link: CaseIterable { case none, symbolic, chain }
    enum Operation: CaseIterable { case create, set, compact, changeKey }

    let umask: UInt32
    let link: Link
    let isForeign: Bool
    let isReadOnly: Bool
    let isHardLinked: Bool
    let operation: Operation
}

/// Runs as one user, in a folder of its own.
enum FileCases {
    /// `files FOLDER USER`: prints what is wrong, and how many cases there were.
    static func role(_ arguments: [String]) -> Int32 {
        guard arguments.count == 2, let user = UInt32(arguments[1]) else { return 2 }
        var cases = 0
        for (index, one) in all.enumerated() {
            // Foreign files can only be made by root: before it becomes somebody else.
            if one.isForeign, getuid() != 0 { continue }
            if one.operation == .create, one.isForeign || one.isHardLinked { continue }
            let place = "\(arguments[0])/\(index)"
            cases += 1
            do { try inChild { try check(one, place, user) } } catch { report("\(one): \(error)") }
        }
        report("cases \(cases)")
        return 0
    }

    private static var all: [FileCase] {
        var out: [FileCase] = []
        for umask: UInt32 in [0, 0o022, 0o077] {
            for link in FileCase.Link.allCases {
                for bits in 0..<8 {
                    for operation in FileCase.Operation.allCases {
                        out.append(
                            FileCase(
                                umask: umask, link: link, isForeign: bits & 1 != 0, isReadOnly: bits & 2 != 0,
                                isHardLinked: bits & 4 != 0,
                                operation: operation))
                    }
                }
            }
        }
        return out
    }

    /// In a process of its own, which may become another user.
    private static func inChild(_ body: () throws -> Void) throws {
        let pid = test_fork()
        if pid == 0 {
            do {
                try body()
                _exit(0)
            } catch {
                report("\(error)")
                _exit(1)
            }
        }
        var status: Int32 = 0
        waitpid(pid, &status, 0)
        guard status == 0 else { throw Wrong("see above") }
    }

    private static func check(_ one: FileCase, _ place: String, _ user: UInt32) throws {
        umask(mode_t(one.umask))
        mkdir(place, 0o777)
        chmod(place, 0o755)
        let real = "\(place)/real.vault"
        let path = try links(one, place)
        if one.operation != .create { try prepare(one, real, place, user) }
        if user != getuid() { chown(place, user, user) }
        if one.isReadOnly { chmod(place, 0o555) }
        guard user == getuid() || (setgroups(0, nil) == 0 && setgid(user) == 0 && setuid(user) == 0) else {
            throw Wrong("cannot become user \(user)")
        }
        try check(one, path, real, isRoot: user == 0)
    }

    /// The path that is used, which leads to the real one.
    private static func links(_ one: FileCase, _ place: String) throws -> String {
        switch one.link {
        case .none: return "\(place)/real.vault"
        case .symbolic:
            symlink("real.vault", "\(place)/link.vault")
            return "\(place)/link.vault"
        case .chain:
            symlink("real.vault", "\(place)/second.vault")
            symlink("\(place)/second.vault", "\(place)/link.vault")
            return "\(place)/link.vault"
        }
    }

    private static func prepare(_ one: FileCase, _ real: String, _ place: String, _ user: UInt32) throws {
        let vault = try Vault.create(at: real, factors: try Keys.factors(1))
        try vault.set(try Model.key("a"), secret: .init(text: "first"))
        if one.isHardLinked { Glibc.link(real, "\(place)/other.vault") }
        // Somebody else's, that everybody may write to; or one's own with a mode that is not the usual one.
        chown(real, one.isForeign ? 1234 : user, one.isForeign ? 1234 : user)
        chmod(real, one.isForeign ? 0o666 : 0o640)
    }

    private static func check(_ one: FileCase, _ path: String, _ real: String, isRoot: Bool) throws {
        let before = Files.status(real)
        let failure = run(one.operation, path)
        let expected = expectation(one, isRoot: isRoot)
        guard failure?.code == expected else {
            throw Wrong("ended with \(failure?.description ?? "success"), not \(expected.map { "\($0)" } ?? "success")")
        }
        guard
            one.link == .none
                || Files.status(path, followingLinks: false).map({ $0.st_mode & S_IFMT == S_IFLNK }) == true
        else {
            throw Wrong("the link was replaced")
        }
        guard one.operation != .create || expected == nil else { return try checkNames(real) }
        guard let after = Files.status(real) else { throw Wrong("there is no file") }
        if one.operation == .create {
            guard after.st_mode & 0o7777 == 0o600 else {
                throw Wrong("created with mode \(String(after.st_mode & 0o7777, radix: 8))")
            }
        } else if let before {
            guard after.st_mode == before.st_mode, after.st_uid == before.st_uid, after.st_gid == before.st_gid else {
                throw Wrong(
                    "mode or owner has changed: \(String(after.st_mode, radix: 8)) \(after.st_uid):\(after.st_gid)")
            }
            let isReplaced = after.st_ino != before.st_ino
            guard isReplaced == (one.operation != .set && expected == nil) else {
                throw Wrong("replaced: \(isReplaced)")
            }
        }
        try checkNames(real)
        let vault = try Vault.open(
            path, factors: try Keys.factors(one.operation == .changeKey && expected == nil ? 2 : 1))
        if one.operation != .create, try Model(reading: vault).items["a"] == nil { throw Wrong("an item is gone") }
    }

    private static func checkNames(_ real: String) throws {
        let folder = String(real.dropLast("/real.vault".count))
        let left = Files.names(in: folder).filter {
            !["real.vault", "link.vault", "second.vault", "other.vault"].contains($0)
        }
        guard left.isEmpty else { throw Wrong("left behind: \(left)") }
    }

    private static func run(_ operation: FileCase.Operation, _ path: String) -> VaultError? {
        do throws(VaultError) {
            if operation == .create {
                _ = try Vault.create(at: path, factors: try Keys.factors(1))
                return nil
            }
            var options = OpenOptions()
            options.writable = true
            let vault = try Vault.open(path, factors: try Keys.factors(1), options: options)
            switch operation {
            case .create: break
            case .set: try vault.set(try Model.key("b"), secret: .init(text: "second"))
            case .compact: try vault.compact()
            case .changeKey: try vault.changeFactors(to: try Keys.factors(2))
            }
            return nil
        } catch { return error }
    }

    /// What is documented; nil for success.
    private static func expectation(_ one: FileCase, isRoot: Bool) -> VaultError.Code? {
        switch one.operation {
        case .set: return nil
        // A link that leads nowhere is an existing file.
        case .create: return one.isReadOnly && !isRoot ? .io : one.link == .none ? nil : .fileExists
        case .compact, .changeKey:
            if one.isHardLinked { return .cannotReplace }
            if isRoot { return nil }
            if one.isReadOnly { return .io }
            return one.isForeign ? .cannotReplace : nil
        }
    }
}
