internal import CSodium
internal import Synchronization

/// Hands out pieces of locked, guarded memory. Whole `sodium_malloc` allocations cost microseconds and are limited in number, so small
/// pieces share slabs of one size class.
final class SecretMemory: Sendable {
    static let shared = SecretMemory()

    /// A piece of memory; wiped when given back.
    struct Piece: @unchecked Sendable {  // The pointer is owned by the one `Secret` that holds the piece.
        let start: UnsafeMutableRawPointer
        let capacity: Int
    }

    private struct State: ~Copyable {
        /// Free pieces for each size class.
        var free: [[UInt]] = Array(repeating: [], count: classCount)
        var isUnlocked = false
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

    private let state = Mutex(State())

    private init() { _ = Sodium.isReady }

    /// Whether all memory handed out so far was kept from being swapped out.
    var isLocked: Bool { state.withLock { !$0.isUnlocked } }

    func take(_ count: Int) -> Piece {
        guard let index = Self.sizeClass(count) else { return large(count) }
        return state.withLock { state in
            if state.free[index].isEmpty { refill(index, &state) }
            let address = state.free[index].removeLast()
            return Piece(start: pointer(address), capacity: Self.smallest << index)
        }
    }

    func give(back piece: Piece) {
        guard let index = Self.sizeClass(piece.capacity) else {
            // Wipes it.
            sodium_free(piece.start)
            return
        }
        sodium_memzero(piece.start, piece.capacity)
        state.withLock { $0.free[index].append(UInt(bitPattern: piece.start)) }
    }

    private func large(_ count: Int) -> Piece {
        // Never a capacity that is a size class: it says how to give the piece back.
        let capacity = max(count, Self.slabSize)
        let start = allocate(capacity)
        noteLocking(start, capacity)
        return Piece(start: start, capacity: capacity)
    }

    private func refill(_ index: Int, _ state: inout State) {
        let size = Self.smallest << index
        let start = allocate(Self.slabSize)
        if mlockFailed(start, Self.slabSize) { state.isUnlocked = true }
        for offset in stride(from: 0, to: Self.slabSize, by: size).reversed() {
            state.free[index].append(UInt(bitPattern: start + offset))
        }
    }

    private func noteLocking(_ start: UnsafeMutableRawPointer, _ count: Int) {
        if mlockFailed(start, count) { state.withLock { $0.isUnlocked = true } }
    }

    /// `sodium_malloc` locks, but does not say whether that worked: locking again does.
    private func mlockFailed(_ start: UnsafeMutableRawPointer, _ count: Int) -> Bool { sodium_mlock(start, count) != 0 }

    private func allocate(_ count: Int) -> UnsafeMutableRawPointer {
        guard let start = sodium_malloc(count) else {
            preconditionFailure("out of memory for secrets")
        }
        sodium_memzero(start, count)
        return start
    }

    private func pointer(_ address: UInt) -> UnsafeMutableRawPointer {
        guard let start = UnsafeMutableRawPointer(bitPattern: address) else { preconditionFailure("a free piece has an address") }
        return start
    }
}
