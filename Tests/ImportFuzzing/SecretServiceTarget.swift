internal import Fuzzing
internal import TestSupport
internal import VaultAgent
internal import VaultCrypto
internal import VaultExchange
internal import VaultFmt
internal import VaultSecretService
internal import VaultStore

/// What programs on the user's bus may send to the Secret Service: a sequence of calls of three clients, and what may
/// happen in between, over a vault in memory and without a bus. The first two bytes say whether a person is asked, and
/// whether the vault is open.
public enum SecretServiceTarget {
    private static let mostSteps = 64

    /// Runs one input; traps if a property does not hold, or if it takes too long.
    public static func run(_ input: UnsafeRawBufferPointer) {
        do { try InputTime.limited { try check(input) } } catch { fatalError("secret-service: \(error)") }
    }

    /// Checks that each call has a well-formed answer, or is refused in one line, and that no answer contains the secret
    /// of another group, or one that needs consent before a person has agreed; throws if it is not so.
    public static func check(_ input: UnsafeRawBufferPointer) throws { _ = try answers(to: input) }

    /// Checks an input; returns how many calls were answered with values, and how many calls there were.
    public static func answers(to input: UnsafeRawBufferPointer) throws -> (answered: Int, calls: Int) {
        var choices = ByteChoices(input)
        let confirms = choices.below(2) == 1
        let vault = try FuzzedVault()
        let served = ServedVault(
            path: FuzzedVault.path, groups: [], limits: .init(), vault: choices.below(2) == 0 ? try vault.open() : nil,
            isKept: false, now: 0,
            keptEnds: ServedVault.KeptEnds(any: { _ in vault.keptEnd }, ofSlot: { _ in vault.keptEnd }),
            reopening: { vault.keptEnd == nil ? nil : try vault.open() })
        let service = SecretService(served, ServedGroups([FuzzedVault.served]), confirms: confirms)
        var caller = BusCaller()
        var answers = BusAnswers(confirms: confirms)
        var now: UInt64 = 0
        for _ in 0..<mostSteps where !choices.areOver {
            now += 1
            switch choices.below(16) {
            case 0: service.forget(BusCaller.client(choices.below(BusCaller.clients)).name)
            case 1: vault.unlock()
            case 2: try ask(service, choices.below(3), &answers, now: now)
            case 3: service.noteTime()
            default:
                let call = caller.call(&choices)
                answers.note(call)
                try answers.take(service.answer(call, now: now), &caller)
            }
            for reply in service.takeReplies() { try answers.take(reply.values ?? [], &caller) }
            for signal in service.takeSignals() { try answers.take(signal.arguments, &caller) }
            _ = service.takeEvents()
        }
        service.endPrompts()
        return (answers.answered, caller.calls)
    }

    /// Puts the next question to a person, who agrees, does not, or does not answer in time.
    private static func ask(
        _ service: SecretService, _ choice: Int, _ answers: inout BusAnswers, now: UInt64
    ) throws {
        guard let question = service.nextQuestion(now: now) else { return }
        if case .confirm(let text) = question.kind {
            guard text.hasPrefix("Allow "), !text.contains("\n") else {
                throw Mismatch("a question is not one line: \(text)")
            }
            if choice == 0 { answers.hasAgreed = true }
        }
        let all: [PersonAnswer] = [.yes, .no, .late]
        service.take(all[choice], to: question, now: now)
    }
}

/// A vault in memory with an item that is served, and one of another group.
private final class FuzzedVault {
    static let path = "a.vault"
    static let served = "desktop"

    private let place: Store.Place
    /// Until when `vaultfmt unlock` keeps the vault open, in seconds since 1970; nil until it is run.
    private(set) var keptEnd: UInt64?

    init() throws {
        // With a memory of its own: that of the process would grow with each input.
        place = Store.Place(
            fileSystem: MemoryFileSystem(clock: 1_700_000_000_000), random: .fixed("1"), cacheBytes: 1 << 20,
            replicas: ProcessReplicas(random: .fixed("2")))
        var options = CreateOptions()
        options.device = try Device(fileContents: Secret(bytes: [UInt8](1...48)))
        let vault = try Vault.create(at: Self.path, factors: try Self.factors(), options: options, place: place)
        try vault.add(
            try .genericPassword(service: "s", account: "u", group: Self.served),
            secret: Secret(text: BusAnswers.servedSecret),
            attributes: ["label": "L", "service": "s", "username": "u"])
        try vault.add(
            try .genericPassword(service: "s", account: "u", group: "bank"),
            secret: Secret(text: BusAnswers.foreignSecret), attributes: ["label": "B", "service": "s"])
    }

