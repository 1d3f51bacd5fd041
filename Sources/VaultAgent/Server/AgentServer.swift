internal import CVaultShim
internal import Glibc
internal import VaultFmt

/// Serves an agent's clients in a single thread. A slow client does not delay the others, and the thread sleeps until
/// there is a request or something expires.
package final class AgentServer {
    private let place: AgentPlace
    private let service: AgentService
    private let questions: Questions
    private let timer: BootTimer
    private let agent: ListeningSocket
    private let control: ListeningSocket
    private let attached: (any AttachedService)?
    private let vault: ServedVault
    private let watch: (any LockWatch)?
    private var clients: [ClientConnection] = []
    private var lastNumber: UInt64 = 0
    /// The number of requests to lock the vault that have been dealt with.
    private var lockRequests: UInt64
    private var chunk = Secret(count: ClientConnection.chunkSize)
    /// When to start accepting connections again, after running out of file descriptors.
    private var pauseEnd: UInt64?

    /// Further connections wait until others have ended. OpenSSH's clients open one connection for each session.
    /// Connections to the control socket are counted separately, so that a host to which the agent is forwarded cannot
    /// lock out `vaultfmt lock`.
    static let mostClients = 240
    static let mostControls = 16
    private static let pause: UInt64 = 1000

    /// Creates the sockets, or takes over the one created by systemd.
    ///
    /// - `asking`: The programs that ask a person.
    /// - `attached`: Another service that shares this process and thread.
    /// - `watch`: Tells the server when to lock the vault.
    /// - Throws: `system`, `busy`.
    package init(
        _ vault: ServedVault, at place: AgentPlace, asking: AskingPrograms, attached: (any AttachedService)? = nil,
        watch: (any LockWatch)? = nil
    ) throws(AgentError) {
        self.place = place
        self.attached = attached
        self.vault = vault
        self.watch = watch
        service = AgentService(vault, canConfirm: asking.canAskForConsent, asking: asking.names)
        questions = Questions(asking)
        lockRequests = vault.lockRequests
        // Opening the vault may have needed much, and each password of a lock needs 8 MiB for a moment.
        vault_keep_little_memory()
        timer = try BootTimer()
        if let activated = place.activated {
            agent = activated
        } else {
            agent = try ListeningSocket(at: place.folder.agentSocket)
        }
        control = try ListeningSocket(at: place.folder.controlSocket)
    }

    deinit {
        attached?.end()
        agent.end()
        control.end()
        // Not earlier, because another agent could create sockets of the same names. Not later, because a program that
        // sees the sockets gone may start another agent.
        place.release()
    }

    /// The path of the socket to pass on to clients; nil if systemd created the socket and announces it.
    package var socketPath: String? { agent.path }

    /// Serves clients until `isOver` returns true. The sockets exist as long as the server does.
    ///
    /// - `signals`: A descriptor that becomes readable when `isOver` may have changed, or when a program that asks has
    ///   exited.
    /// - `isOver`: Returns whether to stop serving.
    /// - Throws: `system` if waiting for clients fails.
    package func run(wakenBy signals: Int32, until isOver: () -> Bool) throws(AgentError) {
        defer { vault.abandonOpening() }
        while true {
            try settle()
            // Clients may disconnect in the meantime.
            let known = clients
            var polled = [signals, timer.descriptor, questions.descriptor ?? -1].map(Self.reading)
            polled += [listening(agent, isControl: false), listening(control, isControl: true)]
            let others = polled.count
            polled += known.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
            for wait in [attached?.wait, watch?.wait].compactMap({ $0 }) {
                polled.append(pollfd(fd: wait.descriptor, events: wait.events, revents: 0))
            }
            if let descriptor = vault.opening?.descriptor { polled.append(Self.reading(descriptor)) }
            guard poll(&polled, nfds_t(polled.count), -1) >= 0 || errno == EINTR else {
                throw AgentError(.system, "cannot wait for clients: \(SystemText.error(errno))")
            }
            if polled[0].revents != 0 {
                var noted = [UInt8](repeating: 0, count: 64)
                _ = read(signals, &noted, noted.count)
                if isOver() { return }
            }
            // Before any request that has arrived since.
            watch?.serve(vault, now: AgentClock.now())
            if polled[2].revents != 0 { questions.readOutput() }
            for (client, state) in zip(known, polled.dropFirst(others)) where state.revents != 0 {
                serve(client, Int32(state.revents))
            }
            if polled[3].revents != 0 { accept(agent, isControl: false) }
            if polled[4].revents != 0 { accept(control, isControl: true) }
            if service.isStopped { return }
        }
    }

    /// Handles everything that has expired and every program that has exited, and sets the timer for the next event.
    private func settle() throws(AgentError) {
        let now = AgentClock.now()
        service.expire(now: now)
        watch?.serve(vault, now: now)
        refuseVoid(now: now)
        // First, because a passphrase that was typed before someone locked the vault must not open it.
        settleOpening(now: now)
        takeOpening(now: now)
        if let answered = questions.takeAnswer(now: now) { take(answered, now: now) }
        serveAttached(now: now)
        // The attached service may have locked the vault.
        refuseVoid(now: now)
        settleOpening(now: now)
        // A person who has just typed the passphrase is not asked for it again before it is known to be wrong.
        while let answered = questions.askNext(now: now, mayAsk: vault.opening == nil) { take(answered, now: now) }
        service.attachedState = attached?.state ?? ""
        for (action, peer) in attached?.takeEvents() ?? [] { service.noteAttached(action, by: peer) }
        if let end = pauseEnd, end <= now { pauseEnd = nil }
        let ends = [
            service.nextEnd, questions.nextEnd, vault.opening?.end, pauseEnd, attached?.nextEnd, watch?.nextEnd,
        ]
        try timer.set(ends.compactMap { $0 }.min())
    }

    private static func reading(_ descriptor: Int32) -> pollfd {
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    }

    private func listening(_ socket: ListeningSocket, isControl: Bool) -> pollfd {
        let count = clients.count { $0.client.isControl == isControl }
        let isFull = count >= (isControl ? Self.mostControls : Self.mostClients)
        return Self.reading(isFull || pauseEnd != nil ? -1 : socket.descriptor)
    }

    // MARK: clients

    private func accept(_ listening: ListeningSocket, isControl: Bool) {
        let descriptor = Glibc.accept(listening.descriptor, nil, nil)
        guard descriptor >= 0 else {
            // If no file descriptor is free, the connection stays pending and would wake the agent again immediately.
            if ![EAGAIN, EINTR, ECONNABORTED].contains(errno) { pauseEnd = AgentClock.now() + Self.pause }
            return
        }
        guard let peer = UnixSocket.peer(of: descriptor), peer.user == geteuid() else {
            close(descriptor)
            return
        }
        let known = AgentPeer(process: UInt32(clamping: peer.process), program: AgentPeer.program(of: peer.process))
        lastNumber += 1
        clients.append(ClientConnection(descriptor, lastNumber, AgentService.Client(peer: known, isControl: isControl)))
    }

    private func serve(_ client: ClientConnection, _ events: Int32) {
        if events & POLLOUT != 0 {
            if !client.write() { remove(client) }
            return
        }
        guard events & POLLIN != 0, !client.isWaiting else {
            // The client disconnected, either while it was waiting or without sending a request.
            return remove(client)
        }
        switch client.read(by: &chunk) {
        case .incomplete: break
        case .closed: remove(client)
        case .request: answer(client, isConfirmed: false)
        }
    }

    private func answer(_ client: ClientConnection, isConfirmed: Bool, mayOpen: Bool = true) {
        let answer = client.withRequest { request in
            service.answer(
                request, from: &client.client, isConfirmed: isConfirmed, mayOpen: mayOpen, now: AgentClock.now())
        }
        switch answer {
        case .reply(let message):
            // This must come before the client is told that it has locked the agent.
            if service.isClientLocked, !questions.hasPassphraseAskers(where: Self.isAttached) { vault.abandonOpening() }
            finish(client, with: message)
        case .confirm(let question):
            (client.isWaiting, client.awaitsVault) = (true, false)
            client.lockCount = vault.lockCount
            questions.add(
                PersonQuery(text: question, wanted: .consent), from: .connection(client.number),
                of: client.client.peer.process)
        case .open(let question):
            (client.isWaiting, client.awaitsVault) = (true, true)
            questions.add(
                PersonQuery(text: question, wanted: .passphrase(wrong: 0)), from: .connection(client.number),
                of: client.client.peer.process)
        }
    }

    private func finish(_ client: ClientConnection, with message: [UInt8]) {
        client.reply(message)
        if !client.write() { remove(client) }
    }

    // MARK: questions and the attached service

    /// Refuses requests that wait for a person although their keys are no longer available, perhaps because the vault
    /// was locked. Nobody should be asked in vain, and no answer remains valid after a lock, even if the vault has been
    /// reopened since.
    private func refuseVoid(now: UInt64) {
        for client in clients where client.isWaiting && !client.awaitsVault {
            let isServed = client.withRequest { service.isServed($0, sinceLock: client.lockCount) }
            guard !isServed else { continue }
            forgetQuestions(of: client, now: now)
            refuse(client, because: "it is no longer offered")
        }
    }

    /// Serves the attached service, and takes over its questions.
    private func serveAttached(now: UInt64) {
        guard let attached else { return }
        attached.serve(now: now)
        questions.forget(now: now) { asker in
            if case .attached(let number) = asker { !attached.isAwaited(number) } else { false }
        }
        while let question = attached.nextQuestion(now: now) {
            let wanted: PersonQuery.Wanted = question.opensVault ? .passphrase(wrong: 0) : .consent
            questions.add(PersonQuery(text: question.text, wanted: wanted), from: .attached(question.number))
        }
    }

    private func forgetQuestions(of client: ClientConnection, now: UInt64) {
        questions.forget(now: now) { $0 == .connection(client.number) }
    }

    /// Tells everyone waiting for the vault that it is open, or that someone has locked the vault or the agent.
    private func settleOpening(now: UInt64) {
        let isLocked = lockRequests != service.lockRequests
        lockRequests = service.lockRequests
        if isLocked || service.isVaultOpen {
            let answer: PersonAnswer = service.isVaultOpen ? .yes : .failed("the vault was locked")
            let askers = questions.takePassphraseAskers(now: now)
            for asker in askers { tell(answer, to: asker, opensVault: true, now: now) }
        } else if service.isClientLocked {
            // The attached service is not affected by this lock.
            let askers = questions.takePassphraseAskers(now: now) { !Self.isAttached($0) }
            let answer = PersonAnswer.failed("the agent is locked with a password")
            for asker in askers { tell(answer, to: asker, opensVault: true, now: now) }
        }
        if vault.opening != nil, !questions.hasPassphraseAskers() { vault.abandonOpening() }
    }

    private static func isAttached(_ asker: Questions.Asker) -> Bool {
        if case .attached = asker { true } else { false }
    }

    /// Takes the result of the process that opens the vault with a typed passphrase, once it is known.
    private func takeOpening(now: UInt64) {
        // The process was abandoned because the vault was opened in another way, and the vault has since been locked.
        guard vault.opening != nil else { return questions.askTriedAgain() }
        guard let result = service.finishOpening(now: now) else { return }
        if let answered = questions.takeTried() { take(result, of: answered, now: now) }
    }

    /// Handles a person's answer: starts to open the vault with the passphrase that was typed, or passes the answer to
    /// the asker.
    private func take(_ answered: Questions.Answered, now: UInt64) {
        guard let passphrase = answered.passphrase else {
            let opensVault = answered.query.wantsPassphrase
            return tell(answered.answer, to: answered.asker, opensVault: opensVault, now: now)
        }
        let result = service.beginOpening(typed: passphrase, for: peer(of: answered.asker), now: now)
        guard let result else { return questions.keepTried(answered) }
        take(result, of: answered, now: now)
    }

    /// Handles the result of trying a passphrase: tells its asker, or asks again. All others who wait for the vault are
    /// told once it is open.
    private func take(_ result: ServedVault.Typed, of answered: Questions.Answered, now: UInt64) {
        func tell(_ answer: PersonAnswer) {
            self.tell(answer, to: answered.asker, opensVault: true, now: now)
        }
        switch result {
        case .opened: tell(.yes)
        case .wrong:
            guard !questions.retry(answered, now: now) else { return }
            tell(.failed("\(PersonQuery.mostTries) wrong passphrases were typed"))
        case .refused(let reason): tell(.failed(reason))
        }
    }

    /// Returns the process that asks; nil for the attached service, which reports its clients itself.
    private func peer(of asker: Questions.Asker) -> AgentPeer? {
        guard case .connection(let number) = asker else { return nil }
        return clients.first { $0.number == number }?.client.peer
    }

    /// Passes a person's answer to an asker.
    ///
    /// - `opensVault`: Whether the question was for a passphrase; a yes to that is not consent to sign.
    private func tell(_ answer: PersonAnswer, to asker: Questions.Asker, opensVault: Bool, now: UInt64) {
        switch asker {
        case .attached(let number): attached?.take(answer, to: number, now: now)
        case .connection(let number):
            guard let client = clients.first(where: { $0.number == number }) else { return }
            switch (answer.refusal, client.awaitsVault) {
            case (nil, let awaitsVault):
                // A time limit may lock the vault at this very moment, and consent must not reopen it.
                let isConsent = !awaitsVault && !opensVault
                self.answer(client, isConfirmed: isConsent, mayOpen: !isConsent)
            case (let refusal?, false): refuse(client, because: refusal)
            case (let refusal?, true):
                service.noteRefusal(of: client.client, because: "the vault is not opened: \(refusal)")
                self.answer(client, isConfirmed: false, mayOpen: false)
            }
        }
    }

    /// Refuses a sign request after a question.
    private func refuse(_ client: ClientConnection, because reason: String) {
        client.withRequest { service.noteRefusal($0, of: client.client, because: reason) }
        finish(client, with: AgentService.failure)
    }

    private func remove(_ client: ClientConnection) {
        clients.removeAll { $0 === client }
        forgetQuestions(of: client, now: AgentClock.now())
        pauseEnd = nil
    }
}
