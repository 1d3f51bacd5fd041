internal import CSodium
internal import CVaultShim

/// Hands out pieces of locked, guarded memory. Whole `sodium_malloc` allocations cost microseconds and are limited in
/// number, so small pieces share slabs of one size class.
final class SecretMemory: Sendable {
    static let shared = SecretMemory()

    /// A piece of memory; wiped when given back.
    struct Piece: @unchecked Sendable {  // The pointer is owned by the one `Secret` that holds the piece.
        let start: UnsafeMutableRawPointer
        let capacity: Int
    }

    private struct State {
        /// Free pieces for each size class.
        var free: [[UInt]] = Array(repeating: [], count: classCount)
        var isUnlocked = false
        /// What is left of the memory for callers that cannot fail.
        var reserve: Range<UInt> = 0..<0
        var allocations = 0
    }

    /// 32 bytes, 64, and so on up to 32 KiB.
    private static let classCount = 11
    private static let smallest = 32
    private static let slabSize = 65_536

    /// The class of the smallest piece that holds `count` bytes; nil beyond the largest.
    private static func sizeClass(_ count: Int) -> Int? {
        let index = count <= smallest ? 0 : Int.bitWidth - ((count - 1) / smallest).leadingZeroBitCount
        return index < classCount ? index : nil
    }

    /// Each allocation takes four of the mappings that a process may have, 65,530 by default: some are left to the rest
    /// of the program.
    private static let mostAllocations = 12_288

    // Only touched within `withState`: a mutex of Swift's own does not survive a fork.
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

    /// Whether all memory handed out so far was kept from being swapped out.
    var isLocked: Bool { withState { !$0.isUnlocked } }

    /// Returns a piece of zeros; nil if there is no memory for it.
    func allocate(_ count: Int) -> Piece? {
        guard let index = Self.sizeClass(count) else { return large(count) }
        return withState { state in
            if state.free[index].isEmpty { refill(index, &state) }
            return next(index, &state)
        }
    }

    /// Returns a small piece to a caller that cannot fail: the reserve is kept for it.
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
            // Wipes it.
            sodium_free(piece.start)
            withState { $0.allocations -= 1 }
            return
        }
        sodium_memzero(piece.start, piece.capacity)
        withState { $0.free[index].append(UInt(bitPattern: piece.start)) }
    }

    private func large(_ count: Int) -> Piece? {
        // Never a capacity that is a size class: it says how to give the piece back.
        let capacity = max(count, Self.slabSize)
        return withState { state in
            guard state.allocations < Self.mostAllocations, let start = map(capacity) else { return nil }
            state.allocations += 1
            if mlockFailed(start, capacity) { state.isUnlocked = true }
            return Piece(start: start, capacity: capacity)
        }
    }

    /// Leaves the class empty where there is no memory.
    private func refill(_ index: Int, _ state: inout State) {
        guard state.allocations < Self.mostAllocations, let start = map(Self.slabSize) else { return }
        state.allocations += 1
        if mlockFailed(start, Self.slabSize) { state.isUnlocked = true }
        for offset in stride(from: 0, to: Self.slabSize, by: Self.smallest << index).reversed() {
            state.free[index].append(UInt(bitPattern: start + offset))
        }
    }

    /// `sodium_malloc` locks, but does not say whether that worked: locking again does.
    private func mlockFailed(_ start: UnsafeMutableRawPointer, _ count: Int) -> Bool { sodium_mlock(start, count) != 0 }

    private func map(_ count: Int) -> UnsafeMutableRawPointer? {
        guard let start = sodium_malloc(count) else { return nil }
        sodium_memzero(start, count)
        return start
    }
}
