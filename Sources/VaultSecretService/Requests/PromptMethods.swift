package import VaultAgent
internal import VaultFmt

// The methods of a prompt, and the answers of a person.
extension SecretService {
    func promptCall(_ call: BusCall, _ number: UInt64, now: UInt64) throws(BusError) -> [BusValue] {
        guard let prompt = prompts[number], prompt.client == call.client else {
            throw .noObject("there is no such prompt")
        }
        var arguments = BusArguments(call)
        switch call.member {
        case "Prompt":
            // The identifier of the client's window, which this service does not use.
            _ = try arguments.text()
            try arguments.end()
            guard !prompt.isAsked else { throw .failed("the prompt has already been shown") }
            prompts.setAsked(number)
            goOn(number, now: now)
        case "Dismiss":
            try arguments.end()
            end(number, isDismissed: true)
        default: throw .noMethod
        }
        return []
    }

    /// Creates a prompt and returns its path.
    func prompt(_ action: ServicePrompts.Action, for client: BusClient) throws(BusError) -> BusValue {
        .path(ServiceObject.prompt(try prompts.add(action, for: client)).path)
    }

    /// True if `nextQuestion` may return a question.
    package var hasQuestion: Bool { prompts.hasQuestion }

    /// Returns the next question for a person, and forgets it.
    package func nextQuestion(now: UInt64) -> PersonQuestion? {
        while let (number, kind) = prompts.nextQuestion() {
            guard case .consent = kind else {
                prompts.setPut(number, about: [])
                return PersonQuestion(number: number, kind: .unlock(path: collections.vaultPath))
            }
            guard let prompt = prompts[number] else { continue }
            if let question = question(prompt) {
                prompts.setPut(number, about: question.items, secretTimes: secretTimes(of: question.items))
                return PersonQuestion(number: number, kind: .confirm(question.text))
            }
            // In the meantime, a person has agreed to this in another question, or the question's subject has ceased to
            // exist.
            carryOut(number, now: now)
            noteTime()
        }
        return nil
    }

    private func secretTimes(of items: [ItemID]) -> [ItemID: Int64] {
        var times: [ItemID: Int64] = [:]
        for item in items { times[item] = collections.remembered?[item]?.secretChanged }
        return times
    }

    /// Opens the vault if it is opened on demand and that requires no prompt; returns whether a person has to be asked.
    func readiness(now: UInt64) -> ServedVault.Readiness { collections.readiness(now: now) }

    /// Returns the question for the vault's passphrase on behalf of a prompt's client; nil if the prompt no longer
    /// exists.
    func passphraseQuestion(_ number: UInt64) -> String? {
        guard let client = prompts[number]?.client else { return nil }
        return AgentPeer(process: client.process, program: client.program)
            .passphraseQuestion(vault: collections.vaultPath)
    }

    /// Returns whether anyone is still waiting for the answer to a question, given its number.
    package func isAwaited(_ number: UInt64) -> Bool { prompts[number] != nil }

    /// Handles a person's answer.
    package func take(_ answer: PersonAnswer, to question: PersonQuestion, now: UInt64) {
        guard let prompt = prompts[question.number] else { return }
        switch (question.kind, answer.refusal) {
        case (.confirm, nil): carryOut(question.number, now: now, agreed: prompt.subjects)
        case (.unlock, nil):
            if !collections.isLocked { note("opened the vault", by: prompt.client) }
            goOn(question.number, now: now, isUnlockAsked: true)
        case (.confirm, let refusal?): refuse(question.number, because: refusal)
        case (.unlock, let refusal?):
            let reason = answer == .notAsked ? "" : ", and is not opened: \(refusal)"
            refuse(question.number, because: "the vault is locked" + reason)
        }
        noteTime()
    }

    /// Performs a prompt's action, or asks a person first.
    func goOn(_ number: UInt64, now: UInt64, isUnlockAsked: Bool = false) {
        guard let prompt = prompts[number] else { return }
        let isOpen: Bool
        do throws(BusError) { isOpen = try collections.listing(now: now) != nil } catch { isOpen = false }
        guard isOpen else {
            guard !isUnlockAsked, case .unlock = prompt.action else { return end(number, isDismissed: true) }
            return prompts.ask(number, .unlock(path: collections.vaultPath))
        }
        guard question(prompt) != nil else { return carryOut(number, now: now) }
        prompts.ask(number, .consent)
    }

    /// Refuses a prompt's action.
    private func refuse(_ number: UInt64, because reason: String) {
        guard let prompt = prompts[number] else { return }
        note("refused: \(subject(prompt).map { $0.text + ": " } ?? "")\(reason)", by: prompt.client)
        end(number, isDismissed: true)
    }

