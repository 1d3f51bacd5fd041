internal import Foundation
internal import VaultFmt
internal import VaultLocal

/// The operations on items shared by both APIs: find, add, update and remove, each on the newest state of the vault in
/// use.
package enum ItemStore {
    /// Runs a call and, if the call fails, reports the reason.
    package static func call<R>(_ body: () throws(KeychainFailure) -> R) throws(KeychainFailure) -> R {
        defer { Notices.sayWaiting() }
        do throws(KeychainFailure) { return try body() } catch {
            Notices.report(error, vault: VaultInUse.path)
            throw error
        }
    }

    /// Returns the matching items, up to the limit of the request, which is one by default; throws `itemNotFound` if no
    /// item matches.
    ///
    /// Throws `interactionNotAllowed` if the vault is locked, `authFailed` if the secret is in a group that the vault's
    /// slot does not grant, `dataNotAvailable` if the secret belongs to another device, or `decode` if the secret is
    /// damaged.
    package static func find(_ request: ItemRequest) throws(KeychainFailure) -> [FoundItem] {
        let vault = try VaultInUse.refreshed()
        let matcher = try ItemMatcher(request, in: vault)
        var cursor = try vaultCall { () throws(VaultError) in try vault.items(matching: matcher.query) }
        var found: [FoundItem] = []
        while found.count < request.limit ?? 1 {
            guard let item = try vaultCall({ () throws(VaultError) in try cursor.next() }) else { break }
            if let item = try give(item, of: vault, to: request, matcher) { found.append(item) }
        }
        guard !found.isEmpty else { throw .itemNotFound }
        return found
    }

    /// Returns an item in the requested form, or nil if it does not match, should be skipped, or has since been
    /// removed.
    private static func give(
        _ item: Item, of vault: Vault, to request: ItemRequest, _ matcher: ItemMatcher
    ) throws(KeychainFailure) -> FoundItem? {
        let isMatch = try matcher.accepts(item) { (item) throws(KeychainFailure) in try whole(item, vault) }
        guard isMatch, try mayRead(item, request, isOpened: request.returns.contains(.data)) else { return nil }
        guard request.returns.contains(.data) else {
            return FoundItem(
                request.returns.contains(.attributes) ? try whole(item, vault) : item, in: vault, secret: nil)
        }
        return try vaultCall { () throws(VaultError) in
            let wantsAll = request.returns.contains(.attributes)
            guard let opened = wantsAll ? try vault.whole(item.key) : try vault.get(item.key) else { return nil }
            // Otherwise, an item without a password would appear to have an empty one.
            guard !opened.item.lacksSecret else {
                throw VaultError.noSecret(try vault.missingSecret(of: opened.item))
            }
            return FoundItem(opened.item, in: vault, secret: opened.secret.withUnsafeBytes { Data($0) })
        }
    }

    /// Returns the item with all its attributes, or with those that can be read without the key of its secret.
    private static func whole(_ item: Item, _ vault: Vault) throws(KeychainFailure) -> Item {
        guard item.unreadAttributes > 0 else { return item }
        return try readable(item) { () throws(VaultError) in try vault.whole(item.key)?.item }
    }

    /// Returns the result of `open`; returns the item itself if it no longer exists, or if the key of its secret is not
    /// available.
    private static func readable(
        _ item: Item, _ open: () throws(VaultError) -> Item?
    ) throws(KeychainFailure) -> Item {
        do throws(VaultError) { return try open() ?? item } catch {
            guard [.locked, .notPermitted, .deviceBound, .noSecret].contains(error.code) else {
                throw KeychainFailure(error)
            }
            return item
        }
    }

    /// Asks for the approval that the item's access control requires; returns false if the item should be skipped.
    /// - `isOpened`: Whether the secret is read, or becomes readable.
    private static func mayRead(
        _ item: Item, _ request: ItemRequest, isOpened: Bool
    ) throws(KeychainFailure) -> Bool {
        let policy = ItemAttributes.policy(item)
        guard policy != 0 else { return true }
        let refusal = KeychainFailure(.interactionNotAllowed, "the user must be asked before this item is read")
        switch request.interaction.ui {
        case .skip: return false
        case .fail: throw refusal
        case .allow: break
        }
        guard isOpened else { return true }
        guard let handler = Authentication.handler else { throw refusal }
        let question = Authentication.Question(
            place: item.key.service ?? item.key.server ?? "", account: item.key.account ?? "", policy: policy,
            prompt: request.interaction.prompt, context: request.interaction.context)
        guard handler(question) else {
            throw KeychainFailure(.authFailed, "the program refused to release this item's secret")
        }
        return true
    }

    // MARK: changing

    /// Adds an item. Throws `duplicateItem`.
    package static func add(_ request: ItemRequest) throws(KeychainFailure) -> FoundItem {
        guard request.references == nil, request.limit == nil, request.folding.isEmpty else {
            throw KeychainFailure(
                .param, "a new item must be described by attributes, without references or match keys")
        }
        let new = request.attributes
        try requirePolicy(new)
        let key = try new.key(of: request.itemClass)
        let (vault, item) = try writing { (vault) throws(VaultError) in
            try vault.transaction { (transaction) throws(VaultError) in
                try add(new, key, to: transaction)
                return (vault, try transaction.whole(key)?.item)
            }
        }
        guard let item else { throw .itemNotFound }
        return FoundItem(item, in: vault, secret: request.returns.contains(.data) ? new.secret ?? Data() : nil)
    }

    /// Changes all items that match. Throws `itemNotFound`, `duplicateItem` if two items would get the same key, or
    /// `readOnlyAttribute` for dates.
    package static func update(_ request: ItemRequest, _ changes: ItemChanges) throws(KeychainFailure) {
        guard request.returns.isEmpty else { throw KeychainFailure(.param, "an update cannot return anything") }
        try requirePolicy(changes)
        for code in [SecKey.creationDate, SecKey.modificationDate] where changes.date(code) != nil {
            throw KeychainFailure(.readOnlyAttribute, "the dates of an item cannot be changed")
        }
        let approved = try approved(request, changes)
        try changeMatching(request) { (keys, transaction) throws(KeychainFailure) in
            for key in keys {
                try requireApproval(of: key, changes, approved, transaction)
                try change(key, changes, in: transaction)
            }
        }
    }

    /// Returns whether changes remove the access control of items without replacing their secrets.
    private static func liftsPolicy(_ changes: ItemChanges) -> Bool {
        changes.secret == nil && changes.accessibility != nil
    }

    /// Requests the approval that is required to remove the access control of matching items, and returns these items.
    /// No lock is held meanwhile, because the handler waits for the user and may use the vault.
    private static func approved(
        _ request: ItemRequest, _ changes: ItemChanges
    ) throws(KeychainFailure) -> Set<ItemID> {
        guard liftsPolicy(changes) else { return [] }
        let vault = try VaultInUse.refreshed()
        let matcher = try ItemMatcher(request, in: vault)
        var cursor = try vaultCall { () throws(VaultError) in try vault.items(matching: matcher.query) }
        var approved: Set<ItemID> = []
        while let item = try vaultCall({ () throws(VaultError) in try cursor.next() }) {
            guard ItemAttributes.policy(item) != 0,
                try matcher.accepts(item, whole: { (item) throws(KeychainFailure) in try whole(item, vault) })
            else { continue }
            guard try mayRead(item, request, isOpened: true) else { throw Self.mustBeAsked }
            approved.insert(item.id)
        }
        return approved
    }

    private static let mustBeAsked = KeychainFailure(
        .interactionNotAllowed, "the user must be asked before this item's protection is changed")

    /// Throws an error if access control was added to an item after approval was requested, because the change would
    /// remove it without approval.
    private static func requireApproval(
        of key: ItemKey, _ changes: ItemChanges, _ approved: Set<ItemID>, _ transaction: Transaction
    ) throws(KeychainFailure) {
        guard liftsPolicy(changes),
            let item = try vaultCall({ () throws(VaultError) in try transaction.item(key) }),
            ItemAttributes.policy(item) != 0
        else { return }
        guard approved.contains(item.id) else { throw Self.mustBeAsked }
    }

    /// Removes all items that match. Throws `itemNotFound`.
    package static func remove(_ request: ItemRequest) throws(KeychainFailure) {
        try changeMatching(request) { (keys, transaction) throws(KeychainFailure) in
            for key in keys { _ = try vaultCall { () throws(VaultError) in try transaction.remove(key) } }
        }
    }

    /// Changes the items that match, or adds the item described by `new`, atomically, even if other processes do the
    /// same at the same time.
    ///
    /// If both a synchronizable item and a non-synchronizable item match, only the item that agrees with `changes` is
    /// changed.
    package static func set(_ request: ItemRequest, _ changes: ItemChanges, orAdd new: ItemChanges)
        throws(KeychainFailure)
    {
        try requirePolicy(changes)
        let key = try new.key(of: request.itemClass)
        try transaction { (vault, transaction) throws(KeychainFailure) in
            let keys = preferred(try matches(request, vault, transaction), changes.flag(SecKey.synchronizable))
            if keys.isEmpty { return try vaultCall { () throws(VaultError) in try add(new, key, to: transaction) } }
            for key in keys { try change(key, changes, in: transaction) }
        }
    }

    // MARK: steps

    private static func requirePolicy(_ changes: ItemChanges) throws(KeychainFailure) {
        guard let policy = changes.policy, policy != 0, Authentication.handler == nil else { return }
        throw KeychainFailure(
            .unimplemented,
            "a vault cannot ask for a fingerprint or a passcode; set an authentication handler before storing items that require one"
        )
    }

    private static func preferred(_ keys: [ItemKey], _ synchronizable: Bool?) -> [ItemKey] {
        guard let synchronizable else { return keys }
        return keys.filter { key in
            key.synchronizable == synchronizable
                || !keys.contains {
                    $0 != key && $0.synchronizable != key.synchronizable && isSameButSynchronizable($0, key)
                }
        }
    }

    private static func isSameButSynchronizable(_ left: ItemKey, _ right: ItemKey) -> Bool {
        left.itemClass == right.itemClass && left.fields == right.fields
            && left.group.utf8.elementsEqual(right.group.utf8)
    }

    private static func add(_ new: ItemChanges, _ key: ItemKey, to transaction: Transaction) throws(VaultError) {
        let attributes = new.attributes(of: key.itemClass)
        try new.withSecret { (secret) throws(VaultError) in
            try transaction.add(
                key, secret: secret, attributes: attributes.set, accessibility: new.accessibility ?? .whenUnlocked,
                created: new.date(SecKey.creationDate), modified: new.date(SecKey.modificationDate))
        }
    }

    private static func change(_ key: ItemKey, _ changes: ItemChanges, in transaction: Transaction)
        throws(KeychainFailure)
    {
        let newKey = try changes.key(of: key.itemClass, changing: key)
        let item = try vaultCall { () throws(VaultError) in try transaction.item(key) }
        let attributes = changes.attributes(of: key.itemClass, changing: item)
        try vaultCall { () throws(VaultError) in
            // After a merge, two items can have the same key, in which case one of them is listed under a different
            // key.
            if newKey != key, let other = try transaction.item(newKey), other.id != item?.id {
                throw VaultError(.duplicateItem, "the item already exists")
            }
            try transaction.move(key, to: newKey)
            guard changes.secret != nil else {
                return try transaction.update(newKey, attributes: attributes, accessibility: changes.accessibility)
            }
            try changes.withSecret { (secret) throws(VaultError) in
                try transaction.set(
                    newKey, secret: secret, attributes: attributes, accessibility: changes.accessibility)
            }
        }
    }

    /// Runs a change on the keys of the items that match. Throws `itemNotFound`, without acquiring the writer's lock,
    /// if no item matches.
    private static func changeMatching(
        _ request: ItemRequest, _ body: ([ItemKey], Transaction) throws(KeychainFailure) -> Void
    ) throws(KeychainFailure) {
        try requireMatch(request)
        try transaction { (vault, transaction) throws(KeychainFailure) in
            let keys = try matches(request, vault, transaction)
            guard !keys.isEmpty else { throw .itemNotFound }
            try body(keys, transaction)
        }
    }

    private static func requireMatch(_ request: ItemRequest) throws(KeychainFailure) {
        let vault = try VaultInUse.refreshed()
        let matcher = try ItemMatcher(request, in: vault)
        var cursor = try vaultCall { () throws(VaultError) in try vault.items(matching: matcher.query) }
        while let item = try vaultCall({ () throws(VaultError) in try cursor.next() }) {
            if try matcher.accepts(item, whole: { (item) throws(KeychainFailure) in try whole(item, vault) }) { return }
        }
        throw .itemNotFound
    }

    private static func matches(
        _ request: ItemRequest, _ vault: Vault, _ transaction: Transaction
    ) throws(KeychainFailure) -> [ItemKey] {
        let matcher = try ItemMatcher(request, in: vault)
        var cursor = try vaultCall { () throws(VaultError) in try transaction.items(matching: matcher.query) }
        var keys: [ItemKey] = []
        while keys.count < request.limit ?? .max,
            let item = try vaultCall({ () throws(VaultError) in try cursor.next() })
        {
            let isMatch = try matcher.accepts(item) { (item) throws(KeychainFailure) in
                try readable(item) { () throws(VaultError) in try transaction.whole(item.key)?.item }
            }
            if isMatch { keys.append(item.key) }
        }
        return keys
    }

    /// Makes one commit on the newest state.
    private static func transaction(_ body: (Vault, Transaction) throws(KeychainFailure) -> Void)
        throws(KeychainFailure)
    {
        var failure: KeychainFailure?
        do throws(KeychainFailure) {
            try writing { (vault) throws(VaultError) in
                // This call may be the second attempt.
                failure = nil
                try vault.transaction { (transaction) throws(VaultError) in
                    do throws(KeychainFailure) { try body(vault, transaction) } catch {
                        failure = error
                        throw VaultError(error.isDeviceMissing ? .deviceBound : .invalidArgument, error.reason)
                    }
                }
            }
        } catch { throw failure ?? error }
    }

    /// Runs a change. If it fails only because this machine has no device, creates the device and repeats the change.
    private static func writing<R>(_ body: (Vault) throws(VaultError) -> R) throws(KeychainFailure) -> R {
        let vault = try VaultInUse.refreshed()
        if case .scoped(let groups) = vault.access {
            let names = groups.map { $0.isEmpty ? "(default)" : TerminalText.quoted($0) }.joined(separator: ", ")
            throw KeychainFailure(
                .authFailed,
                "the slot that opened this vault can only read the secrets in the access groups \(names), and cannot change anything"
            )
        }
        do throws(VaultError) { return try body(vault) } catch {
            guard error.code == .deviceBound, let renewed = try VaultInUse.withNewDevice(vault) else {
                throw KeychainFailure(error)
            }
            return try vaultCall { () throws(VaultError) in try body(renewed) }
        }
    }
}

extension KeychainFailure {
    /// True if a device-only item could not be stored because there is no device.
    fileprivate var isDeviceMissing: Bool { status == Code.dataNotAvailable.rawValue }
}
