import VaultFmt

/// The formats that items can be imported from. ARCHITECTURE.md describes how to add a format.
package enum SourceFormat: String, CaseIterable {
    case json
    case csv
    case enpass
    case pem
    case kdbx
    case bitwarden

    /// True if this format is never encrypted.
    package var isPlaintext: Bool { [.json, .csv, .enpass].contains(self) }

    /// Returns whether a source begins like a file in this format.
    private func recognizes(_ start: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .kdbx: KDBXImport.recognizes(start)
        case .bitwarden: BitwardenImport.recognizes(text)
        case .json: text.first == UInt8(ascii: "{")
        case .csv: CSVImport.recognizes(text)
        case .enpass: EnpassImport.recognizes(text)
        case .pem: PEMBlocks.recognizes(text)
        }
    }

    /// Opens a source, decrypting it if it is encrypted.
    package func open(_ reader: consuming SourceReader, _ access: SourceAccess) throws -> OpenedSource {
        switch self {
        case .json: OpenedSource(JSONImport(reader))
        case .csv: OpenedSource(MappedSource(try CSVImport(reader, access)))
        case .enpass: OpenedSource(MappedSource(try EnpassImport(reader)))
        case .pem: OpenedSource(try PEMImport(reader, access))
        case .kdbx: OpenedSource(MappedSource(try KDBXImport(reader, access)))
        case .bitwarden: OpenedSource(MappedSource(try BitwardenImport(reader, access)))
        }
    }

    /// Opens the contents of a KDBX 4 file in the form before compression and encryption.
    package static func openKDBXContents(_ contents: consuming SecretBuffer) throws -> OpenedSource {
        OpenedSource(MappedSource(try KDBXImport(contents: contents)))
    }

    /// Returns the name of the encoding that a byte order mark indicates; nil if there is no such mark, or if it is the
    /// mark for UTF-8.
    private static func encoding(_ start: UnsafeRawBufferPointer) -> String? {
        let marks: [([UInt8], String)] = [
            ([0xFF, 0xFE, 0, 0], "UTF-32"), ([0, 0, 0xFE, 0xFF], "UTF-32"), ([0xFF, 0xFE], "UTF-16"),
            ([0xFE, 0xFF], "UTF-16"),
        ]
        return marks.first { start.starts(with: $0.0) }?.1
    }

    /// Detects the format from the first bytes of a source.
    package init(detecting reader: inout SourceReader) throws {
        var (isArchive, isFrom1Password, isVault) = (false, false, false)
        var encoding: String?
        let found = try reader.withStart { start -> SourceFormat? in
            var text = start[...]
            if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
            text = text.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
            let rest = UnsafeRawBufferPointer(rebasing: text)
            encoding = Self.encoding(start)
            isVault = start.starts(with: [0x89, 0x56, 0x41, 0x55, 0x4C, 0x54, 0x0D, 0x0A])
            if start.starts(with: [0x50, 0x4B, 0x03, 0x04]) {
                isArchive = true
                let names = String(decoding: start.prefix(4096), as: UTF8.self)
                isFrom1Password = ["export.attributes", "export.data"].contains { names.contains($0) }
            }
            return [.kdbx, .bitwarden, .json, .enpass, .csv, .pem].first { $0.recognizes(start, rest) }
        }
        guard let found else {
            if let encoding {
                throw ExchangeError(
                    .damaged,
                    "\(reader.name) is \(encoding) text; convert it to UTF-8 first: 'iconv -f \(encoding) -t UTF-8 FILE'"
                )
            }
            guard !isVault else {
                throw ExchangeError(
                    .damaged,
                    "\(reader.name) is a vault", .mergeOrExport)
            }
            guard !isFrom1Password else {
                throw ExchangeError(
                    .damaged,
                    "\(reader.name) is a 1PUX archive, which cannot be read; export CSV from 1Password instead")
            }
            guard !isArchive else {
                throw ExchangeError(
                    .damaged, "\(reader.name) is a ZIP archive; unpack it, and import the files in it")
            }
            throw ExchangeError(
                .damaged,
                "\(reader.name) is neither a vaultfmt export, nor a KDBX file, nor Bitwarden's JSON, nor a CSV list with a column "
                    + "'password', nor PEM",
                .nameFormat)
        }
        self = found
    }
}

/// A source in any format.
package final class OpenedSource: ImportSource {
    private let body: ((consuming ImportRecord) throws -> Void) throws -> [Omission]

    /// A source that can be read once.
    init<Source: ImportSource & ~Copyable>(_ source: consuming Source) {
        let box = Box(source)
        body = { take in try box.source.read(take) }
    }

    private final class Box<Source: ImportSource & ~Copyable> {
        var source: Source
        init(_ source: consuming Source) { self.source = source }
    }

    package func read(_ take: (consuming ImportRecord) throws -> Void) throws -> [Omission] {
        // The vault was opened after the source, which also used memory.
        try SourceMemory.require(SourceMemory.base, for: "the source")
        return try body(take)
    }
}
