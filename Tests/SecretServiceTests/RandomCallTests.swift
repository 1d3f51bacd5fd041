import TestSupport
import Testing
import VaultExchange
import VaultFmt

@testable import VaultSecretService

@Suite("Random calls")
struct RandomCallTests {
    private static let count = 6000

    @Test(
        "Random calls of several clients neither trap nor give away another group's secret, or one without consent",
        arguments: [false, true])
    func calls(confirms: Bool) throws {
        let test = try TestService(confirms: confirms) { vault in
            try vault.add(
                try .genericPassword(service: "s", account: "", group: "bank"), secret: Secret(text: "BANK SECRET"))
        }
        var caller = RandomCaller(seed: Numbers.seed &* 2 &+ (confirms ? 1 : 0))
        var model = ConsentModel()
        for _ in 0..<Self.count {
            let call = caller.call()
            model.note(call)
            let answer = test.service.answer(call, now: test.now)
            test.now += 1
            if case .reply(.success(let values)) = answer {
                #expect(!confirms || model.allows(call, values), "\(call.client.name) reads \(call.path)")
                caller.learn(values)
            }
            model.note(locks: test.served.lockCount)
            for reply in test.service.takeReplies() { caller.learn(reply.values ?? []) }
            for signal in test.service.takeSignals() { caller.learn(signal.arguments) }
            if let question = test.service.nextQuestion(now: test.now) {
                let isYes = caller.isLucky
                if isYes, let prompt = test.service.prompts[question.number] { model.note(prompt) }
                test.service.take(isYes ? .yes : .no, to: question, now: test.now)
                model.note(locks: test.served.lockCount)
            }
            if caller.mayForget {
                let name = caller.client.name
                test.service.forget(name)
                model.forget(name)
            }
            if test.served.lockedReason != nil { test.kept = try test.open() }
        }
        #expect(caller.hasSucceeded > Self.count / 20)
        #expect(!caller.hasSeenBank)
    }
}

/// What clients may read with `--confirm`: what they have sent themselves, and what a person has agreed to.
private struct ConsentModel {
    private var sent: [String: Set<[UInt8]>] = [:]
    private var agreed: [String: Set<ItemID>] = [:]
    private var locks: UInt64 = 0

    mutating func note(_ call: BusCall) {
        for value in call.arguments {
            guard let secret = Self.secret(value) else { continue }
            sent[call.client.name, default: []].insert(secret)
        }
    }

    mutating func note(_ prompt: ServicePrompts.Prompt) {
        guard prompt.awaitsConsent else { return }
        agreed[prompt.client.name, default: []].formUnion(prompt.subjects)
    }

    mutating func note(locks: UInt64) {
        if locks != self.locks { agreed = [:] }
        self.locks = locks
    }

    mutating func forget(_ client: String) { agreed[client] = nil }

    /// Whether the answer gives no secret, or one that the client may read.
    func allows(_ call: BusCall, _ answer: [BusValue]) -> Bool {
        guard call.member == "GetSecret", case .item(_, let id)? = ServiceObject(path: call.path),
            let secret = answer.first.flatMap(Self.secret), !secret.isEmpty
        else { return true }
        return agreed[call.client.name]?.contains(id) ?? false || sent[call.client.name]?.contains(secret) ?? false
    }

    /// Returns a secret that is not encrypted.
    private static func secret(_ value: BusValue) -> [UInt8]? {
        guard case .structure(let parts) = value, parts.count == 4, case .bytes(let parameters) = parts[1],
            parameters.count == 0, case .bytes(let secret) = parts[2]
        else { return nil }
        return secret.withBytes { Array($0) }
    }
}

/// Makes calls of what it has learnt from the answers.
private struct RandomCaller {
    private var numbers: Numbers
    private var paths = [
        "/", ServiceName.path, ServiceName.path + "/collection", TestService.defaultPath,
        ServiceObject.collection("desktop").path, ServiceObject.collection("bank").path,
        ServiceObject.session(1).path, ServiceObject.prompt(1).path, "/org/freedesktop/secrets/x",
    ]
    private(set) var hasSucceeded = 0
    private(set) var hasSeenBank = false

