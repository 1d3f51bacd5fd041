internal import VaultStore

/// Goes over the leaves of a tree and reads them, on two threads the further it gets. What is made of them comes in
/// their order.
struct LeafBatches<Output: Sendable>: Sendable {
    /// Adds what is made of a leaf; true if no further leaf is wanted. The flag says whether many leaves are being
    /// read, so that none should push others out of the cache.
    typealias Reader = @Sendable (PageRef, _ inPassing: Bool, inout [Output]) throws(VaultError) -> Bool
    /// What was made of some leaves, whether no further one is wanted, and what was met instead of the rest.
    typealias Part = (outputs: [Output], isLast: Bool, failure: VaultError?)

    private let tree: TreeReader
    private let start: [UInt8]
    private let isCaching: Bool
    private let reader: Reader
    private let helper = SecondThread()
    private var walker: LeafWalker?
    /// How many leaves are read at a time.
    private var window = 1
    private static var mostLeaves: Int { 256 }
    /// Fewer take less time than a thread does to start.
    private static var leastDivided: Int { 8 }

    /// Goes from the leaf on that may hold `key`. What is read once only should not be kept in the cache.
    init(_ tree: TreeReader, from key: [UInt8] = [], isCaching: Bool = true, _ reader: @escaping Reader) {
        self.tree = tree
        self.isCaching = isCaching
        start = key
        self.reader = reader
    }

    /// The next leaves' part, and the one after it that another thread has read; nil after the last leaf.
    mutating func next() throws(VaultError) -> (first: Part, second: Part?)? {
        let leaves = try nextLeaves()
        guard !leaves.isEmpty else { return nil }
        let inPassing = window > 4
        window = min(window * 4, Self.mostLeaves)
        guard leaves.count >= Self.leastDivided else { return (Self.read(leaves[...], inPassing, reader), nil) }
        let middle = leaves.count - leaves.count / 2
        return helper.both({ Self.read(leaves[..<middle], inPassing, reader) }) { [reader] in
            Self.read(leaves[middle...], inPassing, reader)
        }
    }

    /// The same as one part; throws what was met.
    mutating func nextOutputs() throws(VaultError) -> [Output]? {
        guard let (first, second) = try next() else { return nil }
        for part in [first, second] { if let failure = part?.failure { throw failure } }
        return second.map { first.outputs + $0.outputs } ?? first.outputs
    }

    private mutating func nextLeaves() throws(VaultError) -> [PageRef] {
        // Moved out while it changes, so that its path is not copied.
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
