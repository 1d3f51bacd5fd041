internal import CSodium
internal import CVaultShim

/// Allocates pieces of locked, guarded memory. A `sodium_malloc` allocation takes microseconds, and their number is
/// limited, so small pieces share slabs, each of which serves one size class.
final class SecretMemory: Sendable {
    static let shared = SecretMemory()

    /// A piece of memory, which is wiped when it is freed.
    struct Piece: @unchecked Sendable {  // The pointer is owned by the `Secret` that holds the piece.
        let start: UnsafeMutableRawPointer
        let capacity: Int
    }

    private struct State {
        /// The free pieces of each size class.
        var free: [[UInt]] = Array(repeating: [], count: classCount)
        var isUnlocked = false
        /// The memory reserved for callers that cannot handle a failure.
        var reserve: Range<UInt> = 0..<0
        var allocations = 0
    }

    /// The classes are 32 bytes, 64 bytes, and so on up to 32 KiB.
    private static let classCount = 11
    private static let smallest = 32
    private static let slabSize = 65_536

    /// Returns the class of the smallest piece that holds `count` bytes, or nil if they exceed the largest class.
    private static func sizeClass(_ count: Int) -> Int? {
        let index = count <= smallest ? 0 : Int.bitWidth - ((count - 1) / smallest).leadingZeroBitCount
        return index < classCount ? index : nil
    }

    /// Each allocation uses four of the memory mappings that a process may have (65,530 by default). This limit leaves
    /// some of them for the rest of the program.
    private static let mostAllocations = 12_288

    // Accessed only within `withState`: Swift's own mutex does not survive a fork.
    private nonisolated(unsafe) var state = State()

    private init() {
        _ = Sodium.isReady
        guard let start = map(Self.slabSize) else { return }
        state.reserve = UInt(bitPattern: start)..<UInt(bitPattern: start) + UInt(Self.slabSize)
        state.isUnlocked = mlockFailed(start, Self.slabSize)
    }

    private func withState<R>(_ body: (inout State) -> R) -> R {
        vault_memory_lock()
        defer { vault_memory_unlock() }
        return body(&state)
    }

    /// True if all memory allocated so far is locked against swapping.
    var isLocked: Bool { withState { !$0.isUnlocked } }

    /// Returns a piece filled with zeros, or nil if there is not enough memory.
    func allocate(_ count: Int) -> Piece? {
        guard let index = Self.sizeClass(count) else { return large(count) }
        return withState { state in
            if state.free[index].isEmpty { refill(index, &state) }
            return next(index, &state)
        }
    }

    /// Returns a small piece, from the reserve if necessary, for callers that cannot handle a failure.
    func allocateFromReserve(_ count: Int) -> Piece? {
        guard let index = Self.sizeClass(count) else { return nil }
        return withState { state in
            let size = UInt(Self.smallest << index)
            let end = state.reserve.lowerBound + max(size, 1024)
            guard end <= state.reserve.upperBound else { return nil }
            for start in stride(from: state.reserve.lowerBound, to: end, by: Int(size)) {
                state.free[index].append(start)
            }
            state.reserve = end..<state.reserve.upperBound
            return next(index, &state)
        }
    }

    private func next(_ index: Int, _ state: inout State) -> Piece? {
        guard let address = state.free[index].popLast(), let start = UnsafeMutableRawPointer(bitPattern: address) else {
            return nil
        }
        return Piece(start: start, capacity: Self.smallest << index)
    }

    func free(_ piece: Piece) {
        guard let index = Self.sizeClass(piece.capacity) else {
            // This also wipes the piece.
            sodium_free(piece.start)
            withState { $0.allocations -= 1 }
            return
        }
        sodium_memzero(piece.start, piece.capacity)
        withState { $0.free[index].append(UInt(bitPattern: piece.start)) }
    }

    private func large(_ count: Int) -> Piece? {
        // The capacity must not be a size class's capacity, because the capacity determines how the piece is freed.
        let capacity = max(count, Self.slabSize)
        return withState { state in
            guard state.allocations < Self.mostAllocations, let start = map(capacity) else { return nil }
            state.allocations += 1
            if mlockFailed(start, capacity) { state.isUnlocked = true }
            return Piece(start: start, capacity: capacity)
        }
    }

    /// Adds a slab of free pieces to a class, or adds nothing if there is not enough memory.
    private func refill(_ index: Int, _ state: inout State) {
        guard state.allocations < Self.mostAllocations, let start = map(Self.slabSize) else { return }
        state.allocations += 1
        if mlockFailed(start, Self.slabSize) { state.isUnlocked = true }
        for offset in stride(from: 0, to: Self.slabSize, by: Self.smallest << index).reversed() {
            state.free[index].append(UInt(bitPattern: start + offset))
        }
    }

    /// Returns whether locking the memory failed. `sodium_malloc` locks memory but does not report failures, so the
    /// memory is locked a second time here.
    private func mlockFailed(_ start: UnsafeMutableRawPointer, _ count: Int) -> Bool { sodium_mlock(start, count) != 0 }

    private func map(_ count: Int) -> UnsafeMutableRawPointer? {
        guard let start = sodium_malloc(count) else { return nil }
        sodium_memzero(start, count)
        return start
    }
}
