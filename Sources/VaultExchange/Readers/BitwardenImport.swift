import CInterchange
import VaultFmt
import VaultLocal

/// Reads Bitwarden's JSON exports, both unencrypted and password-protected.
struct BitwardenImport: ~Copyable, EntrySource {
    private var splitter: JSONSplitter
    private var start: Start
    private let includesTrash: Bool
    /// The memory limit set by the user; nil to apply the default limit for a file of this size.
    private let mostMemory: Int?
    /// The total bytes of folder and collection names in items so far: any number of items can have the same names.
    private var named = 0

    /// Returns whether an object begins like such an export. Our own exports begin with their format name. Other
    /// programs that write this format omit `encrypted`; their items still have Bitwarden's members.
    static func recognizes(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.first == UInt8(ascii: "{") else { return false }
        let start = String(decoding: text.prefix(4096), as: UTF8.self)
        let members = ["encrypted", "organizationId", "collectionIds", "folderId"]
        return !start.contains("\"vaultfmt-export\"") && members.contains { start.contains("\"\($0)\"") }
    }

    /// Reads up to the first item. Encrypted exports are decrypted with the passphrase that `access` provides.
    init(_ reader: consuming SourceReader, _ access: SourceAccess) throws {
        let name = reader.name
        includesTrash = access.includesRecycleBin
        mostMemory = access.limits.memory
        var outer = JSONSplitter(reader)
        let start = try Start(&outer, allowsDense: mostMemory != nil)
        guard start.isEncrypted else {
            splitter = outer
            self.start = start
            return
        }
        guard start.isPasswordProtected, let data = start.data else {
            throw ExchangeError(
                .unavailable,
                "this Bitwarden export is encrypted with the account's key, which only Bitwarden has; export it again "
                    + "as 'Password protected', or without encryption")
        }
        let plain = try access.factors.withPassphrase(for: name) { passphrase throws -> Secret in
            guard let passphrase = passphrase?.copy() else {
                throw ExchangeError(.invalidArgument, "this Bitwarden export needs a passphrase", .givePassphrase)
            }
            let keys = try BitwardenKeys(passphrase, start.kdf, access)
            guard let check = start.check, try keys.decrypt(check) != nil else {
                throw ExchangeError(
                    .noAccess, "the passphrase does not open this Bitwarden export", .checkPassphrase)
            }
            guard let plain = try keys.decrypt(data) else {
                throw ExchangeError.damaged(
                    "member 'data'", "the passphrase is correct, but the encrypted data was altered")
            }
            return plain
        }
        var buffer = SecretBuffer(capacity: plain.count)
        buffer.append(plain)
        var inner = JSONSplitter(SourceReader(buffer, at: 0))
        let innerStart = try Start(&inner, allowsDense: mostMemory != nil)
        guard !innerStart.isEncrypted else {
            throw ExchangeError.damaged("the contents", "the contents are encrypted twice")
        }
        splitter = inner
        self.start = innerStart
    }

    mutating func read(_ take: (consuming ImportedEntry) throws -> Void) throws -> [Omission] {
        var inTrash = OmittedEntries()
        var number = 0
        var isElement = start.hasItem
        while true {
            if isElement {
                number += 1
                if mostMemory == nil { try splitter.requireSparse() }
                let object = try splitter.decode(BitwardenObject<BitwardenItem>.self)
                let item = object.known
                if item.deletedDate != nil, !includesTrash {
                    inTrash.add(item.name ?? "", "item \(number)")
                } else {
                    var entry = item.entry(
                        "item \(number)", start.folders, start.collections, others: object.others)
                    if object.members < splitter.members {
                        entry.lose("a member occurs twice; only one of its values is imported")
                    }
                    try countNames(of: entry)
                    try take(entry)
                }
            }
            guard let piece = try splitter.next() else { break }
            isElement = piece == .element
            if case .member(let name) = piece { try start.take(name, splitter, allowsDense: mostMemory != nil) }
        }
        let unknown = start.unknown.map { Omission.loss("the member \(TerminalText.quoted($0)) of the export") }
        return unknown + inTrash.omission("item", "items", "in the trash", isInRecycleBin: true)
    }

    /// Counts the names of an entry's folder and collections. Throws if there are more than a genuine
    /// file of this size can have.
    private mutating func countNames(of entry: borrowing ImportedEntry) throws {
        named += entry.folder.reduce(0) { $0 + $1.utf8.count }
        named += entry.properties.reduce(0) { $0 + ($1.name == Self.collections ? $1.value.utf8.count : 0) }
        guard named > mostMemory ?? Self.mostNames + Int(clamping: splitter.offset) else { return }
        throw ExchangeError(
            .overLimit,
            "the names of folders and collections would take more than \(named >> 20) MiB, because many items have the same ones",
            .allowMemory)
    }

    /// The total bytes of names that items may have in a file of any size.
    private static let mostNames = 16 << 20
    static let collections = "collections"

    /// The members that precede the items.
    private struct Start {
        var isEncrypted = false
        var isPasswordProtected = false
        var kdf = BitwardenKDF()
        var check: String?
        var data: String?
        var folders: [String: String] = [:]
        var collections: [String: String] = [:]
        /// The names of members that this version does not know and that are not empty.
        var unknown: [String] = []
        /// True if the splitter is at the first item.
        var hasItem = false

        /// - `allowsDense`: Whether a member may have any number of small values.
        init(_ splitter: inout JSONSplitter, allowsDense: Bool) throws {
            while let piece = try splitter.next() {
                guard case .member(let name) = piece else {
                    hasItem = true
                    return
                }
                try take(name, splitter, allowsDense: allowsDense)
            }
        }

