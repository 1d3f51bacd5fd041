import Crypto
package import VaultFmt

/// Writes certificates, keys and identities as PEM. The format is lossy: labels and other attributes are not included.
package struct PEMExport {
    private let output: Output
    /// The hashes of the blocks written so far, because an identity's certificate and key may also be separate items.
    private var written: Set<SHA256Digest> = []
    /// The number of items that cannot be written as PEM.
    package private(set) var withoutForm = 0

    package init(_ output: Output) {
        self.output = output
    }

    package mutating func write(_ opened: borrowing OpenedItem) throws {
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

    /// Returns the end of a block: the start of the line that begins the next block.
    private static func endOfBlock(_ text: Slice<UnsafeRawBufferPointer>) -> Int {
        text.dropFirst().firstRange(of: Array("-----BEGIN ".utf8))?.lowerBound ?? text.endIndex
    }
}
