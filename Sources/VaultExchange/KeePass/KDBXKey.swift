import CInterchange
import CVaultShim
package import VaultFmt
import VaultLocal

/// The key of a KDBX file: a passphrase, a key file, or both.
package struct KDBXKey: ~Copyable {
    /// The SHA-256 hash of the parts' hashes.
    private let composite: Secret

    /// `passphrase`: The passphrase in UTF-8; nil if the file has none.
    /// `keyFile`: The contents of a key file of any kind.
    package init(passphrase: consuming Secret?, keyFile: consuming Secret?) throws {
        try ForeignLibrary.gcrypt.load()
        var parts = SecretBuffer(capacity: 64)
        if let passphrase { parts.append(ForeignHash.sha256(passphrase)) }
        if let keyFile { parts.append(try KDBXKeyFile.key(in: keyFile)) }
        composite = ForeignHash.sha256(parts.secret())
    }

    /// Derives the keys for a file, with the key derivation that its header specifies.
    borrowing func keys(
        for header: KDBXHeader, limits: ReaderLimits, mostRounds: UInt64 = KDBX.Limit.rounds
    ) throws -> KDBXKeys {
        let transformed: Secret
        switch header.kdf {
        case .aes(let seed, let rounds): transformed = try transform(seed, rounds, mostRounds)
        case .argon2(let argon2): transformed = try argon2.key(composite, limits)
        }
        var seeded = SecretBuffer(capacity: 128)
        seeded.append(contentsOf: header.masterSeed)
        seeded.append(transformed)
        let encryption = ForeignHash.sha256(seeded.secret())
        seeded.append(1)
        return KDBXKeys(encryption: encryption, macBase: ForeignHash.sha512(seeded.secret()))
    }

    private borrowing func transform(_ seed: [UInt8], _ rounds: UInt64, _ mostRounds: UInt64) throws -> Secret {
        guard rounds <= mostRounds else {
            throw ExchangeError(
                .overLimit,
                "the file asks for more key derivation than allowed: rounds \(rounds), limit \(mostRounds)",
                .allowRounds)
        }
        var key = composite.copy()
        let result = key.withUnsafeMutableBytes { interchange_aes_kdf(seed, $0.baseAddress, rounds) }
        guard interchange_is_memory(result) == 0 else { throw ForeignLibrary.outOfMemory("libgcrypt") }
        guard result == 0 else { throw ExchangeError(.unavailable, "libgcrypt cannot derive this file's key") }
        return ForeignHash.sha256(key)
    }
}

extension KDBXArgon2 {
    /// Derives a 32-byte key from a password, within the limits.
    func key(_ password: borrowing Secret, _ limits: ReaderLimits) throws -> Secret {
        try check(limits)
        var key = Secret(count: 32)
        let result = key.withUnsafeMutableBytes { key in
            password.withUnsafeBytes { password in
                salt.withUnsafeBytes { salt in
                    secret.withUnsafeBytes { secret in
                        associated.withUnsafeBytes { associated in
                            var parameters = interchange_argon2()
                            parameters.is_id = isID ? 1 : 0
                            parameters.version = UInt32(clamping: version)
                            parameters.passes = UInt32(clamping: passes)
                            parameters.memory_kib = UInt32(clamping: memoryBytes >> 10)
                            parameters.lanes = UInt32(clamping: lanes)
                            parameters.threads = vault_possible_threads(min(parameters.lanes, Self.mostThreads))
                            parameters.password = password.baseAddress
                            parameters.password_size = UInt32(clamping: password.count)
                            parameters.salt = salt.baseAddress
                            parameters.salt_size = UInt32(clamping: salt.count)
                            parameters.secret = secret.baseAddress
                            parameters.secret_size = UInt32(clamping: secret.count)
                            parameters.associated = associated.baseAddress
                            parameters.associated_size = UInt32(clamping: associated.count)
                            return interchange_argon2(&parameters, key.baseAddress)
                        }
                    }
                }
            }
        }
        guard interchange_argon2_lacks_memory(result) == 0 else {
            throw ExchangeError(
                .io,
                "there is too little memory for this file's key derivation, which needs \(max(1, memoryBytes >> 20)) MiB"
            )
        }
        guard result == 0 else {
            throw ExchangeError.damaged("byte 12", "the header's key derivation has invalid parameters")
        }
        return key
    }

