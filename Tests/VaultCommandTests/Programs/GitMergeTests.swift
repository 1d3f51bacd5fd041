import Foundation
import Testing

@Suite("git's merges of a vault", .enabled(if: Machine.has("git"), "no git here"))
struct GitMergeTests {
    @Test("setup is done once for each clone, and says which file; the diff has names and no secrets")
    func setup() throws {
        let clones = try Clones()
        let run = try clones.run(
            """
            on a vaultfmt git setup work.vault
            [[ $(grep -c merge=vaultfmt a/.gitattributes) == 1 ]]
            [[ $(on a git check-attr merge -- work.vault) == 'work.vault: merge: vaultfmt' ]]
            [[ $(on a git check-attr merge -- sub/work.vault) == *unspecified ]]
            mkdir a/'x*y'; cp a/work.vault a/'x*y/odd "name".vault'
            on a vaultfmt git setup 'x*y/odd "name".vault'
            [[ $(on a git -c core.quotePath=false check-attr -z merge -- 'x*y/odd "name".vault' | tr '\\0' ' ') == *' vaultfmt ' ]]
            [[ $(on a git check-attr merge -- 'xzy/odd "name".vault') == *unspecified ]]
            store a new s3cret
            on a git diff work.vault
            """)
        #expect(run.output.contains("+generic-password 'new' ''") && !run.output.contains("s3cret"))
        try clones.sandbox.okShell("mkdir apart; cp a/work.vault apart; fails vaultfmt git setup apart/work.vault")
    }

    @Test("merge, rebase and cherry-pick merge items; a conflict is git's too, with both values kept")
    func merges() throws {
        let clones = try Clones()
        try clones.run(
            """
            store a a1 A; commit a; on a git push -q
            store b b1 B; commit b
            on b git pull -q --no-rebase --no-edit
            has b a1 A; has b b1 B
            on b git push -q; on a git pull -q; has a b1 B
            # Rebased, commit by commit.
            store a a2 A; commit a; on a git push -q
            store b b2 B; commit b; store b b3 B; commit b
            on b git pull -q --rebase
            has b a2 A; has b b2 B; has b b3 B
            [[ -z $(on b git log --merges --format=%h origin/main..) ]]
            on b git push -q; on a git pull -q
            # Picked.
            on b git switch -q -c side; store b picked P; commit b; on b git push -q origin side; on b git switch -q main
            store a a3 A; commit a; on a git fetch -q; on a git cherry-pick origin/side
            has a picked P; has a a3 A
            on a git push -q; on b git pull -q
            # Both change one secret.
            store a svc-2 x; commit a; on a git push -q; on b git pull -q
            store a svc-2 from-a; commit a; on a git push -q
            store b svc-2 from-b; commit b
            if on b git pull -q --no-rebase --no-edit; then exit 1; fi
            has b svc-2 from-b
            on b vaultfmt conflicts -f work.vault | grep svc-2
            on b vaultfmt conflicts settle svc-2 -f work.vault
            on b git commit -q -a -m settled
            on b git push -q; on a git pull -q; has a svc-2 from-b
            on a vaultfmt verify work.vault; on b git status --porcelain
            """)
    }

    @Test("two items of one name end a sync with 3; a removal that does not hold is named")
    func sharedNames() throws {
        let clones = try Clones()
        try clones.run(
            """
            store a same A; on a vaultfmt sync work.vault; store b same B
            ends 3 on b vaultfmt sync work.vault; grep -q "two items, one from each copy, have the same name: .*'same'.*(conflict " error
            # The other machine is told as well, once.
            ends 3 on a vaultfmt sync work.vault; grep -q "have the same name: .*'same'" error
            on a vaultfmt sync work.vault; on a vaultfmt list -f work.vault | grep -c same | grep -qx 2
            # The name is the other one's once the first is gone, which is said.
            on a vaultfmt rm same '' --yes -f work.vault 2>error; grep -q "'same' .*now refers to the other item with this name" error
            on a vaultfmt undo -f work.vault
            store a more A; commit a; on a git push -q; store b more B; commit b
            fails on b git pull -q --no-edit --no-rebase 2>error; grep -q "two items, one from each copy, have the same name: .*'more'" error
            on b git add work.vault; on b git commit -q --no-edit; on b vaultfmt sync work.vault
            ends 3 on a vaultfmt sync work.vault
            store a gone 1; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            on b vaultfmt rm gone --yes -f work.vault; on b vaultfmt sync work.vault; store a gone 2
            on a vaultfmt sync work.vault 2>error; grep -q "removed in one copy but changed in the other, so it was kept: .*'gone'" error
            """)
    }

