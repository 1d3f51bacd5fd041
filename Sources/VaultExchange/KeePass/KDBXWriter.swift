import CInterchange
import VaultFmt

/// Writes a compressed KDBX 4.1 file, encrypted with AES-256, with the key derivation that the header specifies, and
/// with ChaCha20 for protected values.
///
/// Attachments come first, then groups and entries. Everything is streamed through memory that is wiped after use.
final class KDBXWriter {
    private let output: Output
    private let keys: KDBXKeys
    private let cipher: ForeignCipher
    private var deflater: Deflater
    private let stream: InnerStream
    /// The text that is not yet compressed, the compressed data that is not yet encrypted, and the block that is being
    /// filled.
    private var text = SecretBuffer(capacity: 65_536)
    private var rest = SecretBuffer(capacity: 65_536)
    private var block = SecretBuffer(capacity: 1 << 20)
    private var blockNumber: UInt64 = 0
    private var binaries = 0
    private var depth = 0

    /// Writes the header.
    init(_ output: Output, key: borrowing KDBXKey, kdf: KDBXKDF, limits: ReaderLimits) throws {
        try ForeignLibrary.zlib.load()
        let header = KDBXHeader(cipher: .aes256, kdf: kdf)
        self.output = output
        keys = try key.keys(for: header, limits: limits)
        cipher = try Self.cipher(keys, header)
        deflater = try Deflater()
        let streamKey = Secret.random(count: 64)
        stream = try InnerStream(3, key: streamKey)
        try Self.write(header.bytes, to: output)
        try header.bytes.span.withUnsafeBytes { ForeignHash.sha256($0) }.withUnsafeBytes { try output.write($0) }
        try keys.mac(header: header.bytes).withUnsafeBytes { try output.write($0) }
        try innerField(KDBX.InnerField.stream, Secret(bytes: UInt32(3).littleEndianBytes))
        try innerField(KDBX.InnerField.key, streamKey)
    }

    private static func cipher(_ keys: borrowing KDBXKeys, _ header: KDBXHeader) throws -> ForeignCipher {
        try header.iv.span.withUnsafeBytes {
            try ForeignCipher(INTERCHANGE_AES256_CBC, key: keys.encryption, iv: $0)
        }
    }

    private static func write(_ bytes: [UInt8], to output: Output) throws {
        try bytes.span.withUnsafeBytes { try output.write($0) }
    }

    // MARK: contents

    private func innerField(_ id: UInt8, _ value: borrowing Secret) throws {
        text.append(contentsOf: [id] + UInt32(value.count).littleEndianBytes)
        text.append(value)
        try packIfLarge()
    }

    /// Adds an attachment, before any group; returns its number.
    func add(binary: borrowing Secret, isProtected: Bool) throws -> Int {
        text.append(contentsOf: [KDBX.InnerField.binary] + UInt32(binary.count + 1).littleEndianBytes)
        text.append(isProtected ? 1 : 0)
        text.append(binary)
        try packIfLarge()
        binaries += 1
        return binaries - 1
    }

    /// Begins the XML; must be called after all attachments are added.
    func begin(name: String) throws {
        text.append(contentsOf: [KDBX.InnerField.end] + UInt32(0).littleEndianBytes)
        raw("<?xml version=\"1.0\" encoding=\"utf-8\" standalone=\"yes\"?>\n")
        try open("KeePassFile")
        try open("Meta")
        try element("Generator", "vaultfmt")
        try element("DatabaseName", KDBXText.isPlain(name) ? name : "vault")
        try open("MemoryProtection")
        for (field, isProtected) in [
            ("Title", false), ("UserName", false), ("Password", true), ("URL", false), ("Notes", false),
        ] { try element("Protect" + field, isProtected ? "True" : "False") }
        try close("MemoryProtection")
        try element("RecycleBinEnabled", "True")
        try close("Meta")
        try open("Root")
    }

    func beginGroup(_ uuid: [UInt8], name: String) throws {
        try open("Group")
        try element("UUID", KDBXBase64.text(uuid))
        try element("Name", name)
    }

    func endGroup() throws { try close("Group") }

    /// Ends the file.
    func finish() throws {
        try close("Root")
        try close("KeePassFile")
        try pack(isLast: true)
        try encrypt(isLast: true)
        if !block.isEmpty { try endBlock() }
        try endBlock()
        try output.flush()
    }

    /// Writes an entry with its earlier states.
    func write(_ entry: KDBXNewEntry, history: [KDBXNewEntry]) throws {
        try open("Entry")
        try fields(of: entry)
        if !history.isEmpty {
            try open("History")
            for state in history {
                try open("Entry")
                try fields(of: state)
                try close("Entry")
            }
            try close("History")
        }
        try close("Entry")
    }

