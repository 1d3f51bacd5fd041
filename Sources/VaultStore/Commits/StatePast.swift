package import VaultBytes
internal import VaultCrypto

/// How a remembered state is related to the current one.
package enum Ancestry: Sendable, Equatable {
    case foreign
    case same
    case older
    case descends
    case unprovable
    case forked
}

/// A program's record of a state whose proof it has checked, without the vault's id (section 7.2).
package struct AnchorPoint: Hashable, Sendable {
    package let generation: UInt64
    package let chain: Bytes32
    package let ownersPublicKey: Bytes32

    package init(generation: UInt64, chain: Bytes32, ownersPublicKey: Bytes32) {
        self.generation = generation
        self.chain = chain
        self.ownersPublicKey = ownersPublicKey
    }
}

/// The information that a file contains about earlier states: its commits and its history (section 7.2).
package struct StatePast {
    let finder: StateFinder
    let pages: PageSource

    package init(finder: StateFinder, pages: PageSource) {
        self.finder = finder
        self.pages = pages
    }

    /// Whether a state is an ancestor of another state, or the same state.
    package enum Membership: Sendable {
        case same
        case ancestor
        /// Too old to tell: the ancestors that would answer the question were omitted.
        case belowFloor
        case no
    }

    /// Returns how a remembered state is related to `state`.
    ///
    /// `keyring`: the keyring of `state`, used for its hand-overs.
    /// `ownersPublicKey`: the key derived from the keys that opened `state`.
    package func verdict(
        on anchor: AnchorPoint, state: CommittedState, keyring: Keyring, ownersPublicKey: Bytes32
    ) throws(VaultError) -> Ancestry {
        if anchor.ownersPublicKey != ownersPublicKey {
            switch try handedOver(anchor, to: ownersPublicKey, state, keyring) {
            case .no: return .foreign
            case .belowFloor: return .unprovable
            case .same, .ancestor: break
            }
        }
        switch try membership(generation: anchor.generation, chain: anchor.chain, of: state) {
        case .same: return .same
        case .ancestor: return .descends
        case .belowFloor: return .unprovable
        case .no: return anchor.generation > state.commit.generation ? .older : .forked
        }
    }

    /// Returns whether hand-overs lead from an anchor's key to the state's.
    private func handedOver(
        _ anchor: AnchorPoint, to current: Bytes32, _ state: CommittedState, _ keyring: Keyring
    ) throws(VaultError) -> Membership {
        var isUnprovable = false
        for first in keyring.handOvers.indices where keyring.handOvers[first].publicKey == anchor.ownersPublicKey {
            switch try follows(anchor, Array(keyring.handOvers[first...]), to: current, state) {
            case .same, .ancestor: return .ancestor
            case .belowFloor: isUnprovable = true
            case .no: continue
            }
        }
        return isUnprovable ? .belowFloor : .no
    }

    private func follows(
        _ anchor: AnchorPoint, _ handOvers: [HandOver], to current: Bytes32, _ state: CommittedState
    ) throws(VaultError) -> Membership {
        guard let first = handOvers.first else { return .no }
        let next = handOvers.dropFirst().map(\.publicKey) + [current]
        for (one, next) in zip(handOvers, next) {
            guard one.isValid(vault: finder.vault, next: next) else { return .no }
        }
        guard zip(handOvers, handOvers.dropFirst()).allSatisfy({ $0.generation < $1.generation }) else { return .no }
        let isItsState = anchor.generation == first.generation && anchor.chain == first.chain
        guard isItsState || anchor.generation < first.generation else { return .no }
        var states = handOvers.map { (generation: $0.generation, chain: $0.chain) }
        if !isItsState { states.append((anchor.generation, anchor.chain)) }
        // Check all of the states, so that an unreadable past is an error in every case.
        var answers: [Membership] = []
        for one in states { answers.append(try ancestry(generation: one.generation, chain: one.chain, of: state)) }
        if answers.contains(.no) { return .no }
        return answers.contains(.belowFloor) ? .belowFloor : .ancestor
    }

    /// Looks for a state among the predecessors of another state, first in the file and then in its history.
    package func membership(generation: UInt64, chain: Bytes32, of state: CommittedState) throws(VaultError)
        -> Membership
    {
        if generation == state.commit.generation, chain == state.chain { return .same }
        guard generation <= state.commit.generation else { return .no }
        return try ancestry(generation: generation, chain: chain, of: state)
    }

    /// Does the same for two different states; the walk ends once it has passed the generation.
    private func ancestry(generation: UInt64, chain: Bytes32, of state: CommittedState) throws(VaultError) -> Membership
    {
        var hasPassed = generation >= state.commit.generation
        var damage: VaultError?
        var walk = PastWalk(finder, from: state)
        do throws(VaultError) {
            while !hasPassed, let ancestor = try walk.next() {
                if ancestor.generation == generation, ancestor.chain == chain { return .ancestor }
                hasPassed = ancestor.generation <= generation
            }
        } catch {
            damage = error
        }
        let history = try history(of: state)
        if let history, history.ancestors.contains(where: { $0.generation == generation && $0.chain == chain }) {
            return .ancestor
        }
        if let damage { throw damage }
        return generation < (history?.floor ?? 1) ? .belowFloor : .no
    }

    /// Returns the history for a file that starts after a state: as many of the state's ancestors as fit, in
    /// the order in which they became ancestors, followed by the state itself.
    package func historyForCompaction(after state: CommittedState) throws(VaultError) -> History {
        let past = try ancestors(of: state)
        let own = Ancestor(generation: state.commit.generation, clock: state.commit.clock, chain: state.chain)
        return History.folded(floor: past.floor, past.ancestors, with: [own])
    }

    /// Returns all ancestors of a state that the file contains, in the order in which they became ancestors, and the
    /// floor below which some are missing.
    ///
    /// If an earlier commit is damaged, its predecessors are omitted, and the floor is raised accordingly.
    package func ancestors(of state: CommittedState) throws(VaultError) -> (floor: UInt64, ancestors: [Ancestor]) {
        let newest = try history(of: state)
        var walked: [(ancestor: Ancestor, history: ObjectRef?)] = []
        var floor = newest?.floor ?? 1
        var walk = PastWalk(finder, from: state)
        do throws(VaultError) {
            while let one = try walk.nextLink() {
                guard one.ancestor.isPossible(before: walked.last?.ancestor.generation ?? state.commit.generation)
                else {
                    throw PastWalk.broken(state.commit.offset)
                }
                walked.append(one)
            }
        } catch {
            guard error.code == .authenticationFailed else { throw error }
            floor = max(floor, walked.last?.ancestor.generation ?? state.commit.generation)
        }
        walked.reverse()
        guard let newest else { return (floor, walked.map(\.ancestor)) }
        let merges = merges(walked.map(\.history) + [state.commit.history], before: newest)
        var all: [Ancestor] = []
        for (index, one) in walked.enumerated() { all += merges[index] + [one.ancestor] }
        all += merges[walked.count]
        var known = Set<Ancestor>()
        return (floor, all.filter { known.insert($0).inserted })
    }

    /// Returns the ancestors that each commit added to the history in addition to its predecessor. `refs` are the
    /// histories of the commits, oldest first.
    ///
    /// If an earlier history no longer opens, every ancestor that cannot be attributed otherwise is attributed to the
    /// first commit.
    private func merges(_ refs: [ObjectRef?], before newest: History) -> [[Ancestor]] {
        var brought = [[Ancestor]](repeating: [], count: refs.count)
        var last: ObjectRef?
        for (index, ref) in refs.enumerated() {
            guard let ref, ref != last else { continue }
            last = ref
            let isServed = index == refs.count - 1 || refs[index...].allSatisfy { $0 == ref }
            guard let history = isServed ? newest : earlier(ref) else { continue }
            brought[index] = Array(index == 0 ? history.ancestors[...] : history.ancestors.suffix(history.newest))
        }
        let placed = Set(brought.joined())
        brought[0] = newest.ancestors.filter { !placed.contains($0) } + brought[0]
        return brought
    }

    private func earlier(_ ref: ObjectRef) -> History? {
        do throws(VaultError) {
            let limit = UInt64(Format.Limit.fileSize)
            try decoding { () throws(FormatError) in try ref.check(.history, from: finder.bodyStart, before: limit) }
            let body = try pages.open(try FrameReader.read(ref, .history, pages.file), .history, at: ref.offset)
            return try decoding { () throws(FormatError) in
                try History(body.span, at: ref.offset, of: Format.Limit.number)
            }
        } catch { return nil }
    }

    /// Returns the earlier states whose commits are in the file, newest first: at most `most`, stopping at the first
    /// for which `isWanted` is false.
    ///
    /// Throws `authenticationFailed` if an earlier commit is damaged.
    package func states(
        before state: CommittedState, most: Int = .max, while isWanted: (Ancestor) -> Bool = { _ in true }
    ) throws(VaultError) -> [CommittedState] {
        var found: [CommittedState] = []
        var walk = PastWalk(finder, from: state)
        while found.count < most, let ancestor = try walk.next(), isWanted(ancestor) {
            guard let earlier = try self.state(at: walk.last) else { throw PastWalk.broken(walk.last) }
            found.append(earlier)
        }
        return found
    }

    /// Returns an ancestor of a state, or nil if the file does not contain its commit or it cannot be read.
    package func state(_ wanted: Ancestor, before state: CommittedState) throws(VaultError) -> CommittedState? {
        var walk = PastWalk(finder, from: state)
        do throws(VaultError) {
            while let ancestor = try walk.next(), ancestor.generation >= wanted.generation {
                if ancestor.generation == wanted.generation, ancestor.chain == wanted.chain {
                    return try self.state(at: walk.last)
                }
            }
        } catch {
            guard error.code == .authenticationFailed || error.code == .structureInvalid else { throw error }
        }
        return nil
    }

    private func state(at offset: UInt64) throws(VaultError) -> CommittedState? {
        guard let opened = try finder.read(at: offset)?.opened else { return nil }
        return try finder.state(opened, at: offset)
    }

    /// Returns the history named by a state, or nil if every ancestor is in the file.
    package func history(of state: CommittedState) throws(VaultError) -> History? {
        let isCut = state.commit.predecessorOffset(from: finder.bodyStart) == nil && state.commit.predecessor != nil
        guard let ref = state.commit.history else {
            guard !isCut else {
                throw VaultError(
                    .structureInvalid, "a commit whose predecessor is missing does not refer to a history",
                    at: state.commit.offset
                )
            }
            return nil
        }
        let frame = try FrameReader.read(ref, .history, pages.file)
        let body = try pages.open(frame, .history, at: ref.offset)
        let history = try decoding { () throws(FormatError) in
            try History(body.span, at: ref.offset, of: state.commit.generation)
        }
        if isCut, let before = state.commit.predecessor {
            guard history.ancestors.contains(where: { $0.generation == before.generation && $0.chain == before.chain })
            else {
                throw VaultError(.structureInvalid, "a history lacks the predecessor of its commit", at: ref.offset)
            }
        }
        return history
    }
}

