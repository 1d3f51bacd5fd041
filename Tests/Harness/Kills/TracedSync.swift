internal import Glibc
internal import TestSupport
internal import VaultFmt

/// `vaultfmt sync` and each git that it starts are killed at each of their system calls. What was acknowledged stays,
/// and the next `sync` succeeds, or says in one line what to do, after which it succeeds.
extension Part {
    static let syncing = Part(
        name: "syncing", about: "sync and each git that it starts, killed at every system call"
    ) { run in
        guard let binary = getenv("VAULTFMT_RELEASE_BINARY").map({ String(cString: $0) }), Privilege.readsHardened,
            try shell("git --version && setsid --version && strace -e trace=none true") == 0
        else { return run.skip("the command, git, setsid or the right to trace is missing") }
        let template = try ClonesTemplate(binary)
        var kills: [SyncKill] = []
        for situation in ClonesTemplate.Situation.allCases {
            kills += try template.calls(of: situation)
        }
        let all = kills.count
        if !run.isLong {
            // Places in the list follow from the seed; git makes a few calls more or less from run to run.
            var numbers = run.numbers(5)
            kills = SyncKill.sample(kills, 16, &numbers)
        }
        let chosen = kills
        run.parallel(chosen.count) { index in
            do { try template.check(chosen[index]) } catch { run.fail("\(chosen[index]): \(error)") }
            run.count()
        }
        run.note("\(chosen.count) of \(all) system calls")
    }
}

/// A place where a program is killed.
struct SyncKill: Sendable, CustomStringConvertible {
    let situation: ClonesTemplate.Situation
    /// The number of the git, in the order in which they are started; 0 for `vaultfmt` itself.
    let program: Int
    let call: String
    /// The number of the call, among those of its name.
    let number: Int
    /// Whether everything is killed with it, as when the machine stops.
    let isTotal: Bool

    var description: String {
        "\(situation), \(program == 0 ? "vaultfmt" : "git \(program)") at \(call) \(number)\(isTotal ? ", with all others" : "")"
    }

    static func sample(_ all: [SyncKill], _ count: Int, _ numbers: inout Numbers) -> [SyncKill] {
        var rest = all
        var chosen: [SyncKill] = []
        while chosen.count < count, !rest.isEmpty { chosen.append(rest.remove(at: numbers.below(rest.count))) }
        return chosen
    }
}

/// Two clones of a repository with a vault, as they are before the `sync` that is killed in the second one.
final class ClonesTemplate: Sendable {
    enum Situation: String, CaseIterable {
        /// Only this clone has changed the vault.
        case pushes
        /// Only the other clone has.
        case fastForwards
        /// Both have, and other files too.
        case merges
    }

    private let folder: Folder
    private let binary: String

    init(_ binary: String) throws {
        self.binary = binary
        folder = try Folder()
        var key = [UInt8](repeating: 0x2B, count: 32)
        (key[0], key[1]) = (1, 0)
        try Files.write(key, to: folder.file("key"))
        // Git as `sync` finds it: the one that is to be killed runs under strace, which ends as git does.
        mkdir(folder.file("bin"), 0o700)
        try Files.write(Array(Self.wrapper.utf8), to: folder.file("bin/git"))
        chmod(folder.file("bin/git"), 0o700)
        for situation in Situation.allCases { try prepare(situation) }
    }

    private static let wrapper = """
        #!/bin/bash
        # Only those that sync itself starts.
        [[ -n $GIT_KILL_AT && -z $GIT_KILL_INSIDE ]] || exec /usr/bin/git "$@"
        export GIT_KILL_INSIDE=1
        number=$(($(cat "$GIT_KILL_FOLDER/count" 2>/dev/null || echo 0) + 1)); echo $number >"$GIT_KILL_FOLDER/count"
        if [[ $GIT_KILL_AT == all ]]; then exec strace -o "$GIT_KILL_FOLDER/git-$number" -e trace="$GIT_KILL_TRACE" /usr/bin/git "$@"; fi
        [[ $number == "$GIT_KILL_AT" ]] || exec /usr/bin/git "$@"
        [[ -n $GIT_KILL_TOTAL ]] || exec strace -o /dev/null -e trace="$GIT_KILL_CALL" -e inject="$GIT_KILL_CALL:signal=KILL:when=$GIT_KILL_NUMBER" /usr/bin/git "$@"
        strace -o /dev/null -e trace="$GIT_KILL_CALL" -e inject="$GIT_KILL_CALL:signal=KILL:when=$GIT_KILL_NUMBER" /usr/bin/git "$@"
        code=$?
        [[ $code != 137 ]] || kill -KILL 0
        exit $code
        """

