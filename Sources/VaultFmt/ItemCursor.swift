internal import Synchronization
internal import VaultBytes
internal import VaultFaults

/// Goes through items in the order of their keys, as they were when the cursor was made. Reads ahead, on two threads, the further it gets.
public struct ItemCursor: Sendable {
    private let reader: LeafReader
    private let tree: TreeReader
    private var leaves: LeafWalker?
    /// The items of the leaves that were read last, and which is next; then those that the other thread has read.
    private var items: [Item] = []
    private var index = 0
    private var further: [Item] = []
    /// How many leaves are read at a time.
    private var window = 1
    private var hasEnded = false
    /// What was met after the items that were read: it is thrown once those were given.
    private var failure: VaultError?
    private static let mostLeaves = 64

    /// how many items the commit counts that have not come; only of who goes through all of them.
    private var missing: Int64?

    init(_ core: VaultCore, _ query: Query) {
        reader = LeafReader(source: core.store.pages, view: core.view, query: query)
        tree = core.store.tree
        missing = query.isUnrestricted ? Int64(clamping: core.store.state.commit.items) : nil
    }

    /// The next matching item, or nil after the last. Throws what reading a page can throw: `authenticationFailed`, `structureInvalid`, `io`.
    public mutating func next() throws(VaultError) -> Item? {
        while index == items.count {
            index = 0
            items = further
            further = []
            guard items.isEmpty else { break }
            if let failure { throw failure }
            guard !hasEnded else {
                guard (missing ?? 0) == 0 || PlantedFault.itemCountUnchecked.isPlanted else { throw Self.miscounted }
                return nil
            }
            try readOn()
        }
        if let missing { self.missing = missing - 1 }
        defer { index += 1 }
        return items[index]
    }

    static let miscounted = VaultError(.structureInvalid, "the newest commit counts other items than the index has")

    private mutating func readOn() throws(VaultError) {
        let next = try nextLeaves()
        guard !next.isEmpty else {
            hasEnded = true
            return
        }
        let inPassing = window > 4
        let first = LeafPart(reader, next[..<(next.count - next.count / 2)], inPassing: inPassing)
        let second = LeafPart(reader, next[(next.count - next.count / 2)...], inPassing: inPassing)
        if next.count < 8 {
            first.read()
            second.read()
        } else {
            SecondThread.run({ first.read() }, alongside: { second.read() })
        }
        window = min(window * 2, Self.mostLeaves)
        (items, hasEnded, failure) = first.take()
        if !hasEnded, failure == nil { (further, hasEnded, failure) = second.take() }
    }

    private mutating func nextLeaves() throws(VaultError) -> [LeafRef] {
        var leaves: LeafWalker
        if let known = self.leaves { leaves = known } else { leaves = try tree.leaves(from: reader.prefix) }
        // Moved out while it changes, so that its path is not copied.
        self.leaves = nil
        let next = try leaves.next(window)
        self.leaves = leaves
        return next
    }
}

/// Turns leaves into the items of a query.
struct LeafReader: Sendable {
    let source: PageSource
    let view: KeyringView
    private let query: Query
    private let takesAll: Bool
    /// What all wanted keys start with.
    let prefix: [UInt8]

    init(source: PageSource, view: KeyringView, query: Query) {
        self.source = source
        self.view = view
        self.query = query
        takesAll = query.isUnrestricted
        prefix = query.keyPrefix
    }

    /// Adds the matching items of a leaf; true if no further leaf can have any.
    func read(_ leaf: LeafRef, inPassing: Bool, into items: inout [Item]) throws(VaultError) -> Bool {
        let page = try source.leaf(leaf, inPassing: inPassing)
        var lookup = CompartmentLookup(view)
        for index in page.lowerBound(prefix).index..<page.count {
            let key = page.key(index)
            // what is neither an item nor a tombstone, which end the listing, is nobody's to pass over.
            guard key.starts(with: prefix), key.first != Format.tombstoneTag else { return true }
            let item = try ItemCodec.item(try ItemKey(key), try ItemCodec.decode(page, index), &lookup, at: page.offset)
            if takesAll || query.matches(item) { items.append(item) }
        }
        return false
    }
}

/// Leaves that one thread reads.
private final class LeafPart: Sendable {
    private struct State {
        var items: [Item] = []
        var isLast = false
        var failure: VaultError?
    }

    private let reader: LeafReader
    private let leaves: ArraySlice<LeafRef>
    private let inPassing: Bool
    private let state = Mutex(State())

    init(_ reader: LeafReader, _ leaves: ArraySlice<LeafRef>, inPassing: Bool) {
        self.reader = reader
        self.leaves = leaves
        self.inPassing = inPassing
    }

    func read() {
        var new = State()
        new.items.reserveCapacity(leaves.count * 16)
        do throws(VaultError) {
            for leaf in leaves where !new.isLast { new.isLast = try reader.read(leaf, inPassing: inPassing, into: &new.items) }
        } catch { new.failure = error }
        state.withLock { $0 = new }
    }

    /// What was read, whether there is nothing after it, and what was met instead of the rest.
    func take() -> (items: [Item], isLast: Bool, failure: VaultError?) { state.withLock { ($0.items, $0.isLast, $0.failure) } }
}
