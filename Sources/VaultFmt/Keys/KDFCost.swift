internal import VaultBytes

/// What Argon2id costs to turn a passphrase into a key (specification, section 3.1; RFC 9106).
public struct KDFCost: Hashable, Sendable {
    /// Memory in KiB; at least 8 for each lane.
    public var memoryKiB: UInt32
    /// Passes over the memory; at least 1.
    public var passes: UInt32
    /// Lanes, which are computed in parallel; at least 1.
    public var lanes: UInt32

    /// Makes a cost.
    public init(memoryKiB: UInt32, passes: UInt32, lanes: UInt32) {
        self.memoryKiB = memoryKiB
        self.passes = passes
        self.lanes = lanes
    }

    /// 64 MiB, 3 passes, 1 lane: libsodium and most phones can do no more than one.
    public static let interactive = KDFCost(memoryKiB: 64 << 10, passes: 3, lanes: 1)
    /// 256 MiB, 3 passes, 1 lane: the default, which every reader must be able to pay.
    public static let moderate = KDFCost(memoryKiB: 256 << 10, passes: 3, lanes: 1)
    /// 1 GiB, 4 passes, 1 lane.
    public static let sensitive = KDFCost(memoryKiB: 1 << 20, passes: 4, lanes: 1)
    /// 8 KiB, 1 pass, 1 lane: for tests of everything but the KDF.
    public static let testing = KDFCost(memoryKiB: 8, passes: 1, lanes: 1)
    /// The least that a writer uses unless its user asks for less: 19 MiB, 2 passes, 1 lane (OWASP's floor for
    /// Argon2id).
    public static let floor = KDFCost(memoryKiB: 19 << 10, passes: 2, lanes: 1)

    init(_ cost: SlotParameters.Cost) { self.init(memoryKiB: cost.memoryKiB, passes: cost.passes, lanes: cost.lanes) }

    var inSlot: SlotParameters.Cost { SlotParameters.Cost(memoryKiB: memoryKiB, passes: passes, lanes: lanes) }

    /// Whether it is below the floor: less than 19 MiB, or fewer than 2 passes.
    public var isWeak: Bool { memoryKiB < Self.floor.memoryKiB || passes < Self.floor.passes }

    /// Returns a cost that takes about as long as asked for on this machine, which it measures with a run of 64 MiB.
    ///
    /// It has 3 passes, and as much memory as the time allows, at least the floor and at most 2 GiB; beyond that, more
    /// passes.
    ///
    /// - Parameters:
    ///   - time: More than 0, and at most 60 seconds.
    ///   - lanes: 1 to 16.
    /// - Throws: `invalidArgument`, `outOfMemory`.
    public static func calibrated(to time: Duration, lanes: UInt32 = 1) throws(VaultError) -> KDFCost {
        let seconds = time.inSeconds
        guard seconds > 0, seconds <= 60, (1...16).contains(lanes) else {
            throw VaultError(
                .invalidArgument, "a KDF can be calibrated to more than 0 and at most 60 seconds, with 1 to 16 lanes")
        }
        let probe = KDFCost(memoryKiB: 64 << 10, passes: 3, lanes: lanes)
        var best = Double.infinity
        for _ in 0..<2 { best = min(best, try probe.measured()) }
        return fitting(
            kibPassesPerSecond: Double(probe.memoryKiB) * Double(probe.passes) / best, seconds: seconds, lanes: lanes)
    }

    /// The cost that takes so long where so much memory × passes take a second: never below the floor, nor above what
    /// readers allow.
    static func fitting(kibPassesPerSecond speed: Double, seconds: Double, lanes: UInt32) -> KDFCost {
        let limits = ReaderLimits()
        let units = min(speed * seconds, Double(limits.totalKiBPasses))
        let memory = min(max(units / 3, Double(floor.memoryKiB)), Double(limits.memoryKiB))
        let passes = min(max((units / memory + 1e-6).rounded(.down), Double(floor.passes)), Double(limits.passes))
        // Argon2 takes memory in multiples of 4 × lanes.
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

    /// What a new slot with these factors gets: nothing if none of them is stretched. Throws `weakKDF` below the floor
    /// unless that is allowed, and `kdfLimit` for what readers would refuse.
    func checked(for kinds: FactorKinds, allowWeak: Bool) throws(VaultError) -> SlotParameters.Cost? {
        guard kinds.inSlot.isStretched else { return nil }
        guard inSlot.isPossible else {
            throw VaultError(
                .invalidArgument, "Argon2id needs at least 1 pass, 1 lane, and 8 KiB of memory for each lane")
        }
        guard allowWeak || !isWeak else {
            throw VaultError(
                .weakKDF,
                "a key derivation with less than 19 MiB or 2 passes is weak: allow it explicitly if you want it")
        }
        let limits = ReaderLimits()
        var spent: UInt64 = 0
        try limits.check(inSlot)
        try limits.spend(inSlot, &spent)
        return inSlot
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
