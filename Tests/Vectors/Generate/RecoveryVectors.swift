import VaultBytes
import VaultFmt
import VaultForge

/// What crashes, copies and people without keys do to a file (section 7.1): truncation, tails, replays and splices.
extension Collection {
    mutating func addRecovery(_ bases: Bases) throws {
        try addTruncations(bases)
        try addTails(bases)
        try addSplices(bases)
    }

    private mutating func addTruncations(_ bases: Bases) throws {
        let small = try Workshop.make("small") { vault, _ in
            try vault.add("ann", "first")
            _ = try vault.remove(try .genericPassword(service: "example.org", account: "ann"))
        }
        let forge = try small.forge()
        let commits = try forge.all(.commit).map { Int(try forge.commit($0).end) }
        var seen: Set<Int> = [small.file.count]
        for (index, object) in forge.objects.enumerated() {
            let start = Int(object.origin ?? 0)
            let next = index + 1 < forge.objects.count ? Int(forge.objects[index + 1].origin ?? 0) : small.file.count
            let name = "\(index + 1)-\(object.type.name)"
            var cuts = [("before", start, "where it begins"), ("in-head", start + 5, "in its head"), ("in", (start + next) / 2, "in it")]
            if object.type == .commit { cuts.append(("in-macs", start + 416, "between its MACs")) }
            cuts.append(("last-byte", next - 1, "before its last byte, or that of the padding after it"))
            for (part, at, what) in cuts where seen.insert(at).inserted {
                let complete = commits.filter { $0 <= at }
                let expect: Verdict = complete.isEmpty ? .authenticationFailed : complete.contains(at) ? .success : .successTailDamaged
                // Where only zeros are left of what was begun, it is a reserve.
                var isReserve = false
                if let end = complete.last { isReserve = !small.file[end..<at].contains { $0 != 0 } }
                try bytes(
                    "truncated-\(name)-\(part)", "R-7.9, R-7.10", isReserve ? .success : expect, small,
                    "Cut off at object \(index + 1), a \(object.type.name): \(what)."
                ) { $0 = Array($0[..<at]) }
            }
        }
    }

    private mutating func addTails(_ bases: Bases) throws {
        let grown = bases.grown
        let tails: [(String, String, Verdict, String, [UInt8])] = [
            ("one-byte", "R-7.10", .successTailDamaged, "A byte after the newest commit.", [1]),
            ("64-bytes", "R-7.10", .successTailDamaged, "64 bytes after the newest commit.", [9].times(64)),
            ("1000-bytes", "R-7.10", .successTailDamaged, "1000 bytes after the newest commit.", [0xA5].times(1000)),
            (
                "commit-head", "R-7.10", .successTailDamaged, "What looks like a commit's head, and then zeros.",
                Array("vCMT".utf8) + [0xC0, 1, 0, 0] + [1] + [0].times(439)
            ),
            ("zero-byte", "R-7.18", .success, "A single zero byte: a reserve.", [0]),
            ("zeros-4096", "R-7.18", .success, "4096 zeros: a reserve.", [0].times(4096)),
            ("zeros-most", "R-7.18", .success, "262,144 zeros: the longest reserve.", [0].times(262_144)),
            ("zeros-too-many", "R-7.18", .successTailDamaged, "A zero more: a damaged tail.", [0].times(262_145)),
            ("zeros-then-one", "R-7.10, R-7.18", .successTailDamaged, "Zeros, and then another byte.", [0].times(500) + [1]),
            (
                "one-then-zeros", "R-7.10, R-7.18", .successTailDamaged, "A byte, and then zeros: a write that was cut short in a reserve.",
                [1] + [0].times(5000)
            ),
            (
                "commit-appended-again", "R-4.1", .successTailDamaged, "The newest commit once more: it is bound to its own offset.",
                Array(grown.file.suffix(448))
            ),
            (
                "older-commit-appended", "R-4.1", .successTailDamaged, "An older commit appended again.",
                Array(bases.grownBefore.file.suffix(448))
            ),
            (
                "generation-appended-again", "R-4.1", .successTailDamaged, "All that the newest commit appended, and it, once more.",
                Array(grown.file[bases.grownBefore.file.count...])
            ),
            ("other-vault-appended", "R-4.1", .successTailDamaged, "Another vault's body appended.", Array(bases.other.file[4096...])),
        ]
        for (name, spec, expect, comment, tail) in tails { try bytes("tail-\(name)", spec, expect, grown, comment) { $0 += tail } }
        // A commit at an offset where it belongs, from another vault or another history.
        try bytes(
            "tail-commit-of-other-vault", "R-4.1", .successTailDamaged, bases.empty,
            "The second generation of another vault, at the offset where it was made."
        ) { file in
            let other = try bases.other.forge()
            let second = Int(try other.commit(other.all(.commit)[1]).end)
            file += bases.other.file[file.count..<second]
        }
        try bytes(
            "tail-fork-in-place", "R-7.10", .successTailDamaged, grown,
            "The newest generation's bytes are cut in their middle, and another fork's follow."
        ) { file in
            let fork = try Workshop.change(bases.grownBefore, "fork in place") { vault, _ in try vault.add("eve", "another past") }
            let middle = bases.grownBefore.file.count + 100
            file = Array(file[..<middle]) + fork.file[middle...]
        }
        try forged(
            "tail-and-damaged-record", "R-6.3, R-7.10", .authenticationFailed, grown,
            "A damaged tail, and a damaged record: the record is the answer."
        ) {
            $0.onReferenced($0.all(.record)[2]) { $0.flip(100) }
            $0.tail = [1, 2, 3]
        }
        var absent = bases.device
        absent.request = .raw(Base.key)
        try bytes(
            "tail-and-device-absent", "R-5.8, R-7.10", .deviceBound, absent,
            "A damaged tail, and a device that is absent: the device is the answer."
        ) { $0 += [1] }
        try bytes("tail-no-commit-left", "R-7.1", .authenticationFailed, bases.one, "The only commit is overwritten with zeros.") {
            $0.put([0].times(448), at: $0.count - 448)
        }
    }

