import Foundation
import Testing

/// Hooks, settings and other programs that get in the way of `sync`.
@Suite("sync in a repository where something is wrong", .enabled(if: Machine.has("git"), "no git here"))
struct GitTroubleTests {
    @Test(
        "a hook that fails is exit 74 with its message, and leaves the vault; without it the next sync succeeds",
        arguments: ["pre-commit", "commit-msg", "pre-merge-commit", "pre-push", "reference-transaction"])
    func failingHooks(_ hook: String) throws {
        let clones = try Clones()
        try clones.run(
            """
            echo readme >a/README; on a git add README; on a git commit -q -m readme; store a a1 A; on a vaultfmt sync work.vault
            store b b1 B; echo other >b/other; on b git add other; on b git commit -q -m other
            printf '#!/bin/sh\\necho not today >&2; exit 1\\n' >b/.git/hooks/\(hook); chmod +x b/.git/hooks/\(hook)
            ends 74 on b vaultfmt sync work.vault; grep -q 'not today' error; [[ $(grep -c . error) == 1 ]]
            has b b1 B; on b vaultfmt verify work.vault; [[ ! -e b/.git/MERGE_HEAD ]]
            rm b/.git/hooks/\(hook)
            on b vaultfmt sync work.vault; has b a1 A; has b b1 B; on a vaultfmt sync work.vault; has a b1 B
            """)
    }

    @Test("what a hook leaves running does not keep sync waiting; a hook that hangs can be ended, and all is well")
    func hangingHooks() throws {
        let clones = try Clones()
        try clones.run(
            """
            printf '#!/bin/sh\\nsleep 10000 & echo $! >>"%s/pids"\\n' "$HOME" >b/.git/hooks/post-commit; chmod +x b/.git/hooks/post-commit
            store b b1 B; on b vaultfmt sync work.vault
            [[ -s pids ]]; for pid in $(<pids); do kill -0 $pid; kill $pid; done
            mkfifo gate
            printf '#!/bin/sh\\necho $$ >>"%s/hanging"; cat "%s/gate"\\n' "$HOME" "$HOME" >b/.git/hooks/post-commit
            store b b2 B
            (cd b; exec setsid env XDG_STATE_HOME=$HOME/state-b vaultfmt sync work.vault) & sync=$!
            until [[ -s hanging ]]; do sleep 0.02; done
            kill -TERM -- -$sync; wait $sync && exit 1
            kill -KILL -- -$sync 2>/dev/null || true
            rm b/.git/hooks/post-commit
            has b b2 B; on b vaultfmt verify work.vault
            code=0; on b vaultfmt sync work.vault --wait 1 2>error || code=$?
            if [[ $code == 75 ]]; then grep -q 'delete' error; rm -f b/.git/*.lock b/.git/refs/heads/*.lock; on b vaultfmt sync work.vault; fi
            on a vaultfmt sync work.vault; has a b2 B
            """)
    }

    @Test(
        "a git that is killed while it merges, with sync, leaves nothing in the way of the next sync, and no change is lost",
        arguments: ["ahead", "behind", "untouched"],
        ["post-index-change", "reference-transaction", "pre-merge-commit", "post-merge"])
    func killedMerge(_ side: String, _ hook: String) throws {
        let clones = try Clones()
        try clones.run(
            """
            on a vaultfmt create y.vault --kdf testing; on a vaultfmt git setup y.vault
            printf '1\\n2\\n3\\n4\\n5\\n' >a/both; echo old >a/changed; echo old >a/removed; on a git add .; on a git commit -q -m files
            on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            echo new >a/added; echo new >a/changed; on a git rm -q removed; sed -i s/5/five/ a/both; on a git add .; on a git commit -q -m more
            printf Y | on a vaultfmt set y1 -f y.vault; on a git add y.vault; on a git commit -q -m y
            store a a1 A; on a vaultfmt sync work.vault
            # On a branch of its own, git merges; otherwise it goes forward.
            [[ \(side) != ahead ]] || { sed -i s/1/one/ b/both; on b git commit -q -a -m both; store b b1 B; }
            # Kills the git that merges and the sync that waits for it, once.
            cat >b/.git/hooks/\(hook) <<'END'
            #!/bin/bash
            git=$PPID
            tr '\\0' ' ' </proc/$git/cmdline | grep -q ' merge -q ' || exit 0
            [[ -e $HOME/killed ]] && exit 0
            [[ \(hook) != reference-transaction || $1 == prepared ]] || exit 0
            read -r _ _ _ sync _ </proc/$git/stat
            touch $HOME/killed; kill -KILL $sync $git
            END
            chmod +x b/.git/hooks/\(hook)
            code=0; on b vaultfmt sync work.vault 2>error || code=$?
            rm b/.git/hooks/\(hook)
            # Without changes of its own, a branch has no merge commit.
            if [[ \(hook) == pre-merge-commit && \(side) != ahead ]]; then [[ $code == 0 ]]; else [[ -e killed && $code == 137 ]]; fi
            find b/.git -name '*.lock' -not -name vaultfmt-sync.lock -delete
            # What git has written may have been opened.
            on b vaultfmt list -f y.vault >list
            [[ \(side) == untouched ]] || store b b2 B
            on b vaultfmt sync work.vault
            [[ $(on b vaultfmt get y1 -f y.vault) == Y ]]
            [[ $(<b/added) == new && $(<b/changed) == new && ! -e b/removed && $(tail -n 1 b/both) == five ]]
            [[ \(side) != ahead ]] || [[ $(head -n 1 b/both) == one ]]
            [[ -z $(git -C b status --porcelain) && ! -e b/.git/MERGE_HEAD && -z $(git -C b for-each-ref refs/worktree) ]]
            has b a1 A; [[ \(side) == untouched ]] || has b b2 B
            on a vaultfmt sync work.vault; [[ \(side) == untouched ]] || has a b2 B
            """)
    }

