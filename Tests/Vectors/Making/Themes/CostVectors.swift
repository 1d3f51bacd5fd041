internal import TestSupport
internal import VaultBytes

/// What deriving keys may cost.
extension Collection {
    mutating func addCosts(_ bases: Bases) throws {
        folder = "factors"
        try addLimits(bases)
        try addSums(bases)
        try addDefaults(bases)
        try addFigures(bases)
        try addPresets(bases)
    }

    private static let words = Array("words".utf8)
    private static let figures = SlotParameters.Cost(memoryKiB: 64, passes: 3, lanes: 2)

    private mutating func cost(
        _ name: String, _ expect: Verdict, _ bases: Bases, _ comment: String, _ request: ReadRequest,
        _ costs: [SlotParameters.Cost],
        passphrase: String = "words", spec: String = "R-3.11"
    ) throws {
        try forged(name, spec, expect, bases.one, comment, request: request) { forge in
            for (index, cost) in costs.enumerated() {
                let factors = ForgeFactors.passphrase(Array(passphrase.utf8))
                try forge.addSlot(
                    UInt64(index + 1), factors, Slots.parameters(factors.kinds, cost, number: UInt64(index + 1)))
            }
        }
    }

    private mutating func unpayable(
        _ name: String, _ spec: String, _ expect: Verdict, _ bases: Bases, _ comment: String,
        _ cost: SlotParameters.Cost,
        _ request: ReadRequest, _ factors: ForgeFactors = .passphrase(words)
    ) throws {
        try forged(name, spec, expect, bases.one, comment, request: request) { forge in
            forge.header.slots.append(try forge.unpayable(1, factors, cost))
        }
    }

    private mutating func addLimits(_ bases: Bases) throws {
        for (limit, value) in [(.memory, 64), (.passes, 3), (.lanes, 2), (.total, 192)] as [(ReadRequest.Limit, UInt64)]
        {
            for (name, allowed, expect) in [("at", value, Verdict.success), ("over", value - 1, .kdfLimit)] {
                var request = ReadRequest.words("words")
                request.limits[limit] = allowed
                try cost(
                    "kdf-\(limit)-\(name)-limit", expect, bases,
                    "64 KiB, 3 passes, 2 lanes, with \(limit.rawValue) \(allowed).", request,
                    [Self.figures])
            }
        }
        var request = ReadRequest.words("words")
        request.limits[.memory] = 63
        try cost(
            "kdf-limit-before-any", .kdfLimit, bases,
            "The first slot would open; the second costs more than the policy, and none is tried.",
            request, [Slots.cheap, Self.figures])
        try forged(
            "kdf-limit-other-factors", "R-3.11", .success, bases.one,
            "The slot that costs too much is for other factors.", request: request
        ) { forge in
            try forge.addSlot(1, .passphrase(Self.words))
            let other = ForgeFactors.otherKeyFile([1])
            try forge.addSlot(2, other, Slots.parameters(other.kinds, Self.figures))
        }
    }

    private mutating func addSums(_ bases: Bases) throws {
        var request = ReadRequest.words("words")
        let two = [Self.figures, Self.figures]
        request.limits[.total] = 384
        try cost(
            "kdf-sum-at-limit", .noSlotOpens, bases,
            "Two slots of 192 KiB x passes, and 384 allowed: both are tried, and neither fits.",
            request, two, passphrase: "others")
        request.limits[.total] = 383
        try cost(
            "kdf-sum-over-limit", .kdfLimit, bases, "The same with 383: the second one must not be tried.", request,
            two,
            passphrase: "others")
        try cost(
            "kdf-sum-first-fits", .success, bases, "The same, but the first slot opens: the second costs nothing.",
            request, two)
        request.limits[.total] = 576
        try cost(
            "kdf-sum-three-at-limit", .noSlotOpens, bases, "Three slots, and exactly their sum allowed.", request,
            two + [Self.figures],
            passphrase: "others")
        request.limits[.total] = 575
        try cost(
            "kdf-sum-three-over-limit", .kdfLimit, bases, "Three slots, and 1 less than their sum allowed.", request,
            two + [Self.figures],
            passphrase: "others")
    }

