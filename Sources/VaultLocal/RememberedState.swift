internal import VaultBytes
internal import VaultCrypto
public import VaultFmt
internal import VaultStore

/// The newest state of a vault that this machine authenticated and knows to be durable, and the key that it was seen under.
public struct RememberedState: Sendable, Hashable {
    /// The state.
    public let anchor: Anchor
    /// Of the key that it was seen under: the vault key for an owner, the index key for the holder of a scoped slot. 32 hexadecimal digits.
    public let fingerprint: String
    /// A key that this machine is about to rotate the vault to, or was when it crashed.
    package let next: String?

    package init(anchor: Anchor, fingerprint: String, next: String? = nil) {
        self.anchor = anchor
        self.fingerprint = fingerprint
        self.next = next
    }

    init(_ watched: WatchedState, next: String? = nil) {
        self.init(
            anchor: Anchor(vault: VaultID(watched.vault), generation: watched.generation, chain: watched.chain),
            fingerprint: Hex.encode(watched.fingerprint), next: next)
    }

    // MARK: as a file

    /// One line: anchor, fingerprint and, where there is one, the key to come, with a space between them.
    var line: String { ([anchor.description, fingerprint] + (next.map { [$0] } ?? [])).joined(separator: " ") + "\n" }

    init?(line: String, of vault: VaultID) {
        guard line.hasSuffix("\n") else { return nil }
        let fields = line.dropLast().split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard (2...3).contains(fields.count), let anchor = Anchor(fields[0]), anchor.vault == vault,
            fields[1...].allSatisfy({ $0.utf8.count == 32 && Hex.decode($0) != nil })
        else { return nil }
        self.init(anchor: anchor, fingerprint: fields[1], next: fields.count == 3 ? fields[2] : nil)
        // One spelling only.
        guard self.line == line else { return nil }
    }

    // MARK: judging

    /// How a state stands to the remembered one, where it is not refused.
    enum Standing: Sendable {
        case same
        case newer
    }

    /// Compares a state with this one.
    /// - Parameter isOwner: Whether this was seen as an owner, and so is the other: then the key counts too.
    /// - Throws: `rolledBack`, `forked`, `foreignOwner`, `ancestryUnprovable`.
    func judge(_ watched: WatchedState, isOwner: Bool) throws(VaultError) -> Standing {
        let ancestry = try watched.ancestry(generation: anchor.generation, chain: anchor.value)
        let now = watched.generation
        switch ancestry {
        case .older:
            throw VaultError(
                .rolledBack,
                "the vault is at generation \(now), but this machine saw \(anchor.generation): it was rolled back")
        case .forked:
            throw VaultError(
                .forked,
                "the vault was continued from another state than generation \(anchor.generation), which this machine saw: it is forked")
        case .same, .descends, .unprovable: break
        }
        let fingerprint = Hex.encode(watched.fingerprint)
        guard !isOwner || fingerprint == self.fingerprint || fingerprint == next else {
            throw VaultError(
                .foreignOwner,
                "the vault is under another key than at generation \(anchor.generation), which this machine saw: "
                    + "it was rotated elsewhere, or somebody else has made this file")
        }
        guard ancestry != .unprovable else {
            throw VaultError(
                .ancestryUnprovable,
                "the file no longer proves that it continues generation \(anchor.generation), which this machine saw; it is at generation "
                    + "\(now) now")
        }
        return ancestry == .same && fingerprint == self.fingerprint ? .same : .newer
    }
}
