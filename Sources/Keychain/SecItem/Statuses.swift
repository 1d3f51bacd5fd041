public import Foundation
internal import KeychainCore

/// Apple's type of status codes.
public typealias OSStatus = Int32

// swift-format-ignore: AlwaysUseLowerCamelCase
/// Returns the sentence for a status code, or nil if Apple does not define the code. `reserved` must be nil, as on
/// Apple platforms.
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    StatusText.sentence(status).map { $0 as CFString }
}

/// No error, by its oldest name.
public let noErr: OSStatus = 0
/// No error.
public let errSecSuccess: OSStatus = 0
/// This is not implemented.
public let errSecUnimplemented: OSStatus = -4
/// No space is left on the disk.
public let errSecDiskFull: OSStatus = -34
/// Another spelling of `errSecDiskFull`.
public let errSecDskFull: OSStatus = -34
/// Reading or writing failed.
public let errSecIO: OSStatus = -36
/// The file is already open for writing.
public let errSecOpWr: OSStatus = -49
/// A parameter is missing or not valid.
public let errSecParam: OSStatus = -50
/// Writing to the file is not permitted.
public let errSecWrPerm: OSStatus = -61
/// There is not enough memory.
public let errSecAllocate: OSStatus = -108
/// The user canceled the operation.
public let errSecUserCanceled: OSStatus = -128
/// The request is not valid in the current state.
public let errSecBadReq: OSStatus = -909
/// A component failed.
public let errSecInternalComponent: OSStatus = -2070
/// Core Foundation reported an unknown error.
public let errSecCoreFoundationUnknown: OSStatus = -4960
/// No keychain is available.
public let errSecNotAvailable: OSStatus = -25291
/// The keychain cannot be changed.
public let errSecReadOnly: OSStatus = -25292
/// Authentication failed, or access was not granted.
public let errSecAuthFailed: OSStatus = -25293
/// There is no such keychain.
public let errSecNoSuchKeychain: OSStatus = -25294
/// The file is not a valid keychain.
public let errSecInvalidKeychain: OSStatus = -25295
/// A keychain with this name already exists.
public let errSecDuplicateKeychain: OSStatus = -25296
/// The callback is already installed.
public let errSecDuplicateCallback: OSStatus = -25297
/// The callback is not valid.
public let errSecInvalidCallback: OSStatus = -25298
/// The item already exists.
public let errSecDuplicateItem: OSStatus = -25299
/// There is no such item.
public let errSecItemNotFound: OSStatus = -25300
/// The buffer is too small.
public let errSecBufferTooSmall: OSStatus = -25301
/// The item is larger than the keychain can hold.
public let errSecDataTooLarge: OSStatus = -25302
/// Items of this class have no such attribute.
public let errSecNoSuchAttr: OSStatus = -25303
/// The item reference is not valid.
public let errSecInvalidItemRef: OSStatus = -25304
/// The search reference is not valid.
public let errSecInvalidSearchRef: OSStatus = -25305
/// There is no such item class.
public let errSecNoSuchClass: OSStatus = -25306
/// There is no default keychain.
public let errSecNoDefaultKeychain: OSStatus = -25307
/// The keychain is locked, or the user would have to be prompted, which is not allowed.
public let errSecInteractionNotAllowed: OSStatus = -25308
/// The attribute cannot be changed.
public let errSecReadOnlyAttr: OSStatus = -25309
/// The keychain has a version that this program does not support.
public let errSecWrongSecVersion: OSStatus = -25310
/// The size of the key is not allowed.
public let errSecKeySizeNotAllowed: OSStatus = -25311
/// The storage module is missing.
public let errSecNoStorageModule: OSStatus = -25312
/// The certificate module is missing.
public let errSecNoCertificateModule: OSStatus = -25313
/// The policy module is missing.
public let errSecNoPolicyModule: OSStatus = -25314
/// User interaction is required.
public let errSecInteractionRequired: OSStatus = -25315
/// The item's secret is not available.
public let errSecDataNotAvailable: OSStatus = -25316
/// The item's secret cannot be changed.
public let errSecDataNotModifiable: OSStatus = -25317
/// A certificate in the chain is missing.
public let errSecCreateChainFailed: OSStatus = -25318
/// The preferences domain is not valid.
public let errSecInvalidPrefsDomain: OSStatus = -25319
/// The machine is in dark wake and cannot ask the user.
public let errSecInDarkWake: OSStatus = -25320
/// The access control list is not in the standard (simple) form.
public let errSecACLNotSimple: OSStatus = -25240
/// There is no such policy.
public let errSecPolicyNotFound: OSStatus = -25241
/// The trust setting is not valid.
public let errSecInvalidTrustSetting: OSStatus = -25242
/// The item has no access control.
public let errSecNoAccessForItem: OSStatus = -25243
/// The owner of the item cannot be changed in this way.
public let errSecInvalidOwnerEdit: OSStatus = -25244
/// There are no trust results.
public let errSecTrustNotAvailable: OSStatus = -25245
/// The format is not supported.
public let errSecUnsupportedFormat: OSStatus = -25256
/// The format is unknown.
public let errSecUnknownFormat: OSStatus = -25257
/// The key can be exported only in wrapped form.
public let errSecKeyIsSensitive: OSStatus = -25258
/// There is more than one private key.
public let errSecMultiplePrivKeys: OSStatus = -25259
/// A passphrase is needed.
public let errSecPassphraseRequired: OSStatus = -25260
/// The password reference is not valid.
public let errSecInvalidPasswordRef: OSStatus = -25261
/// The trust settings are damaged.
public let errSecInvalidTrustSettings: OSStatus = -25262
/// There are no trust settings.
public let errSecNoTrustSettings: OSStatus = -25263
/// The PKCS #12 file could not be verified; the password may be wrong.
public let errSecPkcs12VerifyFailure: OSStatus = -25264
/// The certificate cannot be read.
public let errSecInvalidCertificate: OSStatus = -26265
/// The certificate was not signed by its supposed issuer.
public let errSecNotSigner: OSStatus = -26267
/// The certificate chain was rejected by a policy.
public let errSecPolicyDenied: OSStatus = -26270
/// The key is not valid.
public let errSecInvalidKey: OSStatus = -26274
/// The data cannot be decoded.
public let errSecDecode: OSStatus = -26275
/// An internal error occurred.
public let errSecInternal: OSStatus = -26276
/// The algorithm is not supported.
public let errSecUnsupportedAlgorithm: OSStatus = -26268
/// The key does not support this operation.
public let errSecUnsupportedOperation: OSStatus = -26271
/// The padding is not supported.
public let errSecUnsupportedPadding: OSStatus = -26273
/// An entitlement is missing.
public let errSecMissingEntitlement: OSStatus = -34018
/// The keychain is locked and must be upgraded first.
public let errSecUpgradePending: OSStatus = -34019
/// The program may not use this function.
public let errSecRestrictedAPI: OSStatus = -34020
/// The signature of a message is not valid.
public let errSecMPSignatureInvalid: OSStatus = -25327
/// The message is too old.
public let errSecOTRTooOld: OSStatus = -25328
/// The message's key is newer than any known key.
public let errSecOTRIDTooNew: OSStatus = -25329
/// The data cannot be converted.
public let errSecConversionError: OSStatus = -67594