    private mutating func addDefaults(_ bases: Bases) throws {
        typealias Figures = (String, UInt32, UInt32, UInt32, String)
        let costs: [Figures] = [
            ("memory", (2 << 20) + 8, 1, 1, "8 KiB more than 2 GiB"), ("memory-most", .max, 1, 1, "2^32 - 1 KiB"),
            ("passes", 8, 17, 1, "17 passes"), ("passes-most", 8, .max, 1, "2^32 - 1 passes"),
            ("lanes", 136, 1, 17, "17 lanes"),
            ("lanes-most", 0x07FF_FFF8, 1, 0xFF_FFFF, "2^24 - 1 lanes"),
            ("overflow", .max, .max, 1, "A product of memory and passes beyond 2^63"),
            ("product", 2 << 20, 9, 1, "2 GiB and 9 passes: 18 GiB x passes"),
        ]
        for (name, memory, passes, lanes, comment) in costs {
            let wanted = SlotParameters.Cost(memoryKiB: memory, passes: passes, lanes: lanes)
            try unpayable(
                "kdf-default-\(name)", "R-3.11", .kdfLimit, bases, comment + ", with the default policy.", wanted,
                .words("words"))
        }
        let absurd = SlotParameters.Cost(memoryKiB: .max, passes: .max, lanes: 1)
        try unpayable(
            "kdf-not-tried", "R-3.11", .success, bases, "An absurd cost in a slot for other factors than those given.",
            absurd,
            .raw(Base.key))
        var file = ReadRequest()
        file.keyFile = [9]
        try unpayable(
            "kdf-default-key-file", "R-3.11", .kdfLimit, bases, "2^32 - 1 KiB in a slot for a key file.",
            SlotParameters.Cost(memoryKiB: .max, passes: 1, lanes: 1), file, .otherKeyFile([9]))
    }

    private mutating func addFigures(_ bases: Bases) throws {
        for (name, memory, passes, lanes, comment) in [
            ("lanes-0", 8, 1, 0, "No lanes."), ("passes-0", 8, 0, 1, "No passes."),
            ("memory-7", 7, 1, 1, "7 KiB for one lane."),
            ("memory-0", 0, 1, 1, "No memory."),
            ("memory-per-lane", 31, 1, 4, "31 KiB for four lanes."), ("lanes-2-24", .max, 1, 0x100_0000, "2^24 lanes."),
        ] as [(String, UInt32, UInt32, UInt32, String)] {
            try unpayable(
                "kdf-figures-\(name)", "R-3.9", .headerInvalid, bases, comment,
                SlotParameters.Cost(memoryKiB: memory, passes: passes, lanes: lanes), .words("words"))
        }
        try unpayable(
            "kdf-figures-seen-by-raw-key", "R-3.2, R-3.9", .headerInvalid, bases,
            "No lanes, in a slot for other factors than those given.",
            SlotParameters.Cost(memoryKiB: 8, passes: 1, lanes: 0), .raw(Base.key))
        for (name, memory, lanes) in [("memory-8", 8, 1), ("memory-per-lane-32", 32, 4)] as [(String, UInt32, UInt32)] {
            try cost(
                "kdf-figures-\(name)", .success, bases, "\(memory) KiB for \(lanes) lanes, the least there may be.",
                .words("words"),
                [SlotParameters.Cost(memoryKiB: memory, passes: 1, lanes: lanes)], spec: "R-3.9")
        }
    }

    private mutating func addPresets(_ bases: Bases) throws {
        try cost(
            "kdf-preset-interactive", .success, bases, "A slot of the interactive preset: 64 MiB, 3 passes.",
            .words("words"),
            [SlotParameters.Cost(memoryKiB: 64 << 10, passes: 3, lanes: 1)], spec: "R-3.20")
        try cost(
            "kdf-preset-moderate", .success, bases,
            "A slot of the moderate preset, which every reader can open: 256 MiB, 3 passes.",
            .words("words"), [SlotParameters.Cost(memoryKiB: 256 << 10, passes: 3, lanes: 1)], spec: "R-3.20")
    }
}
