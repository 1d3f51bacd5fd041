internal import Glibc
internal import VaultExchange

/// The questions to a person, asked one at a time.
final class Questions {
    /// Who waits for an answer.
    enum Asker: Hashable, Sendable {
        /// The connection with this number.
        case connection(UInt64)
        /// The attached service, with its number of the question.
        case attached(UInt64)
    }

    /// What a person has answered.
    struct Answered {
        let asker: Asker
        let query: PersonQuery
        let answer: PersonAnswer
        /// What was typed, if a passphrase was asked for and the answer is yes.
        let passphrase: SharedSecret?
    }

    private struct Waiting {
        let query: PersonQuery
        let asker: Asker
        /// The process that asks; nil if that does not matter.
        var process: UInt32?
        /// How many questions of this process came before it.
        var turn = 0

        var isAttached: Bool { if case .attached = asker { true } else { false } }
    }

    private struct Asked {
        let query: PersonQuery
        /// Who waits; nil if it has gone, or has its answer.
        var asker: Asker?
        /// The process of the one who waited.
        let client: UInt32?
        let process: AskingProcess
        /// When the next signal is sent to a program that does not end, in milliseconds of the agent's clock; nil after
        /// the last one.
        var end: UInt64?
        var wasEnded = false
    }

    let programs: AskingPrograms
    private var waiting: [Waiting] = []
    private var asked: Asked?
    /// The answers to questions that need not be asked any longer.
    private var settled: [Answered] = []
    /// The questions that a person has just refused, or not answered in time; until when they are not asked again, and
    /// what is answered until then.
    private var refused: [(text: String, answer: PersonAnswer, end: UInt64)] = []

    /// How long a person may think about it, how long a program may take to end, and for how long the same question is
    /// not asked again after a no or no answer, in milliseconds. A question names the process that asks.
    static let patience: UInt64 = 120_000
    static let grace: UInt64 = 2000
    static let quiet: UInt64 = 30_000
    private static let mostRefused = 64

    init(_ programs: AskingPrograms) { self.programs = programs }

    /// The descriptor to poll; nil while there is none.
    var descriptor: Int32? { asked?.process.descriptor }

    /// When ``takeAnswer(now:)`` has something to do even if nothing has happened.
    var nextEnd: UInt64? { asked?.end }

    /// Adds a question. Those of connections come before those of the attached service, whose clients may ask many. A
    /// process with many connections, such as ssh on behalf of another host, keeps nobody waiting for more than one
    /// question of its own.
    func add(_ query: PersonQuery, from asker: Asker, of process: UInt32? = nil) {
        var new = Waiting(query: query, asker: asker, process: process)
        if let process {
            new.turn = waiting.count { $0.process == process } + (asked?.client == process ? 1 : 0)
        }
        var place = waiting.count
        if case .connection = asker {
            place = waiting.firstIndex { $0.isAttached || $0.turn > new.turn } ?? place
        }
        waiting.insert(new, at: place)
    }

    /// Asks again for a passphrase, before everything that waits; returns false if there were too many wrong ones.
    func retry(_ answered: Answered, now: UInt64) -> Bool {
        guard case .passphrase(let wrong) = answered.query.wanted else { return false }
        guard wrong + 1 < PersonQuery.mostTries else {
            refuse(answered.query, with: Self.refusedBefore, now: now)
            return false
        }
        let query = PersonQuery(text: answered.query.text, wanted: .passphrase(wrong: wrong + 1))
        waiting.insert(Waiting(query: query, asker: answered.asker), at: 0)
        return true
    }

    /// Forgets the questions for a passphrase, which are void, of all askers or of some; returns who waits for them.
    func takePassphraseAskers(now: UInt64, where isMeant: (Asker) -> Bool = { _ in true }) -> [Asker] {
        var askers = waiting.filter { $0.query.wantsPassphrase && isMeant($0.asker) }.map(\.asker)
        waiting.removeAll { $0.query.wantsPassphrase && isMeant($0.asker) }
        if let asked, asked.query.wantsPassphrase, let asker = asked.asker, isMeant(asker) {
            askers.insert(asker, at: 0)
            self.asked?.asker = nil
            endProgram(now: now)
        }
        return askers
    }

