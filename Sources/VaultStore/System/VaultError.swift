package import VaultBytes
package import VaultCrypto

/// The reason why an operation on a vault failed. Two errors are equal if their codes are equal.
public struct VaultError: Error, Equatable, CustomStringConvertible, Sendable {
    /// Stable error numbers, which are the same in all programming languages.
    public enum Code: Int32, Sendable, CaseIterable {
        /// The file does not begin with a vault header.
        case notAVault = 1
        /// The file uses a later version of the format.
        case unsupportedVersion = 2
        /// The file requires an extension that this version does not know.
        case unsupportedCritical = 3
        /// The header is malformed.
        case headerInvalid = 4
        /// The KDF cost of a slot exceeds the reader's policy.
        case kdfLimit = 5
        /// No slot opens with the given factors.
        case noSlotOpens = 6
        /// Sealed data does not authenticate: it is damaged or was altered.
        case authenticationFailed = 7
        /// The data is authentic but malformed.
        case structureInvalid = 8
        /// The operation would exceed a limit of the format; nothing was written.
        case limitExceeded = 9
        /// The secret is bound to another device.
        case deviceBound = 10
        /// A commit was not made by an owner, or belongs to another header.
        case tampered = 11
        /// The file lacks changes that the remembered state includes.
        case rolledBack = 12
        /// The file and the remembered state each have changes that the other lacks.
        case forked = 13
        /// The item does not exist.
        case noSuchItem = 14
        /// The item already exists.
        case duplicateItem = 15
        /// The file does not exist.
        case noSuchFile = 16
        /// The file to be created already exists.
        case fileExists = 17
        /// An operating system call failed.
        case io = 18
        /// No space is left on the device.
        case noSpace = 19
        /// Another writer has locked the vault.
        case busy = 20
        /// The vault was opened read-only.
        case readOnly = 21
        /// The vault is locked.
        case locked = 22
        /// The slot that opened the vault does not permit this operation.
        case notPermitted = 23
        /// A sync failed: the last write may or may not have been saved. The handle cannot write any more.
        case outcomeUnknown = 24
        /// The file cannot be replaced without losing its hard links, owner or attributes.
        case cannotReplace = 25
        /// The last full slot cannot be removed.
        case lastSlot = 26
        /// The slot does not exist.
        case noSuchSlot = 27
        /// The key file is damaged, empty or too large.
        case keyFileInvalid = 28
        /// The passphrase is empty, too long or not UTF-8.
        case passphraseInvalid = 29
        /// The KDF cost is below the minimum.
        case weakKDF = 30
        /// An argument is invalid.
        case invalidArgument = 31
        /// There is not enough memory for the KDF, a secret or a large buffer.
        case outOfMemory = 32
        /// The system has no kernel keyring, or blocks access to it.
        case noKernelKeyring = 33
        /// The handle was opened by a parent process and cannot be used in this one.
        case otherProcess = 34
        /// The item shows no secret: its secret was forgotten, is left to settle by a merge, or is an earlier value.
        case noSecret = 35
        /// The vault's owners differ from those that were remembered or required.
        case foreignOwner = 36
        /// This machine's memory of the vault is damaged.
        case memoryDamaged = 37
        /// The value is stored in a form that this version does not know.
        case unsupportedForm = 38
        /// A damaged commit follows the newest state; the vault must be repaired before it can be changed.
        case damagedTail = 39
        /// The vault has an extension, and only programs that know it may write to the vault.
        case readOnlyExtension = 40
    }

    /// The kind of failure.
    public let code: Code
    /// A one-line message: what failed and, if it helps, what to do next. It may contain names from the file, but never
    /// a secret.
    public let detail: String
    /// The byte offset in the file at which the failure occurred; nil if no offset applies.
    public let offset: UInt64?
    /// True if the file is a vault of vaultfmt 0.1.0, which neither a backup nor a salvage can make readable.
    package private(set) var isOfEarlierVersion = false
    /// True if the code is `noSlotOpens` and at least one slot requires exactly the factors that were tried.
    package internal(set) var triedSlot = false
    /// The reason why an item shows no secret, if the code is `noSecret`.
    package internal(set) var missingSecret: MissingSecret?

    /// True if the failure is that an item's list of earlier values is damaged, which forgetting all of them drops.
    package var hasDamagedPast = false

    /// Creates an error.
    public init(_ code: Code, _ detail: String, at offset: UInt64? = nil) {
        self.code = code
        self.detail = detail
        self.offset = offset
    }

    /// The detail, followed by the offset if it is known.
    public var description: String {
        if let offset { "\(detail) (at byte \(offset))" } else { detail }
    }

    /// Returns whether the codes are equal.
    public static func == (left: VaultError, right: VaultError) -> Bool { left.code == right.code }
}

extension VaultError {
    package static var otherProcess: VaultError {
        VaultError(
            .otherProcess,
            "this handle was opened before a fork and belongs to the parent process; open the vault again")
    }

    package static var earlierVersion: VaultError {
        var error = VaultError(
            .headerInvalid, "this is a vault of vaultfmt 0.1.0, which this version does not open")
        error.isOfEarlierVersion = true
        return error
    }

    package init(format error: FormatError) {
        let code: Code =
            switch error.code {
            case .notAVault: .notAVault
            case .unsupportedVersion: .unsupportedVersion
            case .unsupportedCritical: .unsupportedCritical
            case .headerInvalid: .headerInvalid
            case .structureInvalid: .structureInvalid
            case .unsupportedForm: .unsupportedForm
            case .limitExceeded: .limitExceeded
            }
        self.init(code, error.what, at: error.offset)
    }

    package init(crypto error: CryptoError, _ what: String, at offset: UInt64? = nil) {
        switch error {
        case .authenticationFailed:
            self.init(.authenticationFailed, "\(what) cannot be authenticated: it is damaged or altered", at: offset)
        case .outOfMemory: self.init(.outOfMemory, "not enough memory for \(what)", at: offset)
        case .kdfFailed: self.init(.kdfLimit, "the key derivation rejected the parameters of \(what)", at: offset)
        case .passphraseNotUTF8: self.init(.passphraseInvalid, "the passphrase is not valid UTF-8")
        case .passphraseLength:
            self.init(.passphraseInvalid, "a passphrase must be 1 to \(Format.Limit.passphrase) bytes long")
        case .passphraseUnassigned:
            self.init(
                .passphraseInvalid,
                "the passphrase contains a character that is not in Unicode 13.0, so systems may normalize it differently"
            )
        case .keyFileDamaged: self.init(.keyFileInvalid, "the key file is damaged")
        case .keyFileLength:
            self.init(.keyFileInvalid, "a key file must contain 1 byte to \(Format.Limit.keyFile >> 20) MiB")
        case .rawKeyLength: self.init(.invalidArgument, "a raw key must be exactly 32 bytes long")
        }
    }
}

/// Runs an operation of a lower layer and converts its error to this layer's type.
@inline(__always)
package func decoding<R: ~Copyable>(_ body: () throws(FormatError) -> R) throws(VaultError) -> R {
    do throws(FormatError) { return try body() } catch { throw VaultError(format: error) }
}

/// Runs an operation of the crypto layer; `what` is the object's name in the error message.
@inline(__always)
package func opening<R: ~Copyable>(
    _ what: @autoclosure () -> String, at offset: UInt64? = nil, _ body: () throws(CryptoError) -> R
) throws(VaultError) -> R {
    do throws(CryptoError) { return try body() } catch { throw VaultError(crypto: error, what(), at: offset) }
}
