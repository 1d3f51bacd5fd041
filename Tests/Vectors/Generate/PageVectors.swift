import VaultBytes
import VaultFmt
import VaultForge

/// Pages and the tree (section 5.2). Each is altered by somebody who holds the keys, unless it says otherwise.
extension Collection {
    mutating func addPages(_ bases: Bases) throws {
        try addPageSeals(bases)
        try addPageBodies(bases)
        try addPageEntries(bases)
        try addTrees(bases)
    }

    private mutating func addPageSeals(_ bases: Bases) throws {
        try forged("page-tag", "R-1.6", .authenticationFailed, bases.one, "The page's tag is wrong; the commit names what stands there.") {
            $0.onSealed(try $0.root()) { $0.flip(255) }
        }
        try forged(
            "page-hash", "R-2.3, R-5.5", .authenticationFailed, bases.one,
            "The page is not the one that the commit names; the digest is right."
        ) { $0.onReferenced(try $0.root()) { $0.flip(20) } }
        try forged(
            "page-hash-resealed", "R-2.3, R-5.5", .authenticationFailed, bases.one,
            "The holder of the index key sealed the page again under another nonce: its hash is another one."
        ) { forge in
            let (key, vault) = (forge.keys.index, forge.keys.vault.bytes)
            let root = try forge.root()
            let body = forge[root].body
            let origin = forge[root].origin ?? 0
            forge.onReferenced(root) { frame in
                var x: [UInt8] = []
                x.append(u64: origin)
                let bound = [15] + Array("vaultfmt-1 page".utf8) + vault + x + frame[..<8]
                frame = frame[..<8] + Plain.seal(body, key: key, nonce: [0x4E].times(24), bound: bound)
            }
        }
        let recipes: [(String, String, (inout SealRecipe) -> Void)] = [
            ("other-offset", "It was sealed for another offset.", { $0.x[0] ^= 1 }),
            ("other-vault", "It was sealed for another vault.", { $0.vault[3] ^= 1 }),
            ("other-label", "It was sealed as a history.", { $0.label = "vaultfmt-1 history" }),
            ("other-length", "It was sealed as a frame of another length.", { $0.head[5] = 2 }),
            ("reader-key", "It was sealed under another key.", { $0.key[0] ^= 1 }),
            ("without-head", "It was sealed without the frame's first bytes.", { $0.head = [] }),
            (
                "fields-turned", "Vault id and offset stand in each other's place in its associated data.",
                { ($0.vault, $0.x) = ($0.x, $0.vault) }
            ),
            ("offset-big-endian", "Its offset was bound in big-endian.", { $0.x.reverse() }),
        ]
        for (name, comment, edit) in recipes {
            try forged("page-sealed-\(name)", "R-4.1", .authenticationFailed, bases.one, comment) {
                $0.onRecipe(try $0.root()) { recipe, _ in edit(&recipe) }
            }
        }
        try forged("page-type", "R-2.3", .structureInvalid, bases.one, "The root's frame says that it is a keyring, and was sealed so.") {
            $0.onRecipe(try $0.root()) { recipe, _ in
                recipe.head.put(Array("vKEY".utf8), at: 0); recipe.clearHead = recipe.head
            }
        }
        try forged(
            "page-type-unknown", "R-2.3", .structureInvalid, bases.one, "The root's frame is of no known type; the commit was synced first."
        ) {
            $0.onRecipe(try $0.root()) { recipe, _ in
                recipe.head.put(Array("vXYZ".utf8), at: 0); recipe.clearHead = recipe.head
            }
            $0.onCommit(try $0.last(.commit)) { commit, _ in commit.wasSyncedFirst = true }
        }
        try forged(
            "page-length-in-frame", "R-2.3", .structureInvalid, bases.one,
            "The root's frame says another length than the commit; the commit was synced first."
        ) {
            $0.onRecipe(try $0.root()) { recipe, _ in
                recipe.head.put(u32: 512, at: 4); recipe.clearHead = recipe.head
            }
            $0.onCommit(try $0.last(.commit)) { commit, _ in commit.wasSyncedFirst = true }
        }
        try forged("page-is-keyring", "R-2.3", .structureInvalid, bases.one, "The commit names the keyring as its root.") {
            let keyring = try $0.last(.keyring)
            $0.onCommit(try $0.last(.commit)) { commit, layout in commit.root = Commit.Root(ref: try layout.ref(keyring), level: 0) }
        }
    }

