import Foundation
import Testing

/// A repository with the vaults `work.vault` and `y.vault`, of which `sync` in the clone `a` is given the first. Who can
/// push works in the clone `b`.
@Suite("sync and the other vaults of the repository", .enabled(if: Machine.has("git"), "no git here"))
struct GitOtherVaultTests {
    private func run(_ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let clones = try Clones()
        try clones.run(
            """
            fill() { printf %s "$3" | on "$1" vaultfmt set "$2" -f y.vault; }
            filled() { [[ $(on "$1" vaultfmt get "$2" -f y.vault) == "$3" ]] || { echo "$1 has no $2" >&2; exit 1; }; }
            pushed() { on b git add -A; on b git commit -q -m b; on b git push -q; }
            # Both sides have the same y.vault.
            agreed() { git -C hub.git show main:y.vault | cmp - a/y.vault; }
            on a vaultfmt create y.vault --kdf testing; fill a y0 0; on a vaultfmt git setup y.vault; on a git add .; on a git commit -q -m y
            old=$(git -C a rev-parse HEAD); fill a y1 1; on a git commit -q -a -m y1; on a vaultfmt sync work.vault; on b git pull -q
            \(script)
            """, sourceLocation: sourceLocation)
    }

    @Test("a newer state is taken, an older one is not, and what both an older and the newest state lack is merged")
    func states() throws {
        try run(
            """
            fill b y2 2; pushed; on a vaultfmt sync work.vault; filled a y2 2; agreed
            [[ $(git -C a rev-parse HEAD) == $(git -C b rev-parse HEAD) ]]
            sum=$(sha256sum <a/y.vault); git -C b show $old:y.vault >b/y.vault; echo more >b/more; pushed
            on a vaultfmt sync work.vault; [[ $sum == "$(sha256sum <a/y.vault)" && -e a/more ]]; filled a y2 2; agreed
            on b git pull -q; git -C b show $old:y.vault >b/y.vault; printf 3 | XDG_STATE_HOME=$HOME/new vaultfmt set y3 -f b/y.vault; pushed
            on a vaultfmt sync work.vault; filled a y2 2; filled a y3 3; agreed; on a vaultfmt verify y.vault
            """)
    }

    @Test("one that a merge leaves with conflicts is named, and the exit code is 3")
    func conflicts() throws {
        try run(
            """
            fill b y1 theirs; pushed; fill a y1 here; on a git commit -q -a -m here
            ends 3 on a vaultfmt sync work.vault; grep -q "conflicts to settle in 'y.vault'" error; agreed
            on a vaultfmt conflicts -f y.vault | grep -q y1
            """)
    }

    @Test("one with another name here, a hard link, is compared as well: the other side's newer state is taken")
    func hardLink() throws {
        try run(
            """
            ln a/y.vault y.link; fill b y2 2; pushed
            on a vaultfmt sync work.vault; filled a y2 2; agreed
            """)
    }

    @Test("one that a merge leaves with an item without a secret is named, and the exit code is 3")
    func withoutSecret() throws {
        try run(
            """
            on b vaultfmt update y1 '' --label L -f y.vault; pushed
            fill a y1 2; on a vaultfmt forget y1 '' --all --yes -f y.vault; on a vaultfmt rm y1 '' --yes -f y.vault; on a git commit -q -a -m here
            ends 3 on a vaultfmt sync work.vault; grep -q "items in 'y.vault' show no secret (see above)" error; agreed
            """)
    }

