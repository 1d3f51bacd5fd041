#if PLANTED_FAULTS
    internal import Glibc
#endif

/// A bug put into the code on purpose, to prove that a conformance vector or a check of the harness catches it.
///
/// Public only so that it is known to be false wherever it is asked. No product contains one: `isPlanted` is the constant `false` unless the package was built with
/// `VAULTFMT_PLANTED_FAULTS` in the environment, and even then nothing happens without `VAULTFMT_PLANT=NAME`.
public enum PlantedFault: String, CaseIterable, Sendable {
    // MARK: found by conformance vectors

    /// The header's reader MAC is computed and not compared.
    case headerReaderMACUnchecked
    /// The header's owner MAC is computed and not compared.
    case headerOwnerMACUnchecked
    /// A commit's reader MAC is not compared.
    case commitReaderMACUnchecked
    /// A commit's owner MAC is not compared.
    case commitOwnerMACUnchecked
    /// A commit may name another header.
    case headerHashUnchecked
    /// A slot's payload is opened whatever its commitment.
    case commitmentUnchecked
    /// What a reference names may have another hash.
    case frameHashUnchecked
    /// What a reference names may be of another type.
    case frameHeadUnchecked
    /// What a commit appended is not compared with its digest.
    case digestUnchecked
    /// Any commit may be the one before an incomplete one.
    case predecessorUnchecked
    /// The generation before an incomplete one may be incomplete too.
    case goesBackTwice
    /// A damaged tail is passed over in silence.
    case tailUnsaid
    /// Any number of zeros after the newest commit is a reserve.
    case reserveUnlimited
    /// A commit of any size may say that it was not synced first.
    case largeCommitUnsynced
    /// A commit may stand elsewhere than it says.
    case ownOffsetUnchecked
    /// A listing does not compare its length with the commit's count.
    case itemCountUnchecked
    /// Every limit of a count or length is one higher.
    case countLimitsRaised
    /// A varint may have a byte too much.
    case longVarints
    /// Padding and reserved bytes may be anything.
    case reservedUnchecked
    /// Bytes may be left over after a structure.
    case leftOverBytes
    /// Text may be other than UTF-8.
    case invalidText
    /// A slot's KDF memory may be 1 KiB more than the policy says.
    case kdfMemoryLimitRaised
    /// The KDF's passes are not checked against the policy.
    case kdfPassesUnlimited
    /// The sum over all slots may be 1 KiB × pass more than the policy says.
    case kdfSumLimitRaised
    /// A slot may have no lanes, no passes and no memory.
    case kdfFiguresUnchecked
    /// Two slots may have one id.
    case slotIDsTwice
    /// A passphrase is not normalised.
    case passphraseAsTyped
    /// A damaged generated key file counts as any other file.
    case keyFileDamaged
    /// An unknown critical extension is passed over.
    case criticalExtensionIgnored
    /// Extensions may stand in any order.
    case extensionOrderUnchecked
    /// A slot's groups may stand in any order.
    case grantOrderUnchecked
    /// A keyring's groups may stand in any order.
    case groupOrderUnchecked
    /// An item's compartment may be of another group than its key names.
    case compartmentOfOtherGroup
    /// An item's device need not be in the list.
    case deviceUnchecked
    /// A record may name another item than its page.
    case recordOfOtherKey
    /// A record may have more attributes than its page says.
    case recordAttributesUncounted
    /// An attribute may stand in the page or in the record, whatever its size.
    case attributeOutOfPlace
    /// A record may be longer than its padding makes it.
    case recordPaddingUnchecked
    /// A page may hold keys that belong elsewhere.
    case treeBoundsUnchecked
    /// A page's keys may stand in any order.
    case pageOrderUnchecked
    /// A page's prefix may be shorter than it could be.
    case pagePrefixUnchecked
    /// A page may be of another level than its parent says.
    case pageLevelUnchecked
    /// A child may stand after its parent.
    case childAnywhere
    /// Offset and head stand in each other's place in a frame's associated data.
    case frameFieldsTurned
    /// Compartment and revision stand in each other's place in a record's associated data.
    case recordFieldsTurned
    /// A slot's sealed parts are bound to its parameters only.
    case slotBoundWithoutCommitment
    /// Number and name stand in each other's place in a group key's associated data.
    case groupFieldsTurned
    /// Number and group stand in each other's place in a compartment key's associated data.
    case compartmentFieldsTurned
    /// Link and chain value stand in each other's place in a chain value.
    case chainFieldsTurned
    /// The length of the passphrase is left out of what is stretched.
    case stretchWithoutLength
    /// A slot key is derived without the vault's id.
    case slotKeyWithoutVault
    /// A device key is derived without the vault's id.
    case deviceKeyWithoutVault
    /// A commit's MACs do not cover the vault's id.
    case commitMACWithoutVault

