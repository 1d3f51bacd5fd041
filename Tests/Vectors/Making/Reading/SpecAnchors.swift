internal import TestSupport
internal import VaultBytes
internal import VaultCrypto

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
        let newest = reader.state.commit
        var before = newest.predecessor.map { (generation: $0.generation, chain: $0.chain) }
        var (start, place) = (newest.start, newest.offset)
        while start != reader.bodyStart, let expected = before {
            guard start > reader.bodyStart, start % 512 == 0, start <= place,
                let body = SpecState.open(reader, start - 512),
                case let core = Array(body[..<368]), Bindings.chain(reader.vault, core) == expected.chain,
                Self.number(core, 0) == expected.generation
            else {
                isBroken = true
                return
            }
            walked.append(expected)
            before = (Self.number(core, 8), Bytes32(Array(core[16..<48])) ?? .zero)
            (start, place) = (Self.number(core, 56), start - 512)
        }
    }

    private static func number(_ core: [UInt8], _ at: Int) -> UInt64 {
        core[at..<at + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
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
        if history?.ancestors.contains(where: { $0.generation == generation && $0.chain == chain }) == true {
            return .yes
        }
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
                let message = Bindings.handOver(
                    reader.vault, generation: all[index].generation, chain: all[index].chain.bytes, next: next)
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