    private func prepare(_ situation: Situation) throws {
        let place = folder.file(situation.rawValue)
        mkdir(place, 0o700)
        let script = """
            git init -q --bare -b main hub.git
            git clone -q hub.git a
            git -C a remote set-url origin ../hub.git
            """
        try self.script(script, in: place)
        _ = try Vault.create(at: "\(place)/a/work.vault", factors: try Keys.factors(1))
        try self.script(
            """
            cd a
            '\(binary)' git setup work.vault
            echo readme >readme
            git add .
            git commit -q -m first
            git push -q -u origin HEAD:main
            cd ..
            git clone -q hub.git b
            git -C b remote set-url origin ../hub.git
            cd b
            '\(binary)' git setup work.vault
            """, in: place)
        if situation != .pushes {
            try store("from-a", in: "\(place)/a")
            try self.script("cd a; echo a >in-a; git add in-a; git commit -q -m a", in: place)
            try sync("a", in: place)
        }
        if situation != .fastForwards {
            try store("from-b", in: "\(place)/b")
            try self.script("cd b; echo b >in-b; git add in-b; git commit -q -m b", in: place)
        }
    }

    // MARK: programs

    private func environment(_ place: String, _ clone: String) -> [String: String] {
        [
            "HOME": place, "XDG_STATE_HOME": "\(place)/state-\(clone)", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@example.org", "GIT_COMMITTER_NAME": "Test",
            "GIT_COMMITTER_EMAIL": "test@example.org",
        ]
    }

    private func script(_ script: String, in place: String) throws {
        let child = try Child(
            "/bin/sh", ["sh", "-e", "-c", "cd '\(place)'\n\(script)"], environment: environment(place, ""),
            output: "\(place)/output")
        guard child.wait() == 0 else { throw Wrong("\(script): \(try output(place))") }
    }

    private func output(_ place: String) throws -> String {
        String(decoding: try Files.read("\(place)/output"), as: UTF8.self)
    }

    private func sync(
        _ clone: String, in place: String, under wrapper: [String] = [], _ settings: [String: String] = [:]
    ) throws -> Int32 {
        let arguments =
            ["env", "setsid", "--wait"] + wrapper + [
                binary, "sync", "\(place)/\(clone)/work.vault", "--patience", "60",
            ]
            + ["--raw-key-file", folder.file("key"), "--no-input", "--wait", "2"]
        let child = try Child(
            "/usr/bin/env", arguments,
            environment: environment(place, clone).merging(settings) { _, new in new }, output: "\(place)/output")
        return child.wait()
    }

    private func sync(_ clone: String, in place: String) throws {
        let status: Int32 = try sync(clone, in: place)
        guard status == 0 else { throw Wrong("sync of \(clone) ends with \(status): \(try output(place))") }
    }

    private func store(_ name: String, in clone: String) throws {
        var options = OpenOptions()
        options.writable = true
        try Vault.open("\(clone)/work.vault", factors: try Keys.factors(1), options: options)
            .set(try Model.key(name), secret: .init(text: name))
    }

    // MARK: what can be killed

    /// Calls that can change files or processes. Killed at a call between two of them, a program leaves what it leaves
    /// when it is killed at the second.
    private static let changing = [
        "openat", "write", "pwrite64", "rename", "renameat", "renameat2", "unlink", "unlinkat", "link", "linkat",
        "mkdir", "mkdirat", "rmdir",
        "ftruncate", "fsync", "fdatasync", "chmod", "fchmod", "symlink", "close", "fcntl", "flock", "clone", "clone3",
        "vfork", "execve", "wait4",
        "exit_group", "copy_file_range",
    ]

    /// The system calls of `vaultfmt` and of each git during a `sync`.
    func calls(of situation: Situation) throws -> [SyncKill] {
        let place = try copy(situation)
        let traced = Self.changing.joined(separator: ",")
        let status = try sync(
            "b", in: place.path, under: ["strace", "-o", place.file("git-0"), "-e", "trace=\(traced)"],
            settings(place, ["GIT_KILL_AT": "all", "GIT_KILL_TRACE": traced]))
        guard status == 0 else { throw Wrong("\(situation) fails by itself: \(try output(place.path))") }
        var kills: [SyncKill] = []
        var program = 0
        while Files.status(place.file("git-\(program)")) != nil {
            var counts: [String: Int] = [:]
            for line in String(decoding: try Files.read(place.file("git-\(program)")), as: UTF8.self).split(
                separator: "\n")
            {
                let name = String(line.prefix { $0 != "(" })
                guard line.contains("("), !name.contains(" ") else { continue }
                counts[name, default: 0] += 1
                for isTotal in program == 0 ? [false] : [false, true] {
                    kills.append(
                        SyncKill(
                            situation: situation, program: program, call: name, number: counts[name, default: 0],
                            isTotal: isTotal))
                }
            }
            program += 1
        }
        guard program > 8 else { throw Wrong("\(situation) starts only \(program - 1) gits") }
        return kills
    }

    private func settings(_ place: Folder, _ more: [String: String]) -> [String: String] {
        more.merging(["GIT_KILL_FOLDER": place.path, "PATH": "\(folder.file("bin")):/usr/bin:/bin"]) { old, _ in old }
    }

