internal import CTestSupport
internal import Glibc
internal import Synchronization
internal import TestSupport

extension Part {
    static let terminal = Part(
        name: "terminal",
        about:
            "twenty helpers at once on one pseudo-terminal, killed and interrupted: one question at a time, nothing shown or sent"
    ) { run in
        guard let binary = getenv("VAULTFMT_RELEASE_BINARY").map({ String(cString: $0) }) else {
            return run.skip("Tools/harness says where the command is")
        }
        guard access("/usr/bin/git", X_OK) == 0, access("/usr/bin/python3", X_OK) == 0 else {
            return run.skip("git and python3 are not both here")
        }
        let totals = Mutex(TerminalTotals())
        let rounds = run.isLong ? 200 : 4
        let next = Atomic(0)
        // A few terminals at once, each with a vault and a server of its own: most of a round is waiting.
        Threads.run(4) { _ in
            do {
                let place = try TerminalPlace(binary: binary)
                while !run.isOver {
                    let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
                    guard number < rounds else { break }
                    var round = try TerminalRound(place, run.numbers(UInt64(number)))
                    do { try round.play() } catch { run.fail("round \(number): \(error)") }
                    for fault in round.faults { run.fail("round \(number): \(fault)") }
                    totals.withLock { $0.counts.add(round.counts) }
                    run.count()
                }
                let sent = try place.sentCredentials()
                run.check(
                    sent.allSatisfy { $0 == place.credentials },
                    "git sent something else than the credentials that the vault holds")
                totals.withLock { $0.requests += sent.count }
            } catch { run.fail("\(error)") }
        }
        let all = totals.withLock { $0 }
        run.check(all.counts.answers > 0 && all.requests > 0, "nothing was asked, or nothing was sent")
        run.note(all.counts.text + ", \(all.requests) requests with credentials")
    }
}

private struct TerminalTotals: Sendable {
    var counts = TerminalRound.Counts()
    var requests = 0
}

/// What the rounds of one thread use: a vault, a repository with eight remotes on a server that records what it is
/// sent.
final class TerminalPlace {
    /// Of a script that nothing else on the screen is in: each byte of them would be found there.
    static let passphrase = "Съешь же ещё этих мягких булок"
    static let otherSecret = "наш другой секрет"
    let credentials = Array("ann:server password".utf8)
    let folder: Folder
    let binary: String
    private let server: Child

    init(binary: String) throws {
        folder = try Folder()
        self.binary = binary
        try Files.write(Array(Self.passphrase.utf8), to: folder.file("passphrase"))
        let home = folder.path
        server = try Child(
            "/usr/bin/python3",
            [
                "python3", "Tests/Harness/Terminal/recording_server.py", "\(home)/served", "ann", "server password",
                "\(home)/port",
                "\(home)/sent",
            ])
        let script = """
            set -e
            export HOME='\(home)' XDG_STATE_HOME='\(home)/state' XDG_DATA_HOME='\(home)/data' GIT_CONFIG_NOSYSTEM=1
            export VAULTFMT_VAULT='\(home)/vault' VAULTFMT_PASSPHRASE_FILE='\(home)/passphrase'
            cd "$HOME"
            : >sent
            '\(binary)' create --kdf testing
            for i in $(seq \(test_patience * 10)); do [ -e port ] && break; sleep 0.1; done
            printf 'server password' | '\(binary)' set --server 127.0.0.1 --port "$(cat port)" --protocol http --account ann
            printf '\(Self.otherSecret)' | '\(binary)' set a b
            git config --global user.email test@example.org
            git config --global user.name Test
            git config --global init.defaultBranch main
            git config --global credential.helper "!'\(binary)' git-credential"
            git init -q work
            git -C work commit -q --allow-empty -m first
            for i in 1 2 3 4 5 6 7 8; do
                git clone -q --bare work served/$i.git
                git -C served/$i.git update-server-info
                git -C work remote add r$i http://127.0.0.1:"$(cat port)"/$i.git
            done
            """
        let code = try shell(script, output: folder.file("setup.log"))
        guard code == 0 else {
            throw Wrong("cannot set up: \(String(decoding: try Files.read(folder.file("setup.log")), as: UTF8.self))")
        }
    }

    /// Twenty processes that all want the passphrase: eight of git, six as git starts them, six in pipes from one to
    /// the other.
    var script: String {
        """
        cd "$HOME/work"
        git fetch --all -j 8 >"$HOME/git.log" 2>&1 &
        for i in 1 2 3 4 5 6; do
            printf 'protocol=http\\nhost=127.0.0.1:%s\\n\\n' "$(cat ../port)" | '\(binary)' git-credential get >../answer.$i &
        done
        for i in 1 2 3; do '\(binary)' get a b | '\(binary)' set a c$i & done
        wait
        """
    }

    var environment: [String] {
        let home = folder.path
        return [
            "HOME=\(home)", "XDG_STATE_HOME=\(home)/state", "XDG_DATA_HOME=\(home)/data", "GIT_CONFIG_NOSYSTEM=1",
            "PATH=/usr/bin:/bin",
            "VAULTFMT_VAULT=\(home)/vault", "TERM=xterm", "LC_ALL=C.UTF-8", "SWIFT_BACKTRACE=enable=no",
        ]
    }

    /// User and password of each request that had some.
    func sentCredentials() throws -> [[UInt8]] {
        let text = String(decoding: try Files.read(folder.file("sent")), as: UTF8.self)
        return text.split(separator: "\n").map { line in
            stride(from: 0, to: line.utf8.count - 1, by: 2).map { at in
                UInt8(line.dropFirst(at).prefix(2), radix: 16) ?? 0
            }
        }
    }
}