    private func fields(of entry: KDBXNewEntry) throws {
        try element("UUID", KDBXBase64.text(entry.uuid))
        try element("IconID", String(entry.icon))
        if !entry.tags.isEmpty { try element("Tags", entry.tags.joined(separator: ";")) }
        try open("Times")
        for (name, time) in [
            ("CreationTime", entry.created), ("LastModificationTime", entry.modified),
            ("LastAccessTime", entry.modified), ("LocationChanged", entry.created),
            ("ExpiryTime", entry.expiry ?? entry.created),
        ] { try element(name, KDBXBase64.text(KDBXTime.seconds(time).littleEndianBytes)) }
        try element("Expires", entry.expiry == nil ? "False" : "True")
        try element("UsageCount", "0")
        try close("Times")
        for string in entry.strings {
            try open("String")
            try element("Key", string.name)
            try value(string)
            try close("String")
        }
        if !entry.autoType.isEmpty {
            try open("AutoType")
            try element("Enabled", "True")
            try element("DataTransferObfuscation", "0")
            try element("DefaultSequence", entry.autoType)
            try close("AutoType")
        }
        for (name, number) in entry.binaries {
            try open("Binary")
            try element("Key", name)
            raw("<Value Ref=\"\(number)\"/>")
            try close("Binary")
        }
        if !entry.customData.isEmpty {
            try open("CustomData")
            for (key, value) in entry.customData {
                try open("Item")
                try element("Key", key)
                try element("Value", value)
                try close("Item")
            }
            try close("CustomData")
        }
    }

    private func value(_ string: KDBXString) throws {
        guard string.isProtected, string.value.count > 0 else {
            raw("<Value>")
            string.value.withBytes { escape($0) }
            raw("</Value>")
            return try packIfLarge()
        }
        var encrypted = string.value.secret.copy()
        try stream.apply(&encrypted)
        raw("<Value Protected=\"True\">")
        encrypted.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: 3072) {
                let piece = bytes[start..<min(start + 3072, bytes.count)]
                text.append(contentsOf: KDBXBase64.text(Array(piece)).utf8)
            }
        }
        raw("</Value>")
        try packIfLarge()
    }

    // MARK: XML

    private func raw(_ part: String) { text.append(contentsOf: part.utf8) }

    private func open(_ name: String) throws {
        raw("<\(name)>")
        try packIfLarge()
    }

    private func close(_ name: String) throws {
        raw("</\(name)>\n")
        try packIfLarge()
    }

    private func element(_ name: String, _ value: String) throws {
        raw("<\(name)>")
        var copy = value
        copy.withUTF8 { escape(UnsafeRawBufferPointer($0)) }
        raw("</\(name)>")
        try packIfLarge()
    }

    /// Escapes plain text (`KDBXText`) for XML. A carriage return is written as a character reference, because it would
    /// otherwise be lost.
    private func escape(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "&"): text.append("&amp;")
            case UInt8(ascii: "<"): text.append("&lt;")
            case UInt8(ascii: ">"): text.append("&gt;")
            case 0x0D: text.append("&#xD;")
            default: text.append(byte)
            }
        }
    }

    // MARK: packing and encryption

    private func packIfLarge() throws {
        guard text.count >= 32_768 else { return }
        try pack(isLast: false)
        try encrypt(isLast: false)
    }

    private func pack(isLast: Bool) throws {
        try text.withUnsafeBytes { text in
            try deflater.pack(text, isLast: isLast) { rest.append($0) }
        }
        text.removeAll()
    }

    /// Encrypts the whole cipher blocks of the compressed data, and passes them on in blocks of 1 MiB.
    private func encrypt(isLast: Bool) throws {
        if isLast {
            let padding = UInt8(16 - rest.count % 16)
            for _ in 0..<padding { rest.append(padding) }
        }
        let whole = rest.count / 16 * 16
        guard whole > 0 else { return }
        var encrypted = rest.secret()
        try encrypted.withUnsafeMutableBytes { bytes in
            try cipher.encrypt(UnsafeMutableRawBufferPointer(rebasing: bytes[..<whole]))
        }
        rest.removeAll()
        try encrypted.withUnsafeBytes { bytes in
            rest.append(UnsafeRawBufferPointer(rebasing: bytes[whole...]))
            var left = UnsafeRawBufferPointer(rebasing: bytes[..<whole])
            while !left.isEmpty {
                let piece = UnsafeRawBufferPointer(rebasing: left.prefix(Self.blockSize - block.count))
                block.append(piece)
                left = UnsafeRawBufferPointer(rebasing: left[piece.count...])
                if block.count == Self.blockSize { try endBlock() }
            }
        }
    }

    private static let blockSize = 1 << 20

    /// Writes a block with its MAC; an empty block ends the file.
    private func endBlock() throws {
        let front = blockNumber.littleEndianBytes + UInt32(block.count).littleEndianBytes
        let mac = block.withUnsafeBytes { block in
            front.span.withUnsafeBytes { keys.mac(block: blockNumber, $0, block) }
        }
        try mac.withUnsafeBytes { try output.write($0) }
        try Self.write(UInt32(block.count).littleEndianBytes, to: output)
        try block.withUnsafeBytes { try output.write($0) }
        block.removeAll()
        blockNumber += 1
    }
}

/// An entry to be written, or an earlier state of an entry. Its texts must be plain (`KDBXText`).
struct KDBXNewEntry {
    var uuid: [UInt8]
    var icon = 0
    var tags: [String] = []
    var autoType = ""
    /// The time of creation, in milliseconds since 1970.
    var created: Int64
    var modified: Int64
    var expiry: Int64?
    var strings: [KDBXString] = []
    /// Attachments, by the numbers that the writer assigned to them.
    var binaries: [(name: String, number: Int)] = []
    var customData: [(key: String, value: String)] = []
}
