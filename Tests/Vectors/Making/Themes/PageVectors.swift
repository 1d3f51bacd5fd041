internal import TestSupport
internal import VaultBytes

/// Pages and trees (section 5.2).
extension Collection {
    mutating func addPages(_ bases: Bases) throws {
        folder = "pages"
        try addPageFrames(bases)
        try addPageBodies(bases)
        try addPageKeys(bases)
        try addPrefixes(bases)
        try addPageLimits(bases)
        try addChildren(bases)
        try addSeparators(bases)
        try addLevels(bases)
    }

    private mutating func addPageFrames(_ bases: Bases) throws {
        let one = bases.one
        try forged("page-tag", "R-1.6, R-2.3", .authenticationFailed, one, "The root's tag is wrong.") {
            $0.onSealed(try $0.root()) { $0.flip($0.count - 1) }
        }
        try forged(
            "page-bytes", "R-2.3", .authenticationFailed, one, "A bit of the root is another one: its hash shows it."
        ) {
            $0.onReferenced(try $0.root()) { $0.flip(100) }
        }
        try forged(
            "page-nonce", "R-2.3", .authenticationFailed, one,
            "A bit of the root's nonce is another one: its hash shows it."
        ) {
            $0.onReferenced(try $0.root()) { $0.flip(20) }
        }
        try forged(
            "page-resealed", "R-2.3", .authenticationFailed, one,
            "The holder of the index key sealed the root again under another nonce: its hash is another one."
        ) { forge in
            let root = try forge.root()
            let (key, vault, body) = (forge.keys.index, forge.keys.vault, forge[root].body)
            let origin = forge[root].origin ?? 0
            forge.onReferenced(root) { frame in
                let bound = Bindings.placed(.page, vault, at: origin, length: frame.count)
                frame = Array(frame[..<8]) + Plain.seal(body, key: key, nonce: [0x4E].times(24), bound: bound)
            }
        }
        let recipes: [(String, String, (inout SealRecipe) -> Void)] = [
            ("other-offset", "It was sealed for another offset.", { $0.x[0] ^= 1 }),
            ("other-vault", "It was sealed for another vault.", { $0.vault[3] ^= 1 }),
            ("other-label", "It was sealed as a vector.", { $0.label = "vaultfmt-1 vector" }),
            ("other-length", "It was sealed as a frame of another length.", { $0.head[5] = 2 }),
            ("other-key", "It was sealed under another key.", { $0.key[0] ^= 1 }),
            ("without-head", "It was sealed without the frame's first bytes.", { $0.head = [] }),
            ("without-offset", "It was sealed without its offset.", { $0.x = [] }),
            (
                "fields-turned", "Vault id and offset are in each other's place in its associated data.",
                { ($0.vault, $0.x) = ($0.x, $0.vault) }
            ),
            ("offset-big-endian", "Its offset was bound in big-endian.", { $0.x.reverse() }),
        ]
        for (name, comment, edit) in recipes {
            try forged("page-sealed-\(name)", "R-4.1", .authenticationFailed, one, comment) {
                $0.onRecipe(try $0.root()) { recipe, _ in edit(&recipe) }
            }
        }
        for (name, type) in [("keyring", "vKEY"), ("unknown", "vXYZ"), ("past", "vPST")] {
            try forged(
                "page-type-\(name)", "R-2.3", .structureInvalid, one,
                "The root's frame says that it is of the type \(type), and was sealed so."
            ) {
                $0.onRecipe(try $0.root()) { recipe, _ in
                    recipe.head.put(Array(type.utf8), at: 0)
                    recipe.clearHead = recipe.head
                }
            }
        }
        try forged(
            "page-length-in-frame", "R-2.3", .structureInvalid, one,
            "The root's frame says another length than the commit."
        ) {
            $0.onRecipe(try $0.root()) { recipe, _ in
                recipe.head.put(u32: 512, at: 4)
                recipe.clearHead = recipe.head
            }
        }
        try forged("page-is-keyring", "R-2.3", .structureInvalid, one, "The commit names the keyring as its root.") {
            forge in
            let keyring = try forge.last(.keyring)
            forge.onCommit(try forge.last(.commit)) { commit, layout in
                commit.root = Commit.Root(ref: try layout.ref(keyring), level: 0)
            }
        }
        try forged(
            "page-is-past", "R-2.3", .structureInvalid, bases.kept, "The commit names a past as its root."
        ) { forge in
            let past = try forge.last(.past)
            forge.onCommit(try forge.last(.commit)) { commit, layout in
                commit.root = Commit.Root(ref: try layout.ref(past), level: 0)
            }
        }
    }