    @Test(
        "one that was removed, or replaced by something else, is an error that names it and leaves it",
        arguments: [
            ("git -C b rm -q y.vault", 74, "removed 'y.vault'"),
            ("ln -sf ../precious b/y.vault", 74, "replaced 'y.vault' with a symbolic link"),
            ("rm b/y.vault; mkdir b/y.vault; touch b/y.vault/x", 74, "replaced 'y.vault' with a folder"),
            ("printf ab >b/y.vault", 65, "the other side's 'y.vault': it is not a vault"),
            ("cp b/work.vault b/y.vault", 65, "the other side's 'y.vault': it is another vault"),
            ("head -c 9000 a/y.vault >b/y.vault", 65, "the other side's 'y.vault'"),
            (
                "sed -i '/y.vault/d' b/.gitattributes; pushed; on a vaultfmt sync work.vault; git -C b rm -q y.vault",
                74, "removed 'y.vault'"
            ),
        ])
    func replaced(_ script: String, _ code: Int, _ message: String) throws {
        try run(
            """
            sum=$(sha256sum <a/y.vault); \(script); pushed; store a a1 A
            ends \(code) on a vaultfmt sync work.vault; grep -q "\(message)" error; [[ $(grep -c ^vaultfmt: error) == 1 ]]
            [[ ! -L a/y.vault && $sum == "$(sha256sum <a/y.vault)" ]]
            # The remedy that the message names.
            on b git revert --no-edit HEAD >log; on b git push -q
            on a vaultfmt sync work.vault; has a a1 A; agreed
            """)
    }

    @Test("one with other factors is taken and named with exit 3, unless it is an earlier version, or it is unlocked")
    func otherFactors() throws {
        try run(
            """
            printf 'a passphrase of its own' >own; own() { VAULTFMT_PASSPHRASE=$(<own) "$@"; }
            on a vaultfmt rekey y.vault --new-passphrase-file ../own --kdf testing; on a git commit -q -a -m own
            on a vaultfmt sync work.vault; on b git pull -q; before=$(git -C b rev-parse HEAD)
            own fill b y2 2; pushed
            ends 3 on a vaultfmt sync work.vault; grep -q "'y.vault' was changed on the other side and taken" error; own filled a y2 2; agreed
            # What begins like the one here and ends earlier is older, whoever can open it.
            git -C b show $before:y.vault >b/y.vault; pushed
            on a vaultfmt sync work.vault; own filled a y2 2; agreed
            on b git pull -q; head -c $(($(stat -c %s a/y.vault) - 4096)) a/y.vault >b/y.vault; pushed
            on a vaultfmt sync work.vault; own filled a y2 2; agreed
            on b git pull -q; git -C b show $old:y.vault >b/y.vault; pushed
            ends 3 on a vaultfmt sync work.vault; grep -q "'y.vault' .* and left as it is here" error; own filled a y2 2; agreed
            on b git pull -q; own fill b y3 3; pushed
            if own on a vaultfmt unlock y.vault 2>error; then
                on a vaultfmt sync work.vault; on a vaultfmt lock y.vault; own filled a y3 3
            fi
            """)
    }

    @Test("one with other factors that both sides have changed is named with what to do, and each remedy works")
    func bothWithOtherFactors() throws {
        try run(
            """
            printf 'a passphrase of its own' >own; printf wrong >wrong; own() { VAULTFMT_PASSPHRASE=$(<own) "$@"; }
            on a vaultfmt rekey y.vault --new-passphrase-file ../own --kdf testing; on a git commit -q -a -m own
            on a vaultfmt sync work.vault; on b git pull -q
            both() { own fill b "$1" b; pushed; own fill a "$2" a; on a git commit -q -a -m here; }
            both y2 y3; before=$(git -C hub.git rev-parse main)
            ends 77 on a vaultfmt sync work.vault; [[ $(grep -c ^vaultfmt: error) == 1 && $before == $(git -C hub.git rev-parse main) ]]
            grep -q "'y.vault', which both sides have changed, has other factors: .*'vaultfmt unlock .*y.vault'.*--other-passphrase-file" error
            ends 77 on a vaultfmt sync work.vault --other-passphrase-file ../wrong
            on a vaultfmt sync work.vault --other-passphrase-file ../own; own filled a y2 b; own filled a y3 a; agreed
            on b git pull -q; both y4 y5
            if own on a vaultfmt unlock y.vault 2>error; then
                on a vaultfmt sync work.vault; on a vaultfmt lock y.vault; own filled a y4 b; own filled a y5 a; agreed
            fi
            """)
    }

