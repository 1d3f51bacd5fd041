package import VaultBytes

/// A past commit that the file still contains.
package struct PastCommit: Hashable, Sendable {
    package let generation: UInt64
    package let clock: UInt64
    package let chain: Bytes32
}

/// The information that a file contains about earlier states: the commits before the newest one.
///
/// A walk ends at the first commit of the file. It fails at a commit that does not open or does not match the reference
/// in its successor. The rest of a past commit is not checked, because the chain value authenticates it.
package struct StatePast {
    let finder: StateFinder
    let pages: PageSource

    package init(finder: StateFinder, pages: PageSource) {
        self.finder = finder
        self.pages = pages
    }

    /// Returns at most `most` of the earlier states whose commits are in the file, newest first, stopping at the first
    /// state for which `isWanted` returns false.
    ///
    /// Throws `authenticationFailed` if an earlier commit is damaged.
    package func states(
        before state: CommittedState, most: Int = .max, while isWanted: (PastCommit) -> Bool = { _ in true }
    ) throws(VaultError) -> [CommittedState] {
        var found: [CommittedState] = []
        var walk = PastWalk(finder, from: state)
        while found.count < most, let past = try walk.next(), isWanted(past) {
            guard let earlier = try self.state(at: walk.last) else { throw PastWalk.broken(walk.last) }
            found.append(earlier)
        }
        return found
    }

    /// Returns the oldest state whose commit is in the file, which is `state` itself if there is no earlier one.
    ///
    /// Throws `authenticationFailed` if an earlier commit is damaged.
    package func oldest(upTo state: CommittedState) throws(VaultError) -> CommittedState {
        var walk = PastWalk(finder, from: state)
        var hasEarlier = false
        while try walk.next() != nil { hasEarlier = true }
        guard hasEarlier else { return state }
        guard let oldest = try self.state(at: walk.last) else { throw PastWalk.broken(walk.last) }
        return oldest
    }

    /// Returns an earlier state, or nil if its commit is not in the file or cannot be read.
    package func state(
        generation: UInt64, chain: Bytes32, before state: CommittedState
    ) throws(VaultError) -> CommittedState? {
        var walk = PastWalk(finder, from: state)
        do throws(VaultError) {
            while let past = try walk.next(), past.generation >= generation {
                if past.generation == generation, past.chain == chain { return try self.state(at: walk.last) }
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
}

/// Walks backward over the commits of a file. Each commit must open and match the reference in its successor; nothing
/// else is checked.
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

    /// Returns the previous commit.
    mutating func next() throws(VaultError) -> PastCommit? {
        guard let (offset, expected) = place else { return nil }
        place = nil
        last = offset
        guard let opened = try finder.read(at: offset)?.opened, opened.chain == expected.chain else {
            throw Self.broken(offset)
        }
        let link = try decoding { () throws(FormatError) in try CommitLink(opened.core.span, at: offset) }
        guard link.generation == expected.generation else { throw Self.broken(offset) }
        if link.start != finder.bodyStart {
            // If there is no room for an earlier commit, this commit is the first.
            place = (link.start > finder.bodyStart ? link.start - UInt64(Format.commitSize) : 0, link.predecessor)
        }
        return PastCommit(generation: link.generation, clock: link.clock, chain: opened.chain)
    }

    static func broken(_ offset: UInt64) -> VaultError {
        VaultError(.authenticationFailed, "an earlier commit is damaged, so older states cannot be read", at: offset)
    }
}
