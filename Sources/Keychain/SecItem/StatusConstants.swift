// Made by Tools/checks/statuses of Sources/Keychain/statuses.tsv.

// No call on a vault returns the codes for certificates, signatures and Apple's cryptographic modules; they exist so
// that code which uses them compiles.

/// No error.
public let errSecSuccess: OSStatus = 0
/// No error, by its oldest name.
public let noErr: OSStatus = 0
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
/// The signature of a message is not valid.
public let errSecMPSignatureInvalid: OSStatus = -25327
/// The message is too old.
public let errSecOTRTooOld: OSStatus = -25328
/// The message's key is newer than any known key.
public let errSecOTRIDTooNew: OSStatus = -25329
/// The service is not available.
public let errSecServiceNotAvailable: OSStatus = -67585
/// The client ID is insufficient.
public let errSecInsufficientClientID: OSStatus = -67586
/// The device was reset.
public let errSecDeviceReset: OSStatus = -67587
/// The device failed.
public let errSecDeviceFailed: OSStatus = -67588
/// A subject could not be added to the access control list.
public let errSecAppleAddAppACLSubject: OSStatus = -67589
/// The public key is incomplete.
public let errSecApplePublicKeyIncomplete: OSStatus = -67590
/// The signature does not match.
public let errSecAppleSignatureMismatch: OSStatus = -67591
/// The key's start date is not valid.
public let errSecAppleInvalidKeyStartDate: OSStatus = -67592
/// The key's end date is not valid.
public let errSecAppleInvalidKeyEndDate: OSStatus = -67593
/// The data is not text in UTF-8.
public let errSecConversionError: OSStatus = -67594
/// A rollback to SSL 2 was detected.
public let errSecAppleSSLv2Rollback: OSStatus = -67595
/// A quota is exhausted.
public let errSecQuotaExceeded: OSStatus = -67596
/// The file is too large.
public let errSecFileTooBig: OSStatus = -67597
/// The database contains an invalid blob.
public let errSecInvalidDatabaseBlob: OSStatus = -67598
/// The database contains an invalid key blob.
public let errSecInvalidKeyBlob: OSStatus = -67599
/// The database contains an incompatible blob.
public let errSecIncompatibleDatabaseBlob: OSStatus = -67600
/// The database contains an incompatible key blob.
public let errSecIncompatibleKeyBlob: OSStatus = -67601
/// The host name does not match.
public let errSecHostNameMismatch: OSStatus = -67602
/// A critical extension is not recognized.
public let errSecUnknownCriticalExtensionFlag: OSStatus = -67603
/// The certificate has no basic constraints.
public let errSecNoBasicConstraints: OSStatus = -67604
/// The CA certificate has no basic constraints.
public let errSecNoBasicConstraintsCA: OSStatus = -67605
/// The authority key ID is not valid.
public let errSecInvalidAuthorityKeyID: OSStatus = -67606
/// The subject key ID is not valid.
public let errSecInvalidSubjectKeyID: OSStatus = -67607
/// The key usage does not match the policy.
public let errSecInvalidKeyUsageForPolicy: OSStatus = -67608
/// The extended key usage is not valid.
public let errSecInvalidExtendedKeyUsage: OSStatus = -67609
/// The ID linkage is not valid.
public let errSecInvalidIDLinkage: OSStatus = -67610
/// The certificate chain exceeds a path length constraint.
public let errSecPathLengthConstraintExceeded: OSStatus = -67611
/// The root certificate is not valid.
public let errSecInvalidRoot: OSStatus = -67612
/// The revocation list has expired.
public let errSecCRLExpired: OSStatus = -67613
/// The revocation list is not yet valid.
public let errSecCRLNotValidYet: OSStatus = -67614
/// The revocation list was not found.
public let errSecCRLNotFound: OSStatus = -67615
/// The revocation list server is not responding.
public let errSecCRLServerDown: OSStatus = -67616
/// The revocation list's address is not valid.
public let errSecCRLBadURI: OSStatus = -67617
/// A certificate extension is not recognized.
public let errSecUnknownCertExtension: OSStatus = -67618
/// A revocation list extension is not recognized.
public let errSecUnknownCRLExtension: OSStatus = -67619
/// The revocation list is not trusted.
public let errSecCRLNotTrusted: OSStatus = -67620
/// The revocation list does not satisfy its policy.
public let errSecCRLPolicyFailed: OSStatus = -67621
/// The issuing distribution point is not valid.
public let errSecIDPFailure: OSStatus = -67622
/// The e-mail addresses do not match.
public let errSecSMIMEEmailAddressesNotFound: OSStatus = -67623
/// The extended key usage does not allow S/MIME.
public let errSecSMIMEBadExtendedKeyUsage: OSStatus = -67624
/// The key usage does not allow S/MIME.
public let errSecSMIMEBadKeyUsage: OSStatus = -67625
/// The key usage is not marked critical.
public let errSecSMIMEKeyUsageNotCritical: OSStatus = -67626
/// The certificate has no e-mail address.
public let errSecSMIMENoEmailAddress: OSStatus = -67627
/// The subject alternative name is not marked critical.
public let errSecSMIMESubjAltNameNotCritical: OSStatus = -67628
/// The extended key usage does not allow TLS.
public let errSecSSLBadExtendedKeyUsage: OSStatus = -67629
/// The OCSP response cannot be read.
public let errSecOCSPBadResponse: OSStatus = -67630
/// The OCSP request cannot be read.
public let errSecOCSPBadRequest: OSStatus = -67631
/// The OCSP service is not available.
public let errSecOCSPUnavailable: OSStatus = -67632
/// The OCSP server does not know the certificate.
public let errSecOCSPStatusUnrecognized: OSStatus = -67633
/// The end of the data was reached.
public let errSecEndOfData: OSStatus = -67634
/// The revocation check is incomplete.
public let errSecIncompleteCertRevocationCheck: OSStatus = -67635
/// The network failed.
public let errSecNetworkFailure: OSStatus = -67636
/// The OCSP response does not lead to a trusted root.
public let errSecOCSPNotTrustedToAnchor: OSStatus = -67637
/// The record was changed in the meantime.
public let errSecRecordModified: OSStatus = -67638
/// The OCSP response's signature is not valid.
public let errSecOCSPSignatureError: OSStatus = -67639
/// The OCSP response has no signer.
public let errSecOCSPNoSigner: OSStatus = -67640
/// The OCSP responder received a malformed request.
public let errSecOCSPResponderMalformedReq: OSStatus = -67641
/// The OCSP responder failed.
public let errSecOCSPResponderInternalError: OSStatus = -67642
/// The OCSP responder is busy.
public let errSecOCSPResponderTryLater: OSStatus = -67643
/// The OCSP responder requires a signature.
public let errSecOCSPResponderSignatureRequired: OSStatus = -67644
/// The OCSP responder refused the request.
public let errSecOCSPResponderUnauthorized: OSStatus = -67645
/// The OCSP response's nonce does not match.
public let errSecOCSPResponseNonceMismatch: OSStatus = -67646
/// The code signature's certificate chain has the wrong length.
public let errSecCodeSigningBadCertChainLength: OSStatus = -67647
/// The code signature's certificate has no basic constraints.
public let errSecCodeSigningNoBasicConstraints: OSStatus = -67648
/// The code signature's path length constraint is wrong.
public let errSecCodeSigningBadPathLengthConstraint: OSStatus = -67649
/// The code signature's certificate has no extended key usage.
public let errSecCodeSigningNoExtendedKeyUsage: OSStatus = -67650
/// The code was signed for development only.
public let errSecCodeSigningDevelopment: OSStatus = -67651
/// The resource signature's certificate chain has the wrong length.
public let errSecResourceSignBadCertChainLength: OSStatus = -67652
/// The resource signature's extended key usage is wrong.
public let errSecResourceSignBadExtKeyUsage: OSStatus = -67653
/// The trust settings deny this.
public let errSecTrustSettingDeny: OSStatus = -67654
/// The subject's name is not valid.
public let errSecInvalidSubjectName: OSStatus = -67655
/// A qualified certificate statement is not recognized.
public let errSecUnknownQualifiedCertStatement: OSStatus = -67656
/// The request is queued.
public let errSecMobileMeRequestQueued: OSStatus = -67657
/// The request was redirected.
public let errSecMobileMeRequestRedirected: OSStatus = -67658
/// The server failed.
public let errSecMobileMeServerError: OSStatus = -67659
/// The server is not available.
public let errSecMobileMeServerNotAvailable: OSStatus = -67660
/// The item already exists on the server.
public let errSecMobileMeServerAlreadyExists: OSStatus = -67661
/// A service on the server failed.
public let errSecMobileMeServerServiceErr: OSStatus = -67662
/// A request is already pending.
public let errSecMobileMeRequestAlreadyPending: OSStatus = -67663
/// No request is pending.
public let errSecMobileMeNoRequestPending: OSStatus = -67664
/// The signing request could not be verified.
public let errSecMobileMeCSRVerifyFailure: OSStatus = -67665
/// A consistency check failed.
public let errSecMobileMeFailedConsistencyCheck: OSStatus = -67666
/// The module is not initialized.
public let errSecNotInitialized: OSStatus = -67667
/// The handle cannot be used for this operation.
public let errSecInvalidHandleUsage: OSStatus = -67668
/// The caller is not in the list of authorized callers.
public let errSecPVCReferentNotFound: OSStatus = -67669
/// The function is outside the verified module.
public let errSecFunctionIntegrityFail: OSStatus = -67670
/// An internal error occurred.
public let errSecInternalError: OSStatus = -67671
/// A memory error occurred.
public let errSecMemoryError: OSStatus = -67672
/// The data is not valid.
public let errSecInvalidData: OSStatus = -67673
/// The module directory failed.
public let errSecMDSError: OSStatus = -67674
/// The pointer is not valid.
public let errSecInvalidPointer: OSStatus = -67675
/// The self-check failed.
public let errSecSelfCheckFailed: OSStatus = -67676
/// The function failed.
public let errSecFunctionFailed: OSStatus = -67677
/// The module's manifest could not be verified.
public let errSecModuleManifestVerifyFailed: OSStatus = -67678
/// The GUID is not valid.
public let errSecInvalidGUID: OSStatus = -67679
/// The handle is not valid.
public let errSecInvalidHandle: OSStatus = -67680
/// The database list is not valid.
public let errSecInvalidDBList: OSStatus = -67681
/// The passthrough ID is not valid.
public let errSecInvalidPassthroughID: OSStatus = -67682
/// The network address is not valid.
public let errSecInvalidNetworkAddress: OSStatus = -67683
/// The revocation list is already signed.
public let errSecCRLAlreadySigned: OSStatus = -67684
/// The number of fields is not valid.
public let errSecInvalidNumberOfFields: OSStatus = -67685
/// The verification failed.
public let errSecVerificationFailure: OSStatus = -67686
/// The tag is unknown.
public let errSecUnknownTag: OSStatus = -67687
/// The signature is not valid.
public let errSecInvalidSignature: OSStatus = -67688
/// The name is not valid.
public let errSecInvalidName: OSStatus = -67689
/// The certificate reference is not valid.
public let errSecInvalidCertificateRef: OSStatus = -67690
/// The certificate group is not valid.
public let errSecInvalidCertificateGroup: OSStatus = -67691
/// The tag was not found.
public let errSecTagNotFound: OSStatus = -67692
/// The query is not valid.
public let errSecInvalidQuery: OSStatus = -67693
/// The value is not valid.
public let errSecInvalidValue: OSStatus = -67694
/// The callback failed.
public let errSecCallbackFailed: OSStatus = -67695
/// An access control entry could not be deleted.
public let errSecACLDeleteFailed: OSStatus = -67696
/// An access control entry could not be replaced.
public let errSecACLReplaceFailed: OSStatus = -67697
/// An access control entry could not be added.
public let errSecACLAddFailed: OSStatus = -67698
/// An access control entry could not be changed.
public let errSecACLChangeFailed: OSStatus = -67699
/// The access credentials are not valid.
public let errSecInvalidAccessCredentials: OSStatus = -67700
/// The record is not valid.
public let errSecInvalidRecord: OSStatus = -67701
/// The access control list is not valid.
public let errSecInvalidACL: OSStatus = -67702
/// The sample value is not valid.
public let errSecInvalidSampleValue: OSStatus = -67703
/// The versions are not compatible.
public let errSecIncompatibleVersion: OSStatus = -67704
/// The privilege is not granted.
public let errSecPrivilegeNotGranted: OSStatus = -67705
/// The scope is not valid.
public let errSecInvalidScope: OSStatus = -67706
/// The caller check is already configured.
public let errSecPVCAlreadyConfigured: OSStatus = -67707
/// The caller check is not valid.
public let errSecInvalidPVC: OSStatus = -67708
/// The elective module manager could not be loaded.
public let errSecEMMLoadFailed: OSStatus = -67709
/// The elective module manager could not be unloaded.
public let errSecEMMUnloadFailed: OSStatus = -67710
/// The add-in could not be loaded.
public let errSecAddinLoadFailed: OSStatus = -67711
/// The key reference is not valid.
public let errSecInvalidKeyRef: OSStatus = -67712
/// The key hierarchy is not valid.
public let errSecInvalidKeyHierarchy: OSStatus = -67713
/// The add-in could not be unloaded.
public let errSecAddinUnloadFailed: OSStatus = -67714
/// The library reference was not found.
public let errSecLibraryReferenceNotFound: OSStatus = -67715
/// The add-in's function table is not valid.
public let errSecInvalidAddinFunctionTable: OSStatus = -67716
/// The service mask is not valid.
public let errSecInvalidServiceMask: OSStatus = -67717
/// The module is not loaded.
public let errSecModuleNotLoaded: OSStatus = -67718
/// The subservice ID is not valid.
public let errSecInvalidSubServiceID: OSStatus = -67719
/// The attribute is not in the context.
public let errSecAttributeNotInContext: OSStatus = -67720
/// The module manager could not be initialized.
public let errSecModuleManagerInitializeFailed: OSStatus = -67721
/// The module manager was not found.
public let errSecModuleManagerNotFound: OSStatus = -67722
/// The event notification callback was not found.
public let errSecEventNotificationCallbackNotFound: OSStatus = -67723
/// The input has the wrong length.
public let errSecInputLengthError: OSStatus = -67724
/// The output has the wrong length.
public let errSecOutputLengthError: OSStatus = -67725
/// The privilege is not supported.
public let errSecPrivilegeNotSupported: OSStatus = -67726
/// The device reported an error.
public let errSecDeviceError: OSStatus = -67727
/// The handle is busy.
public let errSecAttachHandleBusy: OSStatus = -67728
/// No user is logged in.
public let errSecNotLoggedIn: OSStatus = -67729
/// The algorithms do not match.
public let errSecAlgorithmMismatch: OSStatus = -67730
/// The key usage is incorrect.
public let errSecKeyUsageIncorrect: OSStatus = -67731
/// The key blob is of the wrong type.
public let errSecKeyBlobTypeIncorrect: OSStatus = -67732
/// The key's header is inconsistent.
public let errSecKeyHeaderInconsistent: OSStatus = -67733
/// The key's format is not supported.
public let errSecUnsupportedKeyFormat: OSStatus = -67734
/// The key's size is not supported.
public let errSecUnsupportedKeySize: OSStatus = -67735
/// The key's usage mask is not valid.
public let errSecInvalidKeyUsageMask: OSStatus = -67736
/// The key's usage mask is not supported.
public let errSecUnsupportedKeyUsageMask: OSStatus = -67737
/// The key's attribute mask is not valid.
public let errSecInvalidKeyAttributeMask: OSStatus = -67738
/// The key's attribute mask is not supported.
public let errSecUnsupportedKeyAttributeMask: OSStatus = -67739
/// The key's label is not valid.
public let errSecInvalidKeyLabel: OSStatus = -67740
/// The key's label is not supported.
public let errSecUnsupportedKeyLabel: OSStatus = -67741
/// The key's format is not valid.
public let errSecInvalidKeyFormat: OSStatus = -67742
/// Vectors of buffers are not supported.
public let errSecUnsupportedVectorOfBuffers: OSStatus = -67743
/// The input vector is not valid.
public let errSecInvalidInputVector: OSStatus = -67744
/// The output vector is not valid.
public let errSecInvalidOutputVector: OSStatus = -67745
/// The context is not valid.
public let errSecInvalidContext: OSStatus = -67746
/// The algorithm is not valid.
public let errSecInvalidAlgorithm: OSStatus = -67747
/// The key is not valid.
public let errSecInvalidAttributeKey: OSStatus = -67748
/// The key is missing.
public let errSecMissingAttributeKey: OSStatus = -67749
/// The initialization vector is not valid.
public let errSecInvalidAttributeInitVector: OSStatus = -67750
/// The initialization vector is missing.
public let errSecMissingAttributeInitVector: OSStatus = -67751
/// The salt is not valid.
public let errSecInvalidAttributeSalt: OSStatus = -67752
/// The salt is missing.
public let errSecMissingAttributeSalt: OSStatus = -67753
/// The padding is not valid.
public let errSecInvalidAttributePadding: OSStatus = -67754
/// The padding is missing.
public let errSecMissingAttributePadding: OSStatus = -67755
/// The random number is not valid.
public let errSecInvalidAttributeRandom: OSStatus = -67756
/// The random number is missing.
public let errSecMissingAttributeRandom: OSStatus = -67757
/// The seed is not valid.
public let errSecInvalidAttributeSeed: OSStatus = -67758
/// The seed is missing.
public let errSecMissingAttributeSeed: OSStatus = -67759
/// The passphrase is not valid.
public let errSecInvalidAttributePassphrase: OSStatus = -67760
/// The passphrase is missing.
public let errSecMissingAttributePassphrase: OSStatus = -67761
/// The key length is not valid.
public let errSecInvalidAttributeKeyLength: OSStatus = -67762
/// The key length is missing.
public let errSecMissingAttributeKeyLength: OSStatus = -67763
/// The block size is not valid.
public let errSecInvalidAttributeBlockSize: OSStatus = -67764
/// The block size is missing.
public let errSecMissingAttributeBlockSize: OSStatus = -67765
/// The output size is not valid.
public let errSecInvalidAttributeOutputSize: OSStatus = -67766
/// The output size is missing.
public let errSecMissingAttributeOutputSize: OSStatus = -67767
/// The number of rounds is not valid.
public let errSecInvalidAttributeRounds: OSStatus = -67768
/// The number of rounds is missing.
public let errSecMissingAttributeRounds: OSStatus = -67769
/// The algorithm's parameters are not valid.
public let errSecInvalidAlgorithmParms: OSStatus = -67770
/// The algorithm's parameters are missing.
public let errSecMissingAlgorithmParms: OSStatus = -67771
/// The label is not valid.
public let errSecInvalidAttributeLabel: OSStatus = -67772
/// The label is missing.
public let errSecMissingAttributeLabel: OSStatus = -67773
/// The key type is not valid.
public let errSecInvalidAttributeKeyType: OSStatus = -67774
/// The key type is missing.
public let errSecMissingAttributeKeyType: OSStatus = -67775
/// The mode is not valid.
public let errSecInvalidAttributeMode: OSStatus = -67776
/// The mode is missing.
public let errSecMissingAttributeMode: OSStatus = -67777
/// The number of effective bits is not valid.
public let errSecInvalidAttributeEffectiveBits: OSStatus = -67778
/// The number of effective bits is missing.
public let errSecMissingAttributeEffectiveBits: OSStatus = -67779
/// The start date is not valid.
public let errSecInvalidAttributeStartDate: OSStatus = -67780
/// The start date is missing.
public let errSecMissingAttributeStartDate: OSStatus = -67781
/// The end date is not valid.
public let errSecInvalidAttributeEndDate: OSStatus = -67782
/// The end date is missing.
public let errSecMissingAttributeEndDate: OSStatus = -67783
/// The version is not valid.
public let errSecInvalidAttributeVersion: OSStatus = -67784
/// The version is missing.
public let errSecMissingAttributeVersion: OSStatus = -67785
/// The prime is not valid.
public let errSecInvalidAttributePrime: OSStatus = -67786
/// The prime is missing.
public let errSecMissingAttributePrime: OSStatus = -67787
/// The base is not valid.
public let errSecInvalidAttributeBase: OSStatus = -67788
/// The base is missing.
public let errSecMissingAttributeBase: OSStatus = -67789
/// The subprime is not valid.
public let errSecInvalidAttributeSubprime: OSStatus = -67790
/// The subprime is missing.
public let errSecMissingAttributeSubprime: OSStatus = -67791
/// The number of iterations is not valid.
public let errSecInvalidAttributeIterationCount: OSStatus = -67792
/// The number of iterations is missing.
public let errSecMissingAttributeIterationCount: OSStatus = -67793
/// The database handle is not valid.
public let errSecInvalidAttributeDLDBHandle: OSStatus = -67794
/// The database handle is missing.
public let errSecMissingAttributeDLDBHandle: OSStatus = -67795
/// The credential is not valid.
public let errSecInvalidAttributeAccessCredentials: OSStatus = -67796
/// The credential is missing.
public let errSecMissingAttributeAccessCredentials: OSStatus = -67797
/// The format of the public key is not valid.
public let errSecInvalidAttributePublicKeyFormat: OSStatus = -67798
/// The format of the public key is missing.
public let errSecMissingAttributePublicKeyFormat: OSStatus = -67799
/// The format of the private key is not valid.
public let errSecInvalidAttributePrivateKeyFormat: OSStatus = -67800
/// The format of the private key is missing.
public let errSecMissingAttributePrivateKeyFormat: OSStatus = -67801
/// The format of the symmetric key is not valid.
public let errSecInvalidAttributeSymmetricKeyFormat: OSStatus = -67802
/// The format of the symmetric key is missing.
public let errSecMissingAttributeSymmetricKeyFormat: OSStatus = -67803
/// The format of the wrapped key is not valid.
public let errSecInvalidAttributeWrappedKeyFormat: OSStatus = -67804
/// The format of the wrapped key is missing.
public let errSecMissingAttributeWrappedKeyFormat: OSStatus = -67805
/// A staged operation is in progress.
public let errSecStagedOperationInProgress: OSStatus = -67806
/// A staged operation was not started.
public let errSecStagedOperationNotStarted: OSStatus = -67807
/// A cryptographic check failed.
public let errSecVerifyFailed: OSStatus = -67808
/// The query size is unknown.
public let errSecQuerySizeUnknown: OSStatus = -67809
/// The block sizes do not match.
public let errSecBlockSizeMismatch: OSStatus = -67810
/// The public key is inconsistent.
public let errSecPublicKeyInconsistent: OSStatus = -67811
/// The device could not be verified.
public let errSecDeviceVerifyFailed: OSStatus = -67812
/// The login name is not valid.
public let errSecInvalidLoginName: OSStatus = -67813
/// The user is already logged in.
public let errSecAlreadyLoggedIn: OSStatus = -67814
/// The digest algorithm is not valid.
public let errSecInvalidDigestAlgorithm: OSStatus = -67815
/// The revocation list group is not valid.
public let errSecInvalidCRLGroup: OSStatus = -67816
/// The certificate cannot be used for this operation.
public let errSecCertificateCannotOperate: OSStatus = -67817
/// The certificate has expired.
public let errSecCertificateExpired: OSStatus = -67818
/// The certificate is not yet valid.
public let errSecCertificateNotValidYet: OSStatus = -67819
/// The certificate is revoked.
public let errSecCertificateRevoked: OSStatus = -67820
/// The certificate is suspended.
public let errSecCertificateSuspended: OSStatus = -67821
/// The credentials are insufficient.
public let errSecInsufficientCredentials: OSStatus = -67822
/// The action is not valid.
public let errSecInvalidAction: OSStatus = -67823
/// The authority is not valid.
public let errSecInvalidAuthority: OSStatus = -67824
/// The action could not be verified.
public let errSecVerifyActionFailed: OSStatus = -67825
/// The certificate authority is not valid.
public let errSecInvalidCertAuthority: OSStatus = -67826
/// The revocation list's authority is not valid.
public let errSecInvalidCRLAuthority: OSStatus = -67827
/// Another spelling of `errSecInvalidCRLAuthority`.
public let errSecInvaldCRLAuthority: OSStatus = -67827
/// The revocation list's encoding is not valid.
public let errSecInvalidCRLEncoding: OSStatus = -67828
/// The revocation list's type is not valid.
public let errSecInvalidCRLType: OSStatus = -67829
/// The revocation list is not valid.
public let errSecInvalidCRL: OSStatus = -67830
/// The form's type is not valid.
public let errSecInvalidFormType: OSStatus = -67831
/// The ID is not valid.
public let errSecInvalidID: OSStatus = -67832
/// The identifier is not valid.
public let errSecInvalidIdentifier: OSStatus = -67833
/// The index is not valid.
public let errSecInvalidIndex: OSStatus = -67834
/// The policy's identifiers are not valid.
public let errSecInvalidPolicyIdentifiers: OSStatus = -67835
/// The time is not valid.
public let errSecInvalidTimeString: OSStatus = -67836
/// The reason is not valid.
public let errSecInvalidReason: OSStatus = -67837
/// The request's inputs are not valid.
public let errSecInvalidRequestInputs: OSStatus = -67838
/// The response vector is not valid.
public let errSecInvalidResponseVector: OSStatus = -67839
/// The stop-on policy is not valid.
public let errSecInvalidStopOnPolicy: OSStatus = -67840
/// The tuple is not valid.
public let errSecInvalidTuple: OSStatus = -67841
/// Multiple values are not supported.
public let errSecMultipleValuesUnsupported: OSStatus = -67842
/// The certificate is not trusted.
public let errSecNotTrusted: OSStatus = -67843
/// There is no default authority.
public let errSecNoDefaultAuthority: OSStatus = -67844
/// The form was rejected.
public let errSecRejectedForm: OSStatus = -67845
/// The request was lost.
public let errSecRequestLost: OSStatus = -67846
/// The request was rejected.
public let errSecRequestRejected: OSStatus = -67847
/// The address type is not supported.
public let errSecUnsupportedAddressType: OSStatus = -67848
/// The service is not supported.
public let errSecUnsupportedService: OSStatus = -67849
/// The tuple group is not valid.
public let errSecInvalidTupleGroup: OSStatus = -67850
/// The base access control lists are not valid.
public let errSecInvalidBaseACLs: OSStatus = -67851
/// The tuple's credentials are not valid.
public let errSecInvalidTupleCredentials: OSStatus = -67852
/// Another spelling of `errSecInvalidTupleCredentials`.
public let errSecInvalidTupleCredendtials: OSStatus = -67852
/// The encoding is not valid.
public let errSecInvalidEncoding: OSStatus = -67853
/// The validity period is not valid.
public let errSecInvalidValidityPeriod: OSStatus = -67854
/// The requestor is not valid.
public let errSecInvalidRequestor: OSStatus = -67855
/// The request's descriptor is not valid.
public let errSecRequestDescriptor: OSStatus = -67856
/// The bundle's information is not valid.
public let errSecInvalidBundleInfo: OSStatus = -67857
/// The revocation list's index is not valid.
public let errSecInvalidCRLIndex: OSStatus = -67858
/// There are no field values.
public let errSecNoFieldValues: OSStatus = -67859
/// The field's format is not supported.
public let errSecUnsupportedFieldFormat: OSStatus = -67860
/// The index information is not supported.
public let errSecUnsupportedIndexInfo: OSStatus = -67861
/// The locality is not supported.
public let errSecUnsupportedLocality: OSStatus = -67862
/// The number of attributes is not supported.
public let errSecUnsupportedNumAttributes: OSStatus = -67863
/// The number of indexes is not supported.
public let errSecUnsupportedNumIndexes: OSStatus = -67864
/// The number of record types is not supported.
public let errSecUnsupportedNumRecordTypes: OSStatus = -67865
/// A field is specified more than once.
public let errSecFieldSpecifiedMultiple: OSStatus = -67866
/// The field's format is not compatible.
public let errSecIncompatibleFieldFormat: OSStatus = -67867
/// The parsing module is not valid.
public let errSecInvalidParsingModule: OSStatus = -67868
/// The database is locked.
public let errSecDatabaseLocked: OSStatus = -67869
/// The data store is open.
public let errSecDatastoreIsOpen: OSStatus = -67870
/// A value is missing.
public let errSecMissingValue: OSStatus = -67871
/// The query's limits are not supported.
public let errSecUnsupportedQueryLimits: OSStatus = -67872
/// The number of predicates is not supported.
public let errSecUnsupportedNumSelectionPreds: OSStatus = -67873
/// The operator is not supported.
public let errSecUnsupportedOperator: OSStatus = -67874
/// The database's location is not valid.
public let errSecInvalidDBLocation: OSStatus = -67875
/// The access request is not valid.
public let errSecInvalidAccessRequest: OSStatus = -67876
/// The index information is not valid.
public let errSecInvalidIndexInfo: OSStatus = -67877
/// The new owner is not valid.
public let errSecInvalidNewOwner: OSStatus = -67878
/// The modification mode is not valid.
public let errSecInvalidModifyMode: OSStatus = -67879
/// A required extension is missing.
public let errSecMissingRequiredExtension: OSStatus = -67880
/// The extended key usage is not marked critical.
public let errSecExtendedKeyUsageNotCritical: OSStatus = -67881
/// The timestamp is missing.
public let errSecTimestampMissing: OSStatus = -67882
/// The timestamp is not valid.
public let errSecTimestampInvalid: OSStatus = -67883
/// The timestamp is not trusted.
public let errSecTimestampNotTrusted: OSStatus = -67884
/// The timestamp service is not available.
public let errSecTimestampServiceNotAvailable: OSStatus = -67885
/// The timestamp's algorithm is not supported.
public let errSecTimestampBadAlg: OSStatus = -67886
/// The timestamp request is not supported.
public let errSecTimestampBadRequest: OSStatus = -67887
/// The timestamp request is malformed.
public let errSecTimestampBadDataFormat: OSStatus = -67888
/// The timestamp service's time source is not available.
public let errSecTimestampTimeNotAvailable: OSStatus = -67889
/// The timestamp service does not support the policy.
public let errSecTimestampUnacceptedPolicy: OSStatus = -67890
/// The timestamp service does not support the extension.
public let errSecTimestampUnacceptedExtension: OSStatus = -67891
/// The timestamp's additional information is not available.
public let errSecTimestampAddInfoNotAvailable: OSStatus = -67892
/// The timestamp service failed.
public let errSecTimestampSystemFailure: OSStatus = -67893
/// The signing time is missing.
public let errSecSigningTimeMissing: OSStatus = -67894
/// The timestamp request was rejected.
public let errSecTimestampRejection: OSStatus = -67895
/// The timestamp request is pending.
public let errSecTimestampWaiting: OSStatus = -67896
/// The timestamp service warns of an imminent revocation.
public let errSecTimestampRevocationWarning: OSStatus = -67897
/// The timestamp service was revoked.
public let errSecTimestampRevocationNotification: OSStatus = -67898
/// The program may not use this function.
public let errSecRestrictedAPI: OSStatus = -34020
/// Core Foundation reported an unknown error.
public let errSecCoreFoundationUnknown: OSStatus = -4960
/// One of the certificate's policies is not allowed.
public let errSecCertificatePolicyNotAllowed: OSStatus = -67899
/// A name in the certificate is not allowed.
public let errSecCertificateNameNotAllowed: OSStatus = -67900
/// The certificate is valid for too long.
public let errSecCertificateValidityPeriodTooLong: OSStatus = -67901
/// A CA certificate was found where a leaf certificate is required.
public let errSecCertificateIsCA: OSStatus = -67902
/// The certificate contains a duplicate extension.
public let errSecCertificateDuplicateExtension: OSStatus = -67903
