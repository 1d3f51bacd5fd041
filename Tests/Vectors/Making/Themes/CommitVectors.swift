internal import TestSupport
internal import VaultBytes

/// Commits: seals, proofs, fields and digests (sections 5.6 and 7.1).
extension Collection {
    mutating func addCommits(_ bases: Bases) throws {
        folder = "commits"
        try addCommitSeals(bases)
        try addCommitFields(bases)
        try addCommitReferences(bases)
        try addCommitCounts(bases)
        try addDigests(bases)
        try addSmallCommits(bases)
    }

    private mutating func addCommitSeals(_ bases: Bases) throws {
        let one = bases.one
        let sealed: [(String, String, String, (inout [UInt8]) -> Void)] = [
            ("tag", "R-1.6, R-7.1", "The only commit's tag is wrong.", { $0.flip(511) }),
            ("nonce", "R-7.1", "The only commit's nonce is another one.", { $0.flip(8) }),
            ("text", "R-7.1", "A bit of the only commit's sealed core is another one.", { $0.flip(100) }),
            ("type", "R-7.1", "The only commit's frame says that it is a page.", { $0.put(Array("vPAG".utf8), at: 0) }),
            ("length", "R-7.1", "The only commit's frame says that it has 448 bytes.", { $0.put(u32: 448, at: 4) }),
            (
                "length-1024", "R-7.1", "The only commit's frame says that it has 1024 bytes.",
                { $0.put(u32: 1024, at: 4) }
            ),
        ]
        for (name, spec, comment, edit) in sealed {
            try forged("commit-\(name)", spec, .authenticationFailed, one, comment) {
                $0.onSealed(try $0.last(.commit), edit)
            }
        }
        let recipes: [(String, String, (inout SealRecipe) -> Void)] = [
            ("other-offset", "The only commit was sealed for another offset.", { $0.x[1] ^= 2 }),
            ("other-vault", "The only commit was sealed for another vault.", { $0.vault[0] ^= 1 }),
            ("other-label", "The only commit was sealed as a keyring.", { $0.label = "vaultfmt-1 keyring" }),
            (
                "fields-turned", "The offset comes before the vault id in its associated data.",
                { ($0.vault, $0.x) = ($0.x, $0.vault) }
            ),
            (
                "head-first", "The frame's first bytes come before the offset in its associated data.",
                { ($0.x, $0.head) = ($0.head, $0.x) }
            ),
            ("without-head", "The frame's first bytes are not in its associated data.", { $0.head = [] }),
            ("other-key", "The only commit was sealed under another key.", { $0.key[31] ^= 1 }),
        ]
        for (name, comment, edit) in recipes {
            try forged("commit-sealed-\(name)", "R-4.1", .authenticationFailed, one, comment) {
                $0.onRecipe(try $0.last(.commit)) { recipe, _ in edit(&recipe) }
            }
        }
    }

    // MARK: fields

    private mutating func core(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String,
        _ edit: @escaping (inout [UInt8]) -> Void
    ) throws {
        try forged("commit-\(name)", spec, expect, base, comment) {
            $0.onBody(try $0.last(.commit)) { body, _ in edit(&body) }
        }
    }

