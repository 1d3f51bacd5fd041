import Synchronization
import Testing
import VaultStore

@Suite("Workers")
struct WorkersTests {
    /// Which lanes are in use.
    private final class Lanes: Sendable {
        private let inUse: Mutex<Set<Int>> = Mutex([])

        /// False if another thread has this lane.
        func enter(_ lane: Int) -> Bool { inUse.withLock { $0.insert(lane).inserted } }

        func leave(_ lane: Int) { inUse.withLock { _ = $0.remove(lane) } }
    }

    @Test("run each part once, with lanes of their own, and return results in order", arguments: [1, 2, 3, 8, 64])
    func parts(threads: Int) {
        let workers = Workers(threads)
        let lanes = Lanes()
        for parts in [0, 1, 2, 7, 64, 1000] {
            let runs = Mutex([Int](repeating: 0, count: parts))
            let results = workers.map(parts) { part, lane in
                #expect((0..<threads).contains(lane))
                #expect(lanes.enter(lane))
                runs.withLock { $0[part] += 1 }
                lanes.leave(lane)
                return "\(part)"
            }
            #expect(results == (0..<parts).map { "\($0)" })
            #expect(runs.withLock { $0 } == [Int](repeating: 1, count: parts))
        }
    }

    @Test("work at the same time")
    func sameTime() {
        // Each waits for all others: one after the other, they would never end.
        let workers = Workers(4)
        let arrived = Atomic<Int>(0)
        workers.run(4) { _, _ in
            arrived.add(1, ordering: .acquiringAndReleasing)
            while arrived.load(ordering: .acquiring) < 4 {}
        }
        #expect(arrived.load(ordering: .acquiring) == 4)
    }

    @Test("begin while the calling thread does something else, which comes before its parts")
    func meanwhile() {
        let workers = Workers(2)
        let turn = Atomic<Int>(0)
        let threads = workers.map(
            1,
            meanwhile: {
                turn.store(1, ordering: .releasing)
                while turn.load(ordering: .acquiring) != 2 {}
            }
        ) { _, _ in
            while turn.load(ordering: .acquiring) != 1 {}
            turn.store(2, ordering: .releasing)
            return ThisThread.number
        }
        #expect(threads != [ThisThread.number])
        let (one, two) = workers.both({ 1 }, { 2 })
        #expect((one, two) == (1, 2))
    }

    @Test("that are one thread are the calling one, and it does everything in order")
    func alone() {
        let workers = Workers(1)
        let order = Mutex([-1])
        let threads = workers.map(100, meanwhile: { order.withLock { $0.append(-2) } }) { part, _ in
            order.withLock { $0.append(part) }
            return ThisThread.number
        }
        #expect(Set(threads) == [ThisThread.number])
        #expect(order.withLock { $0 } == [-1, -2] + Array(0..<100))
    }

    @Test("that are at work already leave everything to the one that asks")
    func nested() {
        let workers = Workers(4)
        let sums = workers.map(8) { outer, _ in workers.map(8) { inner, _ in outer * inner }.reduce(0, +) }
        #expect(sums == (0..<8).map { $0 * 28 })
    }

    @Test("keep nothing of what they have done")
    func released() {
        final class Held: Sendable {}
        let workers = Workers(8)
        for _ in 0..<200 {
            weak var seen: Held?
            do {
                let held = Held()
                seen = held
                workers.run(3) { _, _ in withExtendedLifetime(held) {} }
            }
            #expect(seen == nil)
        }
    }

    @Test("are at least one, and as many as are asked for")
    func count() {
        #expect((1...16).contains(Workers(nil).count))
        #expect(Workers(64).count == 64)
        for threads in [1, 64, nil] { #expect(throws: Never.self) { try Workers.check(threads: threads) } }
        for threads in [0, -1, 65, Int.max] {
            #expect { try Workers.check(threads: threads) } throws: { ($0 as? VaultError)?.code == .invalidArgument }
        }
    }
}