    /// Lines for a shell: a sync of b whose git is killed before it has changed the index, once.
    private static func killedSync(with sync: String) -> String {
        """
        mkdir killing; cat >killing/git <<'END'
        #!/bin/bash
        # What git has written by then: the commit that it merges.
        if [[ " $* " == *' merge -q --ff --no-edit '* && ! -e $HOME/killed ]]; then
            touch $HOME/killed; for name in MSG MODE; do : >$HOME/b/.git/MERGE_$name; done
            printf '%s\n' "${@: -1}" >$HOME/b/.git/MERGE_HEAD
            read -r _ _ _ sync _ </proc/$$/stat; kill -KILL \(sync) $$
        fi
        exec /usr/bin/git "$@"
        END
        chmod +x killing/git; PATH=$PWD/killing:$PATH fails on b vaultfmt sync work.vault; [[ -e killed ]]
        """
    }

    @Test(
        "a merge that was killed before git had changed the index takes nothing back of what the other side did",
        arguments: ["", "$sync"])
    func killedEarly(with sync: String) throws {
        let clones = try Clones()
        try clones.run(
            """
            for side in a b; do echo new >$side/in-$side; on $side git add .; on $side git commit -q -m $side; done
            store a a1 A; on a vaultfmt sync work.vault; store b b1 B
            \(Self.killedSync(with: sync))
            on b vaultfmt sync work.vault; [[ ! -e b/.git/MERGE_HEAD && -z $(git -C b for-each-ref refs/worktree) ]]
            on a vaultfmt sync work.vault; has a b1 B; has b a1 A
            [[ $(<a/in-a) == new && $(<a/in-b) == new && $(<b/in-a) == new && $(<b/in-b) == new ]]
            """)
    }

    @Test("what the user staged after such a merge is not lost by doing what sync then says")
    func stagedAfterKilledMerge() throws {
        let clones = try Clones()
        try clones.run(
            """
            for side in a b; do echo new >$side/in-$side; on $side git add .; on $side git commit -q -m $side; done
            store a a1 A; on a vaultfmt sync work.vault; store b b1 B
            \(Self.killedSync(with: "$sync"))
            echo mine >b/staged; on b git add staged
            ends 64 on b vaultfmt sync work.vault; grep -q "'git reset'" error
            on b git reset -q; on b vaultfmt sync work.vault; [[ $(<b/staged) == mine && ! -e b/.git/MERGE_HEAD ]]
            on a vaultfmt sync work.vault; has a b1 B; has b a1 A; [[ $(<a/in-b) == new && $(<b/in-a) == new ]]
            """)
    }

