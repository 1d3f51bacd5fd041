public import VaultFmt
internal import VaultStore

/// The newest state of a vault that this machine authenticated and knows to be durable.
public struct RememberedState: Sendable, Hashable {
    /// The state, and the owners that it was seen under.
    public let anchor: Anchor

    package init(anchor: Anchor) { self.anchor = anchor }

    init(_ watched: WatchedState) {
        anchor = Anchor(
            vault: VaultID(watched.vault), generation: watched.generation, chain: watched.chain,
            owners: OwnersPublicKey(watched.ownersPublicKey))
    }

    // MARK: as a file

    /// One line: the anchor.
    var line: String { anchor.description + "\n" }

    init?(line: String, of vault: VaultID) {
        guard line.hasSuffix("\n"), let anchor = Anchor(String(line.dropLast())), anchor.vault == vault else {
            return nil
        }
        self.init(anchor: anchor)
        // One spelling only.
        guard self.line == line else { return nil }
    }

    // MARK: judging

    /// How a state that is not refused compares with the remembered one.
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
        case .older:
            throw VaultError(
                .rolledBack,
                "the vault is at generation \(now), but this machine saw \(anchor.generation): it was rolled back")
        case .forked:
            throw VaultError(
                .forked,
                "the vault was continued from another state than generation \(anchor.generation), which this machine saw: it is forked"
            )
        case .foreign:
            throw VaultError(
                .foreignOwner,
                "the vault belongs to other owners than at generation \(anchor.generation), which this machine saw, and nothing shows "
                    + "that they handed it over")
        case .unprovable:
            throw VaultError(
                .ancestryUnprovable,
                "the file no longer proves that it continues generation \(anchor.generation), which this machine saw; it is now at "
                    + "generation \(now)")
        }
    }
}
