package import VaultAgent
internal import VaultFmt
internal import VaultLocal

/// The answer to a call.
package enum ServiceAnswer: Sendable {
    case reply(Result<[BusValue], BusError>)
    /// It is in `takeReplies` later, under this number: a person is asked first.
    case later(UInt64)
}

/// Answers the calls of the Secret Service. It knows nothing of the bus, and never waits.
///
/// Every process that may use the user's bus may ask it. With `confirms`, each item is locked for each client until a
/// person has agreed that this client may have it, or until it has stored the item's secret itself.
package final class SecretService {
    let collections: VaultCollections
    /// Whether a person is asked before a secret is given away, or an item deleted.
    let confirms: Bool
    var sessions = ServiceSessions()
    var prompts = ServicePrompts()
    /// They are forgotten when the vault is locked.
    private var consents = Consents()
    /// How often the vault had been locked when the consents were given: others have no effect.
    private var knownLocks: UInt64
    /// Collections by the aliases that clients have made; the default one is the user's to choose.
    var aliases: [(name: String, group: String)] = []
    private var signals: [BusSignal] = []
    private var replies: [(number: UInt64, values: [BusValue]?)] = []
    private var events: [(action: String, peer: AgentPeer)] = []
    /// What each client was refused last, if it has done nothing else since.
    private var lastRefusals: [String: String] = [:]
    private var wasLocked: Bool

    /// - `vault`: The vault, which the ssh agent may use too.
    /// - `groups`: The access groups that are collections.
    /// - `confirms`: Whether a person is asked.
    package init(
        _ vault: ServedVault, _ groups: ServedGroups, confirms: Bool, limits: ListingLimits = ListingLimits()
    ) {
        collections = VaultCollections(vault, groups, limits)
        self.confirms = confirms
        wasLocked = collections.isLocked
        knownLocks = collections.lockCount
    }

    /// What is served and how, in words for `agent status`.
    package var summary: String {
        var parts: [String] = []
        if confirms { parts.append("a person is asked about each item (--confirm)") }
        var granted: [String]?
        if let (access, isWritable) = collections.access {
            if case .scoped(let groups) = access { granted = groups }
            if granted != nil || !isWritable { parts.append("read-only") }
        }
        let names = collections.names.prefix(Self.mostNames).map { group in
            let isGranted = granted?.contains { $0.isSame(as: group) } ?? true
            return Self.quoted(group) + (isGranted ? "" : " (not granted by the slot)")
        }
        let more = collections.names.count - names.count
        parts.append("collections: " + names.joined(separator: ", ") + (more > 0 ? " and \(more) more" : ""))
        return parts.joined(separator: "; ")
    }

    private static let mostNames = 8

    // MARK: calls

    /// Answers a call with its output, or with an error. What it has changed is in `takeSignals`.
    package func answer(_ call: BusCall, now: UInt64) -> ServiceAnswer {
        defer { noteChanges() }
        do throws(BusError) {
            if let number = try holdSearch(call, now: now) { return .later(number) }
            if let number = try hold(call, now: now) { return .later(number) }
            return .reply(.success(try reply(to: call, now: now)))
        } catch {
            noteRefusal(of: call, error)
            return .reply(.failure(error))
        }
    }

    /// Keeps a call that asks for a secret if a person must agree first: many clients unlock only the collection, and
    /// none of its items. Returns its number; nil if it can be answered at once.
    private func hold(_ call: BusCall, now: UInt64) throws(BusError) -> UInt64? {
        guard confirms, call.member == "GetSecret", case .item(let group, let id) = resolved(call.path),
            call.interface.isEmpty || call.interface == ServiceName.item
        else { return nil }
        let item = try item(group, id, now: now)
        // The vault may have been locked and opened again: only questions from before are void.
        noteChanges()
        guard !collections.isLocked, isLocked(item, for: call.client) else { return nil }
        var arguments = BusArguments(call)
        let session = try arguments.path()
        try arguments.end()
        _ = try sessions.cipher(session, of: call.client)
        let number = try prompts.add(.read(group: group, id, session: session), for: call.client)
        prompts.setAsked(number)
        goOn(number, now: now)
        return number
    }

    /// Keeps a search if nothing is known of the vault yet and a person can open it: most clients do not unlock what
    /// they have not found. Returns its number; nil if it is answered at once.
    private func holdSearch(_ call: BusCall, now: UInt64) throws(BusError) -> UInt64? {
        guard collections.remembered == nil, call.member == "SearchItems", resolved(call.path) != nil,
            collections.readiness(now: now) == .needsPassphrase
        else { return nil }
        let number = try prompts.add(.repeated(call), for: call.client)
        prompts.setAsked(number)
        prompts.ask(number, .unlock(path: collections.vaultPath))
        return number
    }

    func reply(to call: BusCall, now: UInt64) throws(BusError) -> [BusValue] {
        if call.interface == ServiceName.introspectable, call.member == "Introspect",
            let description = Introspection.ancestor(call.path)
        {
            return [.text(description)]
        }
        guard let object = resolved(call.path) else { throw .noObject() }
        let interface = call.interface.isEmpty ? object.interface : call.interface
        // The methods of a session and of a prompt look for them themselves.
        guard interface == object.interface || isThere(object, for: call.client) else { throw .noObject() }
        switch interface {
        case ServiceName.introspectable where call.member == "Introspect":
            // An alias is the collection without its items: these have one path each.
            let isAlias = if case .alias = ServiceObject(path: call.path) { true } else { false }
            return [.text(Introspection.description(of: object, self, hasChildren: !isAlias, now: now))]
        case ServiceName.properties: return try properties(call, of: object, now: now)
        case object.interface: break
        default: throw .noMethod
        }
        switch object {
        case .service: return try serviceCall(call, now: now)
        case .collection(let group): return try collectionCall(call, of: try existing(group, now: now), now: now)
        case .item(let group, let id): return try itemCall(call, of: try item(group, id, now: now), now: now)
        case .session(let number):
            guard call.member == "Close" else { throw .noMethod }
            try BusArguments(call).end()
            try sessions.close(number, of: call.client)
            return []
        case .prompt(let number): return try promptCall(call, number, now: now)
        case .alias, .collections, .aliases: throw .noMethod
        }
    }

    // MARK: objects

    /// Returns the object at a path, with an alias replaced by its collection; nil if there can be none.
    func resolved(_ path: String) -> ServiceObject? {
        guard let object = ServiceObject(path: path) else { return nil }
        guard case .alias(let name) = object else { return object }
        return group(ofAlias: name).map { .collection($0) }
    }

    /// Returns whether a client has a session or a prompt; true for other objects.
    private func isThere(_ object: ServiceObject, for client: BusClient) -> Bool {
        switch object {
        case .session(let number): sessions.has(number, of: client)
        case .prompt(let number): prompts[number]?.client == client
        default: true
        }
    }

    func group(ofAlias name: String) -> String? {
        if name == ServiceName.defaultAlias { return collections.groups.defaultGroup }
        return aliases.first { $0.name.isSame(as: name) }?.group
    }

    /// Returns what is listed now or, while the vault is locked, what was listed last. Throws `IsLocked` if it has not
    /// been open yet.
    func listing(now: UInt64) throws(BusError) -> Listing {
        guard let listing = try collections.listing(now: now) ?? collections.remembered else { throw .isLocked() }
        return listing
    }

    /// Returns a collection's group. Throws `NoSuchObject`.
    func existing(_ group: String, now: UInt64) throws(BusError) -> String {
        _ = try collections.listing(now: now)
        guard collections.names.contains(where: { $0.isSame(as: group) }) else {
            throw .noObject("there is no such collection")
        }
        return group
    }

    /// Returns an item. Throws `NoSuchObject`, and `IsLocked` if that is not known.
    func item(_ group: String, _ id: ItemID, now: UInt64) throws(BusError) -> ListedItem {
        guard let item = try listing(now: now).item(group, id) else {
            throw collections.isLocked ? .isLocked() : .noObject("there is no such item")
        }
        return item
    }

    // MARK: consent

    /// The vault may have been locked and opened again since the last call, and by somebody who has agreed to nothing.
    private var areConsentsValid: Bool { knownLocks == collections.lockCount }

    /// Throws `IsLocked` if the vault has been locked since it was last noted.
    func requireNoLock() throws(BusError) {
        guard areConsentsValid, !collections.isLocked else { throw .isLocked() }
    }

    /// Returns whether an item is locked for a client.
    func isLocked(_ item: ListedItem, for client: BusClient) -> Bool {
        collections.isLocked || confirms && !(areConsentsValid && consents.allow(item, client))
    }

    /// Returns whether a client may delete an item without a question, once the vault is open.
    func mayDelete(_ item: ListedItem, _ client: BusClient) -> Bool {
        !confirms || areConsentsValid && consents.isOwn(item, client)
    }

    /// Throws `IsLocked` unless a client may read and change an item.
    func requireUnlocked(_ item: ListedItem, for client: BusClient) throws(BusError) {
        guard !collections.isLocked else { throw .isLocked() }
        guard !isLocked(item, for: client) else { throw Self.refusal }
    }

    package static let refusal = BusError.isLocked("a person must agree first")

    /// Lets a client read and change items.
    func permit(_ items: [ItemID], for client: BusClient) {
        guard confirms else { return }
        // Of 16 calls that waited for the same item, the first one unlocks it.
        let locked = items.filter { id in collections.remembered?[id].map { isLocked($0, for: client) } ?? false }
        consents.agree(to: items, client)
        tell(locked, isLocked: false, client.name)
    }

    /// Notes that a client has stored the secret of an item, which it therefore knows.
    ///
    /// - `old`: The item before; nil if the client has made it.
    func noteStored(_ id: ItemID, replacing old: ListedItem?, by client: BusClient) {
        guard confirms, let item = collections.remembered?[id] else { return }
        let wasLocked = old.map { isLocked($0, for: client) } ?? true
        for other in consents.noteStored(item, replacing: old, by: client) { tell([id], isLocked: true, other) }
        if wasLocked { tell([id], isLocked: false, client.name) }
    }

    /// Takes back what a person has let a client do.
    func takeBack(_ items: [ItemID], from client: BusClient) {
        guard confirms else { return }
        let unlocked = items.filter { id in collections.remembered?[id].map { !isLocked($0, for: client) } ?? false }
        for item in items { consents.takeBack(item, from: client) }
        tell(unlocked, isLocked: true, client.name)
    }

    /// Tells a client whether items are locked for it; others have nothing to do with that.
    private func tell(_ items: [ItemID], isLocked: Bool, _ client: String) {
        for item in items.compactMap({ collections.remembered?[$0] }) {
            emit(ServiceSignals.locking(item, isLocked: isLocked, to: client))
        }
    }

    // MARK: clients and time

    /// Forgets a client that has left the bus.
    package func forget(_ client: String) {
        sessions.closeAll(of: client)
        prompts.removeAll(of: client)
        consents.forget(client: client)
        lastRefusals[client] = nil
    }

    /// Notes whether the vault has been locked or unlocked since the last call.
    package func noteTime() { noteChanges() }

    // MARK: what others are told

    /// Returns the signals to send, in order.
    package func takeSignals() -> [BusSignal] {
        defer { signals = [] }
        return signals
    }

    /// Returns what `agent status` tells people: names only.
    package func takeEvents() -> [(action: String, peer: AgentPeer)] {
        defer { events = [] }
        return events
    }

    /// Returns the answers to calls that waited for a person; nil stands for `refusal`.
    package func takeReplies() -> [(number: UInt64, values: [BusValue]?)] {
        defer { replies = [] }
        return replies
    }

    func emit(_ signal: BusSignal) { signals.append(signal) }

    func reply(to number: UInt64, _ values: [BusValue]?) { replies.append((number, values)) }

    func note(_ action: String, by client: BusClient) {
        lastRefusals[client.name] = nil
        if events.count == BusLimits.events { events.removeFirst() }
        events.append((action, AgentPeer(process: client.process, program: client.program)))
    }

    /// Notes that a client was refused something. What it tries again at once, as clients do that wait for the vault to
    /// be unlocked, is told once: there is room for a number of events only.
    func noteRefusal(_ action: String, _ error: BusError, _ client: BusClient) {
        let text = "refused: \(action): \(error.message)"
        guard lastRefusals[client.name] != text else { return }
        note(text, by: client)
        lastRefusals[client.name] = text
    }

    private func noteChanges() {
        let changes = collections.takeChanges()
        for change in changes { forget(change) }
        signals += ServiceSignals.about(changes, collections.remembered)
        // Whoever has unlocked the vault again may not know what was agreed to before.
        if !areConsentsValid {
            knownLocks = collections.lockCount
            consents = Consents()
            endVoidPrompts()
        }
        guard wasLocked != collections.isLocked else { return }
        wasLocked = collections.isLocked
        signals += collections.names.flatMap { ServiceSignals.locking($0, isLocked: wasLocked) }
        // With consent, the items stay locked for everybody.
        guard wasLocked || !confirms else { return }
        for item in (collections.remembered?.items ?? []).prefix(BusLimits.lockSignals) {
            emit(ServiceSignals.locking(item, isLocked: wasLocked))
        }
    }

    /// Forgets what is about something that is gone.
    private func forget(_ change: VaultCollections.Change) {
        switch change {
        case .deleted(let item): consents.forget(item.id)
        case .collectionDeleted(let group): aliases.removeAll { $0.group.isSame(as: group) }
        case .created, .changed, .collectionCreated: break
        }
    }
}

extension ServiceObject {
    /// The interface of its own methods and properties.
    var interface: String {
        switch self {
        case .service: ServiceName.service
        case .collection, .alias: ServiceName.collection
        case .item: ServiceName.item
        case .session: ServiceName.session
        case .prompt: ServiceName.prompt
        case .collections, .aliases: ""
        }
    }
}
