internal import VaultExchange
internal import VaultFmt
internal import VaultLocal

/// Answers the requests of clients (RFC 9987). It knows nothing of sockets, and never waits.
package final class AgentService {
    /// What a client gets.
    package enum Answer: Sendable {
        case reply([UInt8])
        /// Nothing until a person has answered this question; then ``answer(_:from:isConfirmed:now:)`` is called again
        /// with the same request, or ``failure`` is the reply.
        case confirm(String)
        /// Nothing until the vault is open, for which this question asks a person for its passphrase. Then the same
        /// method is called again; or, if it is not opened, with `mayOpen` false.
        case open(String)
    }

    /// What is known of a client.
    package struct Client: Sendable {
        private let process: AgentPeer
        /// Whether it came through the control socket, which ssh never forwards.
        package let isControl: Bool
        var bindings = SessionBindings()

        package init(peer: AgentPeer, isControl: Bool) {
            process = peer
            self.isControl = isControl
        }

        package var peer: AgentPeer {
            var peer = process
            peer.isForwarded = bindings.isForwarded
            return peer
        }
    }

    /// The reply to whatever was refused.
    package static let failure: [UInt8] = [AgentMessage.failure]
    private static let success: [UInt8] = [AgentMessage.success]

    private let vault: ServedVault
    /// Whether there is a way to ask a person.
    private let canConfirm: Bool
    /// Which programs those are, for people; empty if there is none.
    private let asking: String
    private var added = AddedKeys()
    private var lock = AgentLock()
    private var activity = AgentActivity()
    /// The state of another service of the agent; empty if there is none.
    var attachedState = ""
    /// Whether a client has asked that the agent ends.
    package private(set) var isStopped = false

    package init(_ vault: ServedVault, canConfirm: Bool, asking: String = "") {
        self.vault = vault
        self.canConfirm = canConfirm
        self.asking = asking
    }

    // MARK: time

    /// Forgets what has expired.
    package func expire(now: UInt64) {
        added.expire(now: now)
        vault.expire(now: now)
    }

    /// When ``expire(now:)`` is to be called next, in milliseconds of the agent's clock.
    package var nextEnd: UInt64? { [added.nextEnd, vault.nextEnd].compactMap { $0 }.min() }

    // MARK: requests

    /// Answers a request, without its length.
    ///
    /// - `isConfirmed`: Whether a person has agreed to it.
    /// - `mayOpen`: Whether the vault may be opened for it.
    package func answer(
        _ request: UnsafeRawBufferPointer, from client: inout Client, isConfirmed: Bool = false, mayOpen: Bool = true,
        now: UInt64
    ) -> Answer {
        expire(now: now)
        var reader = WireReader(request)
        do {
            let type = try reader.byte()
            if type == AgentMessage.extension { return .reply(extend(&reader, &client, now: now)) }
            if client.isControl { throw AgentError(.unsupported, "keys are not served at the control socket") }
            if mayOpen, let question = passphraseQuestion(request, client, now: now) { return .open(question) }
            if type == AgentMessage.signRequest {
                return try sign(&reader, client, isConfirmed: isConfirmed, now: now)
            }
            return .reply(try reply(to: type, &reader, client, now: now))
        } catch {
            activity.note("refused: \(ServedVault.text(error))", by: client.peer)
            return .reply(Self.failure)
        }
    }

    /// Opens the vault if a request needs it. Returns a question if that needs a passphrase.
    private func passphraseQuestion(_ request: UnsafeRawBufferPointer, _ client: Client, now: UInt64) -> String? {
        guard !lock.isLocked, vault.lockedReason != nil, needsVault(request) else { return nil }
        guard vault.demand(now: now) == .needsPassphrase else { return nil }
        return client.peer.passphraseQuestion(vault: vault.path)
    }

    private func needsVault(_ request: UnsafeRawBufferPointer) -> Bool {
        guard let type = request.first else { return false }
        if type == AgentMessage.requestIdentities { return request.count == 1 && vault.remembered.isEmpty }
        guard type == AgentMessage.signRequest, let identity = SignRequest.identity(in: request) else { return false }
        return added.find(identity) == nil
    }

    /// Answers a request. Each is read to its end before anything is done, so that one that fails has done nothing.
    private func reply(
        to type: UInt8, _ reader: inout WireReader, _ client: Client, now: UInt64
    ) throws -> [UInt8] {
        switch type {
        case AgentMessage.requestIdentities:
            try reader.end()
            return try identities(client, now: now)
        case AgentMessage.unlock:
            try requireLocal(client)
            try lock.unlock(try Self.only(&reader), now: now)
            activity.note("unlocked the agent", by: client.peer)
        case _ where lock.isLocked: throw Self.isLocked
        case AgentMessage.lock:
            try requireLocal(client)
            try lock.lock(try Self.only(&reader))
            activity.note("locked the agent", by: client.peer)
        case AgentMessage.addIdentity, AgentMessage.addConstrained:
            try requireLocal(client)
            let entry = try added.add(&reader, isConstrained: type == AgentMessage.addConstrained, now: now)
            activity.note("added the key \(entry.comment)", by: client.peer)
        case AgentMessage.removeIdentity:
            try requireLocal(client)
            try remove(Array(try Self.only(&reader)), client, now: now)
        case AgentMessage.removeAllIdentities, AgentMessage.removeAllIdentitiesOfVersion1:
            try requireLocal(client)
            try reader.end()
            try removeAll(client, now: now)
        default: throw AgentError(.unsupported, "a request of type \(type) is not known")
        }
        return Self.success
    }

    /// Reads the only argument of a request.
    private static func only(_ reader: inout WireReader) throws(AgentError) -> UnsafeRawBufferPointer {
        let argument = try reader.string()
        try reader.end()
        return argument
    }

    private static let noKey = AgentError(.unavailable, "the agent has no such key")
    private static let isLocked = AgentError(.unavailable, "the agent is locked with a password")

    /// Refuses a request that another host must not make over a forwarded connection, or one that may be.
    private func requireLocal(_ client: Client) throws {
        guard !client.bindings.isForwarded else {
            throw AgentError(.refused, "keys are not managed over a forwarded connection")
        }
    }

    private func remove(_ identity: [UInt8], _ client: Client, now: UInt64) throws {
        // Both: else the vault's key would take the place of one that was added with constraints.
        let wasAdded = added.remove(identity)
        let wasOffered = try vault.hide(identity, now: now)
        guard wasAdded || wasOffered else { throw Self.noKey }
        activity.note("removed the key \(PublicKey.fingerprint(of: identity))", by: client.peer)
    }

    private func removeAll(_ client: Client, now: UInt64) throws {
        let count = try added.entries.count + vault.listed(now: now).count
        added.removeAll()
        try vault.hideAll(now: now)
        // 'ssh-add -D' sends two requests, of which the second one finds nothing.
        if count > 0 { activity.note("removed all keys", by: client.peer) }
    }

    // MARK: identities

    private func identities(_ client: Client, now: UInt64) throws -> [UInt8] {
        var all: [(identity: [UInt8], comment: String)] = []
        if !lock.isLocked {
            let time = AgentClock.calendarTime()
            for entry in added.entries
            where client.bindings.permits(entry.constraints.destinations, user: nil, at: time) {
                all.append((entry.identity, entry.comment))
            }
            for key in try vault.listed(now: now) {
                // A key that was added hides the same one of the vault, also where its destinations hide it.
                for identity in key.identities
                where added.find(identity) == nil && !all.contains(where: { $0.identity == identity }) {
                    all.append((identity, key.comment))
                }
            }
            activity.note("listed \(all.count) \(all.count == 1 ? "key" : "keys")", by: client.peer)
        }
        var list: [UInt8] = []
        var count: UInt32 = 0
        // Keys of the greatest size with long comments can be more than a message holds.
        for (identity, comment) in all
        where list.count + identity.count + comment.utf8.count + 64 < AgentMessage.longest {
            list.append(string: identity)
            list.append(text: comment)
            count += 1
        }
        var reply = [AgentMessage.identitiesAnswer]
        reply.append(number: count)
        return reply + list
    }

    private func sign(
        _ reader: inout WireReader, _ client: Client, isConfirmed: Bool, now: UInt64
    ) throws -> Answer {
        guard !lock.isLocked else { throw Self.isLocked }
        let request = try SignRequest(&reader)
        do { return try sign(request, client, isConfirmed: isConfirmed, now: now) } catch {
            throw AgentError(.refused, "\(name(of: request.identity)): \(ServedVault.text(error))")
        }
    }

    /// The comment of a key, or its fingerprint if it is not known.
    private func name(of identity: [UInt8]) -> String {
        added.find(identity)?.comment ?? vault.lastListed.first { $0.identities.contains(identity) }?.comment
            ?? PublicKey.fingerprint(of: identity)
    }

    private func sign(
        _ request: SignRequest, _ client: Client, isConfirmed: Bool, now: UInt64
    ) throws -> Answer {
        let (identity, data) = (request.identity, request.data)
        let entry = added.find(identity)
        let offers = try entry == nil ? vault.offers(of: identity, now: now) : []
        guard let comment = entry?.comment ?? offers.first?.comment,
            let key = (entry?.key ?? offers.first?.publicKey)?.blob
        else { throw lockedKey(identity) ?? Self.noKey }
        var purpose = ""
        if let destinations = entry?.constraints.destinations {
            let request = try AuthenticationRequest(data, for: identity)
            try client.bindings.check(request, destinations, at: AgentClock.calendarTime())
            purpose = " to log in as \(TerminalText.quoted(request.user))"
        }
        // Another item with the same key, or adding it, must not be a way around the question.
        if try !isConfirmed && (added.needsConfirmation(key) || vault.needsConfirmation(key, now: now)) {
            guard canConfirm else {
                throw AgentError(
                    .refused,
                    "it needs confirmation, but no program can ask for it; set SSH_ASKPASS, or name a pinentry")
            }
            return .confirm(question(comment, identity, purpose, client))
        }
        let signature =
            try entry?.sign(data, flags: request.flags)
            ?? vault.sign(data, identity: identity, flags: request.flags, now: now)
        let consent = isConfirmed ? ", as a person agreed" : ""
        activity.note("signed with \(comment)\(purpose)\(consent)", by: client.peer)
        var reply = [AgentMessage.signResponse]
        reply.append(string: signature)
        return .reply(reply)
    }

    /// Why a key that is listed cannot sign while the vault is locked; nil if it is not listed.
    private func lockedKey(_ identity: [UInt8]) -> AgentError? {
        guard let reason = vault.lockedReason, vault.remembered.contains(where: { $0.identities.contains(identity) })
        else { return nil }
        return AgentError(.unavailable, "the vault is locked: \(reason)")
    }

    private func question(_ comment: String, _ identity: [UInt8], _ purpose: String, _ client: Client) -> String {
        let program = TerminalText.quoted(client.peer.program)
        let way = client.bindings.isForwarded ? ", for another host," : ""
        return "Allow \(program) (process \(client.peer.process))\(way) to use the key \(TerminalText.quoted(comment))"
            + "\(purpose)?\n\(PublicKey.fingerprint(of: identity))"
    }

    /// Notes what another service of the agent has done.
    func noteAttached(_ action: String, by peer: AgentPeer) { activity.note(action, by: peer, way: .attached) }

    /// Whether a request to sign, which waits for an answer, is for a key that is still served.
    ///
    /// - `count`: How often the vault was locked before the person was asked. If it was locked since, its keys are not
    ///   those that the question was about.
    func isServed(_ request: UnsafeRawBufferPointer, sinceLock count: UInt64) -> Bool {
        guard !lock.isLocked, let identity = SignRequest.identity(in: request) else { return false }
        if added.find(identity) != nil { return true }
        return vault.lockCount == count && vault.lastOffers.contains { $0.identities.contains(identity) }
    }

    /// Notes that a request to sign is refused after a question, and why.
    func noteRefusal(_ request: UnsafeRawBufferPointer, of client: Client, because reason: String) {
        let name = SignRequest.identity(in: request).map(name) ?? "a signature"
        activity.note("refused: \(name): \(reason)", by: client.peer)
    }

    /// Notes that a request of a client is refused, and why.
    func noteRefusal(of client: Client, because reason: String) {
        activity.note("refused: \(reason)", by: client.peer)
    }

    // MARK: the vault

    var isVaultOpen: Bool { vault.lockedReason == nil }

    /// Whether a client has locked the agent with a password.
    var isClientLocked: Bool { lock.isLocked }

    /// How often somebody has asked to lock the vault.
    var lockRequests: UInt64 { vault.lockRequests }

    /// Opens the vault with a passphrase that was typed for a client; nil stands for one of the attached service.
    func open(typed passphrase: SharedSecret, for peer: AgentPeer?, now: UInt64) -> ServedVault.Typed {
        let result = vault.open(typed: passphrase, now: now)
        if result == .opened, let peer { activity.note("opened the vault with a typed passphrase", by: peer) }
        return result
    }

    // MARK: extensions

    /// Answers an extension. One that is not known fails like an unknown request, as RFC 9987 demands, so that a client
    /// can tell it from one that failed.
    private func extend(_ reader: inout WireReader, _ client: inout Client, now: UInt64) -> [UInt8] {
        do {
            let name = try reader.text(limit: 256)
            switch (name, client.isControl) {
            case (AgentMessage.sessionBind, false):
                try client.bindings.bind(&reader)
                return Self.success
            case (AgentMessage.query, false):
                try reader.end()
                var reply = [AgentMessage.extensionResponse]
                reply.append(text: name)
                for known in [AgentMessage.query, AgentMessage.sessionBind] { reply.append(text: known) }
                return reply
            case (AgentMessage.status, true):
                try reader.end()
                var reply = [AgentMessage.extensionResponse]
                reply.append(text: name)
                status(now: now).encode(into: &reply)
                return reply
            case (AgentMessage.lockVault, true):
                return try lockVault(&reader, name, client)
            case (AgentMessage.stop, true):
                try reader.end()
                isStopped = true
                var reply = [AgentMessage.extensionResponse]
                reply.append(text: name)
                return reply
            default: return Self.failure
            }
        } catch {
            activity.note("refused: \(ServedVault.text(error))", by: client.peer)
            return [AgentMessage.extensionFailure]
        }
    }

    /// Locks the vault if it may be the one at the path of the request, which has no symbolic links; an empty one
    /// stands for any. The reply tells whether the vault was open.
    private func lockVault(_ reader: inout WireReader, _ name: String, _ client: Client) throws -> [UInt8] {
        let path = try reader.text()
        try reader.end()
        let wasOpen = vault.lock(at: path.isEmpty ? nil : path, "'vaultfmt lock' was run")
        if wasOpen { activity.note("locked the vault", by: client.peer) }
        var reply = [AgentMessage.extensionResponse]
        reply.append(text: name)
        return reply + [wasOpen ? 1 : 0]
    }

    /// The state, which is told without opening or reading the vault: whatever is wrong with the file.
    private func status(now: UInt64) -> AgentStatus {
        let offered = AgentStatus.Key.all(vault.lastOffers)
        let twins = vault.lastConfirmed
        let keys = added.entries.map { entry in
            let isAsked = added.needsConfirmation(entry.key.blob) || twins.contains(entry.key.blob)
            return AgentStatus.Key(entry, needsConfirmation: isAsked, now: now)
        }
        return AgentStatus(
            vault: vault.path, locked: vault.lockedReason ?? "", unreadable: vault.unreadable,
            attached: attachedState, asking: asking, isClientLocked: lock.isLocked,
            remaining: vault.nextEnd.map { ($0 - min($0, now)) / 1000 },
            offered: offered.count, added: keys.count, hidden: vault.hiddenCount, listed: vault.remembered.count,
            keys: keys + offered,
            omitted: vault.omitted, warnings: vault.warnings, events: activity.events)
    }
}