    private mutating func addPageBodies(_ bases: Bases) throws {
        let bodies: [(String, String, String, (inout [UInt8]) -> Void)] = [
            ("level-1", "R-5.7", "A leaf that says level 1.", { $0[0] = 1 }),
            ("level-16", "R-11.1", "A page of level 16.", { $0[0] = 16 }),
            ("level-255", "R-11.1", "A page of level 255.", { $0[0] = 255 }),
            ("no-entries", "R-11.1", "A leaf without entries.", { $0 = [0].times(208) }),
            ("count-more", "R-1.3, R-2.2", "A leaf that counts one entry more than it has.", { $0[1] = 2 }),
            ("count-fewer", "R-1.2, R-11.1", "A leaf that counts no entry and has one.", { $0[1] = 0 }),
            ("count-4097", "R-11.1", "A leaf that counts 4097 entries.", { $0.exchange(1, 1, [0x81, 0x20]) }),
            (
                "count-2-62", "R-2.2, R-11.1", "A leaf that counts 2^62 entries.",
                { $0.exchange(1, 1, [0x80].times(8) + [0x40]) }
            ),
            ("varint-long", "R-1.1", "Its count is written with a byte too many.", { $0.exchange(1, 1, [0x81, 0]) }),
            (
                "varint-9-bytes", "R-1.1", "Its count is written with nine bytes, and zeros in eight.",
                { $0.exchange(1, 1, [0x81] + [0x80].times(7) + [0]) }
            ),
            (
                "varint-10-bytes", "R-1.1", "Its count is a varint of ten bytes.",
                { $0.exchange(1, 1, [0x81] + [0x80].times(8) + [1]) }
            ),
            (
                "varint-10-bytes-wrapping", "R-1.1", "Its count is a varint of ten bytes, 1 in its lower 64 bits.",
                { $0.exchange(1, 1, [0x81] + [0x80].times(8) + [2]) }
            ),
            (
                "varint-long-value", "R-1.1", "The length of a value is written with a byte too many.",
                { body in
                    let at = 3 + Int(body[2]) + 1
                    body.exchange(at, 1, [body[at] | 0x80, 0])
                }
            ),
            (
                "varint-long-rest", "R-1.1", "The length of a rest is written with a byte too many.",
                { $0.exchange(3 + Int($0[2]), 1, [0x80, 0]) }
            ),
            ("prefix-8193", "R-11.1", "A prefix of 8193 bytes.", { $0.exchange(2, 1, [0x81, 0x40]) }),
            ("prefix-past-end", "R-2.2", "A prefix that reaches past the end.", { $0.exchange(2, 1, [0x80, 0x10]) }),
            (
                "rest-past-end", "R-2.2", "A rest that reaches past the end.",
                { $0.exchange(3 + Int($0[2]), 1, [0x80, 0x10]) }
            ),
            (
                "value-past-end", "R-2.2", "A value that reaches past the end.",
                { $0.exchange(3 + Int($0[2]) + 1, 1, [0x80, 4]) }
            ),
            ("padding", "R-1.2", "A byte of its padding is 1.", { $0[$0.count - 1] = 1 }),
            (
                "padding-first", "R-1.2", "The first byte of its padding is 1.",
                { $0[($0.lastIndex { $0 != 0 } ?? 0) + 2] = 1 }
            ),
            ("longer", "R-5.11", "256 bytes of padding too many.", { $0 += [0].times(256) }),
        ]
        for (name, spec, comment, edit) in bodies {
            try forged("page-\(name)", spec, .structureInvalid, bases.one, comment) {
                $0.onBody(try $0.root()) { body, _ in edit(&body) }
            }
        }
    }

    private static func two() throws -> Base {
        try Bases.base("two") { draft in
            try draft.add(Bases.ann, "first")
            try draft.add(Bases.bob, "second")
            try draft.compact()
        }
    }

