import CTestSupport
import Foundation
import Testing

/// The Secret Service on a bus of its own, as the clients of desktops use it.
@Suite("The Secret Service and its clients", .enabled(if: Machine.has("dbus-run-session")))
struct SecretServiceTests {
    private func sandbox() throws -> Sandbox {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        return sandbox
    }

    /// Runs a script in a session with a bus and the agent.
    private func session(_ sandbox: Sandbox, _ options: String = "", _ script: String) throws {
        let beginning = """
            fails() { if "$@"; then echo "should have failed: $*" >&2; exit 1; fi; }
            call() { busctl --user call org.freedesktop.secrets "$@"; }
            service() { call /org/freedesktop/secrets org.freedesktop.Secret.Service "$@"; }
            eval "$(vaultfmt agent --collection desktop --daemon \(options))"
            trap 'kill $SSH_AGENT_PID' EXIT

            """
        try Data((beginning + script).utf8).write(to: URL(fileURLWithPath: sandbox.path("script")))
        // The bus says on standard error what it cannot do here.
        try sandbox.okShell("dbus-run-session -- bash -euo pipefail script 2> errors || { cat errors >&2; exit 1; }")
    }

    @Test(
        "secret-tool stores, finds, replaces and deletes, and so does vaultfmt",
        .enabled(if: Machine.has("secret-tool")))
    func libsecret() throws {
        try session(
            try sandbox(), "",
            """
            printf one | secret-tool store --label 'A label' service s username u note ''
            [[ $(secret-tool lookup service s) == one ]]
            [[ $(vaultfmt get s u) == one ]]
            printf two | secret-tool store --label 'A label' service s username u note ''
            [[ $(secret-tool lookup username u service s) == two ]]
            [[ $(vaultfmt get s u --earlier 1) == one ]]
            printf three | vaultfmt set s u
            [[ $(secret-tool lookup service s) == three ]]
            secret-tool search --all service s 2>&1 | grep -q '^attribute.username = u'
            fails secret-tool lookup service t
            secret-tool clear service s
            fails secret-tool lookup service s
            fails vaultfmt get s u
            printf four | vaultfmt set made ann --group desktop
            [[ $(secret-tool lookup service made username ann) == four ]]
            printf five | vaultfmt set bank ann --group bank
            fails secret-tool lookup service bank
            vaultfmt agent status | grep -q "secret-tool (.*deleted the item A label"
            """)
    }

    @Test(
        "On demand, a search waits for the passphrase, and so does what is locked again",
        .enabled(if: Machine.has("secret-tool")))
    func onDemand() throws {
        let sandbox = try sandbox()
        try sandbox.okShell("printf one | vaultfmt set made ann --group desktop")
        sandbox.forgetPassphrase()
        let pinentry = """
            #!/bin/bash
            echo 'OK Pleased to meet you'
            while IFS=' ' read -r command rest; do
                echo "$command $rest" >> '\(sandbox.path("told"))'
                if [[ $command == GETPIN ]]; then echo 'D \(Sandbox.passphrase)'; fi
                echo OK
            done
            """
        chmod(try sandbox.write("pin", (pinentry + "\n").utf8), 0o700)
        try session(
            sandbox, "--on-demand --pinentry '\(sandbox.path("pin"))'",
            """
            [[ $(secret-tool lookup service made username ann) == one ]]
            grep -q "^SETDESC Unlock the vault '.*' for 'secret-tool' (process [0-9]*)?$" told
            [[ $(grep -c '^GETPIN' told) == 1 ]]
            vaultfmt lock || true
            [[ $(secret-tool lookup service made username ann) == one ]]
            [[ $(grep -c '^GETPIN' told) == 2 ]]
            """)
    }

