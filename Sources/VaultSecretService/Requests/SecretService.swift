package import VaultAgent
internal import VaultFmt
internal import VaultLocal

/// The answer to a call.
package enum ServiceAnswer: Sendable {
    case reply(Result<[BusValue], BusError>)
    /// There is no answer until a person has been asked. `takeReplies` then returns the answer under this number.
    case later(UInt64)
}

/// Answers calls to the Secret Service. It does not use the bus, and it never blocks.
///
/// Any process with access to the user's bus may call it. With `confirms`, each item is locked for each client until a
/// person allows this client to use it, or until the client stores the item's secret itself.
package final class SecretService {
    let collections: VaultCollections
    /// True to ask a person before a client can read a secret or delete an item.
    let confirms: Bool
    var sessions = ServiceSessions()
    var prompts = ServicePrompts()
    /// Cleared when the vault is locked.
    private var consents = Consents()
    /// The vault's lock count when the consents were given; consents from before another lock are void.
    private var knownLocks: UInt64
    /// Collections by the aliases that clients have created; the default collection is chosen by the user.
    var aliases: [(name: String, group: String)] = []
    private var signals: [BusSignal] = []
    private var replies: [(number: UInt64, values: [BusValue]?)] = []
    private var events: [(action: String, peer: AgentPeer)] = []
    /// The last refusal of each client, unless the client has done something else since.
    private var lastRefusals: [String: String] = [:]
    private var wasLocked: Bool

    /// - `vault`: The vault, which the SSH agent may also use.
    /// - `groups`: The access groups to serve as collections.
    /// - `confirms`: Whether a person is asked.
    package init(
        _ vault: ServedVault, _ groups: ServedGroups, confirms: Bool, limits: ListingLimits = ListingLimits()
    ) {
        collections = VaultCollections(vault, groups, limits)
        self.confirms = confirms
        wasLocked = collections.isLocked
        knownLocks = collections.lockCount
    }

    /// A description of what is served, for `agent status`.
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
            return TerminalText.quoted(group) + (isGranted ? "" : " (not granted by the slot)")
        }
        let more = collections.names.count - names.count
        parts.append("collections: " + names.joined(separator: ", ") + (more > 0 ? " and \(more) more" : ""))
        return parts.joined(separator: "; ")
    }

    private static let mostNames = 8

    // MARK: calls

    /// Answers a call with its results or an error. `takeSignals` returns the signals that it caused.
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

    /// Holds a call that requests a secret if a person must consent first, because many clients unlock only the
    /// collection and not its items. Returns the number of the held call; nil if it can be answered now.
    private func hold(_ call: BusCall, now: UInt64) throws(BusError) -> UInt64? {
        guard confirms, call.member == "GetSecret", case .item(let group, let id) = resolved(call.path),
            call.interface.isEmpty || call.interface == ServiceName.item
        else { return nil }
        let item = try item(group, id, now: now)
        // The vault may have been locked and reopened; only consents given before that are void.
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

    /// Holds a search if nothing is known about the vault yet but a person can open it, because most clients do not
    /// unlock what they have not found. Returns the number of the held call; nil if it can be answered now.
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
        // The methods of sessions and prompts check for themselves whether the object exists.
        guard interface == object.interface || isThere(object, for: call.client) else { throw .noObject() }
        switch interface {
        case ServiceName.introspectable where call.member == "Introspect":
            // An alias is introspected without its collection's items, because each item has only one path.
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

    /// Returns the object at a path, with an alias replaced by its collection; nil if the path is invalid.
    func resolved(_ path: String) -> ServiceObject? {
        guard let object = ServiceObject(path: path) else { return nil }
        guard case .alias(let name) = object else { return object }
        return group(ofAlias: name).map { .collection($0) }
    }

    /// Returns whether a session or prompt belongs to a client; true for other objects.
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

    /// Returns the current listing or, while the vault is locked, the last one. Throws `IsLocked` if the vault has not
    /// been open yet.
    func listing(now: UInt64) throws(BusError) -> Listing {
        guard let listing = try collections.listing(now: now) ?? collections.remembered else { throw .isLocked() }
        return listing
    }

    /// Returns the group of a collection. Throws `NoSuchObject`.
    func existing(_ group: String, now: UInt64) throws(BusError) -> String {
        _ = try collections.listing(now: now)
        guard collections.names.contains(where: { $0.isSame(as: group) }) else {
            throw .noObject("there is no such collection")
        }
        return group
    }

    /// Returns an item. Throws `NoSuchObject`, or `IsLocked` if it is not known whether the item exists.
    func item(_ group: String, _ id: ItemID, now: UInt64) throws(BusError) -> ListedItem {
        guard let item = try listing(now: now).item(group, id) else {
            throw collections.isLocked ? .isLocked() : .noObject("there is no such item")
        }
        return item
    }

    // MARK: consent

    /// The vault may have been locked and reopened since the last call, by someone who has not consented to anything.
    private var areConsentsValid: Bool { knownLocks == collections.lockCount }

    /// Throws `IsLocked` if the vault is locked, or has been locked since the consents were given.
    func requireNoLock() throws(BusError) {
        guard areConsentsValid, !collections.isLocked else { throw .isLocked() }
    }

    /// Returns whether an item is locked for a client.
    func isLocked(_ item: ListedItem, for client: BusClient) -> Bool {
        collections.isLocked || confirms && !(areConsentsValid && consents.allow(item, client))
    }

    /// Returns whether a client may delete an item without asking once the vault is open.
    func mayDelete(_ item: ListedItem, _ client: BusClient) -> Bool {
        !confirms || areConsentsValid && consents.isOwn(item, client)
    }

    /// Throws `IsLocked` unless a client may read and change an item.
    func requireUnlocked(_ item: ListedItem, for client: BusClient) throws(BusError) {
        guard !collections.isLocked else { throw .isLocked() }
        guard !isLocked(item, for: client) else { throw Self.refusal }
    }

    package static let refusal = BusError.isLocked("a person must agree first")

    /// Allows a client to read and change items.
    func permit(_ items: [ItemID], for client: BusClient) {
        guard confirms else { return }
        // If several calls are waiting for the same item, the first one unlocks it, and only that is signalled.
        let locked = items.filter { id in collections.remembered?[id].map { isLocked($0, for: client) } ?? false }
        consents.agree(to: items, client)
        tell(locked, isLocked: false, client.name)
    }

    /// Records that a client has set the secret of an item, and therefore knows it.
    ///
    /// - `old`: The item before the change; nil if the client has created it.
    func noteStored(_ id: ItemID, replacing old: ListedItem?, by client: BusClient) {
        guard confirms, let item = collections.remembered?[id] else { return }
        let wasLocked = old.map { isLocked($0, for: client) } ?? true
        for other in consents.noteStored(item, replacing: old, by: client) { tell([id], isLocked: true, other) }
        if wasLocked { tell([id], isLocked: false, client.name) }
    }

    /// Revokes a client's permission to use items.
    func takeBack(_ items: [ItemID], from client: BusClient) {
        guard confirms else { return }
        let unlocked = items.filter { id in collections.remembered?[id].map { !isLocked($0, for: client) } ?? false }
        for item in items { consents.takeBack(item, from: client) }
        tell(unlocked, isLocked: true, client.name)
    }

    /// Signals to a client whether items are locked for it; this does not concern other clients.
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

    /// Checks whether the vault has been locked or unlocked since the last call.
    package func noteTime() { noteChanges() }

    // MARK: what others are told

    /// Returns the signals to send, in order, and forgets them.
    package func takeSignals() -> [BusSignal] {
        defer { signals = [] }
        return signals
    }

    /// Returns the events to show in `agent status`, which contain names only, and forgets them.
    package func takeEvents() -> [(action: String, peer: AgentPeer)] {
        defer { events = [] }
        return events
    }

    /// Returns the answers to calls that waited for a person, and forgets them; nil values mean `refusal`.
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

    /// Records that a client was refused something. If the client keeps retrying, as clients do while they wait for the
    /// vault to be unlocked, the refusal is recorded only once, because the number of events is limited.
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
        // The person who unlocked the vault again may not know about earlier consents.
        if !areConsentsValid {
            knownLocks = collections.lockCount
            consents = Consents()
            endVoidPrompts()
        }
        guard wasLocked != collections.isLocked else { return }
        wasLocked = collections.isLocked
        signals += collections.names.flatMap { ServiceSignals.locking($0, isLocked: wasLocked) }
        // If consent is required, the items remain locked for every client.
        guard wasLocked || !confirms else { return }
        for item in (collections.remembered?.items ?? []).prefix(BusLimits.lockSignals) {
            emit(ServiceSignals.locking(item, isLocked: wasLocked))
        }
    }

    /// Forgets everything about an object that no longer exists.
    private func forget(_ change: VaultCollections.Change) {
        switch change {
        case .deleted(let item): consents.forget(item.id)
        case .collectionDeleted(let group): aliases.removeAll { $0.group.isSame(as: group) }
        case .created, .changed, .collectionCreated: break
        }
    }
}

extension ServiceObject {
    /// The interface of the object's own methods and properties.
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