    private func copy(_ situation: Situation) throws -> Folder {
        let place = try Folder()
        guard try shell("cp -a '\(folder.file(situation.rawValue))/.' '\(place.path)'") == 0 else {
            throw Wrong("cannot copy the clones")
        }
        return place
    }

    // MARK: killing

    func check(_ kill: SyncKill) throws {
        let place = try copy(kill.situation)
        let injection = "inject=\(kill.call):signal=KILL:when=\(kill.number)"
        if kill.program == 0 {
            _ = try sync(
                "b", in: place.path, under: ["strace", "-o", "/dev/null", "-e", "trace=\(kill.call)", "-e", injection])
        } else {
            var killing = [
                "GIT_KILL_AT": "\(kill.program)", "GIT_KILL_CALL": kill.call, "GIT_KILL_NUMBER": "\(kill.number)",
            ]
            if kill.isTotal { killing["GIT_KILL_TOTAL"] = "1" }
            let status = try sync("b", in: place.path, settings(place, killing))
            let lines = Self.failures(try output(place.path))
            guard kill.isTotal || status == 0 || lines.count == 1 else {
                throw Wrong("a killed git makes sync end with \(status): \(try output(place.path))")
            }
        }
        try untilQuiet(place)
        let mine: Set = kill.situation == .fastForwards ? [] : ["from-b"]
        try holds(mine, "\(place.path)/b/work.vault", place)
        try recover(in: place)
        let all = mine.union(kill.situation == .pushes ? [] : ["from-a"])
        try holds(all, "\(place.path)/b/work.vault", place)
        try sync("a", in: place.path)
        guard try Files.read(place.file("a/work.vault")) == Files.read(place.file("b/work.vault")) else {
            throw Wrong("the clones are not equal")
        }
        for file in ["in-a", "in-b"]
        where Files.status("\(folder.file(kill.situation.rawValue))/\(file.suffix(1))/\(file)") != nil {
            guard Files.status(place.file("a/\(file)")) != nil, Files.status(place.file("b/\(file)")) != nil else {
                throw Wrong("\(file) did not arrive")
            }
        }
        try script(
            "git -C hub.git fsck --strict --no-dangling; test -z \"$(git -C b status --porcelain work.vault)\"",
            in: place.path)
        let left = Files.names(in: place.file("b/.git")).filter { $0.hasPrefix("vaultfmt-sync-") }
        guard left.isEmpty else { throw Wrong("left behind: \(left)") }
    }

    /// The lines that say what failed: all but the one about a vault that the machine sees for the first time.
    private static func failures(_ said: String) -> [Substring] {
        said.split(separator: "\n").filter {
            $0.hasPrefix("vaultfmt: ") && !$0.contains("has not seen this vault before")
        }
    }

    /// Waits for what a killed `sync` has left running.
    private func untilQuiet(_ place: Folder) throws {
        let end = ContinuousClock.now + .seconds(60)
        while Files.names(in: "/proc").contains(where: { name in
            guard UInt32(name) != nil, let folder = realpath("/proc/\(name)/cwd", nil) else { return false }
            defer { free(folder) }
            return String(cString: folder).hasPrefix(place.path)
        }) {
            guard ContinuousClock.now < end else { throw Wrong("something is still running") }
            usleep(10_000)
        }
    }

    private func holds(_ names: Set<String>, _ path: String, _ place: Folder) throws {
        let model = try Model(reading: try Vault.open(path, factors: try Keys.factors(1)))
        let lost = names.filter { name in model.items[name].map { $0.secret != Array(name.utf8) } ?? true }
        guard lost.isEmpty else { throw Wrong("\(path) has lost \(lost.sorted())") }
    }

    /// Syncs, and does what `sync` says if it cannot.
    private func recover(in place: Folder) throws {
        for _ in 0..<6 {
            let status: Int32 = try sync("b", in: place.path)
            if status == 0 { return }
            let said = try output(place.path)
            guard Self.failures(said).count == 1 else {
                throw Wrong("the next sync ends with \(status) and says: \(said)")
            }
            if status == 75, let path = said.firstMatch(of: /if no git is running, delete '([^']*\.lock)'/)?.1 {
                guard path.hasPrefix(place.path), unlink(String(path)) == 0 else {
                    throw Wrong("no such lock: \(said)")
                }
            } else if status == 64, said.contains("finish it with 'git commit' or 'git merge --abort'") {
                try script("cd b; git merge --abort", in: place.path)
            } else if status == 74,
                said.contains("untracked working tree files would be overwritten by merge")
                    || said.contains("git would overwrite 'in-a', which it does not track")
            {
                // Git's words, or those of `sync`: a checkout was killed in the middle of the file, or after it.
                try script("cd b; rm -f in-a", in: place.path)
            } else {
                throw Wrong("the next sync ends with \(status): \(said)")
            }
        }
        throw Wrong("sync never succeeds: \(try output(place.path))")
    }
}
