internal import Glibc
internal import VaultFmt

/// The factors that the environment names, by the variables that the command reads.
struct GivenFactors: ~Copyable {
    private var passphrase: Secret?
    private var keyFile: Secret?

    /// What the format allows, and a line end.
    private static let longestPassphrase = 65_538
    private static let longestKeyFile = 64 << 20

    /// Reads `VAULTFMT_PASSPHRASE`, `VAULTFMT_PASSPHRASE_FILE` and `VAULTFMT_KEY_FILE`.
    init() throws(KeychainFailure) {
        if let path = Places.value("VAULTFMT_KEY_FILE") { keyFile = try Self.contents(path, "key file", Self.longestKeyFile) }
        if let value = getenv("VAULTFMT_PASSPHRASE"), value[0] != 0 {
            passphrase = Secret(copying: UnsafeRawBufferPointer(start: value, count: strlen(value)))
        } else if let path = Places.value("VAULTFMT_PASSPHRASE_FILE") {
            passphrase = Self.withoutLineEnd(try Self.contents(path, "passphrase file", Self.longestPassphrase))
        }
    }

    /// A key file alone.
    init(keyFile: consuming Secret) {
        self.keyFile = consume keyFile
        passphrase = nil
    }

    /// Whether there is none.
    var isEmpty: Bool {
        borrowing get {
            switch (passphrase == nil, keyFile == nil) {
            case (true, true): true
            default: false
            }
        }
    }

    /// Calls `body` with what slots can take of it, the most telling first, until it does not throw `noSlotOpens`.
    borrowing func open<R>(_ body: (borrowing Factors) throws(VaultError) -> R) throws(VaultError) -> R {
        var combinations: [(passphrase: Bool, keyFile: Bool)] = []
        if passphrase != nil, keyFile != nil { combinations.append((true, true)) }
        if keyFile != nil { combinations.append((false, true)) }
        if passphrase != nil { combinations.append((true, false)) }
        var first: VaultError?
        for kinds in combinations {
            let factors = try factors(passphrase: kinds.passphrase, keyFile: kinds.keyFile)
            do throws(VaultError) { return try body(factors) } catch {
                guard error.code == .noSlotOpens else { throw error }
                first = first ?? error
            }
        }
        throw first ?? VaultError(.noSlotOpens, "no factor is given")
    }

    private borrowing func factors(passphrase isPassphrase: Bool, keyFile isKeyFile: Bool) throws(VaultError) -> Factors {
        var passphrase: Secret?
        if isPassphrase { passphrase = self.passphrase?.copy() }
        var file: KeyFile?
        if isKeyFile {
            switch keyFile {
            case .some(let contents): file = try KeyFile(contents: contents)
            case .none: break
            }
        }
        return try Factors(passphrase: passphrase, keyFile: file)
    }

    private static func contents(_ path: String, _ what: String, _ limit: Int) throws(KeychainFailure) -> Secret {
        guard let contents = try SmallFile.read(path, what: what, limit: limit) else {
            throw KeychainFailure(.authFailed, "the \(what) \(OneLine.quoted(path)) does not exist")
        }
        return contents
    }

    /// Drops one line end (LF or CR LF).
    private static func withoutLineEnd(_ secret: consuming Secret) -> Secret {
        let count = secret.withUnsafeBytes { bytes in
            guard bytes.last == 0x0A else { return bytes.count }
            return bytes.dropLast().last == 0x0D ? bytes.count - 2 : bytes.count - 1
        }
        return count == secret.count ? secret : secret.prefix(count)
    }
}
