import Testing
import VaultBytes

@Suite("Bytes of fixed number")
struct FixedBytesTests {
    @Test("compare as bytes do")
    func order() {
        var numbers = Numbers(3)
        for _ in 0..<500 {
            let left = numbers.id()
            let right = numbers.id()
            #expect((left < right) == ByteOrder.isLess(left.bytes, right.bytes))
        }
        #expect(Bytes16.zero.bytes == [UInt8](repeating: 0, count: 16))
    }

    @Test("are made from that many bytes and no others")
    func sizes() {
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8($0) }
            #expect(Bytes16(bytes)?.bytes == (count == 16 ? bytes : nil))
            #expect(Bytes32(bytes)?.bytes == (count == 32 ? bytes : nil))
        }
    }

    @Test("differ if any bit does")
    func bits() {
        var numbers = Numbers(4)
        let bytes = numbers.bytes(32)
        for index in 0..<256 {
            #expect(Bytes32(patched(bytes, index / 8, [bytes[index / 8] ^ (1 << (index % 8))])) != Bytes32(bytes))
        }
    }

    @Test("read hexadecimal digits of both cases, and nothing else")
    func hex() {
        #expect(Hex.encode([0, 0x1F, 0xAB, 0xFF]) == "001fabff")
        #expect(Hex.decode("001FabfF") == [0, 0x1F, 0xAB, 0xFF])
        #expect(Hex.decode("") == [])
        for bad in ["0", "0g", "0x00", " 00", "００", "+1"] { #expect(Hex.decode(bad) == nil) }
    }
}

@Suite("The order of bytes")
struct ByteOrderTests {
    @Test("is that of their unsigned values, shorter first")
    func order() {
        let sorted: [[UInt8]] = [[], [0], [0, 0], [0, 1], [1], [0x7F], [0x80], [0x80, 0], [0xFF], [0xFF, 0xFF]]
        for (i, left) in sorted.enumerated() {
            for (j, right) in sorted.enumerated() {
                #expect(ByteOrder.compare(left.span, right.span).signum() == (i - j).signum())
                #expect(ByteOrder.isLess(left, right) == (i < j))
            }
        }
    }

    @Test("is the same for all lengths and for a difference at any place")
    func lengths() {
        var numbers = Numbers(5)
        for count in 0..<40 {
            let left = numbers.bytes(count)
            for other in 0..<40 {
                // Behind a byte, so that loads are not aligned, and with more behind it that must not count.
                let right = Array((left + numbers.bytes(40))[..<other])
                let order = Order.bytewise(left, right)
                let (a, b) = ([7] + left + [0xFF], [9] + right + [0])
                #expect(ByteOrder.compare(a.span, 1..<1 + count, b.span, 1..<1 + other) == order)
                #expect(ByteOrder.commonPrefix(left, right) == zip(left, right).prefix { $0 == $1 }.count)
            }
            for place in 0..<count {
                let right = patched(left, place, [left[place] &+ 0x80])
                #expect(ByteOrder.compare(left.span, right.span) == Order.bytewise(left, right))
                #expect(ByteOrder.commonPrefix(left, right) == place)
            }
        }
    }

    @Test("knows what two strings of bytes start with in common")
    func prefix() {
        #expect(ByteOrder.commonPrefix([], [1]) == 0)
        #expect(ByteOrder.commonPrefix([1, 2, 3], [1, 2]) == 2)
        #expect(ByteOrder.commonPrefix([1, 2, 3], [1, 9, 3]) == 1)
    }
}

private enum Order {
    /// One byte after the other.
    static func bytewise(_ left: [UInt8], _ right: [UInt8]) -> Int {
        for (x, y) in zip(left, right) where x != y { return x < y ? -1 : 1 }
        return (left.count - right.count).signum()
    }
}
