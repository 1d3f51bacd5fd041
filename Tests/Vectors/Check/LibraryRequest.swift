import VaultAge
import VaultBytes
import VaultFmt
import VaultStore
import VectorMaking

/// A request as the library takes it.
extension ReadRequest {
    /// The factors of one slot; nil if no slot of format 1 can have them together.
    func factors() throws(VaultError) -> Factors? {
        if let rawKey {
            guard passphrase == nil, keyFile == nil, external == nil, ageIdentity == nil else { return nil }
            return try Factors(rawKey: Secret(bytes: rawKey))
        }
        var phrase: Secret?
        if let passphrase { phrase = Secret(bytes: passphrase) }
        if let external {
            guard keyFile == nil else { return nil }
            return try Factors(external: StatedKeys(external), passphrase: phrase)
        }
        if let ageIdentity {
            guard keyFile == nil else { return nil }
            let factor = AgeFactor(identities: [try Self.identity(ageIdentity)])
            return try Factors(external: factor, passphrase: phrase)
        }
        var file: KeyFile?
        if let keyFile { file = try KeyFile(contents: Secret(bytes: keyFile)) }
        return try Factors(passphrase: phrase, keyFile: file)
    }

    /// An error that is no verdict if this is not an identity: a vector must not pass because of that.
    private static func identity(_ text: String) throws(VaultError) -> any NativeIdentity {
        do throws(AgeError) {
            if let seed = AgeIdentity.sshSeed(text) { return try SSHEd25519Identity(seed: Secret(bytes: seed)) }
            let decoded = try Secret(text: text).withUnsafeBytes { (text) throws(AgeError) in try IdentityText(text) }
            if case .native(let identity) = decoded { return identity }
            throw AgeError(.unsupportedIdentity, "an identity of a plugin")
        } catch { throw VaultError(.io, "age-identity: \(error.detail)") }
    }

    /// The same where they are known to go together.
    func made() throws(VaultError) -> Factors {
        guard let factors = try factors() else { throw VaultError(.invalidArgument, "no slot can have these factors") }
        return factors
    }

    func options() throws(VaultError) -> OpenOptions {
        var options = OpenOptions()
        if let value = limits[.memory] { options.limits.memoryKiB = UInt32(clamping: value) }
        if let value = limits[.passes] { options.limits.passes = UInt32(clamping: value) }
        if let value = limits[.lanes] { options.limits.lanes = UInt32(clamping: value) }
        if let value = limits[.total] { options.limits.totalKiBPasses = value }
        if let device, let id = DeviceID(hex: Hex.encode(device.id)) {
            options.device = try Device(id: id, secret: Secret(bytes: device.secret))
        }
        if let owner { options.owners = OwnersPublicKey(bytes: owner) }
        return options
    }
}

/// A provider that answers what a request states.
private struct StatedKeys: SlotFactor {
    private let answer: ReadRequest.External

    init(_ answer: ReadRequest.External) { self.answer = answer }

    var provider: String { answer.provider }

    func wrap(for slot: SlotPlace) throws(VaultError) -> WrappedKey {
        throw VaultError(.invalidArgument, "it makes no keys")
    }
    func rewrap(ownersData: [UInt8], for slot: SlotPlace) throws(VaultError) -> WrappedKey? { nil }

    func unwrap(_ slots: [ExternalSlot], into candidates: inout KeyCandidates) throws(VaultError) {
        for (index, slot) in slots.enumerated() {
            guard let id = Bytes16(slot.id) else { continue }
            for key in answer.keys(for: id) { try candidates.add(Secret(bytes: key), for: index) }
        }
    }
}

extension Verdict {
    /// Nil for what is no answer about the file, such as an operating system's error.
    init?(_ error: VaultError) {
        switch error.code {
        case .notAVault: self = .notAVault
        case .unsupportedVersion: self = .unsupportedVersion
        case .unsupportedCritical: self = .unsupportedCritical
        case .headerInvalid: self = .headerInvalid
        case .kdfLimit: self = .kdfLimit
        case .noSlotOpens, .passphraseInvalid, .keyFileInvalid, .invalidArgument: self = .noSlotOpens
        case .foreignOwner: self = .foreign
        case .authenticationFailed, .tampered: self = .authenticationFailed
        case .structureInvalid: self = .structureInvalid
        case .unsupportedForm: self = .unsupportedForm
        case .deviceBound: self = .deviceBound
        default: return nil
        }
    }
}
