import ArgumentParser
import VaultConsole
package import VaultFmt

/// The cost of a slot's key derivation (Argon2id).
package struct CostOptions: ParsableArguments {
    /// A named cost.
    enum Preset: String, ExpressibleByArgument, CaseIterable {
        case interactive, moderate, sensitive, testing

        static var allValueStrings: [String] { [interactive, moderate, sensitive].map(\.rawValue) }
        static var allValueDescriptions: [String: String] { [:] }
    }

    @Option("The cost of trying a passphrase: interactive (64 MiB), moderate (256 MiB), sensitive (1 GiB).")
    var kdf: Preset?

    @Option("The memory in MiB, or with a unit (64MiB).", value: "size")
    var kdfMemory: MemorySize?

    @Option("The number of passes.", value: "n")
    var kdfPasses: UInt32?

    @Option("The number of lanes.", value: "n")
    var kdfLanes: UInt32?

    @Option(
        "Benchmark this machine and choose a cost that makes opening take about this long (never below the default).",
        value: "seconds")
    var kdfTime: Double?

    @Flag(help: "Accept a cost below the floor of 19 MiB and 2 passes.")
    var allowWeakKdf = false

    package init() {}

    package func validate() throws {
        let ways = [kdf != nil, kdfMemory != nil || kdfPasses != nil || kdfLanes != nil, kdfTime != nil].filter { $0 }
            .count
        guard ways <= 1 else {
            throw ValidationError(
                "--kdf, --kdf-time, and --kdf-memory, --kdf-passes or --kdf-lanes cannot be combined; use only one")
        }
        if let kdfTime, !(kdfTime > 0 && kdfTime <= 60) {
            throw ValidationError("--kdf-time must be more than 0 and at most 60 seconds")
        }
    }

    /// True if any cost option is given.
    package var isGiven: Bool {
        kdf != nil || kdfMemory != nil || kdfPasses != nil || kdfLanes != nil || kdfTime != nil
    }

    /// True if the writer's floor does not apply.
    package var allowWeak: Bool { allowWeakKdf || kdf == .testing }

    /// Returns the measured cost, or the default cost if that is higher: on a busy machine, the measured cost would be
    /// too low.
    private static func noLess(_ measured: KDFCost) -> KDFCost {
        let least = KDFCost.moderate
        let work = UInt64(measured.memoryKiB) * UInt64(measured.passes)
        guard work < UInt64(least.memoryKiB) * UInt64(least.passes) else { return measured }
        Terminal.note(
            "using the default cost, which takes longer than the requested time on this machine; --kdf interactive costs less"
        )
        return least
    }

    /// Returns the given cost, or `moderate`; benchmarks this machine if requested.
    package func cost() throws -> KDFCost {
        if let kdfTime {
            return try Progress.during("measuring key derivation") {
                Self.noLess(try KDFCost.calibrated(to: .seconds(kdfTime)))
            }
        }
        switch kdf {
        case .interactive: return .interactive
        case .sensitive: return .sensitive
        case .testing:
            Terminal.warning("--kdf testing makes passphrases easy to guess; use it for tests only")
            return .testing
        case .moderate, nil: break
        }
        var cost = KDFCost.moderate
        if let kdfMemory { cost.memoryKiB = kdfMemory.kibibytes }
        if let kdfPasses { cost.passes = kdfPasses }
        if let kdfLanes { cost.lanes = kdfLanes }
        return cost
    }
}
