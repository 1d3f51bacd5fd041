import Foundation
import Testing

extension Sandbox {
    /// Makes links to the binary under all its names, and puts them before everything else in PATH.
    func linkPrograms() throws {
        try FileManager.default.createDirectory(atPath: path("bin"), withIntermediateDirectories: true)
        for name in [
            "vaultfmt", "git-credential-vaultfmt", "docker-credential-vaultfmt", "vaultfmt-askpass",
            "age-plugin-vaultfmt",
        ] {
            try FileManager.default.createSymbolicLink(atPath: path("bin/" + name), withDestinationPath: Child.binary)
        }
        environment["PATH"] = path("bin") + ":/usr/bin:/bin"
    }

    /// What scripts of `shell` begin with: `fails COMMAND…` ends them if the command succeeds (after `!` nothing ends a
    /// script).
    private static let prelude = #"fails() { if "$@"; then echo "should have failed: $*" >&2; exit 1; fi; }"# + "\n"

    /// Runs a bash script that ends at the first failure; standard input is a pipe with these bytes.
    func shell(_ script: String, input: some Sequence<UInt8> = "".utf8) throws -> Run {
        try run(["-euo", "pipefail", "-c", Self.prelude + script], program: "/bin/bash", input: Array(input))
    }

    /// As `shell`, and expects success.
    @discardableResult
    func okShell(
        _ script: String, input: some Sequence<UInt8> = "".utf8, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> Run {
        let run = try shell(script, input: Array(input))
        #expect(run.status == 0, "\(script): \(run.output)\(run.error)", sourceLocation: sourceLocation)
        return run
    }

    /// Takes the passphrase out of the environment, as on a machine where somebody types it.
    func forgetPassphrase() { environment["VAULTFMT_PASSPHRASE"] = nil }

    /// Unlocks the vault, and forgets the passphrase.
    func unlock(for time: String = "1h") throws {
        try ok("unlock", "--for", time)
        forgetPassphrase()
    }
}

/// What this machine has.
enum Machine {
    /// Whether there is a kernel keyring: containers forbid it as a rule.
    static let hasKeyring: Bool = {
        do {
            let sandbox = try Sandbox.withVault()
            let isThere = try sandbox.run("unlock").status == 0
            _ = try sandbox.run("lock")
            return isThere
        } catch { return false }
    }()

    /// Whether a program can be run.
    static func has(_ program: String) -> Bool { access("/usr/bin/" + program, X_OK) == 0 }
}
