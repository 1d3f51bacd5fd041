internal import VaultAgent
internal import VaultExchange
internal import VaultFmt
internal import VaultLocal

/// The collections of a vault: their contents, and changes to them. It is independent of clients.
final class VaultCollections {
    /// A difference between the last listing and the current one.
    enum Change {
        case created(ListedItem)
        case deleted(ListedItem)
        case changed(ListedItem)
        case collectionCreated(String)
        case collectionDeleted(String)
    }

    let groups: ServedGroups
    let limits: ListingLimits
    private let served: ServedVault
    /// The last listing, which is remembered while the vault is locked: names and attributes, but no secrets.
    private(set) var remembered: Listing?
    /// The collections that clients have created, with the names of the clients, oldest first. They need not contain
    /// any items.
    private var made: [(group: String, client: String)] = []
    private var changes: [Change] = []

    init(_ served: ServedVault, _ groups: ServedGroups, _ limits: ListingLimits) {
        self.served = served
        self.groups = groups
        self.limits = limits
    }

    /// The names of the collections, as far as they are known.
    var names: [String] { remembered?.groups ?? groups.named }

    /// True if nothing is given to clients: the vault is locked, or its file cannot be read.
    var isLocked: Bool { served.lockedReason != nil || served.isUnreadable }
    /// How many times the vault has been locked. It may have been opened again since.
    var lockCount: UInt64 { served.lockCount }
    var vaultPath: String { served.path }
    /// The access granted by the slot that opened the vault, and whether the vault can be changed; nil while the vault
    /// is locked.
    var access: (access: Access, isWritable: Bool)? { served.openAccess }

    /// Opens the vault if it is opened on demand and that requires no prompt; returns whether a person has to be asked.
    func readiness(now: UInt64) -> ServedVault.Readiness { served.demand(now: now) }

    /// Returns what has changed since the last call.
    func takeChanges() -> [Change] {
        defer { changes = [] }
        return changes
    }

    // MARK: listing

    /// Returns the current contents of the vault; nil while it is locked.
    func listing(now: UInt64) throws(BusError) -> Listing? {
        guard let vault = served.openVault(now: now) else { return nil }
        return try BusError.vault { () throws(VaultError) in try list(vault) }
    }

    private func list(_ vault: Vault) throws(VaultError) -> Listing {
        let state = vault.state
        if let remembered, remembered.state == state { return remembered }
        let new = try read(vault, state)
        note(new, since: remembered)
        remembered = new
        return new
    }

    private func read(_ vault: Vault, _ state: StateID) throws(VaultError) -> Listing {
        let granted: [String]? = if case .scoped(let groups) = vault.access { groups } else { nil }
        var items: [ListedItem] = []
        var found: [String] = []
        var isComplete = true
        var cursor = try vault.items(matching: Query(itemClass: .genericPassword))
        while let item = try cursor.next() {
            let group = item.key.group
            guard groups.include(group), !item.lacksSecret,
                granted?.contains(where: { $0.isSame(as: group) }) ?? true
            else { continue }
            let isKnown = found.contains { $0.isSame(as: group) }
            guard items.count < limits.items, isKnown || found.count < limits.collections else {
                isComplete = false
                continue
            }
            if !isKnown { found.append(group) }
            // The location of the record in the file may have changed, but nothing here depends on that location.
            if let known = remembered?[item.id], known.revision == item.revision, known.key == item.key {
                items.append(known)
            } else {
                items.append(try ListedItem(item, in: vault))
            }
        }
        return Listing(state: state, groups: ordered(found), items: items, isComplete: isComplete)
    }

