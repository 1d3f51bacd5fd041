internal import Glibc
internal import VaultExchange

/// The questions to a person, which are asked one at a time.
final class Questions {
    /// Identifies who is waiting for an answer.
    enum Asker: Hashable, Sendable {
        /// The connection with this number.
        case connection(UInt64)
        /// The attached service, with the number that it gave the question.
        case attached(UInt64)
    }

    /// A question with a person's answer.
    struct Answered {
        let asker: Asker
        let query: PersonQuery
        let answer: PersonAnswer
        /// The passphrase, if one was asked for and the answer is yes.
        let passphrase: SharedSecret?
    }

    private struct Waiting {
        let query: PersonQuery
        let asker: Asker
        /// The process on whose behalf the question is asked; nil if it does not matter.
        var process: UInt32?
        /// The number of questions of the same process that came before this one.
        var turn = 0

        var isAttached: Bool { if case .attached = asker { true } else { false } }
    }

    private struct Asked {
        let query: PersonQuery
        /// The asker that is waiting; nil if it is gone or already has an answer.
        var asker: Asker?
        /// The process of the original asker.
        let client: UInt32?
        let process: AskingProcess
        /// When to send the next signal to a program that does not exit, in milliseconds of the agent's clock; nil
        /// after the last signal.
        var end: UInt64?
        var wasEnded = false
        /// How long to wait for the remaining processes of an exited program, in the same unit; nil before its exit.
        var restEnd: UInt64?
    }

    let programs: AskingPrograms
    private var waiting: [Waiting] = []
    private var asked: Asked?
    /// The answered question whose passphrase is being tried. Its asker keeps waiting.
    private var tried: Answered?
    /// Answers to questions that no longer need to be asked.
    private var settled: [Answered] = []
    /// Questions that a person has just refused or has not answered in time, with the answer to return without asking
    /// again, until `end`.
    private var refused: [(text: String, answer: PersonAnswer, end: UInt64)] = []

    /// In milliseconds: how long a person may take to answer, how long a program may take to exit, and how long to wait
    /// before repeating a question that was refused or not answered. A question names the process that asks, so this
    /// affects only that process.
    static let patience: UInt64 = 120_000
    static let grace: UInt64 = 2000
    static let quiet: UInt64 = 30_000
    /// The interval for checking whether processes of a program that has exited remain, for which there is no event.
    static let restPause: UInt64 = 10
    private static let mostRefused = 64

    init(_ programs: AskingPrograms) { self.programs = programs }

    /// The descriptor to poll, or nil if there is none.
    var descriptor: Int32? { asked?.process.descriptor }

    /// The time by which to call ``takeAnswer(now:)``, even if nothing else has happened.
    var nextEnd: UInt64? { asked?.end }

    /// Adds a question. Connections take precedence over the attached service, whose clients may ask many questions.
    /// Questions of one process are spread out, so that a process with many connections, such as ssh on behalf of
    /// another host, delays others by at most one question.
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

    /// Asks for the passphrase again, before all waiting questions; returns false if too many wrong ones were typed.
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

    // MARK: passphrases that are being tried

    /// Keeps a question while the passphrase that was typed for it is tried.
    func keepTried(_ answered: Answered) {
        tried = Answered(asker: answered.asker, query: answered.query, answer: answered.answer, passphrase: nil)
    }

    /// Returns the question whose passphrase was tried, and no longer keeps it; nil if its asker is gone.
    func takeTried() -> Answered? {
        defer { tried = nil }
        return tried
    }

    /// Asks again, before all waiting questions, if the passphrase was not tried to the end.
    func askTriedAgain() {
        guard let tried = takeTried() else { return }
        waiting.insert(Waiting(query: tried.query, asker: tried.asker), at: 0)
    }

    /// True if anyone waits for a passphrase that opens the vault: to be typed, or to be tried.
    func hasPassphraseAskers(where isMeant: (Asker) -> Bool = { _ in true }) -> Bool {
        if let tried, isMeant(tried.asker) { return true }
        if let asked, asked.query.wantsPassphrase, let asker = asked.asker, isMeant(asker) { return true }
        return waiting.contains { $0.query.wantsPassphrase && isMeant($0.asker) }
    }