    @Test("one that only the other side changed is compared with the other factors, too")
    func oneSidedWithOtherFactors() throws {
        try run(
            """
            printf 'a passphrase of its own' >own; own() { VAULTFMT_PASSPHRASE=$(<own) "$@"; }
            on a vaultfmt rekey y.vault --new-passphrase-file ../own --kdf testing; on a git commit -q -a -m own
            on a vaultfmt sync work.vault; on b git pull -q
            own fill b y2 2; pushed; ends 3 on a vaultfmt sync work.vault
            on b git pull -q; own fill b y3 3; pushed
            on a vaultfmt sync work.vault --other-passphrase-file ../own; own filled a y3 3; agreed
            """)
    }

    @Test("no factor is tried on a vault that this machine never opened; an earlier version of it is not taken either")
    func neverOpened() throws {
        try run(
            """
            on b vaultfmt create n.vault --kdf testing; pushed; on a vaultfmt sync work.vault; known=$(ls -R state-a)
            printf 1 | on b vaultfmt set n1 -f n.vault; pushed; on a vaultfmt sync work.vault; cmp a/n.vault b/n.vault
            [[ $known == "$(ls -R state-a)" ]]
            git -C b show HEAD~1:n.vault >b/n.vault; pushed; on a vaultfmt sync work.vault
            git -C a show HEAD:n.vault | cmp - a/n.vault; fails cmp -s a/n.vault b/n.vault
            """)
    }

    @Test("one with changes that are not committed is left, and named with what to do")
    func uncommitted() throws {
        try run(
            """
            fill b y2 2; pushed; fill a y3 3; store a a1 A
            ends 64 on a vaultfmt sync work.vault; grep -q "'y.vault' has changes that are not committed; sync it first" error
            on a vaultfmt sync y.vault; on a vaultfmt sync work.vault; filled a y2 2; filled a y3 3; agreed
            """)
    }

    @Test("another vault in the place of the one that is committed is not committed")
    func another() throws {
        try run(
            """
            cp a/work.vault kept; before=$(git -C a rev-parse HEAD); cp a/y.vault a/work.vault
            ends 65 on a vaultfmt sync work.vault; grep -q "another vault" error; on a vaultfmt anchor work.vault --accept
            ends 64 on a vaultfmt sync work.vault; grep -q "'work.vault' is another vault" error
            [[ $before == $(git -C a rev-parse HEAD) ]]; git -C a diff --cached --quiet
            git -C hub.git show main:work.vault | cmp - kept
            # The remedies that the message names.
            cp kept a/work.vault; on a vaultfmt anchor work.vault --accept; store a a1 A; on a vaultfmt sync work.vault; has a a1 A
            cp a/y.vault a/work.vault; on a vaultfmt anchor work.vault --accept; on a git commit -q -m meant work.vault
            on a vaultfmt sync work.vault
            git -C hub.git show main:work.vault | cmp - a/y.vault
            """)
    }

    @Test("a file that is for the driver of vaults and is none is named, by the driver and by sync")
    func noVault() throws {
        try run(
            """
            printf ab >two; cp a/y.vault ours
            ends 129 on a vaultfmt git merge-driver -- ../ours ../two y.vault dir/y.vault; grep -q "^vaultfmt: 'dir/y.vault': a version is not a vault" error
            echo 'small merge=vaultfmt' >>b/.gitattributes; printf ab >b/small; pushed; on a vaultfmt sync work.vault
            printf cd >b/small; pushed; printf ef >a/small; on a git commit -q -a -m small
            ends 74 on a vaultfmt sync work.vault; grep -q "'small': a version is not a vault" error; [[ ! -e a/.git/MERGE_HEAD ]]
            """)
    }
}