    @Test("what the user changed after such a merge stays")
    func changedAfterKilledMerge() throws {
        let clones = try Clones()
        try clones.run(
            """
            echo old >a/one; echo old >a/two; on a git add .; on a git commit -q -m files; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            echo new >a/one; echo new >a/two; echo new >a/three; on a git add .; on a git commit -q -m more; on a vaultfmt sync work.vault
            store b b1 B
            cat >b/.git/hooks/post-index-change <<'END'
            #!/bin/bash
            tr '\\0' ' ' </proc/$PPID/cmdline | grep -q ' merge -q ' || exit 0
            read -r _ _ _ sync _ </proc/$PPID/stat
            kill -KILL $sync $PPID
            END
            chmod +x b/.git/hooks/post-index-change
            ends 137 on b vaultfmt sync work.vault; rm -f b/.git/hooks/post-index-change b/.git/index.lock
            echo mine >b/one; echo mine >b/three
            ends 74 on b vaultfmt sync work.vault; [[ $(<b/one) == mine && $(<b/three) == mine ]]
            rm b/three; on b git checkout -q HEAD -- one; on b git rm -q --cached three || true
            on b vaultfmt sync work.vault; [[ $(cat b/one b/two b/three | sort -u) == new ]]; has b b1 B
            """)
    }

    @Test("a merge of other files that conflicts is taken back, and the message says how to make it")
    func conflictingFiles() throws {
        let clones = try Clones()
        try clones.run(
            """
            echo 1 >a/file; on a git add .; on a git commit -q -m file; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            echo 2 >a/file; on a git commit -q -a -m two; store a a1 A; on a vaultfmt sync work.vault
            echo 3 >b/file; on b git commit -q -a -m three; store b b1 B
            ends 74 on b vaultfmt sync work.vault; grep -q "merge it with 'git merge origin/main', and sync again" error
            [[ -z $(git -C b status --porcelain) && $(<b/file) == 3 ]]; has b a1 A; has b b1 B
            on b git merge -q origin/main || true; echo 23 >b/file; on b git add file; on b git commit -q -m both
            on b vaultfmt sync work.vault; on a vaultfmt sync work.vault; [[ $(<a/file) == 23 ]]; has a b1 B
            """)
    }

