internal import VaultExchange
internal import VaultFmt

// The methods of the service itself.
extension SecretService {
    func serviceCall(_ call: BusCall, now: UInt64) throws(BusError) -> [BusValue] {
        var arguments = BusArguments(call)
        switch call.member {
        case "OpenSession":
            let (algorithm, input) = (try arguments.text(), try arguments.variant())
            try arguments.end()
            let (output, path) = try sessions.open(algorithm, input, for: call.client)
            return [.variant(output), .path(path)]
        case "SearchItems":
            let attributes = try arguments.attributes()
            try arguments.end()
            return try search(attributes, for: call.client, now: now)
        case "GetSecrets":
            let (paths, session) = (try arguments.paths(), try arguments.path())
            try arguments.end()
            return [try secrets(paths, session, for: call.client, now: now)]
        case "Unlock", "Lock":
            let paths = try arguments.paths()
            try arguments.end()
            return call.member == "Lock"
                ? try lock(paths, for: call.client, now: now) : try unlock(paths, for: call.client, now: now)
        case "CreateCollection":
            let (properties, alias) = (try arguments.properties(), try arguments.text())
            try arguments.end()
            return [.path(try createCollection(properties, alias, for: call.client, now: now)), .noPath]
        case "ReadAlias":
            let name = try arguments.text()
            try arguments.end()
            return [group(ofAlias: name).map { .path(ServiceObject.collection($0).path) } ?? .noPath]
        case "SetAlias":
            let (name, path) = (try arguments.text(), try arguments.path())
            try arguments.end()
            try setAlias(name, path, now: now)
            return []
        default: throw .noMethod
        }
    }

    // MARK: searching

    /// Returns the items that have all of the given attributes: first the unlocked items, then the locked ones.
    ///
    /// While the vault is locked, or if the listing is incomplete, finding nothing is an error rather than an empty
    /// result. Otherwise, a client would create a new secret and so replace the one that it could not see.
    private func search(
        _ attributes: LookupAttributes, for client: BusClient, now: UInt64
    ) throws(BusError) -> [BusValue] {
        let found = try found(attributes, in: nil, now: now)
        let locked = found.filter { isLocked($0, for: client) }
        let unlocked = found.filter { !isLocked($0, for: client) }
        return [.paths(unlocked.map(\.path)), .paths(locked.map(\.path))]
    }

    /// - `group`: The collection to search, or nil to search all.
    func found(_ attributes: LookupAttributes, in group: String?, now: UInt64) throws(BusError) -> [ListedItem] {
        let current = try collections.listing(now: now)
        guard let listing = current ?? collections.remembered else { throw .isLocked() }
        let isSearched = { (item: ListedItem) in group.map { item.group.isSame(as: $0) } ?? true }
        let found = listing.matching(attributes).filter(isSearched)
        guard found.isEmpty else { return found }
        guard current != nil else { throw .isLocked() }
        guard listing.isComplete else {
            throw .limit(
                "programs are shown \(collections.limits.items) items of \(collections.limits.collections) collections, "
                    + "and there are more, which may match")
        }
        guard !listing.items.contains(where: { isSearched($0) && $0.mayMatch(attributes) }) else {
            throw .failed("an attribute of an item that may match cannot be read")
        }
        return []
    }

    // MARK: secrets

    /// Returns the secrets of the items that are unlocked. Secrets that cannot be returned, because they are too large
    /// or belong to another device, are skipped, so that the others can still be read.
    private func secrets(
        _ paths: [String], _ session: String, for client: BusClient, now: UInt64
    ) throws(BusError) -> BusValue {
        let cipher = try sessions.cipher(session, of: client)
        let listing = try listing(now: now)
        var entries: [BusValue] = []
        var size = 0
        for path in Self.unique(paths) {
            guard case .item(let group, let id) = resolved(path), let item = listing.item(group, id) else { continue }
            guard !isLocked(item, for: client) else {
                let reason: BusError = collections.isLocked ? .isLocked() : Self.refusal
                noteRefusal("read the secret \(Self.name(item))", reason, client)
                continue
            }
            let secret: ServiceSecret
            do throws(BusError) { secret = try self.secret(of: item, session, cipher, for: client, now: now) } catch {
                guard error.name != BusError.isLocked().name else { throw error }
                noteRefusal("read the secret \(Self.name(item))", error, client)
                continue
            }
            size += secret.value.count
            guard size <= BusLimits.secretsAtOnce else {
                throw .limit("an answer can have at most \(BusLimits.secretsAtOnce) bytes of secrets; ask for fewer")
            }
            entries.append(.entry(.path(path), secret.busValue))
        }
        return .array("{o" + ServiceSecret.signature + "}", entries)
    }

    /// Returns the paths without duplicates, so that a question does not name an item twice, and nothing is read twice.
    private static func unique(_ paths: [String]) -> [String] {
        var known: Set<[UInt8]> = []
        return paths.filter { known.insert(Array($0.utf8)).inserted }
    }

