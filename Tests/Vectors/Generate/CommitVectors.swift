import VaultBytes
import VaultFmt
import VaultForge
import VaultStore

/// Commits and histories (sections 5.4, 5.5 and 7.2).
extension Collection {
    mutating func addCommits(_ bases: Bases) throws {
        try addCommitSeals(bases)
        try addCommitFields(bases)
        try addDigests(bases)
        try addHistories(bases)
        try addAnchors(bases)
    }

    private mutating func addCommitSeals(_ bases: Bases) throws {
        let sealed: [(String, String, String, (inout [UInt8]) -> Void)] = [
            ("tag", "R-1.6, R-7.1", "The only commit's tag is wrong.", { $0.flip(380) }),
            ("nonce", "R-7.1", "The only commit's nonce is another one.", { $0.flip(8) }),
            ("reader-mac", "R-5.9", "The only commit's reader MAC is wrong: it is none.", { $0.flip(384) }),
            ("owner-mac", "R-5.9, R-7.1", "The only commit's owner MAC is wrong.", { $0.flip(447) }),
            (
                "macs-swapped", "R-5.9", "Reader and owner MAC stand in each other's place.",
                { $0 = $0.prefix(384) + $0.suffix(32) + $0[384..<416] }
            ),
            ("type", "R-2.2", "The only commit's frame says that it is a page.", { $0.put(Array("vPAG".utf8), at: 0) }),
            ("length", "R-2.2", "The only commit's frame says that it has 512 bytes.", { $0.put(u32: 512, at: 4) }),
        ]
        for (name, spec, comment, edit) in sealed {
            try forged("commit-\(name)", spec, .authenticationFailed, bases.one, comment) { $0.onSealed(try $0.last(.commit), edit) }
        }
        try recipe("commit-other-offset", bases, "The only commit was sealed for another offset.") { $0.x[0] ^= 64 }
        try recipe("commit-other-vault", bases, "The only commit was sealed for another vault.") { $0.vault[0] ^= 1 }
        try recipe("commit-other-label", bases, "The only commit was sealed as a keyring.") { $0.label = "vaultfmt-1 keyring" }
        try recipe("commit-fields-turned", bases, "The offset stands before the vault id in its associated data.") {
            ($0.vault, $0.x) = ($0.x, $0.vault)
        }
        try recipe("commit-head-first", bases, "The frame's first bytes stand before the offset in its associated data.") {
            ($0.x, $0.head) = ($0.head, $0.x)
        }
        try recipe("commit-by-reader-key", bases, "The only commit was sealed under the reader key.") { $0.key = $0.reader }
        try forged(
            "commit-by-scoped-holder", "R-5.9, R-7.1", .authenticationFailed, bases.scoped,
            "The holder of a scoped slot made the newest commit, with the reader key in place of the owner key."
        ) {
            $0.onRecipe(try $0.last(.commit)) { recipe, _ in recipe.owner = recipe.reader }
        }
        try forged(
            "commit-by-scoped-holder-seen-by-scoped", "R-5.9", .success, bases.scoped, "The same, seen by a scoped slot: it cannot tell.",
            request: .raw(Bases.scopedKey)
        ) {
            $0.onRecipe(try $0.last(.commit)) { recipe, _ in recipe.owner = recipe.reader }
        }
        try forged(
            "commit-reader-mac-seen-by-scoped", "R-5.9", .authenticationFailed, bases.scoped,
            "The only commit's reader MAC is wrong, seen by a scoped slot.", request: .raw(Bases.scopedKey)
        ) {
            $0.onSealed(try $0.last(.commit)) { $0.flip(400) }
        }
        try forged(
            "commit-owner-mac-newest", "R-5.9, R-7.1", .authenticationFailed, bases.grown,
            "The newest commit's owner MAC is wrong: no reason to go back."
        ) { $0.onSealed(try $0.last(.commit)) { $0.flip(440) } }
        try forged(
            "commit-macs-torn", "R-7.1, R-7.10", .successTailDamaged, bases.grown,
            "The newest commit's last 64 bytes were not written: it is none."
        ) {
            $0.onWritten(try $0.last(.commit)) { $0.put([0].times(64), at: 384) }
        }
        try forged(
            "commit-owner-mac-torn", "R-7.1", .authenticationFailed, bases.grown,
            "Only the newest commit's owner MAC is zeros: the reader MAC makes it a commit."
        ) {
            $0.onWritten(try $0.last(.commit)) { $0.put([0].times(32), at: 416) }
        }
        try forged(
            "commit-reader-mac-newest", "R-7.1, R-7.10", .successTailDamaged, bases.grown,
            "The newest commit's reader MAC is wrong: the one before is the newest."
        ) {
            $0.onWritten(try $0.last(.commit)) { $0.flip(390) }
        }
    }