    private static let members: [(interface: String, member: String)] = [
        (ServiceName.service, "OpenSession"), (ServiceName.service, "SearchItems"), (ServiceName.service, "Unlock"),
        (ServiceName.service, "Lock"), (ServiceName.service, "GetSecrets"), (ServiceName.service, "CreateCollection"),
        (ServiceName.service, "ReadAlias"), (ServiceName.service, "SetAlias"), (ServiceName.collection, "CreateItem"),
        (ServiceName.collection, "CreateItem"), (ServiceName.collection, "Delete"),
        (ServiceName.collection, "SearchItems"), (ServiceName.item, "GetSecret"), (ServiceName.item, "SetSecret"),
        (ServiceName.item, "Delete"), (ServiceName.session, "Close"), (ServiceName.prompt, "Prompt"),
        (ServiceName.prompt, "Dismiss"), (ServiceName.properties, "Get"), (ServiceName.properties, "GetAll"),
        (ServiceName.properties, "Set"), (ServiceName.introspectable, "Introspect"), ("", "Introspect"),
    ]
    private static let texts = [
        "", "plain", ServiceName.encrypted, "default", "bank", "a", "ssh", "Label", "Attributes", "Locked", "Items",
        ServiceName.item, ServiceName.collection, ServiceName.item + ".Label", ServiceName.item + ".Attributes",
        ServiceName.collection + ".Label", "text/plain", "é", String(repeating: "x", count: 5000),
    ]

    init(seed: UInt64) { numbers = Numbers(seed) }

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &numbers) }

    private mutating func text() -> String { Self.texts[below(Self.texts.count)] }

    private mutating func path() -> String { paths[below(paths.count)] }

    var isLucky: Bool { mutating get { below(2) == 0 } }
    var mayForget: Bool { mutating get { below(400) == 0 } }
    var client: BusClient {
        mutating get { BusClient(name: ":1.\(below(3))", process: 1, program: "test") }
    }

    mutating func learn(_ values: [BusValue]) {
        hasSucceeded += 1
        for value in values { learn(value) }
    }

    private mutating func learn(_ value: BusValue) {
        #expect(value.signature != "")
        switch value {
        case .path(let path): if !paths.contains(path), paths.count < 200 { paths.append(path) }
        case .bytes(let bytes): hasSeenBank = hasSeenBank || bytes.text?.contains("BANK SECRET") == true
        case .structure(let parts): for part in parts { learn(part) }
        case .array(let element, let parts):
            for part in parts {
                #expect(part.signature == element)
                learn(part)
            }
        case .entry(let key, let value):
            learn(key)
            learn(value)
        case .variant(let inner): learn(inner)
        case .boolean, .number, .text: break
        case .other: Issue.record("a value that cannot be sent")
        }
    }

    /// A call, mostly with arguments that fit.
    mutating func call() -> BusCall {
        let (interface, member) = Self.members[below(Self.members.count)]
        let arguments = below(10) == 0 ? (0..<below(4)).map { _ in value(depth: 0) } : fitting(interface, member)
        return BusCall(client, path(), below(20) == 0 ? text() : interface, member, arguments)
    }

    private mutating func fitting(_ interface: String, _ member: String) -> [BusValue] {
        switch (interface, member) {
        case (_, "OpenSession"): [.text(text()), .variant(value(depth: 1))]
        case (_, "SearchItems"): [attributes()]
        case (_, "Unlock"), (_, "Lock"): [.paths([path(), path()])]
        case (_, "GetSecrets"): [.paths([path(), path(), path()]), .path(path())]
        case (_, "CreateCollection"): [properties(), .text(text())]
        case (_, "ReadAlias"), (_, "Prompt"), (_, "GetAll"): [.text(text())]
        case (_, "SetAlias"): [.text(text()), .path(path())]
        case (_, "CreateItem"): [properties(), secret(), .boolean(isLucky)]
        case (_, "GetSecret"): [.path(path())]
        case (_, "SetSecret"): [secret()]
        case (_, "Get"): [.text(text()), .text(text())]
        case (_, "Set"): [.text(text()), .text(text()), .variant(below(2) == 0 ? attributes() : .text(text()))]
        default: []
        }
    }

    private mutating func attributes() -> BusValue {
        .array("{ss}", (0..<below(3)).map { _ in .entry(.text(text()), .text(text())) })
    }

    private mutating func properties() -> BusValue {
        .properties([
            (ServiceName.item + ".Label", .text(text())), (ServiceName.item + ".Attributes", attributes()),
            (ServiceName.collection + ".Label", .text(text())),
        ])
    }

    private mutating func secret() -> BusValue {
        .structure([.path(path()), bytes(below(2) * 16), bytes(below(3) * 16), .text(text())])
    }

    private mutating func bytes(_ count: Int) -> BusValue {
        .bytes(SharedSecret(Secret(bytes: (0..<count).map { _ in UInt8.random(in: 0...255, using: &numbers) })))
    }

    private mutating func value(depth: Int) -> BusValue {
        switch below(depth < 3 ? 10 : 5) {
        case 0: .text(text())
        case 1: .path(path())
        case 2: .boolean(true)
        case 3: .other
        case 4: bytes(below(130))
        case 5: .structure([value(depth: depth + 1), value(depth: depth + 1)])
        case 6: .array("v", [.variant(value(depth: depth + 1))])
        case 7: .entry(value(depth: depth + 1), value(depth: depth + 1))
        case 8: .variant(value(depth: depth + 1))
        default: secret()
        }
    }
}