    private mutating func addPageBodies(_ bases: Bases) throws {
        let bodies: [(String, String, Verdict, String, (inout [UInt8]) -> Void)] = [
            ("level-255", "R-5.5", .structureInvalid, "A page of level 255.", { $0[0] = 255 }),
            ("level-1", "R-5.5", .structureInvalid, "A leaf that says level 1.", { $0[0] = 1 }),
            ("no-entries", "R-8.1", .structureInvalid, "A leaf without entries.", { $0 = [0].times(208) }),
            ("count-more", "R-1.3, R-2.2", .structureInvalid, "A leaf that counts one entry more than it has.", { $0[1] = 2 }),
            (
                "count-4097", "R-8.1", .limitExceeded, "A leaf that counts 4097 entries.",
                {
                    $0.replaceSubrange(1..<2, with: [0x81, 0x20]); $0.removeLast()
                }
            ),
            (
                "count-2-62", "R-2.2, R-8.1", .limitExceeded, "A leaf that counts 2^62 entries.",
                {
                    $0.replaceSubrange(1..<2, with: [0x80].times(8) + [0x40]); $0.removeLast(8)
                }
            ),
            (
                "varint-long", "R-1.1", .structureInvalid, "Its count is written with a byte too much.",
                {
                    $0.replaceSubrange(1..<2, with: [0x81, 0]); $0.removeLast()
                }
            ),
            (
                "varint-long-value", "R-1.1", .structureInvalid, "The length of a value is written with a byte too much.",
                { body in
                    let at = 3 + Int(body[2]) + 1
                    let size = body[at]
                    body.replaceSubrange(at..<at + 1, with: [size | 0x80, 0])
                    body.removeLast()
                }
            ),
            (
                "varint-10-bytes", "R-1.1", .structureInvalid, "Its count is a varint of ten bytes.",
                {
                    $0.replaceSubrange(1..<2, with: [0x81] + [0x80].times(8) + [1]); $0.removeLast(9)
                }
            ),
            (
                "prefix-8193", "R-8.1", .limitExceeded, "A prefix of 8193 bytes.",
                {
                    $0.replaceSubrange(2..<3, with: [0x81, 0x40]); $0.removeLast()
                }
            ),
            (
                "prefix-past-end", "R-2.2", .structureInvalid, "A prefix that reaches past the end.",
                {
                    $0.replaceSubrange(2..<3, with: [0x80, 0x10]); $0.removeLast()
                }
            ),
            (
                "value-past-end", "R-2.2", .structureInvalid, "A value that reaches past the end.",
                { body in
                    let at = 3 + Int(body[2]) + 1
                    body.replaceSubrange(at..<at + 1, with: [0x80, 2])
                    body.removeLast()
                }
            ),
            ("padding", "R-1.2", .structureInvalid, "A byte of its padding is 1.", { $0[$0.count - 1] = 1 }),
            ("longer", "R-5.17", .structureInvalid, "256 bytes of padding too much.", { $0 += [0].times(256) }),
        ]
        for (name, spec, expect, comment, edit) in bodies {
            try forged("page-\(name)", spec, expect, bases.one, comment) { $0.onBody(try $0.root()) { body, _ in edit(&body) } }
        }
        try forged(
            "page-prefix-short", "R-5.4", .structureInvalid, bases.one, "The only key's last byte stands in the rest, not in the prefix."
        ) {
            $0.onBody(try $0.root()) { body, _ in
                let length = Int(body[2])
                body = [body[0], body[1], body[2] - 1] + body[3..<3 + length - 1] + [1, body[2 + length]] + body[(3 + length + 1)...]
                body.removeLast()
            }
        }
        try forged("page-prefix-none", "R-5.4", .structureInvalid, bases.grownBefore, "Two keys that share bytes, and no prefix.") {
            $0.onBody(try $0.root()) { body, layout in
                let entries = try PageEntry.all(body, at: layout.offset)
                var out: [UInt8] = [0, UInt8(entries.count), 0]
                for entry in entries {
                    out.append(varint: UInt64(entry.key.count))
                    out += entry.key
                    out.append(varint: UInt64(entry.value.count))
                    out += entry.value
                }
                out.append(zeros: Padding.steppedFrame(out.count) - Format.sealOverhead - out.count)
                body = out
            }
        }
    }

