import Foundation
import Testing
import VaultFmt

@testable import VaultSecretService

@Suite("Locking and prompts")
struct PromptTests {
    @Test("What is unlocked needs no prompt")
    func unlocked() throws {
        let test = try TestService()
        let item = try test.store(.one, "1", [("a", "1")])
        let (unlocked, prompt) = try test.unlock(.one, item, TestService.defaultPath, "/nothing")
        #expect(unlocked == [item, TestService.defaultPath])
        #expect(prompt == "/")
    }

    @Test("A locked vault shows what it has shown, gives nothing away, and never says that there is nothing")
    func locking() throws {
        let test = try TestService()
        let item = try test.store(.one, "1", [("a", "1")])
        let reply = try test.call(.one, "Lock", .paths([TestService.defaultPath]))
        #expect(TestService.paths(reply[0]) == [TestService.defaultPath])
        #expect(test.served.lockedReason != nil)
        #expect(test.service.takeSignals().contains { $0.member == "CollectionChanged" })
        #expect(try test.isLocked(.two, TestService.defaultPath, ServiceName.collection))
        #expect(try test.isLocked(.two, item))
        #expect(try test.search(.two, [("a", "1")]).locked == [item])
        #expect(failure { _ = try test.search(.two, [("a", "2")]) } == "IsLocked")
        #expect(failure { _ = try test.read(.two, item) } == "IsLocked")
        #expect(failure { try test.store(.two, "2", [("b", "1")]) } == "IsLocked")
        #expect(failure { _ = try test.call(.two, item, ServiceName.item, "Delete") } == "IsLocked")
        #expect(
            failure { _ = try test.call(.two, TestService.defaultPath, ServiceName.collection, "Delete") } == "IsLocked"
        )
        let secrets = try test.call(.two, "GetSecrets", .paths([item]), .path(try test.session(.two)))
        guard case .array(_, let entries) = secrets[0] else { throw Unexpected() }
        #expect(entries.isEmpty)
    }

    @Test("A prompt for a locked vault is dismissed, unless 'unlock' keeps the vault open meanwhile")
    func unlocking() throws {
        let test = try TestService(isOpen: false)
        #expect(failure { _ = try test.search(.one, []) } == "IsLocked")
        let (unlocked, first) = try test.unlock(.one, TestService.defaultPath)
        #expect(unlocked.isEmpty)
        let dismissed = try #require(try test.show(.one, first, answer: false))
        #expect(dismissed.isDismissed && TestService.paths(dismissed.result).isEmpty)
        let unknown = TestService.defaultPath + "/00112233445566778899aabbccddeeff"
        let (_, second) = try test.unlock(
            .one, TestService.defaultPath, unknown.replacing("aliases/default", with: "collection/desktop"))
        test.kept = try test.open()
        let completed = try #require(try test.show(.one, second, answer: false))
        #expect(!completed.isDismissed && TestService.paths(completed.result) == [TestService.defaultPath])
        #expect(try !test.isLocked(.one, TestService.defaultPath, ServiceName.collection))
    }

    @Test("Whoever answers the question may unlock the vault")
    func unlockingProgram() throws {
        let test = try TestService(isOpen: false)
        let (_, prompt) = try test.unlock(.one, TestService.defaultPath)
        _ = try test.call(.one, prompt, ServiceName.prompt, "Prompt", .text(""))
        let question = try #require(test.service.nextQuestion(now: test.now))
        #expect(question.kind == .unlock(path: test.folder.file("v.vault")))
        test.kept = try test.open()
        test.service.take(.yes, to: question, now: test.now)
        #expect(test.completion(prompt)?.isDismissed == false)
    }

    @Test("A question ends when the vault is locked, and what was refused is told, with the reason")
    func lockedMeanwhile() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", label: "L", [("a", "1")])
        func asked() throws -> (prompt: String, question: PersonQuestion) {
            let (_, prompt) = try test.unlock(.two, item)
            _ = try test.call(.two, prompt, ServiceName.prompt, "Prompt", .text(""))
            return (prompt, try #require(test.service.nextQuestion(now: test.now)))
        }
        let late = try asked()
        test.service.take(.late, to: late.question, now: test.now)
        #expect(test.completion(late.prompt)?.isDismissed == true)
        let void = try asked()
        let (_, other) = try test.unlock(.two, item)
        _ = test.served.lock(at: nil, "a test")
        test.service.noteTime()
        #expect(test.completion(void.prompt)?.isDismissed == true && !test.service.isAwaited(void.question.number))
        #expect(
            test.service.takeEvents().map(\.action).suffix(2) == [
                "refused: read and change the secret 'L' in 'desktop': nobody answered in time",
                "refused: read and change the secret 'L' in 'desktop': the vault was locked",
            ])
        // What nobody was asked about yet can still be shown, and tells that the vault is locked.
        #expect(try test.show(.two, other, answer: false)?.isDismissed == true)
        #expect(
            test.service.takeEvents().map(\.action) == [
                "refused: read and change the secret 'L' in 'desktop': the vault is locked"
            ])
    }

    @Test("A prompt is its client's own, is shown once, and can be dismissed")
    func owners() throws {
        let test = try TestService(isOpen: false)
        let (_, prompt) = try test.unlock(.one, TestService.defaultPath)
        #expect(failure { _ = try test.call(.two, prompt, ServiceName.prompt, "Prompt", .text("")) } == "NoSuchObject")
        #expect(failure { _ = try test.call(.two, prompt, ServiceName.prompt, "Dismiss") } == "NoSuchObject")
        #expect(try test.show(.one, prompt, answer: nil) == nil)
        #expect(failure { _ = try test.call(.one, prompt, ServiceName.prompt, "Prompt", .text("")) } == "Failed")
        let question = try #require(test.service.nextQuestion(now: test.now))
        _ = try test.call(.one, prompt, ServiceName.prompt, "Dismiss")
        #expect(!test.service.isAwaited(question.number))
        #expect(test.completion(prompt)?.isDismissed == true)
        #expect(failure { _ = try test.call(.one, prompt, ServiceName.prompt, "Dismiss") } == "NoSuchObject")
        #expect(failure { _ = try test.property(.two, prompt, ServiceName.prompt, "x") } == "NoSuchObject")
    }

    @Test("A prompt that is never shown gives way to the client's next one, and those that are shown are limited")
    func limits() throws {
        let test = try TestService(isOpen: false)
        let (_, oldest) = try test.unlock(.one, TestService.defaultPath)
        let (_, next) = try test.unlock(.one, TestService.defaultPath)
        for _ in 0..<15 { _ = try test.unlock(.one, TestService.defaultPath) }
        #expect(failure { _ = try test.call(.one, oldest, ServiceName.prompt, "Dismiss") } == "NoSuchObject")
        _ = try test.call(.one, next, ServiceName.prompt, "Dismiss")
        test.service.forget(BusClient.one.name)
        for _ in 0..<16 {
            let (_, prompt) = try test.unlock(.one, TestService.defaultPath)
            _ = try test.show(.one, prompt, answer: nil)
        }
        #expect(failure { _ = try test.unlock(.one, TestService.defaultPath) } == "LimitsExceeded")
        _ = try test.unlock(.two, TestService.defaultPath)
        test.service.forget(BusClient.one.name)
        _ = try test.unlock(.one, TestService.defaultPath)
    }

    @Test("All clients together have a limited number of prompts")
    func manyClients() throws {
        let test = try TestService(isOpen: false)
        func client(_ number: Int) -> BusClient { BusClient(name: ":1.\(number)", process: 1, program: "p") }
        for number in 0..<256 {
            let (_, prompt) = try test.unlock(client(number / 16), TestService.defaultPath)
            _ = try test.show(client(number / 16), prompt, answer: nil)
        }
        #expect(failure { _ = try test.unlock(client(16), TestService.defaultPath) } == "LimitsExceeded")
        test.service.forget(client(3).name)
        _ = try test.unlock(client(16), TestService.defaultPath)
    }

    @Test("While the vault's file cannot be read, everything is locked, and what was agreed to is not forgotten")
    func unreadable() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", [("a", "1")])
        let path = test.folder.file("v.vault")
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        #expect(try test.search(.one, [("a", "1")]).locked == [item])
        #expect(try test.isLocked(.one, TestService.defaultPath, ServiceName.collection))
        #expect(failure { _ = try test.read(.one, item) } == "IsLocked")
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        #expect(try test.read(.one, item).text == "1")
    }

    @Test("Clients are told which items are locked and unlocked with the vault")
    func lockSignals() throws {
        let test = try TestService()
        let item = try test.store(.one, "1", [("a", "1")])
        _ = test.service.takeSignals()
        func told() throws -> Bool? {
            for signal in test.service.takeSignals() where signal.path == item {
                guard signal.member == "PropertiesChanged", signal.receiver == nil,
                    case .array(_, let entries) = signal.arguments[1],
                    case .entry(.text("Locked"), .variant(.boolean(let isLocked))) = try #require(entries.first)
                else { throw Unexpected() }
                return isLocked
            }
            return nil
        }
        _ = try test.call(.two, "Lock", .paths([TestService.defaultPath]))
        #expect(try told() == true)
        test.kept = try test.open()
        _ = try test.search(.two, [])
        #expect(try told() == false)
    }
}
