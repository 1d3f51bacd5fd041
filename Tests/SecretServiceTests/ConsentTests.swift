import Foundation
import Testing
import VaultAgent
import VaultFmt

@testable import VaultSecretService

@Suite("Consent of a person")
struct ConsentTests {
    @Test("With confirmation, each client needs a person's consent to each item")
    func confirming() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", label: "L", [("a", "1")])
        let other = try test.store(.one, "2", label: "M", [("b", "1")])
        #expect(try test.read(.one, item).text == "1")
        #expect(try test.search(.two, [("a", "1")]).locked == [item])
        #expect(try test.search(.one, [("a", "1")]).unlocked == [item])
        #expect(try test.isLocked(.two, item))
        let (_, denied) = try test.unlock(.two, item)
        #expect(try test.show(.two, denied, answer: false)?.isDismissed == true)
        #expect(try test.isLocked(.two, item))
        let (unlocked, prompt) = try test.unlock(.two, TestService.defaultPath, item)
        #expect(unlocked == [TestService.defaultPath])
        _ = try test.call(.two, prompt, ServiceName.prompt, "Prompt", .text(""))
        let question = try #require(test.service.nextQuestion(now: test.now))
        #expect(question.kind == .confirm("Allow 'two' (process 12) to read and change the secret 'L' in 'desktop'?"))
        test.service.take(.yes, to: question, now: test.now)
        #expect(test.completion(prompt)?.isDismissed == false)
        #expect(try test.read(.two, item).text == "1")
        #expect(try test.isLocked(.two, other))
    }

    @Test("Consent ends with the client, with a lock of the item, and with one of the vault that nobody has noticed")
    func ends() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", label: "L", [("a", "1")])
        func agree() throws {
            let (_, prompt) = try test.unlock(.two, item)
            #expect(try test.show(.two, prompt, answer: true)?.isDismissed == false)
            #expect(try test.read(.two, item).text == "1")
        }
        try agree()
        _ = test.service.takeSignals()
        _ = try test.call(.two, "Lock", .paths([item]))
        #expect(test.served.lockedReason == nil)
        #expect(test.service.takeSignals().map(\.receiver) == [BusClient.two.name])
        #expect(try test.isLocked(.two, item))
        try agree()
        test.service.forget(BusClient.two.name)
        #expect(try test.isLocked(.two, item) && !test.isLocked(.one, item))
        try agree()
        _ = test.served.lock(at: nil, "a test")
        test.kept = try test.open()
        #expect(try test.wait(.two, item) > 0)
        #expect(test.served.lockedReason == nil)
        #expect(try test.isLocked(.one, item) && test.isLocked(.two, item))
    }

    @Test("Whoever has stored a secret may not read the one that somebody else has stored in its place")
    func squatting() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "bait", [("service", "mail"), ("username", "mira")])
        #expect(try test.read(.one, item).text == "bait")
        let (_, prompt) = try test.unlock(.two, item)
        #expect(try test.show(.two, prompt, answer: true)?.isDismissed == false)
        let session = try test.session(.two)
        _ = try test.call(.two, item, ServiceName.item, "SetSecret", TestService.secret(session, "real"))
        #expect(try test.read(.two, item).text == "real")
        #expect(try test.isLocked(.one, item))
        let bait = try test.store(.one, "bait", [("service", "web")])
        try test.open().set(
            .genericPassword(service: "web", account: "", group: "desktop"), secret: Secret(text: "real"))
        #expect(try test.isLocked(.one, bait) && test.isLocked(.two, bait))
    }

    @Test("Consent to read does not let a client delete, and the question says that it may change")
    func deleting() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", label: "L", [("a", "1")])
        let (_, prompt) = try test.unlock(.two, item)
        #expect(try test.show(.two, prompt, answer: true)?.isDismissed == false)
        try test.setAttributes(.two, item, [("a", "2")])
        guard case .path(let deletion) = try test.call(.two, item, ServiceName.item, "Delete")[0], deletion != "/"
        else {
            throw Unexpected()
        }
        #expect(try test.show(.two, deletion, answer: false)?.isDismissed == true)
        #expect(try test.read(.two, item).text == "1")
        guard case .path("/") = try test.call(.one, item, ServiceName.item, "Delete")[0] else { throw Unexpected() }
    }

    @Test("A client that was let into an item and has stored a secret in it is asked before it deletes the item")
    func deletingAfterChange() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", label: "L", [("a", "1")])
        let (_, prompt) = try test.unlock(.two, item)
        #expect(try test.show(.two, prompt, answer: true)?.isDismissed == false)
        let session = try test.session(.two)
        for secret in ["2", "3"] {
            _ = try test.call(.two, item, ServiceName.item, "SetSecret", TestService.secret(session, secret))
        }
        // Neither knows all of its values.
        for client in [BusClient.two, .one] {
            guard case .path(let deletion) = try test.call(client, item, ServiceName.item, "Delete")[0] else {
                throw Unexpected()
            }
            #expect(deletion != "/")
        }
        // What a client has made and changed itself is its own.
        let own = try test.store(.one, "1", label: "own", [("b", "1")])
        let ownSession = try test.session(.one)
        _ = try test.call(.one, own, ServiceName.item, "SetSecret", TestService.secret(ownSession, "2"))
        guard case .path("/") = try test.call(.one, own, ServiceName.item, "Delete")[0] else { throw Unexpected() }
    }

    @Test("With confirmation, a client cannot change or delete what it may not read")
    func confirmingChanges() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", label: "L", [("a", "1")])
        let session = try test.session(.two)
        #expect(
            failure { _ = try test.call(.two, item, ServiceName.item, "SetSecret", TestService.secret(session, "x")) }
                == "IsLocked")
        #expect(
            failure {
                _ = try test.call(
                    .two, item, ServiceName.properties, "Set", .text(ServiceName.item), .text("Label"),
                    .variant(.text("x")))
            } == "IsLocked")
        guard case .path(let prompt) = try test.call(.two, item, ServiceName.item, "Delete")[0] else {
            throw Unexpected()
        }
        #expect(try test.show(.two, prompt, answer: false)?.isDismissed == true)
        #expect(try test.read(.one, item).text == "1")
        guard case .path(let second) = try test.call(.two, item, ServiceName.item, "Delete")[0] else {
            throw Unexpected()
        }
        #expect(try test.show(.two, second, answer: true)?.isDismissed == false)
        #expect(failure { _ = try test.read(.one, item) } == "NoSuchObject")
        try test.store(.one, "1", [("a", "1")])
        let reply = try test.call(.two, TestService.defaultPath, ServiceName.collection, "Delete")
        guard case .path(let third) = reply[0] else { throw Unexpected() }
        #expect(try test.show(.two, third, answer: false)?.isDismissed == true)
        #expect(try test.search(.one, []).unlocked.count == 1)
    }

    @Test("A client replaces what it has stored without a question, and another one's after consent")
    func confirmingReplacement() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", [("a", "1")])
        #expect(try test.store(.one, "2", [("a", "1")], replaces: true) == item)
        func replace() throws -> String {
            let reply = try test.call(
                .two, TestService.defaultPath, ServiceName.collection, "CreateItem",
                TestService.properties("L", [("a", "1")]), TestService.secret(try test.session(.two), "3"),
                .boolean(true))
            guard case .path("/") = reply[0], case .path(let prompt) = reply[1] else { throw Unexpected() }
            return prompt
        }
        let denied = try #require(try test.show(.two, try replace(), answer: false))
        guard denied.isDismissed, case .path("/") = denied.result else { throw Unexpected() }
        #expect(try test.read(.one, item).text == "2")
        let agreed = try #require(try test.show(.two, try replace(), answer: true))
        guard !agreed.isDismissed, case .path(item) = agreed.result else { throw Unexpected() }
        #expect(try test.read(.two, item).text == "3")
        #expect(try test.isLocked(.one, item))
        // Secrets that wait are few, and none is left when the vault is locked.
        test.service.forget(BusClient.two.name)
        for _ in 0..<8 { _ = try replace() }
        #expect(test.service.prompts.numbersWithSecret.count == 2)
        _ = try test.call(.one, "Lock", .paths([TestService.defaultPath]))
        #expect(test.service.prompts.numbersWithSecret.isEmpty)
    }

    @Test("Consent to replace an item replaces no other one")
    func replacedMeanwhile() throws {
        let test = try TestService(confirms: true)
        try test.open().add(
            try .genericPassword(service: "bank", account: "mira", group: "desktop"), secret: Secret(text: "real"))
        let attributes = [("service", "bank"), ("username", "mira"), ("application", "x")]
        let bait = try test.store(.one, "bait", label: "Notes", attributes)
        let reply = try test.call(
            .two, TestService.defaultPath, ServiceName.collection, "CreateItem",
            TestService.properties("L", attributes), TestService.secret(try test.session(.two), "evil"), .boolean(true))
        guard case .path(let prompt) = reply[1], prompt != "/" else { throw Unexpected() }
        _ = try test.call(.two, prompt, ServiceName.prompt, "Prompt", .text(""))
        let question = try #require(test.service.nextQuestion(now: test.now))
        #expect(question.kind == .confirm("Allow 'two' (process 12) to replace the secret 'Notes' in 'desktop'?"))
        // The same attributes now stand for the other item, to which nobody has agreed.
        _ = try test.call(.one, bait, ServiceName.item, "Delete")
        test.service.take(.yes, to: question, now: test.now)
        #expect(test.completion(prompt)?.isDismissed == true)
        let vault = try test.open()
        var items = try vault.items(matching: Query(group: "desktop"))
        while let item = try items.next() {
            let isEvil = try vault.open(item).secret.equals(Secret(text: "evil"))
            #expect(!isEvil)
        }
    }

    @Test(
        "Consent to delete or replace an item is not for a secret that was stored since the question",
        arguments: [true, false])
    func changedMeanwhile(deletes: Bool) throws {
        let test = try TestService(confirms: true)
        let attributes = [(name: "a", value: "1")]
        let item = try test.store(.one, "1", label: "L", attributes)
        let reply =
            deletes
            ? try test.call(.two, item, ServiceName.item, "Delete")
            : try test.call(
                .two, TestService.defaultPath, ServiceName.collection, "CreateItem",
                TestService.properties("L", attributes), TestService.secret(try test.session(.two), "3"),
                .boolean(true))
        guard case .path(let prompt)? = reply.last, prompt != "/" else { throw Unexpected() }
        _ = try test.call(.two, prompt, ServiceName.prompt, "Prompt", .text(""))
        let question = try #require(test.service.nextQuestion(now: test.now))
        let stored = TestService.secret(try test.session(.one), "2")
        _ = try test.call(.one, item, ServiceName.item, "SetSecret", stored)
        test.service.take(.yes, to: question, now: test.now)
        #expect(test.completion(prompt)?.isDismissed == true)
        #expect(try test.read(.one, item).text == "2")
        #expect(
            test.service.takeEvents().contains {
                $0.action.hasSuffix("another secret has been stored in it since you were asked; try again")
            })
    }

    @Test("A call for a secret without consent waits for a person, who is asked once about each item")
    func waiting() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", label: "L", [("a", "1")])
        let calls = [try test.wait(.two, item), try test.wait(.two, item)]
        let question = try #require(test.service.nextQuestion(now: test.now))
        #expect(
            question.kind == .confirm("Allow 'two' (process 12) to read and change the secret 'L' in 'desktop'?"))
        // One question of a client is put at a time.
        #expect(test.service.nextQuestion(now: test.now) == nil && !test.service.hasQuestion)
        test.service.take(.yes, to: question, now: test.now)
        #expect(test.service.hasQuestion && test.service.nextQuestion(now: test.now) == nil)
        let replies = test.service.takeReplies()
        #expect(replies.map(\.number) == calls)
        for reply in replies {
            guard case .structure(let parts)? = reply.values?.first, case .bytes(let value) = parts[2] else {
                throw Unexpected()
            }
            #expect(value.text == "1")
        }
        #expect(try test.read(.two, item).text == "1")
    }

    @Test("A call that waits is refused with the answer no, and with a lock; the calls of a client are limited")
    func waitingInVain() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", [("a", "1")])
        let refused = try test.wait(.two, item)
        test.service.take(.no, to: try #require(test.service.nextQuestion(now: test.now)), now: test.now)
        var replies = test.service.takeReplies()
        #expect(replies.map(\.number) == [refused] && replies.allSatisfy { $0.values == nil })
        let calls = try (0..<16).map { _ in try test.wait(.two, item) }
        #expect(failure { _ = try test.read(.two, item) } == "LimitsExceeded")
        _ = test.served.lock(at: nil, "a test")
        test.service.noteTime()
        replies = test.service.takeReplies()
        #expect(replies.map(\.number) == calls && replies.allSatisfy { $0.values == nil })
        #expect(test.service.nextQuestion(now: test.now) == nil)
        test.kept = try test.open()
        let last = try test.wait(.two, item)
        test.service.forget(BusClient.two.name)
        #expect(!test.service.isAwaited(last) && test.service.takeReplies().isEmpty)
    }

    @Test("What is refused because a person has just refused it is told with that reason, and nobody waits")
    func refusedBefore() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", label: "L", [("a", "1")])
        let call = try test.wait(.two, item)
        let question = try #require(test.service.nextQuestion(now: test.now))
        _ = test.service.takeEvents()
        test.service.take(.failed("the user refused it a moment ago"), to: question, now: test.now)
        #expect(test.service.takeReplies().map(\.number) == [call])
        #expect(
            test.service.takeEvents().map(\.action) == [
                "refused: read and change the secret 'L' in 'desktop': the user refused it a moment ago"
            ])
        #expect(try test.isLocked(.two, item))
    }

    @Test("The consent to delete a collection is for the items of which the question tells the number")
    func deletingCollection() throws {
        let test = try TestService(confirms: true)
        let path = try test.makeCollection("x")
        func delete() throws -> (prompt: String, question: PersonQuestion) {
            guard case .path(let prompt) = try test.call(.two, path, ServiceName.collection, "Delete")[0] else {
                throw Unexpected()
            }
            _ = try test.call(.two, prompt, ServiceName.prompt, "Prompt", .text(""))
            return (prompt, try #require(test.service.nextQuestion(now: test.now)))
        }
        let old = try (1...3).map { try test.store(.one, "1", label: "\($0)", [("n", "\($0)")], in: path) }
        let first = try delete()
        #expect(
            first.question.kind
                == .confirm("Allow 'two' (process 12) to delete the collection 'desktop/x' with its 3 items?"))
        let new = try test.store(.one, "2", label: "new", [("n", "4")], in: path)
        // The secret that is in it now is not the one that the question is about.
        let session = try test.session(.one)
        _ = try test.call(.one, old[2], ServiceName.item, "SetSecret", TestService.secret(session, "3"))
        test.service.take(.yes, to: first.question, now: test.now)
        #expect(test.completion(first.prompt)?.isDismissed == false)
        #expect(
            test.service.takeEvents().last?.action
                == "deleted the collection x with its 2 items; what was stored since the question stays: 2")
        #expect(try test.read(.one, old[2]).text == "3")
        for item in old[..<2] { #expect(failure { _ = try test.read(.one, item) } == "NoSuchObject") }
        #expect(try test.read(.one, new).text == "2")
        let second = try delete()
        #expect(
            second.question.kind
                == .confirm("Allow 'two' (process 12) to delete the collection 'desktop/x' with its 2 items?"))
        test.service.take(.yes, to: second.question, now: test.now)
        #expect(test.service.takeEvents().last?.action == "deleted the collection x with its 2 items")
        #expect(failure { _ = try test.property(.one, path, ServiceName.collection, "Label") } == "NoSuchObject")
    }

    @Test("A consent is void if the vault is locked and opened again during the call that uses it", arguments: 1...3)
    func lockedDuringCall(looks: Int) throws {
        let test = try TestService(confirms: true, isOpen: false)
        test.kept = try test.open()
        let item = try test.store(.one, "1", [("a", "1")])
        _ = try test.wait(.two, item)
        test.service.take(.yes, to: try #require(test.service.nextQuestion(now: test.now)), now: test.now)
        #expect(try test.read(.two, item).text == "1")
        // What is kept is looked at each time that the call needs the vault.
        test.keptNext = (try test.open(), looks)
        #expect(failure { _ = try test.read(.two, item) } == (looks == 1 ? "Waits" : "IsLocked"))
        let wasReached = test.keptNext == nil
        #expect(wasReached && test.served.lockedReason == nil)
    }

    @Test("One consent leads to one signal, however many calls waited for it")
    func oneSignal() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", label: "L", [("a", "1")])
        for _ in 0..<BusLimits.clientPrompts { _ = try test.wait(.two, item) }
        _ = test.service.takeSignals()
        test.service.take(.yes, to: try #require(test.service.nextQuestion(now: test.now)), now: test.now)
        #expect(test.service.nextQuestion(now: test.now) == nil)
        #expect(test.service.takeReplies().count == BusLimits.clientPrompts)
        #expect(test.service.takeSignals().map(\.path) == [item])
        let session = try test.session(.two)
        _ = try test.call(.two, item, ServiceName.item, "SetSecret", TestService.secret(session, "2"))
        // Others are told of the change, and the one that knew the old secret that the item is locked for it now.
        #expect(test.service.takeSignals().filter { $0.receiver != nil }.map(\.receiver) == [BusClient.one.name])
    }

    @Test("Long names are asked about in as many questions as can be shown whole")
    func longNames() throws {
        let test = try TestService(confirms: true)
        let items = try (1...5).map { number in
            try test.store(.one, "1", label: "\(number)" + String(repeating: "あ", count: 200), [("n", "\(number)")])
        }
        guard case .path(let prompt) = try test.call(.two, "Unlock", .paths(items))[1] else { throw Unexpected() }
        _ = try test.call(.two, prompt, ServiceName.prompt, "Prompt", .text(""))
        var texts: [String] = []
        while let question = test.service.nextQuestion(now: test.now) {
            guard case .confirm(let text) = question.kind else { throw Unexpected() }
            #expect(QuestionText.fits(text))
            texts.append(text)
            test.service.take(.yes, to: question, now: test.now)
        }
        #expect(texts.count > 1)
        // Items whose names differ only at the end must not look the same.
        let rest = String(repeating: "あ", count: 200)
        for number in 1...5 { #expect(texts.filter { $0.contains("'\(number)\(rest)' in ") }.count == 1) }
        #expect(test.completion(prompt)?.isDismissed == false)
    }

    @Test("A question names each of its items, once; what does not fit in it is asked next, and is limited")
    func manyItems() throws {
        let test = try TestService(confirms: true)
        let items = try (1...21).map { number in
            try test.store(.one, "1", label: "L\(number)", [("n", "\(number)")])
        }
        let paths = Array(repeating: items[0], count: 5) + items.prefix(7)
        let reply = try test.call(.two, "Unlock", .paths(paths))
        guard case .path(let prompt) = reply[1] else { throw Unexpected() }
        _ = try test.call(.two, prompt, ServiceName.prompt, "Prompt", .text(""))
        let first = try #require(test.service.nextQuestion(now: test.now))
        guard case .confirm(let text) = first.kind else { throw Unexpected() }
        for number in 1...5 { #expect(text.components(separatedBy: "'L\(number)' in 'desktop'").count == 2) }
        #expect(text.hasSuffix(" (5 of 7)?"))
        test.service.take(.yes, to: first, now: test.now)
        #expect(try !test.isLocked(.two, items[4]) && test.isLocked(.two, items[5]))
        let second = try #require(test.service.nextQuestion(now: test.now))
        guard case .confirm(let rest) = second.kind else { throw Unexpected() }
        #expect(rest.contains("'L6' in 'desktop', 'L7' in 'desktop'?"))
        test.service.take(.yes, to: second, now: test.now)
        #expect(test.completion(prompt)?.isDismissed == false)
        #expect(try !test.isLocked(.two, items[6]) && test.isLocked(.two, items[7]))
        let all = failure {
            _ = try test.call(BusClient(name: ":1.3", process: 3, program: ""), "Unlock", .paths(items))
        }
        #expect(all == "LimitsExceeded")
    }

    @Test("The names of programs and items cannot forge a question")
    func questions() throws {
        let test = try TestService(confirms: true)
        let item = try test.store(.one, "1", label: "'?\n\u{202E}Allow", [("a", "1")])
        let client = BusClient(name: ":1.9", process: 9, program: "x' (process 1)\n")
        let (_, prompt) = try test.unlock(client, item)
        _ = try test.call(client, prompt, ServiceName.prompt, "Prompt", .text(""))
        guard case .confirm(let text) = try #require(test.service.nextQuestion(now: test.now)).kind else {
            throw Unexpected()
        }
        #expect(text.hasPrefix("Allow '") && !text.contains("\n") && !text.contains("\u{202E}"))
        #expect(text.hasPrefix("Allow 'x\\' (process 1)\\n' (process 9) to "))
        #expect(text.contains("the secret '\\'?\\n"))
    }
}
