import Foundation
import Testing

/// What somebody who can push, or who controls the remote, puts into a repository.
@Suite("sync against a remote that plays the attacker", .enabled(if: Machine.has("git"), "no git here"))
struct GitAttackTests {
    /// The attacker is the clone `b`; `sync` runs in `a`. What a shell would run makes a file PWNED.
    private func attack(_ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let clones = try Clones()
        try clones.run(
            """
            store a a1 A; on a vaultfmt sync work.vault; on b git pull -q
            # The vault of a is what it was, and so is what the remote has of it.
            intact() { has a a1 A; on a vaultfmt verify work.vault; git -C hub.git show refs/heads/main:work.vault | cmp - a/work.vault; }
            pushed() { on b git add -A; on b git commit -q -m attack; on b git push -q; }
            \(script)
            [[ -z $(find . -name 'PWNED*') ]]
            """, sourceLocation: sourceLocation)
    }

    // MARK: names and attributes

    @Test("no byte in the name of a file that the remote adds or changes makes it a command, an option or a vault")
    func everyByte() throws {
        try attack(
            #"""
            # Files that both sides change, all of them for the drivers of vaults; /, NUL and the dot alone are no names.
            for hex in $(seq 1 255); do
                [[ $hex == 47 ]] && continue
                name=$(printf "\\x$(printf %x $hex)"'$(touch PWNED)`touch PWNED`;touch PWNED;%%P%%A x'; printf x); name=${name%x}
                printf '%s\n' $hex >"b/-$name"; printf '%s\n' $hex >"b/$name"
            done
            printf '* merge=vaultfmt diff=vaultfmt filter=vaultfmt\n' >>b/.gitattributes
            pushed
            on a vaultfmt sync work.vault
            echo mine >a/mine; on a git add mine; on a git commit -q -m mine
            for file in b/*touch*; do echo more >>"$file"; done; pushed
            store a a2 A; on a vaultfmt sync work.vault
            has a a2 A; intact
            [[ $(ls a | grep -c touch) == $(ls b | grep -c touch) ]]
            """#)
    }

    @Test("attributes that stopped a sync do so no more once the other side has taken them back")
    func attributesTakenBack() throws {
        try attack(
            """
            on a vaultfmt sync work.vault; on b git pull -q
            echo 'work.vault text eol=crlf' >>b/.gitattributes
            on b git commit -q -m attributes .gitattributes; on b git push -q
            store a a2 A; ends 64 on a vaultfmt sync work.vault
            on b git revert --no-edit HEAD >revert; on b git push -q
            on a vaultfmt sync work.vault; on b git pull -q; has b a2 A
            """)
    }

    @Test(
        "attributes that would alter the vault stop sync before anything is committed; others change nothing",
        arguments: [
            ("text", 64), ("text eol=crlf", 64), ("text=auto eol=crlf", 0), ("working-tree-encoding=UTF-16", 64),
            ("working-tree-encoding=ISO-8859-1", 64),
            ("ident", 0),
            ("filter=evil", 0), ("merge=union", 0), ("merge=binary", 0), ("diff=evil", 0), ("merge=evil", 0),
            ("-merge", 0),
        ])
    func attributes(_ attribute: String, _ code: Int) throws {
        try attack(
            """
            # A megabyte of ciphertext, which has every pair of bytes.
            head -c 1000000 /dev/urandom >blob; on a vaultfmt update a1 --attach ../blob -f work.vault; on a vaultfmt sync work.vault
            on b git pull -q; printf 'work.vault %s\\n' '\(attribute)' >>b/.gitattributes
            on b git commit -q -m attributes .gitattributes; on b git push -q
            # A new clone would get another file: that is said at once.
            case '\(attribute)' in 'text eol=crlf' | working-tree-encoding*) ends 64 on a vaultfmt sync work.vault;; *) on a vaultfmt sync work.vault;; esac
            # The attributes are here now, and the vault changes.
            store a a2 A; head -c 500000 /dev/urandom >blob2; on a vaultfmt update a2 --attach ../blob2 -f work.vault
            sum=$(sha256sum <a/work.vault)
            ends \(code) on a vaultfmt sync work.vault
            [[ $sum == "$(sha256sum <a/work.vault)" ]]
            if [[ \(code) != 0 ]]; then
                grep -q 'git check-attr' error
                git -C a show :work.vault >staged; [[ $(XDG_STATE_HOME=$HOME/new vaultfmt get a1 -f staged) == A ]]
                on a vaultfmt git setup work.vault 2>error && exit 1; grep -q 'the attribute' error
                sed -i '$d' a/.gitattributes; on a git commit -q -a -m repaired; on a vaultfmt sync work.vault
            fi
            has a a2 A; intact
            """)
    }

    @Test(
        "a folder of the remote that looks like a repository, next to the vault, is none: its configuration runs nothing"
    )
    func embeddedRepository() throws {
        try attack(
            #"""
            mkdir a/sub; on a vaultfmt create sub/in.vault --kdf testing; on a vaultfmt git setup sub/in.vault
            on a git add .; on a git commit -q -m sub; on a vaultfmt sync sub/in.vault; on b git pull -q
            mkdir -p b/sub/objects/info b/sub/refs/heads; touch b/sub/objects/info/x b/sub/refs/heads/x
            printf 'ref: refs/heads/x\n' >b/sub/HEAD
            printf '[core]\n repositoryformatversion=0\n bare=false\n worktree=%s\n fsmonitor="touch %s/PWNED;false"\n' "$HOME/a/sub" "$HOME" >b/sub/config
            printf '[remote "origin"]\n url=ext::sh -c "touch%% %s/PWNED"\n' "$HOME" "$HOME" >>b/sub/config
            # Not by git in that folder, which the attacker's own git would run it in.
            git -C b add sub; git -C b commit -q -m embedded; git -C b push -q
            on a vaultfmt sync sub/in.vault
            printf v | on a vaultfmt set later -f sub/in.vault
            on a vaultfmt sync sub/in.vault; on a vaultfmt git setup sub/in.vault
            [[ $(git -C hub.git ls-tree --name-only main sub/in.vault) == sub/in.vault ]]
            git -C hub.git show refs/heads/main:sub/in.vault | cmp - a/sub/in.vault
            """#)
    }

    @Test("submodules that the remote adds are neither fetched nor run, whatever the configuration says of submodules")
    func submodules() throws {
        try attack(
            #"""
            on a git config fetch.recurseSubmodules true; on a git config submodule.recurse true
            commit=$(git -C b rev-parse HEAD)
            printf '[submodule "x"]\n path = x\n url = ext::sh -c touch%% PWNED\n update = !touch PWNED\n' >b/.gitmodules
            printf '[submodule "--upload-pack=touch PWNED"]\n path = -x\n url = --upload-pack=touch PWNED\n' >>b/.gitmodules
            git -C b update-index --add --cacheinfo 160000,$commit,x
            git -C b add .gitmodules; git -C b commit -q -m submodules; git -C b push -q
            on a vaultfmt sync work.vault; store a a2 A; on a vaultfmt sync work.vault; intact
            """#)
    }

    @Test("a file here that git does not track, ignored or not, is not overwritten: sync names it and changes nothing")
    func untracked() throws {
        try attack(
            #"""
            printf '*.key\nsub/\n' >b/.gitignore; mkdir b/t; touch b/t/x b/u b/known; pushed; on a vaultfmt sync work.vault
            mkdir a/sub; echo mine | tee a/here.key a/dir.key a/sub/deep a/seen $'a/\xff.key' >/dev/null; printf 'untracked here' >a/known
            on a git rm -q --cached known; on a git commit -q -m untrack; echo known >>a/.git/info/exclude
            for name in here.key dir.key/x sub seen $'\xff.key'; do
                mkdir -p b/${name%%/x}; rmdir b/$name 2>/dev/null || true
                echo theirs >b/$name; on b git add -f $name; pushed
                before=$(git -C a rev-parse HEAD); store a a2 A
                ends 74 on a vaultfmt sync work.vault; grep -q 'git would overwrite' error
                [[ $(cat a/here.key a/dir.key a/sub/deep a/seen a/*.key | sort -u) == mine && ! -e a/.git/MERGE_HEAD ]]
                on b git rm -q -r ${name%%/x}; pushed
            done
            grep -q "which it does not track" error
            # What git tracks here may change in every way, and what is untracked stays.
            on b git rm -q -r t u; echo t >b/t; mkdir b/u; echo u >b/u/x; pushed
            on a vaultfmt sync work.vault; [[ -f a/t && -f a/u/x && $(<a/known) == 'untracked here' ]]
            has a a2 A; intact
            """#)
    }

    // MARK: refs

    @Test("tags and branches of the remote, whatever they are named, change neither what is pushed nor where")
    func refs() throws {
        try attack(
            """
            old=$(git -C hub.git rev-parse main~1)
            for name in HEAD main origin/main heads/main refs/remotes/origin/main FETCH_HEAD MERGE_HEAD '$(touch-PWNED)' ';x'; do
                git -C hub.git update-ref "refs/tags/$name" $old
            done
            for name in --upload-pack=x -x --help HEAD; do git -C hub.git update-ref "refs/heads/$name" $old; done
            echo more >b/more; pushed
            on a git fetch -q --tags
            store a a2 A; on a vaultfmt sync work.vault; intact
            store a a3 A; on a vaultfmt sync work.vault; intact
            [[ $(git -C hub.git rev-parse refs/heads/main) == $(git -C a rev-parse refs/heads/main) ]]
            [[ -z $(git -C hub.git for-each-ref refs/heads/heads) ]]
            git -C hub.git log --format=%s refs/heads/main -- | grep -c generation >found
            # A vault that is removed is noticed despite the warnings that such names make git write.
            git -C b pull -q; git -C b rm -q work.vault; echo x >b/x; pushed
            ends 74 on a vaultfmt sync work.vault; grep -q 'removed' error; has a a3 A
            """)
    }

    @Test("a tag with the whole name of a branch changes nothing, here and there, and tags are not fetched")
    func wholeNames() throws {
        try attack(
            """
            old=$(git -C hub.git rev-parse main~1); git -C hub.git update-ref refs/tags/refs/heads/main $old
            store a a2 A; on a vaultfmt sync work.vault; intact; [[ -z $(git -C a tag) ]]
            on a git fetch -q --tags; store a a3 A; on a vaultfmt sync work.vault; intact
            # A branch without an upstream, which the remote does not have either.
            on a git switch -q -c side; git -C a update-ref refs/tags/refs/heads/side $old; git -C hub.git update-ref refs/tags/refs/heads/side $old
            git -C a update-ref refs/worktree/vaultfmt-sync/stray $old
            store a a4 A; on a vaultfmt sync work.vault; git -C hub.git show refs/heads/side:work.vault | cmp - a/work.vault
            [[ $(git -C a config branch.side.remote) == origin && $(git -C a config branch.side.merge) == refs/heads/side ]]
            store a a5 A; on a vaultfmt sync work.vault; git -C hub.git show refs/heads/side:work.vault | cmp - a/work.vault
            [[ $(git -C hub.git rev-parse refs/tags/refs/heads/side) == $old && -z $(git -C hub.git for-each-ref refs/heads/stray) ]]
            [[ -z $(git -C a for-each-ref refs/worktree) ]]
            """)
    }

    @Test("a branch whose name is an option is synced like any other")
    func optionBranch() throws {
        try attack(
            """
            git -C hub.git update-ref 'refs/heads/--upload-pack=touch PWNED' main || git -C hub.git update-ref 'refs/heads/--all' main
            name=$(git -C hub.git for-each-ref --format='%(refname)' 'refs/heads/--*'); name=${name#refs/heads/}
            git -C a update-ref "refs/heads/$name" HEAD; git -C a symbolic-ref HEAD "refs/heads/$name"
            store a a2 A; on a vaultfmt sync work.vault
            git -C hub.git show "refs/heads/$name:work.vault" | cmp - a/work.vault
            git -C b show origin/main:work.vault | cmp - <(git -C hub.git show refs/heads/main:work.vault)
            """)
    }

    @Test("an upstream that is no remote, and remotes that are options or commands, are refused in one line")
    func remotes() throws {
        try attack(
            """
            for name in --upload-pack=touch\\ PWNED 'ext::sh -c touch% PWNED' . ../hub.git -x; do
                ends 64 on a vaultfmt sync work.vault --remote="$name"; [[ $(grep -c . error) == 1 ]]; grep -q 'there is no remote' error
                on a git config branch.main.remote "$name"
                ends 64 on a vaultfmt sync work.vault; [[ $(grep -c . error) == 1 ]]
                on a git config branch.main.remote origin
            done
            on a git config 'remote.--upload-pack=touch PWNED.url' ../hub.git
            on a vaultfmt sync work.vault --remote='--upload-pack=touch PWNED' || true
            on a git config remote.evil.url 'ext::sh -c touch% PWNED'
            ends 74 on a vaultfmt sync work.vault --remote evil
            intact
            """)
    }

    // MARK: what is in place of the vault

    @Test(
        "a link, a folder, a submodule or other bytes in place of the vault are an error that leaves the file",
        arguments: [
            ("ln -s ../precious b/work.vault", 74, "a symbolic link"),
            ("mkdir b/work.vault; touch b/work.vault/x", 74, "a folder"),
            ("echo text >b/work.vault", 65, "is not a vault"), (": >b/work.vault", 65, "is not a vault"),
            (
                "printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:00\\nsize 9\\n' >b/work.vault", 65,
                "is not a vault"
            ),
            ("cp a/work.vault b/renamed.vault", 74, "removed"),
            ("vaultfmt create b/work.vault --kdf testing", 65, "another vault"),
            ("head -c 9000 a/work.vault >b/work.vault", 65, "the other side's 'work.vault'"),
            (
                "{ head -c 9000 a/work.vault; head -c 9000 /dev/urandom; } >b/work.vault", 65,
                "the other side's 'work.vault'"
            ),
        ])
    func replaced(_ script: String, _ code: Int, _ message: String) throws {
        try attack(
            """
            echo precious >precious; sum=$(sha256sum <a/work.vault)
            git -C b rm -q work.vault; \(script); pushed
            for state in unchanged changed; do
                ends \(code) on a vaultfmt sync work.vault
                [[ $(grep -c ^vaultfmt: error) == 1 && $(grep -c vaultfmt-sync error) == 0 ]]; grep -q "\(message)" error
                [[ ! -L a/work.vault && $(<precious) == precious ]]
                [[ $state == changed ]] || [[ $sum == "$(sha256sum <a/work.vault)" ]]
                has a a1 A; store a a2 A
            done
            # The remedy that the message names.
            on b git revert --no-edit HEAD >log; on b git push -q
            on a vaultfmt sync work.vault; has a a2 A; intact
            """)
    }

    @Test("a link in place of the vault's folder, of VAULT.merged, or of the vault here is followed by nothing")
    func links() throws {
        try attack(
            """
            mkdir a/sub elsewhere; on a vaultfmt create sub/in.vault --kdf testing; cp a/sub/in.vault elsewhere/in.vault
            on a vaultfmt git setup sub/in.vault; on a git add .; on a git commit -q -m sub; on a vaultfmt sync sub/in.vault
            on b git pull -q; git -C b rm -q -r sub; ln -s ../elsewhere b/sub; ln -s ../elsewhere b/work.vault.merged; pushed
            sum=$(sha256sum <elsewhere/in.vault)
            ends 74 on a vaultfmt sync sub/in.vault; grep -q removed error; [[ ! -L a/sub ]]
            printf v | on a vaultfmt set x -f sub/in.vault; ends 74 on a vaultfmt sync sub/in.vault; [[ ! -L a/sub ]]
            [[ $sum == "$(sha256sum <elsewhere/in.vault)" ]]
            on b git revert --no-edit HEAD >log; ln -s ../elsewhere b/work.vault.merged; pushed
            on a vaultfmt sync sub/in.vault; on a vaultfmt sync work.vault
            cp a/work.vault a/work.sync-conflict-1.vault
            ends 3 on a vaultfmt merge work.vault --conflicts >output; [[ -e a/work.sync-conflict-1.vault && ! -e elsewhere/work.sync-conflict-1.vault ]]
            # A vault that is a link is no file that git could keep.
            mv a/work.vault moved; ln -s ../moved a/work.vault
            ends 64 on a vaultfmt sync work.vault; grep -q 'symbolic link' error; ends 64 on a vaultfmt git setup work.vault
            rm a/work.vault; mv moved a/work.vault; intact
            """)
    }

    @Test("a vault of the same id that belongs to others is refused, although a key of this one opens it")
    func otherOwners() throws {
        try attack(
            """
            # An older state that was continued under other keys by whoever had the old passphrase.
            cp a/work.vault old.vault
            on a vaultfmt rekey --rotate work.vault; on a vaultfmt sync work.vault
            on b git pull -q; cp old.vault b/work.vault; printf evil | XDG_STATE_HOME=$HOME/evil vaultfmt set a1 -f b/work.vault; pushed
            sum=$(sha256sum <a/work.vault)
            code=0; on a vaultfmt sync work.vault 2>error || code=$?; cat error >&2
            [[ $code == 65 || $code == 0 ]]; has a a1 A
            XDG_STATE_HOME=$HOME/evil vaultfmt rekey --rotate b/work.vault; pushed
            ends 65 on a vaultfmt sync work.vault; has a a1 A
            """)
    }

    // MARK: messages

    @Test("what the remote writes reaches the terminal as one harmless line, and any amount of it does no harm")
    func messages() throws {
        try attack(
            #"""
            printf '#!/bin/sh\nprintf "\\033]0;evil\\007\\033[2Jgo\\rvaultfmt: all is well\\n" >&2; exit 1\n' >hub.git/hooks/pre-receive
            chmod +x hub.git/hooks/pre-receive
            store a a2 A; ends 74 on a vaultfmt sync work.vault
            [[ $(grep -c . error) == 1 && $(tr -d '\n -~' <error | wc -c) == 0 ]]
            printf '#!/bin/sh\nhead -c 100000000 /dev/zero | tr "\\0" x >&2\n' >hub.git/hooks/pre-receive
            code=0; on a vaultfmt sync work.vault 2>error || code=$?; [[ $code == 74 || $code == 0 ]]; [[ $(wc -c <error) -lt 5000 ]]
            rm hub.git/hooks/pre-receive; on a vaultfmt sync work.vault; has a a2 A; intact
            """#)
    }
}
