import VaultFmt
import VaultLocal

/// What to do with an item that the vault, or the source itself, has already.
enum DuplicatePolicy: String, CaseIterable {
    case fail
    case skip
    case replace
    case keepBoth = "keep-both"
}

/// Puts the items of a source into a vault: all of them in one transaction, or none.
struct ImportSession {
    let policy: DuplicatePolicy
    private(set) var added = 0
    private(set) var replaced = 0
    private(set) var skipped = 0
    private(set) var earlierValues = 0
    private var droppedEarlierValues = 0
    /// What became of items that were there already, and where the source has them: the first few.
    private var named: [String] = []
    private var duplicateCount = 0
    private var losses: [String] = []

    /// How many of the items that are skipped, replaced or renamed are named. All of them go through a dry run's
    /// standard output.
    private static let mostNamed = 1000

    init(policy: DuplicatePolicy) {
        self.policy = policy
    }

    /// Imports everything.
    mutating func run(_ source: inout some ImportSource & ~Copyable, into vault: Vault) throws {
        var failure: CommandFailure?
        do throws(VaultError) {
            try vault.transaction { transaction throws(VaultError) in
                do {
                    losses = try source.read { record in try put(record, into: transaction) }
                    try refuseDuplicates()
                } catch {
                    let reason = CommandFailure(error)
                    failure = reason
                    throw VaultError(.invalidArgument, reason.message)
                }
            }
        } catch {
            throw failure ?? CommandFailure(error)
        }
    }

    /// Says what `run` would do, a line for each item, and changes nothing. What `run` refuses is refused here too.
    mutating func rehearse(
        _ source: inout some ImportSource & ~Copyable, into vault: Vault, output: Output
    ) throws {
        var seen: Set<ItemKey> = []
        losses = try source.read { record in
            let isKnown = { (key: ItemKey) throws(VaultError) -> Bool in
                if seen.contains(key) { return true }
                return try vault.item(key) != nil
            }
            let key = record.key
            let (action, target) = try importing(record.place) {
                try vault.rehearseAdding(
                    secretBytes: record.secret.count, attributes: record.attributes,
                    accessibility: record.accessibility,
                    group: key.group, created: record.created, modified: record.modified)
                for earlier in record.earlier {
                    try vault.rehearseAdding(
                        secretBytes: earlier.secretBytes, attributes: earlier.value.attributes,
                        accessibility: record.accessibility,
                        group: key.group, created: earlier.value.replaced, modified: earlier.value.modified)
                }
                return try decide(key, isKnown)
            }
            note(action, record, target)
            seen.insert(target)
            try output.line("\(action)\t\(ItemText.summary(target, label: record.attributes.label))")
        }
        try output.flush()
    }

    /// Fails if the policy is to fail and there were duplicates; the first few are named.
    func refuseDuplicates() throws {
        guard duplicateCount > 0 else { return }
        let more = duplicateCount > 5 ? " and \(duplicateCount - 5) more" : ""
        throw CommandFailure(
            .noSuchItem,
            "there already, in the vault or earlier in the source: \(named.prefix(5).joined(separator: ", "))\(more); nothing was imported; "
                + "choose --on-duplicate skip, replace or keep-both")
    }

    /// Says what was lost, skipped or replaced, and how many items went where.
    func report(verb: String) {
        for loss in losses { Terminal.warning("not imported: \(loss)") }
        if policy != .fail { for line in named { Terminal.note(line) } }
        let unnamed = replaced + skipped - named.count
        if policy != .fail, policy != .keepBoth, unnamed > 0 { Terminal.note("… and \(unnamed) more") }
        var text = "\(verb) \(added + replaced) \(added + replaced == 1 ? "item" : "items")"
        if replaced > 0 { text += ", \(replaced) of them in place of others" }
        if earlierValues > 0 { text += ", with \(earlierValues) earlier \(earlierValues == 1 ? "value" : "values")" }
        if droppedEarlierValues > 0 {
            Terminal.warning(
                "not imported: \(droppedEarlierValues) earlier values, since the vault keeps fewer ('vaultfmt rekey --keep')"
            )
        }
        if skipped > 0 { text += "; skipped \(skipped) that \(skipped == 1 ? "was" : "were") there already" }
        Terminal.note(text)
    }

