internal import CVaultShim
internal import Glibc
internal import VaultFmt

/// Serves an agent at its sockets, in one thread. A slow client holds up nobody, and while nothing is asked and nothing
/// expires, it does not wake up.
package final class AgentServer {
    private let place: AgentPlace
    private let service: AgentService
    private let confirmations: Confirmations
    private let timer: BootTimer
    private let agent: ListeningSocket
    private let control: ListeningSocket
    private let attached: (any AttachedService)?
    private let vault: ServedVault
    private let watch: (any LockWatch)?
    private var clients: [ClientConnection] = []
    private var chunk = Secret(count: ClientConnection.chunkSize)
    /// Until when no connection is accepted, because there was no descriptor for the last one.
    private var pauseEnd: UInt64?

    /// More connections wait until others end. OpenSSH's clients use one for each session. Those of the control socket are
    /// counted apart: a host to which the agent is forwarded must not keep `vaultfmt lock` out.
    static let mostClients = 240
    static let mostControls = 16
    private static let pause: UInt64 = 1000

    /// Makes the sockets, or takes over the one that systemd has made.
    ///
    /// - `asking`: Starts the program that asks for confirmation; see `Confirmations.Asking`. Nil if there is none.
    /// - `attached`: Another service in the same process and thread.
    /// - `watch`: What locks the vault.
    /// - Throws: `system`, `busy`.
    package init(
        _ vault: ServedVault, at place: AgentPlace, asking: ((String, Int32) throws -> Int32)?,
        attached: (any AttachedService)? = nil, watch: (any LockWatch)? = nil
    ) throws(AgentError) {
        self.place = place
        self.attached = attached
        self.vault = vault
        self.watch = watch
        service = AgentService(vault, canConfirm: asking != nil)
        confirmations = Confirmations(asking)
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
        // Not before: another agent makes sockets of the same names. And not later: whoever sees them gone may start it.
        place.release()
    }

    /// The path of the socket to give to clients; nil if systemd has made it, and has told them.
    package var socketPath: String? { agent.path }

    /// Serves until it is over. The sockets are gone when the server is.
    ///
    /// - `signals`: A descriptor that can be read when it may be over, or when a program that asks has ended.
    /// - `isOver`: Tells whether it is.
    /// - Throws: `system` if it cannot wait for clients.
    package func run(wakenBy signals: Int32, until isOver: () -> Bool) throws(AgentError) {
        while true {
            try settle()
            // Clients may go meanwhile.
            let known = clients
            var polled = [signals, timer.descriptor, confirmations.descriptor ?? -1].map(Self.reading)
            polled += [listening(agent, isControl: false), listening(control, isControl: true)]
            let others = polled.count
            polled += known.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
            for wait in [attached?.wait, watch?.wait].compactMap({ $0 }) {
                polled.append(pollfd(fd: wait.descriptor, events: wait.events, revents: 0))
            }
            guard poll(&polled, nfds_t(polled.count), -1) >= 0 || errno == EINTR else {
                throw AgentError(.system, "cannot wait for clients: \(SystemText.error(errno))")
            }
            if polled[0].revents != 0 {
                var noted = [UInt8](repeating: 0, count: 64)
                _ = read(signals, &noted, noted.count)
                if isOver() { return }
            }
            // Before a request that has come since.
            watch?.serve(vault, now: AgentClock.now())
            if polled[2].revents != 0 { confirmations.readOutput() }
            for (client, state) in zip(known, polled.dropFirst(others)) where state.revents != 0 {
                serve(client, Int32(state.revents))
            }
            if polled[3].revents != 0 { accept(agent, isControl: false) }
            if polled[4].revents != 0 { accept(control, isControl: true) }
            if service.isStopped { return }
        }
    }

    /// Does what time, or the end of a program that asks, has brought, and sets the timer for the next time.
    private func settle() throws(AgentError) {
        let now = AgentClock.now()
        service.expire(now: now)
        watch?.serve(vault, now: now)
        refuseVoid(now: now)
        if let (asker, answer) = confirmations.takeAnswer(now: now) { take(answer, of: asker, now: now) }
        serveAttached(now: now)
        // The attached service may have locked the vault.
        refuseVoid(now: now)
        while let asker = confirmations.askNext(now: now) { take(.notAsked, of: asker, now: now) }
        service.attachedState = attached?.state ?? ""
        for (action, peer) in attached?.takeEvents() ?? [] { service.noteAttached(action, by: peer) }
        if let end = pauseEnd, end <= now { pauseEnd = nil }
        let ends = [service.nextEnd, confirmations.nextEnd, pauseEnd, attached?.nextEnd, watch?.nextEnd]
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
            // Without a free descriptor, the connection waits, and would wake the agent at once.
            if ![EAGAIN, EINTR, ECONNABORTED].contains(errno) { pauseEnd = AgentClock.now() + Self.pause }
            return
        }
        guard let peer = UnixSocket.peer(of: descriptor), peer.user == geteuid() else {
            close(descriptor)
            return
        }
        let known = AgentPeer(process: UInt32(clamping: peer.process), program: AgentPeer.program(of: peer.process))
        clients.append(ClientConnection(descriptor, AgentService.Client(peer: known, isControl: isControl)))
    }

    private func serve(_ client: ClientConnection, _ events: Int32) {
        if events & POLLOUT != 0 {
            if !client.write() { remove(client) }
            return
        }
        guard events & POLLIN != 0, !client.isWaiting else {
            // It has gone while it waited, or without a word.
            return remove(client)
        }
        switch client.read(by: &chunk) {
        case .incomplete: break
        case .closed: remove(client)
        case .request: answer(client, isConfirmed: false)
        }
    }

    private func answer(_ client: ClientConnection, isConfirmed: Bool) {
        let answer = client.withRequest { request in
            service.answer(request, from: &client.client, isConfirmed: isConfirmed, now: AgentClock.now())
        }
        switch answer {
        case .reply(let message): finish(client, with: message)
        case .confirm(let question): confirmations.add(question, from: client)
        }
    }

    private func finish(_ client: ClientConnection, with message: [UInt8]) {
        client.reply(message)
        if !client.write() { remove(client) }
    }

    // MARK: questions and the attached service

    /// Refuses requests that wait for a person although their keys are not served any longer, perhaps because the vault was
    /// locked: nobody should be asked in vain.
    private func refuseVoid(now: UInt64) {
        for client in clients where client.isWaiting && !client.withRequest(service.isServed) {
            confirmations.forget(client, now: now)
            refuse(client, because: "it is not offered any longer")
        }
    }

    /// Serves the attached service, and takes over its questions.
    private func serveAttached(now: UInt64) {
        guard let attached else { return }
        attached.serve(now: now)
        confirmations.forget(now: now) { asker in
            if case .attached(let number) = asker { !attached.isAwaited(number) } else { false }
        }
        while let (number, text) = attached.nextQuestion(now: now) { confirmations.add(text, from: .attached(number)) }
    }

    /// Tells an asker a person's answer.
    private func take(_ answer: PersonAnswer, of asker: Confirmations.Asker, now: UInt64) {
        switch asker {
        case .attached(let number): attached?.take(answer, to: number, now: now)
        case .connection(let client):
            if let refusal = answer.refusal {
                refuse(client, because: refusal)
            } else {
                self.answer(client, isConfirmed: true)
            }
        }
    }

    /// Refuses a signature after a question.
    private func refuse(_ client: ClientConnection, because reason: String) {
        client.withRequest { service.noteRefusal($0, of: client.client, because: reason) }
        finish(client, with: AgentService.failure)
    }

    private func remove(_ client: ClientConnection) {
        clients.removeAll { $0 === client }
        confirmations.forget(client, now: AgentClock.now())
        pauseEnd = nil
    }
}
