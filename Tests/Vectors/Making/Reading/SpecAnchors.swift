internal import TestSupport
internal import VaultBytes
internal import VaultCrypto

/// Compares what was remembered with the state that is served.
struct SpecAncestry {
    private let reader: SpecReader

    init(_ reader: SpecReader) { self.reader = reader }

    func verdict(_ anchor: ReadRequest.Anchor) throws(Refusal) -> String {
        guard anchor.owner == reader.publicKey else { return try verdictOfOtherKey(anchor) }
        guard anchor.chain != reader.state.chain else { return "same" }
        let vector = try reader.vector()
        switch (vector.hasSeen(all: anchor.vector), anchor.vector.hasSeen(all: vector)) {
        case (true, true): return "same"
        case (true, false): return "descends"
        case (false, true): return "older"
        case (false, false): return "forked"
        }
    }

    // MARK: other keys

    /// A hand-over whose signature is valid, or which cannot be read.
    private struct Known {
        let handOver: HandOver
        let vector: Vector?
    }

    private func verdictOfOtherKey(_ anchor: ReadRequest.Anchor) throws(Refusal) -> String {
        var (known, failures): ([Known], [Refusal]) = ([], [])
        for one in reader.keyring.handOvers {
            do throws(Refusal) {
                let vector = try reader.vector(of: one)
                if SpecAncestry.isValid(one, vector, reader.vault) {
                    known.append(Known(handOver: one, vector: vector))
                }
            } catch {
                known.append(Known(handOver: one, vector: nil))
                failures.append(error)
            }
        }
        // One that cannot be read may be valid and cover everything, or may be nothing.
        let (most, least) = (verdict(anchor, known), verdict(anchor, known.filter { $0.vector != nil }))
        if most != least, let first = failures.first { throw first }
        return most
    }

    private func verdict(_ anchor: ReadRequest.Anchor, _ known: [Known]) -> String {
        guard leads(anchor.owner, known) else { return "foreign" }
        let own = known.filter { $0.handOver.publicKey == anchor.owner && leads($0.handOver.next, known) }
        let isCovered = anchor.vector.rows.allSatisfy { row in
            own.contains { $0.vector?.hasSeen(Dot(revision: row.revision, replica: row.id)) ?? true }
        }
        return isCovered ? "descends" : "forked"
    }

    /// Whether hand-overs lead from a key to the state's.
    private func leads(_ key: Bytes32, _ known: [Known]) -> Bool {
        var found: Set<Bytes32> = []
        var open = [key]
        while let next = open.popLast() {
            guard found.insert(next).inserted else { continue }
            open += known.filter { $0.handOver.publicKey == next }.map(\.handOver.next)
        }
        return found.contains(reader.publicKey)
    }

    static func isValid(_ one: HandOver, _ vector: Vector, _ vault: Bytes16) -> Bool {
        Signature.isValid(one.signature, of: Bindings.handOver(vault, vector, next: one.next), under: one.publicKey)
    }
}
