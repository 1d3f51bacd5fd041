import SwiftASN1
import VaultFmt

/// One block of a PEM text (RFC 7468), from its BEGIN line to its END line.
struct PEMBlock: ~Copyable {
    /// "CERTIFICATE", "RSA PRIVATE KEY" and so on.
    let label: String
    /// The number of the block's BEGIN line.
    let line: Int
    /// True if the block has headers as defined in RFC 1421.
    let hasHeaders: Bool
    /// The cipher named by the header `DEK-Info`, which old versions of OpenSSL write into encrypted keys.
    let cipher: String?
    /// The block with lines of 64 characters, as swift-asn1 requires.
    let text: Secret

    var place: String { "line \(line)" }

    /// Returns the decoded contents, in memory that is wiped after use, or nil if they are not Base64.
    borrowing func decoded() -> Secret? {
        text.withUnsafeBytes { bytes in
            var body = SecretBuffer(capacity: bytes.count)
            let lines = bytes.split(separator: 0x0A)
            for line in lines.dropFirst().dropLast() { body.append(UnsafeRawBufferPointer(rebasing: line)) }
            return body.withUnsafeBytes { decodedBase64($0) }
        }
    }

    /// Returns the decoded block. A private key is then also in memory that is not wiped, because swift-asn1 works on
    /// `String`.
    func document() throws -> PEMDocument {
        guard !hasHeaders else {
            throw ExchangeError.damaged(place, "the block has headers, which are not supported")
        }
        let text = text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        do {
            return try PEMDocument(pemString: text)
        } catch {
            throw ExchangeError.damaged(place, "the block is not Base64")
        }
    }
}

/// Splits a PEM text into its blocks.
struct PEMBlocks: ~Copyable {
    private static let begin = Array("-----BEGIN ".utf8)
    private static let end = Array("-----END ".utf8)
    private static let dashes = Array("-----".utf8)

    private let text: SecretBuffer
    /// Non-blank lines outside blocks, such as remarks.
    private(set) var remarks = 0

    /// The maximum length of a label. The longest known labels have 24 bytes.
    private static let longestLabel = 64
    /// The maximum length of a text, which is held in memory.
    static let longest = 64 << 20

    init(_ reader: consuming SourceReader) throws {
        text = try reader.readAll(limit: Self.longest)
    }

    /// Returns whether a text contains the first line of a block, or its first words at the end of the text.
    static func recognizes(_ start: UnsafeRawBufferPointer) -> Bool {
        start.split { $0 == 0x0A || $0 == 0x0D }.contains { $0.starts(with: begin) }
    }

    /// Passes each block to `body`; throws `damaged` if the text has no block, or if a BEGIN or END line has no
    /// counterpart.
    mutating func forEach(_ body: (consuming PEMBlock) throws -> Void) throws {
        var remarks = 0
        var count = 0
        try text.withUnsafeBytes { bytes in
            var number = 0
            // The block is changed in place: copying its lines for each new line would take quadratic time.
            var open: OpenBlock?
            for var line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
                number += 1
                while let last = line.last, last == 0x0D || last == 0x20 || last == 0x09 { line.removeLast() }
                if let label = Self.label(line, Self.begin) {
                    if let open {
                        throw ExchangeError.damaged("line \(open.line)", "the block that starts here has no end")
                    }
                    open = OpenBlock(label: label, line: number)
                } else if let label = Self.label(line, Self.end), let block = open.take() {
                    guard label == block.label else {
                        throw ExchangeError.damaged(
                            "line \(number)", "this does not end the block that began on line \(block.line)")
                    }
                    count += 1
                    try body(Self.closed(block))
                } else if line.starts(with: Self.begin) {
                    throw ExchangeError.damaged("line \(number)", "the BEGIN line is truncated or damaged")
                } else if open != nil {
                    open?.lines.append(line)
                } else if line.starts(with: Self.end) {
                    throw ExchangeError.damaged("line \(number)", "this ends a block that has no BEGIN line")
                } else if !line.isEmpty {
                    remarks += 1
                }
            }
            if let open { throw ExchangeError.damaged("line \(open.line)", "the block that starts here has no end") }
        }
        guard count > 0 else { throw ExchangeError.damaged("line 1", "there is no PEM block in this text") }
        self.remarks = remarks
    }

    private struct OpenBlock {
        let label: String
        let line: Int
        var lines: [Slice<UnsafeRawBufferPointer>] = []
    }

    /// The label of a BEGIN or END line; nil for every other line.
    private static func label(_ line: Slice<UnsafeRawBufferPointer>, _ prefix: [UInt8]) -> String? {
        guard line.count >= prefix.count + dashes.count, line.starts(with: prefix),
            line.suffix(dashes.count).elementsEqual(dashes)
        else {
            return nil
        }
        let label = line.dropFirst(prefix.count).dropLast(dashes.count)
        guard label.count <= longestLabel, label.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return nil }
        return String(decoding: label, as: UTF8.self)
    }

    private static func closed(_ block: OpenBlock) -> PEMBlock {
        var text = SecretBuffer()
        text.append(contentsOf: begin + Array(block.label.utf8) + dashes)
        var column = 0
        for line in block.lines {
            for byte in line where byte != 0x20 && byte != 0x09 {
                if column % 64 == 0 { text.append(0x0A) }
                text.append(byte)
                column += 1
            }
        }
        text.append(0x0A)
        text.append(contentsOf: end + Array(block.label.utf8) + dashes)
        text.append(0x0A)
        let headers = block.lines.filter { $0.contains(UInt8(ascii: ":")) }
        return PEMBlock(
            label: block.label, line: block.line, hasHeaders: !headers.isEmpty, cipher: cipher(headers),
            text: text.secret())
    }

    /// Returns the cipher in the header "DEK-Info: AES-128-CBC,…", or nil if the header is missing.
    private static func cipher(_ headers: [Slice<UnsafeRawBufferPointer>]) -> String? {
        let start = Array("DEK-Info:".utf8)
        guard let header = headers.first(where: { $0.starts(with: start) }) else { return nil }
        let value = header.dropFirst(start.count).prefix(64).prefix { $0 != UInt8(ascii: ",") }
        return String(String(decoding: value, as: UTF8.self).trimmed)
    }
}