    private mutating func recipe(_ name: String, _ bases: Bases, _ comment: String, _ edit: @escaping (inout SealRecipe) -> Void) throws {
        try forged(name, "R-4.1", .authenticationFailed, bases.one, comment) {
            $0.onRecipe(try $0.last(.commit)) { recipe, _ in
                edit(&recipe)
            }
        }
    }

    // MARK: fields

    private mutating func addCommitFields(_ bases: Bases) throws {
        let fields: [(String, String, Verdict, String, (inout [UInt8]) -> Void)] = [
            ("generation-0", "R-5.10, R-7.1", .structureInvalid, "Generation 0.", { $0.put(u64: 0, at: 0) }),
            ("generation-2-63", "R-8.1", .limitExceeded, "Generation 2^63.", { $0.put(u64: 1 << 63, at: 0) }),
            (
                "generation-1-with-chain", "R-5.10", .structureInvalid, "Generation 1 with a chain value before it.",
                { $0.put(u64: 1, at: 0) }
            ),
            ("offset-later", "R-5.10", .structureInvalid, "The own offset is 64 bytes later.", { $0[8] += 64 }),
            ("offset", "R-5.10", .structureInvalid, "The own offset is another one.", { $0.put(u64: 64, at: 8) }),
            ("start", "R-5.10", .structureInvalid, "It starts 64 bytes after the header.", { $0.put(u64: 4160, at: 16) }),
            ("start-after-offset", "R-5.10", .structureInvalid, "It starts after its own offset.", { $0.put(u64: 1 << 40, at: 16) }),
            ("start-in-header", "R-5.10", .structureInvalid, "It starts in the header.", { $0.put(u64: 64, at: 16) }),
            (
                "previous", "R-5.10", .structureInvalid, "The first commit in the file names one before it.",
                { $0.put(u64: 4096 - 448, at: 24) }
            ),
            ("flags", "R-1.2", .structureInvalid, "A reserved flag.", { $0.put(u32: 2, at: 40) }),
            ("reserved-44", "R-1.2", .structureInvalid, "A reserved byte at 44.", { $0[44] = 1 }),
            ("reserved-root", "R-1.2", .structureInvalid, "A reserved byte after the root's level.", { $0[61] = 1 }),
            ("reserved-keyring", "R-1.2", .structureInvalid, "A reserved byte in the keyring's reference.", { $0[108] = 1 }),
            ("reserved-history", "R-1.2", .structureInvalid, "A reserved byte in the history's reference.", { $0[156] = 1 }),
            ("reserved-end", "R-1.2", .structureInvalid, "The last byte, which is reserved.", { $0[335] = 1 }),
            ("root-level-16", "R-8.1", .limitExceeded, "A root of level 16.", { $0[60] = 16 }),
            ("root-level", "R-5.5", .structureInvalid, "A root of level 1, which is a leaf.", { $0[60] = 1 }),
            (
                "root-empty-level", "R-5.10", .structureInvalid, "An empty tree with a level.",
                {
                    $0.put([0].times(48), at: 48); $0[60] = 1
                }
            ),
            ("root-empty-hash", "R-2.3", .structureInvalid, "A root with a hash and nothing else.", { $0.put([0].times(16), at: 48) }),
            ("root-in-header", "R-2.3", .structureInvalid, "A root in the header.", { $0.put(u64: 2048, at: 48) }),
            (
                "root-beyond", "R-2.3, R-5.10", .structureInvalid, "A root that ends after the commit begins.",
                { $0.put(u64: UInt64($0[8]) | UInt64($0[9]) << 8, at: 48) }
            ),
            ("root-offset-overflow", "R-2.2, R-2.3", .structureInvalid, "A root at 2^64 - 1.", { $0.put(u64: .max, at: 48) }),
            ("root-length-255", "R-2.2", .structureInvalid, "A root of 255 bytes.", { $0.put(u32: 255, at: 56) }),
            ("root-length-0", "R-2.2", .structureInvalid, "A root of no bytes.", { $0.put(u32: 0, at: 56) }),
            ("root-length-limit", "R-8.1", .limitExceeded, "A root of 65,792 bytes.", { $0.put(u32: 65_792, at: 56) }),
            ("keyring-absent", "R-5.10", .structureInvalid, "No keyring.", { $0.put([0].times(48), at: 96) }),
            ("keyring-length-limit", "R-8.1", .limitExceeded, "A keyring of more than 4 MiB.", { $0.put(u32: 4 << 20 + 256, at: 104) }),
            (
                "keyring-beyond", "R-2.3, R-5.10", .structureInvalid, "A keyring that ends after the commit begins.",
                { $0.put(u64: UInt64($0[8]) | UInt64($0[9]) << 8, at: 96) }
            ),
            ("history-length-limit", "R-8.1", .limitExceeded, "A history of 4352 bytes.", { $0.put(u32: 4352, at: 152) }),
            (
                "history-beyond", "R-2.3, R-5.10", .structureInvalid, "A history that ends after the commit begins.",
                { $0.put(u64: UInt64($0[8]) | UInt64($0[9]) << 8, at: 144) }
            ),
            ("header-hash", "R-5.11, R-7.1", .authenticationFailed, "It names another header.", { $0.flip(192) }),
            ("items-many", "R-5.10", .structureInvalid, "More items than the file has bytes.", { $0.put(u64: 1 << 40, at: 288) }),
            ("tombstones-many", "R-5.10", .structureInvalid, "More tombstones than the file has bytes.", { $0.put(u64: .max, at: 296) }),
            ("live-bytes-many", "R-5.10", .structureInvalid, "More live bytes than the file has.", { $0.put(u64: 1 << 20, at: 304) }),
            ("items-one-more", "R-5.14", .structureInvalid, "It counts one item more than the tree has.", { $0[288] += 1 }),
            ("tombstones-one-more", "R-5.14", .structureInvalid, "It counts one tombstone more than the tree has.", { $0[296] += 1 }),
            ("items-none", "R-5.14", .structureInvalid, "It counts no items, and there is one.", { $0[288] = 0 }),
        ]
        for (name, spec, expect, comment, edit) in fields {
            try forged("commit-\(name)", spec, expect, bases.one, comment) { $0.onBody(try $0.last(.commit)) { body, _ in edit(&body) } }
        }
        try forged("commit-tree-gone", "R-5.14", .structureInvalid, bases.one, "The tree is empty, and one item is counted.") {
            $0.onBody(try $0.last(.commit)) { body, _ in body.put([0].times(48), at: 48) }
        }
        for (name, at, what) in [
            ("previous-elsewhere", 24, "names another commit than the one that ends where it starts"),
            ("start-elsewhere", 16, "starts elsewhere than its predecessor ends"),
        ] {
            try forged("commit-\(name)", "R-5.10, R-7.1", .structureInvalid, bases.grown, "The newest commit \(what).") {
                $0.onBody(try $0.last(.commit)) { body, _ in body.put(u64: 4352, at: at) }
            }
        }
        try forged(
            "commit-malformed-newest", "R-7.1", .structureInvalid, bases.grown,
            "The newest commit is authentic and malformed: no reason to go back."
        ) { $0.onBody(try $0.last(.commit)) { body, _ in body[44] = 1 } }
        try forged(
            "commit-header-newest", "R-5.11, R-7.1", .authenticationFailed, bases.grown,
            "The newest commit names another header: no reason to go back."
        ) { $0.onBody(try $0.last(.commit)) { body, _ in body.flip(200) } }
        try forged(
            "commit-header-earlier", "R-5.11", .success, bases.grown,
            "An earlier commit names another header, as after a change of passphrase."
        ) { $0.onBody(try $0.first(.commit)) { body, _ in body.flip(200) } }
        try forged("commit-clock-zero", "R-5.10", .success, bases.one, "A clock of 0: readers that write nothing do not need it.") {
            $0.onBody(try $0.last(.commit)) { body, _ in body.put(u64: 0, at: 32) }
        }
    }