    @Test("A new client is answered while children of the agent end", .enabled(if: Machine.has("busctl")))
    func childrenEnd() throws {
        try session(
            try sandbox(), "",
            """
            # As when a program ends that has asked a person.
            while kill -CHLD "$SSH_AGENT_PID"; do :; done 2> errors-of-kill &
            signals=$!
            for _ in $(seq 100); do service ReadAlias s default > alias; done
            kill "$signals"
            grep -q '"/org/freedesktop/secrets/collection/desktop"' alias
            """)
    }

    @Test("What was stored survives an export and an import", .enabled(if: Machine.has("secret-tool")))
    func exchange() throws {
        try session(
            try sandbox(), "",
            """
            printf one | secret-tool store --label 'A label' label x ssh offer xdg:schema org.x server s
            echo 'pass word' > pw
            vaultfmt export --output list.json
            vaultfmt export --format kdbx --output list.kdbx --new-passphrase-file pw
            for source in list.json 'list.kdbx --source-passphrase-file pw'; do
                secret-tool clear label x
                fails secret-tool lookup label x
                vaultfmt import $source
                [[ $(secret-tool lookup label x ssh offer server s xdg:schema org.x) == one ]]
            done
            fails ssh-add -l
            """)
    }

    @Test(
        "Python's secretstorage and keyring store, change, lock and unlock",
        .enabled(if: access("/usr/lib/python3/dist-packages/keyring", F_OK) == 0))
    func python() throws {
        let sandbox = try sandbox()
        let client = """
            import keyring, secretstorage
            from keyring.backends import SecretService
            bus = secretstorage.dbus_init()
            collection = secretstorage.get_default_collection(bus)
            item = collection.create_item('L', {'a': 'ü'}, b'\\0\\xff' * 500, replace=True, content_type='x/y')
            assert item.get_secret() == b'\\0\\xff' * 500 and item.get_secret_content_type() == 'x/y'
            item.set_label('M'); item.set_attributes({'b': '1'}); item.set_secret(b'x' * 100000)
            assert [other.get_label() for other in collection.search_items({'b': '1'})] == ['M']
            assert item.get_secret() == b'x' * 100000
            item.set_secret(b'y' * (1 << 20))
            assert item.get_secret() == b'y' * (1 << 20)
            try:
                item.set_secret(b'z' * ((1 << 20) + 1))
                raise SystemExit('a secret of more than a MiB was stored')
            except Exception as error:
                assert 'at most 1048576 bytes' in str(error), error
            item.delete()
            photos = secretstorage.create_collection(bus, 'Photos', 'photos')
            photos.create_item('P', {'p': '1'}, b'p')
            assert secretstorage.get_collection_by_alias(bus, 'photos').get_label() == 'Photos'
            assert [c.get_label() for c in secretstorage.get_all_collections(bus)] == ['desktop', 'Photos']
            ring = SecretService.Keyring()
            ring.set_password('svc', 'joe', 'one'); ring.set_password('svc', 'joe', 'two')
            assert ring.get_password('svc', 'joe') == 'two' and ring.get_credential('svc', None).username == 'joe'
            assert ring.get_password('svc', 'ann') is None
            collection.lock()
            assert collection.is_locked() and collection.unlock()
            try:
                ring.get_password('svc', 'joe')
                raise SystemExit('it was read while locked')
            except keyring.errors.KeyringLocked:
                pass
            """
        try Data(client.utf8).write(to: URL(fileURLWithPath: sandbox.path("client.py")))
        try session(
            sandbox, "",
            """
            /usr/bin/python3 client.py
            [[ $(vaultfmt get svc joe) == two ]]
            [[ $(vaultfmt get P --group desktop/Photos) == p ]]
            vaultfmt agent status | grep -q '^locked: a client of the Secret Service locked it'
            """)
    }

