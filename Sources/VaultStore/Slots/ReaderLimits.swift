package import VaultBytes

/// How much work an unauthenticated header may ask of its reader (specification, R-3.11).
public struct ReaderLimits: Sendable, Hashable {
    /// Argon2id memory of one slot, in KiB. 2 GiB unless set.
    public var memoryKiB: UInt32 = 2 << 20
    /// Passes of one slot. 16 unless set.
    public var passes: UInt32 = 16
    /// Lanes of one slot. 16 unless set.
    public var lanes: UInt32 = 16
    /// Memory in KiB times passes, summed over all slots tried. 16 GiB·passes unless set.
    public var totalKiBPasses: UInt64 = 16 << 20

    /// The default policy.
    public init() {}

    /// Checks one slot's cost.
    package func check(_ cost: SlotParameters.Cost) throws(VaultError) {
        if UInt64(cost.memoryKiB) > UInt64(memoryKiB) {
            throw over("memory", "\(cost.memoryKiB) KiB", "\(memoryKiB) KiB")
        }
        if cost.passes > passes { throw over("passes", "\(cost.passes)", "\(passes)") }
        if cost.lanes > lanes { throw over("lanes", "\(cost.lanes)", "\(lanes)") }
    }

    /// Adds one slot's cost to what was spent already.
    package func spend(_ cost: SlotParameters.Cost, _ spent: inout UInt64) throws(VaultError) {
        // Both factors have 32 bits.
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