    /// Returns the named groups, followed by those that were found or created, without duplicates. If there are too
    /// many, the oldest created groups without items are dropped.
    private func ordered(_ found: [String]) -> [String] {
        var others: [String] = []
        for group in found where !Self.has(group, groups.named) { others.append(group) }
        let room = max(limits.collections - groups.named.count - others.count, 0)
        let empty = made.map(\.group).filter { !Self.has($0, groups.named) && !Self.has($0, others) }
        let gone = empty.prefix(max(empty.count - room, 0))
        made.removeAll { Self.has($0.group, gone) }
        others += empty.dropFirst(gone.count)
        return groups.named + others.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private static func has(_ group: String, _ groups: some Sequence<String>) -> Bool {
        groups.contains { $0.isSame(as: group) }
    }

    private func note(_ new: Listing, since old: Listing?) {
        guard let old else { return }
        for group in new.groups where !old.has(group: group) { changes.append(.collectionCreated(group)) }
        for item in old.items where new.item(item.group, item.id) == nil { changes.append(.deleted(item)) }
        for item in new.items {
            guard let before = old.item(item.group, item.id) else {
                changes.append(.created(item))
                continue
            }
            if before.revision != item.revision { changes.append(.changed(item)) }
        }
        for group in old.groups where !new.has(group: group) { changes.append(.collectionDeleted(group)) }
    }

    // MARK: secrets

    /// Returns an item's secret. The secret must be the one that was listed.
    ///
    /// - Throws: `IsLocked`; `NoSuchObject`; `AccessDenied` if the secret belongs to another device; `LimitsExceeded`
    ///   if it is too large; `Failed` if it has just been replaced.
    func secret(of item: ListedItem, now: UInt64) throws(BusError) -> Secret {
        let vault = try open(now: now)
        var changed: Int64?
        let secret = try BusError.vault { () throws(VaultError) -> Secret? in
            guard let opened = try vault.get(item.key), opened.item.id == item.id else { return nil }
            changed = opened.item.secretChanged
            return opened.takeSecret()
        }
        guard let secret else { throw .noObject() }
        // Whether the client may have the secret was decided for the one that was listed.
        guard changed == item.secretChanged else { throw .failed("the secret has just been replaced; try again") }
        guard secret.count <= BusLimits.secret else {
            throw .limit("programs are given at most \(BusLimits.secret) bytes, and the secret has more")
        }
        served.noteUse(now: now)
        return secret
    }

    /// Returns the open vault, to act on what was decided using the last listing. If the vault has been locked and
    /// reopened since, a person's consent is no longer valid.
    private func open(now: UInt64) throws(BusError) -> Vault {
        let count = lockCount
        guard let vault = served.openVault(now: now), count == lockCount else { throw .isLocked() }
        return vault
    }

    // MARK: locking

    /// Locks the vault, as `vaultfmt lock` does, so that the key kept by `vaultfmt unlock` does not reopen it. An agent
    /// that was given another factor stays locked.
    func lock() {
        _ = served.lock(at: nil, "a client of the Secret Service locked it")
        // Without a keyring, no key is kept.
        do throws(VaultError) { try Machine.lock(served.path) } catch {}
    }

    // MARK: changing

    /// Creates a collection and returns its group. It exists until the agent exits, unless an item is stored in it,
    /// which makes it permanent. If the list is full, the oldest created collection without items is dropped.
    ///
    /// - `client`: The name of the client that creates the collection.
    /// - Throws: `IsLocked`, `AccessDenied`, `LimitsExceeded`.
    func makeCollection(_ name: String, for client: String, now: UInt64) throws(BusError) -> String {
        guard let vault = served.openVault(now: now) else { throw .isLocked() }
        guard case .owner = vault.access, vault.isWritable else { throw Self.readOnly }
        let listing = try BusError.vault { () throws(VaultError) in try list(vault) }
        let group = groups.group(ofCollection: name)
        guard !listing.has(group: group) else { return group }
        let filled = filledGroups(listing)
        let own = made.count { $0.client == client && !Self.has($0.group, filled) }
        guard own < limits.emptyCollections else {
            throw .limit("a program can make at most \(limits.emptyCollections) collections that have no items")
        }
        let fixed = groups.named + filled.filter { !Self.has($0, groups.named) }
        guard fixed.count < limits.collections else {
            throw .limit("the vault has \(limits.collections) collections already, and no more can be shown")
        }
        made.append((group, client))
        setGroups(ordered(filled), of: listing)
        return group
    }

    /// Returns the groups that contain items.
    private func filledGroups(_ listing: Listing) -> [String] {
        var filled: [String] = []
        for item in listing.items where filled.last?.isSame(as: item.group) != true && !Self.has(item.group, filled) {
            filled.append(item.group)
        }
        return filled
    }

    private func setGroups(_ groups: [String], of old: Listing) {
        let new = old.with(groups: groups)
        note(new, since: old)
        remembered = new
    }

    private static let readOnly = BusError.denied(
        "the vault was opened for reading only: its slot is scoped, or its file is read-only")

    /// Stores a secret in a new item, or in one that was listed.
    ///
    /// - `old`: The item to replace. Consent to replace it applies to this item only.
    /// - Returns: The item's id.
    /// - Throws: `IsLocked`; `AccessDenied`; `NoSuchObject` if the old item no longer exists; `LimitsExceeded`.
    func store(_ item: NewItem, replacing old: ListedItem?, now: UInt64) throws(BusError) -> ItemID {
        let vault = try open(now: now)
        if old == nil, let count = remembered?.items.count, count >= limits.itemsToStore {
            throw .limit(
                "the collections have \(count) items; programs can store new ones only while there "
                    + "are fewer than \(limits.itemsToStore)")
        }
        let changes = try Self.changes(
            label: item.label, attributes: item.attributes, contentType: item.contentType, of: old)
        let id = try BusError.vault { () throws(VaultError) in
            try vault.transaction { (transaction) throws(VaultError) in
                var changes = changes
                let key = if let old { old.key } else { try Self.freeKey(item, transaction, &changes.set) }
                try Self.set(key, item.secret.secret, changes, old?.id, transaction)
                guard let stored = try transaction.item(key) else { throw Self.gone }
                return stored.id
            }
        }
        changed(vault, now)
        return id
    }

    /// Replaces an item's secret. Throws the same errors as `store`.
    func replace(_ item: ListedItem, with secret: borrowing Secret, contentType: String, now: UInt64) throws(BusError) {
        let vault = try open(now: now)
        let changes = try Self.changes(contentType: contentType, of: item)
        try BusError.vault { () throws(VaultError) in
            try vault.transaction { (transaction) throws(VaultError) in
                try Self.set(item.key, secret, changes, item.id, transaction)
            }
        }
        changed(vault, now)
    }

    /// Changes an item's label or its lookup attributes. Throws the same errors as `store`.
    func change(_ item: ListedItem, label: String? = nil, attributes: LookupAttributes? = nil, now: UInt64)
        throws(BusError)
    {
        let vault = try open(now: now)
        let changes = try Self.changes(label: label, attributes: attributes, of: item)
        try BusError.vault { () throws(VaultError) in
            try vault.transaction { (transaction) throws(VaultError) in
                guard try transaction.item(item.key)?.id == item.id else { throw Self.gone }
                try transaction.update(item.key, attributes: changes)
            }
        }
        changed(vault, now)
    }

    /// Deletes items in a single transaction. Throws `IsLocked` and `AccessDenied`.
    func delete(_ items: [ListedItem], now: UInt64) throws(BusError) {
        let vault = try open(now: now)
        try BusError.vault { () throws(VaultError) in
            try vault.transaction { (transaction) throws(VaultError) in
                for item in items where try transaction.item(item.key)?.id == item.id {
                    _ = try transaction.remove(item.key)
                }
            }
        }
        changed(vault, now)
    }

    /// Forgets a collection that a client has created, unless it contains items.
    func forget(_ group: String) {
        made.removeAll { $0.group.isSame(as: group) }
        guard let old = remembered else { return }
        setGroups(ordered(filledGroups(old)), of: old)
    }

    /// Records that the vault was changed.
    private func changed(_ vault: Vault, _ now: UInt64) {
        served.noteUse(now: now)
        // The change has been stored even if the vault cannot be listed now; the next call lists it.
        do throws(VaultError) { _ = try list(vault) } catch {}
    }
}

extension VaultCollections {
    private static let gone = VaultError(.noSuchItem, "the item no longer exists")
    private static let mostTwins = 1000