/// Walks backward over the commits of a file. Each commit must open and be the one named by its successor; nothing else
/// is checked.
private struct PastWalk {
    private let finder: StateFinder
    private var place: (offset: UInt64, predecessor: Commit.Predecessor)?
    /// The offset of the last commit that was read.
    private(set) var last: UInt64 = 0

    init(_ finder: StateFinder, from state: CommittedState) {
        self.finder = finder
        if let offset = state.commit.predecessorOffset(from: finder.bodyStart),
            let predecessor = state.commit.predecessor
        {
            place = (offset, predecessor)
        }
    }

    mutating func next() throws(VaultError) -> Ancestor? { try nextLink()?.ancestor }

    /// Returns the previous commit and the history that it names.
    mutating func nextLink() throws(VaultError) -> (ancestor: Ancestor, history: ObjectRef?)? {
        guard let (offset, expected) = place else { return nil }
        place = nil
        last = offset
        guard let opened = try finder.read(at: offset)?.opened, opened.chain == expected.chain else {
            throw Self.broken(offset)
        }
        let link = try decoding { () throws(FormatError) in try CommitLink(opened.core.span, at: offset) }
        guard link.generation == expected.generation else { throw Self.broken(offset) }
        if link.start != finder.bodyStart {
            // If there is no room for an earlier commit, this is the first.
            place = (link.start > finder.bodyStart ? link.start - UInt64(Format.commitSize) : 0, link.predecessor)
        }
        return (Ancestor(generation: link.generation, clock: link.clock, chain: opened.chain), link.history)
    }

    static func broken(_ offset: UInt64) -> VaultError {
        VaultError(
            .authenticationFailed, "an earlier commit is damaged, so older states cannot be compared", at: offset)
    }
}

extension History {
    /// Returns a history with newer ancestors appended; if they do not fit, the oldest are dropped, which raises the
    /// floor.
    package static func folded(floor: UInt64, _ old: [Ancestor], with new: [Ancestor]) -> History {
        var known = Set<Ancestor>()
        let kept = old.filter { known.insert($0).inserted }
        let added = new.filter { known.insert($0).inserted }
        let all = kept + added
        let dropped = all.dropLast(Format.Limit.ancestors)
        let floor = max(floor, (dropped.map(\.generation).max() ?? 0) + 1)
        return History(
            floor: floor, ancestors: Array(all.suffix(Format.Limit.ancestors)),
            newest: min(added.count, Format.Limit.ancestors))
    }
}
