import Foundation
import Testing

/// The agent as a service that a manager starts with a socket, and which tells about its state.
@Suite("The agent and a service manager")
struct ServiceManagerTests {
    @Test("It serves the passed socket, says that it is ready and that it ends", arguments: ["path", "abstract"])
    func notifies(kind: String) throws {
        let manager = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("manager.py")
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        // It shows what programs find that the agent starts.
        try sandbox.okShell("printf '#!/bin/sh\\nenv > found\\n' > ask; chmod +x ask")
        sandbox.environment["SSH_ASKPASS"] = sandbox.path("ask")
        try sandbox.okShell(
            """
            eventually() { for _ in $(seq 600); do if "$@"; then return; fi; sleep 0.1; done; echo "never: $*" >&2; exit 1; }
            vaultfmt set server --ssh-generate ed25519 --attribute ssh=confirm
            vaultfmt ssh public server > key.pub
            mkfifo end
            /usr/bin/python3 '\(manager.path)' \(kind) vaultfmt/agent.sock vaultfmt agent < end > told 2> errors &
            exec 9> end
            eventually grep -qx READY=1 told
            export SSH_AUTH_SOCK=$PWD/vaultfmt/agent.sock
            ssh-add -L | cmp - key.pub
            ssh-add -T key.pub
            grep -q '^SSH_ASKPASS=' found
            fails grep -E '^(LISTEN_|NOTIFY_SOCKET)' found
            exec 9>&-
            wait
            [[ $(cat told) == $'READY=1\\nSTOPPING=1\\nended by 0' ]]
            # It is the manager's.
            [[ -S vaultfmt/agent.sock && ! -e vaultfmt/agent-control.sock ]]
            """)
    }

    @Test("A manager that does not hear it, or whose address has another form, is only warned about")
    func unheard() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        for name in [
            sandbox.path("nobody"), "@nobody-\(UUID().uuidString)", "vsock:2:1", "@",
            String(repeating: "/a", count: 80),
        ] {
            sandbox.environment["NOTIFY_SOCKET"] = name
            try sandbox.okShell(
                """
                rm -f told errors
                vaultfmt agent > told 2> errors &
                trap 'kill $!' EXIT
                for _ in $(seq 600); do grep -qs 'cannot tell the service manager' errors && break; sleep 0.1; done
                grep -q '^vaultfmt: warning: cannot tell the service manager that the agent is ready: ' errors
                eval "$(cat told)"
                ssh-add -L > keys || [[ $? == 1 ]]
                vaultfmt agent stop
                wait $!
                trap - EXIT
                """)
        }
    }

    @Test("An agent to which a manager has passed a socket ends if that does not hear it")
    func unheardByStarter() throws {
        let manager = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("manager.py")
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        try sandbox.okShell(
            """
            mkfifo end
            timeout 300 /usr/bin/python3 '\(manager.path)' deaf vaultfmt/agent.sock vaultfmt agent < end > told 2> errors &
            exec 9> end
            wait $!
            [[ $(cat told) == 'ended by 74' ]]
            grep -q 'cannot tell the service manager that the agent is ready' errors
            """)
    }

    @Test("Programs that an agent in the background starts do not find the manager")
    func background() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.linkPrograms()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        try sandbox.okShell("printf '#!/bin/sh\\nenv > found\\n' > ask; chmod +x ask")
        sandbox.environment["SSH_ASKPASS"] = sandbox.path("ask")
        sandbox.environment["NOTIFY_SOCKET"] = sandbox.path("nobody")
        try sandbox.okShell(
            """
            vaultfmt set server --ssh-generate ed25519 --attribute ssh=confirm
            vaultfmt ssh public server > key.pub
            eval "$(vaultfmt agent --daemon 2> errors)"
            trap 'vaultfmt agent stop' EXIT
            ssh-add -T key.pub
            grep -q '^SSH_ASKPASS=' found
            fails grep '^NOTIFY_SOCKET=' found
            fails grep 'service manager' errors
            """)
    }
}
