import Foundation
import Testing

/// The folder in which a command runs can be one that others can write to, such as a clone.
@Suite("Programs that are searched for in PATH")
struct SearchPathTests {
    @Test("one that PATH has in a folder that is not absolute is not started", .enabled(if: Machine.has("git")))
    func relative() throws {
        let clones = try Clones()
        try clones.run(
            #"""
            for name in git ssh-keygen; do
                printf '#!/bin/sh\ntouch "$HOME/PWNED"\nexec /usr/bin/%s "$@"\n' $name >a/$name; chmod +x a/$name
            done
            ssh-keygen -q -t ed25519 -N 'of the key' -f key; printf 'of the key' >pw
            for path in ".:$PATH" ":$PATH" "../a:$PATH"; do
                export PATH=$path
                on a vaultfmt git setup work.vault; store a a1 A; on a vaultfmt sync work.vault
                on a vaultfmt import ../key -f work.vault --source-passphrase-file ../pw --on-duplicate skip
            done
            [[ ! -e PWNED ]]
            ends 127 on a env PATH=. "$HOME/bin/vaultfmt" sync work.vault; [[ ! -e PWNED ]]
            """#)
    }

    @Test("- as an output file is standard output: export and inject make no file of that name")
    func standardOutput() throws {
        let sandbox = try Sandbox.withVault()
        try sandbox.ok("set", "svc", "ann", input: "s3cret".utf8)
        let exported = try sandbox.ok("export").output
        #expect(try sandbox.ok("export", "--output", "-").output == exported)
        #expect(try sandbox.ok("export", "-o", "-").output == exported)
        #expect(try sandbox.ok("inject", "--output", "-", input: "{{ vaultfmt:svc/ann }}".utf8).output == "s3cret")
        #expect(!FileManager.default.fileExists(atPath: sandbox.path("-")))
        try sandbox.ok("export", "--output", "./-")
        #expect(try String(decoding: sandbox.read("-"), as: UTF8.self) == exported)
    }
}
