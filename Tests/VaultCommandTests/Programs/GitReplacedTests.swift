import Foundation
import Testing

/// Hooks, checkouts and other programs that put something else in a vault's place while `sync` runs.
@Suite("sync of a vault that is replaced meanwhile", .enabled(if: Machine.has("git"), "no git here"))
struct GitReplacedTests {
    /// Runs a script after both clones have changed the vault, and b has pushed another file too, so that a sync of a
    /// commits, merges and pushes. `hook NAME SCRIPT` gives a a hook that runs once, `old.vault` is an older state.
    private func merging(_ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let clones = try Clones()
        try clones.run(
            #"""
            cp a/work.vault old.vault
            hook() {
                cat >a/.git/hooks/$1 <<END
            #!/bin/bash
            [[ -e $HOME/once ]] && exit 0
            # Git writes the index at other moments as well.
            [[ $1 != post-index-change ]] || tr '\\0' ' ' </proc/\$PPID/cmdline | grep -q ' add ' || exit 0
            touch $HOME/once; cd $HOME/a
            $2
            exit 0
            END
                chmod +x a/.git/hooks/$1
            }
            # Does what the message says, and keeps what is in the vault's place.
            getBack() {
                command=$(sed -n "s/.* with '\((umask 077; git .*\)'$/\1/p" error); [[ -n $command ]]
                [[ ! -e a/work.vault ]] || mv a/work.vault kept
                (cd "${1:-a}"; eval "$command"); [[ $(stat -c %a a/work.vault) == 600 && ! -e a/work.vault.new ]]
            }
            equal() {
                on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
                for side in a b; do has $side a1 A; has $side b1 B; on $side vaultfmt verify work.vault; done
                git -C hub.git show main:work.vault | cmp - b/work.vault; [[ -z $(git -C a status --porcelain) ]]
            }
            echo f >b/f; on b git add f; on b git commit -q -m f; store b b1 B; on b vaultfmt sync work.vault
            echo g >a/g; on a git add g; on a git commit -q -m g; store a a1 A
            """# + "\n" + script, sourceLocation: sourceLocation)
    }

    private static let hooks = [
        "pre-commit", "prepare-commit-msg", "post-commit", "post-index-change", "reference-transaction",
        "pre-merge-commit", "post-merge", "pre-push",
    ]

    /// Runs a sync in which a hook changes what is in the vault's place.
    private func replacing(_ hook: String, _ change: String) throws {
        let code = change.hasPrefix("rm") ? 66 : 65
        try merging(
            """
            on a vaultfmt create ../other.vault --kdf testing
            hook \(hook) '\(change)'
            ends \(code) on a vaultfmt sync work.vault; [[ -e once ]]
            line=$(grep "'work.vault' was replaced, overwritten or removed during the sync, by a git hook or another program" error)
            [[ $line != *'other side'* && $line != *'anchor --accept'* ]]
            if [[ \(hook) == pre-push ]]; then [[ $line == *'what was merged has been pushed, but'* ]]; fi
            # What the other clone has is not what was put there.
            on b vaultfmt sync work.vault; has b b1 B
            getBack; has a a1 A; equal
            """)
    }

    @Test("whenever a hook overwrites the vault, sync says so, and how to get it back", arguments: hooks)
    func overwritten(_ hook: String) throws { try replacing(hook, "cp $HOME/old.vault work.vault") }

    @Test("so it does if a hook removes the vault", arguments: ["pre-commit", "post-index-change", "pre-push"])
    func removed(_ hook: String) throws { try replacing(hook, "rm work.vault") }

    @Test("the command that gets the vault back works where sync was started, and overwrites nothing if git fails")
    func startedElsewhere() throws {
        try merging(
            """
            hook post-merge 'cp $HOME/old.vault work.vault'
            (export XDG_STATE_HOME=$HOME/state-a; ends 65 vaultfmt sync a/work.vault); [[ -e once ]]
            cp a/work.vault before; mkdir none; printf '#!/bin/sh\\nexit 1\\n' >none/git; chmod +x none/git
            command=$(sed -n "s/.* with '\\((umask 077; git .*\\)'$/\\1/p" error); [[ -n $command ]]
            if (PATH=$HOME/none:$PATH; eval "$command"); then exit 1; fi
            cmp before a/work.vault; rm a/work.vault.new
            getBack .; has a a1 A; equal
            """)
    }

    @Test(
        "a file that a hook puts in the vault's place, of an older state or of another vault, is noticed as well",
        arguments: ["pre-commit", "post-merge", "pre-push"],
        ["mv $HOME/old.vault work.vault", "mv $HOME/other.vault work.vault"])
    func replaced(_ hook: String, _ change: String) throws { try replacing(hook, change) }

    @Test(
        "what a hook commits in place of the vault is not pushed, and the next sync commits the vault",
        arguments: [
            ("pre-commit", "git update-index --cacheinfo 100644,$(git rev-parse HEAD~1:work.vault),work.vault"),
            ("pre-commit", "git rm -q --cached work.vault"),
            ("post-commit", "git rm -q --cached work.vault; git commit -q --amend --no-edit"),
            ("post-merge", "git rm -q --cached work.vault; git commit -q -m removed"),
        ])
    func committed(_ hook: String, _ script: String) throws {
        try merging(
            """
            hook \(hook) '\(script)'; before=$(git -C hub.git rev-parse main)
            ends 74 on a vaultfmt sync work.vault; [[ -e once ]]
            grep -q "does not have the 'work.vault' that was synced, because a git hook or another program changed it" error
            [[ $before == $(git -C hub.git rev-parse main) ]]; has a a1 A; equal
            """)
    }

    @Test("a file that another program puts there between fetching and merging is not called the other side's")
    func betweenFetchAndMerge() throws {
        try merging(
            #"""
            mkdir between; cat >between/git <<'END'
            #!/bin/bash
            /usr/bin/git "$@"; code=$?
            for word; do [[ $word == fetch && ! -e $HOME/once ]] && { touch $HOME/once; mv $HOME/old.vault $HOME/a/work.vault; }; done
            exit $code
            END
            chmod +x between/git
            (export PATH=$HOME/between:$PATH; ends 65 on a vaultfmt sync work.vault); [[ -e once ]]
            grep -q "'work.vault' was replaced, .* (the vault was rolled back from generation 3 to 2" error
            [[ $(grep 'was replaced' error) != *'other side'* ]]
            getBack; equal
            """#)
    }

    @Test("a later state that another program puts there is kept, and the next sync pushes it")
    func continued() throws {
        try merging(
            """
            hook post-merge 'cp work.vault new.vault
            printf later | VAULTFMT_PASSPHRASE="correct horse battery staple" vaultfmt set later -f new.vault && mv new.vault work.vault'
            on a vaultfmt sync work.vault; [[ -e once ]]; has a later later
            equal; has b later later
            """)
    }

    @Test("another vault of the repository that was merged, too, must still be in place")
    func otherVault() throws {
        let clones = try Clones()
        try clones.run(
            """
            on a vaultfmt create second.vault --kdf testing; on a vaultfmt git setup second.vault
            on a git add .; on a git commit -q -m second; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            cp a/second.vault old.vault
            printf B2 | on b vaultfmt set b2 -f second.vault; on b git commit -q -a -m b2; on b vaultfmt sync work.vault
            printf A2 | on a vaultfmt set a2 -f second.vault; on a git commit -q -a -m a2; store a a1 A
            printf '#!/bin/sh\\ncp "$HOME/old.vault" "$HOME/a/second.vault"\\n' >a/.git/hooks/post-merge; chmod +x a/.git/hooks/post-merge
            ends 65 on a vaultfmt sync work.vault
            grep -q "what was merged has been pushed, but 'second.vault' was replaced, overwritten or removed" error
            rm a/.git/hooks/post-merge; on b vaultfmt sync work.vault
            [[ $(on b vaultfmt get a2 -f second.vault) == A2 && $(on b vaultfmt get b2 -f second.vault) == B2 ]]
            """)
    }

    @Test("so must one that was merged in a round whose push came too late")
    func otherVaultOfAnEarlierRound() throws {
        let clones = try Clones()
        try clones.run(
            """
            on a vaultfmt create second.vault --kdf testing; on a vaultfmt git setup second.vault
            on a git add .; on a git commit -q -m second; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            cp a/second.vault old.vault
            printf B2 | on b vaultfmt set b2 -f second.vault; on b git commit -q -a -m b2; on b vaultfmt sync work.vault
            git clone -q hub.git c; echo c >c/c; on c git add c; on c git commit -q -m c
            printf A2 | on a vaultfmt set a2 -f second.vault; on a git commit -q -a -m a2; store a a1 A
            cat >a/.git/hooks/post-merge <<'END'
            #!/bin/sh
            [ -e "$HOME/once" ] && exit 0
            touch "$HOME/once"; cp "$HOME/old.vault" "$HOME/a/second.vault"
            for variable in $(env | sed -n 's/^\\(GIT_[A-Z_]*\\)=.*/\\1/p'); do unset "$variable"; done
            git -C "$HOME/c" push -q
            END
            chmod +x a/.git/hooks/post-merge
            ends 65 on a vaultfmt sync work.vault; [[ -e a/c ]]
            grep -q "what was merged has been pushed, but 'second.vault' was replaced, overwritten or removed" error
            on b vaultfmt sync work.vault
            [[ $(on b vaultfmt get a2 -f second.vault) == A2 && $(on b vaultfmt get b2 -f second.vault) == B2 ]]
            """)
    }

    @Test("a folder .git that is not a repository does not keep sync from saying that one has to be created")
    func strayFolder() throws {
        let clones = try Clones()
        try clones.run(
            """
            mkdir -p stray/.git stray/in; on a vaultfmt create ../stray/in/x.vault --kdf testing
            for command in sync 'git setup'; do
                ends 64 on stray vaultfmt $command in/x.vault
                grep -q "is not in a git repository; create one with 'git init'" error
                [[ $(grep -c refuses error) == 0 ]]
            done
            """)
    }

    @Test("a repository that git refuses is called that, without the advice to create one")
    func refusedRepository() throws {
        let clones = try Clones()
        try clones.run(
            """
            # As if another user owned it.
            for command in sync 'git setup'; do
                ends 74 on a env GIT_TEST_ASSUME_DIFFERENT_OWNER=1 vaultfmt $command work.vault
                grep -q "git refuses the repository '.*/a': fatal: detected dubious ownership" error
                [[ $(grep -c . error) == 1 && $(grep -c 'git init' error) == 0 ]]
            done
            echo '[core' >>a/.git/config; ends 74 on a vaultfmt sync work.vault; grep -q 'git refuses .*bad config line' error
            """)
    }
}
