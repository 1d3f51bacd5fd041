internal import VaultBytes
internal import VaultStore

/// Finds items that are listed under a second key (specification, section 6.1).
struct TwinSearch {
    private let tree: TreeReader
    private let check: EntryCheck

    init(_ tree: TreeReader, _ check: EntryCheck) {
        self.tree = tree
        self.check = check
    }

    /// Returns the item that is listed under a key with a suffix; nil if there is none.
    func item(listed key: ItemKey) throws(VaultError) -> Item? {
        guard let start = TwinKey.start(ofListed: key) else { return nil }
        var found: Item?
        try forEach(from: start) { (item) throws(VaultError) in
            if !item.hasKeyPlain, item.key == key { found = item }
            return found == nil
        }
        return found
    }

    /// Returns the items with this key that are listed under a second key, in the order of their ids.
    func others(_ key: ItemKey) throws(VaultError) -> [Item] {
        let start = Array(PageKey.second(key.bytes, .zero).dropLast(Format.idSize))
        var found: [Item] = []
        try forEach(from: start) { (item) throws(VaultError) in
            if !item.hasKeyPlain, item.storedKey == key { found.append(item) }
            return true
        }
        return found
    }

    /// Calls `body` with the items whose page keys begin with these bytes, until `body` returns false.
    private func forEach(from start: [UInt8], _ body: (Item) throws(VaultError) -> Bool) throws(VaultError) {
        var leaves = tree.leaves(from: start)
        var check = check
        while let leaf = try leaves.next(1).first {
            let page = try tree.source.page(leaf)
            for index in page.lowerBound(start).index..<page.count {
                let key = page.key(index)
                guard key.starts(with: start), key.first != Format.forgottenTag else { return }
                guard try body(try ItemCodec.item(page, index, key: key.span, &check)) else { return }
            }
        }
    }

    /// Checks that another item with a smaller id is listed under this item's plain key.
    func requirePlain(before item: Item) throws(VaultError) {
        guard let (page, index) = try tree.find(item.storedKey.bytes),
            try ItemCodec.decode(page, index).entry.id < item.entry.id
        else {
            throw VaultError(
                .structureInvalid, "an item is listed under a second key, but no other item has its plain key",
                at: item.referrer)
        }
    }
}