    /// The maximum number of lanes that are computed in parallel.
    private static let mostThreads: UInt32 = 16

    /// Checks the cost against the limits. Memory, and memory times passes, have the same limits as for vaults. Passes
    /// and lanes alone are not limited: KeePassXC uses dozens of passes over little memory, and as many lanes as the
    /// machine has cores. At most 16 lanes are computed in parallel.
    private func check(_ limits: ReaderLimits) throws {
        let memory = memoryBytes >> 10
        func over(_ what: String, _ value: UInt64, _ limit: UInt64, _ remedy: ExchangeError.Remedy) -> ExchangeError {
            ExchangeError(
                .overLimit,
                "the file asks for more key derivation than allowed: \(what) \(value) KiB, limit \(limit) KiB",
                remedy)
        }
        guard memory <= limits.memoryKiB else {
            throw over("memory", memory, UInt64(limits.memoryKiB), .allowDerivationMemory)
        }
        let (work, overflow) = memory.multipliedReportingOverflow(by: passes)
        guard !overflow, work <= limits.totalKiBPasses else {
            throw over("memory × passes", overflow ? .max : work, limits.totalKiBPasses, .allowDerivationWork)
        }
        guard version == 0x10 || version == 0x13, (1...UInt64(UInt32.max)).contains(passes),
            lanes >= 1, lanes <= memory / 8, salt.count >= 8
        else {
            throw ExchangeError.damaged("byte 12", "the header's key derivation has invalid parameters")
        }
    }
}

/// The keys of one file.
struct KDBXKeys: ~Copyable {
    let encryption: Secret
    private let macBase: Secret

    init(encryption: consuming Secret, macBase: consuming Secret) {
        self.encryption = encryption
        self.macBase = macBase
    }

    /// Returns the key for a block's MAC (version 4). The header uses the largest block number.
    borrowing func macKey(block: UInt64) -> Secret {
        var seeded = SecretBuffer(capacity: 72)
        seeded.append(contentsOf: block.littleEndianBytes)
        seeded.append(macBase)
        return ForeignHash.sha512(seeded.secret())
    }

    /// Returns the MAC of a block or of the header.
    borrowing func mac(block: UInt64, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Secret {
        ForeignHash.hmac(key: macKey(block: block), first, second)
    }

    /// Returns the MAC of the header.
    borrowing func mac(header: [UInt8]) -> Secret {
        header.span.withUnsafeBytes { mac(block: .max, $0, UnsafeRawBufferPointer(start: nil, count: 0)) }
    }
}

/// Key files: XML of versions 1 and 2, 32 bytes, 64 hexadecimal digits, or any other file, which is hashed.
enum KDBXKeyFile {
    /// Returns the 32-byte key that a key file is or contains.
    static func key(in file: borrowing Secret) throws -> Secret {
        if file.count == 32 { return file.copy() }
        if file.count == 64, let key = file.withUnsafeBytes({ Self.unhex($0) }), key.count == 32 { return key }
        return try fromXML(file) ?? ForeignHash.sha256(file)
    }