        mutating func take(_ name: String, _ splitter: borrowing JSONSplitter, allowsDense: Bool) throws {
            if !allowsDense { try splitter.requireSparse() }
            switch name {
            case "encrypted": isEncrypted = try splitter.decode(Bool.self)
            case "passwordProtected": isPasswordProtected = try splitter.decode(Bool.self)
            case "salt": kdf.salt = try splitter.decode(String.self)
            case "kdfType": kdf.type = try splitter.decode(Int.self)
            case "kdfIterations": kdf.iterations = try splitter.decode(UInt64.self)
            case "kdfMemory": kdf.memoryMiB = try splitter.decode(UInt64?.self) ?? 0
            case "kdfParallelism": kdf.lanes = try splitter.decode(UInt64?.self) ?? 0
            case "encKeyValidation_DO_NOT_EDIT": check = try splitter.decode(String.self)
            case "data": data = try splitter.decode(String.self)
            case "folders": folders.merge(Self.names(try splitter.decode([BitwardenNamed]?.self))) { first, _ in first }
            case "collections":
                collections.merge(Self.names(try splitter.decode([BitwardenNamed]?.self))) { first, _ in first }
            default:
                let isEmpty = try splitter.decode(JSONValue.self).leaves().allSatisfy(\.text.isEmpty)
                if !isEmpty, unknown.count < Self.mostUnknown { unknown.append(name) }
            }
        }

        private static let mostUnknown = 1000

        private static func names(_ list: [BitwardenNamed]?) -> [String: String] {
            Dictionary((list ?? []).map { ($0.id, $0.name) }) { first, _ in first }
        }
    }
}

/// The parameters with which Bitwarden derives a key from a password.
struct BitwardenKDF {
    /// 0 is PBKDF2 with SHA-256, 1 is Argon2id.
    var type = 0
    var iterations: UInt64 = 0
    var memoryMiB: UInt64 = 0
    var lanes: UInt64 = 0
    var salt = ""
}

/// The keys of an export that is protected with a password.
private struct BitwardenKeys: ~Copyable {
    private let encryption: Secret
    private let mac: Secret

    init(_ passphrase: borrowing Secret, _ kdf: BitwardenKDF, _ access: SourceAccess) throws {
        try ForeignLibrary.gcrypt.load()
        let key = try Self.key(passphrase, kdf, access)
        // HKDF-Expand of one block.
        func expanded(_ info: StaticString) -> Secret {
            let one: [UInt8] = [1]
            return one.span.withUnsafeBytes {
                ForeignHash.hmac(
                    key: key, UnsafeRawBufferPointer(start: info.utf8Start, count: info.utf8CodeUnitCount), $0)
            }
        }
        encryption = expanded("enc")
        mac = expanded("mac")
    }

    private static func key(
        _ passphrase: borrowing Secret, _ kdf: BitwardenKDF, _ access: SourceAccess
    ) throws -> Secret {
        guard !kdf.salt.isEmpty else { throw ExchangeError.damaged("the export", "the salt is missing") }
        switch kdf.type {
        case 0:
            guard kdf.iterations > 0, kdf.iterations <= access.limits.rounds else {
                throw ExchangeError(
                    .overLimit,
                    "the file requires more key derivation than allowed: rounds \(kdf.iterations), limit \(access.limits.rounds)",
                    .allowRounds)
            }
            var key = Secret(count: 32)
            let salt = Array(kdf.salt.utf8)
            let result = key.withUnsafeMutableBytes { key in
                passphrase.withUnsafeBytes { passphrase in
                    interchange_pbkdf2_sha256(
                        passphrase.baseAddress, passphrase.count, salt, salt.count, kdf.iterations, key.baseAddress,
                        key.count)
                }
            }
            guard interchange_is_memory(result) == 0 else { throw ForeignLibrary.outOfMemory("libgcrypt") }
            guard result == 0 else { throw ExchangeError(.unavailable, "libgcrypt cannot derive this file's key") }
            return key
        case 1:
            let salt = ForeignHash.sha256(Secret(text: kdf.salt)).withUnsafeBytes { Array($0) }
            let (memory, overflow) = kdf.memoryMiB.multipliedReportingOverflow(by: 1 << 20)
            let argon2 = KDBXArgon2(
                isID: true, version: 0x13, passes: kdf.iterations, memoryBytes: overflow ? .max : memory,
                lanes: kdf.lanes, salt: salt)
            return try argon2.key(passphrase, access.limits.derivation)
        default: throw ExchangeError(.unavailable, "this Bitwarden export uses an unknown key derivation")
        }
    }

    /// Decrypts "2.iv|ciphertext|code"; returns nil if the text does not authenticate.
    borrowing func decrypt(_ text: String) throws -> Secret? {
        let parts = text.split(separator: "|", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].hasPrefix("2."), let iv = Self.bytes(parts[0].dropFirst(2)), iv.count == 16,
            var data = Self.bytes(parts[1]), let code = Self.bytes(parts[2]), data.count > 0,
            data.count.isMultiple(of: 16)
        else { throw ExchangeError.damaged("the export", "its encrypted data is not in Bitwarden's format") }
        let isSound = iv.withUnsafeBytes { iv in
            data.withUnsafeBytes { ForeignHash.hmac(key: mac, iv, $0) }.equals(code)
        }
        guard isSound else { return nil }
        let cipher = try iv.withUnsafeBytes { try ForeignCipher(INTERCHANGE_AES256_CBC, key: encryption, iv: $0) }
        try data.withUnsafeMutableBytes { try cipher.decrypt($0) }
        let padding = data.withUnsafeBytes { Int($0.last ?? 0) }
        guard (1...16).contains(padding) else { return nil }
        return data.prefix(data.count - padding)
    }

    private static func bytes(_ text: Substring) -> Secret? {
        Secret(text: String(text)).withUnsafeBytes { decodedBase64($0) }
    }
}