    @Test("an item that a merge leaves without a secret ends a sync with 3 on each machine, and is a conflict for git")
    func withoutSecret() throws {
        let clones = try Clones()
        try clones.run(
            """
            erase() { store b "$1" 2; on b vaultfmt forget "$1" '' --all --yes -f work.vault; on b vaultfmt rm "$1" '' --yes -f work.vault; }
            label() { on a vaultfmt update "$1" '' --label L -f work.vault; }
            because="shows no secret, because its last secret was forgotten"
            store a token 1; store a other 1; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            label token; on a vaultfmt sync work.vault; erase token
            for name in b a; do
                ends 3 on $name vaultfmt sync work.vault
                grep -q "'token'.* $because" error; grep -q "synced, but items in 'work.vault' show no secret (see above)" error
                # Once is enough.
                on $name vaultfmt sync work.vault
            done
            # The machine that has removed it receives it for the first time.
            store a third 1; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            label third; erase third; on b vaultfmt sync work.vault
            for name in a b; do
                ends 3 on $name vaultfmt sync work.vault; grep -q "'third'.* $because" error
                on $name vaultfmt sync work.vault
            done
            label other; store a twin A; commit a; on a git push -q; erase other; store b twin B; commit b
            fails on b git pull -q --no-edit --no-rebase 2>error; grep -q "'other'.* $because" error
            grep -q "one of each pair with 'vaultfmt move'; items show no secret .*: give them one with 'vaultfmt set'; then" error
            on b git add work.vault; on b git commit -q --no-edit
            """)
    }

    @Test("a driver that cannot open the vault stops the merge, and both sides stay as they were")
    func locked() throws {
        let clones = try Clones()
        try clones.run(
            """
            store a a1 A; commit a; on a git push -q
            store b b1 B; commit b; on b git fetch -q
            sum=$(sha256sum < b/work.vault)
            if on b env -u VAULTFMT_PASSPHRASE git merge -q --no-edit origin/main 2>error; then exit 1; fi
            [[ $sum == "$(sha256sum < b/work.vault)" ]]
            """)
    }

    @Test(
        "without the driver git leaves this side and a conflict, -X theirs loses a side; octopus merges ask no driver")
    func withoutDriver() throws {
        let clones = try Clones()
        try clones.run(
            """
            accept() { on $1 vaultfmt anchor --accept work.vault >/dev/null; }
            branch() { on b git switch -q -c $1 main; accept b; store b $1 v; commit b; on b git push -q origin $1; }
            branch one; branch two; store a three v; commit a; on a git push -q; on a git fetch -q
            # Octopus: refused, and nothing changes.
            if on a git merge -q --no-edit origin/one origin/two; then exit 1; fi
            on a git reset -q --hard; has a three v
            # With the driver, a strategy option changes nothing.
            on a git merge -q --no-edit -X theirs origin/one
            has a one v; has a three v
            # Without, in another clone.
            git clone -q hub.git c; has c three v
            if on c git merge -q --no-edit origin/one; then exit 1; fi
            [[ $(on c git status --porcelain -- work.vault) == UU* ]]
            has c three v
            on c git merge --abort
            on c git merge -q --no-edit -X theirs origin/one
            if on c vaultfmt get three -f work.vault; then exit 1; fi
            # What git left out is in its history.
            on c git show HEAD~1:work.vault >lost.vault
            on c vaultfmt merge work.vault ../lost.vault
            has c one v; has c three v
            """)
    }

    @Test("a checkout of an old commit is a rollback, refused until it is accepted; back on the branch all is well")
    func checkout() throws {
        let clones = try Clones()
        try clones.run(
            """
            store a later L; commit a
            on a git checkout -q HEAD~1
            if on a vaultfmt list -f work.vault 2>error; then exit 1; fi
            grep -q 'rolled back' error
            on a vaultfmt log work.vault
            on a git checkout -q main; has a later L
            """)
    }

