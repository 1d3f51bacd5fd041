import VaultBytes
import VaultFmt
import VaultForge

/// Records (section 5.1): how they are sealed, and what is in them.
extension Collection {
    mutating func addRecords(_ bases: Bases) throws {
        try addRecordSeals(bases)
        try addRecordBodies(bases)
    }

    private mutating func addRecordSeals(_ bases: Bases) throws {
        try forged("record-tag", "R-1.6", .authenticationFailed, bases.one, "The record's tag is wrong; its entry names what stands there.")
        { $0.onSealed(try $0.last(.record)) { $0.flip(203) } }
        try forged(
            "record-hash", "R-6.3", .authenticationFailed, bases.one, "The record is not the one that its entry names; the digest is right."
        ) { $0.onReferenced(try $0.last(.record)) { $0.flip(203) } }
        try forged(
            "record-nonce", "R-1.6", .authenticationFailed, bases.one,
            "The record's nonce is another one; its entry names what stands there."
        ) { $0.onSealed(try $0.last(.record)) { $0.flip(9) } }
        let recipes: [(String, String, (inout SealRecipe) -> Void)] = [
            ("other-vault", "It was sealed for another vault.", { $0.vault[0] ^= 1 }),
            ("other-item", "It was sealed for another item id.", { $0.x[0] ^= 1 }),
            ("other-compartment", "It was sealed for another compartment.", { $0.x[16] ^= 2 }),
            ("other-revision", "It was sealed for another revision.", { $0.x[20] ^= 1 }),
            ("other-label", "It was sealed as a page.", { $0.label = "vaultfmt-1 page" }),
            ("other-key", "It was sealed under another key.", { $0.key[0] ^= 1 }),
            ("other-length", "It was sealed as a frame of another length.", { $0.head[4] ^= 1 }),
            (
                "locator-order", "It was sealed with the fields in the order of the locator.",
                { $0.x = Array($0.x[..<16]) + $0.x[20...] + $0.x[16..<20] }
            ),
            ("without-vault", "It was sealed without the vault id.", { $0.vault = [] }),
        ]
        for (name, comment, edit) in recipes {
            try forged("record-sealed-\(name)", "R-4.1", .authenticationFailed, bases.one, comment) {
                $0.onRecipe(try $0.last(.record)) { recipe, _ in edit(&recipe) }
            }
        }
        try forged(
            "record-locator", "R-5.2", .success, bases.one, "The locator names another item: who comes from a page does not look at it."
        ) {
            $0.onRecipe(try $0.last(.record)) { recipe, _ in recipe.locator?.item = Bytes16(high: 5, low: 5) }
        }
        try forged("record-locator-garbage", "R-5.2", .success, bases.one, "The locator is random bytes.") {
            $0.onSealed(try $0.last(.record)) { $0.put([0xEE].times(28), at: 32) }
        }
        try forged("record-is-keyring", "R-2.3", .structureInvalid, bases.one, "The entry names the keyring as the record.") { forge in
            let keyring = try forge.last(.keyring)
            let root = try forge.root()
            // Behind the keyring, so that the reference itself is possible.
            let page = forge[root]
            forge.remove(root)
            let commit = try forge.last(.commit)
            forge.objects.insert(page, at: forge.objects.count - 1)
            forge.onEntries(root) { all, layout in
                let ref = try layout.ref(keyring)
                try all[0].edit { $0.record = ref }
            }
            _ = commit
        }
        try forged("record-type", "R-2.3", .structureInvalid, bases.one, "The record's frame says that it is a page, and was sealed so.") {
            $0.onRecipe(try $0.last(.record)) { recipe, _ in
                recipe.head.put(Array("vPAG".utf8), at: 0); recipe.clearHead = recipe.head
            }
            $0.onCommit(try $0.last(.commit)) { commit, _ in commit.wasSyncedFirst = true }
        }
        try forged("record-length-in-frame", "R-2.3", .structureInvalid, bases.one, "The record's frame says 332 bytes.") {
            $0.onRecipe(try $0.last(.record)) { recipe, _ in
                recipe.head.put(u32: 332, at: 4); recipe.clearHead = recipe.head
            }
            $0.onCommit(try $0.last(.commit)) { commit, _ in commit.wasSyncedFirst = true }
        }
        try forged(
            "record-replayed", "R-6.3", .authenticationFailed, bases.grown,
            "In place of the newest record of an item stands its first one; digests are right."
        ) { forge in
            let records = forge.all(.record)
            let start = Int(forge[records[0]].origin ?? 0)
            let old = Array(bases.grown.file[start..<start + 204])
            forge.onReferenced(records[2]) { $0 = old }
        }
        try forged(
            "record-replayed-named", "R-4.1", .authenticationFailed, bases.grown,
            "The entry names an item's first record with its newest revision."
        ) { forge in
            let records = forge.all(.record)
            forge.onEntries(try forge.root()) { all, layout in
                let ref = try layout.ref(records[0])
                try all[0].edit { $0.record = ref }
            }
        }
        try forged(
            "record-of-other-vault", "R-4.1, R-6.3", .authenticationFailed, bases.grown,
            "In place of a record stands one of another vault, as long; digests and hash are right."
        ) { forge in
            let other = try bases.other.forge()
            let start = Int(other[try other.first(.record)].origin ?? 0)
            let frame = Array(bases.other.file[start..<start + 204])
            forge.onSealed(forge.all(.record)[2]) { $0 = frame }
        }
        try forged(
            "record-one-of-two", "R-1.6", .authenticationFailed, bases.scoped,
            "One record is damaged: the other item's secret is released all the same."
        ) { $0.onReferenced(try $0.first(.record)) { $0.flip(100) } }
        try forged(
            "record-damaged-not-granted", "R-6.3", .success, bases.scoped,
            "A record of a group that is not granted is damaged: who may not open it need not notice.", request: .raw(Bases.scopedKey)
        ) { forge in
            let web = forge.objects.first { $0.type == .record && $0.identity?.compartment == 2 }?.id ?? 0
            forge.onReferenced(web) { $0.flip(100) }
        }
    }

