internal import TestSupport
internal import VaultBytes

/// The end of the file: reserves, tails, cuts, and the search for the newest commit (sections 2 and 7.1).
extension Collection {
    mutating func addTails(_ bases: Bases) throws {
        folder = "recovery"
        try addReserves(bases)
        try addTornTails(bases)
        try addDamagedTails(bases)
        try addIncompleteTails(bases)
        try addSearch(bases)
        try addCuts(bases)
        try addSplices(bases)
    }

    private mutating func tail(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ tail: [UInt8],
        request: ReadRequest? = nil
    ) throws {
        try bytes(name, spec, expect, bases.grown, comment, request: request) { $0 += tail }
    }

    private mutating func addReserves(_ bases: Bases) throws {
        for count in [1, 511, 512, 4096, 5000, 262_144] {
            try tail(
                "reserve-\(count)", "R-2.5, R-7.1", .success, bases, "\(count) zeros after the newest commit.",
                [0].times(count))
        }
        for count in [262_145, 262_656, 300_000] {
            try tail(
                "reserve-\(count)", "R-2.5, R-7.3", .successTailTorn, bases,
                "\(count) zeros after the newest commit: more than a reserve has.", [0].times(count))
        }
        try tail(
            "reserve-after-one-byte", "R-2.5, R-7.3", .successTailTorn, bases, "A byte, and zeros after it.",
            [7] + [0].times(4095))
        try tail(
            "reserve-before-one-byte", "R-2.5, R-7.3", .successTailTorn, bases, "Zeros, and a byte after them.",
            [0].times(4095) + [7])
        try tail(
            "reserve-most-and-one-byte", "R-2.5, R-7.3", .successTailTorn, bases,
            "A byte, and a reserve of 262,144 zeros from the next multiple of 512 on.", [7] + [0].times(511 + 262_144))
    }

    private mutating func addTornTails(_ bases: Bases) throws {
        let spec = "R-7.3"
        try tail("tail-one-byte", spec, .successTailTorn, bases, "A byte after the newest commit.", [7])
        try tail("tail-511-bytes", spec, .successTailTorn, bases, "511 bytes after the newest commit.", [7].times(511))
        try tail(
            "tail-1000-bytes", spec, .successTailTorn, bases, "1000 bytes after the newest commit.", [7].times(1000))
        try tail("tail-64-kib", spec, .successTailTorn, bases, "64 KiB after the newest commit.", [0xA5].times(65_536))
        try tail(
            "tail-head-at-64", spec, .successTailDamaged, bases,
            "A head of a commit that is not at a multiple of 512: bytes were inserted or removed before it.",
            [7].times(64) + Self.head + [7].times(504))
        try tail(
            "tail-head-other-length", spec, .successTailTorn, bases, "The type of a commit with another length.",
            Array("vCMT".utf8) + [0, 4, 0, 0] + [7].times(1016))
        try tail(
            "tail-head-7-bytes", spec, .successTailTorn, bases, "The first seven bytes of a commit's head.",
            Array(Self.head[..<7]))
        var frame: [UInt8] = []
        frame.append(u64: FrameHead(.record, length: 208).encoded)
        try tail(
            "tail-record", spec, .successTailTorn, bases, "A whole frame of a record, and no commit.",
            frame + [0x33].times(200))
        try bytes(
            "tail-and-damaged-record", "R-7.3", .authenticationFailed, bases.one,
            "A damaged record and a tail: the failure is the verdict."
        ) {
            $0.flip(8192 + 100)
            $0.append(7)
        }
        try bytes(
            "tail-and-device-absent", "R-7.3", .deviceBound, bases.device,
            "A tail, and a secret for a device that is absent: that is the verdict.", request: .raw(Base.key)
        ) {
            $0.append(7)
        }
        try bytes(
            "tail-seen-by-scoped", "R-7.3", .successTailTorn, bases.scoped,
            "A byte after the newest commit, seen by a scoped slot.",
            request: .raw(Base.scopedKey)
        ) {
            $0.append(7)
        }
    }

    static let head: [UInt8] = [0x76, 0x43, 0x4D, 0x54, 0, 2, 0, 0]

