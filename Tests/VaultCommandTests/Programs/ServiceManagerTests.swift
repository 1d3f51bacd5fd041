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

    @Test("A manager that does not hear it is named, and so is one whose address has another form")
    func unheard() throws {
        let sandbox = try Sandbox.withVault()
        sandbox.environment["XDG_RUNTIME_DIR"] = sandbox.folder
        for name in [
            sandbox.path("nobody"), "@nobody-\(UUID().uuidString)", "vsock:2:1", "@",
            String(repeating: "/a", count: 80),
        ] {
            sandbox.environment["NOTIFY_SOCKET"] = name
            try sandbox.fails(74, "cannot tell the service manager", "agent")
        }
    }
}