    private mutating func addCommitFields(_ bases: Bases) throws {
        let one = bases.one
        let fields: [(String, String, Verdict, String, (inout [UInt8]) -> Void)] = [
            ("generation-0", "R-5.21, R-7.1", .structureInvalid, "Generation 0.", { $0.put(u64: 0, at: 0) }),
            (
                "generation-2-63", "R-5.21, R-11.1", .structureInvalid, "Generation 2^63.",
                { $0.put(u64: 1 << 63, at: 0) }
            ),
            (
                "generation-greatest", "R-5.21, R-11.1", .success, "Generation 2^63 - 1, the greatest.",
                { $0.put(u64: 1 << 63 - 1, at: 0) }
            ),
            (
                "generation-equal", "R-5.21", .structureInvalid, "Its generation is its predecessor's.",
                {
                    $0.put(u64: 1, at: 0); $0.put(u64: 1, at: 8)
                }
            ),
            (
                "generation-less", "R-5.21", .structureInvalid, "Its generation is less than its predecessor's.",
                { $0.put(u64: 3, at: 8) }
            ),
            (
                "generation-1-with-chain", "R-5.21", .structureInvalid, "Generation 1 after generation 1.",
                { $0.put(u64: 1, at: 0) }
            ),
            (
                "predecessor-0", "R-5.21", .structureInvalid, "Generation 2 after generation 0.",
                { $0.put(u64: 0, at: 8) }
            ),
            ("offset-512-later", "R-5.22", .structureInvalid, "The own offset is 512 bytes later.", { $0[49] += 2 }),
            ("offset-0", "R-5.22", .structureInvalid, "The own offset is 0.", { $0.put(u64: 0, at: 48) }),
            (
                "offset-high", "R-5.22", .structureInvalid, "The highest bit of the own offset is set.",
                { $0[55] = 0x80 }
            ),
            (
                "start-8256", "R-5.22", .structureInvalid, "It starts 64 bytes after the header's copy.",
                { $0.put(u64: 8256, at: 56) }
            ),
            (
                "start-in-copy", "R-5.22", .structureInvalid, "It starts in the header's copy.",
                { $0.put(u64: 4096, at: 56) }
            ),
            ("start-in-header", "R-5.22", .structureInvalid, "It starts in the header.", { $0.put(u64: 512, at: 56) }),
            (
                "start-after-offset", "R-5.22", .structureInvalid, "It starts after its own offset.",
                { $0.put(u64: 1 << 40, at: 56) }
            ),
            (
                "start-greatest", "R-2.2, R-5.22", .structureInvalid, "It starts at 2^64 - 512.",
                { $0.put(u64: .max - 511, at: 56) }
            ),
            ("clock-0", "R-5.22, R-11.1", .structureInvalid, "A clock of 0.", { $0.put(u64: 0, at: 64) }),
            ("clock-2-63", "R-11.1", .structureInvalid, "A clock of 2^63.", { $0.put(u64: 1 << 63, at: 64) }),
            (
                "clock-greatest", "R-11.1", .success, "A clock and an own revision of 2^63 - 1, the greatest.",
                {
                    $0.put(u64: 1 << 63 - 1, at: 64); $0.put(u64: 1 << 63 - 1, at: 336)
                }
            ),
            ("floor-2-63", "R-5.38, R-11.1", .structureInvalid, "A floor of 2^63.", { $0.put(u64: 1 << 63, at: 72) }),
            (
                "floor-above-clock", "R-5.38", .structureInvalid, "A floor greater by 1 than the clock.",
                {
                    $0.put(Array($0[64..<72]), at: 72); $0[72] += 1
                }
            ),
            (
                "own-id-without-revision", "R-5.38", .structureInvalid, "An own id, and no own revision.",
                { $0.put(u64: 0, at: 336) }
            ),
            (
                "own-revision-without-id", "R-5.38", .structureInvalid, "An own revision, and no own id.",
                { $0.put(u64: 0, at: 328) }
            ),
            (
                "own-revision-less", "R-5.38", .structureInvalid, "An own revision that is less by 1 than the clock.",
                { $0[336] -= 1 }
            ),
            (
                "own-revision-more", "R-5.38", .structureInvalid,
                "An own revision that is greater by 1 than the clock.", { $0[336] += 1 }
            ),
            ("flag-2", "R-1.2", .structureInvalid, "Flag 2, which is reserved.", { $0[80] |= 2 }),
            ("flag-2-31", "R-1.2", .structureInvalid, "Flag 2^31, which is reserved.", { $0[83] = 0x80 }),
            ("reserved-84", "R-1.2", .structureInvalid, "A reserved byte at 84.", { $0[84] = 1 }),
            ("reserved-87", "R-1.2", .structureInvalid, "A reserved byte at 87.", { $0[87] = 1 }),
            ("reserved-root", "R-1.2", .structureInvalid, "A reserved byte after the root's level.", { $0[101] = 1 }),
            (
                "reserved-root-last", "R-1.2", .structureInvalid, "The last reserved byte after the root's level.",
                { $0[103] = 1 }
            ),
            (
                "reserved-keyring", "R-1.2", .structureInvalid, "A reserved byte in the keyring's reference.",
                { $0[148] = 1 }
            ),
            (
                "reserved-vector", "R-1.2", .structureInvalid, "A reserved byte in the vector's reference.",
                { $0[196] = 1 }
            ),
            (
                "reserved-344", "R-1.2", .structureInvalid, "The first of the reserved bytes at the end.",
                { $0[344] = 1 }
            ),
            ("reserved-367", "R-1.2", .structureInvalid, "The last byte, which is reserved.", { $0[367] = 1 }),
            ("header-hash", "R-5.24, R-7.1", .authenticationFailed, "It states another header.", { $0.flip(232) }),
            (
                "header-hash-last", "R-5.24", .authenticationFailed,
                "The last byte of the header hash that it states is another one.",
                { $0.flip(263) }
            ),
            (
                "header-hash-zero", "R-5.24", .authenticationFailed, "The header hash that it states is zeros.",
                { $0.put([0].times(32), at: 232) }
            ),
        ]
        for (name, spec, expect, comment, edit) in fields { try core(name, spec, expect, one, comment, edit) }
        try vault(
            "commit-own-absent", "R-5.38", .success, bases.causal.siblings,
            "A merge's commit has no own id and no own revision.")
        try forged(
            "commit-floor-is-clock", "R-5.33", .structureInvalid, bases.causal.restarted,
            "The floor is the clock: the only row is not above it."
        ) { forge in
            forge.onKeyring(try forge.last(.keyring)) { $0.vaultKey.position = 0 }
            forge.onCommit(try forge.last(.commit)) { commit, _ in commit.floor = commit.clock }
        }
        try core(
            "first-with-chain", "R-5.21", .structureInvalid, bases.empty, "Generation 1 with a chain value before it."
        ) { $0[16] = 1 }
        try core(
            "first-with-predecessor", "R-5.21", .structureInvalid, bases.empty,
            "Generation 1 after generation 0 that says generation 1."
        ) {
            $0.put(u64: 1, at: 8)
        }
        try core(
            "generation-step", "R-5.21", .success, bases.grown,
            "The newest generation is 12, after 4: a step greater than 1."
        ) {
            $0.put(u64: 12, at: 0)
        }
        try forged(
            "commit-first-after-another", "R-5.21", .structureInvalid, bases.grown,
            "Generation 1 whose start is not 2L."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in
                body.put(u64: 1, at: 0)
                body.put([0].times(40), at: 8)
            }
        }
        try core(
            "start-elsewhere", "R-5.22, R-7.1", .authenticationFailed, bases.grown,
            "The newest commit starts earlier: its digest is another one."
        ) {
            $0.put(u64: 8192 + 1024, at: 56)
        }
        try core(
            "malformed-newest", "R-7.1", .structureInvalid, bases.grown,
            "The newest commit is authentic and malformed: no reason to go back."
        ) {
            $0[84] = 1
        }
        try core(
            "header-newest", "R-5.24, R-7.1", .authenticationFailed, bases.grown,
            "The newest commit states another header: no reason to go back."
        ) {
            $0.flip(240)
        }
        try forged(
            "commit-header-earlier", "R-5.24", .success, bases.grown,
            "An earlier commit states another header, as after a change of passphrase."
        ) { $0.onBody(try $0.first(.commit)) { body, _ in body.flip(240) } }
        try forged(
            "commit-malformed-earlier", "R-7.6", .success, bases.grown,
            "An earlier commit is malformed: nothing asks for it."
        ) {
            $0.onBody(try $0.first(.commit)) { body, _ in body[84] = 1 }
        }
        try forged(
            "commit-proof-before-table", "R-7.1", .authenticationFailed, bases.one,
            "A wrong owner MAC and a reserved flag: the proof is checked first."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in body[80] |= 2 }
            $0.onProof(try $0.last(.commit)) { proof, _ in proof.flip(0) }
        }
        try forged(
            "commit-table-before-header", "R-7.1", .structureInvalid, bases.one,
            "A reserved flag and another header: the table is checked first."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in
                body[80] |= 2
                body.flip(232)
            }
        }
    }

    // MARK: references

    private mutating func addCommitReferences(_ bases: Bases) throws {
        for (name, what, at, most) in [
            ("root", "root", 88, 65_536), ("keyring", "keyring", 136, 4 << 20), ("vector", "vector", 184, 4 << 20),
        ] {
            let fields: [(String, String, String, (inout [UInt8]) -> Void)] = [
                ("length-0", "R-2.2, R-2.3", "of no bytes", { $0.put(u32: 0, at: at + 8) }),
                ("length-255", "R-2.2", "of 255 bytes", { $0.put(u32: 255, at: at + 8) }),
                ("length-300", "R-2.2", "of 300 bytes", { $0.put(u32: 300, at: at + 8) }),
                (
                    "length-limit", "R-2.2, R-11.1", "of 256 bytes more than the most",
                    { $0.put(u32: UInt32(most) + 256, at: at + 8) }
                ),
                ("in-header", "R-2.3, R-5.22", "in the header", { $0.put(u64: 2048, at: at) }),
                ("in-copy", "R-2.3, R-5.22", "in the last bytes of the header's copy", { $0.put(u64: 8191, at: at) }),
                (
                    "beyond", "R-2.3, R-5.22", "that ends after the commit begins",
                    { body in
                        body.put(
                            u64: (body[48...].prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }) - 255, at: at)
                    }
                ),
                ("offset-2-64", "R-2.2, R-2.3", "at 2^64 - 1", { $0.put(u64: .max, at: at) }),
                ("offset-2-63", "R-2.2, R-2.3", "at 2^63", { $0.put(u64: 1 << 63, at: at) }),
                ("offset-0", "R-2.3", "at offset 0", { $0.put(u64: 0, at: at) }),
                ("hash-only", "R-2.3", "of which only the hash is there", { $0.put([0].times(12), at: at) }),
            ]
            for (kind, spec, comment, edit) in fields {
                try core("\(name)-\(kind)", spec, .structureInvalid, bases.one, "A \(what) \(comment).", edit)
            }
            try core(
                "\(name)-hash", "R-2.3", .authenticationFailed, bases.one, "The hash of the \(what) is another one."
            ) {
                $0.flip(at + 47)
            }
        }
        // Zeros but for one field are not the zeros of what is not there.
        for (name, at) in [("root", 88), ("vector", 184)] {
            try core(
                "\(name)-only-offset", "R-2.3", .structureInvalid, bases.empty,
                "A \(name) of which only the offset is there."
            ) {
                $0.put([0].times(48), at: at)
                $0.put(u64: 9216, at: at)
            }
            try core(
                "\(name)-only-length", "R-2.3", .structureInvalid, bases.empty,
                "A \(name) of which only the length is there."
            ) {
                $0.put([0].times(48), at: at)
                $0.put(u32: 256, at: at + 8)
            }
        }
        try core("root-level-16", "R-11.1", .structureInvalid, bases.one, "A root of level 16.") { $0[100] = 16 }
        try core("root-level-255", "R-11.1", .structureInvalid, bases.one, "A root of level 255.") { $0[100] = 255 }
        try core("root-level-1", "R-5.7", .structureInvalid, bases.one, "A root of level 1, which is a leaf.") {
            $0[100] = 1
        }
        try core("root-level-0", "R-5.7", .structureInvalid, bases.tree, "A root of level 0, which is an inner page.") {
            $0[100] = 0
        }
        try core("root-empty-level", "R-5.22", .structureInvalid, bases.empty, "An empty tree with a level.") {
            $0[100] = 1
        }
        try core("keyring-absent", "R-5.22", .structureInvalid, bases.one, "No keyring.") {
            $0.put([0].times(48), at: 136)
        }
        try core("vector-absent", "R-5.22", .structureInvalid, bases.one, "No vector.") {
            $0.put([0].times(48), at: 184)
        }
    }

    // MARK: numbers

    private mutating func addCommitCounts(_ bases: Bases) throws {
        for (name, what, at) in [
            ("items", "items", 296), ("forgotten", "forgotten values", 304), ("pasts", "items with a past", 312),
            ("live-bytes", "live bytes", 320),
        ] {
            try core("\(name)-many", "R-5.22", .structureInvalid, bases.one, "More \(what) than the file has bytes.") {
                body in
                let end = (body[48...].prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }) + 512
                body.put(u64: end + 1, at: at)
            }
            try core("\(name)-2-64", "R-5.22", .structureInvalid, bases.one, "2^64 - 1 \(what).") {
                $0.put(u64: .max, at: at)
            }
            guard name != "live-bytes" else { continue }
            try core(
                "\(name)-one-more", "R-5.25", .structureInvalid, bases.kept,
                "It counts one more of its \(what) than there are."
            ) {
                $0[at] += 1
            }
        }
        try core(
            "items-one-fewer", "R-5.25", .structureInvalid, bases.kept, "It counts one item less than the tree has."
        ) {
            $0[296] -= 1
        }
        try core(
            "pasts-one-fewer", "R-5.25", .structureInvalid, bases.kept,
            "It counts one item with a past less than there are."
        ) {
            $0[312] -= 1
        }
        try core(
            "pasts-more-than-items", "R-5.22", .structureInvalid, bases.one,
            "It counts two items with a past, and one item."
        ) {
            $0[312] = 2
        }
        try core(
            "forgotten-one-fewer", "R-5.25", .structureInvalid, bases.causal.forgotten,
            "It counts one forgotten value less than there are."
        ) {
            $0[304] -= 1
        }
        try core("tree-gone", "R-5.25", .structureInvalid, bases.one, "The tree is empty, and one item is counted.") {
            $0.put([0].times(48), at: 88)
        }
        try core(
            "live-bytes-one-more", "R-5.25", .success, bases.one,
            "It counts a live byte more than there are, which only verification compares."
        ) {
            $0[320] += 1
        }
        for (name, base, what) in [
            ("base", bases.causal.based, "the base of its vector"),
            ("hand-over-vector", bases.causal.restarted, "the vector of its hand-over"),
        ] {
            try forged(
                "commit-live-bytes-without-\(name)", "R-5.25", .success, base,
                "Its live bytes lack \(what), which only verification finds."
            ) { forge in
                let body = try forge.vectorBody(of: name == "base" ? .base : .handOver)
                forge.onCommit(try forge.last(.commit)) { commit, _ in commit.liveBytes -= UInt64(body.count + 48) }
            }
        }
        try core("live-bytes-0", "R-5.25", .success, bases.one, "It counts no live bytes.") { $0.put(u64: 0, at: 320) }
        try forged(
            "commit-counts-seen-by-scoped", "R-5.25", .structureInvalid, bases.scoped,
            "One item more is counted, seen by a scoped slot.",
            request: .raw(Base.scopedKey)
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in body[296] += 1 }
        }
    }

    // MARK: digests

    private mutating func addDigests(_ bases: Bases) throws {
        let before = bases.grownBefore
        try core(
            "digest-newest", "R-7.2, R-7.3", .successTailIncomplete, before,
            "The newest generation's digest is wrong: the one before is served."
        ) { $0.flip(264) }
        try core(
            "digest-only", "R-7.2", .authenticationFailed, bases.empty,
            "The only generation's digest is wrong: there is nothing to go back to."
        ) {
            $0.flip(264)
        }
        try core(
            "digest-synced-first", "R-7.1, R-7.13", .success, bases.one,
            "A wrong digest in a commit with flag 1: it is not checked."
        ) { $0.flip(264) }
        try core(
            "digest-unsynced", "R-7.2", .authenticationFailed, bases.one,
            "A wrong digest in the same commit without flag 1."
        ) {
            $0[80] = 0
            $0.flip(264)
        }
        try core(
            "digest-unsynced-right", "R-7.1", .success, bases.one,
            "The same commit without flag 1, with the right digest."
        ) {
            $0[80] = 0
        }
        try forged(
            "digest-order", "R-7.2", .successTailIncomplete, before,
            "The newest digest has the frames' hashes in another order."
        ) {
            forge in
            let appended = forge.objects.suffix(3).dropLast()
            forge.onCommit(try forge.last(.commit)) { commit, layout in
                commit.digest = Bindings.digest(try appended.reversed().map { try layout.ref($0.id).hash })
            }
        }
        try forged(
            "digest-unlabelled", "R-7.2", .successTailIncomplete, before,
            "The newest digest was made without its label."
        ) { forge in
            let appended = forge.objects.suffix(3).dropLast()
            forge.onCommit(try forge.last(.commit)) { commit, layout in
                commit.digest = Plain.hash(try appended.flatMap { try layout.ref($0.id).hash.bytes })
            }
        }
        try forged(
            "digest-of-frames", "R-7.2", .successTailIncomplete, before,
            "The newest digest covers the frames' hashes with their number before them."
        ) { forge in
            let appended = forge.objects.suffix(3).dropLast()
            forge.onCommit(try forge.last(.commit)) { commit, layout in
                let hashes = try appended.flatMap { try layout.ref($0.id).hash.bytes }
                commit.digest = Plain.hash(Plain.label("vaultfmt-1 digest") + [2] + hashes)
            }
        }
        for type in [FrameType.record, .page] {
            try forged(
                "digest-newest-\(type.name)", "R-7.2, R-7.3", .successTailIncomplete, before,
                "A bit of the \(type.name) that the newest commit appended is another one: the generation before is served."
            ) { $0.onWritten(try $0.last(type)) { $0.flip(100) } }
        }
        try forged(
            "digest-newest-gone", "R-7.2", .successTailIncomplete, before,
            "What the newest commit appended was never written: zeros."
        ) { forge in
            for object in forge.objects.suffix(3).dropLast() { forge.onWritten(object.id) { $0 = [0].times($0.count) } }
        }
        try forged(
            "digest-newest-first-gone", "R-7.2", .successTailIncomplete, before,
            "The first frame that the newest commit appended is zeros."
        ) {
            $0.onWritten(try $0.last(.record)) { $0 = [0].times($0.count) }
        }
        try forged(
            "digest-frame-length", "R-2.2, R-7.2", .successTailIncomplete, before,
            "A frame's length is another one after the crash."
        ) {
            $0.onWritten(try $0.last(.record)) { $0.put(u32: 300, at: 4) }
        }
        try forged(
            "digest-frame-type", "R-7.2", .successTailIncomplete, before,
            "A frame's type is another one after the crash."
        ) {
            $0.onWritten(try $0.last(.page)) { $0.put(Array("vXYZ".utf8), at: 0) }
        }
        for (name, at) in [("first", 0), ("last", -1)] {
            try forged(
                "padding-\(name)", "R-2.1, R-7.2", .successTailIncomplete, before,
                "The \(name) byte of the padding before the newest commit is not zero."
            ) {
                $0.onPadding(try $0.last(.commit)) { $0[at < 0 ? $0.count - 1 : 0] = 1 }
            }
        }
        try forged(
            "padding-only-generation", "R-2.1", .authenticationFailed, bases.causal.three,
            "A byte before the only commit is not zero."
        ) {
            $0.onPadding(try $0.last(.commit)) { $0[$0.count - 1] = 1 }
        }
        try forged(
            "padding-synced-first", "R-2.1", .success, bases.one,
            "The same before a commit with flag 1: only verification checks it."
        ) {
            $0.onPadding(try $0.last(.commit)) { $0[$0.count - 1] = 1 }
        }
        try forged(
            "padding-512-more", "R-2.1, R-7.2", .successTailIncomplete, before,
            "512 bytes of padding too many before the newest commit."
        ) {
            $0.onPadding(try $0.last(.commit)) { $0 += [0].times(512) }
        }
        try forged(
            "digest-with-chunk", "R-5.4, R-7.1", .success, bases.grown,
            "The newest commit appended a frame of the reserved type vCHK: it has a digest."
        ) {
            var frame = Array("vCHK".utf8)
            frame.append(u32: 208)
            $0.insert(frame: frame + [0xCC].times(200), .chunk, before: try $0.last(.commit))
        }
        try forged(
            "digest-chunk-207", "R-2.2, R-7.2", .successTailIncomplete, bases.grown,
            "The same with a frame of 207 bytes: it has no digest."
        ) {
            var frame = Array("vCHK".utf8)
            frame.append(u32: 207)
            $0.insert(frame: frame + [0xCC].times(199), .chunk, before: try $0.last(.commit))
        }
        try forged(
            "digest-unknown-type", "R-7.1, R-7.2", .successTailIncomplete, bases.grown,
            "The newest commit appended a frame of an unknown type: it has no digest."
        ) {
            var frame = Array("vNEW".utf8)
            frame.append(u32: 256)
            $0.insert(frame: frame + [0xCC].times(248), .chunk, before: try $0.last(.commit))
        }
        for type in ["vHIS", "vVER"] {
            try forged(
                "digest-unknown-\(type)", "R-7.1, R-7.2", .successTailIncomplete, bases.grown,
                "The newest commit appended a frame of the type \(type), which there was once: it has no digest."
            ) {
                var frame = Array(type.utf8)
                frame.append(u32: 256)
                $0.insert(frame: frame + [0xCC].times(248), .chunk, before: try $0.last(.commit))
            }
        }
        try forged(
            "digest-appended-commit", "R-7.1, R-7.3", .successTailDamaged, before,
            "Among what the newest commit appended is a frame of the type of commits, which does not open."
        ) {
            var frame = Array("vCMT".utf8)
            frame.append(u32: 512)
            $0.insert(frame: frame + [0xCC].times(504), .chunk, before: try $0.last(.page))
        }
        try addPredecessors(bases)
    }

    /// What an incomplete generation goes back to (step 8).
    private mutating func addPredecessors(_ bases: Bases) throws {
        let grown = bases.grown
        func incomplete(_ forge: inout Forge) throws {
            forge.onBody(try forge.last(.commit)) { body, _ in body.flip(264) }
        }
        try forged(
            "back-two", "R-7.2", .authenticationFailed, grown,
            "The newest generation is incomplete, and so is the one before."
        ) {
            forge in
            for id in forge.all(.commit).suffix(2) { forge.onBody(id) { body, _ in body.flip(264) } }
        }
        try forged(
            "back-to-synced", "R-7.2", .successTailIncomplete, grown,
            "The newest generation is incomplete; the one before has flag 1 and a digest that is not checked."
        ) { forge in
            try incomplete(&forge)
            forge.onBody(forge.all(.commit)[forge.all(.commit).count - 2]) { body, _ in
                body[80] = 1
                body.flip(270)
            }
        }
        try forged(
            "back-other-chain", "R-7.2", .authenticationFailed, grown,
            "The newest generation is incomplete, and states another chain value than the one before has."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in
                body.flip(264)
                body.flip(20)
            }
        }
        try forged(
            "back-other-generation", "R-7.2", .authenticationFailed, grown,
            "The newest generation is incomplete, and states another generation than the one before has."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in
                body.flip(264)
                body.put(u64: 3, at: 8)
            }
        }
        let edits: [(String, Verdict, String, (inout Forge, ForgedObject.ID) -> Void)] = [
            (
                "owner-mac", .authenticationFailed, "the one before has a wrong owner MAC",
                { $0.onProof($1) { proof, _ in proof.flip(3) } }
            ),
            ("tag", .authenticationFailed, "the one before does not open", { $0.onWritten($1) { $0.flip(300) } }),
            ("head", .authenticationFailed, "the one before has another head", { $0.onWritten($1) { $0.flip(0) } }),
            (
                "malformed", .structureInvalid, "the one before is malformed",
                { $0.onBody($1) { body, _ in body[84] = 1 } }
            ),
            (
                "header", .authenticationFailed, "the one before states another header",
                { $0.onBody($1) { body, _ in body.flip(240) } }
            ),
            (
                "keyring", .structureInvalid, "the one before has no keyring",
                { $0.onBody($1) { body, _ in body.put([0].times(48), at: 136) } }
            ),
            (
                "vector", .structureInvalid, "the one before has no vector",
                { $0.onBody($1) { body, _ in body.put([0].times(48), at: 184) } }
            ),
        ]
        for (name, expect, what, edit) in edits {
            try forged("back-\(name)", "R-7.2", expect, grown, "The newest generation is incomplete, and \(what).") {
                forge in
                try incomplete(&forge)
                edit(&forge, forge.all(.commit)[forge.all(.commit).count - 2])
            }
        }
        try forged(
            "back-page", "R-7.2", .authenticationFailed, grown,
            "The newest generation is incomplete, and the one before has lost its page."
        ) { forge in
            try incomplete(&forge)
            forge.onWritten(forge.all(.page)[forge.all(.page).count - 2]) { $0.flip(100) }
        }
        try forged(
            "back-to-compacted", "R-7.2", .successTailIncomplete, bases.one,
            "The newest generation is incomplete; the one before has no predecessor in the file, and is served."
        ) {
            try $0.appendEmptyCommit { $0.flip(264) }
        }
        try forged(
            "back-own-row", "R-5.35, R-7.2", .successTailIncomplete, bases.causal.three,
            "The newest generation made a change and is incomplete; in what is served, its own id has the row of before."
        ) { forge in
            try forge.appendEmptyCommit { body in
                for at in [64, 336] { body[at] += 1 }
                body.flip(264)
            }
        }
        try forged(
            "back-after-compaction", "R-7.2", .authenticationFailed, bases.one,
            "The only generation in the file has flag 1 cleared and a wrong digest; its predecessor is not there."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in
                body[80] = 0
                body.flip(264)
            }
        }
        try forged(
            "back-unsigned-scoped", "R-5.18, R-7.2", .authenticationFailed, bases.scopedGrown,
            "The newest generation is incomplete, and the one before is not signed, seen by a scoped slot.",
            request: .raw(Base.scopedKey)
        ) { forge in
            try forge.appendEmptyCommit { $0.flip(264) }
            forge[forge.all(.commit)[forge.all(.commit).count - 2]].isSigned = false
        }
    }

    // MARK: 32 KiB

    private mutating func addSmallCommits(_ bases: Bases) throws {
        for (name, size, isSynced, expect, comment) in [
            (
                "at-limit", 32_768, false, Verdict.success,
                "A commit without flag 1 that appended 32,768 bytes, padding included."
            ),
            ("512-more", 33_280, false, .structureInvalid, "A commit without flag 1 that appended 33,280 bytes."),
            ("large-synced", 33_280, true, .success, "The same with flag 1."),
        ] {
            try forged("commit-small-\(name)", "R-5.23, R-7.12", expect, bases.grown, comment) { forge in
                let last = try forge.last(.commit)
                let appended = forge.objects.suffix(2).first.map { $0.body.count + 48 } ?? 0
                var frame: [UInt8] = []
                let length = size - appended - 100
                frame.append(u64: FrameHead(.record, length: length).encoded)
                forge.insert(frame: frame + [0xAB].times(length - 8), .record, before: last)
                forge.onBody(last) { body, _ in body[80] = isSynced ? 1 : 0 }
            }
        }
    }
}

