internal import TestSupport
internal import VaultBytes

/// One ciphertext that two keys open: XChaCha20-Poly1305 does not commit to its key, and here is the proof.
extension Collection {
    mutating func addSalamander(_ bases: Bases) throws {
        folder = "slots"
        let second = [0x22].times(32)
        let comment = "One slot whose payload opens under two keys, and commits to one of them"
        let single = try salamander(bases.empty, second, isPair: false)
        try vault("salamander-committed", "R-3.13", .success, single, comment + ": with that one.")
        try vault(
            "salamander-other", "R-3.13", .noSlotOpens, single,
            comment + ": with the other one, which must not get that far.",
            request: .raw(second))
        let pair = try salamander(bases.empty, second, isPair: true)
        try vault(
            "salamander-pair-first", "R-3.13", .success, pair,
            "Two slots, one payload: each opens it with its own key, to another vault key; the first one's is right.")
        try vault(
            "salamander-pair-second", "R-3.3, R-3.13", .authenticationFailed, pair,
            "The same with the second one's: the header's MAC shows it.", request: .raw(second))
    }

    private func salamander(_ base: Base, _ second: [UInt8], isPair: Bool) throws -> Base {
        var forge = try base.forge()
        let vault = forge.keys.vault
        let size = OwnerPart.size(providerData: 0)
        var slots = [1, isPair ? 2 : 1].map { low in
            Slot(
                id: Bytes16(high: 1, low: low), kind: .full, factors: .rawKey, SlotParameters(stretch: nil),
                ownerPart: size)
        }
        let firstKey = try ForgeFactors.rawKey(Base.key).slotKey(slots[0], vault)
        let secondKey = try ForgeFactors.rawKey(second).slotKey(slots[1], vault)
        slots[0].commitment = Bytes32(ForgeFactors.commitment(firstKey)) ?? .zero
        slots[1].commitment = isPair ? Bytes32(ForgeFactors.commitment(secondKey)) ?? .zero : slots[0].commitment
        let nonce = [0x5A].times(24)
        let sides = [
            Salamander.Side(
                key: ForgeFactors.wrappingKey(firstKey), nonce: nonce, bound: Bindings.slot(vault, slots[0])),
            Salamander.Side(
                key: ForgeFactors.wrappingKey(secondKey), nonce: nonce, bound: Bindings.slot(vault, slots[1])),
        ]
        let sealed = try Salamander.sealed(sides[0], sides[1])
        // The one key opens the vault that is made here; what the base had is sealed again under it.
        let old = forge.keys
        forge.keys = ForgeKeys(vault: vault, vaultKey: sides[0].decrypt(sealed), epoch: forge.header.epoch)
        (forge.keys.groups, forge.keys.compartments) = (old.groups, old.compartments)
        forge.header.slots = []
        let part = OwnerPart(name: "")
        for index in 0..<(isPair ? 2 : 1) {
            let factors = ForgeFactors.rawKey(index == 0 ? Base.key : second)
            forge.header.slots.append(
                try forge.keys.slot(slots[index], factors, part: part, nonce: nonce) { recipe in
                    recipe.slot.payload = nonce + sealed
                    var made = recipe.slot
                    made.payload = nonce + sealed
                    recipe.ownerBound = Bindings.slotOwner(vault, made)
                })
            forge.header.slots[index].payload = nonce + sealed
        }
        return Base(file: try forge.assemble())
    }
}

/// Finds 32 bytes of ciphertext and a tag that are right under two keys: two linear equations modulo 2^130 − 5.
enum Salamander {
    struct Side {
        let r: Poly
        let s: [UInt8]
        private let pad: [UInt8]
        /// Of the associated data and the lengths: what the accumulator has beside the ciphertext's two blocks.
        let fixed: Poly

        init(key: [UInt8], nonce: [UInt8], bound: [UInt8]) {
            let cipher = ChaCha(key: key, nonce: nonce)
            let first = cipher.block(0)
            var clamped = Array(first[..<16])
            for index in [3, 7, 11, 15] { clamped[index] &= 15 }
            for index in [4, 8, 12] { clamped[index] &= 252 }
            r = Poly(bytes: clamped)
            s = Array(first[16..<32])
            pad = Array(cipher.block(1)[..<32])
            var sum = Poly(0)
            for start in stride(from: 0, to: bound.count, by: 16) {
                var block = Array(bound[start..<min(start + 16, bound.count)])
                block.append(zeros: 16 - block.count)
                sum = (sum + Poly(bytes: block + [1])) * r
            }
            var lengths: [UInt8] = []
            lengths.append(u64: UInt64(bound.count))
            lengths.append(u64: 32)
            fixed = sum * r * r * r + Poly(bytes: lengths + [1]) * r
        }

        func decrypt(_ sealed: [UInt8]) -> [UInt8] { zip(sealed, pad).map { $0 ^ $1 } }

        /// What the two blocks must sum up to for a tag, with `carry` × 2^128 lost when the tag was cut to 16 bytes.
        func wanted(_ tag: [UInt8], carry: UInt64) -> Poly {
            var difference: [UInt8] = []
            var borrow = 0
            for (x, y) in zip(tag, s) {
                let value = Int(x) - Int(y) - borrow
                borrow = value < 0 ? 1 : 0
                difference.append(UInt8(truncatingIfNeeded: value))
            }
            return Poly(bytes: difference + [UInt8(carry)]) - fixed
        }
    }

