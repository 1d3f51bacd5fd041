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
}
