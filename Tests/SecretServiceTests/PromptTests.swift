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

    @Test("A prompt that cannot be shown again is told with what it is for")
    func shownTwice() throws {
        let test = try TestService(confirms: true)
        let path = try test.makeCollection("x")
        guard case .path(let prompt) = try test.call(.two, path, ServiceName.collection, "Delete")[0] else {
            throw Unexpected()
        }
        _ = try test.call(.two, prompt, ServiceName.prompt, "Prompt", .text(""))
        _ = test.service.takeEvents()
        #expect(failure { _ = try test.call(.two, prompt, ServiceName.prompt, "Prompt", .text("")) } == "Failed")
        let told = test.service.takeEvents().map(\.action)
        #expect(
            told == [
                "refused: delete the collection 'desktop/x' without items: the prompt has already been shown"
            ])
    }

    @Test("A search before the vault was opened waits for a person who can open it; other calls find it locked")
    func searchingOnDemand() throws {
        let test = try TestService(isOpen: false, asks: true) { vault in
            try vault.add(
                try .genericPassword(service: "mail", account: "", group: "desktop"), secret: Secret(text: "1"))
        }
        let search = BusCall(
            .one, ServiceName.path, ServiceName.service, "SearchItems", [.texts([(name: "service", value: "mail")])])
        func ask() throws -> PersonQuestion {
            guard case .later(let number) = test.service.answer(search, now: test.now) else { throw Unexpected() }
            let question = try #require(test.service.nextQuestion(now: test.now))
            #expect(question.number == number && question.kind == .unlock(path: test.folder.file("v.vault")))
            let text = test.service.passphraseQuestion(number)
            #expect(text?.hasPrefix("Unlock the vault '") == true && text?.hasSuffix("for 'one' (process 11)?") == true)
            return question
        }
        test.service.take(.no, to: try ask(), now: test.now)
        let refused = test.service.takeReplies()
        #expect(refused.count == 1 && refused[0].values == nil)
        let actions = test.service.takeEvents().map(\.action)
        #expect(actions == ["refused: the vault is locked, and is not opened: a person did not agree"])
        let question = try ask()
        test.kept = try test.open()
        test.service.take(.yes, to: question, now: test.now)
        let found = try #require(test.service.takeReplies().first?.values?.first)
        #expect(TestService.paths(found).count == 1)
        // What was shown is remembered, so that the next search does not wait.
        _ = test.served.lock(at: nil, "a test")
        #expect(try test.search(.one, [("service", "mail")]).locked.count == 1)
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
        // What nobody was asked about yet can still be shown: it asks to open the vault first.
        #expect(try test.show(.two, other, answer: false)?.isDismissed == true)
        #expect(
            test.service.takeEvents().map(\.action) == [
                "refused: read and change the secret 'L' in 'desktop': the vault is locked, and is not opened: "
                    + "a person did not agree"
            ])
    }

    @Test("Each refusal is told, with what was tried and why; the same one again is not")
    func refusals() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", label: "L", [("a", "1")])
        let session = try test.session(.two)
        func events() -> [String] { test.service.takeEvents().map(\.action) }
        _ = events()
        func change() {
            #expect(
                failure {
                    _ = try test.call(.two, item, ServiceName.item, "SetSecret", TestService.secret(session, "x"))
                } == "IsLocked")
        }
        change()
        change()
        #expect(events() == ["refused: change the secret 'L' in 'desktop': a person must agree first"])
        #expect(try test.read(.two, [item]).isEmpty)
        change()
        #expect(
            events() == [
                "refused: read the secret 'L' in 'desktop': a person must agree first",
                "refused: change the secret 'L' in 'desktop': a person must agree first",
            ])
        // A mistake is no refusal.
        #expect(failure { _ = try test.call(.two, item, ServiceName.item, "Shut") } == "UnknownMethod")
        #expect(events().isEmpty)
        let (_, prompt) = try test.unlock(.two, item)
        #expect(try test.show(.two, prompt, answer: true)?.isDismissed == false)
        #expect(events() == ["unlocked the secret 'L' in 'desktop'"])
        _ = try test.call(.one, "Lock", .paths([TestService.defaultPath]))
        _ = events()
        #expect(failure { try test.store(.two, "2", label: "new", [("b", "1")]) } == "IsLocked")
        #expect(events() == ["refused: store the secret 'new' in 'desktop': the vault is locked"])
    }

    @Test("A store that a scoped slot or another writer keeps from happening is told, with the reason")
    func refusedStores() throws {
        let scoped = try TestService(["work"], key: "s") { vault in
            try vault.add(
                try .genericPassword(service: "s", account: "", group: "work"), secret: Secret(text: "x"))
            try vault.addSlot(try TestService.factors("s"), grantedGroups: ["work"])
        }
        #expect(failure { try scoped.store(.one, "1", label: "L", [("a", "1")]) } == "AccessDenied")
        let denied = try #require(scoped.service.takeEvents().last?.action)
        #expect(denied.hasPrefix("refused: store the secret 'L' in 'work': "))
        #expect(scoped.service.summary == "read-only; collections: 'work'")
        let busy = try TestService(lockWait: .milliseconds(1))
        try busy.open().transaction { (_) throws(VaultError) in
            #expect(failure { try busy.store(.one, "1", label: "L", [("a", "1")]) } == "Failed")
        }
        let event = try #require(busy.service.takeEvents().last?.action)
        #expect(event.hasPrefix("refused: store the secret 'L' in 'desktop': another program is writing to the vault"))
    }

    @Test("When the keys were replaced, a call is served with those that 'unlock' keeps, or the vault is locked")
    func rotated() throws {
        #expect(BusError(VaultError(.noSlotOpens, "x")).name == BusError.isLocked().name)
        let test = try TestService()
        let item = try test.store(.one, "1", [("a", "1")])
        func rotate() throws {
            var rotation = try test.open().rotation()
            _ = try rotation.keep(try TestService.factors())
            _ = try rotation.run()
        }
        try rotate()
        test.kept = try test.open()
        #expect(try test.read(.one, item).text == "1")
        #expect(test.served.lockedReason == nil)
        test.kept = nil
        try rotate()
        #expect(failure { _ = try test.read(.one, item) } == "IsLocked")
    }

    @Test("The state tells which collections are served, and how")
    func summary() throws {
        let test = try TestService(["desktop", "work"], confirms: true)
        #expect(
            test.service.summary
                == "a person is asked about each item (--confirm); collections: 'desktop', 'work'")
        for number in 1...8 { _ = try test.makeCollection("\(number)") }
        #expect(test.service.summary.hasSuffix("'desktop/6' and 2 more"))
        let scoped = try TestService(["desktop", "work"], key: "s") { vault in
            try vault.add(
                try .genericPassword(service: "s", account: "", group: "work"), secret: Secret(text: "x"))
            try vault.addSlot(try TestService.factors("s"), grantedGroups: ["work"])
        }
        #expect(
            scoped.service.summary == "read-only; collections: 'desktop' (not granted by the slot), 'work'")
        let groups = ServedGroups(["desktop", "work"])
        #expect(groups.missing(in: ["work"]) == (["desktop"], false))
        #expect(groups.missing(in: ["desktop/x"]) == (["desktop", "work"], false))
        #expect(groups.missing(in: ["other"]).isAll)
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