    private mutating func addRecordBodies(_ bases: Bases) throws {
        let parts: [(String, String, Verdict, String, (inout RecordParts) -> Void)] = [
            ("other-key", "R-5.3", .structureInvalid, "It names another item.", { $0.key[1] = 0x66 }),
            ("key-longer", "R-5.3", .structureInvalid, "Its key goes on after the item's.", { $0.key.append(0) }),
            ("key-empty", "R-5.3", .structureInvalid, "Its key is empty.", { $0.key = [] }),
            ("secret-empty", "R-5.3", .success, "An empty secret.", { $0.secret = [] }),
            ("secret-zeros", "R-5.1", .success, "A secret that ends with zeros, as the padding does.", { $0.secret = [1, 0, 0] }),
            (
                "secret-1024", "R-5.1", .success, "A body of 1024 bytes, filled to the last.",
                { $0.secret = [7].times(1024 - 22 - 1 - 2 - 1) }
            ),
            ("secret-1025", "R-5.1", .success, "A body of 1025 bytes, padded to 1088.", { $0.secret = [7].times(1024 - 22 - 1 - 2) }),
            ("secret-5000", "R-5.1", .success, "A body of 5000 bytes, padded to 5120.", { $0.secret = [7].times(5000 - 22 - 1 - 2 - 1) }),
            ("secret-128", "R-5.1", .success, "A body of 128 bytes, without padding.", { $0.secret = [7].times(128 - 22 - 1 - 1 - 1) }),
            ("secret-129", "R-5.1", .success, "A body of 129 bytes, padded to 256.", { $0.secret = [7].times(128 - 22 - 1 - 1) }),
        ]
        for (name, spec, expect, comment, edit) in parts {
            try forged("record-\(name)", spec, expect, bases.one, comment) { $0.onRecordParts(try $0.last(.record), edit) }
        }
        let bodies: [(String, String, Verdict, String, (inout [UInt8]) -> Void)] = [
            ("padding", "R-1.2", .structureInvalid, "A byte of its padding is 1.", { $0[$0.count - 1] = 1 }),
            ("padding-256", "R-5.1", .structureInvalid, "A body padded to 256 that needs 128.", { $0 += [0].times(128) }),
            ("padding-129", "R-5.1", .structureInvalid, "A body of 129 bytes, which no padding gives.", { $0.append(0) }),
            (
                "secret-past-end", "R-2.2", .structureInvalid, "A secret that reaches past the end.",
                {
                    $0.replaceSubrange(23..<24, with: [0xFF, 0x01]); $0.removeLast()
                }
            ),
            (
                "secret-17-mib", "R-8.1", .limitExceeded, "A secret of more than 16 MiB, by its length.",
                {
                    $0.replaceSubrange(23..<24, with: [0x81, 0x80, 0x80, 0x08]); $0.removeLast(3)
                }
            ),
            (
                "secret-2-62", "R-2.2, R-8.1", .limitExceeded, "A secret of 2^62 bytes, by its length.",
                {
                    $0.replaceSubrange(23..<24, with: [0x80].times(8) + [0x40]); $0.removeLast(8)
                }
            ),
            (
                "key-8193", "R-8.1", .limitExceeded, "A key of 8193 bytes, by its length.",
                {
                    $0.replaceSubrange(0..<1, with: [0x81, 0x40]); $0.removeLast()
                }
            ),
            (
                "varint-long", "R-1.1", .structureInvalid, "The secret's length is written with a byte too much.",
                {
                    $0.replaceSubrange(23..<24, with: [$0[23] | 0x80, 0]); $0.removeLast()
                }
            ),
            (
                "varint-long-key", "R-1.1", .structureInvalid, "The key's length is written with a byte too much.",
                {
                    $0.replaceSubrange(0..<1, with: [$0[0] | 0x80, 0]); $0.removeLast()
                }
            ),
        ]
        for (name, spec, expect, comment, edit) in bodies {
            // The body: length of the key, 22; the key; length of the secret, 6; the secret; 0; padding.
            try forged("record-\(name)", spec, expect, bases.one, comment) { $0.onBody(try $0.last(.record)) { body, _ in edit(&body) } }
        }
    }
}

/// A record's body in parts; `attributes` is an encoded list.
struct RecordParts {
    var key: [UInt8]
    var secret: [UInt8]
    var attributes: [UInt8]
}

extension Forge {
    /// Changes what a record holds, and pads it as it must be.
    mutating func onRecordParts(_ id: ForgedObject.ID, _ edit: @escaping (inout RecordParts) -> Void) {
        onBody(id) { body, layout in
            let parts = try RecordLayout(body.span, at: layout.offset)
            var record = RecordParts(
                key: Array(body[parts.key]), secret: Array(body[parts.secret]), attributes: Array(body[parts.attributes]))
            edit(&record)
            body = []
            body.append(varint: UInt64(record.key.count))
            body += record.key
            body.append(varint: UInt64(record.secret.count))
            body += record.secret + record.attributes
            body.append(zeros: Padding.record(body.count) - body.count)
        }
    }
}