    // MARK: carrying out

    /// Performs a prompt's action.
    ///
    /// - `agreed`: The items that a person has agreed to; nil if no question was necessary.
    private func carryOut(_ number: UInt64, now: UInt64, agreed: [ItemID]? = nil) {
        guard let prompt = prompts[number] else { return }
        let subject = subject(prompt)?.text
        do throws(BusError) {
            guard let listing = try collections.listing(now: now) else { throw .isLocked() }
            try requireNoLock()
            // The action may need consent by now, even if it did not a moment ago.
            guard agreed != nil || question(prompt) == nil else { return prompts.ask(number, .consent) }
            switch prompt.action {
            case .unlock(let paths): try unlock(number, prompt, paths, agreed ?? [], now: now)
            case .read(let group, let id, let session):
                let item = try Self.found(listing.item(group, id))
                permit([id], for: prompt.client)
                let cipher = try sessions.cipher(session, of: prompt.client)
                let secret = try secret(of: item, session, cipher, for: prompt.client, now: now)
                prompts.remove(number)
                reply(to: number, [secret.busValue])
            case .repeated(let call):
                let values = try reply(to: call, now: now)
                prompts.remove(number)
                reply(to: number, values)
            case .replace(let id, let item):
                let old = try Self.found(listing.item(item.group, id))
                if agreed != nil { try prompt.requireAgreed(old) }
                let made = try store(item, replacing: old, for: prompt.client, now: now)
                end(number, isDismissed: false, made: made)
            case .deleteItem(let group, let id):
                let item = try Self.found(listing.item(group, id))
                if agreed != nil { try prompt.requireAgreed(item) }
                try delete(item, for: prompt.client, now: now)
                end(number, isDismissed: false)
            case .deleteCollection(let group):
                let agreedTimes = agreed == nil ? nil : prompt.secretTimes
                try deleteCollection(group, agreed: agreedTimes, for: prompt.client, now: now)
                end(number, isDismissed: false)
            }
        } catch {
            note("refused: \(subject.map { $0 + ": " } ?? "")\(error.message)", by: prompt.client)
            end(number, isDismissed: true)
        }
    }

    private static func found(_ item: ListedItem?) throws(BusError) -> ListedItem {
        guard let item else { throw .noObject("there is no such item") }
        return item
    }

    /// Unlocks the items that a person has agreed to, and asks about the rest.
    private func unlock(
        _ number: UInt64, _ prompt: ServicePrompts.Prompt, _ paths: [String], _ agreed: [ItemID], now: UInt64
    ) throws(BusError) {
        if !agreed.isEmpty {
            permit(agreed, for: prompt.client)
            let names = agreed.compactMap { collections.remembered?[$0] }.map(Self.name).joined(separator: ", ")
            note("unlocked the \(agreed.count == 1 ? "secret" : "secrets") \(names)", by: prompt.client)
        }
        // The client asked for these objects while the vault was locked, so they may not exist.
        var known: [String] = []
        for path in paths where try exists(path, now: now) { known.append(path) }
        prompts.replace(number, .unlock(known))
        guard !known.contains(where: { isLocked($0, for: prompt.client) }) else {
            return prompts.ask(number, .consent)
        }
        end(number, isDismissed: false)
    }

    /// While the vault is locked, dismisses the prompts that cannot have any effect and those that hold a secret, so
    /// that nobody is asked in vain.
    func endVoidPrompts() {
        for number in prompts.numbersAwaitingConsent { refuse(number, because: "the vault was locked") }
        for number in prompts.numbersWithSecret { end(number, isDismissed: true) }
    }

    /// Ends all prompts and waiting calls because the agent is exiting; otherwise their clients would wait forever.
    package func endPrompts() {
        for number in prompts.numbers { end(number, isDismissed: true) }
    }

    /// - `made`: The path of the item that was stored.
    private func end(_ number: UInt64, isDismissed: Bool, made: String = "/") {
        guard let prompt = prompts[number] else { return }
        prompts.remove(number)
        let result: BusValue =
            switch prompt.action {
            case .read, .repeated: .noPath
            case .unlock(let paths): .paths(isDismissed ? [] : paths)
            case .replace: .path(made)
            case .deleteItem, .deleteCollection: .text("")
            }
        switch prompt.action {
        case .read, .repeated: return reply(to: number, nil)
        case .unlock, .replace, .deleteItem, .deleteCollection: break
        }
        emit(
            ServiceSignals.completed(
                ServiceObject.prompt(number).path, isDismissed: isDismissed, result, to: prompt.client))
    }
}
