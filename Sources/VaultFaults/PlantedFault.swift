#if PLANTED_FAULTS
    internal import Glibc
#endif

/// A bug put into the code on purpose, to prove that a conformance vector or a check of the harness catches it.
///
/// No product contains one: `isPlanted` is the constant `false` unless the package was built with
/// `VAULTFMT_PLANTED_FAULTS` in the environment, and even then nothing happens without `VAULTFMT_PLANT=NAME`.
package enum PlantedFault: String, CaseIterable, Sendable {
    /// The header's reader MAC is computed and not compared.
    case headerReaderMACUnchecked

    // For the harness (Tools/faults harness).

    /// A commit is acknowledged before its bytes are synced.
    case commitNotSynced
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
    /// A new file is renamed before it is synced.
    case replacementNotSynced
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

        package var isPlanted: Bool { PlantedFault.planted == self }
    #else
        @inlinable package var isPlanted: Bool { false }
    #endif
}
