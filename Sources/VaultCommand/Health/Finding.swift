import VaultExchange
import VaultFmt
import VaultLocal
import VaultSync

/// A finding of `check`: its kind, its subject and the reason; never a secret.
struct Finding {
    /// The kinds of findings, by their names in the JSON report.
    enum Kind: String {
        case weak, reused, repeated, leaked, old, expired, expiring, noSecondFactor, unencryptedAddress, weakSlot,
            openFile

        /// The words with which a finding's line begins.
        var words: String {
            switch self {
            case .weak: "weak"
            case .reused: "reused"
            case .repeated: "stored twice"
            case .leaked: "leaked"
            case .old: "old"
            case .expired: "expired"
            case .expiring: "expires soon"
            case .noSecondFactor: "no second factor"
            case .unencryptedAddress: "unencrypted address"
            case .weakSlot: "weak slot"
            case .openFile: "open to others"
            }
        }
    }

    let kind: Kind
    /// The items that the finding concerns; empty if it concerns the vault or a file.
    var items: [Item] = []
    /// The vault or file that the finding concerns, if it does not concern items.
    var place: String?
    let why: String
    /// The times at which the item's secret was set and was due to be changed, in milliseconds since 1970, if the
    /// finding concerns them.
    var changed: SecretDate?
    var due: Int64?

    /// The finding as a single escaped line.
    var line: String {
        let names = items.map { ItemText.summary($0.key, label: $0.attributes.label) }
        let subject = (names + [place].compactMap { $0.map { TerminalText.quoted($0) } }).joined(separator: "; ")
        return "\(kind.words): \(subject): \(why)"
    }
}

extension JSONWriter {
    /// A finding as an object: `kind`, `why`, and `items` or `place`.
    mutating func object(_ finding: Finding) throws {
        try object { writer in
            try writer.member("kind", finding.kind.rawValue)
            try writer.member("why", finding.why)
            if let changed = finding.changed {
                try writer.member("secretChanged", Timestamp.text(changed.milliseconds))
                try writer.member("isExact", changed.isExact)
            }
            if let due = finding.due { try writer.member("due", Timestamp.text(due)) }
            if let place = finding.place { try writer.member("place", place) }
            guard !finding.items.isEmpty else { return }
            try writer.array("items") { writer in
                for item in finding.items {
                    try writer.object { writer in
                        try writer.member("id", item.id.description)
                        try writer.members(naming: item.key)
                        if let label = item.attributes.label { try writer.member("label", label) }
                    }
                }
            }
        }
    }
}
