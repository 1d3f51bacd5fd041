import Synchronization
import Testing
import VaultStore

@Suite("A second thread")
struct SecondThreadTests {
    @Test("does its part beside the first one, as often as it is asked")
    func both() {
        let helper = SecondThread()
        for number in 0..<1000 {
            let (one, two) = helper.both({ number }, { number + 1 })
            #expect(one == number)
            #expect(two == number + 1)
        }
    }

    @Test("works at the same time as the first one")
    func sameTime() {
        // Each waits for what the other one does: one after the other, they would never end.
        let helper = SecondThread()
        let turn = Atomic<Int>(0)
        helper.run({
            turn.store(1, ordering: .releasing)
            while turn.load(ordering: .acquiring) != 2 {}
        }) {
            while turn.load(ordering: .acquiring) != 1 {}
            turn.store(2, ordering: .releasing)
        }
        #expect(turn.load(ordering: .acquiring) == 2)
    }

    @Test("that is at work already leaves both parts to who asks")
    func busy() {
        let helper = SecondThread()
        let (outer, inner) = helper.both({ helper.both({ 1 }, { 2 }) }, { 3 })
        #expect(outer == (1, 2))
        #expect(inner == 3)
    }
}
