internal import VaultFmt

/// A question to ask a person.
package struct PersonQuestion: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// A question that asks for consent to a client's request. The text begins with a fixed word.
        case confirm(String)
        /// Unlock the vault at a path, with its passphrase or with the key that `vaultfmt unlock` keeps. After a yes,
        /// the vault is open or can be opened with that key.
        case unlock(path: String)
    }

    /// The number of the prompt.
    package let number: UInt64
    package let kind: Kind
}

/// The prompts and waiting calls of all clients, and the questions about them. Only one question of each client is
/// asked at a time, so that every client gets its turn.
struct ServicePrompts {
    enum Action: Sendable {
        /// Unlock the objects at these paths.
        case unlock([String])
        /// Return an item's secret for a session. This is a waiting call, not a prompt that the client knows about.
        case read(group: String, ItemID, session: String)
        /// Answer a call that waits until the vault is open, because nothing is known about the vault yet.
        case repeated(BusCall)
        /// Replace the secret of an item.
        case replace(ItemID, NewItem)
        case deleteItem(group: String, ItemID)
        case deleteCollection(String)
    }

    struct Prompt: Sendable {
        let client: BusClient
        var action: Action
        var isAsked = false
        /// True if the action needs consent, and whether the question has been asked.
        var awaitsConsent = false
        var isPut = false
        /// The items that the question names.
        var subjects: [ItemID] = []
        /// The times at which those items' secrets had been set, if the question concerns these secrets.
        var secretTimes: [ItemID: Int64] = [:]

        var hasSecret: Bool { if case .replace = action { true } else { false } }

        /// Throws unless the secret of an item is still the one that the question was about: the user has not agreed to
        /// lose a secret that was stored later.
        func requireAgreed(_ item: ListedItem) throws(BusError) {
            guard secretTimes[item.id] == item.secretChanged else {
                throw .failed("another secret has been stored in it since you were asked; try again")
            }
        }
    }

    /// The next question about a prompt.
    enum Kind: Sendable {
        case consent
        case unlock(path: String)
    }

    private var prompts: [UInt64: Prompt] = [:]
    private var questions: [(number: UInt64, kind: Kind)] = []
    private var last: UInt64 = 0

    /// Creates a prompt; nothing is asked until its client requests that. If the client has too many prompts, its
    /// oldest one that was never shown is removed, because some clients never show theirs.
    mutating func add(_ action: Action, for client: BusClient) throws(BusError) -> UInt64 {
        let new = Prompt(client: client, action: action)
        let own = prompts.filter { $0.value.client == client }
        guard own.count < BusLimits.clientPrompts || removeOldest(of: own) else {
            throw .limit("a program can have at most \(BusLimits.clientPrompts) prompts and waiting calls")
        }
        if new.hasSecret {
            let others = prompts.filter { $0.value.hasSecret && $0.value.client.process == client.process }
            guard others.count < BusLimits.processSecrets || removeOldest(of: others) else {
                throw .limit(
                    "at most \(BusLimits.processSecrets) secrets of one process can wait for a person to agree")
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

    /// Removes the oldest prompt that was never shown; returns false if all have been shown.
    private mutating func removeOldest(of some: [UInt64: Prompt]) -> Bool {
        guard let oldest = some.filter({ !$0.value.isAsked }).keys.min() else { return false }
        remove(oldest)
        return true
    }

    subscript(number: UInt64) -> Prompt? { prompts[number] }

    var numbers: [UInt64] { prompts.keys.sorted() }

    /// The numbers of the prompts that hold a secret.
    var numbersWithSecret: [UInt64] { prompts.filter(\.value.hasSecret).map(\.key).sorted() }

    /// The numbers of the prompts that wait for consent.
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

    /// The position of the next question to ask: the first one that concerns a client about which no other question is
    /// being asked.
    private var next: Int? {
        guard !questions.isEmpty else { return nil }
        let busy = Set(prompts.values.filter(\.isPut).map(\.client.name))
        return questions.firstIndex { question in
            prompts[question.number].map { !busy.contains($0.client.name) } ?? true
        }
    }

    var hasQuestion: Bool { next != nil }

    /// Returns the next question to ask, and removes it.
    mutating func nextQuestion() -> (number: UInt64, kind: Kind)? { next.map { questions.remove(at: $0) } }
}
