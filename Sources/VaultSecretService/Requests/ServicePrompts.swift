internal import VaultFmt

/// A question that is to be put to a person.
package struct PersonQuestion: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// Whether a client may do something. The text begins with a fixed word.
        case confirm(String)
        /// To unlock the vault at a path, with its passphrase or with the key that `vaultfmt unlock` keeps. After the
        /// answer yes, it is open, or is opened with that key.
        case unlock(path: String)
    }

    /// The number of its prompt.
    package let number: UInt64
    package let kind: Kind
}

/// The prompts of all clients, the calls that wait for a person, and the questions about them. Of each client, one
/// question is put at a time, so that those of others have their turn.
struct ServicePrompts {
    enum Action: Sendable {
        /// To unlock the objects at these paths.
        case unlock([String])
        /// To give an item's secret to a session: a call that waits, and not a prompt that its client knows.
        case read(group: String, ItemID, session: String)
        /// To answer a call that waits until the vault is open, because nothing is known of it yet.
        case repeated(BusCall)
        /// To replace the secret of an item.
        case replace(ItemID, NewItem)
        case deleteItem(group: String, ItemID)
        case deleteCollection(String)
    }

    struct Prompt: Sendable {
        let client: BusClient
        var action: Action
        var isAsked = false
        /// Whether a person is to consent to it, and whether the question has been put.
        var awaitsConsent = false
        var isPut = false
        /// The items that the question is about.
        var subjects: [ItemID] = []
        /// When their secrets had been stored, as far as the question is about these secrets.
        var secretTimes: [ItemID: Int64] = [:]

        var hasSecret: Bool { if case .replace = action { true } else { false } }
    }

    /// What is to be asked next about a prompt.
    enum Kind: Sendable {
        case consent
        case unlock(path: String)
    }

    private var prompts: [UInt64: Prompt] = [:]
    private var questions: [(number: UInt64, kind: Kind)] = []
    private var last: UInt64 = 0

    /// Makes a prompt, which asks nothing until its client says so. It takes the place of the client's oldest one that
    /// was never shown: some clients never show any.
    mutating func add(_ action: Action, for client: BusClient) throws(BusError) -> UInt64 {
        let new = Prompt(client: client, action: action)
        let own = prompts.filter { $0.value.client == client }
        guard own.count < BusLimits.clientPrompts || removeOldest(of: own) else {
            throw .limit("a program can have at most \(BusLimits.clientPrompts) prompts and waiting calls")
        }
        if new.hasSecret {
            let others = prompts.filter { $0.value.hasSecret && $0.value.client.process == client.process }
            guard others.count < BusLimits.processSecrets || removeOldest(of: others) else {
                throw .limit("of a process, at most \(BusLimits.processSecrets) secrets can wait for a person to agree")
            }
        }
        guard prompts.count < BusLimits.prompts else {
            throw .limit("all programs together can have at most \(BusLimits.prompts) prompts and waiting calls")
        }
        guard !new.hasSecret || numbersWithSecret.count < BusLimits.waitingSecrets else {
            throw .limit("at most \(BusLimits.waitingSecrets) secrets can wait for a person to agree")
        }
        last += 1
        prompts[last] = new
        return last
    }

    /// Removes the oldest prompt that was never shown; returns false if all were.
    private mutating func removeOldest(of some: [UInt64: Prompt]) -> Bool {
        guard let oldest = some.filter({ !$0.value.isAsked }).keys.min() else { return false }
        remove(oldest)
        return true
    }

    subscript(number: UInt64) -> Prompt? { prompts[number] }

    var numbers: [UInt64] { prompts.keys.sorted() }

    /// The numbers of the prompts that keep a secret.
    var numbersWithSecret: [UInt64] { prompts.filter(\.value.hasSecret).map(\.key).sorted() }

    /// The numbers of the prompts about which a person is asked.
    var numbersAwaitingConsent: [UInt64] { prompts.filter(\.value.awaitsConsent).map(\.key).sorted() }

    mutating func replace(_ number: UInt64, _ action: Action) { prompts[number]?.action = action }

    mutating func setAsked(_ number: UInt64) { prompts[number]?.isAsked = true }

    mutating func setPut(_ number: UInt64, about subjects: [ItemID], secretTimes: [ItemID: Int64] = [:]) {
        prompts[number]?.isPut = true
        prompts[number]?.subjects = subjects
        prompts[number]?.secretTimes = secretTimes
    }

    mutating func remove(_ number: UInt64) {
        prompts[number] = nil
        questions.removeAll { $0.number == number }
    }

    mutating func removeAll(of client: String) {
        for (number, prompt) in prompts where prompt.client.name == client { remove(number) }
    }

    mutating func ask(_ number: UInt64, _ kind: Kind) {
        if case .consent = kind { prompts[number]?.awaitsConsent = true }
        prompts[number]?.isPut = false
        questions.append((number, kind))
    }

    /// The place of the next question to put: the first one of a client none of whose questions is being put.
    private var next: Int? {
        guard !questions.isEmpty else { return nil }
        let busy = Set(prompts.values.filter(\.isPut).map(\.client.name))
        return questions.firstIndex { question in
            prompts[question.number].map { !busy.contains($0.client.name) } ?? true
        }
    }

    var hasQuestion: Bool { next != nil }

    /// Takes the next question to put.
    mutating func nextQuestion() -> (number: UInt64, kind: Kind)? { next.map { questions.remove(at: $0) } }
}
