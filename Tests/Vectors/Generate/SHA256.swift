import Crypto

/// Of dumps: the one hash here that is not the format's, so that any language's standard library has it.
enum SHA256 {
    static func hex(_ bytes: [UInt8]) -> String { Crypto.SHA256.hash(data: bytes).map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }.joined() }
}
