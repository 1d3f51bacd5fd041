package import VaultBytes

/// The limits on the work that an unauthenticated header may demand of its reader (specification, R-3.11).
public struct ReaderLimits: Sendable, Hashable {
    /// The maximum Argon2id memory for one slot, in KiB; 2 GiB by default.
    public var memoryKiB: UInt32 = 2 << 20
    /// The maximum number of passes for one slot; 16 by default.
    public var passes: UInt32 = 16
    /// The maximum number of lanes for one slot; 16 by default.
    public var lanes: UInt32 = 16
    /// The maximum total cost of all slots tried, where a slot's cost is its memory in KiB times its passes; 16
    /// GiB·passes by default.
    public var totalKiBPasses: UInt64 = 16 << 20

    /// Creates the default policy.
    public init() {}

    /// Checks the cost of one slot.
    package func check(_ cost: SlotParameters.Cost) throws(VaultError) {
        if UInt64(cost.memoryKiB) > UInt64(memoryKiB) {
            throw over("memory", "\(cost.memoryKiB) KiB", "\(memoryKiB) KiB")
        }
        if cost.passes > passes { throw over("passes", "\(cost.passes)", "\(passes)") }
        if cost.lanes > lanes { throw over("lanes", "\(cost.lanes)", "\(lanes)") }
    }

    /// Adds the cost of one slot to the cost already spent.
    package func spend(_ cost: SlotParameters.Cost, _ spent: inout UInt64) throws(VaultError) {
        // Both factors are 32-bit numbers, so the product cannot overflow.
        let (sum, overflow) = spent.addingReportingOverflow(UInt64(cost.memoryKiB) * UInt64(cost.passes))
        guard !overflow, sum <= totalKiBPasses else {
            throw over("memory × passes of all slots", "\(sum) KiB", "\(totalKiBPasses) KiB")
        }
        spent = sum
    }

    private func over(_ what: String, _ value: String, _ limit: String) -> VaultError {
        VaultError(.kdfLimit, "a slot asks for more key derivation than allowed: \(what) \(value), limit \(limit)")
    }
}
