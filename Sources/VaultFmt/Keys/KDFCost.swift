internal import VaultBytes

/// The cost of deriving a key from a passphrase with Argon2id (specification, section 3.1; RFC 9106).
public struct KDFCost: Hashable, Sendable {
    /// The memory in KiB; at least 8 KiB for each lane.
    public var memoryKiB: UInt32
    /// The number of passes over the memory; at least 1.
    public var passes: UInt32
    /// The number of lanes, which can be computed in parallel; at least 1.
    public var lanes: UInt32

    /// Makes a cost.
    public init(memoryKiB: UInt32, passes: UInt32, lanes: UInt32) {
        self.memoryKiB = memoryKiB
        self.passes = passes
        self.lanes = lanes
    }

    /// 64 MiB, 3 passes, 1 lane; libsodium and most phones do not support more than one lane.
    public static let interactive = KDFCost(memoryKiB: 64 << 10, passes: 3, lanes: 1)
    /// 256 MiB, 3 passes, 1 lane: the default, which every reader must support.
    public static let moderate = KDFCost(memoryKiB: 256 << 10, passes: 3, lanes: 1)
    /// 1 GiB, 4 passes, 1 lane.
    public static let sensitive = KDFCost(memoryKiB: 1 << 20, passes: 4, lanes: 1)
    /// 8 KiB, 1 pass, 1 lane: for tests of everything except the KDF.
    public static let testing = KDFCost(memoryKiB: 8, passes: 1, lanes: 1)
    /// The minimum cost, unless the caller allows a lower one: 19 MiB, 2 passes, 1 lane (OWASP's minimum for
    /// Argon2id).
    public static let floor = KDFCost(memoryKiB: 19 << 10, passes: 2, lanes: 1)

    init(_ cost: SlotParameters.Cost) { self.init(memoryKiB: cost.memoryKiB, passes: cost.passes, lanes: cost.lanes) }

    var inSlot: SlotParameters.Cost { SlotParameters.Cost(memoryKiB: memoryKiB, passes: passes, lanes: lanes) }

    /// True if the cost is below the floor: less than 19 MiB, or fewer than 2 passes.
    public var isWeak: Bool { memoryKiB < Self.floor.memoryKiB || passes < Self.floor.passes }

    /// Benchmarks this machine with a run of 64 MiB, and returns a cost that takes about the given time.
    ///
    /// The cost has 3 passes and as much memory as the time allows, but at least the floor and at most 2 GiB; any
    /// remaining time is used for more passes.
    ///
    /// - Parameters:
    ///   - time: More than 0, and at most 60 seconds.
    ///   - lanes: 1 to 16.
    /// - Returns: The cost, within the limits of the specification, section 3.
    /// - Throws: `invalidArgument`, `outOfMemory`.
    public static func calibrated(to time: Duration, lanes: UInt32 = 1) throws(VaultError) -> KDFCost {
        let seconds = time.inSeconds
        guard seconds > 0, seconds <= 60, (1...16).contains(lanes) else {
            throw VaultError(
                .invalidArgument, "the time must be more than 0 and at most 60 seconds, and the number of lanes 1 to 16"
            )
        }
        let probe = KDFCost(memoryKiB: 64 << 10, passes: 3, lanes: lanes)
        var best = Double.infinity
        for _ in 0..<2 { best = min(best, try probe.measured()) }
        return fitting(
            kibPassesPerSecond: Double(probe.memoryKiB) * Double(probe.passes) / best, seconds: seconds, lanes: lanes)
    }

    /// Returns the cost that takes a given time at a given speed (memory × passes per second). The result is never
    /// below the floor or above the limits of readers.
    static func fitting(kibPassesPerSecond speed: Double, seconds: Double, lanes: UInt32) -> KDFCost {
        let limits = ReaderLimits()
        let units = min(speed * seconds, Double(limits.totalKiBPasses))
        let memory = min(max(units / 3, Double(floor.memoryKiB)), Double(limits.memoryKiB))
        let passes = min(max((units / memory + 1e-6).rounded(.down), Double(floor.passes)), Double(limits.passes))
        // Argon2 uses memory in multiples of 4 × lanes.
        let step = 4 * lanes
        let whole = max(UInt32(memory) / step, (floor.memoryKiB + step - 1) / step) * step
        return KDFCost(memoryKiB: whole, passes: UInt32(passes), lanes: lanes)
    }

    private func measured() throws(VaultError) -> Double {
        let clock = ContinuousClock()
        let start = clock.now
        do throws(CryptoError) {
            _ = try Argon2.stretch(
                Secret.random(count: 32), salt: Randomness.system.bytes(32), memoryKiB: memoryKiB, passes: passes,
                lanes: lanes)
        } catch { throw VaultError(crypto: error, "the calibration") }
        return start.duration(to: clock.now).inSeconds
    }

    /// Returns the checked cost of a new slot with these factors; nil if no factor is stretched. Throws `weakKDF` for a
    /// cost below the floor unless `allowWeak` is true, or `kdfLimit` for a cost that readers with these limits would
    /// refuse.
    func checked(
        for kinds: FactorKinds, allowWeak: Bool, limits: ReaderLimits = ReaderLimits()
    ) throws(VaultError) -> SlotParameters.Cost? {
        guard kinds.inSlot.isStretched else { return nil }
        guard inSlot.isPossible else {
            throw VaultError(
                .invalidArgument, "Argon2id needs at least 1 pass, 1 lane, and 8 KiB of memory for each lane")
        }
        guard allowWeak || !isWeak else {
            throw VaultError(
                .weakKDF,
                "a key derivation with less than 19 MiB or 2 passes is weak; to use it anyway, allow it explicitly")
        }
        var spent: UInt64 = 0
        try limits.check(inSlot)
        try limits.spend(inSlot, &spent)
        return inSlot
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