    /// Forgets the questions of those that have gone.
    func forget(now: UInt64, where hasGone: (Asker) -> Bool) {
        waiting.removeAll { hasGone($0.asker) }
        settled.removeAll { hasGone($0.asker) }
        // The program is not at fault: whatever the answer is, it has no effect.
        if asked?.asker.map(hasGone) ?? false {
            asked?.asker = nil
            endProgram(now: now)
        }
    }

    /// Asks the next question, if none is being asked. Returns the answer to one that is not asked.
    func askNext(now: UInt64) -> Answered? {
        if !settled.isEmpty { return settled.removeFirst() }
        guard asked == nil, !waiting.isEmpty else { return nil }
        let next = waiting.removeFirst()
        do {
            refused.removeAll { $0.end <= now }
            if let known = refused.first(where: { $0.text == next.query.text }) {
                return Answered(asker: next.asker, query: next.query, answer: known.answer, passphrase: nil)
            }
            guard let program = programs.program(for: next.query) else {
                return Answered(asker: next.asker, query: next.query, answer: .notAsked, passphrase: nil)
            }
            let process = try AskingProcess.start(program, next.query, seconds: Self.patience / 1000)
            asked = Asked(
                query: next.query, asker: next.asker, client: next.process, process: process, end: now + Self.patience)
            return nil
        } catch {
            let answer = (error as? AgentError).map { PersonAnswer.failed($0.message) } ?? .notAsked
            return Answered(asker: next.asker, query: next.query, answer: answer, passphrase: nil)
        }
    }

    /// Returns the answer if there is one, or if the program has had its time; call it after each event.
    func takeAnswer(now: UInt64) -> Answered? {
        guard let asked else { return nil }
        asked.process.noteEnd()
        if let asker = asked.asker, let answer = asked.process.answer {
            return take(answer, of: asked, asker, now: now)
        }
        guard !asked.process.hasEnded else {
            self.asked = nil
            return nil
        }
        guard let end = asked.end, end <= now else { return nil }
        endProgram(now: now)
        self.asked?.asker = nil
        if asked.asker != nil { settleLate(asked.query, now: now) }
        return asked.asker.map { Answered(asker: $0, query: asked.query, answer: .late, passphrase: nil) }
    }

    private func take(_ answer: PersonAnswer, of asked: Asked, _ asker: Asker, now: UInt64) -> Answered {
        if answer == .no { refuse(asked.query, with: Self.refusedBefore, now: now) }
        if answer == .late { settleLate(asked.query, now: now) }
        let passphrase = asked.process.takePassphrase()
        self.asked?.asker = nil
        if asked.process.hasEnded { self.asked = nil } else { endProgram(now: now) }
        return Answered(asker: asker, query: asked.query, answer: answer, passphrase: passphrase)
    }

    /// What is answered to a question that a person has just refused.
    private static let refusedBefore = PersonAnswer.failed("a person has refused it a moment ago")

    private func refuse(_ query: PersonQuery, with answer: PersonAnswer, now: UInt64) {
        if refused.count == Self.mostRefused { refused.removeFirst() }
        refused.append((query.text, answer, now + Self.quiet))
    }

    /// Gives all those that wait with the same question the answer of one that nobody has answered: while nobody is
    /// there, a client that asks it many times must not keep the others waiting each time.
    private func settleLate(_ query: PersonQuery, now: UInt64) {
        refuse(query, with: .late, now: now)
        for same in waiting where same.query.text == query.text {
            settled.append(Answered(asker: same.asker, query: same.query, answer: .late, passphrase: nil))
        }
        waiting.removeAll { $0.query.text == query.text }
    }

    /// Reads what the program has written so far.
    func readOutput() { asked?.process.readOutput() }

    /// Asks the program and what it has started to end; the second time, kills them.
    private func endProgram(now: UInt64) {
        guard let asked else { return }
        asked.process.end(asked.wasEnded ? SIGKILL : SIGTERM)
        self.asked?.end = asked.wasEnded ? nil : now + Self.grace
        self.asked?.wasEnded = true
    }
}