    // MARK: digests

    private mutating func addDigests(_ bases: Bases) throws {
        try forged(
            "digest-only-generation", "R-7.9", .authenticationFailed, bases.one, "The only commit's digest is wrong: nothing to go back to."
        ) { $0.onBody(try $0.last(.commit)) { body, _ in body.flip(256) } }
        try forged(
            "digest-newest", "R-7.10", .successTailDamaged, bases.grown,
            "The newest generation's digest is wrong: the one before is served."
        ) { $0.onBody(try $0.last(.commit)) { body, _ in body.flip(256) } }
        try forged(
            "digest-synced-first", "R-5.12", .success, bases.one,
            "The same in a commit that was synced after what it appended: its digest is not checked."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in
                body.flip(256); body[40] = 1
            }
        }
        try forged(
            "digest-order", "R-7.9", .authenticationFailed, bases.one, "The only commit's digest has the frames' hashes in another order."
        ) { forge in
            let objects = forge.objects
            forge.onCommit(try forge.last(.commit)) { commit, layout in
                let hashes = try objects.dropLast().reversed().map { try layout.ref($0.id).hash.bytes }
                commit.digest = Bytes32(hashing: [17] + Array("vaultfmt-1 digest".utf8) + hashes.joined())
            }
        }
        for type in [FrameType.record, .page, .keyring, .history] {
            try forged(
                "digest-\(type.name)", "R-7.9", .authenticationFailed, bases.one,
                "A bit of the \(type.name) is another one: the only generation is incomplete."
            ) { $0.onWritten(try $0.last(type)) { $0.flip(100) } }
        }
        try forged(
            "digest-newest-page", "R-7.10", .successTailDamaged, bases.grown,
            "A bit of what the newest commit appended is another one: the generation before is served."
        ) { $0.onWritten(try $0.last(.page)) { $0.flip(100) } }
        try forged("digest-padding", "R-2.1", .authenticationFailed, bases.one, "A byte before the only commit is not zero.") {
            $0.onPadding(try $0.last(.commit)) { $0[$0.count - 1] = 1 }
        }
        try forged(
            "digest-padding-newest", "R-2.1, R-7.10", .successTailDamaged, bases.grownBefore, "A byte before the newest commit is not zero."
        ) { $0.onPadding(try $0.last(.commit)) { $0[0] = 1 } }
        try forged(
            "digest-two-back", "R-7.9", .authenticationFailed, bases.grown,
            "The newest generation is incomplete, and so is the one before: no reader goes back two."
        ) { forge in
            for id in forge.all(.commit).suffix(2) { forge.onBody(id) { body, _ in body.flip(256) } }
        }
        try forged(
            "digest-back-not-predecessor", "R-7.9", .authenticationFailed, bases.grown,
            "The newest generation is incomplete, and says another chain value than the one before has."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in
                body.flip(256); body.flip(224)
            }
        }
        try forged(
            "digest-back-other-generation", "R-7.9", .authenticationFailed, bases.grown,
            "The newest generation is incomplete, and is two more than the one before."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in
                body.flip(256); body[0] += 1
            }
        }
        try forged(
            "digest-back-owner-mac", "R-5.9, R-7.9", .authenticationFailed, bases.grown,
            "The newest generation is incomplete, and the owner MAC of the one before is wrong."
        ) { forge in
            forge.onBody(try forge.last(.commit)) { body, _ in body.flip(256) }
            forge.onSealed(forge.all(.commit).dropLast().last ?? 0) { $0.flip(420) }
        }
        try forged(
            "digest-back-header", "R-5.11, R-7.9", .authenticationFailed, bases.grown,
            "The newest generation is incomplete, and the one before names another header."
        ) { forge in
            let before = forge.all(.commit).dropLast().last ?? 0
            forge.onBody(before) { body, _ in body.flip(200) }
            forge.onBody(try forge.last(.commit)) { body, _ in body.flip(256) }
        }
        for (name, records, page, isSynced, expect, comment) in [
            ("small-at-limit", 0, 31_744, false, .success, "A commit that appended 32,768 bytes with its padding, checked by its digest."),
            ("small-64-more", 3, 31_232, false, .success, "The same with 64 bytes more, the most that a reader takes."),
            ("small-128-more", 2, 31_488, false, .structureInvalid, "With 128 bytes more: it had to be synced first, and does not say so."),
            ("large", 2, 31_488, true, .success, "As many bytes, and the flag that says so."),
        ] as [(String, Int, Int, Bool, Verdict, String)] {
            try forged("commit-\(name)", "R-5.12", expect, bases.one, comment) { forge in
                let commit = try forge.last(.commit)
                // What fills it up is well-formed and belongs to no state.
                for _ in 0..<records { forge.insert(frame: Array(bases.one.file[4096..<4300]), .record, before: commit) }
                let key = [Format.tombstoneTag] + [1].times(16)
                forge.insert(.page, before: commit, nonce: [9].times(24)) { _ in
                    PageEntry.encode([PageEntry(key: key, value: [0].times(page - 128))], level: 0)
                }
                forge.onCommit(commit) { commit, _ in commit.wasSyncedFirst = isSynced }
            }
        }
    }

    // MARK: history and anchors

    private mutating func addHistories(_ bases: Bases) throws {
        let bodies: [(String, String, Verdict, String, (inout [UInt8]) -> Void)] = [
            ("no-links", "R-8.1", .structureInvalid, "A history without links.", { $0.put(u32: 0, at: 8) }),
            ("links-127", "R-8.1", .limitExceeded, "127 links.", { $0.put(u32: 127, at: 8) }),
            ("links-many", "R-2.2", .limitExceeded, "2^32 - 1 links.", { $0.put(u32: .max, at: 8) }),
            ("links-past-end", "R-1.3, R-2.2", .structureInvalid, "More links than it has room for.", { $0.put(u32: 100, at: 8) }),
            ("first-0", "R-5.15", .structureInvalid, "It begins with generation 0.", { $0.put(u64: 0, at: 0) }),
            (
                "first-late", "R-5.15", .structureInvalid, "Its generations do not end before the first commit in the file.",
                { $0.put(u64: 2, at: 0) }
            ),
            ("padding", "R-1.2", .structureInvalid, "A byte of its padding is 1.", { $0[$0.count - 1] = 1 }),
            ("longer", "R-5.17", .structureInvalid, "256 bytes of padding too much.", { $0 += [0].times(256) }),
        ]
        for (name, spec, expect, comment, edit) in bodies {
            try forged("history-\(name)", spec, expect, bases.one, comment) { $0.onBody(try $0.last(.history)) { body, _ in edit(&body) } }
        }
        try forged("history-tag", "R-1.6", .authenticationFailed, bases.one, "Its tag is wrong; the commit names what stands there.") {
            $0.onSealed(try $0.last(.history)) { $0.flip(255) }
        }
        try forged("history-hash", "R-2.3", .authenticationFailed, bases.one, "It is not what the commit names; the digest is right.") {
            $0.onReferenced(try $0.last(.history)) { $0.flip(255) }
        }
        try forged("history-is-keyring", "R-2.3", .structureInvalid, bases.one, "The commit names the keyring as its history.") {
            let keyring = try $0.last(.keyring)
            $0.onCommit(try $0.last(.commit)) { commit, layout in commit.history = try layout.ref(keyring) }
        }
        try forged("history-other-offset", "R-4.1", .authenticationFailed, bases.one, "It was sealed for another offset.") {
            $0.onRecipe(try $0.last(.history)) { recipe, _ in recipe.x[0] ^= 1 }
        }
        let long = try Workshop.make("long history") { vault, _ in
            for index in 0..<130 { try vault.add("a\(index % 2)", "\(index)", service: "\(index / 100)\(index)") }
            _ = try vault.compact()
            try vault.add("after", "compaction")
        }
        try vault("history-126-links", "R-5.15, R-7.7", .success, long, "126 links, the most, and a commit after the first one.")
    }

    private mutating func addAnchors(_ bases: Bases) throws {
        let states = try Self.states(bases.grown)
        let newest = states.count - 1
        let cases: [(String, UInt64, [UInt8], String)] = [
            ("same", states[newest].0, states[newest].1, "The anchor is the state that is served."),
            ("descends", states[1].0, states[1].1, "An earlier commit in the file."),
            ("descends-first", states[0].0, states[0].1, "The first commit in the file."),
            ("older", 99, states[newest].1, "A later generation than the file has: an old copy was put back."),
            ("forked", states[newest].0, states[1].1, "The same generation with another chain value."),
            ("forked-earlier", states[1].0, states[newest].1, "An earlier generation with another chain value."),
        ]
        for (name, generation, chain, comment) in cases {
            try anchored("anchor-\(name)", "R-7.11", .success, bases.grown, comment, generation, chain)
        }
        let compacted = try Workshop.change(bases.grown, "compacted") { vault, _ in
            _ = try vault.compact()
            try vault.add("new", "after compaction")
        }
        for (name, at) in [("compacted-recent", newest), ("compacted-first", 0)] {
            try anchored(
                "anchor-\(name)", "R-7.7, R-7.11", .success, compacted, "Proven by the history, after a compaction.", states[at].0,
                states[at].1)
        }
        try anchored("anchor-compacted-forked", "R-7.11", .success, compacted, "The history leads elsewhere.", states[1].0, states[0].1)
        try forged(
            "anchor-unprovable", "R-7.11", .success, compacted,
            "The history was shortened: what was before its first link cannot be proven.", request: Self.request(states[0])
        ) {
            $0.onBody(try $0.last(.history)) { body, _ in
                let links = Array(body[44..<12 + 32 * Int(body[8])])
                body = [body[0] + 2, 0, 0, 0, 0, 0, 0, 0, body[8] - 2, 0, 0, 0] + links.dropFirst(32) + [0].times(208)
                body.removeLast(body.count - 208)
            }
        }
        try forged(
            "anchor-past-damaged", "R-7.11", .authenticationFailed, bases.grown, "A commit between anchor and state does not open.",
            request: Self.request(states[0])
        ) { $0.onWritten($0.all(.commit)[2]) { $0.flip(100) } }
        try forged(
            "anchor-past-not-predecessor", "R-7.11", .authenticationFailed, bases.grown,
            "A commit between anchor and state has another chain value than the next one says.", request: Self.request(states[0])
        ) {
            $0.onBody($0.all(.commit)[3]) { body, _ in body.flip(224) }
        }
        let fork = try Workshop.change(bases.grownBefore, "fork") { vault, _ in try vault.add("eve", "another past") }
        try anchored(
            "anchor-fork", "R-7.11", .success, fork, "Two vaults went on from one state; the anchor is of the other one.", states[newest].0,
            states[newest].1)
        try anchored(
            "anchor-fork-before", "R-7.11", .success, fork, "The anchor is of the state that both have in common.", states[newest - 1].0,
            states[newest - 1].1)
        try vault(
            "anchor-rolled-back", "R-7.11", .success, bases.grownBefore, "A whole older file: only the anchor tells.",
            request: Self.request(states[newest]))
        var scoped = CheckRequest.raw(Bases.scopedKey)
        let known = try Self.states(bases.scoped)[0]
        scoped.anchor = (known.0, known.1)
        try vault("anchor-scoped", "R-7.11", .success, bases.scoped, "Asked by who opens a scoped slot.", request: scoped)
    }

    /// Generation and chain value of each commit in a file.
    private static func states(_ base: Base) throws -> [(UInt64, [UInt8])] {
        let forge = try base.forge()
        return try forge.all(.commit).map { id in
            let commit = try forge.commit(id)
            let link = Chain.link(forge[id].body)
            return (
                commit.generation,
                Chain.value(vault: forge.keys.vault, generation: commit.generation, previous: commit.previousChain, link: link).bytes
            )
        }
    }

    private static func request(_ state: (UInt64, [UInt8])) -> CheckRequest {
        var request = CheckRequest.raw(Base.key)
        request.anchor = (state.0, state.1)
        return request
    }

    private mutating func anchored(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, _ generation: UInt64, _ chain: [UInt8]
    ) throws {
        try vault(name, spec, expect, base, comment, request: Self.request((generation, chain)))
    }
}