    private mutating func addPageEntries(_ bases: Bases) throws {
        let two = try Workshop.make("two") { vault, _ in
            try vault.add("ann", "first")
            try vault.add("bob", "second")
            _ = try vault.compact()
        }
        try entries("page-keys-twice", "R-5.16", .structureInvalid, two, "One key twice: the second entry has the first one's key.") {
            $0[1].key = $0[0].key
        }
        try entries("page-keys-descending", "R-5.16", .structureInvalid, two, "Two keys in descending order.") { $0.swapAt(0, 1) }
        try entries("page-key-beginning-later", "R-5.16", .structureInvalid, bases.one, "A key that is the beginning of the one before it.")
        { $0.append(PageEntry(key: Array($0[0].key.dropLast()), value: $0[0].value)) }
        try entries("page-key-empty", "R-5.13", .structureInvalid, bases.one, "An entry with an empty key.") {
            $0.insert(PageEntry(key: [], value: []), at: 0)
        }
        for kind in [0, 6, 0x7D, 0x7F, 0xFF] as [UInt8] {
            try entries("page-entry-kind-\(kind)", "R-5.13", .structureInvalid, bases.one, "An entry whose key begins with \(kind).") {
                $0.insert(PageEntry(key: [kind] + $0[0].key.dropFirst(), value: $0[0].value), at: kind == 0 ? 0 : 1)
            }
        }
        try forged(
            "page-entry-kind-after-tombstone", "R-5.13", .structureInvalid, bases.grown, "An entry of an unknown kind after a tombstone."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in entries.append(PageEntry(key: [0x7F], value: [])) }
        }
        try forged(
            "tombstone-after-miscount", "R-5.14", .structureInvalid, bases.grown,
            "The commit counts one item more than the tree has, which a reader knows when it has released the tombstones."
        ) { forge in
            forge.onCommit(try forge.last(.commit)) { commit, _ in commit.items += 1 }
        }
        let tombstones: [(String, String, String, (inout PageEntry) -> Void)] = [
            ("long-key", "R-6.9", "A tombstone's key has 18 bytes.", { $0.key.append(7) }),
            ("short-key", "R-6.9", "A tombstone's key has 16 bytes.", { $0.key.removeLast() }),
            ("with-name", "R-6.9", "A tombstone with something after its device.", { $0.value += Array("bob".utf8) }),
            ("short", "R-2.2", "A tombstone without a device.", { $0.value.removeLast() }),
            ("device", "R-6.8", "A tombstone of a device that is not in the list.", { $0.value[8] = 1 }),
            (
                "device-long", "R-1.1", "A tombstone whose device is written with a byte too much.",
                {
                    $0.value[8] = 0x80; $0.value.append(0)
                }
            ),
        ]
        for (name, spec, comment, edit) in tombstones {
            try forged("tombstone-\(name)", spec, .structureInvalid, bases.grown, comment) {
                $0.onEntries(try $0.root()) { entries, _ in edit(&entries[entries.count - 1]) }
            }
        }
        let ids = (0..<4097).map { index in [0x7E] + [5].times(14) + [UInt8(index >> 8), UInt8(index & 255)] }
        for (count, expect) in [(4096, Verdict.success), (4097, .limitExceeded)] {
            try forged("page-\(count)-entries", "R-8.1", expect, bases.empty, "A leaf of \(count) tombstones.") { forge in
                let commit = try forge.last(.commit)
                let root = forge.insert(.page, before: commit, nonce: [3].times(24)) { _ in
                    PageEntry.encode(ids[..<count].map { PageEntry(key: $0, value: [0].times(9)) }, level: 0)
                }
                forge.onCommit(commit) { commit, layout in
                    commit.root = Commit.Root(ref: try layout.ref(root), level: 0)
                    commit.tombstones = UInt64(count)
                    commit.liveBytes += UInt64(try layout.ref(root).length)
                    commit.wasSyncedFirst = true
                }
            }
        }
    }

    private mutating func entries(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String, _ edit: @escaping (inout [PageEntry]) -> Void
    ) throws {
        try forged(name, spec, expect, base, comment) { $0.onEntries(try $0.root()) { entries, _ in edit(&entries) } }
    }

    // MARK: trees of more than one level

    private mutating func addTrees(_ bases: Bases) throws {
        let tree = bases.tree
        let children: [(String, String, Verdict, String, (inout [UInt8], ObjectRef, UInt64) -> Void)] = [
            (
                "self", "R-2.3, R-5.5", .structureInvalid, "An inner page's first child is the page itself.",
                { value, ref, own in value = PageBuilder.child(ObjectRef(offset: own, length: ref.length, hash: ref.hash)) }
            ),
            (
                "after", "R-2.3, R-5.5", .structureInvalid, "A child that ends 256 bytes after its parent begins.",
                { value, ref, own in
                    value = PageBuilder.child(ObjectRef(offset: own + 256 - UInt64(ref.length), length: ref.length, hash: ref.hash))
                }
            ),
            (
                "beyond-file", "R-2.2, R-2.3", .structureInvalid, "A child at 2^47.",
                { value, ref, _ in value = PageBuilder.child(ObjectRef(offset: 1 << 47, length: ref.length, hash: ref.hash)) }
            ),
            (
                "offset-2-62", "R-2.2", .structureInvalid, "A child at 2^62.",
                { value, ref, _ in value = PageBuilder.child(ObjectRef(offset: 1 << 62, length: ref.length, hash: ref.hash)) }
            ),
            (
                "in-header", "R-2.3", .structureInvalid, "A child in the header.",
                { value, ref, _ in value = PageBuilder.child(ObjectRef(offset: 256, length: ref.length, hash: ref.hash)) }
            ),
            (
                "length-0", "R-2.2", .structureInvalid, "A child of no bytes.",
                { value, ref, _ in value = PageBuilder.child(ObjectRef(offset: ref.offset, length: 0, hash: ref.hash)) }
            ),
            (
                "length-300", "R-2.2", .structureInvalid, "A child of 300 bytes.",
                { value, ref, _ in value = PageBuilder.child(ObjectRef(offset: ref.offset, length: 300, hash: ref.hash)) }
            ),
            (
                "length-65792", "R-8.1", .limitExceeded, "A child of 65,792 bytes.",
                { value, ref, _ in value = PageBuilder.child(ObjectRef(offset: ref.offset, length: 65_792, hash: ref.hash)) }
            ),
            (
                "length-shorter", "R-2.3, R-5.5", .authenticationFailed, "A child that is said to be 256 bytes shorter.",
                { value, ref, _ in value = PageBuilder.child(ObjectRef(offset: ref.offset, length: ref.length - 256, hash: ref.hash)) }
            ),
            (
                "hash", "R-2.3, R-5.5", .authenticationFailed, "A child's hash is another one.",
                { value, _, _ in value.flip(value.count - 1) }
            ),
        ]
        for (name, spec, expect, comment, edit) in children {
            try forged("tree-child-\(name)", spec, expect, tree, comment) { forge in
                let leaf = forge.all(.page)[0]
                forge.onEntries(try forge.root()) { entries, layout in edit(&entries[0].value, try layout.ref(leaf), layout.offset) }
            }
        }
        try forged(
            "tree-last-child-length-300", "R-2.2, R-5.5", .structureInvalid, tree,
            "The last child's length is 300 bytes: the page is refused before an item of another child is released."
        ) { forge in
            let leaf = forge.all(.page)[0]
            forge.onEntries(try forge.root()) { entries, layout in
                let ref = try layout.ref(leaf)
                entries[entries.count - 1].value = PageBuilder.child(ObjectRef(offset: ref.offset, length: 300, hash: ref.hash))
            }
        }
        try forged("tree-children-swapped", "R-5.6", .structureInvalid, tree, "Two children stand in each other's place.") {
            $0.onEntries(try $0.root()) { entries, _ in (entries[0].value, entries[1].value) = (entries[1].value, entries[0].value) }
        }
        try forged("tree-child-twice", "R-5.6", .structureInvalid, tree, "One child twice.") {
            $0.onEntries(try $0.root()) { entries, _ in entries[1].value = entries[0].value }
        }
        try forged("tree-child-left-out", "R-5.14", .structureInvalid, tree, "The last child is left out, and the commit counts its items.")
        { $0.onEntries(try $0.root()) { entries, _ in entries.removeLast() } }
        try forged("tree-child-is-inner", "R-5.5", .structureInvalid, tree, "A root of level 2, whose children are leaves.") {
            $0.onBody(try $0.root()) { body, _ in body[0] = 2 };
            $0.onCommit(try $0.last(.commit)) { commit, _ in commit.root = commit.root.map { Commit.Root(ref: $0.ref, level: 2) } }
        }
        try forged("tree-separator-low", "R-5.6", .structureInvalid, tree, "A separator is less than the last key before it.") {
            $0.onEntries(try $0.root()) { entries, _ in entries[1].key = [1, 0x61, 0, 0, 0x62] }
        }
        try forged("tree-separator-high", "R-5.6", .structureInvalid, tree, "A separator is greater than the first key after it.") {
            $0.onEntries(try $0.root()) { entries, _ in entries[1].key[1] += 1 }
        }
        try forged("tree-separators-equal", "R-5.16", .structureInvalid, tree, "Two separators are equal.") {
            $0.onEntries(try $0.root()) { entries, _ in entries[2].key = entries[1].key }
        }
        try forged("tree-leaf-key-moved", "R-5.6", .structureInvalid, tree, "A leaf's last key is one that belongs into the next leaf.") {
            forge in
            forge.onEntries(forge.all(.page)[0]) { entries, _ in entries[entries.count - 1].key[1] = 0x7A }
        }
        try forged(
            "tree-leaf-damaged", "R-1.6, R-2.3", .authenticationFailed, tree, "The second leaf is damaged: what was before it is released."
        ) { $0.onReferenced($0.all(.page)[1]) { $0.flip(70) } }
        try forged(
            "tree-leaf-replayed", "R-2.3", .authenticationFailed, bases.grown,
            "In place of the newest root stands the bytes of one before, which is as long; digests are right."
        ) { forge in
            let pages = forge.all(.page)
            let newest = pages[pages.count - 1]
            guard let old = pages.dropLast().last(where: { forge[$0].body.count == forge[newest].body.count }) else {
                throw ForgeError("no page of that length")
            }
            let base = bases.grown.file
            let start = Int(forge[old].origin ?? 0)
            let length = forge[old].body.count + Format.sealOverhead
            forge.onReferenced(newest) { $0 = Array(base[start..<start + length]) }
        }
        try forged(
            "tree-old-root", "R-4.1", .success, bases.grown,
            "An owner let the newest commit name the root of three generations ago, and counted its items: a state like any other."
        ) { forge in
            let first = forge.all(.page)[1]
            forge.onCommit(try forge.last(.commit)) { commit, layout in
                commit.root = Commit.Root(ref: try layout.ref(first), level: 0)
                commit.items = 2
                commit.tombstones = 0
            }
        }
        try forged("tree-level-skipped", "R-5.5", .structureInvalid, tree, "A root of level 3, whose child is of level 1.") { forge in
            let commit = try forge.last(.commit)
            let below = try forge.root()
            let top = forge.insert(.page, before: commit, nonce: [0x44].times(24)) { layout in
                PageEntry.encode([PageEntry(key: [], value: PageBuilder.child(try layout.ref(below)))], level: 3)
            }
            forge.onCommit(commit) { commit, layout in commit.root = Commit.Root(ref: try layout.ref(top), level: 3) }
        }
        try level(
            "tree-16-levels", "R-5.7, R-8.1", .success, bases, "A tree of 16 levels: 15 inner pages without separators above a leaf.", 15)
        try level("tree-17-levels", "R-8.1", .limitExceeded, bases, "The same with one more.", 16)
        try level("tree-no-separator", "R-5.7", .success, bases, "An inner page without separators, with one child.", 1)
        try forged("tree-no-separator-prefix", "R-5.4", .structureInvalid, tree, "An inner page without separators, with a prefix.") {
            $0.onBody(try $0.root()) { body, _ in
                let entries = try PageEntry.all(body, at: .max)
                body = [1, 0, 1, 1] + entries[0].value
                body.append(zeros: 208 - body.count)
            }
        }
        try forged(
            "tree-inner-outside", "R-5.6", .structureInvalid, bases.tree,
            "An inner page's last separator is not less than the one that its parent has after it."
        ) { forge in
            let root = try forge.root()
            let commit = try forge.last(.commit)
            let leaves = forge.all(.page).filter { $0 != root }
            let nonce: [UInt8] = [0x33].times(24)
            let base = try PageEntry.all(forge[root].body, at: forge[root].origin ?? 0)
            let left = forge.insert(.page, before: commit, nonce: nonce) { layout in
                PageEntry.encode(
                    [
                        PageEntry(key: [], value: PageBuilder.child(try layout.ref(leaves[0]))),
                        PageEntry(key: base[2].key + [0], value: PageBuilder.child(try layout.ref(leaves[1]))),
                    ], level: 1)
            }
            let top = forge.insert(.page, before: commit, nonce: nonce.map { $0 + 1 }) { layout in
                PageEntry.encode(
                    [
                        PageEntry(key: [], value: PageBuilder.child(try layout.ref(left))),
                        PageEntry(key: base[2].key, value: PageBuilder.child(try layout.ref(root))),
                    ], level: 2)
            }
            forge.onCommit(commit) { commit, layout in commit.root = Commit.Root(ref: try layout.ref(top), level: 2) }
        }
        try forged("page-65536-bytes", "R-8.1", .success, bases.empty, "A page of 65,536 bytes, full of tombstones.") { forge in
            let commit = try forge.last(.commit)
            let page = forge.insert(.page, before: commit, nonce: [6].times(24)) { _ in
                let entries = (0..<2420 as Range<UInt32>).map { index in
                    var key: [UInt8] = [0x7E]
                    key.append(n32: index * 1_774_523)
                    return PageEntry(key: key + [0].times(12), value: [0].times(9))
                }
                return PageEntry.encode(entries, level: 0)
            }
            forge.onCommit(commit) { commit, layout in
                commit.root = Commit.Root(ref: try layout.ref(page), level: 0)
                commit.tombstones = 2420
                commit.liveBytes += 65_536
                commit.wasSyncedFirst = true
            }
        }
    }

    private mutating func level(_ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ levels: UInt8)
        throws
    {
        try forged(name, spec, expect, bases.one, comment) { forge in
            let commit = try forge.last(.commit)
            var child = try forge.root()
            for level in 1...levels {
                let below = child
                child = forge.insert(.page, before: commit, nonce: [level, 8].times(12)) { layout in
                    PageEntry.encode([PageEntry(key: [], value: PageBuilder.child(try layout.ref(below)))], level: level)
                }
            }
            let top = child
            forge.onBody(commit) { body, layout in
                var commit = try Commit(body.span, at: layout.offset)
                commit.root = Commit.Root(ref: try layout.ref(top), level: levels)
                commit.liveBytes += UInt64(levels) * 256
                body = commit.encode()
            }
        }
    }
}
