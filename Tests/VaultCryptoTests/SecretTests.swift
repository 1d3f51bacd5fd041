import TestSupport
import Testing

@testable import VaultCrypto

@Suite("A secret")
struct SecretTests {
    @Test(
        "holds what it was given",
        arguments: [0, 1, 31, 32, 33, 63, 64, 65, 1000, 32_768, 32_769, 65_536, 65_537, 100_000])
    func contents(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let secret = Secret(bytes: bytes)
        #expect(secret.count == count)
        #expect(secret.array == bytes)
        #expect(secret.copy().array == bytes)
        #expect(secret.prefix(count / 2).array == Array(bytes[..<(count / 2)]))
        #expect(secret.prefix(count + 5).count == count)
        #expect(bytes.withUnsafeBytes { Secret(copying: $0).array } == bytes)
        #expect(Secret(count: count).array.allSatisfy { $0 == 0 })
    }

    @Test("of text has its UTF-8")
    func text() {
        for text in ["", "abc", "pässwörd\0🔑"] { #expect(Secret(text: text).array == Array(text.utf8)) }
    }

    @Test("equals another with the same bytes only")
    func equality() {
        let bytes = (0..<70).map { UInt8($0) }
        let secret = Secret(bytes: bytes)
        #expect(secret.equals(Secret(bytes: bytes)) == true)
        #expect(secret.equals(Secret(bytes: Array(bytes.dropLast()))) == false)
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x10
            #expect(secret.equals(Secret(bytes: other)) == false)
        }
        #expect(Secret(count: 0).equals(Secret(count: 0)) == true)
    }

    @Test("can be written, and cut down to a part without leaving the rest")
    func keeping() {
        var secret = Secret(bytes: (0..<100).map { UInt8($0) })
        secret.withUnsafeMutableBytes { $0[10] = 0xAA }
        let whole = secret.withUnsafeBytes { $0 }
        secret.narrow(to: 10..<15)
        #expect(secret.array == [0xAA, 11, 12, 13, 14])
        // Where it was, and nothing around it.
        #expect(secret.withUnsafeBytes { $0.baseAddress } == whole.baseAddress.map { $0 + 10 })
        #expect(whole.enumerated().allSatisfy { (10..<15).contains($0) || $1 == 0 })
        secret.narrow(to: 1..<3)
        #expect(secret.array == [11, 12])
        #expect(secret.copy().array == [11, 12])
        secret.narrow(to: 0..<0)
        #expect(secret.count == 0)
    }

    @Test("made at random differs from others")
    func random() {
        #expect(Secret.random(count: 32).equals(Secret.random(count: 32)) == false)
        #expect(Secret.random(count: 1000).array.contains { $0 != 0 })
    }
}

@Suite("Memory for secrets", .serialized)
struct SecretMemoryTests {
    @Test(
        "is wiped when its secret goes: whoever gets the same piece next finds zeros",
        arguments: [1, 32, 33, 64, 500, 4096, 20_000, 32_768])
    func wiped(count: Int) {
        // Other tests use the same memory at the same time: a piece handed to them is not ours to look at, so several
        // tries.
        var looked = 0
        for _ in 0..<200 {
            var address: UInt = 0
            do {
                let secret = Secret(bytes: [UInt8](repeating: 0x5A, count: count))
                address = secret.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
            }
            let next = Secret(count: count)
            let isSame = next.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } == address
            guard isSame else { continue }
            looked += 1
            #expect(next.array.allSatisfy { $0 == 0 })
        }
        #expect(looked > 0, "the same piece never came back")
    }

    @Test("gives pieces that do not overlap, whatever their sizes")
    func disjoint() throws {
        var pieces: [(start: UInt, end: UInt)] = []
        var held: [SecretMemory.Piece] = []
        for count in Array(0...300) + [
            511, 512, 513, 4096, 8193, 16_385, 32_768, 32_769, 65_535, 65_536, 65_537, 100_000,
        ] {
            let piece = try #require(SecretMemory.shared.allocate(count))
            #expect(piece.capacity >= count)
            held.append(piece)
            pieces.append((UInt(bitPattern: piece.start), UInt(bitPattern: piece.start) + UInt(piece.capacity)))
        }
        pieces.sort { $0.start < $1.start }
        for (left, right) in zip(pieces, pieces.dropFirst()) { #expect(left.end <= right.start) }
        for piece in held { SecretMemory.shared.free(piece) }
    }

    @Test("is used by many threads at once without mixing their secrets")
    func threads() async {
        await withTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var generator = Numbers(Numbers.seed &+ UInt64(task))
                    var wrong = 0
                    var kept: [SecretHolder] = []
                    for round in 0..<400 {
                        let count = round % 50 == 0 ? 40_000 : Int.random(in: 0...3000, using: &generator)
                        kept.append(SecretHolder(Secret(bytes: [UInt8](repeating: UInt8(task + 1), count: count))))
                        if kept.count > 20 { kept.remove(at: Int.random(in: kept.indices, using: &generator)) }
                        for holder in kept where !holder.secret.array.allSatisfy({ $0 == UInt8(task + 1) }) {
                            wrong += 1
                        }
                    }
                    return wrong
                }
            }
            for await wrong in group { #expect(wrong == 0, "VAULTFMT_SEED=\(Numbers.seed)") }
        }
    }

    private final class SecretHolder: Sendable {
        let secret: Secret

        init(_ secret: consuming Secret) { self.secret = secret }
    }
}