    // MARK: found by the harness

    /// A commit is acknowledged before its bytes are synced.
    case commitNotSynced
    /// Secrets' memory is given back as it is.
    case wipeSkipped
    /// A commit is synced before it is written.
    case commitSyncedTooEarly
    /// What a large commit appended is not synced before the commit is written.
    case largeBodyNotSyncedFirst
    /// A writer goes on from a commit that another wrote without writing it again.
    case takeoverSkipped
    /// It writes it again and does not sync it.
    case takeoverNotSynced
    /// It writes all of it again but the last byte.
    case takeoverOneByteShort
    /// What a commit appended is not compared with its digest.
    case commitDigestUnchecked
    /// A commit counts that has lost its MACs.
    case commitMACsUnchecked
    /// A damaged tail is written over and not cut off.
    case tailNotCut
    /// An incomplete generation is cut off and not kept aside.
    case incompleteNotKept
    /// What a failed change has written stays.
    case failedChangeNotCut
    /// A failed sync is reported as a change that did not happen.
    case unknownOutcomeDenied
    /// A handle whose sync has failed writes on.
    case poisonedHandleWrites
    /// So does one whose new file's name could not be made durable.
    case directoryFailureForgotten
    /// After getting the lock, a writer does not look whether the file was replaced.
    case lockNotRechecked
    /// A writer does not move to the newest state before it writes.
    case staleWriter
    /// A writer takes no lock.
    case lockNotTaken
    /// After a rename, the directory is not synced.
    case directoryNotSynced
    /// The body copied behind a new header lacks its last byte.
    case copyOneByteShort
    /// What was written of a new file stays if that fails.
    case temporaryNotRemoved
    /// What an interrupted replacement left stays.
    case staleTemporariesKept
    /// A compaction forgets one item.
    case compactionLosesItem
    /// The nonce is the same each time.
    case nonceReused
    /// A write that did not write everything counts as whole.
    case shortWriteAccepted
    /// A read that did not read everything counts as whole.
    case shortReadAccepted
    /// An interrupted write or sync is an error.
    case interruptedCallFails
    /// A new file gets mode 0600 and not the mode of the old one.
    case modeNotKept
    /// A symbolic link is replaced, and not what it leads to.
    case linkReplaced
    /// A file with other names is replaced.
    case hardLinksIgnored

    #if PLANTED_FAULTS
        private static let planted = getenv("VAULTFMT_PLANT").flatMap { PlantedFault(rawValue: String(cString: $0)) }

        /// Whether this is the one that was asked for.
        public var isPlanted: Bool { PlantedFault.planted == self }

        private static let changedLabel = getenv("VAULTFMT_PLANT").flatMap { text in
            let name = String(cString: text)
            return name.hasPrefix("label:") ? Array(name.dropFirst(6).utf8) : nil
        }

        /// Whether a label of the key schedule or of associated data is to be another one: `VAULTFMT_PLANT=label:TEXT`.
        public static func changes(_ label: StaticString) -> Bool {
            guard let changedLabel else { return false }
            return changedLabel.elementsEqual(UnsafeBufferPointer(start: label.utf8Start, count: label.utf8CodeUnitCount))
        }
    #else
        /// Never, in a build without faults.
        @inlinable @inline(__always) public var isPlanted: Bool { false }

        /// Never, in a build without faults.
        @inlinable @inline(__always) public static func changes(_ label: StaticString) -> Bool { false }
    #endif
}
