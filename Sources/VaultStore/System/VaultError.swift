package import VaultBytes
package import VaultCrypto

/// Why something about a vault failed. Two errors are equal if their codes are.
public struct VaultError: Error, Equatable, CustomStringConvertible, Sendable {
    /// Stable numbers: programs in other languages see the same.
    public enum Code: Int32, Sendable, CaseIterable {
        /// The file does not start like a vault.
        case notAVault = 1
        /// Written in a later format.
        case unsupportedVersion = 2
        /// Needs an extension that this version does not know.
        case unsupportedCritical = 3
        /// The header is malformed.
        case headerInvalid = 4
        /// A slot's KDF costs more than the reader's policy allows.
        case kdfLimit = 5
        /// No slot opens with the factors given.
        case noSlotOpens = 6
        /// Something sealed does not authenticate: damaged or altered.
        case authenticationFailed = 7
        /// Authentic, but malformed.
        case structureInvalid = 8
        /// The operation would exceed a limit of the format; nothing of it was written.
        case limitExceeded = 9
        /// The secret is bound to another device.
        case deviceBound = 10
        /// A commit was not made by an owner, or belongs to another header.
        case tampered = 11
        /// The file is older than a state that is remembered.
        case rolledBack = 12
        /// The file has another past than the state that is remembered.
        case forked = 13
        /// No such item.
        case noSuchItem = 14
        /// The item exists already.
        case duplicateItem = 15
        /// No such file.
        case noSuchFile = 16
        /// The file to be made exists.
        case fileExists = 17
        /// An operating system call failed.
        case io = 18
        /// No space is left on the device.
        case noSpace = 19
        /// Another writer holds the vault.
        case busy = 20
        /// The vault was opened for reading.
        case readOnly = 21
        /// The vault is locked.
        case locked = 22
        /// The slot that opened the vault does not grant this.
        case notPermitted = 23
        /// A sync failed: what was written last may or may not be there. The handle can write no more.
        case outcomeUnknown = 24
        /// The file cannot be replaced without losing its links, owner or attributes.
        case cannotReplace = 25
        /// The last full slot cannot be removed.
        case lastSlot = 26
        /// No such slot.
        case noSuchSlot = 27
        /// The key file is damaged, empty or too large.
        case keyFileInvalid = 28
        /// The passphrase is empty, too long or not UTF-8.
        case passphraseInvalid = 29
        /// The KDF's cost is below the floor.
        case weakKDF = 30
        /// An argument is not possible.
        case invalidArgument = 31
        /// The memory that the KDF, a secret or a large buffer takes could not be had.
        case outOfMemory = 32
        /// The system has no kernel keyring, or does not lend it.
        case noKernelKeyring = 33
        /// It was opened by a process that this one is a child of, and belongs to that one.
        case otherProcess = 34
        /// The file no longer proves that it continues the state that is remembered: what would tell was compacted
        /// away.
        case ancestryUnprovable = 35
        /// The vault belongs to other owners than the ones that are remembered or asked for.
        case foreignOwner = 36
        /// What this machine remembers of the vault is damaged.
        case memoryDamaged = 37
        /// The value is stored in a form that this version does not know.
        case unsupportedForm = 38
        /// A damaged commit follows the newest state: it must be repaired before the vault is changed.
        case damagedTail = 39
        /// The vault has an extension that only programs which know it may write to.
        case readOnlyExtension = 40
    }

    /// What kind of failure it is.
    public let code: Code
    /// One line for a person: what, and where it helps, what to do. May hold names from the file; never a secret.
    public let detail: String
    /// Where in the file, in bytes from its start, if the failure has a place.
    public let offset: UInt64?

    /// Makes an error.
    public init(_ code: Code, _ detail: String, at offset: UInt64? = nil) {
        self.code = code
        self.detail = detail
        self.offset = offset
    }

    /// The detail, and the offset where there is one.
    public var description: String {
        if let offset { "\(detail) (at byte \(offset))" } else { detail }
    }

    /// Compares the codes.
    public static func == (left: VaultError, right: VaultError) -> Bool { left.code == right.code }
}

extension VaultError {
    package static var otherProcess: VaultError {
        VaultError(
            .otherProcess, "it was opened before a fork, and belongs to the parent process: open the vault again")
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
            self.init(.authenticationFailed, "\(what) does not authenticate: damaged or altered", at: offset)
        case .outOfMemory: self.init(.outOfMemory, "there is no memory for \(what)", at: offset)
        case .kdfFailed: self.init(.kdfLimit, "the key derivation refused the parameters of \(what)", at: offset)
        case .passphraseNotUTF8: self.init(.passphraseInvalid, "the passphrase is not valid UTF-8")
        case .passphraseLength: self.init(.passphraseInvalid, "a passphrase has 1 to \(Format.Limit.passphrase) bytes")
        case .keyFileDamaged: self.init(.keyFileInvalid, "the key file is damaged")
        case .keyFileLength: self.init(.keyFileInvalid, "a key file has 1 byte to \(Format.Limit.keyFile >> 20) MiB")
        case .rawKeyLength: self.init(.invalidArgument, "a raw key has exactly 32 bytes")
        }
    }
}

/// Runs a step of a lower layer and gives its error this layer's type.
@inline(__always)
package func decoding<R: ~Copyable>(_ body: () throws(FormatError) -> R) throws(VaultError) -> R {
    do throws(FormatError) { return try body() } catch { throw VaultError(format: error) }
}

/// Runs a step of the crypto layer; `what` says what did not open.
@inline(__always)
package func opening<R: ~Copyable>(
    _ what: @autoclosure () -> String, at offset: UInt64? = nil, _ body: () throws(CryptoError) -> R
) throws(VaultError) -> R {
    do throws(CryptoError) { return try body() } catch { throw VaultError(crypto: error, what(), at: offset) }
}