    /// Returns the key in an XML key file, or nil if the file is not in that form.
    private static func fromXML(_ file: borrowing Secret) throws -> Secret? {
        let looksLikeIt = file.withUnsafeBytes { bytes in
            bytes.prefix(64).contains(UInt8(ascii: "<")) && bytes.count < 1 << 20
        }
        guard looksLikeIt else { return nil }
        try ForeignLibrary.expat.load()
        let contents = KeyFileContents()
        do {
            try XMLReader.read(into: contents) { feed in
                try file.withUnsafeBytes { bytes in try feed(bytes) }
            }
        } catch { return nil }
        guard contents.isKeyFile, let data = contents.data else { return nil }
        guard contents.version.hasPrefix("2") else {
            guard let key = data.withBytes({ decodedBase64($0) }), key.count == 32 else { throw damaged }
            return key
        }
        guard let key = data.withBytes({ unhex($0) }), key.count == 32 else { throw damaged }
        let check = ForeignHash.sha256(key).prefix(4)
        guard contents.hash.isEmpty || check.equals(Secret(bytes: bytes(hex: contents.hash))) else {
            throw ExchangeError(.damaged, "the key file does not match its own checksum; use an intact copy")
        }
        return key
    }

    private static var damaged: ExchangeError {
        ExchangeError(.damaged, "the key file is KeePass XML, but does not contain a 32-byte key")
    }

    /// Decodes hexadecimal digits, ignoring white space; returns nil for anything else.
    static func unhex(_ text: UnsafeRawBufferPointer) -> Secret? {
        var out = SecretBuffer(capacity: text.count / 2 + 1)
        var high: UInt8?
        for byte in text {
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x41...0x46: digit = byte - 0x37
            case 0x61...0x66: digit = byte - 0x57
            case 0x20, 0x09, 0x0A, 0x0D: continue
            default: return nil
            }
            if let first = high {
                out.append(first << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        return high == nil ? out.secret() : nil
    }

    private static func bytes(hex text: String) -> [UInt8] {
        var copy = text
        return copy.withUTF8 { unhex(UnsafeRawBufferPointer($0))?.withUnsafeBytes { Array($0) } ?? [] }
    }

    /// The contents of a key file in XML.
    private final class KeyFileContents: XMLHandler {
        var isKeyFile = false
        var version = ""
        var hash = ""
        var data: SharedSecret?
        private var path: [String] = []
        private var text = SecretBuffer(capacity: 256)

        func start(_ name: String, _ attributes: XMLAttributes) throws {
            if path.isEmpty { isKeyFile = name == "KeyFile" }
            path.append(name)
            text.removeAll()
            if name == "Data" { hash = attributes["Hash"] ?? "" }
        }

        func text(_ bytes: UnsafeRawBufferPointer) throws { text.append(bytes) }

        func end() throws {
            switch path.popLast() {
            case "Version": version = text.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            case "Data": data = SharedSecret(text.secret())
            default: break
            }
        }
    }
}

/// Decodes padded Base64, ignoring white space; returns nil for anything else.
func decodedBase64(_ text: UnsafeRawBufferPointer) -> Secret? {
    var out = SecretBuffer(capacity: text.count / 4 * 3 + 3)
    var bits: UInt32 = 0
    var count = 0
    var padding = 0
    for byte in text {
        let value: UInt8
        switch byte {
        case 0x41...0x5A: value = byte - 0x41
        case 0x61...0x7A: value = byte - 0x47
        case 0x30...0x39: value = byte + 4
        case 0x2B, 0x2D: value = 62
        case 0x2F, 0x5F: value = 63
        case 0x3D:
            padding += 1
            continue
        case 0x20, 0x09, 0x0A, 0x0D: continue
        default: return nil
        }
        guard padding == 0 else { return nil }
        bits = bits << 6 | UInt32(value)
        count += 1
        if count == 4 {
            for shift in [16, 8, 0] as [UInt32] { out.append(UInt8(truncatingIfNeeded: bits >> shift)) }
            (bits, count) = (0, 0)
        }
    }
    switch count {
    case 0: break
    case 2: out.append(UInt8(truncatingIfNeeded: bits >> 4))
    case 3:
        out.append(UInt8(truncatingIfNeeded: bits >> 10))
        out.append(UInt8(truncatingIfNeeded: bits >> 2))
    default: return nil
    }
    return padding <= 2 ? out.secret() : nil
}