    private mutating func addSplices(_ bases: Bases) throws {
        let grown = bases.grown
        try bytes(
            "splice-header-of-other-vault", "R-4.1", .authenticationFailed, grown,
            "Another vault's header, for the same raw key, before this body."
        ) { $0 = Array(bases.other.file[..<4096]) + $0[4096...] }
        let changed = try Workshop.change(grown, "slots changed") { vault, _ in
            _ = try vault.addSlot(try Workshop.factors([7].times(32)), name: "second")
        }
        try vault("splice-none", "R-5.11", .success, changed, "A slot was added: earlier commits name the header before.")
        try bytes(
            "splice-old-header", "R-5.11", .authenticationFailed, changed,
            "The header from before a slot was added, before the body from after it."
        ) { $0 = Array(grown.file[..<4096]) + $0[4096...] }
        try bytes(
            "splice-new-header", "R-5.11", .authenticationFailed, grown,
            "The header from after a slot was added, before the body from before it."
        ) { $0 = Array(changed.file[..<4096]) + $0[4096...] }
        try bytes(
            "splice-new-header-seen-by-new-slot", "R-5.11", .authenticationFailed, grown, "The same, opened by the slot that was added.",
            request: .raw([7].times(32))
        ) { $0 = Array(changed.file[..<4096]) + $0[4096...] }
        let cut = try Workshop.change(changed, "slot removed") { vault, _ in
            guard let slot = try vault.slots().first(where: { $0.name == "second" }) else { throw ForgeError("no second slot") }
            try vault.removeSlot(slot.id)
        }
        try vault(
            "splice-slot-removed", "R-5.11", .noSlotOpens, cut, "A slot was removed: it opens nothing any more.",
            request: .raw([7].times(32)))
        try bytes(
            "splice-removed-slot-back", "R-5.11", .authenticationFailed, cut, "The header from before a slot was removed, opened by it.",
            request: .raw([7].times(32))
        ) { $0 = Array(changed.file[..<4096]) + $0[4096...] }
        try bytes(
            "splice-records", "R-6.3, R-7.10", .successTailDamaged, bases.grownBefore,
            "In what the newest commit appended, the record is replaced by another one of the file: incomplete."
        ) { file in
            let forge = try bases.grownBefore.forge()
            let records = forge.all(.record)
            let (from, to) = (Int(forge[records[0]].origin ?? 0), Int(forge[records[2]].origin ?? 0))
            file.put(Array(file[from..<from + 204]), at: to)
        }
        try bytes(
            "splice-generations", "R-7.9", .authenticationFailed, grown,
            "The newest record of an item is overwritten with another item's: no digest that is checked covers it, and the walk meets it."
        ) { file in
            let forge = try grown.forge()
            let records = forge.all(.record)
            let newest = records[2]
            let (from, to) = (Int(forge[records[1]].origin ?? 0), Int(forge[newest].origin ?? 0))
            file.put(Array(file[from..<from + 204]), at: to)
        }
        let rotated = try Workshop.change(grown, "rotated") { vault, _ in
            var rotation = try vault.rotation()
            _ = try rotation.keep(try Workshop.factors())
            _ = try rotation.run()
        }
        try vault("feature-rotated", "R-7.17", .success, rotated, "All keys replaced: a new file, with the history before.")
        try bytes(
            "splice-before-rotation", "R-3.3, R-5.11", .authenticationFailed, rotated,
            "The header from before a rotation, for the same raw key, before the body from after it."
        ) { $0 = Array(grown.file[..<4096]) + $0[4096...] }
        let removed = try Workshop.change(bases.scoped, "scoped removed") { vault, _ in
            guard let slot = try vault.slots().first(where: { !$0.isFull }) else { throw ForgeError("no scoped slot") }
            try vault.removeSlot(slot.id)
        }
        try vault(
            "feature-scoped-slot-removed", "R-7.16", .success, removed,
            "A scoped slot was removed: a new epoch, and what it opened resealed.")
        try bytes(
            "splice-epoch", "R-3.3", .authenticationFailed, removed,
            "The header of the old epoch before the body of the new one, opened by the scoped slot that was removed.",
            request: .raw(Bases.scopedKey)
        ) {
            $0 = Array(bases.scoped.file[..<4096]) + $0[4096...]
        }
    }
}