    @Test("a branch that was left by accepting an older state is merged by hand, and then by git again")
    func dropped() throws {
        let clones = try Clones()
        try clones.run(
            """
            on a git switch -q -c side; store a aside S; commit a; on a git switch -q main
            on a vaultfmt anchor --accept work.vault
            store a a1 A; commit a
            sum=$(sha256sum <a/work.vault)
            if on a git merge -q --no-edit side 2>error; then exit 1; fi
            grep -q -e --accept-dropped error; [[ $sum == "$(sha256sum <a/work.vault)" ]]
            on a git show side:work.vault >side.vault
            on a vaultfmt merge work.vault ../side.vault --accept-dropped
            has a aside S; has a a1 A
            on a git add work.vault; on a git commit -q --no-edit
            on a git switch -q side; on a git merge -q --no-edit main; has a aside S; has a a1 A
            """)
    }

    // MARK: sync

    @Test("two clones sync: what both changed arrives on both, other files too, and nothing is pushed twice")
    func sync() throws {
        let clones = try Clones()
        try clones.run(
            """
            echo readme > a/README; on a git add README
            store a a1 A; on a git commit -q -m readme README
            store b b1 B
            on a vaultfmt sync work.vault
            on b vaultfmt sync work.vault
            has b a1 A; has b b1 B; [[ -e b/README ]]
            on a vaultfmt sync work.vault
            has a b1 B
            cmp a/work.vault b/work.vault
            store a a0 A; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            generation=$(on a vaultfmt inspect work.vault --json | grep -o '"generation": *[0-9]*' | grep -o '[0-9]*$' | sed -n 1p)
            [[ $(git -C a log -1 --format=%s) == "work.vault: generation $generation" ]]
            before=$(git -C hub.git rev-parse main)
            on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            [[ $before == $(git -C hub.git rev-parse main) ]]
            # Git's history stays a line where one side has nothing new.
            store a a2 A; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault; has b a2 A
            [[ $(git -C a rev-parse HEAD) == $(git -C b rev-parse HEAD) ]]
            [[ -z $(git -C b status --porcelain) ]]
            on a vaultfmt verify work.vault
            """)
    }

    @Test("a conflict is settled later: sync pushes both values and ends with 3; the other clone settles it")
    func syncConflict() throws {
        let clones = try Clones()
        try clones.run(
            """
            store a svc-2 x; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            store a svc-2 from-a; on a vaultfmt sync work.vault
            store b svc-2 from-b
            code=0; on b vaultfmt sync work.vault || code=$?; [[ $code == 3 ]]
            # The other clone takes the state as it is: there is still something to settle.
            ends 3 on a vaultfmt sync work.vault; ends 3 on a vaultfmt sync work.vault
            [[ -n $(on a vaultfmt conflicts -f work.vault) ]]
            on a vaultfmt conflicts settle --all -f work.vault
            on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            [[ -z $(on b vaultfmt conflicts -f work.vault) ]]
            has b svc-2 from-b
            """)
    }

    @Test("two clones of which one was compacted end with one file, and push nothing more")
    func compacted() throws {
        let clones = try Clones()
        try clones.run(
            """
            store a svc two; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            on a vaultfmt compact work.vault; on a vaultfmt sync work.vault
            on b vaultfmt sync work.vault; on a vaultfmt sync work.vault
            before=$(git -C hub.git rev-parse main); cmp a/work.vault b/work.vault
            on b vaultfmt sync work.vault; on a vaultfmt sync work.vault
            [[ $before == $(git -C hub.git rev-parse main) ]]; has b svc two
            """)
    }

    @Test("what one clone erased does not come back with the syncs of another, and both end with the compacted file")
    func erased() throws {
        let clones = try Clones()
        try clones.run(
            """
            store a gone G; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            store b b1 B
            on a vaultfmt rm gone --yes -f work.vault; on a vaultfmt compact work.vault; on a vaultfmt sync work.vault
            # b merges, and then has everything, and the erased item in an earlier state.
            on b vaultfmt sync work.vault
            on b vaultfmt log work.vault | grep "'gone'" >/dev/null
            on a vaultfmt sync work.vault; has a b1 B
            [[ -z $(on a vaultfmt log work.vault | grep "'gone'") ]]
            on b vaultfmt sync work.vault; cmp a/work.vault b/work.vault; has b b1 B
            before=$(git -C hub.git rev-parse main)
            on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            [[ $before == $(git -C hub.git rev-parse main) ]]
            """)
    }

