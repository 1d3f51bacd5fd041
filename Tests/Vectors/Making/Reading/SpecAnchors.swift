internal import VaultBytes
internal import VaultCrypto
internal import VaultForge

/// Compares what was remembered with the state that is served.
struct SpecAncestry {
    private let reader: SpecReader
    private let history: History?
    /// Predecessors in the file, newest first.
    private var walked: [(generation: UInt64, chain: Bytes32)] = []
    /// Whether the walk met a commit that fails.
    private var isBroken = false

    init(_ reader: SpecReader, _ history: History?) {
        self.reader = reader
        self.history = history
        var place = reader.state.commit.predecessorOffset(from: reader.bodyStart)
        var before = reader.state.commit.predecessor
        while let offset = place, let state = before {
            // Nothing of it is checked but that it opens and is the state that its successor names.
            guard let body = SpecState.open(reader, offset), case let core = Array(body[..<368]),
                Bindings.chain(reader.vault, core) == state.chain, let link = Self.link(core, offset), link.generation == state.generation
            else {
                isBroken = true
                return
            }
            walked.append((link.generation, state.chain))
            place = link.start > reader.bodyStart ? link.start - UInt64(Format.commitSize) : nil
            before = link.predecessor.generation == 0 ? nil : link.predecessor
            isBroken = link.start < reader.bodyStart
        }
    }

    private static func link(_ core: [UInt8], _ offset: UInt64) -> CommitLink? {
        do throws(FormatError) { return try CommitLink(core.span, at: offset) } catch { return nil }
    }

    func verdict(_ anchor: ReadRequest.Anchor) throws(Refusal) -> String {
        let commit = reader.state.commit
        if anchor.owner != reader.publicKey {
            switch try handedOver(anchor) {
            case .no: return "foreign"
            case .unknown: return "unprovable"
            case .yes: break
            }
        }
        if anchor.generation == commit.generation, anchor.chain == reader.state.chain { return "same" }
        if anchor.generation > commit.generation { return "older" }
        switch try isAncestor(anchor.generation, anchor.chain) {
        case .yes: return "descends"
        case .unknown: return "unprovable"
        case .no: return "forked"
        }
    }

    private enum Answer { case yes, no, unknown }

    private func isAncestor(_ generation: UInt64, _ chain: Bytes32) throws(Refusal) -> Answer {
        if walked.contains(where: { $0 == (generation, chain) }) { return .yes }
        if history?.ancestors.contains(where: { $0.generation == generation && $0.chain == chain }) == true { return .yes }
        let last = walked.last?.generation ?? reader.state.commit.generation
        guard !isBroken || last <= generation else { throw Refusal(.authenticationFailed) }
        return generation < history?.floor ?? 1 ? .unknown : .no
    }

    private func handedOver(_ anchor: ReadRequest.Anchor) throws(Refusal) -> Answer {
        let all = reader.keyring.handOvers
        var best = Answer.no
        for first in all.indices where all[first].publicKey == anchor.owner {
            let chosen = all[first...]
            let areValid = chosen.indices.allSatisfy { index in
                let next = index + 1 < all.count ? all[index + 1].publicKey : reader.publicKey
                let message = Bindings.handOver(reader.vault, generation: all[index].generation, chain: all[index].chain.bytes, next: next)
                return Signature.isValid(all[index].signature, of: message, under: all[index].publicKey)
            }
            let isAscending = zip(chosen, chosen.dropFirst()).allSatisfy { $0.generation < $1.generation }
            let isState = anchor.generation == all[first].generation && anchor.chain == all[first].chain
            guard areValid, isAscending, isState || anchor.generation < all[first].generation else { continue }
            var answers: [Answer] = []
            for one in chosen { answers.append(try isAncestor(one.generation, one.chain)) }
            if !isState { answers.append(try isAncestor(anchor.generation, anchor.chain)) }
            if answers.contains(where: { $0 == .no }) { continue }
            if answers.allSatisfy({ $0 == .yes }) { return .yes }
            best = .unknown
        }
        return best
    }
}