    @Test("settings of git that stash, forbid merges or colour everything change nothing in what sync does")
    func settings() throws {
        let clones = try Clones()
        try clones.run(
            #"""
            git config --global merge.autoStash true; git config --global merge.ff only; git config --global color.ui always
            git config --global diff.noprefix true; git config --global status.short true; git config --global core.quotePath true
            git config --global push.default nothing; git config --global commit.verbose true; git config --global diff.external false
            git config --global fetch.prune true; git config --global status.relativePaths true; git config --global core.pager false
            on b vaultfmt create second.vault --kdf testing; on b vaultfmt git setup second.vault; on b git add .; on b git commit -q -m second
            on b vaultfmt sync work.vault; on a vaultfmt sync work.vault
            printf A2 | on a vaultfmt set in-a -f second.vault; echo a >a/file-a; on a git add .; on a git commit -q -m a
            store a a1 A; on a vaultfmt sync work.vault
            printf B2 | on b vaultfmt set in-b -f second.vault; on b git commit -q -a -m b; store b b1 B
            # Written while git merges the rest: nothing may take it out of the tree.
            mkdir between; cat >between/git <<'END'
            #!/bin/bash
            for word; do [[ $word == --ff ]] && [[ ! -e $HOME/written ]] && { touch $HOME/written; printf now | VAULTFMT_PASSPHRASE='correct horse battery staple' vaultfmt set meanwhile -f "$HOME/b/work.vault"; stat -c %i "$HOME/b/work.vault" >$HOME/before; }; done
            exec /usr/bin/git "$@"
            END
            chmod +x between/git
            (export PATH=$HOME/between:$PATH; on b vaultfmt sync work.vault)
            [[ -e written && $(<before) == $(stat -c %i b/work.vault) && -z $(git -C b stash list) ]]
            has b a1 A; has b b1 B; has b meanwhile now; [[ $(on b vaultfmt get in-a -f second.vault) == A2 ]]
            on b vaultfmt sync work.vault; on a vaultfmt sync work.vault; has a meanwhile now
            """#)
    }

    @Test(
        "options of the branch for merges do not keep sync from merging, and change nothing that is pushed",
        arguments: ["--squash", "--no-commit", "--squash --no-ff", "--no-commit --no-ff"])
    func optionsOfTheBranch(_ options: String) throws {
        let clones = try Clones()
        try clones.run(
            """
            on b vaultfmt sync work.vault
            on b git config branch.main.mergeOptions '\(options)'
            echo 1 >a/file; on a git add .; on a git commit -q -m one; store a a1 A; on a vaultfmt sync work.vault
            # Forward, then with a merge.
            on b vaultfmt sync work.vault --patience 5; has b a1 A; [[ $(<b/file) == 1 ]]
            echo 2 >a/file; on a git commit -q -a -m two; store a a2 A; on a vaultfmt sync work.vault
            echo other >b/other; on b git add .; on b git commit -q -m other; store b b1 B
            on b vaultfmt sync work.vault --patience 5; has b a2 A; has b b1 B; [[ $(<b/file) == 2 ]]
            [[ -z $(git -C b status --porcelain) && ! -e b/.git/MERGE_HEAD && ! -e b/.git/SQUASH_MSG ]]
            git -C b merge-base --is-ancestor "$(git -C a rev-parse HEAD)" HEAD
            on a vaultfmt sync work.vault; has a b1 B; [[ $(<a/other) == other ]]
            """)
    }

    @Test(
        "G10: a lock that a killed git has left is waited for, then named with what to do (75), and nothing else is wrong",
        arguments: ["index", "HEAD", "refs/heads/main", "refs/remotes/origin/main", "ORIG_HEAD"])
    func staleLocks(_ lock: String) throws {
        let clones = try Clones()
        try clones.run(
            """
            echo readme >a/README; on a git add README; on a git commit -q -m readme; store a a1 A; on a vaultfmt sync work.vault
            store b b1 B; echo other >b/other; on b git add other; on b git commit -q -m other
            touch b/.git/\(lock).lock
            code=0; on b vaultfmt sync work.vault --wait 0.2 2>error || code=$?
            # Git needs ORIG_HEAD in some versions only.
            if [[ $code != 0 ]]; then
                [[ $code == 75 && $(grep -c . error) == 1 ]]
                grep -q "if no git is running, delete '.*/b/.git/\(lock).lock'" error; has b b1 B
                # Released while sync waits.
                on b vaultfmt sync work.vault --wait 600 & sync=$!
                until [[ -e b/.git/vaultfmt-sync.lock ]]; do sleep 0.02; done
                rm b/.git/\(lock).lock; wait $sync
            fi
            rm -f b/.git/\(lock).lock; on b vaultfmt sync work.vault; has b a1 A; has b b1 B
            on a vaultfmt sync work.vault; has a b1 B
            """)
    }

    @Test("another sync of the clone is waited for as long as --patience says; what a killed one left is removed")
    func otherSync() throws {
        let clones = try Clones()
        try clones.run(
            """
            store b b1 B
            touch b/.git/vaultfmt-sync-123-index.lock b/.git/vaultfmt-sync-123-theirs
            flock b/.git/vaultfmt-sync.lock sleep 10000 & holder=$!
            until fuser b/.git/vaultfmt-sync.lock >/dev/null 2>&1 || [[ -e b/.git/vaultfmt-sync.lock ]]; do sleep 0.02; done
            until ! flock -n b/.git/vaultfmt-sync.lock true; do sleep 0.02; done
            ends 75 on b vaultfmt sync work.vault --patience 0; grep -q 'another sync' error
            pkill -P $holder; wait $holder || true
            on b vaultfmt sync work.vault; [[ -z $(ls b/.git | grep vaultfmt-sync-) ]]
            """)
    }

    @Test("a branch that was deleted on the remote is pushed again, and a lock there is named when patience ends")
    func remoteState() throws {
        let clones = try Clones()
        try clones.run(
            """
            on a vaultfmt sync work.vault; git -C hub.git update-ref -d refs/heads/main
            on a vaultfmt sync work.vault; git -C hub.git show main:work.vault | cmp - a/work.vault
            touch hub.git/refs/heads/main.lock; store a a1 A
            ends 75 on a vaultfmt sync work.vault --patience 0; grep -q 'main.lock' error; [[ $(grep -c . error) == 1 ]]
            rm hub.git/refs/heads/main.lock; on a vaultfmt sync work.vault
            """)
    }

    @Test(
        "G16: a filter that stores something else, as LFS does, is undone for the driver and done again; a bare pointer is said"
    )
    func filters() throws {
        let clones = try Clones()
        try clones.run(
            """
            git config --global filter.other.clean 'base64 -w 70'; git config --global filter.other.smudge 'base64 -d'
            git config --global filter.other.required true
            echo 'work.vault filter=other' >>a/.gitattributes; on a git add --renormalize .; on a git commit -q -a -m filter
            store a a1 A; on a vaultfmt sync work.vault
            [[ $(git -C hub.git show main:work.vault | head -c 9) == $(base64 <a/work.vault | head -c 9) ]]
            # The attributes arrive with the filtered vault.
            ends 65 on b vaultfmt sync work.vault
            grep -q "if a filter is new there, .*'git checkout origin/main -- .gitattributes'" error
            on b git checkout -q origin/main -- .gitattributes; on b git commit -q -m filter
            on b vaultfmt sync work.vault; has b a1 A; on a vaultfmt sync work.vault
            # By sync, and by git with its driver.
            store a a2 A; on a vaultfmt sync work.vault; store b b2 B; on b vaultfmt sync work.vault; has b a2 A; has b b2 B
            on a vaultfmt sync work.vault
            store a a3 A; commit a; on a git push -q; store b b3 B; commit b
            on b git pull -q --no-rebase --no-edit; has b a3 A; has b b3 B; on b vaultfmt verify work.vault
            [[ -z $(on b git status --porcelain) && -z $(ls -A b | grep -e merge_file -e '[.]vaultfmt') ]]
            git -C b show HEAD:work.vault | base64 -d | cmp - b/work.vault
            # Without the filter the driver says what it was given.
            printf 'version https://git-lfs.github.com/spec/v1\\n' >pointer; cp b/work.vault ours; touch base
            ends 129 on b vaultfmt git merge-driver -- ../base ../ours ../pointer elsewhere.vault; grep -q 'not a vault' error
            cmp ours b/work.vault
            """)
    }

    @Test("git setup refuses to call a vault set up that attributes of a folder or of this clone override")
    func overridden() throws {
        let clones = try Clones()
        try clones.run(
            """
            mkdir a/sub; cp a/work.vault a/sub/in.vault; echo '* text' >a/sub/.gitattributes
            ends 64 on a vaultfmt git setup sub/in.vault; grep -q 'the attribute text' error
            rm a/sub/.gitattributes; on a vaultfmt git setup sub/in.vault
            mkdir -p a/.git/info; echo 'in.vault merge=union' >a/.git/info/attributes
            ends 64 on a vaultfmt git setup sub/in.vault; grep -q "the attribute merge of 'sub/in.vault' is 'union'" error
            """)
    }

    @Test("G16: a repository, a folder and a vault with newlines in their names are set up and synced")
    func newlines() throws {
        let clones = try Clones()
        try clones.run(
            #"""
            top=$'re\npo'; mkdir "$top"; git clone -q hub.git "$top/clone" 2>/dev/null; cd "$top/clone"
            export XDG_STATE_HOME=$HOME/state-c; name=$'fol\nder/o\nne.vault'; mkdir -p "${name%/*}"
            vaultfmt create --vault "$name" --kdf testing; vaultfmt git setup -f "$name"
            [[ $(git check-attr -z merge -- "$name" | tr '\0' '|') == "$name|merge|vaultfmt|" && $(wc -l <.gitattributes) == 2 ]]
            git add .; git commit -q -m one; vaultfmt sync -f "$name"; printf v | vaultfmt set x -f "$name"; vaultfmt sync -f "$name"
            git -C ../../hub.git show "main:$name" | cmp - "$name"
            """#)
    }

    @Test("worktrees, submodules and detached heads: sync works or says what to do")
    func places() throws {
        let clones = try Clones()
        try clones.run(
            """
            store a a1 A; on a vaultfmt sync work.vault
            on a git checkout -q --detach; ends 64 on a vaultfmt sync work.vault; grep -q 'no branch is checked out' error
            on a git switch -q main
            git -C a worktree add -q ../tree -b side 2>/dev/null
            export XDG_STATE_HOME=$HOME/state-tree; (cd tree; printf t | vaultfmt set t -f work.vault; vaultfmt sync work.vault)
            git -C hub.git show side:work.vault | cmp - tree/work.vault
            git init -q outer; git -C outer -c protocol.file.allow=always submodule --quiet add ../hub.git in 2>/dev/null
            git -C outer/in switch -q main; on b git pull -q
            (cd outer/in; export XDG_STATE_HOME=$HOME/state-outer; vaultfmt git setup work.vault; printf s | vaultfmt set s -f work.vault; vaultfmt sync work.vault)
            unset XDG_STATE_HOME; on b vaultfmt sync work.vault; has b s s
            cp b/work.vault hub.git/; ends 64 vaultfmt sync hub.git/work.vault; grep -q 'not in a git repository' error
            """)
    }
}
