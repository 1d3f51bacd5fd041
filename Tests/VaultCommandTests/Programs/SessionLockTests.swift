import Foundation
import Testing

/// An agent that follows logind, which is another program on a system bus of the test's own.
@Suite(
    "The agent locks with the session",
    .enabled(if: Machine.has("dbus-daemon") && Machine.has("busctl") && Jeepney.isInstalled))
struct SessionLockTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        sandbox.environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=" + sandbox.path("system")
        return sandbox
    }

    /// Runs a script with functions for the bus, for what logind does, and for waiting.
    private func script(_ sandbox: Sandbox, _ script: String) throws {
        let logind = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("logind.py")
        try sandbox.okShell(
            """
            eventually() { for _ in $(seq 600); do if "$@"; then return; fi; sleep 0.1; done; echo "never: $*" >&2; exit 1; }
            does() { busctl --system call org.freedesktop.login1 / org.example.Test "$@"; }
            is() { [[ $(does "$@" 2> calls) == 'b true' ]]; }
            has_logind() { does Client > /dev/null 2>&1; }
            start_bus() {
                rm -f system
                dbus-daemon --session --fork --address="$DBUS_SYSTEM_BUS_ADDRESS" --print-pid=3 3> bus.pid
            }
            start_logind() {
                /usr/bin/python3 '\(logind.path)' "$(id -u)" > logind.log 2>&1 < /dev/null &
                logind=$!
                eventually has_logind
            }
            start_agent() { eval "$(vaultfmt agent --daemon --lock-with-session "$@")"; }
            locked() { vaultfmt agent status > status && grep -q "^locked: $1" status; }
            open() { vaultfmt agent status > status && grep -q '^open' status; }
            end() { vaultfmt agent stop 2> /dev/null || true; kill $logind "$(cat bus.pid)" 2> /dev/null || true; }
            logind=
            start_bus
            trap end EXIT
            vaultfmt set server --ssh-generate ed25519 2> /dev/null

            """ + script)
    }

    @Test(
        "The vault is locked with the session, however logind tells of it",
        arguments: [
            ("Lock s 1", "the session was locked"), ("Hint sb 1 true", "the session was locked"),
            ("End s 1", "the session has ended"), ("Lock s 2", "the session was locked"),
            ("Close s 1", "the session has ended"),
        ])
    func locks(call: String, reason: String) throws {
        try script(
            try sandbox(),
            """
            start_logind
            does Begin sssss 1 user wayland seat0 ''
            start_agent
            open
            ssh-add -L | grep -q ' server$'
            # A session that begins later counts, too.
            does Begin sssss 2 user x11 '' ''
            eventually is WasAsked s 2
            does \(call)
            eventually locked '\(reason)'
            fails ssh-add -L
            """)
    }

    @Test("The machine sleeps when the vault is locked, and not before")
    func sleep() throws {
        try script(
            try sandbox(),
            """
            start_logind
            start_agent 2> notes
            grep -q 'you have no local or graphical session' notes
            is IsDelayed
            open
            does Sleep b true
            not_delayed() { ! is IsDelayed; }
            eventually not_delayed
            locked 'the machine was about to sleep'
            does Sleep b false
            eventually is IsDelayed
            """)
    }

    @Test("A session that is locked when the agent starts locks the vault")
    func lockedAlready() throws {
        try script(
            try sandbox(),
            """
            start_logind
            does Begin sssss 1 user wayland seat0 ''
            does Hint sb 1 true
            start_agent
            eventually locked 'the session was locked'
            """)
    }

    @Test("On demand, a key file opens the vault neither after a lock with the session nor while logind is away")
    func onDemand() throws {
        try script(
            try sandbox(),
            """
            vaultfmt generate --key-file agent.key
            vaultfmt slot add --new-key-file agent.key --grant-group ssh --create-group
            vaultfmt set scoped --group ssh --ssh-generate ed25519
            unset VAULTFMT_PASSPHRASE
            start_logind
            does Begin sssss 1 user wayland seat0 ''
            start_agent --on-demand --key-file "$PWD/agent.key"
            ssh-add -L
            does Hint sb 1 true
            eventually locked 'the session was locked'
            fails ssh-add -L
            locked "the session was locked; it is opened again after 'vaultfmt unlock'"
            vaultfmt agent stop
            does Hint sb 1 false
            start_agent --on-demand --key-file "$PWD/agent.key"
            kill $logind
            eventually locked 'systemd-logind has ended'
            fails ssh-add -L
            """)
    }

    @Test("Neither other users' sessions nor signals of strangers lock the vault")
    func strangers() throws {
        try script(
            try sandbox(),
            """
            start_logind
            does Begin sssss 1 user wayland seat0 ''
            does Begin sssss 2 user wayland seat1 4711
            does Begin sssss 3 greeter wayland seat0 ''
            does Begin sssss 4 user tty '' ''
            start_agent
            for name in 2 3 4; do
                does Hint sb $name true
                does Lock s $name
                does End s $name
            done
            agent=$(does Client | cut -d'"' -f2)
            session=/org/freedesktop/login1/session/_31
            forged() { dbus-send --bus="$DBUS_SYSTEM_BUS_ADDRESS" --type=signal --dest="$agent" "$@"; }
            forged $session org.freedesktop.login1.Session.Lock
            forged /org/freedesktop/login1 org.freedesktop.login1.Manager.PrepareForSleep boolean:true
            forged /org/freedesktop/login1 org.freedesktop.login1.Manager.SessionRemoved string:1 objpath:$session
            forged /org/freedesktop/DBus org.freedesktop.DBus.NameOwnerChanged string:org.freedesktop.login1 string: string:
            # What came before that has been seen when this is asked about.
            does Begin sssss 5 user wayland seat0 ''
            eventually is WasAsked s 5
            open
            ssh-add -L | grep -q ' server$'
            does Lock s 1
            eventually locked 'the session was locked'
            """)
    }

    @Test("On a machine with many sessions, those of the user are followed")
    func crowd() throws {
        try script(
            try sandbox(),
            """
            start_logind
            does Crowd i 700
            does Begin sssss 1 user wayland seat0 ''
            start_agent
            open
            does Lock s 1
            eventually locked 'the session was locked'
            """)
    }

    @Test("The session that the agent was started in counts, whatever its kind")
    func ownSession() throws {
        let sandbox = try sandbox()
        sandbox.environment["XDG_SESSION_ID"] = "4"
        try script(
            sandbox,
            """
            start_logind
            does Begin sssss 4 user tty '' ''
            start_agent
            open
            does End s 4
            eventually locked 'the session has ended'
            """)
    }

    @Test("Without a bus or without logind, the agent does not start, and says what is missing")
    func missing() throws {
        try script(
            try sandbox(),
            """
            status=0
            vaultfmt agent --lock-with-session 2> refusal || status=$?
            [[ $status == 69 ]]
            grep -q 'systemd-logind.* is not on the system bus' refusal
            status=0
            DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nowhere vaultfmt agent --lock-with-session 2> refusal || status=$?
            [[ $status == 69 ]]
            grep -q "cannot connect to the system bus" refusal
            [[ ! -e vaultfmt/agent.sock ]]
            """)
    }

    @Test(
        "While logind or the bus is gone, the vault is locked, and 'vaultfmt unlock' does not open it",
        .enabled(if: Machine.hasKeyring), arguments: ["logind", "bus"])
    func loss(of what: String) throws {
        let sandbox = try sandbox()
        try script(
            sandbox,
            """
            start_logind
            does Begin sssss 1 user wayland seat0 ''
            vaultfmt unlock --for 1h
            unlock() { VAULTFMT_PASSPHRASE='\(Sandbox.passphrase)' vaultfmt unlock --for 1h; }
            unset VAULTFMT_PASSPHRASE
            start_agent --when-unlocked
            ssh-add -L | grep -q ' server$'
            case \(what) in
            logind) kill $logind ;;
            bus) kill "$(cat bus.pid)" ;;
            esac
            eventually locked '.* has ended: a locked session would go unnoticed'
            fails vaultfmt get server --no-input
            unlock
            fails ssh-add -L
            locked '.*a locked session would go unnoticed'
            if [[ \(what) == bus ]]; then start_bus; fi
            start_logind
            eventually ssh-add -L
            vaultfmt lock
            """)
    }
}

/// The Python library for D-Bus, with which the tests' other programs on a bus are written.
enum Jeepney {
    static let isInstalled: Bool = {
        do { return try Sandbox().run(["-c", "import jeepney"], program: "/usr/bin/python3").status == 0 } catch {
            return false
        }
    }()
}
