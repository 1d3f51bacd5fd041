import Glibc
import VaultConsole
import VaultExchange
import VaultFmt
import VaultLocal

/// Findings about the age of secrets: secrets that are older than requested, and secrets whose interval has passed.
struct SecretAges {
    /// The current time, in milliseconds since 1970.
    let now: Int64
    /// Secrets set before this time are old; nil to report only secrets with an interval.
    let oldest: Int64?
    private var items: [Item] = []

    init(now: Int64, oldest: Int64?) {
        self.now = now
        self.oldest = oldest
    }

    /// Records an item; its earlier values are read later.
    mutating func look(at item: Item) {
        guard item.key.itemClass == .genericPassword || item.key.itemClass == .internetPassword else { return }
        let isOfAge = oldest != nil && !ItemKind.holdsNoPassword(item)
        if isOfAge || item.attributes.attribute(AttributeName.changeInterval) != nil { items.append(item) }
    }

    /// The findings, in the order of the items.
    func findings(in vault: Vault) throws(VaultError) -> [Finding] {
        var found: [Finding] = []
        for item in items {
            if let finding = finding(item, try SecretDate(of: item, in: vault)) { found.append(finding) }
        }
        return found
    }

    private func finding(_ item: Item, _ date: SecretDate) -> Finding? {
        if let due = ChangeInterval.due(item, since: date) {
            guard due < now else { return nil }
            let every = TerminalText.escaped(item.attributes.string(AttributeName.changeInterval) ?? "")
            return Finding(
                kind: .old, items: [item],
                why: "to be changed every \(every), due since \(Timestamp.short(due)) UTC; \(unchanged(date))",
                changed: date, due: due)
        }
        guard let oldest, date.milliseconds < oldest else { return nil }
        return Finding(kind: .old, items: [item], why: unchanged(date), changed: date)
    }

    private func unchanged(_ date: SecretDate) -> String {
        let days = (now - date.milliseconds) / Age.day
        let least = date.isExact ? "" : "at least "
        return "not changed for \(least)\(days) \(days == 1 ? "day" : "days"), "
            + "since \(date.isExact ? "" : "before ")\(Timestamp.short(date.milliseconds)) UTC"
    }
}