    // MARK: removing questions

    /// Removes the questions for a passphrase that no longer apply, of all askers or of those selected; returns the
    /// askers that were waiting.
    func takePassphraseAskers(now: UInt64, where isMeant: (Asker) -> Bool = { _ in true }) -> [Asker] {
        var askers = waiting.filter { $0.query.wantsPassphrase && isMeant($0.asker) }.map(\.asker)
        if let tried, isMeant(tried.asker) {
            askers.insert(tried.asker, at: 0)
            self.tried = nil
        }
        waiting.removeAll { $0.query.wantsPassphrase && isMeant($0.asker) }
        if let asked, asked.query.wantsPassphrase, let asker = asked.asker, isMeant(asker) {
            askers.insert(asker, at: 0)
            self.asked?.asker = nil
            endProgram(now: now)
        }
        return askers
    }

    /// Removes the questions of askers that are gone.
    func forget(now: UInt64, where hasGone: (Asker) -> Bool) {
        waiting.removeAll { hasGone($0.asker) }
        settled.removeAll { hasGone($0.asker) }
        if let tried, hasGone(tried.asker) { self.tried = nil }
        // The program did nothing wrong, but nobody needs its answer any more.
        if asked?.asker.map(hasGone) ?? false {
            asked?.asker = nil
            endProgram(now: now)
        }
    }

    // MARK: asking

    /// Asks the next question unless one is being asked. Returns the answer if the next question does not need to be
    /// asked.
    ///
    /// - `mayAsk`: Whether a new question may be asked.
    func askNext(now: UInt64, mayAsk: Bool = true) -> Answered? {
        if !settled.isEmpty { return settled.removeFirst() }
        guard mayAsk, asked == nil, !waiting.isEmpty else { return nil }
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

    /// Returns the answer once there is one or the program has run out of time; call it after each event.
    func takeAnswer(now: UInt64) -> Answered? {
        guard let asked else { return nil }
        asked.process.noteEnd()
        if let asker = asked.asker, let answer = asked.process.answer {
            return take(answer, of: asked, asker, now: now)
        }
        guard !asked.process.hasEnded else {
            awaitRest(now: now)
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
        if asked.process.hasEnded { awaitRest(now: now) } else { endProgram(now: now) }
        return Answered(asker: asker, query: asked.query, answer: answer, passphrase: passphrase)
    }

    /// The answer to a question that a person has just refused.
    private static let refusedBefore = PersonAnswer.failed("the user refused it a moment ago")

    private func refuse(_ query: PersonQuery, with answer: PersonAnswer, now: UInt64) {
        if refused.count == Self.mostRefused { refused.removeFirst() }
        refused.append((query.text, answer, now + Self.quiet))
    }

    /// Answers every waiting copy of a question that timed out. While the user is away, a client that repeats its
    /// question must not make others wait for the timeout each time.
    private func settleLate(_ query: PersonQuery, now: UInt64) {
        refuse(query, with: .late, now: now)
        for same in waiting where same.query.text == query.text {
            settled.append(Answered(asker: same.asker, query: same.query, answer: .late, passphrase: nil))
        }
        waiting.removeAll { $0.query.text == query.text }
    }

    /// Reads what the program has written so far.
    func readOutput() { asked?.process.readOutput() }

    /// Lets the next question be asked once no process of the last program remains: its child processes were killed,
    /// but may hold the screen or the terminal a moment longer. A process that cannot be killed, or that is never
    /// waited for, delays the next question no longer than a program that is asked to exit.
    private func awaitRest(now: UInt64) {
        guard let asked else { return }
        let restEnd = asked.restEnd ?? now + Self.grace
        guard asked.process.hasRest, now < restEnd else {
            self.asked = nil
            return
        }
        self.asked?.restEnd = restEnd
        self.asked?.end = min(now + Self.restPause, restEnd)
    }

    /// Terminates the program and what it has started; kills them the second time.
    private func endProgram(now: UInt64) {
        guard let asked else { return }
        asked.process.end(asked.wasEnded ? SIGKILL : SIGTERM)
        self.asked?.end = asked.wasEnded ? nil : now + Self.grace
        self.asked?.wasEnded = true
    }
}
