internal import VaultExchange
internal import VaultFmt
internal import VaultLocal

/// Answers the requests of clients (RFC 9987). It does not use sockets, and it never blocks.
package final class AgentService {
    /// The result of a request.
    package enum Answer: Sendable {
        case reply([UInt8])
        /// There is no reply until a person has answered this question. Then call ``answer(_:from:isConfirmed:now:)``
        /// again with the same request, or reply with ``failure``.
        case confirm(String)
        /// There is no reply until the vault is open. To open it, a person must be asked for its passphrase with this
        /// question. Then call the same method again, with `mayOpen` false if the vault was not opened.
        case open(String)
    }

    /// The service's knowledge of a client.
    package struct Client: Sendable {
        private let process: AgentPeer
        /// True if the client is connected to the control socket, which ssh never forwards.
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

    /// The reply to every refused request.
    package static let failure: [UInt8] = [AgentMessage.failure]
    private static let success: [UInt8] = [AgentMessage.success]

    private let vault: ServedVault
    /// True if a person can be asked for confirmation.
    private let canConfirm: Bool
    /// The names of the programs that ask, for display; empty if there are none.
    private let asking: String
    private var added = AddedKeys()
    private var lock = AgentLock()
    private var activity = AgentActivity()
    /// The client for which a passphrase was last typed; nil for a client of the attached service.
    private var opener: AgentPeer?
    /// The state of the attached service; empty if there is none.
    var attachedState = ""
    /// True if a client has asked the agent to stop.
    package private(set) var isStopped = false

    package init(_ vault: ServedVault, canConfirm: Bool, asking: String = "") {
        self.vault = vault
        self.canConfirm = canConfirm
        self.asking = asking
    }

    // MARK: time

    /// Removes everything that has expired.
    package func expire(now: UInt64) {
        added.expire(now: now)
        vault.expire(now: now)
    }

    /// When to call ``expire(now:)`` next, in milliseconds of the agent's clock.
    package var nextEnd: UInt64? { [added.nextEnd, vault.nextEnd].compactMap { $0 }.min() }

    // MARK: requests

    /// Answers a request, which is passed without its length.
    ///
    /// - `isConfirmed`: Whether a person has confirmed the request.
    /// - `mayOpen`: Whether the request may open the vault.
    package func answer(
        _ request: UnsafeRawBufferPointer, from client: inout Client, isConfirmed: Bool = false, mayOpen: Bool = true,
        now: UInt64
    ) -> Answer {
        expire(now: now)
        var reader = WireReader(request)
        do {
            let type = try reader.byte()
            if type == AgentMessage.extension { return .reply(extend(&reader, &client, now: now)) }
            if client.isControl { throw AgentError(.unsupported, "the control socket does not serve keys") }
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

    /// Opens the vault if a request needs it. Returns a question if a passphrase is required.
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

    /// Answers a request. Every request is fully decoded before anything is done, so a malformed request has no effect.
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
        default: throw AgentError(.unsupported, "requests of type \(type) are not supported")
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

    /// Throws if the request comes, or may come, from another host over a forwarded connection.
    private func requireLocal(_ client: Client) throws {
        guard !client.bindings.isForwarded else {
            throw AgentError(.refused, "keys are not managed over a forwarded connection")
        }
    }

    private func remove(_ identity: [UInt8], _ client: Client, now: UInt64) throws {
        // Remove the key from both places: otherwise, the vault's key would take the place of one that was added with
        // constraints.
        let wasAdded = added.remove(identity)
        let wasOffered = try vault.hide(identity, now: now)
        guard wasAdded || wasOffered else { throw Self.noKey }
        activity.note("removed the key \(PublicKey.fingerprint(of: identity))", by: client.peer)
    }

    private func removeAll(_ client: Client, now: UInt64) throws {
        let count = try added.entries.count + vault.listed(now: now).count
        added.removeAll()
        try vault.hideAll(now: now)
        // 'ssh-add -D' sends two requests, and the second one finds nothing left to remove.
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
                // An added key hides the same key in the vault, even where the added key is itself hidden by its
                // destinations.
                for identity in key.identities
                where added.find(identity) == nil && !all.contains(where: { $0.identity == identity }) {
                    all.append((identity, key.comment))
                }
            }
            activity.note("listed \(all.count) \(all.count == 1 ? "key" : "keys")", by: client.peer)
        }
        var list: [UInt8] = []
        var count: UInt32 = 0
        // Very large keys with long comments may not all fit in one message.
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

    /// Returns the comment of a key, or its fingerprint if the key is unknown.
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
        // The question must not be avoidable by storing the same key in another item, or by adding it to the agent.
        if try !isConfirmed && (added.needsConfirmation(key) || vault.needsConfirmation(key, now: now)) {
            guard canConfirm else {
                throw AgentError(
                    .refused,
                    "it needs confirmation, but no program can ask for it; set SSH_ASKPASS, or name a pinentry")
            }
            return .confirm(question(comment, key, purpose, client))
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

    /// Returns why a listed key cannot sign while the vault is locked; nil if the key is not listed.
    private func lockedKey(_ identity: [UInt8]) -> AgentError? {
        guard let reason = vault.lockedReason, vault.remembered.contains(where: { $0.identities.contains(identity) })
        else { return nil }
        return AgentError(.unavailable, "the vault is locked: \(reason)")
    }

    private func question(_ comment: String, _ key: [UInt8], _ purpose: String, _ client: Client) -> String {
        let program = TerminalText.quoted(client.peer.program)
        let way = client.bindings.isForwarded ? ", for another host," : ""
        let name = TerminalText.quoted(comment, limit: .max)
        return "Allow \(program) (process \(client.peer.process))\(way) to use the key \(name)\(purpose)?\n"
            + PublicKey.fingerprint(of: key)
    }

    /// Records the actions of the attached service.
    func noteAttached(_ action: String, by peer: AgentPeer) { activity.note(action, by: peer, way: .attached) }

    /// Returns whether the key of a pending sign request is still available.
    ///
    /// - `count`: The vault's lock count before the person was asked. If the vault has been locked since, its keys are
    ///   not the ones that the question was about.
    func isServed(_ request: UnsafeRawBufferPointer, sinceLock count: UInt64) -> Bool {
        guard !lock.isLocked, let identity = SignRequest.identity(in: request) else { return false }
        if added.find(identity) != nil { return true }
        return vault.lockCount == count && vault.lastOffers.contains { $0.identities.contains(identity) }
    }

    /// Records that a sign request was refused after a question, and why.
    func noteRefusal(_ request: UnsafeRawBufferPointer, of client: Client, because reason: String) {
        let name = SignRequest.identity(in: request).map(name) ?? "a signature"
        activity.note("refused: \(name): \(reason)", by: client.peer)
    }

    /// Records that a client's request was refused, and why.
    func noteRefusal(of client: Client, because reason: String) {
        activity.note("refused: \(reason)", by: client.peer)
    }

    // MARK: the vault

    var isVaultOpen: Bool { vault.lockedReason == nil }

    /// True if a client has locked the agent with a password.
    var isClientLocked: Bool { lock.isLocked }

    /// How many times someone has asked to lock the vault.
    var lockRequests: UInt64 { vault.lockRequests }

    /// Starts to open the vault with a passphrase that was typed for a client; a nil peer means a client of the
    /// attached service. Returns the result if it is already known; otherwise, `finishOpening` returns it later.
    func beginOpening(typed passphrase: SharedSecret, for peer: AgentPeer?, now: UInt64) -> ServedVault.Typed? {
        opener = peer
        return vault.beginOpening(typed: passphrase, now: now)
    }

    /// Returns the result of trying the typed passphrase; nil while its key is derived.
    func finishOpening(now: UInt64) -> ServedVault.Typed? {
        let result = vault.finishOpening(now: now)
        if result == .opened, let opener { activity.note("opened the vault with a typed passphrase", by: opener) }
        return result
    }

    // MARK: extensions

    /// Answers an extension request. An unknown extension fails like an unknown request, as RFC 9987 requires, so that
    /// a client can distinguish it from an extension that failed.
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

    /// Locks the vault if it may be the one at the request's path, which contains no symbolic links; an empty path
    /// means any vault. The reply says whether the vault was open.
    private func lockVault(_ reader: inout WireReader, _ name: String, _ client: Client) throws -> [UInt8] {
        let path = try reader.text()
        try reader.end()
        let wasOpen = vault.lock(at: path.isEmpty ? nil : path, "'vaultfmt lock' was run")
        if wasOpen { activity.note("locked the vault", by: client.peer) }
        var reply = [AgentMessage.extensionResponse]
        reply.append(text: name)
        return reply + [wasOpen ? 1 : 0]
    }

    /// Returns the state without opening or reading the vault, so that the state is available even if the file is
    /// damaged.
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