    /// Returns an item's secret, encrypted for a session.
    func secret(
        of item: ListedItem, _ session: String, _ cipher: SessionCipher, for client: BusClient, now: UInt64
    ) throws(BusError) -> ServiceSecret {
        let secret = try collections.secret(of: item, now: now)
        let (parameters, value) = try cipher.sealed(secret)
        note("read the secret \(item.label)", by: client)
        return ServiceSecret(session: session, parameters: parameters, value: value, contentType: item.contentType)
    }

    // MARK: locking

    /// Locks the vault, which contains all collections. For an item that a person has allowed the client to use, only
    /// that permission is revoked.
    private func lock(_ paths: [String], for client: BusClient, now: UInt64) throws(BusError) -> [BusValue] {
        var known: [String] = []
        for path in Self.unique(paths) where try exists(path, now: now) { known.append(path) }
        var items: [ItemID] = []
        for path in known { if case .item(_, let id) = resolved(path) { items.append(id) } }
        takeBack(items, from: client)
        if !known.isEmpty, !confirms || items.count < known.count, !collections.isLocked {
            collections.lock()
            note("locked the vault", by: client)
        }
        return [.paths(known), .noPath]
    }

    /// Returns the objects that are already unlocked, and a prompt for the others.
    private func unlock(_ paths: [String], for client: BusClient, now: UInt64) throws(BusError) -> [BusValue] {
        var unlocked: [String] = []
        var locked: [String] = []
        for path in Self.unique(paths) where try exists(path, now: now) {
            if isLocked(path, for: client) { locked.append(path) } else { unlocked.append(path) }
        }
        guard !locked.isEmpty else { return [.paths(unlocked), .noPath] }
        guard !confirms || locked.count <= BusLimits.promptItems else {
            throw .limit("with --confirm, at most \(BusLimits.promptItems) objects can be unlocked with one prompt")
        }
        return [.paths(unlocked), try prompt(.unlock(locked), for: client)]
    }

    /// Returns whether a path belongs to an existing collection or item, as far as that is known.
    func exists(_ path: String, now: UInt64) throws(BusError) -> Bool {
        do throws(BusError) {
            switch resolved(path) {
            case .collection(let group): _ = try existing(group, now: now)
            case .item(let group, let id): _ = try item(group, id, now: now)
            default: return false
            }
            return true
        } catch {
            // If the vault has not been open yet, the item may exist.
            guard error.name == BusError.isLocked().name else { return false }
            return true
        }
    }

    func isLocked(_ path: String, for client: BusClient) -> Bool {
        guard case .item(let group, let id) = resolved(path) else { return collections.isLocked }
        return collections.remembered?.item(group, id).map { isLocked($0, for: client) } ?? true
    }

    // MARK: collections

    private func createCollection(
        _ properties: [(name: String, value: BusValue)], _ alias: String, for client: BusClient, now: UInt64
    ) throws(BusError) -> String {
        if let group = group(ofAlias: alias) { return ServiceObject.collection(group).path }
        guard case .text(let label) = properties.first(where: { $0.name == ServiceName.collection + ".Label" })?.value,
            !label.isEmpty
        else { throw .arguments("a collection needs a label") }
        guard label.utf8.count <= BusLimits.collectionName else {
            throw .limit("a collection's label can have at most \(BusLimits.collectionName) bytes")
        }
        // The alias is checked first, so that nothing is created if it is rejected.
        if !alias.isEmpty { try checkAlias(alias) }
        let group = try collections.makeCollection(label, for: client.name, now: now)
        if !alias.isEmpty { aliases.append((alias, group)) }
        note("made the collection \(label)", by: client)
        return ServiceObject.collection(group).path
    }

    /// Throws `InvalidArgs` if a name cannot be an alias, and `LimitsExceeded` if there are too many aliases.
    private func checkAlias(_ name: String) throws(BusError) {
        guard !name.isEmpty, name.utf8.count <= BusLimits.alias else {
            throw .arguments("an alias must have between 1 and \(BusLimits.alias) bytes")
        }
        guard aliases.count(where: { !$0.name.isSame(as: name) }) < BusLimits.aliases else {
            throw .limit("there can be at most \(BusLimits.aliases) aliases")
        }
    }

    private func setAlias(_ name: String, _ path: String, now: UInt64) throws(BusError) {
        guard name != ServiceName.defaultAlias else {
            throw .denied("the default collection is the one that the agent was started with")
        }
        let others = aliases.filter { !$0.name.isSame(as: name) }
        guard path != "/" else {
            aliases = others
            return
        }
        guard case .collection(let group) = resolved(path) else { throw .noObject("there is no such collection") }
        try checkAlias(name)
        aliases = others + [(name, try existing(group, now: now))]
    }
}