    private mutating func entries(
        _ name: String, _ spec: String, _ expect: Verdict, _ base: Base, _ comment: String,
        _ edit: @escaping (inout [PageEntry]) -> Void
    ) throws {
        try forged(name, spec, expect, base, comment) { $0.onEntries(try $0.root()) { entries, _ in edit(&entries) } }
    }

    private mutating func addPageKeys(_ bases: Bases) throws {
        let two = try Self.two()
        try entries("page-keys-twice", "R-5.5", .structureInvalid, two, "One key twice.") { $0[1].key = $0[0].key }
        try entries("page-keys-descending", "R-5.5", .structureInvalid, two, "Two keys in descending order.") {
            $0.swapAt(0, 1)
        }
        try entries(
            "page-key-beginning-later", "R-5.5", .structureInvalid, bases.one, "A key that begins the one before it."
        ) {
            $0.append(PageEntry(key: Array($0[0].key.dropLast()), value: $0[0].value))
        }
        try entries("page-key-empty", "R-5.10", .structureInvalid, bases.one, "An entry with an empty key.") {
            $0.insert(PageEntry(key: [], value: []), at: 0)
        }
        try entries("page-key-empty-only", "R-5.10", .structureInvalid, bases.one, "Only an entry with an empty key.") {
            $0 = [PageEntry(key: [], value: [])]
        }
        for kind in [0, 64, 0x7D, 0x7F, 0x80, 0xFF] as [UInt8] {
            try entries(
                "page-entry-kind-\(kind)", "R-5.10", .structureInvalid, bases.one,
                "An entry whose key begins with \(kind)."
            ) {
                $0.insert(PageEntry(key: [kind] + $0[0].key.dropFirst(), value: $0[0].value), at: kind == 0 ? 0 : 1)
            }
        }
        try entries(
            "page-entry-kind-only", "R-5.10", .structureInvalid, bases.one,
            "Only an entry whose key begins with 64: it is in the prefix."
        ) {
            $0[0].key[0] = 64
        }
        try entries(
            "page-entry-kind-after-forgotten", "R-5.10", .structureInvalid, bases.causal.forgotten,
            "An entry of an unknown kind after forgotten values."
        ) {
            $0.append(PageEntry(key: [0x7F], value: []))
        }
        try entries(
            "page-item-after-forgotten", "R-5.5", .structureInvalid, bases.causal.forgotten,
            "An item after a forgotten value: the keys are out of order."
        ) {
            $0.append($0.remove(at: $0.count - 3))
        }
        try entries(
            "page-forgotten-value-1", "R-6.14", .structureInvalid, bases.causal.forgotten,
            "A forgotten value whose entry has a value of one byte."
        ) {
            $0[$0.count - 1].value = [0]
        }
        try entries(
            "page-entry-kind-last", "R-5.10", .structureInvalid, two,
            "The last of three entries is of an unknown kind: nothing of the page is released."
        ) {
            $0.append(PageEntry(key: [0x40, 1], value: []))
        }
    }

    private mutating func addPrefixes(_ bases: Bases) throws {
        try forged(
            "page-prefix-short", "R-5.6", .structureInvalid, bases.one,
            "The only key's last byte is in the rest, not in the prefix."
        ) {
            $0.onBody(try $0.root()) { body, _ in
                let length = Int(body[2])
                body =
                    [body[0], body[1], body[2] - 1] + body[3..<3 + length - 1] + [1, body[2 + length]]
                    + body[(3 + length + 1)...]
            }
        }
        try forged(
            "page-prefix-none", "R-5.6", .structureInvalid, try Self.two(), "Two keys that share bytes, and no prefix."
        ) {
            $0.onBody(try $0.root()) { body, layout in
                body = Self.page(try PageEntry.all(body, at: layout.offset), prefix: 0)
            }
        }
        try forged(
            "page-prefix-one-shorter", "R-5.6", .structureInvalid, try Self.two(),
            "Two keys, and a prefix that is shorter by a byte than what they share."
        ) {
            $0.onBody(try $0.root()) { body, layout in
                body = Self.page(try PageEntry.all(body, at: layout.offset), prefix: Int(body[2]) - 1)
            }
        }
        try forged(
            "page-prefix-empty", "R-5.6", .success, bases.one,
            "An item and a forgotten value, which share no byte: the prefix is empty."
        ) { forge in
            let root = try forge.root()
            let commit = try forge.last(.commit)
            let id = try forge.commit(commit).own?.id ?? 0
            forge.onEntries(root) { entries, _ in entries += Self.forgotten(1, id) }
            forge.onCommit(commit) { commit, _ in commit.forgotten = 1 }
        }
    }

