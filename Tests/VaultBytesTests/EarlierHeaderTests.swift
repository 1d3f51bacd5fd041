import Testing
import VaultBytes

#if canImport(Glibc)
    import Glibc
#endif

@Suite("A header of vaultfmt 0.1.0")
struct EarlierHeaderTests {
    private let bytes: [UInt8]

    init() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let file = try #require(fopen("/\(root)/Spec/archive/0.1.0/vault", "rb"))
        defer { fclose(file) }
        var part = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&part, 1, part.count, file)
        bytes = Array(part[..<count])
    }

    private func begins(_ bytes: [UInt8]) -> Bool { EarlierHeader.begins(bytes.span) }

    @Test("is recognized in the archived vault, whatever follows it, and is not one of format 1")
    func archived() {
        #expect(begins(bytes))
        #expect(begins(Array(bytes[..<4096])))
        #expect(begins(bytes + [UInt8](repeating: 0, count: 1 << 16)))
        refuses(.headerInvalid, "a slot") { () throws(FormatError) in _ = try Header(Array(bytes[..<4096]).span) }
    }

    @Test("is not recognized if a length, a count, a kind, the factors or the padding do not fit")
    func altered() {
        // The slot starts at byte 68: its kind is byte 86, its factors byte 87, and its payload's length byte 172.
        for index in [0, 8, 10, 12, 13, 14, 64, 65, 66, 67, 68, 69, 86, 87, 88, 99, 115, 172, 173, 360, 4031] {
            #expect(!begins(patched(bytes, index, [bytes[index] ^ 4])), "byte \(index)")
        }
        for length in [0, 15, 16, 64, 68, 4095] { #expect(!begins(Array(bytes[..<length])), "\(length) bytes") }
    }

    @Test("is not what a header of format 1 is, whole or with a damaged byte", arguments: [1, 3, 64])
    func format1(slots: Int) throws {
        let (_, whole) = try HeaderTests.sample(UInt64(slots), slots: slots, extensions: 2)
        #expect(!begins(whole))
        for index in 12..<1024 { #expect(!begins(patched(whole, index, [whole[index] ^ 0x58])), "byte \(index)") }
    }
}
