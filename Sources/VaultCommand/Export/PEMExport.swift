import Crypto
import VaultFmt

/// Writes certificates, keys and identities as PEM. Not lossless: labels and other attributes are not in it.
struct PEMExport {
    private let output: Output
    /// What was written, by its hash: an identity has a certificate and a key that may be items too.
    private var written: Set<SHA256Digest> = []
    /// How many items have no such form.
    private(set) var withoutForm = 0

    init(_ output: Output) {
        self.output = output
    }

    mutating func write(_ opened: borrowing OpenedItem) throws {
        guard let text = PEMText.text(opened.item.key.itemClass, opened.secret) else {
            withoutForm += 1
            return
        }
        try text.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let end = Self.endOfBlock(rest)
                let block = UnsafeRawBufferPointer(rebasing: rest[..<end])
                if written.insert(SHA256.hash(data: block)).inserted { try output.write(block) }
                rest = rest[end...]
            }
        }
    }

    /// Up to the line that begins the next block.
    private static func endOfBlock(_ text: Slice<UnsafeRawBufferPointer>) -> Int {
        text.dropFirst().firstRange(of: Array("-----BEGIN ".utf8))?.lowerBound ?? text.endIndex
    }
}