    static func sealed(_ first: Side, _ second: Side) throws -> [UInt8] {
        let (a, b) = (first.r, second.r)
        let inverse = (a * a * b * b * (a - b)).inverted
        for attempt in 0..<10_000 as Range<UInt64> {
            var tag: [UInt8] = []
            tag.append(u64: attempt &* 0x9E37_79B9_7F4A_7C15)
            tag.append(u64: attempt)
            for carries in 0..<16 as Range<UInt64> {
                let x = first.wanted(tag, carry: carries & 3)
                let y = second.wanted(tag, carry: carries >> 2)
                guard let c = ((x * b * b - y * a * a) * inverse).block,
                    let d = ((a * a * a * y - b * b * b * x) * inverse).block
                else {
                    continue
                }
                return c + d + tag
            }
        }
        throw ForgeError("no ciphertext for two keys was found")
    }
}

/// A number modulo 2^130 − 5, in five limbs of 26 bits.
struct Poly {
    private var limbs: [UInt64]
    private static let mask: UInt64 = (1 << 26) - 1

    init(_ small: UInt64) { limbs = [small, 0, 0, 0, 0] }

    /// Little-endian, at most 17 bytes.
    init(bytes: [UInt8]) {
        limbs = [0, 0, 0, 0, 0]
        for (index, byte) in bytes.enumerated() {
            for bit in 0..<8 where byte >> bit & 1 == 1 {
                limbs[(index * 8 + bit) / 26] |= 1 << UInt64((index * 8 + bit) % 26)
            }
        }
        self = reduced
    }

    private init(limbs: [UInt64]) {
        self.limbs = limbs
        self = reduced
    }

    static func + (x: Poly, y: Poly) -> Poly { Poly(limbs: zip(x.limbs, y.limbs).map { $0 + $1 }) }

    static func - (x: Poly, y: Poly) -> Poly {
        // Four times the modulus keeps every limb positive.
        let modulus: [UInt64] = [mask - 4, mask, mask, mask, mask]
        return Poly(limbs: (0..<5).map { x.limbs[$0] + 4 * modulus[$0] - y.limbs[$0] })
    }

    static func * (x: Poly, y: Poly) -> Poly {
        var out = [UInt64](repeating: 0, count: 5)
        for i in 0..<5 { for j in 0..<5 { out[(i + j) % 5] += x.limbs[i] * y.limbs[j] * (i + j >= 5 ? 5 : 1) } }
        return Poly(limbs: out)
    }

    /// By Fermat: to the power of the modulus minus 2.
    var inverted: Poly {
        var out = Poly(1)
        for bit in stride(from: 129, through: 0, by: -1) {
            out = out * out
            // 2^130 − 7 has all bits but 1 and 2.
            if bit != 1, bit != 2 { out = out * self }
        }
        return out
    }

    /// The block of 16 bytes whose term this is, if there is one: from 2^128 to 2^129.
    var block: [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 17)
        for index in 0..<130 where limbs[index / 26] >> UInt64(index % 26) & 1 == 1 {
            bytes[index / 8] |= 1 << UInt8(index % 8)
        }
        return bytes[16] == 1 ? Array(bytes[..<16]) : nil
    }

    private var reduced: Poly {
        var out = limbs
        for _ in 0..<4 {
            for index in 0..<5 {
                let carry = out[index] >> 26
                out[index] &= Self.mask
                if index < 4 { out[index + 1] += carry } else { out[0] += carry * 5 }
            }
        }
        let isAtLeastModulus = out[0] >= Self.mask - 4 && out[1...].allSatisfy { $0 == Self.mask }
        if isAtLeastModulus { out = [out[0] - (Self.mask - 4), 0, 0, 0, 0] }
        var value = self
        value.limbs = out
        return value
    }
}

/// XChaCha20's key stream, by itself: the library gives none.
struct ChaCha {
    private let key: [UInt32]
    private let nonce: [UInt32]
    private static let constants: [UInt32] = [0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574]

    init(key: [UInt8], nonce: [UInt8]) {
        let mixed = Self.rounds(Self.constants + Self.words(key) + Self.words(Array(nonce[..<16])))
        self.key = Array(mixed[..<4] + mixed[12...])
        self.nonce = [0] + Self.words(Array(nonce[16...]))
    }

    func block(_ counter: UInt32) -> [UInt8] {
        let start = Self.constants + key + [counter] + nonce
        var out: [UInt8] = []
        for (word, mixed) in zip(start, Self.rounds(start)) { out.append(u32: word &+ mixed) }
        return out
    }

    private static func words(_ bytes: [UInt8]) -> [UInt32] {
        stride(from: 0, to: bytes.count, by: 4).map { at in
            (0..<4).reduce(0) { $0 | UInt32(bytes[at + $1]) << UInt32(8 * $1) }
        }
    }

    private static func rounds(_ start: [UInt32]) -> [UInt32] {
        var x = start
        func quarter(_ a: Int, _ b: Int, _ c: Int, _ d: Int) {
            func turn(_ i: Int, _ j: Int, _ k: Int, _ bits: UInt32) {
                x[i] = x[i] &+ x[j]
                let mixed = x[k] ^ x[i]
                x[k] = mixed << bits | mixed >> (32 - bits)
            }
            turn(a, b, d, 16)
            turn(c, d, b, 12)
            turn(a, b, d, 8)
            turn(c, d, b, 7)
        }
        for _ in 0..<10 {
            for i in 0..<4 { quarter(i, i + 4, i + 8, i + 12) }
            for i in 0..<4 { quarter(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12) }
        }
        return x
    }
}
