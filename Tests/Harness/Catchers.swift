internal import VaultFaults

/// Which part catches which planted fault: `Tools/faults harness` plants each and runs that part.
enum Catchers {
    static let all: [(fault: PlantedFault, part: String)] = [
        (.commitNotSynced, "crash"), (.commitSyncedTooEarly, "crash"), (.largeBodyNotSyncedFirst, "crash"), (.takeoverSkipped, "crash"),
        (.takeoverNotSynced, "crash"), (.takeoverOneByteShort, "crash"), (.commitDigestUnchecked, "crash"),
        (.commitMACsUnchecked, "crash"), (.tailNotCut, "crash"), (.incompleteNotKept, "crash"), (.staleWriter, "crash"),
        (.directoryNotSynced, "crash"), (.compactionLosesItem, "crash"), (.nonceReused, "crash"),
        (.unknownOutcomeDenied, "faults"), (.poisonedHandleWrites, "faults"), (.directoryFailureForgotten, "faults"),
        (.temporaryNotRemoved, "faults"), (.staleTemporariesKept, "faults"), (.copyOneByteShort, "faults"),
        (.shortReadAccepted, "faults"), (.interruptedCallFails, "faults"), (.shortWriteAccepted, "disk"), (.failedChangeNotCut, "disk"),
        (.lockNotTaken, "kill"), (.lockNotRechecked, "kill"), (.modeNotKept, "files"), (.linkReplaced, "files"),
        (.hardLinksIgnored, "files"), (.wipeSkipped, "memory"),
    ]
}