    /// Returns a key that no other item has, for a new item.
    private static func freeKey(
        _ item: NewItem, _ transaction: Transaction, _ attributes: inout Attributes
    ) throws(VaultError) -> ItemKey {
        let name = ItemName(item.attributes, label: item.label ?? "")
        for number in 1...mostTwins {
            var noted = attributes
            let key = try name.key(number, group: item.group, &noted)
            guard try transaction.item(key) == nil else { continue }
            attributes = noted
            return key
        }
        throw VaultError(.limitExceeded, "too many items have the same name")
    }

    /// Sets an item's secret.
    ///
    /// - `id`: The id that the item with this key must have; nil for a new item.
    private static func set(
        _ key: ItemKey, _ secret: borrowing Secret, _ changes: AttributeChanges, _ id: ItemID?,
        _ transaction: Transaction
    ) throws(VaultError) {
        guard try transaction.item(key)?.id == id else { throw gone }
        var changes = changes
        if id != nil { try changes.keepDate(ofSecretOf: key, unlessNew: secret, in: transaction) }
        try transaction.set(key, secret: secret, attributes: changes)
    }

    /// Throws `AccessDenied` if an attribute has the same name as one that is hidden from the client: the hidden one
    /// would be lost, and the new one would be hidden as well.
    private static func changes(
        label: String? = nil, attributes: LookupAttributes? = nil, contentType: String? = nil, of item: ListedItem?
    ) throws(BusError) -> AttributeChanges {
        var changes = AttributeChanges(set: attributes.map(LookupNames.stored) ?? Attributes())
        if let label { changes.set.label = label }
        if let hidden = item?.hiddenAttributes.first(where: { attributes?[$0] != nil }) {
            throw .denied("the item has an attribute \(TerminalText.quoted(hidden)) that clients are not shown")
        }
        if let attributes, let item {
            changes.remove = item.attributes.all.map(\.name).filter { attributes[$0] == nil }
                .map(LookupNames.storedName)
        }
        if let attributes, attributes.all.isEmpty {
            changes.set[LookupNames.mark] = Array("item".utf8)
        } else if attributes != nil, item != nil {
            changes.remove.append(LookupNames.mark)
        }
        if let contentType {
            if contentType == LookupNames.usualContentType || contentType.isEmpty {
                if item != nil { changes.remove.append(LookupNames.contentType) }
            } else {
                changes.set[LookupNames.contentType] = Array(contentType.utf8)
            }
        }
        return changes
    }
}

extension BusError {
    /// Calls `body`, and converts its errors to D-Bus errors.
    static func vault<R: ~Copyable>(_ body: () throws(VaultError) -> R) throws(BusError) -> R {
        do throws(VaultError) { return try body() } catch { throw BusError(error) }
    }

    init(_ error: VaultError) {
        let message = TerminalText.singleLine(error.description)
        switch error.code {
        // If the slot no longer opens the vault, the vault is locked, as the next request will find.
        case .locked, .noSlotOpens: self = .isLocked(message)
        case .busy: self = .failed("another program is writing to the vault, and has not ended in time: \(message)")
        case .noSuchItem: self = .noObject(message)
        case .notPermitted, .readOnly, .readOnlyExtension, .deviceBound, .noSecret: self = .denied(message)
        case .limitExceeded: self = .limit(message)
        default: self = .failed(message)
        }
    }
}
