public import Foundation
internal import KeychainCore

// The dictionary keys, with Apple's names and values. Search keys are limited to those that a vault supports.

/// The class of an item: one of the `kSecClass…` constants.
public nonisolated(unsafe) let kSecClass = SecKey.itemClass as CFString
/// The accessibility of the secret: one of the `kSecAttrAccessible…` constants.
public nonisolated(unsafe) let kSecAttrAccessible = SecKey.accessible as CFString
/// The accessibility of the secret, and the approval that each read requires: a `SecAccessControl`.
public nonisolated(unsafe) let kSecAttrAccessControl = SecKey.accessControl as CFString
/// The access group: a compartment of the vault with its own keys.
public nonisolated(unsafe) let kSecAttrAccessGroup = SecKey.accessGroup as CFString
/// A `Bool` that indicates whether the item is meant to be synchronized; in a search, it may be
/// `kSecAttrSynchronizableAny`.
public nonisolated(unsafe) let kSecAttrSynchronizable = SecKey.synchronizable as CFString
/// The creation date of the item: a `Date`. It cannot be changed.
public nonisolated(unsafe) let kSecAttrCreationDate = SecKey.creationDate as CFString
/// The date of the item's last change: a `Date`. It cannot be changed.
public nonisolated(unsafe) let kSecAttrModificationDate = SecKey.modificationDate as CFString
/// A description of the kind of item.
public nonisolated(unsafe) let kSecAttrDescription = SecKey.description as CFString
/// Notes on the item.
public nonisolated(unsafe) let kSecAttrComment = SecKey.comment as CFString
/// The item's creator: a four-character code as a number, or a string.
public nonisolated(unsafe) let kSecAttrCreator = SecKey.creator as CFString
/// The item's type: a four-character code as a number, or a string.
public nonisolated(unsafe) let kSecAttrType = SecKey.type as CFString
/// The item's display name.
public nonisolated(unsafe) let kSecAttrLabel = SecKey.label as CFString
/// A `Bool` that indicates whether the item should not be shown.
public nonisolated(unsafe) let kSecAttrIsInvisible = SecKey.isInvisible as CFString
/// A `Bool` that indicates whether the item deliberately has no password.
public nonisolated(unsafe) let kSecAttrIsNegative = SecKey.isNegative as CFString
/// The account of a generic or internet password.
public nonisolated(unsafe) let kSecAttrAccount = SecKey.account as CFString
/// The service of a generic password.
public nonisolated(unsafe) let kSecAttrService = SecKey.service as CFString
/// Arbitrary data for the program's own use, as `Data`. It is not secret: listings show it.
public nonisolated(unsafe) let kSecAttrGeneric = SecKey.generic as CFString
/// The security domain of an internet password.
public nonisolated(unsafe) let kSecAttrSecurityDomain = SecKey.securityDomain as CFString
/// The server of an internet password.
public nonisolated(unsafe) let kSecAttrServer = SecKey.server as CFString
/// The protocol of an internet password: one of the `kSecAttrProtocol…` constants.
public nonisolated(unsafe) let kSecAttrProtocol = SecKey.protocolType as CFString
/// The authentication type of an internet password: one of the `kSecAttrAuthenticationType…` constants.
public nonisolated(unsafe) let kSecAttrAuthenticationType = SecKey.authenticationType as CFString
/// The port of an internet password: a number.
public nonisolated(unsafe) let kSecAttrPort = SecKey.port as CFString
/// The path of an internet password.
public nonisolated(unsafe) let kSecAttrPath = SecKey.path as CFString
/// A certificate's subject: its name in DER, as `Data`.
public nonisolated(unsafe) let kSecAttrSubject = SecKey.subject as CFString
/// A certificate's issuer: its name in DER, as `Data`.
public nonisolated(unsafe) let kSecAttrIssuer = SecKey.issuer as CFString
/// A certificate's serial number, as `Data`.
public nonisolated(unsafe) let kSecAttrSerialNumber = SecKey.serialNumber as CFString
/// A certificate's subject key id, as `Data`.
public nonisolated(unsafe) let kSecAttrSubjectKeyID = SecKey.subjectKeyID as CFString
/// The hash of a certificate's public key, as `Data`.
public nonisolated(unsafe) let kSecAttrPublicKeyHash = SecKey.publicKeyHash as CFString
/// A certificate's type: a number, 3 for X.509 version 3.
public nonisolated(unsafe) let kSecAttrCertificateType = SecKey.certificateType as CFString
/// A certificate's encoding: a number, 3 for DER.
public nonisolated(unsafe) let kSecAttrCertificateEncoding = SecKey.certificateEncoding as CFString
/// A key's class: one of the `kSecAttrKeyClass…` constants.
public nonisolated(unsafe) let kSecAttrKeyClass = SecKey.keyClass as CFString
/// The identifier by which a key is found: `Data`, by convention the SHA-1 of the public key's bits.
public nonisolated(unsafe) let kSecAttrApplicationLabel = SecKey.applicationLabel as CFString
/// A `Bool` that indicates whether a key is stored permanently.
public nonisolated(unsafe) let kSecAttrIsPermanent = SecKey.isPermanent as CFString
/// A `Bool` that indicates whether a key is private.
public nonisolated(unsafe) let kSecAttrIsPrivate = SecKey.isPrivate as CFString
/// A `Bool` that indicates whether a key's attributes may be changed.
public nonisolated(unsafe) let kSecAttrIsModifiable = SecKey.isModifiable as CFString
/// The program's own name for a key, as `Data`.
public nonisolated(unsafe) let kSecAttrApplicationTag = SecKey.applicationTag as CFString
/// A key's type: one of the `kSecAttrKeyType…` constants.
public nonisolated(unsafe) let kSecAttrKeyType = SecKey.keyType as CFString
/// A key's size in bits: a number.
public nonisolated(unsafe) let kSecAttrKeySizeInBits = SecKey.keySizeInBits as CFString
/// A key's effective size in bits: a number.
public nonisolated(unsafe) let kSecAttrEffectiveKeySize = SecKey.effectiveKeySize as CFString
/// The date from which a key may be used: a `Date`.
public nonisolated(unsafe) let kSecAttrStartDate = SecKey.startDate as CFString
/// The date until which a key may be used: a `Date`.
public nonisolated(unsafe) let kSecAttrEndDate = SecKey.endDate as CFString
/// A `Bool` that indicates whether a key can only be exported wrapped.
public nonisolated(unsafe) let kSecAttrIsSensitive = SecKey.isSensitive as CFString
/// A `Bool` that indicates whether a key has always been sensitive.
public nonisolated(unsafe) let kSecAttrWasAlwaysSensitive = SecKey.wasAlwaysSensitive as CFString
/// A `Bool` that indicates whether a key can be exported.
public nonisolated(unsafe) let kSecAttrIsExtractable = SecKey.isExtractable as CFString
/// A `Bool` that indicates whether a key has never been exportable.
public nonisolated(unsafe) let kSecAttrWasNeverExtractable = SecKey.wasNeverExtractable as CFString
/// A `Bool` that indicates whether a key may encrypt.
public nonisolated(unsafe) let kSecAttrCanEncrypt = SecKey.canEncrypt as CFString
/// A `Bool` that indicates whether a key may decrypt.
public nonisolated(unsafe) let kSecAttrCanDecrypt = SecKey.canDecrypt as CFString
/// A `Bool` that indicates whether a key may derive keys.
public nonisolated(unsafe) let kSecAttrCanDerive = SecKey.canDerive as CFString
/// A `Bool` that indicates whether a key may sign.
public nonisolated(unsafe) let kSecAttrCanSign = SecKey.canSign as CFString
/// A `Bool` that indicates whether a key may verify signatures.
public nonisolated(unsafe) let kSecAttrCanVerify = SecKey.canVerify as CFString
/// A `Bool` that indicates whether a key may sign with recovery.
public nonisolated(unsafe) let kSecAttrCanSignRecover = SecKey.canSignRecover as CFString
/// A `Bool` that indicates whether a key may verify with recovery.
public nonisolated(unsafe) let kSecAttrCanVerifyRecover = SecKey.canVerifyRecover as CFString
/// A `Bool` that indicates whether a key may wrap keys.
public nonisolated(unsafe) let kSecAttrCanWrap = SecKey.canWrap as CFString
/// A `Bool` that indicates whether a key may unwrap keys.
public nonisolated(unsafe) let kSecAttrCanUnwrap = SecKey.canUnwrap as CFString
/// The references to search among, in an array.
public nonisolated(unsafe) let kSecMatchItemList = SecKey.matchItemList as CFString
/// A `Bool`: true to ignore case when matching text.
public nonisolated(unsafe) let kSecMatchCaseInsensitive = SecKey.matchCaseInsensitive as CFString
/// A `Bool`: true to ignore accents when matching text.
public nonisolated(unsafe) let kSecMatchDiacriticInsensitive = SecKey.matchDiacriticInsensitive as CFString
/// A `Bool`: true to ignore character width when matching text.
public nonisolated(unsafe) let kSecMatchWidthInsensitive = SecKey.matchWidthInsensitive as CFString
/// The maximum number of items: `kSecMatchLimitOne`, `kSecMatchLimitAll` or a number.
public nonisolated(unsafe) let kSecMatchLimit = SecKey.matchLimit as CFString
/// The first item that matches.
public nonisolated(unsafe) let kSecMatchLimitOne = SecKey.matchLimitOne as CFString
/// All items that match.
public nonisolated(unsafe) let kSecMatchLimitAll = SecKey.matchLimitAll as CFString
/// A `Bool`: true to return the secret.
public nonisolated(unsafe) let kSecReturnData = SecKey.returnData as CFString
/// A `Bool`: true to return the attributes.
public nonisolated(unsafe) let kSecReturnAttributes = SecKey.returnAttributes as CFString
/// A `Bool`: true to return a reference. Here, it is the same `Data` as the persistent reference.
public nonisolated(unsafe) let kSecReturnRef = SecKey.returnReference as CFString
/// A `Bool`: true to return a persistent reference.
public nonisolated(unsafe) let kSecReturnPersistentRef = SecKey.returnPersistentReference as CFString
/// The secret, as `Data`.
public nonisolated(unsafe) let kSecValueData = SecKey.valueData as CFString
/// A reference to an item, as `Data`.
public nonisolated(unsafe) let kSecValueRef = SecKey.valueReference as CFString
/// A persistent reference to an item, as `Data`.
public nonisolated(unsafe) let kSecValuePersistentRef = SecKey.valuePersistentReference as CFString
/// The message shown when the user is asked for approval.
public nonisolated(unsafe) let kSecUseOperationPrompt = SecKey.useOperationPrompt as CFString
/// The older spelling of `kSecUseAuthenticationUIFail`: a `Bool`.
public nonisolated(unsafe) let kSecUseNoAuthenticationUI = SecKey.useNoAuthenticationUI as CFString
/// Determines whether the user may be asked: one of the `kSecUseAuthenticationUI…` constants.
public nonisolated(unsafe) let kSecUseAuthenticationUI = SecKey.useAuthenticationUI as CFString
/// An object that is passed to the program's own authentication handler.
public nonisolated(unsafe) let kSecUseAuthenticationContext = SecKey.useAuthenticationContext as CFString
/// The user may be asked.
public nonisolated(unsafe) let kSecUseAuthenticationUIAllow = SecKey.useAuthenticationUIAllow as CFString
/// If the user would have to be asked, fail with `errSecInteractionNotAllowed`.
public nonisolated(unsafe) let kSecUseAuthenticationUIFail = SecKey.useAuthenticationUIFail as CFString
/// Skip items for which the user would have to be asked.
public nonisolated(unsafe) let kSecUseAuthenticationUISkip = SecKey.useAuthenticationUISkip as CFString
/// Selects one of macOS's two keychains. A vault always behaves like the keychain selected by `true`.
public nonisolated(unsafe) let kSecUseDataProtectionKeychain = SecKey.useDataProtectionKeychain as CFString
/// Searches all items, synchronizable or not.
public nonisolated(unsafe) let kSecAttrSynchronizableAny = SecKey.synchronizableAny as CFString