    private mutating func put(_ record: consuming ImportRecord, into transaction: Transaction) throws {
        let key = record.key
        let (action, target) = try importing(record.place) {
            try decide(key) { key throws(VaultError) in try transaction.item(key) != nil }
        }
        note(action, record, target)
        switch action {
        case .add, .keepBoth:
            try importing(record.place) {
                try transaction.add(
                    target, secret: record.secret, attributes: record.attributes, accessibility: record.accessibility,
                    created: record.created, modified: record.modified)
            }
        case .replace:
            try importing(record.place) {
                try transaction.set(
                    target, secret: record.secret,
                    attributes: AttributeChanges(set: record.attributes, replaceAll: true),
                    accessibility: record.accessibility, created: record.created, modified: record.modified)
            }
        case .skip, .duplicate: return
        }
        guard !record.earlier.isEmpty else { return }
        let earlier = record.earlier.map(\.value)
        let kept = try importing(record.place) {
            try transaction.addEarlierValues(earlier, to: target)
        }
        earlierValues += kept
        droppedEarlierValues += earlier.count - kept
    }

    private enum Action: String, CustomStringConvertible {
        case add, replace, skip, duplicate
        case keepBoth = "keep-both"

        var description: String { rawValue }
    }

    /// What to do with an item, and under which key.
    private func decide(
        _ key: ItemKey, _ isKnown: (ItemKey) throws(VaultError) -> Bool
    ) throws(VaultError) -> (Action, ItemKey) {
        guard try isKnown(key) else { return (.add, key) }
        switch policy {
        case .replace: return (.replace, key)
        case .skip: return (.skip, key)
        case .fail: return (.duplicate, key)
        case .keepBoth: break
        }
        // A certificate, a key or an identity is the same thing where its key is the same.
        guard let account = key.account else { return (.skip, key) }
        for number in 2...Self.mostOfOneName {
            let other = try key.withAccount(account.isEmpty ? "(\(number))" : "\(account) (\(number))")
            if try !isKnown(other) { return (.keepBoth, other) }
        }
        throw VaultError(.limitExceeded, "there are \(Self.mostOfOneName) items of one name")
    }

    private static let mostOfOneName = 1000

    /// Counts what is done with an item, and keeps its name where it was there already.
    private mutating func note(_ action: Action, _ record: borrowing ImportRecord, _ target: ItemKey) {
        let what: String
        switch action {
        case .add:
            added += 1
            return
        case .keepBoth:
            added += 1
            what = "kept both, this one as account \(TerminalText.quoted(target.account ?? ""))"
        case .replace:
            replaced += 1
            what = "replaced"
        case .skip:
            skipped += 1
            what = "skipped"
        case .duplicate:
            duplicateCount += 1
            what = ""
        }
        guard named.count < Self.mostNamed else { return }
        let item = "\(ItemText.summary(record.key, label: record.attributes.label)) (\(record.place))"
        named.append(what.isEmpty ? item : "\(what): \(item)")
    }
}

extension ItemKey {
    /// The same key with another account; itself for a class that has none.
    fileprivate func withAccount(_ account: String) throws(VaultError) -> ItemKey {
        switch fields {
        case .genericPassword(let service, _):
            try ItemKey(
                .genericPassword(service: service, account: account), group: group, synchronizable: synchronizable)
        case .internetPassword(let server, let networkProtocol, let port, let path, _, let domain, let authentication):
            try ItemKey(
                .internetPassword(
                    server: server, protocol: networkProtocol, port: port, path: path, account: account,
                    securityDomain: domain,
                    authenticationType: authentication), group: group, synchronizable: synchronizable)
        case .certificate, .key, .identity, .reserved: self
        }
    }
}
