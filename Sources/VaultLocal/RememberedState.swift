public import VaultFmt
internal import VaultStore

/// The newest state of a vault that this machine authenticated and knows to be durable.
public struct RememberedState: Sendable, Hashable {
    /// The state, including the owners' public key under which it was seen.
    public let anchor: Anchor

    package init(anchor: Anchor) { self.anchor = anchor }

    init(_ watched: WatchedState) {
        anchor = Anchor(
            vault: VaultID(watched.vault), generation: watched.generation, chain: watched.chain,
            owners: OwnersPublicKey(watched.ownersPublicKey))
    }

    // MARK: as a file

    /// The contents of the file: one line with the anchor.
    var line: String { anchor.description + "\n" }

    init?(line: String, of vault: VaultID) {
        guard line.hasSuffix("\n"), let anchor = Anchor(String(line.dropLast())), anchor.vault == vault else {
            return nil
        }
        self.init(anchor: anchor)
        // Only one spelling is accepted.
        guard self.line == line else { return nil }
    }

    // MARK: judging

    /// How an accepted state compares with the remembered one.
    enum Standing: Sendable {
        case same
        case newer
    }

    /// Compares a state with this one. A rotation that was handed over is a newer state like any other.
    ///
    /// - Throws: `rolledBack`, `forked`, `foreignOwner`, `ancestryUnprovable`.
    func judge(_ watched: WatchedState) throws(VaultError) -> Standing {
        let point = AnchorPoint(
            generation: anchor.generation, chain: anchor.value, ownersPublicKey: anchor.owners.value)
        let now = watched.generation
        switch try watched.verdict(on: point) {
        case .same: return .same
        case .descends: return .newer
        case .older: throw refusal(ofOlder: watched)
        case .forked:
            throw VaultError(
                .forked,
                "the vault does not continue generation \(anchor.generation), which this machine has seen: it is forked"
            )
        case .foreign:
            throw VaultError(
                .foreignOwner,
                "the vault belongs to other owners: nothing shows that it was handed over after generation \(anchor.generation), "
                    + "which this machine has seen")
        case .unprovable:
            throw VaultError(
                .ancestryUnprovable,
                "the file no longer proves that it continues generation \(anchor.generation), which this machine has seen; it is now at "
                    + "generation \(now)")
        }
    }

    /// An older state was put back if the file ends with it; otherwise what came after it is damaged or cut off. Only
    /// the error for the latter has an offset.
    private func refusal(ofOlder watched: WatchedState) -> VaultError {
        let unreadable: String
        switch watched.tail {
        case .clean, .writeInProgress:
            return VaultError(
                .rolledBack,
                "the vault is at generation \(watched.generation), but this machine has seen generation \(anchor.generation): it was rolled back"
            )
        case .torn(let bytes), .damaged(let bytes):
            let last = watched.end.addingReportingOverflow(max(bytes, 1) - 1).partialValue
            unreadable = "its bytes \(watched.end) to \(last) belong to no change that can be read"
        case .incomplete(let generation): unreadable = "generation \(generation) in it is incomplete"
        }
        return VaultError(
            .rolledBack,
            "the file is damaged or cut off: \(unreadable); it opens at generation \(watched.generation), and this machine has "
                + "seen \(anchor.generation); an older copy with other bytes after it would look the same",
            at: watched.end)
    }
}
