internal import VaultBytes
internal import VaultStore

/// The relation between the owners' keys of two copies (specification, section 8.2).
enum RelatedKeys {
    case same
    /// Their copy is a branch under a key that ours has replaced.
    case theirsIsBranch
    /// Our copy is a branch under a key that theirs has replaced.
    case oursIsBranch
    /// Each side has replaced a common key. The side that replaced it later stays, and the other side is the branch.
    case bothReplaced(oursStays: Bool)
    /// No hand-overs connect the keys: the copies belong to different owners.
    case foreign

    init(_ ours: Store, _ theirs: Store) throws(VaultError) {
        guard ours.ownersPublicKey != theirs.ownersPublicKey else {
            self = .same
            return
        }
        var (mine, its) = (ours.handOvers, theirs.handOvers)
        switch (try mine.leads(theirs.ownersPublicKey), try its.leads(ours.ownersPublicKey)) {
        case (true, false): self = .theirsIsBranch
        case (false, true): self = .oursIsBranch
        case (true, true): self = .bothReplaced(oursStays: try Self.oursStays(ours, theirs))
        case (false, false):
            guard try Self.haveOneOrigin(&mine, &its) else {
                self = .foreign
                return
            }
            self = .bothReplaced(oursStays: try Self.oursStays(ours, theirs))
        }
    }

    /// Returns whether there is a key from which each side's hand-overs lead to that side's own key.
    private static func haveOneOrigin(_ mine: inout HandOvers, _ its: inout HandOvers) throws(VaultError) -> Bool {
        let keys = Set(try mine.all().map(\.handOver.publicKey)).intersection(try its.all().map(\.handOver.publicKey))
        for key in keys {
            if try mine.leads(key), try its.leads(key) { return true }
        }
        return false
    }

    /// Returns whether the later rotation is ours; if both have the same dot, the greater key decides.
    private static func oursStays(_ ours: Store, _ theirs: Store) throws(VaultError) -> Bool {
        guard let mine = try ours.vector().dot(ours.keyring.vaultKey),
            let its = try theirs.vector().dot(theirs.keyring.vaultKey)
        else { throw VaultError(.structureInvalid, "the dot of the vault key is not in the vector") }
        guard mine == its else { return mine > its }
        return ByteOrder.isLess(theirs.ownersPublicKey.bytes, ours.ownersPublicKey.bytes)
    }
}

extension VaultError {
    /// The error that is thrown if both copies have replaced the keys and a merge would keep the other copy's keys and
    /// slots. The caller may not want this merge, because it would bring back slots that our rotation removed.
    package static let replacedKeysLater = VaultError(
        .foreignOwner,
        "both copies have replaced the keys independently, the other one more recently: merging them would keep the other copy's keys and slots, including slots that were removed when this copy's keys were replaced"
    )

    /// The corresponding error for a merge that would keep our keys and slots.
    package static let replacedKeysEarlier = VaultError(
        .foreignOwner,
        "both copies have replaced the keys independently, this one more recently: if this copy's slots are correct, accept old keys to merge the other copy's values; slots that were removed when the other copy's keys were replaced will also be kept"
    )
}

/// The changes of a branch under a replaced key that the other side already knows (section 8.2).
struct KnownDots {
    /// The vectors of the other side's hand-overs; all of their changes are known.
    private let covered: [Vector]
    /// Pairs of vectors; a change included in both is known.
    private let shared: [(Vector, Vector)]
    private let branch: MergeSide

    init(_ staying: MergeSide, _ branch: MergeSide) throws(VaultError) {
        var (mine, its) = (staying.store.handOvers, branch.store.handOvers)
        let key = branch.store.ownersPublicKey
        let own = try mine.all()
        covered = own.filter { $0.handOver.publicKey == key }.map(\.vector)
        var shared: [(Vector, Vector)] = []
        for other in try its.all() where try its.leads(other.handOver.next) {
            for one in own where one.handOver.publicKey == other.handOver.publicKey {
                shared.append((one.vector, other.vector))
            }
        }
        self.shared = shared
        self.branch = branch
    }

    func contains(_ dot: Dot) -> Bool {
        guard !branch.isSplit(dot) else { return false }
        return covered.contains { $0.hasSeen(dot) } || shared.contains { $0.hasSeen(dot) && $1.hasSeen(dot) }
    }

    /// True if every row of the branch is covered by a hand-over from the branch's key, so that the branch has no new
    /// values.
    var coversBranch: Bool {
        branch.vector.rows.allSatisfy { row in
            covered.contains { $0.hasSeen(Dot(revision: row.revision, replica: row.id)) }
        }
    }
}
