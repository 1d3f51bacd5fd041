internal import Glibc
internal import TestSupport
internal import VaultFmt

/// Two clones of a repository with a vault; `vaultfmt sync` is killed in them at random moments, alone or with the git
/// that it has started. What was acknowledged stays, and a later sync makes both clones equal.
final class KilledSync {
    private static let clones = ["a", "b"]

    private let folder: Folder
    private let binary: String
    private var serial = 0
    /// What each clone's vault was given.
    private var stored: [String: Set<String>] = [:]
    /// How long a sync takes that nobody kills, in microseconds.
    private var duration = 0

    static func run(_ run: PartRun) throws {
        guard let binary = getenv("VAULTFMT_RELEASE_BINARY"), try shell("git --version && setsid --version") == 0 else {
            return run.note("sync is not killed: the command, git or setsid is missing")
        }
        var numbers = run.numbers(3)
        let clones = try KilledSync(String(cString: binary))
        let kills = run.isLong ? 400 : 12
        for number in 0..<kills where !run.isOver {
            do {
                try clones.killOne(&numbers)
                if number % 6 == 5 { try clones.settle() }
            } catch { return run.fail("kill \(number) of sync: \(error)") }
            run.count()
        }
        run.note("\(kills) kills of sync")
    }

    private init(_ binary: String) throws {
        self.binary = binary
        folder = try Folder()
        var key = [UInt8](repeating: 0x2B, count: 32)
        (key[0], key[1]) = (1, 0)
        try Files.write(key, to: folder.file("key"))
        try git(
            """
            git init -q --bare -b main hub.git
            git clone -q hub.git a
            """)
        _ = try Vault.create(at: path("a"), factors: try Keys.factors(1))
        try git(
            """
            cd a
            '\(binary)' git setup work.vault
            git add .
            git commit -q -m first
            git push -q -u origin HEAD:main
            cd ..
            git clone -q hub.git b
            cd b
            '\(binary)' git setup work.vault
            """)
        for clone in Self.clones { try store(clone) }
        try sync("a")
        let start = ContinuousClock.now
        try sync("b")
        duration = Int((ContinuousClock.now - start) / .microseconds(1))
        try settle()
    }

    // MARK: programs

    private func path(_ clone: String) -> String { folder.file("\(clone)/work.vault") }

    private func environment(_ clone: String = "") -> [String: String] {
        [
            "HOME": folder.path, "XDG_STATE_HOME": folder.file("state-\(clone)"), "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@example.org", "GIT_COMMITTER_NAME": "Test",
            "GIT_COMMITTER_EMAIL": "test@example.org",
        ]
    }

    private var output: String {
        get throws { String(decoding: try Files.read(folder.file("output")), as: UTF8.self) }
    }

    private func git(_ script: String) throws {
        let child = try Child(
            "/bin/sh", ["sh", "-e", "-c", "cd '\(folder.path)'\n\(script)"], environment: environment(),
            output: folder.file("output"))
        guard child.wait() == 0 else { throw Wrong("git: \(try output)") }
    }

    /// In a process group of its own, which has the git that it starts.
    private func startSync(_ clone: String) throws -> Child {
        let arguments = ["sync", path(clone), "--patience", "5", "--raw-key-file", folder.file("key"), "--no-input"]
        return try Child(
            "/usr/bin/env", ["env", "setsid", binary] + arguments, environment: environment(clone),
            output: folder.file("output"))
    }

    /// A git that outlives its `sync` has the repository locked for a while; one that was killed leaves its lock, and
    /// says that a person has to remove it.
    private func sync(_ clone: String) throws {
        for attempt in 0..<20 {
            let status = try startSync(clone).wait()
            if status == 0 { return }
            let said = try output
            if said.contains("a merge is in progress") {
                try git("cd \(clone); git merge --abort || git merge --quit")
            } else if said.contains("lock") || said.contains("kept pushing") {
                usleep(100_000)
                if attempt >= 3 {
                    try git("find . -name '*.lock' ! -name vaultfmt-sync.lock -delete")
                }
            } else {
                throw Wrong("sync of \(clone) ends with \(status): \(said)")
            }
        }
        throw Wrong("sync of \(clone) never ends well: \(try output)")
    }

    // MARK: killing

    private func store(_ clone: String) throws {
        serial += 1
        let name = "\(clone)-\(serial)"
        try open(clone, writable: true).set(try Model.key(name), secret: .init(text: name))
        stored[clone, default: []].insert(name)
    }

    private func open(_ clone: String, writable: Bool = false) throws -> Vault {
        var options = OpenOptions()
        options.writable = writable
        return try Vault.open(path(clone), factors: try Keys.factors(1), options: options)
    }

    private func killOne(_ numbers: inout Numbers) throws {
        for clone in Self.clones { try store(clone) }
        let victim = numbers.below(2)
        if numbers.chance(2) { try sync(Self.clones[1 - victim]) }
        let child = try startSync(Self.clones[victim])
        usleep(UInt32(numbers.below(duration * 5 / 4 + 1)))
        if numbers.chance(2) { kill(-child.pid, SIGKILL) }
        child.end()
        try check(Self.clones[victim], stored[Self.clones[victim], default: []])
    }

    private func check(_ clone: String, _ names: Set<String>) throws {
        let model = try Model(reading: try open(clone))
        let lost = names.filter { name in model.items[name].map { $0.secret != Array(name.utf8) } ?? true }
        guard lost.isEmpty else { throw Wrong("\(clone) has lost \(lost.sorted())") }
    }

    /// Both clones sync until they are equal; then each has everything, and nothing lies about.
    private func settle() throws {
        for clone in ["a", "b", "a"] { try sync(clone) }
        guard try Files.read(path("a")) == Files.read(path("b")) else { throw Wrong("the clones are not equal") }
        let all = stored.values.reduce(into: Set<String>()) { $0.formUnion($1) }
        for clone in Self.clones {
            try check(clone, all)
            stored[clone] = all
            let report = try open(clone).verify()
            guard report.isSound else { throw Wrong("\(clone) is not sound: \(report.problems)") }
            // What git gives to a merge driver it removes itself, unless it is killed.
            let left = Files.names(in: folder.file(clone)).filter { name in
                ![".git", ".gitattributes", "work.vault"].contains(name)
                    && !["work.vault.incomplete-", ".merge_file_"].contains { name.hasPrefix($0) }
            }
            guard left.isEmpty else { throw Wrong("left behind in \(clone): \(left)") }
            guard !Files.names(in: folder.file("\(clone)/.git")).contains("vaultfmt-theirs") else {
                throw Wrong("the other side's copy is left behind in \(clone)")
            }
            try git("cd \(clone); git fsck --strict --no-dangling; test -z \"$(git status --porcelain work.vault)\"")
        }
    }
}
