internal import VaultBytes

/// The kinds of factors that a slot requires together.
public struct FactorKinds: OptionSet, Hashable, Sendable, CustomStringConvertible {
    /// The number that represents the set in a slot (specification, section 3.1).
    public let rawValue: UInt8

    /// Makes a set from the number that represents it in a slot.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    init(_ factors: SlotFactors) { rawValue = factors.rawValue }

    /// A passphrase.
    public static let passphrase = FactorKinds(.passphrase)
    /// A key file made by `KeyFile.generate()`.
    public static let generatedKeyFile = FactorKinds(.generatedKeyFile)
    /// Any other file used as a key file.
    public static let otherKeyFile = FactorKinds(.otherKeyFile)
    /// 32 raw bytes.
    public static let rawKey = FactorKinds(.rawKey)
    /// A key from a provider, such as a token, a device or an identity.
    public static let externalKey = FactorKinds(.externalKey)

    var inSlot: SlotFactors { SlotFactors(rawValue: rawValue) }

    /// A description in words, such as "passphrase and key file".
    public var description: String { FactorNames.describe(inSlot) }
}

/// A file that opens a slot, alone or together with a passphrase.
public struct KeyFile: ~Copyable, Sendable {
    /// True if the file was made by `generate()`: its 32 random bytes need no stretching. For any other file, the
    /// file's hash is used.
    public let isGenerated: Bool
    fileprivate let key: Secret

    /// Reads the contents of a key file, 1 byte to 64 MiB. Throws `keyFileInvalid` for any other size, or if a
    /// generated key file is damaged.
    public init(contents: borrowing Secret) throws(VaultError) {
        guard (1...Format.Limit.keyFile).contains(contents.count) else {
            throw VaultError(.keyFileInvalid, "a key file must contain 1 byte to 64 MiB, not \(contents.count) bytes")
        }
        let isGenerated = KeyFileFormat.isGenerated(contents)
        let key = try Self.key(contents, isGenerated: isGenerated)
        self.isGenerated = isGenerated
        self.key = key
    }

    private static func key(_ contents: borrowing Secret, isGenerated: Bool) throws(VaultError) -> Secret {
        guard isGenerated else { return FactorKeys.hash(ofKeyFile: contents) }
        do throws(CryptoError) { return try KeyFileFormat.decode(contents) } catch {
            throw VaultError(crypto: error, "the key file")
        }
    }

    /// Generates the contents of a new key file: 89 bytes of ASCII (specification, section 3.1).
    public static func generate() -> Secret { KeyFileFormat.encode(Secret.random(count: 32)) }
}

/// The factors that open a slot: a passphrase, a key file, both together, a raw key, or a provider's key, alone or with
/// a passphrase.
public struct Factors: ~Copyable, Sendable {
    let keys: FactorKeys
    /// The provider that makes the external key, if there is one.
    let provider: (any SlotFactor)?

    /// Makes factors from a passphrase, a key file, or both together.
    ///
    /// The passphrase is 1 to 65,536 bytes of UTF-8. It is normalized to the NFC of Unicode 13.0 here, but neither
    /// trimmed nor case-folded. Throws `passphraseInvalid`, or `invalidArgument` if neither is given. A passphrase with
    /// a code point that Unicode 13.0 does not assign opens existing slots that have it, but is refused for a new slot
    /// (`passphraseInvalid`).
    public init(passphrase: consuming Secret? = nil, keyFile: consuming KeyFile? = nil) throws(VaultError) {
        var kinds: SlotFactors = []
        let normalised = try Self.normalised(passphrase)
        if normalised.byteCount > 0 { kinds.insert(.passphrase) }
        var key: Secret?
        var hash: Secret?
        if let keyFile = consume keyFile {
            let isGenerated = keyFile.isGenerated
            kinds.insert(isGenerated ? .generatedKeyFile : .otherKeyFile)
            if isGenerated { key = keyFile.key.copy() } else { hash = keyFile.key.copy() }
        }
        guard !kinds.isEmpty else {
            throw VaultError(.invalidArgument, "a slot needs a passphrase, a key file, a raw key or a provider's key")
        }
        keys = FactorKeys(passphrase: normalised, key: key, fileHash: hash, kinds: kinds)
        provider = nil
    }

    /// Makes factors from a raw key of exactly 32 bytes, which must be random because they are not stretched. Throws
    /// `invalidArgument`.
    public init(rawKey: consuming Secret) throws(VaultError) {
        guard rawKey.count == 32 else {
            throw VaultError(.invalidArgument, "a raw key must be exactly 32 bytes long, not \(rawKey.count)")
        }
        keys = FactorKeys(passphrase: nil, key: rawKey, fileHash: nil, kinds: .rawKey)
        provider = nil
    }

    /// Makes factors from a provider's key, alone or together with a passphrase.
    ///
    /// Throws `passphraseInvalid`, or `invalidArgument` for a provider's name that is not 1 to 64 characters of
    /// printable ASCII.
    public init(external provider: any SlotFactor, passphrase: consuming Secret? = nil) throws(VaultError) {
        guard SlotParameters.Provider.isName(provider.provider) else {
            throw VaultError(
                .invalidArgument, "a provider's name must have 1 to 64 printable ASCII characters, without spaces")
        }
        let normalised = try Self.normalised(passphrase)
        let kinds: SlotFactors = normalised.byteCount > 0 ? [.externalKey, .passphrase] : .externalKey
        keys = FactorKeys(passphrase: normalised, key: nil, fileHash: nil, kinds: kinds)
        self.provider = provider
    }

    private static func normalised(_ passphrase: consuming Secret?) throws(VaultError) -> Secret? {
        guard let passphrase = consume passphrase else { return nil }
        do throws(CryptoError) { return try Passphrase.normalised(passphrase) } catch {
            throw VaultError(crypto: error, "the passphrase")
        }
    }

    /// Throws if the passphrase must not be used for a new slot.
    borrowing func checkNew() throws(VaultError) {
        switch keys.passphrase {
        case .none: return
        case .some(let passphrase):
            do throws(CryptoError) { try Passphrase.checkNew(passphrase) } catch {
                throw VaultError(crypto: error, "the passphrase")
            }
        }
    }

    private init(keys: consuming FactorKeys, provider: (any SlotFactor)?) {
        self.keys = keys
        self.provider = provider
    }

    /// Returns a copy of the factors.
    public borrowing func copy() -> Factors { Factors(keys: keys.copy(), provider: provider) }

    /// The kinds of factors.
    public var kinds: FactorKinds { FactorKinds(keys.kinds) }
}

/// A copyable box for factors.
final class FactorsBox: Sendable {
    let factors: Factors

    init(_ factors: consuming Factors) { self.factors = factors }
}
