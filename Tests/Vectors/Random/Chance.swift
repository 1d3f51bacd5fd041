import TestSupport
import VaultCrypto
import VaultFmt
import VectorMaking

/// Random choices that a seed repeats. Keys, nonces and ids come from elsewhere.
struct Chance: RandomNumberGenerator {
    private var numbers: Numbers

    init(_ seed: UInt64) { numbers = Numbers(seed) }

    mutating func next() -> UInt64 { numbers.next() }

    /// True in so many of a hundred cases.
    mutating func isIn(percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func one<T>(of values: [T]) -> T { values[Int.random(in: values.indices, using: &self)] }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    mutating func bytes(_ counts: Int...) -> [UInt8] {
        (0..<one(of: counts)).map { _ in UInt8.random(in: 0...255, using: &self) }
    }

    /// With what NFC composes, reorders and leaves, with zeros, and with what is awkward elsewhere.
    mutating func text(_ counts: Int...) -> String {
        let pieces = [
            "a", "Z", "0", " ", "é", "e\u{301}", "\u{212B}", "\u{1E0B}\u{323}", "ﬁ", "\u{1112}\u{1161}\u{11AB}", "🔑",
            "\u{0}", "/", "b",
        ]
        return (0..<one(of: counts)).map { _ in one(of: pieces) }.joined()
    }

    mutating func key(group: String) throws -> ItemKey {
        let isSynchronizable = isIn(percent: 30)
        let numbers: [UInt32] = [0, 1, 443, .max]
        switch number(1...5) {
        case 1:
            return try .genericPassword(
                service: text(0, 1, 3, 20), account: text(0, 1, 8), group: group, synchronizable: isSynchronizable)
        case 2:
            return try .internetPassword(
                server: text(1, 5), account: text(0, 1, 30), protocol: text(0, 5), port: one(of: numbers),
                path: text(0, 4),
                securityDomain: text(0, 2), authenticationType: text(0, 2), group: group,
                synchronizable: isSynchronizable)
        case 3:
            return try .certificate(
                type: one(of: numbers), issuer: bytes(0, 1, 60), serialNumber: bytes(0, 1, 20), group: group,
                synchronizable: isSynchronizable)
        case 4:
            return try .key(
                keyClass: one(of: numbers), keyType: one(of: numbers), applicationLabel: bytes(0, 20),
                applicationTag: bytes(0, 1, 4),
                sizeInBits: one(of: numbers), effectiveSize: one(of: numbers), group: group,
                synchronizable: isSynchronizable)
        default:
            return try .identity(
                type: one(of: numbers), issuer: bytes(0, 60), serialNumber: bytes(1, 20), group: group,
                synchronizable: isSynchronizable)
        }
    }

    mutating func attributes() -> Attributes {
        var found = Attributes()
        for name in ["label", "comment", "otp", "sealed:seed", "sealed:", "größe", String(repeating: "n", count: 255)]
        where isIn(percent: 20) {
            found[name] = bytes(0, 1, 20, 255, 256, 257, 2000, 4096, 4097)
        }
        if isIn(percent: 1) { for index in 0..<58 { found["n\(index)"] = bytes(0, 3) } }
        return found
    }

    mutating func time() -> Int64? {
        one(of: [nil, 0, -1, -(1 << 61), (1 << 61) - 1, Int64.random(in: -(1 << 50)...(1 << 50), using: &self)])
    }

    /// Factors as a request says them: all six kinds.
    mutating func factors() -> ReadRequest {
        var request = ReadRequest()
        let kind = number(0...7)
        if [1, 2, 3].contains(kind) { request.passphrase = Array((text(0, 3, 12) + "p").utf8) }
        if [2, 4].contains(kind) {
            var secret = Secret(count: 32)
            let random = bytes(32)
            secret.withUnsafeMutableBytes { $0.copyBytes(from: random) }
            request.keyFile = KeyFileFormat.encode(secret).withUnsafeBytes { Array($0) }
        }
        if [3, 5].contains(kind) { request.keyFile = bytes(1, 31, 32, 1000) }
        if request.passphrase == nil, request.keyFile == nil { request.rawKey = bytes(32) }
        return request
    }

    mutating func cost() -> KDFCost {
        let lanes = UInt32(one(of: [1, 1, 2, 4]))
        return KDFCost(memoryKiB: 8 * lanes + UInt32(number(0...24)), passes: UInt32(number(1...2)), lanes: lanes)
    }
}