    @Test("what two clones erased, each before it saw the other, is gone from the file with which both end")
    func bothErased() throws {
        let clones = try Clones()
        try clones.run(
            """
            store a goneA A; store a goneB B; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            on a vaultfmt rm goneA --yes -f work.vault; on a vaultfmt compact work.vault
            on b vaultfmt rm goneB --yes -f work.vault; on b vaultfmt compact work.vault
            for round in 1 2 3; do on a vaultfmt sync work.vault; on b vaultfmt sync work.vault; done
            before=$(git -C hub.git rev-parse main)
            on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            [[ $before == $(git -C hub.git rev-parse main) ]]; cmp a/work.vault b/work.vault
            git -C hub.git show main:work.vault | cmp - a/work.vault; [[ -z $(git -C a status --porcelain) ]]
            on a vaultfmt log work.vault >log; [[ -z $(grep "'gone" log) ]]
            has a svc one; on a vaultfmt verify work.vault
            """)
    }

    @Test("what another program fetches during a sync is not overwritten, and its branch is not taken for another one")
    func meanwhile() throws {
        let clones = try Clones()
        try clones.run(
            """
            on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            store a a1 A; on a vaultfmt sync work.vault
            git clone -q hub.git c; on c vaultfmt git setup work.vault; store c c1 C; commit c
            # While b commits what it has merged, c pushes, and something fetches that in b.
            store b b1 B
            cat >b/.git/hooks/pre-commit <<'END'
            #!/bin/sh
            top=$(pwd)/..
            echo >>"$top/commits"
            [ $(wc -l <"$top/commits") -eq 2 ] || exit 0
            for variable in $(env | sed -n 's/^\\(GIT_[A-Z_]*\\)=.*/\\1/p'); do unset "$variable"; done
            git -C "$top/c" push -q && git -C "$top/b" fetch -q
            END
            chmod +x b/.git/hooks/pre-commit
            on b vaultfmt sync work.vault
            [[ $(wc -l <commits) -ge 2 ]]; rm b/.git/hooks/pre-commit
            has b a1 A; has b c1 C; has b b1 B
            on a vaultfmt sync work.vault; has a c1 C; has a b1 B
            # Somebody switches to another branch while b fetches.
            store a a2 A; on a vaultfmt sync work.vault; store b b2 B
            on b git branch feature
            cat >b/.git/hooks/reference-transaction <<'END'
            #!/bin/sh
            [ "$1" = committed ] && grep -q refs/remotes/ && git symbolic-ref HEAD refs/heads/feature
            exit 0
            END
            chmod +x b/.git/hooks/reference-transaction
            hub=$(git -C hub.git rev-parse main); feature=$(git -C b rev-parse feature)
            fails on b vaultfmt sync work.vault 2>error; grep -q 'is not checked out any more' error
            [[ $hub == $(git -C hub.git rev-parse main) && $feature == $(git -C b rev-parse feature) ]]
            rm b/.git/hooks/reference-transaction; on b git symbolic-ref HEAD refs/heads/main
            on b vaultfmt sync work.vault; has b a2 A; has b b2 B
            """)
    }

    @Test("a vault whose name is not UTF-8 is not taken from the other side without a comparison")
    func nameIsNotUTF8() throws {
        let clones = try Clones()
        try clones.run(
            """
            odd=$(printf 'caf\\351.vault')
            on a vaultfmt create second.vault --kdf testing; cp a/second.vault "a/$odd"
            on a git add "$odd"; on a git commit -q -m odd
            on a vaultfmt sync work.vault; on b vaultfmt sync work.vault; cp "b/$odd" before
            printf x | on a vaultfmt set in-a -f second.vault; cp a/second.vault "a/$odd"; commit a
            on a vaultfmt sync work.vault; store b b1 B
            ends 64 on b vaultfmt sync work.vault; grep -q 'whose name is not UTF-8' error
            cmp "b/$odd" before
            """)
    }

    @Test("two vaults of one repository do not lose each other's changes")
    func twoVaults() throws {
        let clones = try Clones()
        try clones.run(
            """
            on a vaultfmt create second.vault --kdf testing
            on a vaultfmt git setup second.vault; on a git add .; on a git commit -q -m second
            on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            printf A2 | on a vaultfmt set in-a -f second.vault; store a a1 A; commit a
            on a vaultfmt sync work.vault
            printf B2 | on b vaultfmt set in-b -f second.vault; store b b1 B; commit b
            on b vaultfmt sync work.vault
            [[ $(on b vaultfmt get in-a -f second.vault) == A2 && $(on b vaultfmt get in-b -f second.vault) == B2 ]]
            has b a1 A; has b b1 B
            """)
    }