    /// A leaf with a prefix of this length, whatever its keys share.
    private static func page(_ entries: [PageEntry], prefix: Int) -> [UInt8] {
        var out: [UInt8] = [0, UInt8(entries.count)]
        out.append(varint: UInt64(prefix))
        out += entries[0].key[..<prefix]
        for entry in entries {
            out.append(varint: UInt64(entry.key.count - prefix))
            out += entry.key[prefix...]
            out.append(varint: UInt64(entry.value.count))
            out += entry.value
        }
        out.padSteppedBody()
        return out
    }

    /// Forgotten values of the first revisions of an id.
    private static func forgotten(_ count: Int, _ id: ReplicaID, name: String = "") -> [PageEntry] {
        (1...UInt64(count)).map { revision in
            let value = ForgottenValue(
                dot: Dot(revision: revision, replica: id), kind: name.isEmpty ? .secret : .attribute,
                name: Array(name.utf8))
            return PageEntry(key: value.key, value: [])
        }
    }

    private mutating func leaf(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ entries: [PageEntry]
    )
        throws
    {
        try forged(name, spec, expect, bases.empty, comment) { forge in
            let commit = try forge.last(.commit)
            let root = forge.insert(.page, before: commit, nonce: [3].times(24)) { _ in
                PageEntry.encode(entries, level: 0)
            }
            forge.onBody(commit) { body, layout in
                // Flag 1, without which the commit would be too large to be read.
                body[80] = 1
                var commit = try Commit(body.span, at: layout.offset, from: layout.bodyStart)
                let ref = try layout.ref(root)
                commit.root = Commit.Root(ref: ref, level: 0)
                commit.forgotten = UInt64(entries.count)
                commit.liveBytes += UInt64(ref.length)
                body = commit.encode()
            }
        }
    }

    private mutating func addPageLimits(_ bases: Bases) throws {
        let forge = try bases.empty.forge()
        let id = try forge.commit(try forge.last(.commit)).own?.id ?? 0
        // 13 bytes each.
        for (count, expect) in [(2000, Verdict.success), (4096, .success), (4097, .structureInvalid)] {
            try leaf(
                "page-\(count)-entries", "R-11.1", expect, bases, "A leaf of \(count) forgotten values.",
                Self.forgotten(count, id))
        }
        // 37 bytes each.
        let name = String(repeating: "n", count: 24)
        try leaf(
            "page-65536-bytes", "R-11.1", .success, bases, "A page of 65,536 bytes, full of forgotten values.",
            Self.forgotten(1769, id, name: name))
        try leaf(
            "page-longer-than-65536-bytes", "R-2.2, R-11.1", .structureInvalid, bases,
            "A page of more than 65,536 bytes, full of forgotten values and right but for that.",
            Self.forgotten(1770, id, name: name))
        try leaf(
            "page-no-entries-counted", "R-11.1", .structureInvalid, bases,
            "A leaf without entries, under a commit that counts none.", [])
    }

    // MARK: trees

