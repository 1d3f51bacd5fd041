/// The nonces of a file's frames (section 2 of the specification): no two are the same.
enum Nonces {
    static func check(_ file: [UInt8]) throws {
        guard file.count >= 4096 else { return }
        var position = 2 * word(file, 12)
        var seen: Set<[UInt8]> = []
        while position + 32 <= file.count {
            guard file[position] == UInt8(ascii: "v") else {
                // Padding before a commit; or a reserve, or a tail.
                let next = (position + 512) / 512 * 512
                guard next < file.count, file[position..<next].allSatisfy({ $0 == 0 }) else { return }
                position = next
                continue
            }
            guard seen.insert(Array(file[position + 8..<position + 32])).inserted else {
                throw Wrong("a nonce is used twice, at \(position)")
            }
            position += max(word(file, position + 4), 32)
        }
    }

    private static func word(_ bytes: [UInt8], _ at: Int) -> Int {
        (0..<4).reduce(0) { $0 | Int(bytes[at + $1]) << (8 * $1) }
    }
}
