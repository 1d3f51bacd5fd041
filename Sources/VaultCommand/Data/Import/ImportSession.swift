import VaultFmt

/// What to do with an item that the vault, or the source itself, has already.
enum DuplicatePolicy: String, CaseIterable {
    case fail
    case skip
    case replace
}

/// Puts the items of a source into a vault: all of them in one transaction, or none.
struct ImportSession {
    let policy: DuplicatePolicy
    private(set) var added = 0
    private(set) var replaced = 0
    private(set) var skipped = 0
    /// Names of the first few items that were there already, and where the source has them.
    private var duplicates: [String] = []
    private var duplicateCount = 0
    private var losses: [String] = []

    init(policy: DuplicatePolicy) {
        self.policy = policy
    }

    /// Imports everything.
    mutating func run(_ source: inout some ImportSource & ~Copyable, into vault: Vault) throws(CommandFailure) {
        var failure: CommandFailure?
        do throws(VaultError) {
            try vault.transaction { transaction throws(VaultError) in
                do throws(CommandFailure) {
                    losses = try source.read { record throws(CommandFailure) in try put(record, into: transaction) }
                    try refuseDuplicates()
                } catch {
                    failure = error
                    throw VaultError(.invalidArgument, error.message)
                }
            }
        } catch {
            throw failure ?? CommandFailure(error)
        }
    }

    /// Says what `run` would do, a line for each item, and changes nothing.
    mutating func rehearse(
        _ source: inout some ImportSource & ~Copyable, into vault: Vault, output: Output
    ) throws(CommandFailure) {
        var seen: Set<ItemKey> = []
        losses = try source.read { record throws(CommandFailure) in
            let isNew = seen.insert(record.key).inserted
            let isInVault = try importing(record.place) { () throws(VaultError) in try vault.item(record.key) != nil }
            let action = count(isKnown: isInVault || !isNew, record)
            try output.line("\(action)\t\(ItemText.summary(record.key, label: record.attributes.label))")
        }
        try output.flush()
    }

    /// Fails if the policy is to fail and there were duplicates; the first few are named.
    func refuseDuplicates() throws(CommandFailure) {
        guard duplicateCount > 0 else { return }
        let more = duplicateCount > duplicates.count ? " and \(duplicateCount - duplicates.count) more" : ""
        throw CommandFailure(
            .noSuchItem,
            "there already: \(duplicates.joined(separator: ", "))\(more); nothing was imported; choose --on-duplicate skip or replace")
    }

    /// Says what was lost, and how many items went where.
    func report(verb: String) {
        for loss in losses { Terminal.warning("not imported: \(loss)") }
        var text = "\(verb) \(added + replaced) \(added + replaced == 1 ? "item" : "items")"
        if replaced > 0 { text += ", \(replaced) of them in place of others" }
        if skipped > 0 { text += "; skipped \(skipped) that \(skipped == 1 ? "was" : "were") there already" }
        Terminal.note(text)
    }

    private mutating func put(_ record: consuming ImportRecord, into transaction: Transaction) throws(CommandFailure) {
        let isKnown = try importing(record.place) { () throws(VaultError) in try transaction.item(record.key) != nil }
        let action = count(isKnown: isKnown, record)
        switch action {
        case .add:
            try importing(record.place) { () throws(VaultError) in
                try transaction.add(
                    record.key, secret: record.secret, attributes: record.attributes, accessibility: record.accessibility,
                    created: record.created, modified: record.modified)
            }
        case .replace:
            try importing(record.place) { () throws(VaultError) in
                try transaction.set(
                    record.key, secret: record.secret, attributes: AttributeChanges(set: record.attributes, replaceAll: true),
                    accessibility: record.accessibility, created: record.created, modified: record.modified)
            }
        case .skip, .duplicate: break
        }
    }

    private enum Action: String {
        case add, replace, skip, duplicate
    }

    private mutating func count(isKnown: Bool, _ record: borrowing ImportRecord) -> Action {
        guard isKnown else {
            added += 1
            return .add
        }
        switch policy {
        case .replace:
            replaced += 1
            return .replace
        case .skip:
            skipped += 1
            return .skip
        case .fail:
            duplicateCount += 1
            if duplicates.count < 5 {
                duplicates.append("\(ItemText.summary(record.key, label: record.attributes.label)) (\(record.place))")
            }
            return .duplicate
        }
    }
}