extension Forge {
    enum VectorUse { case state, base, handOver }

    /// The frame that the newest commit's vector is in, its base, or the vector of the first hand-over.
    func vector(of use: VectorUse) throws -> ForgedObject.ID {
        let commit = try commit(try last(.commit))
        guard use != .handOver else {
            let ring = try Keyring(self[try last(.keyring)].body.span, at: 0)
            guard let first = ring.handOvers.first else { throw ForgeError("no hand-over") }
            return try object(at: first.vector.offset)
        }
        let id = try object(at: commit.vector.offset)
        guard use == .base else { return id }
        guard let base = try VectorFrame(self[id].body.span, at: 0).base else { throw ForgeError("no base") }
        return try object(at: base.offset)
    }

    func vectorBody(of use: VectorUse) throws -> [UInt8] { self[try vector(of: use)].body }

    /// Appends a commit that changes nothing; the edit is on its core.
    mutating func appendEmptyCommit(_ number: UInt8 = 1, _ edit: @escaping (inout [UInt8]) throws -> Void = { _ in })
        throws
    {
        let last = try last(.commit)
        let commit = try commit(last)
        let keyring = try object(at: commit.keyring.offset)
        let root = try commit.root.map { try object(at: $0.ref.offset) }
        let vector = try object(at: commit.vector.offset)
        let id = insert(.commit, before: last, nonce: [0xE7, number].times(12)) { _ in [] }
        // Behind the last one, in place of before it.
        let position = objects.firstIndex { $0.id == id } ?? 0
        objects.append(objects.remove(at: position))
        let keys = keys
        self[id].editBody = [
            { body, layout in
                var next = commit
                let start = layout.offset
                next.keyring = try layout.ref(keyring)
                next.root = try root.map { Commit.Root(ref: try layout.ref($0), level: commit.root?.level ?? 0) }
                next.vector = try layout.ref(vector)
                (next.offset, next.start) = (start, start)
                next.wasSyncedFirst = false
                next.digest = Bindings.digest([])
                next.generation = commit.generation + 1
                next.predecessor = .init(
                    generation: commit.generation, chain: Bindings.chain(keys.vault, try layout.core(last)))
                next.header = layout.headerHash
                body = next.encode()
                try edit(&body)
            }
        ]
    }
}