    @Test(
        "docker's helper stores, lists and erases",
        .enabled(if: Machine.has("docker-credential-secretservice")))
    func docker() throws {
        try session(
            try sandbox(), "",
            """
            helper=docker-credential-secretservice
            echo '{"ServerURL":"https://r.example/","Username":"u","Secret":"one"}' | $helper store
            [[ $(echo https://r.example/ | $helper get) == *'"Secret":"one"'* ]]
            [[ $($helper list) == '{"https://r.example/":"u"}' ]]
            echo https://r.example/ | $helper erase
            [[ $($helper list) == '{}' ]]
            """)
    }

    @Test("With --confirm, a person agrees or not", .enabled(if: Machine.has("secret-tool")))
    func confirmation() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            printf '#!/bin/sh\\necho "$1" >> asked\\nexec test -e yes\\n' > ask
            chmod +x ask
            """)
        sandbox.environment["SSH_ASKPASS"] = sandbox.path("ask")
        try session(
            sandbox, "--confirm",
            """
            printf one | secret-tool store --label L service s
            fails secret-tool lookup service s
            vaultfmt agent status | grep -q "secret-tool (.*refused: read and change .*'L'.*: a person did not agree"
            touch yes
            [[ $(secret-tool lookup service s) == one ]]
            question="^Allow 'secret-tool' (process [0-9]*) to read and change the secret 'L' in 'desktop'?"
            [[ $(grep -c "$question" asked) == 2 ]]
            rm yes
            printf two | secret-tool store --label L service s || true
            [[ $(vaultfmt get s) == one ]]
            touch yes
            printf two | secret-tool store --label L service s
            [[ $(vaultfmt get s) == two ]]
            """)
    }

    @Test(
        "With --confirm, a program that unlocks only the collection is answered when a person has agreed",
        .enabled(if: Machine.has("secret-tool") && Machine.has("busctl")))
    func waiting() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            printf '#!/bin/sh\necho "$1" >> asked\nread -r word < answer\n[ "$word" = yes ]\n' > ask
            chmod +x ask
            mkfifo answer
            """)
        sandbox.environment["SSH_ASKPASS"] = sandbox.path("ask")
        // A session is its connection's own, so that a client of one connection is needed.
        let client = """
            import jeepney
            from jeepney.io.blocking import open_dbus_connection
            bus = open_dbus_connection()
            def call(path, interface, *rest):
                address = jeepney.DBusAddress(path, 'org.freedesktop.secrets', 'org.freedesktop.Secret.' + interface)
                return bus.send_and_get_reply(jeepney.new_method_call(address, *rest))
            service = '/org/freedesktop/secrets'
            session = call(service, 'Service', 'OpenSession', 'sv', ('plain', ('s', ''))).body[1]
            item = call(service, 'Service', 'SearchItems', 'a{ss}', ({'s': '1'},)).body[1][0]
            reply = call(item, 'Item', 'GetSecret', 'o', (session,))
            print(reply.header.message_type.name, bytes(reply.body[0][2]) if len(reply.body[0]) == 4 else '')
            """
        try Data(client.utf8).write(to: URL(fileURLWithPath: sandbox.path("client.py")))
        try session(
            sandbox, "--confirm",
            """
            /usr/bin/python3 -c 'import jeepney' || exit 0
            printf one | secret-tool store --label L s 1
            # The person answers as soon as there is a question.
            answer() { timeout 120 bash -c "echo $1 > answer"; vaultfmt agent status | grep -q '^open'; }
            answer no & /usr/bin/python3 client.py | grep '^error'
            wait $!
            answer yes & /usr/bin/python3 client.py | grep "^method_return b'one'"
            wait $!
            [[ $(wc -l < asked) == 2 ]]
            """)
    }

    @Test(
        "When the bus has ended and is back, the Secret Service is, too",
        .enabled(if: Machine.has("dbus-daemon") && Machine.has("busctl")))
    func restartedBus() throws {
        try session(
            try sandbox(), "",
            """
            vaultfmt agent stop
            export DBUS_SESSION_BUS_ADDRESS=unix:path=$PWD/bus
            start() { rm -f bus; dbus-daemon --session --fork --address=unix:path=$PWD/bus --print-pid=3 3> pid; }
            start
            eval "$(vaultfmt agent --collection desktop --daemon)"
            service ReadAlias s default
            kill "$(cat pid)"
            for _ in $(seq 300); do
                vaultfmt agent status | grep -q '^Secret Service: not served' && break
                sleep 0.1
            done
            start
            trap 'kill $SSH_AGENT_PID "$(cat pid)"' EXIT
            for _ in $(seq 900); do
                vaultfmt agent status | grep -q 'is served again' && break
                sleep 0.1
            done
            [[ $(service ReadAlias s default) == 'o "/org/freedesktop/secrets/collection/desktop"' ]]
            vaultfmt agent status | grep -q '^Secret Service: served'
            """)
    }

    @Test("A scoped slot gives its own group, and stores nothing", .enabled(if: Machine.has("secret-tool")))
    func scoped() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            """
            printf one | vaultfmt set mail u --group desktop
            printf two | vaultfmt set web u --group work
            vaultfmt generate --key-file desktop.key
            vaultfmt slot add --new-key-file desktop.key --name d --grant-group desktop
            """)
        sandbox.forgetPassphrase()
        try session(
            sandbox, "--collection work --key-file desktop.key",
            """
            [[ $(secret-tool lookup service mail) == one ]]
            fails secret-tool lookup service web
            fails secret-tool store --label L service s <<< three
            grep -q 'AccessDenied\\|reading only' errors
            grep -q "not served: 'work': the slot" errors
            served="read-only; collections: 'desktop', 'work' (not granted by the slot)"
            vaultfmt agent status | grep -q "^Secret Service: served as org.freedesktop.secrets; $served"
            vaultfmt agent status | grep -q "refused: store the secret 'L' in 'desktop'"
            vaultfmt agent stop
            trap - EXIT
            status=0
            vaultfmt agent --collection work --key-file desktop.key 2> refusal || status=$?
            [[ $status == 77 ]]
            grep -q "does not grant 'work'" refusal
            """)
    }

    @Test("The bus's name is taken from nobody, and given to nobody", .enabled(if: Machine.has("busctl")))
    func ownership() throws {
        try session(
            try sandbox(), "",
            """
            mkdir -m 700 other
            for option in '' --replace; do
                status=0
                XDG_RUNTIME_DIR=$PWD/other vaultfmt agent --collection x $option 2> refusal || status=$?
                [[ $status == 75 ]]
                grep -q 'has the name org.freedesktop.secrets' refusal
            done
            [[ $(service ReadAlias s default) == 'o "/org/freedesktop/secrets/collection/desktop"' ]]
            status=0
            DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere XDG_RUNTIME_DIR=$PWD/other vaultfmt agent --collection x || status=$?
            [[ $status == 69 ]]
            status=0
            SSH_ASKPASS=/nowhere XDG_RUNTIME_DIR=$PWD/other vaultfmt agent --collection x --confirm || status=$?
            [[ $status == 69 ]]
            """)
    }

    @Test("After 'agent stop', the bus's name is free for the next agent")
    func stopping() throws {
        try session(
            try sandbox(), "",
            """
            for _ in 1 2 3 4 5; do
                vaultfmt agent stop
                eval "$(vaultfmt agent --collection desktop --daemon)"
            done
            vaultfmt agent status | grep -q '^open'
            """)
    }

    @Test("'agent stop' ends a question, and the program that waits for it", .enabled(if: Machine.has("secret-tool")))
    func stoppingMeanwhile() throws {
        let sandbox = try sandbox()
        try sandbox.okShell("printf '#!/bin/sh\\n: > asked\\nexec sleep 1000\\n' > ask; chmod +x ask")
        sandbox.environment["SSH_ASKPASS"] = sandbox.path("ask")
        try session(
            sandbox, "--confirm",
            """
            printf one | secret-tool store --label L service s
            secret-tool lookup service s > found &
            for _ in $(seq 600); do [[ -e asked ]] && break; sleep 0.1; done
            vaultfmt agent stop
            status=0; wait $! || status=$?
            [[ $status != 0 && ! -s found ]]
            trap - EXIT
            """)
    }

    @Test("A program that asks does not outlive an agent that is killed", .enabled(if: Machine.has("secret-tool")))
    func killed() throws {
        let sandbox = try sandbox()
        try sandbox.okShell(
            "printf '#!/bin/sh\\necho $$ > new\\nmv new asked\\nexec sleep 1000\\n' > ask; chmod +x ask")
        sandbox.environment["SSH_ASKPASS"] = sandbox.path("ask")
        try session(
            sandbox, "--confirm",
            """
            printf one | secret-tool store --label L service s
            secret-tool lookup service s > found &
            for _ in $(seq 600); do [[ -e asked ]] && break; sleep 0.1; done
            trap - EXIT
            kill -KILL $SSH_AGENT_PID
            # Nobody may wait for it, so that it stays as a zombie.
            state() { cut -d ' ' -f 3 "/proc/$(cat asked)/stat" 2> /dev/null || echo Z; }
            for _ in $(seq 600); do [[ $(state) == Z ]] && break; sleep 0.1; done
            [[ $(state) == Z ]]
            # secret-tool would wait for the answer to the question that is gone.
            kill $!
            wait $! || true
            """)
    }

    @Test("Strange calls are refused, and clients that leave are forgotten", .enabled(if: Machine.has("busctl")))
    func strangeCalls() throws {
        try session(
            try sandbox(), "",
            """
            refused() { words=$1; shift; fails service "$@" 2> refusal; grep -q "$words" refusal; }
            refused 'too deep' SearchItems aaaaaaaaaas 1 1 1 1 1 1 1 1 1 1 x
            refused 'too many values' SearchItems as 5000 $(seq 1 5000)
            refused 'too much text' SearchItems as 30 $(for i in $(seq 30); do printf '%9000d ' 7 | tr ' ' x; echo; done)
            refused 'not those of the method' SearchItems ai 2 1 2
            refused 'not those of the method' OpenSession su plain 0
            refused 'given twice' SearchItems 'a{ss}' 2 a 1 a 2
            refused 'no such method' Shutdown
            refused 'not supported' OpenSession sv rot13 s ''
            fails call /org/freedesktop/secrets/session/1 org.freedesktop.Secret.Session Close
            for i in $(seq 520); do
                dbus-send --session --dest=org.freedesktop.secrets --print-reply=literal /org/freedesktop/secrets \
                    org.freedesktop.Secret.Service.ReadAlias string:default > /dev/null
            done
            busctl --user tree org.freedesktop.secrets > tree
            grep -q /org/freedesktop/secrets/collection/desktop tree
            grep -q /org/freedesktop/secrets/aliases/default tree
            vaultfmt agent status | grep -q '^open'
            """)
    }

    @Test(
        "Between lock and unlock, prompts follow 'vaultfmt unlock'",
        .enabled(if: Machine.hasKeyring && Machine.has("busctl")))
    func unlocking() throws {
        let sandbox = try sandbox()
        sandbox.forgetPassphrase()
        try session(
            sandbox, "--when-unlocked",
            """
            locked() { busctl --user get-property org.freedesktop.secrets /org/freedesktop/secrets/aliases/default \\
                org.freedesktop.Secret.Collection Locked; }
            [[ $(locked) == 'b true' ]]
            fails service SearchItems 'a{ss}' 0
            VAULTFMT_PASSPHRASE='\(Sandbox.passphrase)' vaultfmt unlock --for 60s
            [[ $(locked) == 'b false' ]]
            service SearchItems 'a{ss}' 0
            service Lock ao 1 /org/freedesktop/secrets/collection/desktop
            [[ $(locked) == 'b true' ]]
            """)
    }
}
