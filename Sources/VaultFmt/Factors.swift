internal import VaultBytes

/// Which kinds of factors a slot takes together.
public struct FactorKinds: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// As in a slot (specification, section 3.1).
    public let rawValue: UInt8

    /// Makes a set from the number in a slot.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A passphrase.
    public static let passphrase = FactorKinds(rawValue: Slot.passphrase)
    /// A key file that `KeyFile.generate()` made.
    public static let generatedKeyFile = FactorKinds(rawValue: Slot.generatedKeyFile)
    /// Any other file.
    public static let otherKeyFile = FactorKinds(rawValue: Slot.otherKeyFile)
    /// 32 raw bytes.
    public static let rawKey = FactorKinds(rawValue: Slot.rawKey)

    /// In words: "passphrase and key file".
    public var description: String { FactorNames.describe(rawValue) }
}

/// A file that opens a slot, alone or together with a passphrase.
public struct KeyFile: ~Copyable, Sendable {
    /// Whether it is one that `generate()` made: 32 random bytes, which need no stretching. Any other file counts by its hash.
    public let isGenerated: Bool
    fileprivate let key: Secret

    /// Reads a key file's content: 1 byte to 64 MiB. Throws `keyFileInvalid` for other sizes, and where a generated one is damaged.
    public init(contents: borrowing Secret) throws(VaultError) {
        guard (1...Format.Limit.keyFile).contains(contents.count) else {
            throw VaultError(.keyFileInvalid, "a key file has 1 byte to 64 MiB, not \(contents.count) bytes")
        }
        let isGenerated = KeyFileFormat.isGenerated(contents)
        let key = try Self.key(contents, isGenerated: isGenerated)
        self.isGenerated = isGenerated
        self.key = key
    }

    private static func key(_ contents: borrowing Secret, isGenerated: Bool) throws(VaultError) -> Secret {
        guard isGenerated else { return FactorKeys.hash(ofKeyFile: contents) }
        do throws(CryptoError) { return try KeyFileFormat.decode(contents) } catch { throw VaultError(crypto: error, "the key file") }
    }

    /// The content of a new key file: 89 bytes of ASCII (specification, section 3.1).
    public static func generate() -> Secret { KeyFileFormat.encode(Secret.random(count: 32)) }
}

/// What opens a slot: a passphrase, a key file, both together, or a raw key.
public struct Factors: ~Copyable, Sendable {
    let keys: FactorKeys

    /// A passphrase, a key file, or both together.
    ///
    /// The passphrase is UTF-8 of 1 to 65,536 bytes, and is normalised to NFC here, neither trimmed nor case-folded. Throws
    /// `passphraseInvalid`, or `invalidArgument` if there is neither.
    public init(passphrase: consuming Secret? = nil, keyFile: consuming KeyFile? = nil) throws(VaultError) {
        var kinds: UInt8 = 0
        var normalised: Secret?
        if let passphrase = consume passphrase {
            kinds |= Slot.passphrase
            do throws(CryptoError) { normalised = try Passphrase.normalised(passphrase) } catch {
                throw VaultError(crypto: error, "the passphrase")
            }
        }
        var key: Secret?
        var hash: Secret?
        if let keyFile = consume keyFile {
            let isGenerated = keyFile.isGenerated
            kinds |= isGenerated ? Slot.generatedKeyFile : Slot.otherKeyFile
            if isGenerated { key = keyFile.key.copy() } else { hash = keyFile.key.copy() }
        }
        guard kinds != 0 else { throw VaultError(.invalidArgument, "a slot needs a passphrase, a key file or a raw key") }
        keys = FactorKeys(passphrase: normalised, key: key, fileHash: hash, kinds: kinds)
    }

    /// A raw key: exactly 32 bytes with the strength of 32 random ones, since nothing stretches them. Throws `invalidArgument`.
    public init(rawKey: consuming Secret) throws(VaultError) {
        guard rawKey.count == 32 else { throw VaultError(.invalidArgument, "a raw key has exactly 32 bytes, not \(rawKey.count)") }
        keys = FactorKeys(passphrase: nil, key: rawKey, fileHash: nil, kinds: Slot.rawKey)
    }

    private init(keys: consuming FactorKeys) { self.keys = keys }

    /// A second holder of the same factors.
    public borrowing func copy() -> Factors { Factors(keys: keys.copy()) }

    /// Which kinds they are.
    public var kinds: FactorKinds { FactorKinds(rawValue: keys.kinds) }
}
