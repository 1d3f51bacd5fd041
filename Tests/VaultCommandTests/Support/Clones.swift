import Foundation
import Testing

/// Clones of a repository with a vault, each on a machine of its own.
struct Clones {
    let sandbox: Sandbox

    init() throws {
        sandbox = try Sandbox()
        try sandbox.linkPrograms()
        sandbox.environment["GIT_CONFIG_NOSYSTEM"] = "1"
        sandbox.environment["VAULTFMT_VAULT"] = nil
        try sandbox.okShell(
            """
            git config --global user.email test@example.org
            git config --global user.name Test
            git config --global init.defaultBranch main
            git config --global merge.renames false
            git init -q --bare hub.git
            git clone -q hub.git a 2>/dev/null
            cd a
            export XDG_STATE_HOME=$HOME/state-a
            vaultfmt create 'my work.vault' --kdf testing
            mv 'my work.vault' work.vault
            printf one | vaultfmt set svc ann -f work.vault
            vaultfmt git setup work.vault
            git add .
            git commit -q -m first
            git push -q -u origin main
            git clone -q ../hub.git ../b
            cd ../b
            vaultfmt git setup work.vault
            """)
    }

    /// Runs a script with `on MACHINE COMMAND…`, which runs a command in that machine's clone, `store MACHINE SERVICE
    /// SECRET`, `has MACHINE SERVICE SECRET`, and `ends CODE COMMAND…`, which expects an exit code and leaves what the
    /// command writes to standard error in the file `error`.
    @discardableResult
    func run(_ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> Run {
        try sandbox.okShell(
            """
            on() { (cd "$1"; export XDG_STATE_HOME=$HOME/state-$1; shift; "$@"); }
            store() { printf %s "$3" | on "$1" vaultfmt set "$2" -f work.vault; }
            commit() { on "$1" git commit -q -a -m change; }
            ends() { local code=0 wanted=$1; shift; "$@" 2>error || code=$?; cat error >&2; [[ $code == "$wanted" ]]; }
            has() { [[ $(on "$1" vaultfmt get "$2" -f work.vault) == "$3" ]] || { echo "$1 has no $2" >&2; exit 1; }; }
            \(script)
            """, sourceLocation: sourceLocation)
    }
}
