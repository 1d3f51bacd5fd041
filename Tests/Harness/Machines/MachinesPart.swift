internal import Synchronization

/// Machines that remember what they saw refuse what a storage provider puts back, splices or forges, and nothing else.
extension Part {
    static let machines = Part(
        name: "machines",
        about:
            "machines refuse what a storage provider puts back, splices, forges or plants, and accept what owners did"
    ) { run in
        let totals = Mutex(MachinesTotals())
        run.parallel(run.isLong ? 20_000 : 400) { number in
            let sequence = try MachinesSequence(run.numbers(UInt64(number) + 1))
            do { try sequence.run(steps: 16) } catch {
                throw Wrong("\(error); after \(sequence.story.joined(separator: ", "))")
            }
            run.count()
            totals.withLock { $0.add(sequence.totals) }
        }
        run.note(totals.withLock { $0.description })
    }
}

/// What the sequences did.
struct MachinesTotals: Sendable, CustomStringConvertible {
    var changes = 0
    /// By kind.
    var attacks: [String: Int] = [:]
    var accepted = 0
    var refused: [String: Int] = [:]
    /// Merges of planted copies, by outcome.
    var merges: [String: Int] = [:]

    mutating func add(_ other: MachinesTotals) {
        changes += other.changes
        attacks.merge(other.attacks) { $0 + $1 }
        accepted += other.accepted
        refused.merge(other.refused) { $0 + $1 }
        merges.merge(other.merges) { $0 + $1 }
    }

    var description: String {
        "\(changes) changes, attacks: \(Self.list(attacks)); \(accepted) states rightly accepted, "
            + "rightly refused: \(Self.list(refused)); planted copies merged: \(Self.list(merges))"
    }

    private static func list(_ counts: [String: Int]) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }
}
