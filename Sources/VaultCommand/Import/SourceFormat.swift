import VaultFmt

/// The forms that items can be imported from.
enum SourceFormat: String, CaseIterable {
    case json
    case csv
    case pem

    /// Finds out from the first bytes of a source.
    init(detecting reader: inout SourceReader) throws {
        let found = try reader.withStart { start -> SourceFormat? in
            var text = start[...]
            if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
            text = text.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
            if text.first == UInt8(ascii: "{") { return .json }
            let rest = UnsafeRawBufferPointer(rebasing: text)
            if CSVImport.recognizes(rest) { return .csv }
            return PEMBlocks.recognizes(rest) ? .pem : nil
        }
        guard let found else {
            throw CommandFailure(
                .damaged,
                "\(reader.name) is neither an export of vaultfmt, nor a CSV list with a column 'password', nor PEM; --format says what it is"
            )
        }
        self = found
    }
}