    private mutating func addDamagedTails(_ bases: Bases) throws {
        let spec = "R-7.3"
        try tail(
            "tail-head-that-does-not-open", spec, .successTailDamaged, bases, "A head of a commit that does not open.",
            Self.head + [7].times(504))
        try tail(
            "tail-head-and-zeros", spec, .successTailDamaged, bases, "A head of a commit, and zeros after it.",
            Self.head + [0].times(504))
        try tail(
            "tail-head-cut-off", spec, .successTailDamaged, bases,
            "A head of a commit that the end of the file cuts off.",
            Self.head + [7].times(300))
        try tail(
            "tail-head-only", spec, .successTailDamaged, bases,
            "The eight bytes of a commit's head at the end of the file.", Self.head)
        try tail(
            "tail-head-later", spec, .successTailDamaged, bases,
            "Bytes, and a head of a commit at the next multiple of 512.",
            [7].times(512) + Self.head + [7].times(504))
        try tail(
            "tail-head-and-reserve", spec, .successTailDamaged, bases,
            "A head of a commit that does not open, and a reserve.",
            Self.head + [7].times(504) + [0].times(4096))
        for (name, at) in [("nonce", 8), ("first", 32), ("middle", 300), ("tag", 511)] {
            try bytes(
                "tail-newest-damaged-\(name)", "R-7.3", .successTailDamaged, bases.grown,
                "A bit of the newest commit is another one (\(name)): the state before is served, and the tail is damaged."
            ) {
                $0.flip($0.count - 512 + at)
            }
        }
        try forged(
            "tail-incomplete-frame-past-commit", "R-7.2, R-7.3", .successTailIncomplete, bases.grown,
            "The newest commit's page says that it has 65,536 bytes, which reach past the commit."
        ) { forge in forge.onWritten(try forge.root()) { $0.put(u32: 65_536, at: 4) } }
        try bytes(
            "tail-newest-head-damaged", "R-7.3", .successTailTorn, bases.grown,
            "A bit of the newest commit's head is another one: nothing tells that it was a commit."
        ) {
            $0.flip($0.count - 512)
        }
        try bytes(
            "tail-newest-cut-off", "R-7.3", .successTailDamaged, bases.grown, "The newest commit lacks its last byte."
        ) {
            $0.removeLast()
        }
        try bytes(
            "tail-commit-of-other-vault", "R-4.1, R-7.3", .successTailDamaged, bases.grown,
            "The newest commit of another vault was appended."
        ) { file in
            file += bases.other.file.suffix(512)
        }
        try bytes(
            "tail-older-commit-appended", "R-4.1, R-7.3", .successTailDamaged, bases.grown,
            "The newest commit was appended again: it was sealed for another offset."
        ) {
            $0 += $0.suffix(512)
        }
        try bytes("tail-other-vault-appended", "R-7.3", .successTailDamaged, bases.grown, "Another vault was appended.")
        {
            $0 += bases.other.file
        }
        try forged(
            "tail-damaged-before-incomplete", "R-7.3", .successTailDamaged, bases.grown,
            "An incomplete generation, and a head that does not open after it: the tail is damaged."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in body.flip(264) }
            $0.tail = Self.head + [7].times(504)
        }
    }

    private mutating func addIncompleteTails(_ bases: Bases) throws {
        try forged(
            "tail-incomplete-and-reserve", "R-7.2, R-7.3", .successTailIncomplete, bases.grown,
            "An incomplete generation, and a reserve."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in body.flip(264) }
            $0.tail = [0].times(4096)
        }
        try forged(
            "tail-incomplete-keyring-in-header", "R-5.22, R-7.1", .structureInvalid, bases.grown,
            "An incomplete generation whose commit names a keyring in the header: that is no reason to go back."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in
                body.flip(264)
                body.put(u64: 512, at: 136)
            }
        }
        try forged(
            "tail-incomplete-after-other-head", "R-2.3, R-7.1", .authenticationFailed, bases.grown,
            "The predecessor of an incomplete generation has another type, and was sealed so: it is no commit."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in body.flip(264) }
            $0.onRecipe($0.all(.commit)[3]) { recipe, _ in
                recipe.head[3] ^= 1
                recipe.clearHead = recipe.head
            }
        }
        try forged(
            "tail-incomplete-and-torn", "R-7.2, R-7.3", .successTailIncomplete, bases.grown,
            "An incomplete generation, and bytes after it."
        ) {
            $0.onBody(try $0.last(.commit)) { body, _ in body.flip(264) }
            $0.tail = [7].times(600)
        }
        try forged(
            "tail-incomplete-empty", "R-7.2", .success, bases.grown,
            "A commit that appended nothing, and changed nothing."
        ) {
            try $0.appendEmptyCommit()
        }
    }

    // MARK: search

    private mutating func addSearch(_ bases: Bases) throws {
        for (count, expect) in [
            (1, Verdict.successTailDamaged), (63, .successTailDamaged), (64, .authenticationFailed),
        ] {
            try tail(
                "search-\(count)-heads", "R-7.1, R-11.1", expect, bases,
                "\(count) heads that do not open after the newest commit\(count == 64 ? ": the search ends before it." : ".")",
                (0..<count).flatMap { Self.head + [UInt8($0)].times(504) })
        }
        try tail(
            "search-63-heads-and-junk", "R-7.1", .successTailDamaged, bases,
            "63 heads that do not open, with 512 other bytes after each: only heads count.",
            (0..<63).flatMap { Self.head + [UInt8($0)].times(1016) })
        try tail(
            "search-heads-unaligned", "R-7.1, R-7.3", .successTailDamaged, bases,
            "100 heads that are not at multiples of 512 do not count as tried, but are damage.",
            (0..<100).flatMap { _ in [7].times(256) + Self.head + [7].times(248) })
        try tail(
            "search-far", "R-7.1", .successTailTorn, bases, "The newest commit is 200,000 bytes before the end.",
            [0x11].times(200_000))
        try bytes("search-no-commit", "R-7.1", .authenticationFailed, bases.one, "What was the only commit is zeros.") {
            $0.put([0].times(512), at: $0.count - 512)
        }
        try bytes(
            "search-zeros-only", "R-7.1", .authenticationFailed, bases.one,
            "Everything after the header's copy is zeros."
        ) {
            $0.put([0].times($0.count - 8192), at: 8192)
        }
        try bytes(
            "search-junk-only", "R-7.1", .authenticationFailed, bases.one, "Everything after the header's copy is junk."
        ) {
            $0.put([0x99].times($0.count - 8192), at: 8192)
        }
        try bytes(
            "search-heads-only", "R-7.1", .authenticationFailed, bases.empty,
            "Every multiple of 512 after the copy is a head."
        ) {
            file in
            for at in stride(from: 8192, to: file.count, by: 512) { file.put(Self.head + [1].times(504), at: at) }
        }
        try bytes(
            "search-commit-in-copy", "R-7.1", .authenticationFailed, bases.empty,
            "The commit is in the header's copy: the search does not get there."
        ) { file in
            file.put(Array(file.suffix(512)), at: 7680)
            file.put([0].times(512), at: file.count - 512)
        }
        try bytes(
            "search-commit-sealed-for-copy", "R-7.1", .authenticationFailed, bases.empty,
            "The commit was sealed for its place in the header's copy, and opens there: the search does not get there."
        ) { file in
            let forge = try bases.empty.forge()
            let id = try forge.last(.commit)
            var core = forge[id].body
            core.put(u64: 7680, at: 48)
            let chain = Bindings.chain(forge.keys.vault, core).bytes
            let proof = Plain.mac(forge.keys.owner, "vaultfmt-1 commit owner", chain) + [0].times(64)
            let bound = Bindings.placed(.commit, forge.keys.vault, at: 7680, length: 512)
            let sealed = Plain.seal(core + proof, key: forge.keys.index, nonce: forge[id].nonce, bound: bound)
            file.put(Self.head + sealed, at: 7680)
            file.put([0].times(512), at: file.count - 512)
        }
        try bytes(
            "search-unaligned-commit", "R-7.1", .authenticationFailed, bases.empty,
            "The only commit is 64 bytes later: it is not at a multiple of 512."
        ) { file in
            file.insert(contentsOf: [0].times(64), at: file.count - 512)
        }
    }

    // MARK: cuts

    /// A file that was cut off: in each of its last objects, and around them.
    private mutating func addCuts(_ bases: Bases) throws {
        var draft = try CausalBases.threeDraft("cut")
        draft.change()
        try draft.set(CausalBases.c, "second of c")
        try draft.commit()
        try addCuts(Base(file: draft.file), from: 0) { Array($0.objects.filter { $0.type == .vector }.suffix(1)) }
        try addCuts(bases.grownBefore, from: 1) { Array($0.objects.suffix(6)) }
        try bytes(
            "cut-first-commit", "R-3.2, R-7.1", .headerInvalid, bases.empty,
            "The first commit lacks its last byte: the file is too short to be a vault."
        ) { $0.removeLast() }
        try bytes("cut-only-commit", "R-7.1", .authenticationFailed, bases.one, "The only commit lacks its last byte.")
        { $0.removeLast() }
        try bytes("cut-before-only-commit", "R-7.1", .authenticationFailed, bases.one, "The only commit is gone.") {
            $0.removeLast(512)
        }
    }

    private mutating func addCuts(_ base: Base, from first: Int, _ choose: (Forge) -> [ForgedObject]) throws {
        let forge = try base.forge()
        let objects = choose(forge)
        let ends = forge.objects.filter { $0.type == .commit }.compactMap { $0.origin.map { Int($0) + 512 } }
        for (number, object) in objects.enumerated() {
            guard let start = object.origin.map({ Int($0) }) else { continue }
            let length = object.type == .commit ? 512 : object.body.count + (object.type == .record ? 80 : 48)
            let places = [
                ("before", start), ("in-head", start + 5), ("within", start + length / 2),
                ("last-byte", start + length - 1),
            ]
            for (place, at) in places {
                let cut = Array(base.file[..<at])
                // What is left behind the last commit that is whole.
                let served = ends.last { $0 <= at } ?? 0
                let isHead = object.type == .commit && at - start >= 8
                let expect: Verdict =
                    cut[served...].allSatisfy { $0 == 0 } ? .success : isHead ? .successTailDamaged : .successTailTorn
                try vault(
                    "cut-\(number + first)-\(object.type == .record ? "record" : object.type.name)-\(place)",
                    "R-2.2, R-7.3", expect,
                    Base(file: cut),
                    "The file was cut off \(place == "before" ? "before" : "in") a \(object.type.name): the state before it is served."
                )
            }
        }
    }

    // MARK: parts of other files

    private mutating func addSplices(_ bases: Bases) throws {
        let (grown, before) = (bases.grown, bases.grownBefore)
        try bytes(
            "splice-header-of-other-vault", "R-3.3, R-7.1", .authenticationFailed, grown,
            "Another vault's header before this one's objects."
        ) {
            $0.put(Array(bases.other.file[..<8192]), at: 0)
        }
        try bytes(
            "splice-objects-of-other-vault", "R-4.1, R-7.1", .authenticationFailed, bases.one,
            "Another vault's objects behind this one's header."
        ) {
            $0 = Array($0[..<8192]) + bases.other.file[8192...]
        }
        var draft = try Draft("splice", key: Base.key)
        try draft.commit()
        try draft.add(Bases.ann, "s3cret")
        try draft.commit()
        let old = draft.file
        try draft.addSlot(.rawKey(Base.scopedKey), name: "second")
        try draft.compact()
        let new = draft.file
        try vault(
            "splice-none", "R-5.24", .success, Base(file: new), "A vault that got a second slot.",
            request: .raw(Base.scopedKey))
        try vault(
            "splice-old-header", "R-5.24", .authenticationFailed, Base(file: Array(old[..<8192]) + new[8192...]),
            "Its old header, without the second slot, before its new objects.")
        try vault(
            "splice-new-header", "R-5.24", .authenticationFailed, Base(file: Array(new[..<8192]) + old[8192...]),
            "Its new header before its old objects.")
        try vault(
            "splice-new-header-seen-by-new-slot", "R-5.24", .authenticationFailed,
            Base(file: Array(new[..<8192]) + old[8192...]),
            "The same, seen by the new slot.",
            request: .raw(Base.scopedKey))
        var rotated = draft
        let slot = rotated.header.slots[0].id
        try rotated.rotate { try $0.addSlot(.rawKey(Base.key), name: "main", id: slot) }
        try vault(
            "splice-before-rotation", "R-5.24, R-7.17", .authenticationFailed,
            Base(file: Array(rotated.file[..<8192]) + new[8192...]),
            "The header of after a rotation before the objects of before it.")
        try vault(
            "splice-after-rotation", "R-5.24, R-7.17", .authenticationFailed,
            Base(file: Array(new[..<8192]) + rotated.file[8192...]),
            "The header of before a rotation before the objects of after it.")
        try bytes(
            "splice-rolled-back", "R-7.3", .success, grown,
            "The newest generation was cut off: only an anchor shows that."
        ) {
            $0 = before.file
        }
        try bytes(
            "splice-commit-over-older", "R-4.1, R-7.1", .successTailDamaged, before,
            "The newest commit was moved to the place of its predecessor: it does not open there, and the one before that is served."
        ) { file in
            let commit = Array(file.suffix(512))
            let forge = try before.forge()
            let place = forge.objects.filter { $0.type == .commit }.suffix(2).first?.origin ?? 0
            file.put(commit, at: Int(place))
            file.put([0].times(512), at: file.count - 512)
        }
    }
}