    private static func factors() throws -> Factors {
        try Factors(rawKey: Secret(bytes: [UInt8](repeating: 0x2B, count: 32)))
    }

    func open() throws -> Vault {
        var options = OpenOptions()
        options.writable = true
        return try Vault.open(Self.path, factors: try Self.factors(), options: options, place: place)
    }

    /// Does what `vaultfmt unlock` does: a vault that was locked opens again with the next call. Each time, the key is kept
    /// for longer than the last one.
    func unlock() { keptEnd = (keptEnd ?? 4_000_000_000) + 1 }
}

/// What answers must be, and what they must not contain.
private struct BusAnswers {
    static let servedSecret = "served secret 5f1d"
    static let foreignSecret = "foreign secret c0a8"

    /// The most bytes of an answer.
    private static let longest = 16 << 20

    private let confirms: Bool
    /// Whether a person has agreed to anything.
    var hasAgreed = false
    private(set) var answered = 0
    /// The secrets that clients have sent themselves, which the fuzzer may guess.
    private var sent: Set<String> = []

    init(confirms: Bool) { self.confirms = confirms }

    mutating func note(_ call: BusCall) {
        for argument in call.arguments { note(argument) }
    }

    private mutating func note(_ value: BusValue) {
        switch value {
        case .bytes(let bytes):
            for secret in [Self.servedSecret, Self.foreignSecret] where Self.contains(bytes, secret) {
                sent.insert(secret)
            }
        case .structure(let parts), .array(_, let parts): for part in parts { note(part) }
        case .entry(let key, let value):
            note(key)
            note(value)
        case .variant(let inner): note(inner)
        case .boolean, .number, .text, .path, .other: break
        }
    }

    mutating func take(_ answer: ServiceAnswer, _ caller: inout BusCaller) throws {
        switch answer {
        case .later: break
        case .reply(.success(let values)):
            answered += 1
            try take(values, &caller)
        case .reply(.failure(let error)):
            guard error.name.contains("."), !error.message.isEmpty, !error.message.contains("\n") else {
                throw Mismatch("a refusal is not one line: \(error.name): \(error.message)")
            }
        }
    }

    mutating func take(_ values: [BusValue], _ caller: inout BusCaller) throws {
        var bytes = 0
        for value in values { try take(value, &bytes, &caller) }
        guard bytes <= Self.longest else { throw Mismatch("an answer has \(bytes) bytes") }
    }

    private func take(_ value: BusValue, _ count: inout Int, _ caller: inout BusCaller) throws {
        guard !value.signature.isEmpty else { throw Mismatch("an answer has a value without a type") }
        switch value {
        case .boolean, .number: count += 8
        case .text(let text): count += text.utf8.count
        case .path(let path):
            count += path.utf8.count
            caller.learn(path)
        case .bytes(let bytes):
            count += bytes.count
            try check(bytes)
        case .structure(let parts): for part in parts { try take(part, &count, &caller) }
        case .array(let element, let parts):
            for part in parts {
                guard part.signature == element else {
                    throw Mismatch("an array of \(element) has a \(part.signature)")
                }
                try take(part, &count, &caller)
            }
        case .entry(let key, let value):
            try take(key, &count, &caller)
            try take(value, &count, &caller)
        case .variant(let inner): try take(inner, &count, &caller)
        case .other: throw Mismatch("an answer has a value that cannot be sent")
        }
    }

    private func check(_ bytes: SharedSecret) throws {
        if !sent.contains(Self.foreignSecret), Self.contains(bytes, Self.foreignSecret) {
            throw Mismatch("another group's secret is given away")
        }
        if confirms, !hasAgreed, !sent.contains(Self.servedSecret), Self.contains(bytes, Self.servedSecret) {
            throw Mismatch("a secret is given away to which nobody has agreed")
        }
    }

    private static func contains(_ bytes: SharedSecret, _ secret: String) -> Bool {
        bytes.text?.contains(secret) ?? false
    }
}