    @Test("what was committed under keys that the other clone has rotated away is not synced")
    func rotated() throws {
        let clones = try Clones()
        try clones.run(
            """
            on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            on b vaultfmt rekey --rotate work.vault; on b vaultfmt sync work.vault
            store a svc leaked
            code=0; on a vaultfmt sync work.vault 2>error || code=$?; [[ $code == 65 ]]
            grep -q 'merge this copy into the other' error
            has b svc one
            # By hand: the other clone's vault, with what is here left to settle.
            cp a/work.vault mine.vault; echo mine >>a/.gitattributes
            on a git checkout -q origin/main -- work.vault
            on a vaultfmt anchor --accept work.vault
            fails on a vaultfmt merge work.vault ../mine.vault
            ends 3 on a vaultfmt merge work.vault ../mine.vault --accept-old-keys --yes
            ends 3 on a vaultfmt sync work.vault; ends 3 on b vaultfmt sync work.vault
            has b svc one
            on b vaultfmt conflicts settle svc -f work.vault
            on b vaultfmt sync work.vault; on a vaultfmt sync work.vault
            [[ $(on b vaultfmt get svc --earlier 1 -f work.vault) == leaked ]]
            [[ $(tail -n 1 a/.gitattributes) == mine ]]
            """)
    }

    @Test("three clones that sync at once lose nothing and end equal")
    func many() throws {
        let clones = try Clones()
        try clones.run(
            """
            for n in 1 2 3; do git clone -q hub.git c$n; on c$n vaultfmt git setup work.vault; done
            work() { for round in 1 2; do store c$1 c$1-$round v; on c$1 vaultfmt sync work.vault; done >log$1 2>&1; }
            pids=()
            for n in 1 2 3; do work $n & pids+=($!); done
            for pid in ${pids[@]}; do wait $pid || { cat log*; exit 1; }; done
            for n in 1 2 3; do on c$n vaultfmt sync work.vault; done
            for n in 1 2; do on c$n vaultfmt sync work.vault; cmp c3/work.vault c$n/work.vault; done
            for m in 1 2 3; do for round in 1 2; do on c1 vaultfmt list -f work.vault | grep -c c$m-$round >found; done; done
            """)
    }

    // MARK: what somebody else can put into a repository

    /// Names with every printable character that a file name may have, with every control character, and with what git
    /// replaces in drivers.
    private static let oddNames = [
        "100%Prod.vault", "%O%A%P.vault",
        String(decoding: (0x20...0x7E as ClosedRange<UInt8>).filter { $0 != 0x2F }, as: UTF8.self) + ".vault",
        String(decoding: 0x01...0x1F as ClosedRange<UInt8>, as: UTF8.self) + "$(touch PWNED).vault",
    ]

    @Test("N3: no name of a vault or of another file becomes a command", arguments: oddNames)
    func namesAreNoCommands(_ name: String) throws {
        let clones = try Clones()
        try clones.sandbox.write("name", name.utf8)
        try clones.run(
            """
            name=$(cat name; printf x); name=${name%x}
            cp a/work.vault "a/$name"
            on a vaultfmt git setup -f "./$name"
            planted='$(touch PWNED);touch PWNED;x'
            echo first >"a/$planted"; echo '"/$(touch PWNED);touch PWNED;x" merge=vaultfmt' >>a/.gitattributes
            on a git add .; on a git commit -q -m odd; on a git push -q; on b git pull -q
            on b vaultfmt git setup -f "./$name"
            printf A | on a vaultfmt set in-a -f "./$name"; echo second >"a/$planted"
            on a git commit -q -a -m second
            on a vaultfmt sync -f "./$name"
            printf B | on b vaultfmt set in-b -f "./$name"
            on b vaultfmt sync -f "./$name"
            [[ $(on b vaultfmt get in-a -f "./$name") == A && $(on b vaultfmt get in-b -f "./$name") == B ]]
            # The same by git's own merge, which starts the driver.
            printf A | on a vaultfmt set in-a2 -f "./$name"; on a git commit -q -a -m a2
            on a git pull -q --no-rebase --no-edit
            [[ $(on a vaultfmt get in-b -f "./$name") == B && $(on a vaultfmt get in-a2 -f "./$name") == A ]]
            [[ -z $(find . -name PWNED) ]]
            """)
    }

