package import VaultBytes
internal import VaultCrypto

/// How a remembered state stands to the current one (section 7.2).
package enum Ancestry: Sendable, Equatable {
    case same
    case descends
    case older
    case forked
    case unprovable
}

/// What a file tells of the states before the one that it serves: the commits in it, and the links from before them (section 7.2).
package struct StatePast {
    let finder: StateFinder
    let pages: PageSource

    /// Walks back from a state to a generation, through the file and then its history.
    package func ancestry(of state: CommittedState, generation: UInt64, chain: Bytes32) throws(VaultError) -> Ancestry {
        guard generation <= state.commit.generation else { return .older }
        var current = state
        while current.commit.generation > generation {
            guard current.commit.previous != 0 else { return try ancestryInHistory(of: state, generation, chain, before: current) }
            current = try predecessor(of: current)
        }
        if current.chain != chain { return .forked }
        return current == state ? .same : .descends
    }

    /// The links to be kept by a file that starts after a state.
    package func historyForCompaction(after state: CommittedState) throws(VaultError) -> History {
        var links: [Bytes32] = [state.link]
        var current = state
        while current.commit.previous != 0, links.count < Format.Limit.links {
            current = try predecessor(of: current)
            links.append(current.link)
        }
        if links.count < Format.Limit.links, let history = try history(of: state), history.end == current.commit.generation {
            links += history.links.suffix(Format.Limit.links - links.count).reversed()
        }
        return History(first: state.commit.generation + 1 - UInt64(links.count), links: links.reversed())
    }

    /// The commit before another one in the file.
    private func predecessor(of current: CommittedState) throws(VaultError) -> CommittedState {
        guard let before = try finder.read(at: current.commit.previous)?.state, finder.precedes(before, current) else {
            throw VaultError(
                .authenticationFailed, "the commit before generation \(current.commit.generation) is damaged", at: current.commit.previous)
        }
        return before
    }

    private func ancestryInHistory(
        of state: CommittedState, _ generation: UInt64, _ chain: Bytes32, before first: CommittedState
    ) throws(VaultError) -> Ancestry {
        var value = chain
        var next = generation + 1
        if next < first.commit.generation {
            guard let history = try history(of: state), history.first <= next, history.end == first.commit.generation else {
                return .unprovable
            }
            while next < first.commit.generation {
                value = Chain.value(vault: finder.vault, generation: next, previous: value, link: history.links[Int(next - history.first)])
                next += 1
            }
        }
        return value == first.commit.previousChain ? .descends : .forked
    }

    /// The links from before the file's first commit.
    package func history(of state: CommittedState) throws(VaultError) -> History? {
        guard let ref = state.commit.history else { return nil }
        let body = try pages.open(try FrameReader.read(ref, .history, pages.file), .history, at: ref.offset)
        let history = try decoding { () throws(FormatError) in try History(body.span, at: ref.offset) }
        let generation = state.commit.generation
        guard state.commit.previous == 0 ? history.end == generation : history.end < generation else {
            throw VaultError(.structureInvalid, "a history of other generations than those before the file's first commit", at: ref.offset)
        }
        return history
    }
}

extension Store {
    /// What the current file tells of its past.
    package var past: StatePast { StatePast(finder: finder, pages: pages) }

    /// How a remembered state stands to the current one.
    package func ancestry(generation: UInt64, chain: Bytes32) throws(VaultError) -> Ancestry {
        try past.ancestry(of: state, generation: generation, chain: chain)
    }
}
