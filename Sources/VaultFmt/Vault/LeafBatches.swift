internal import VaultStore

/// Reads the leaves of a tree, using more threads the further it gets, and returns the outputs in leaf order.
struct LeafBatches<Output: Sendable>: Sendable {
    /// Adds the outputs of a leaf; returns true if no further leaf is wanted. `inPassing` is set if many leaves are
    /// being read; they then do not evict other pages from the cache.
    typealias Reader = @Sendable (PageRef, _ inPassing: Bool, inout [Output]) throws(VaultError) -> Bool
    /// The outputs of some leaves, whether no further leaf is wanted, and the error that prevented reading the rest.
    typealias Part = (outputs: [Output], isLast: Bool, failure: VaultError?)

    private let tree: TreeReader
    private let start: [UInt8]
    private let isCaching: Bool
    private let reader: Reader
    private let workers: Workers
    private var walker: LeafWalker?
    /// The number of leaves to read at a time.
    private var window = 1
    private static var mostLeaves: Int { 256 }
    /// The minimum number of leaves to divide: reading fewer takes less time than starting a thread.
    private static var leastDivided: Int { 8 }

    /// Starts at the leaf that may contain `key`. Leaves that will be read only once should not be cached.
    init(
        _ tree: TreeReader, from key: [UInt8] = [], on workers: Workers, isCaching: Bool = true,
        _ reader: @escaping Reader
    ) {
        self.workers = workers
        self.tree = tree
        self.isCaching = isCaching
        start = key
        self.reader = reader
    }

    /// Returns the outputs of the next leaves, in consecutive parts; empty after the last leaf. Parts that follow the
    /// last part, or a part with an error, must be ignored.
    mutating func next() throws(VaultError) -> [Part] {
        let leaves = try nextLeaves()
        guard !leaves.isEmpty else { return [] }
        let inPassing = window > 4
        window = min(window * 4, Self.mostLeaves)
        guard leaves.count >= Self.leastDivided, workers.count > 1 else {
            return [Self.read(leaves[...], inPassing, reader)]
        }
        // There are more parts than threads, which balances the load if a thread is slow.
        let size = max(Self.leastDivided / 2, leaves.count / (workers.count * 4))
        return workers.map((leaves.count + size - 1) / size) { [reader] part, _ in
            Self.read(leaves[part * size..<min((part + 1) * size, leaves.count)], inPassing, reader)
        }
    }

    /// Returns the outputs of the next leaves as a single part, or throws that part's error; nil after the last leaf.
    mutating func nextOutputs() throws(VaultError) -> [Output]? {
        let parts = try next()
        guard var all = parts.first?.outputs else { return nil }
        if let failure = parts[0].failure { throw failure }
        for part in parts.dropFirst() {
            all.append(contentsOf: part.outputs)
            if let failure = part.failure { throw failure }
        }
        return all
    }

    private mutating func nextLeaves() throws(VaultError) -> [PageRef] {
        // The walker is moved out while it changes, which avoids a copy of its path.
        var walker: LeafWalker
        if let known = self.walker.take() {
            walker = known
        } else {
            walker = tree.leaves(from: start, isCaching: isCaching)
        }
        let leaves = try walker.next(window)
        self.walker = walker
        return leaves
    }

    private static func read(_ leaves: ArraySlice<PageRef>, _ inPassing: Bool, _ reader: Reader) -> Part {
        var part: Part = ([], false, nil)
        part.outputs.reserveCapacity(leaves.count * 16)
        do throws(VaultError) {
            for leaf in leaves where !part.isLast { part.isLast = try reader(leaf, inPassing, &part.outputs) }
        } catch { part.failure = error }
        return part
    }
}
