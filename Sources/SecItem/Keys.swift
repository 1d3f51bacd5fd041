internal import KeychainCore

// The keys of dictionaries, by Apple's names and with Apple's values. Of the search keys, those that a vault can answer.

/// The class of an item: one of the `kSecClass…` constants.
public let kSecClass: CFString = SecKey.itemClass
/// When the secret can be read: one of the `kSecAttrAccessible…` constants.
public let kSecAttrAccessible: CFString = SecKey.accessible
/// When the secret can be read and who must agree: a `SecAccessControl`.
public let kSecAttrAccessControl: CFString = SecKey.accessControl
/// The access group: a compartment of the vault, with keys of its own.
public let kSecAttrAccessGroup: CFString = SecKey.accessGroup
/// Whether the item is meant to be synchronised, a `Bool`; in a search also `kSecAttrSynchronizableAny`.
public let kSecAttrSynchronizable: CFString = SecKey.synchronizable
/// When the item was made: a `Date`. Cannot be changed.
public let kSecAttrCreationDate: CFString = SecKey.creationDate
/// When the item was changed last: a `Date`. Cannot be changed.
public let kSecAttrModificationDate: CFString = SecKey.modificationDate
/// What kind of item it is, in words.
public let kSecAttrDescription: CFString = SecKey.description
/// Notes on the item.
public let kSecAttrComment: CFString = SecKey.comment
/// Who made the item: a number of four characters, or a text.
public let kSecAttrCreator: CFString = SecKey.creator
/// The item's type: a number of four characters, or a text.
public let kSecAttrType: CFString = SecKey.type
/// The item's name for people.
public let kSecAttrLabel: CFString = SecKey.label
/// Whether the item should not be shown: a `Bool`.
public let kSecAttrIsInvisible: CFString = SecKey.isInvisible
/// Whether there is deliberately no password: a `Bool`.
public let kSecAttrIsNegative: CFString = SecKey.isNegative
/// The account of a generic or internet password.
public let kSecAttrAccount: CFString = SecKey.account
/// The service of a generic password.
public let kSecAttrService: CFString = SecKey.service
/// Whatever the program wants, as `Data`; no secret, as listings show it.
public let kSecAttrGeneric: CFString = SecKey.generic
/// The security domain of an internet password.
public let kSecAttrSecurityDomain: CFString = SecKey.securityDomain
/// The server of an internet password.
public let kSecAttrServer: CFString = SecKey.server
/// The protocol of an internet password: one of the `kSecAttrProtocol…` constants.
public let kSecAttrProtocol: CFString = SecKey.protocolType
/// How an internet password is given: one of the `kSecAttrAuthenticationType…` constants.
public let kSecAttrAuthenticationType: CFString = SecKey.authenticationType
/// The port of an internet password: a number.
public let kSecAttrPort: CFString = SecKey.port
/// The path of an internet password.
public let kSecAttrPath: CFString = SecKey.path
/// A certificate's subject: its name in DER, as `Data`.
public let kSecAttrSubject: CFString = SecKey.subject
/// A certificate's issuer: its name in DER, as `Data`.
public let kSecAttrIssuer: CFString = SecKey.issuer
/// A certificate's serial number, as `Data`.
public let kSecAttrSerialNumber: CFString = SecKey.serialNumber
/// A certificate's subject key id, as `Data`.
public let kSecAttrSubjectKeyID: CFString = SecKey.subjectKeyID
/// The hash of a certificate's public key, as `Data`.
public let kSecAttrPublicKeyHash: CFString = SecKey.publicKeyHash
/// A certificate's type: a number, 3 for X.509 version 3.
public let kSecAttrCertificateType: CFString = SecKey.certificateType
/// A certificate's encoding: a number, 3 for DER.
public let kSecAttrCertificateEncoding: CFString = SecKey.certificateEncoding
/// A key's class: one of the `kSecAttrKeyClass…` constants.
public let kSecAttrKeyClass: CFString = SecKey.keyClass
/// What a key is found by: `Data`, by custom the SHA-1 of the public key's bits.
public let kSecAttrApplicationLabel: CFString = SecKey.applicationLabel
/// Whether a key is kept: a `Bool`.
public let kSecAttrIsPermanent: CFString = SecKey.isPermanent
/// Whether a key is private: a `Bool`.
public let kSecAttrIsPrivate: CFString = SecKey.isPrivate
/// Whether a key's attributes may be changed: a `Bool`.
public let kSecAttrIsModifiable: CFString = SecKey.isModifiable
/// The program's own name for a key, as `Data`.
public let kSecAttrApplicationTag: CFString = SecKey.applicationTag
/// A key's type: one of the `kSecAttrKeyType…` constants.
public let kSecAttrKeyType: CFString = SecKey.keyType
/// A key's size in bits: a number.
public let kSecAttrKeySizeInBits: CFString = SecKey.keySizeInBits
/// A key's effective size in bits: a number.
public let kSecAttrEffectiveKeySize: CFString = SecKey.effectiveKeySize
/// From when on a key may be used: a `Date`.
public let kSecAttrStartDate: CFString = SecKey.startDate
/// Until when a key may be used: a `Date`.
public let kSecAttrEndDate: CFString = SecKey.endDate
/// Whether a key can be exported wrapped only: a `Bool`.
public let kSecAttrIsSensitive: CFString = SecKey.isSensitive
/// Whether a key always was sensitive: a `Bool`.
public let kSecAttrWasAlwaysSensitive: CFString = SecKey.wasAlwaysSensitive
/// Whether a key can be exported: a `Bool`.
public let kSecAttrIsExtractable: CFString = SecKey.isExtractable
/// Whether a key never could be exported: a `Bool`.
public let kSecAttrWasNeverExtractable: CFString = SecKey.wasNeverExtractable
/// Whether a key may encrypt: a `Bool`.
public let kSecAttrCanEncrypt: CFString = SecKey.canEncrypt
/// Whether a key may decrypt: a `Bool`.
public let kSecAttrCanDecrypt: CFString = SecKey.canDecrypt
/// Whether a key may derive keys: a `Bool`.
public let kSecAttrCanDerive: CFString = SecKey.canDerive
/// Whether a key may sign: a `Bool`.
public let kSecAttrCanSign: CFString = SecKey.canSign
/// Whether a key may verify signatures: a `Bool`.
public let kSecAttrCanVerify: CFString = SecKey.canVerify
/// Whether a key may sign with recovery: a `Bool`.
public let kSecAttrCanSignRecover: CFString = SecKey.canSignRecover
/// Whether a key may verify with recovery: a `Bool`.
public let kSecAttrCanVerifyRecover: CFString = SecKey.canVerifyRecover
/// Whether a key may wrap keys: a `Bool`.
public let kSecAttrCanWrap: CFString = SecKey.canWrap
/// Whether a key may unwrap keys: a `Bool`.
public let kSecAttrCanUnwrap: CFString = SecKey.canUnwrap
/// The references, in an array, among which to search.
public let kSecMatchItemList: CFString = SecKey.matchItemList
/// Whether texts match whatever their case: a `Bool`.
public let kSecMatchCaseInsensitive: CFString = SecKey.matchCaseInsensitive
/// How many items at most: `kSecMatchLimitOne`, `kSecMatchLimitAll` or a number.
public let kSecMatchLimit: CFString = SecKey.matchLimit
/// The first item that matches.
public let kSecMatchLimitOne: CFString = SecKey.matchLimitOne
/// All items that match.
public let kSecMatchLimitAll: CFString = SecKey.matchLimitAll
/// Whether to return the secret: a `Bool`.
public let kSecReturnData: CFString = SecKey.returnData
/// Whether to return the attributes: a `Bool`.
public let kSecReturnAttributes: CFString = SecKey.returnAttributes
/// Whether to return a reference: a `Bool`. Here it is the same `Data` as the persistent one.
public let kSecReturnRef: CFString = SecKey.returnReference
/// Whether to return a persistent reference: a `Bool`.
public let kSecReturnPersistentRef: CFString = SecKey.returnPersistentReference
/// The secret, as `Data`.
public let kSecValueData: CFString = SecKey.valueData
/// A reference to an item, as `Data`.
public let kSecValueRef: CFString = SecKey.valueReference
/// A persistent reference to an item, as `Data`.
public let kSecValuePersistentRef: CFString = SecKey.valuePersistentReference
/// What the user is told when asked to agree.
public let kSecUseOperationPrompt: CFString = SecKey.useOperationPrompt
/// Whether the user may be asked: one of the `kSecUseAuthenticationUI…` constants.
public let kSecUseAuthenticationUI: CFString = SecKey.useAuthenticationUI
/// An object that is handed to the program's own authentication.
public let kSecUseAuthenticationContext: CFString = SecKey.useAuthenticationContext
/// The user may be asked.
public let kSecUseAuthenticationUIAllow: CFString = SecKey.useAuthenticationUIAllow
/// Where the user would have to be asked, fail with `errSecInteractionNotAllowed`.
public let kSecUseAuthenticationUIFail: CFString = SecKey.useAuthenticationUIFail
/// Leave out items for which the user would have to be asked.
public let kSecUseAuthenticationUISkip: CFString = SecKey.useAuthenticationUISkip
/// Which of macOS's two keychains; a vault is like the one that `true` names, and the value changes nothing.
public let kSecUseDataProtectionKeychain: CFString = SecKey.useDataProtectionKeychain
/// Searches items whether synchronizable or not.
public let kSecAttrSynchronizableAny: CFString = SecKey.synchronizableAny