    @Test("N4: a vault that the other side removed is an error, and an older one that it committed is not taken")
    func removedOrOlder() throws {
        let clones = try Clones()
        try clones.run(
            """
            store a a1 A; on a vaultfmt sync work.vault; on b vaultfmt sync work.vault
            old=$(git -C a rev-parse HEAD~1)
            # Back to an older state, with something else in the same commit.
            git -C b checkout -q $old -- work.vault; echo more >b/more
            git -C b add .; git -C b commit -q -m older; git -C b push -q
            sum=$(sha256sum <a/work.vault)
            on a vaultfmt sync work.vault
            [[ $sum == "$(sha256sum <a/work.vault)" && -e a/more ]]; has a a1 A
            git -C b pull -q --no-rebase --no-edit; has b a1 A
            # Removed.
            git -C b rm -q work.vault; git -C b commit -q -m removed; git -C b push -q
            code=0; on a vaultfmt sync work.vault 2>error || code=$?; [[ $code == 74 ]]
            grep -q "the other side removed 'work.vault'" error
            [[ $sum == "$(sha256sum <a/work.vault)" ]]
            store a a2 A
            code=0; on a vaultfmt sync work.vault || code=$?; [[ $code == 74 ]]
            has a a2 A
            """)
    }

    @Test("N5: git, its hooks, filters and helpers get no factor")
    func hooksGetNoFactor() throws {
        let clones = try Clones()
        try clones.run(
            """
            for hook in pre-commit post-commit pre-merge-commit post-merge pre-push reference-transaction; do
                printf '#!/bin/sh\nenv >>%s/seen\n' "$HOME" >b/.git/hooks/$hook
                chmod +x b/.git/hooks/$hook
            done
            on b git config filter.spy.clean "env >>$HOME/seen; cat"
            on b git config filter.spy.smudge "env >>$HOME/seen; cat"
            echo 'other.txt filter=spy' >>a/.gitattributes; echo other >a/other.txt; on a git add .
            on a git commit -q -m other; store a a1 A; on a vaultfmt sync work.vault
            store b b1 B; on b vaultfmt sync work.vault
            has b a1 A; has b b1 B
            [[ -s seen ]]
            ! grep -E '^VAULTFMT_(NEW_)?(PASSPHRASE|KEY_FILE|IDENTITY)' seen
            """)
    }

    @Test("N9: git setup writes through no link")
    func attributesLink() throws {
        let clones = try Clones()
        try clones.run(
            """
            echo mine >precious; rm a/.gitattributes; ln -s ../precious a/.gitattributes
            code=0; on a vaultfmt git setup work.vault 2>error || code=$?; [[ $code == 64 ]]
            grep -q 'is a symbolic link' error; [[ $(<precious) == mine ]]
            rm precious
            code=0; on a vaultfmt git setup work.vault || code=$?; [[ $code == 64 && ! -e precious ]]
            """)
    }

    @Test(
        "N16: a name that begins with a dash is a name, also for a driver as earlier versions configured it",
        arguments: ["git merge-driver -- %O %A %B %P", "git merge-driver %O %A %B %P"])
    func dashedNames(_ driver: String) throws {
        let clones = try Clones()
        try clones.run(
            """
            for name in --help --version -h.vault; do on a vaultfmt create --vault ./$name --kdf testing; done
            printf '"/%s" -text merge=vaultfmt diff=vaultfmt\n' --help --version -h.vault >>a/.gitattributes
            on a git add .; on a git commit -q -m dashed; on a git push -q; on b git pull -q
            on b git config merge.vaultfmt.driver 'vaultfmt \(driver)'
            for name in --help --version -h.vault; do
                printf A | on a vaultfmt set in-a -f ./$name; printf B | on b vaultfmt set in-b -f ./$name
            done
            on a git commit -q -a -m a; on a git push -q; on b git commit -q -a -m b
            on b git pull -q --no-rebase --no-edit
            for name in --help --version -h.vault; do
                [[ $(on b vaultfmt get in-a -f ./$name) == A && $(on b vaultfmt get in-b -f ./$name) == B ]]
            done
            on b git diff HEAD~1 -- ./--help | grep -c in-a >found
            """)
    }
}
