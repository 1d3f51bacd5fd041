import Testing

@testable import VaultSecretService

@Suite("The events of the connection to the bus")
struct ServerEventsTests {
    @Test("A reason for which programs are refused is told once, until one is admitted or something else is told")
    func refusals() {
        var events = ServerEvents()
        for _ in 1...3 { events.addRefusal("too many") }
        let first = events.take()
        #expect(first == ["refused a program: too many"])
        events.addRefusal("too many")
        let again = events.take()
        #expect(again.isEmpty)
        events.addRefusal("another user's")
        events.addRefusal("too many")
        events.noteAdmission()
        events.addRefusal("too many")
        events.add("the bus has ended")
        events.addRefusal("too many")
        let rest = events.take()
        #expect(
            rest == [
                "refused a program: another user's", "refused a program: too many", "refused a program: too many",
                "the bus has ended", "refused a program: too many",
            ])
    }
}