    private mutating func addChildren(_ bases: Bases) throws {
        let tree = bases.tree
        func ref(_ offset: UInt64, _ length: Int, _ hash: Bytes32) -> [UInt8] {
            PageBuilder.child(ObjectRef(offset: offset, length: length, hash: hash))
        }
        let children: [(String, String, Verdict, String, (ObjectRef, UInt64) -> [UInt8])] = [
            (
                "self", "R-2.3", .structureInvalid, "is the page itself",
                { child, own in ref(own, child.length, child.hash) }
            ),
            (
                "after", "R-2.3", .structureInvalid, "ends a byte after its parent begins",
                { child, own in ref(own + 1 - UInt64(child.length), child.length, child.hash) }
            ),
            (
                "beyond-file", "R-2.2, R-2.3", .structureInvalid, "is at 2^47",
                { child, _ in ref(1 << 47, child.length, child.hash) }
            ),
            (
                "offset-2-62", "R-2.2", .structureInvalid, "is at 2^62",
                { child, _ in ref(1 << 62, child.length, child.hash) }
            ),
            (
                "in-header", "R-2.3", .structureInvalid, "is in the header",
                { child, _ in ref(256, child.length, child.hash) }
            ),
            (
                "in-copy", "R-2.3", .structureInvalid, "begins a byte before the end of the header's copy",
                { child, _ in ref(8191, child.length, child.hash) }
            ),
            ("length-0", "R-2.2", .structureInvalid, "has no bytes", { child, _ in ref(child.offset, 0, child.hash) }),
            (
                "length-300", "R-2.2", .structureInvalid, "has 300 bytes",
                { child, _ in ref(child.offset, 300, child.hash) }
            ),
            (
                "length-65792", "R-2.2, R-11.1", .structureInvalid, "has 65,792 bytes",
                { child, _ in ref(child.offset, 65_792, child.hash) }
            ),
            (
                "length-2-62", "R-2.2", .structureInvalid, "has 2^62 bytes",
                { child, _ in ref(child.offset, 1 << 62, child.hash) }
            ),
            (
                "length-shorter", "R-2.3", .authenticationFailed, "is said to be 256 bytes shorter",
                { child, _ in ref(child.offset, child.length - 256, child.hash) }
            ),
            (
                "hash", "R-2.3", .authenticationFailed, "has another hash",
                { child, _ in ref(child.offset, child.length, Bytes32([1].times(32)) ?? .zero) }
            ),
        ]
        for (index, place) in [(0, "first"), (2, "last")] {
            for (name, spec, expect, comment, make) in children
            where index == 0 || ["length-300", "self", "hash"].contains(name) {
                try forged("tree-\(place)-child-\(name)", spec, expect, tree, "The \(place) child \(comment).") {
                    forge in
                    let leaf = forge.all(.page)[index]
                    forge.onEntries(try forge.root()) { entries, layout in
                        entries[index].value = make(try layout.ref(leaf), layout.offset)
                    }
                }
            }
        }
        try forged(
            "tree-child-varint-long", "R-1.1", .structureInvalid, tree,
            "A child's offset is written with a byte too many."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in
                let value = entries[2].value
                let end = value.firstIndex { $0 < 0x80 } ?? 0
                entries[2].value = value[..<end] + [value[end] | 0x80, 0] + value[(end + 1)...]
            }
        }
        try forged(
            "tree-child-record", "R-2.3", .structureInvalid, bases.tree,
            "A child is a record: no page can be that long."
        ) { forge in
            let record = try forge.first(.record)
            forge.onEntries(try forge.root()) { entries, layout in
                entries[0].value = PageBuilder.child(try layout.ref(record))
            }
        }
        try forged("tree-child-keyring", "R-2.3", .structureInvalid, bases.tree, "A child is the keyring.") { forge in
            let keyring = try forge.last(.keyring)
            let root = try forge.root()
            // The keyring comes after the pages: it is put before them.
            let position = forge.objects.firstIndex { $0.id == keyring } ?? 0
            let object = forge.objects.remove(at: position)
            forge.objects.insert(object, at: 0)
            forge.onEntries(root) { entries, layout in entries[0].value = PageBuilder.child(try layout.ref(keyring)) }
        }
        try forged("tree-children-swapped", "R-5.8", .structureInvalid, tree, "Two children are in each other's place.")
        {
            $0.onEntries(try $0.root()) { entries, _ in
                (entries[0].value, entries[1].value) = (entries[1].value, entries[0].value)
            }
        }
        try forged("tree-child-twice", "R-5.8", .structureInvalid, tree, "One child twice.") {
            $0.onEntries(try $0.root()) { entries, _ in entries[1].value = entries[0].value }
        }
        try forged(
            "tree-child-left-out", "R-5.25", .structureInvalid, tree,
            "The last child is left out, and the commit counts its items."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in entries.removeLast() }
        }
        try forged(
            "tree-leaf-damaged", "R-1.6, R-2.3", .authenticationFailed, tree,
            "The second leaf is damaged: what was before it is released."
        ) {
            $0.onReferenced($0.all(.page)[1]) { $0.flip(70) }
        }
        try forged(
            "tree-leaf-replayed", "R-2.3", .authenticationFailed, bases.grown,
            "In place of the newest root are the bytes of one before; digests are right."
        ) { forge in
            let pages = forge.all(.page)
            let newest = pages[pages.count - 1]
            guard let old = pages.dropLast().last(where: { forge[$0].body.count == forge[newest].body.count }) else {
                throw ForgeError("no page of that length")
            }
            let start = Int(forge[old].origin ?? 0)
            let bytes = Array(bases.grown.file[start..<start + forge[old].body.count + 48])
            forge.onReferenced(newest) { $0 = bytes }
        }
        try forged(
            "tree-old-root", "R-4.1", .success, bases.grown,
            "An owner let the newest commit name an older root, and counted its items: a state like any other."
        ) { forge in
            let pages = forge.all(.page)
            let old = pages[pages.count - 2]
            forge.onCommit(try forge.last(.commit)) { commit, layout in
                commit.root = Commit.Root(ref: try layout.ref(old), level: 0)
                commit.items = 2
            }
        }
    }

    private mutating func addSeparators(_ bases: Bases) throws {
        let tree = bases.tree
        try forged(
            "tree-separator-low", "R-5.8", .structureInvalid, tree, "A separator is less than the last key before it."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in entries[1].key = [1, 0x61, 0, 0, 0x62] }
        }
        try forged(
            "tree-separator-high", "R-5.8", .structureInvalid, tree,
            "A separator is greater than the first key after it."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in entries[1].key.append(0) }
        }
        try forged(
            "tree-separator-last-key", "R-5.8", .structureInvalid, tree,
            "A separator equals the last key before it: that key must be less."
        ) { forge in
            let leaf = forge.all(.page)[0]
            let key = try PageEntry.all(forge[leaf].body, at: 0).last?.key ?? []
            forge.onEntries(try forge.root()) { entries, _ in entries[1].key = key }
        }
        try forged(
            "tree-separator-first-key", "R-5.8", .success, tree,
            "A separator equals the first key after it, as a writer makes it."
        ) { forge in
            forge.header.length = 8192
        }
        try forged(
            "tree-separator-between", "R-5.8", .success, tree,
            "A separator is shorter than the first key after it, and no key of the tree."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in entries[1].key = Array(entries[1].key[..<2]) }
        }
        try forged("tree-separators-equal", "R-5.5", .structureInvalid, tree, "Two separators are equal.") {
            $0.onEntries(try $0.root()) { entries, _ in entries[2].key = entries[1].key }
        }
        try forged(
            "tree-separators-descending", "R-5.5", .structureInvalid, tree, "Two separators in descending order."
        ) {
            $0.onEntries(try $0.root()) { entries, _ in
                (entries[1].key, entries[2].key) = (entries[2].key, entries[1].key)
            }
        }
        try forged("tree-separator-empty", "R-5.8", .structureInvalid, tree, "An empty separator: no key is less.") {
            $0.onEntries(try $0.root()) { entries, _ in entries[1].key = [] }
        }
        try forged(
            "tree-leaf-key-moved", "R-5.8", .structureInvalid, tree,
            "A leaf's last key is one that belongs into the next leaf."
        ) {
            forge in
            forge.onEntries(forge.all(.page)[0]) { entries, _ in entries[entries.count - 1].key[1] = 0x7A }
        }
        try forged(
            "tree-leaf-key-before", "R-5.8", .structureInvalid, tree,
            "A leaf's first key is one that belongs into the leaf before."
        ) { forge in
            forge.onEntries(forge.all(.page)[1]) { entries, _ in entries[0].key[1] = 0x60 }
        }
        try forged(
            "tree-separators-prefix-short", "R-5.6", .structureInvalid, tree,
            "An inner page whose separators share bytes, and no prefix."
        ) {
            $0.onBody(try $0.root()) { body, layout in
                let entries = try PageEntry.all(body, at: layout.offset)
                var out: [UInt8] = [1, UInt8(entries.count - 1), 0] + entries[0].value
                for entry in entries.dropFirst() {
                    out.append(varint: UInt64(entry.key.count))
                    out += entry.key + entry.value
                }
                out.padSteppedBody()
                body = out
            }
        }
        try addGrandparents(bases)
    }

    /// Bounds that come from further up than the parent.
    private mutating func addGrandparents(_ bases: Bases) throws {
        /// A root of level 2: `left` before the separator, `right` after it, each an inner page.
        func nested(
            _ name: String, _ expect: Verdict, _ comment: String, separator: @escaping ([PageEntry]) -> [UInt8],
            left: @escaping ([PageEntry]) -> [PageEntry], right: @escaping ([PageEntry]) -> [PageEntry]
        ) throws {
            try forged("tree-nested-\(name)", "R-5.8", expect, bases.tree, comment) { forge in
                let root = try forge.root()
                let commit = try forge.last(.commit)
                let leaves = forge.all(.page).filter { $0 != root }
                let base = try PageEntry.all(forge[root].body, at: 0)
                func children(_ layout: ForgeLayout) throws -> [PageEntry] {
                    try zip(base, leaves).map { PageEntry(key: $0.key, value: PageBuilder.child(try layout.ref($1))) }
                }
                let first = forge.insert(.page, before: commit, nonce: [0x33].times(24)) {
                    PageEntry.encode(left(try children($0)), level: 1)
                }
                let second = forge.insert(.page, before: commit, nonce: [0x34].times(24)) {
                    PageEntry.encode(right(try children($0)), level: 1)
                }
                let top = forge.insert(.page, before: commit, nonce: [0x35].times(24)) { layout in
                    PageEntry.encode(
                        [
                            PageEntry(key: [], value: PageBuilder.child(try layout.ref(first))),
                            PageEntry(key: separator(base), value: PageBuilder.child(try layout.ref(second))),
                        ], level: 2)
                }
                forge.onCommit(commit) { commit, layout in commit.root = Commit.Root(ref: try layout.ref(top), level: 2)
                }
            }
        }
        try nested(
            "right", .success, "A tree of three levels, made by hand.", separator: { $0[2].key },
            left: { Array($0[..<2]) },
            right: { [PageEntry(key: [], value: $0[2].value)] })
        try nested(
            "separator-outside", .structureInvalid,
            "An inner page's separator is not less than the one that its parent has after it.",
            separator: { $0[2].key },
            left: { [$0[0], PageEntry(key: $0[2].key + [0], value: $0[1].value)] },
            right: { [PageEntry(key: [], value: $0[2].value)] })
        try nested(
            "separator-equal", .structureInvalid,
            "An inner page's separator equals the one that its parent has after it.",
            separator: { $0[2].key },
            left: { [$0[0], PageEntry(key: $0[2].key, value: $0[1].value)] },
            right: { [PageEntry(key: [], value: $0[2].value)] })
        try nested(
            "separator-before", .structureInvalid,
            "An inner page's separator is less than the one that its parent has before it.",
            separator: { $0[2].key },
            left: { Array($0[..<2]) },
            right: { [PageEntry(key: [], value: $0[1].value), PageEntry(key: $0[1].key, value: $0[2].value)] })
        try nested(
            "separator-low-bound", .success, "An inner page's separator equals the one that its parent has before it.",
            separator: { $0[1].key },
            left: { [PageEntry(key: [], value: $0[0].value)] },
            right: { [PageEntry(key: [], value: $0[1].value), $0[2]] })
        try nested(
            "key-after", .structureInvalid,
            "A leaf's keys are not less than the separator of its grandparent, and its parent has none after it.",
            separator: { $0[1].key },
            left: { [PageEntry(key: [], value: $0[1].value)] }, right: { [PageEntry(key: [], value: $0[2].value)] })
        try nested(
            "key-before", .structureInvalid,
            "A leaf's keys are less than the separator of its grandparent, and its parent has none before it.",
            separator: { $0[2].key },
            left: { [PageEntry(key: [], value: $0[0].value)] }, right: { [PageEntry(key: [], value: $0[1].value)] })
    }

    private mutating func addLevels(_ bases: Bases) throws {
        let tree = bases.tree
        try forged(
            "tree-child-is-leaf", "R-5.7", .structureInvalid, tree, "A root of level 2, whose children are leaves."
        ) {
            $0.onBody(try $0.root()) { body, _ in body[0] = 2 }
            $0.onCommit(try $0.last(.commit)) { commit, _ in
                commit.root = commit.root.map { Commit.Root(ref: $0.ref, level: 2) }
            }
        }
        try forged(
            "tree-level-skipped", "R-5.7", .structureInvalid, tree, "A root of level 3, whose child is of level 1."
        ) { forge in
            let commit = try forge.last(.commit)
            let below = try forge.root()
            let top = forge.insert(.page, before: commit, nonce: [0x44].times(24)) { layout in
                PageEntry.encode([PageEntry(key: [], value: PageBuilder.child(try layout.ref(below)))], level: 3)
            }
            forge.onCommit(commit) { commit, layout in commit.root = Commit.Root(ref: try layout.ref(top), level: 3) }
        }
        try level(
            "tree-16-levels", "R-5.9, R-11.1", .success, bases,
            "A tree of 16 levels: 15 inner pages without separators above a leaf.", 15)
        try level("tree-17-levels", "R-11.1", .structureInvalid, bases, "The same with one more.", 16)
        try level("tree-no-separator", "R-5.9", .success, bases, "An inner page without separators, with one child.", 1)
        for (name, prefix) in [("one", [1] as [UInt8]), ("long", [1].times(100))] {
            try forged(
                "tree-no-separator-prefix-\(name)", "R-5.6, R-5.9", .structureInvalid, bases.tree,
                "An inner page without separators, with a prefix of \(prefix.count) bytes."
            ) {
                $0.onBody(try $0.root()) { body, layout in
                    let entries = try PageEntry.all(body, at: layout.offset)
                    body = [1, 0, UInt8(prefix.count)] + prefix + entries[0].value
                    body.padSteppedBody()
                }
            }
        }
        try forged("tree-inner-padding", "R-1.2", .structureInvalid, tree, "A byte of an inner page's padding is 1.") {
            $0.onBody(try $0.root()) { body, _ in body[body.count - 1] = 1 }
        }
        try forged(
            "tree-inner-longer", "R-5.11", .structureInvalid, tree, "256 bytes of padding too many in an inner page."
        ) {
            $0.onBody(try $0.root()) { body, _ in body += [0].times(256) }
        }
        try forged(
            "tree-inner-count-more", "R-1.3", .structureInvalid, tree,
            "An inner page counts one separator more than it has."
        ) {
            $0.onBody(try $0.root()) { body, _ in body[1] += 1 }
        }
        try forged("tree-inner-count-4097", "R-11.1", .structureInvalid, tree, "An inner page counts 4097 separators.")
        {
            $0.onBody(try $0.root()) { body, _ in body.exchange(1, 1, [0x81, 0x20]) }
        }
        try forged("tree-separator-8193", "R-11.1", .structureInvalid, tree, "A separator of 8193 bytes.") {
            $0.onEntries(try $0.root()) { entries, _ in entries[1].key = [1, 0x66] + [0x61].times(8191) }
        }
        try forged("tree-separator-8192", "R-11.1", .success, tree, "A separator of 8192 bytes.") {
            $0.onEntries(try $0.root()) { entries, _ in
                // Between the last key before it and the first one after it.
                let key = entries[1].key
                entries[1].key = [1, key[1] - 1] + [0xFE].times(8190)
            }
        }
    }

    private mutating func level(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ levels: UInt8
    )
        throws
    {
        try forged(name, spec, expect, bases.one, comment) { forge in
            let commit = try forge.last(.commit)
            var child = try forge.root()
            for level in 1...levels {
                let below = child
                child = forge.insert(.page, before: commit, nonce: [level, 8].times(12)) { layout in
                    PageEntry.encode(
                        [PageEntry(key: [], value: PageBuilder.child(try layout.ref(below)))], level: level)
                }
            }
            let top = child
            forge.onCommit(commit) { commit, layout in
                commit.root = Commit.Root(ref: try layout.ref(top), level: levels)
                commit.liveBytes += UInt64(levels) * 256
            }
        }
    }
}
