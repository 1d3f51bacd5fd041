internal import VaultBytes
internal import VaultCrypto

/// Another copy of the same vault, taken in this one's place.
extension Store {
    /// Replaces the file by the other one up to its newest commit, and goes on with the slot that opened that.
    ///
    /// - Parameter append: Appends what a further commit needs and returns what it says; without it, the file is taken
    ///   byte for byte.
    package func replace(
        byCopyOf other: Store, appending append: ((Appender) throws(VaultError) -> NewState)? = nil
    ) throws(VaultError) {
        guard let vaultKey = other.slot.keys.vaultKey() else {
            throw VaultError(.notPermitted, "only an owner can do this")
        }
        let replacement = Replacement(
            header: other.header, keys: VaultKeys(vaultKey: vaultKey, epoch: other.header.epoch),
            wrappingKey: other.slot.wrappingKey.copy(), slotID: other.slot.id)
        let before = other.state
        try replaceFile(by: replacement) { (file, replacement) throws(VaultError) in
            try file.copy(from: other.file, 0..<before.commit.end)
            guard let append else { return try file.sync() }
            let appender = Appender(unnamed: file, sealing: other.sealing, start: before.commit.end)
            let new = try append(appender)
            let generation = new.generation ?? before.commit.generation + 1
            try requireGeneration(generation)
            try appender.finish { (offset, digest, isSyncedFirst) throws(VaultError) in
                other.codec.seal(
                    Commit(
                        generation: generation, predecessor: before.asPredecessor, offset: offset,
                        start: before.commit.end, clock: new.clock, tombstoneHorizon: new.tombstoneHorizon,
                        wasSyncedFirst: isSyncedFirst, root: new.root, keyring: new.keyring, history: new.history,
                        header: other.headerHash, digest: digest, items: new.items, tombstones: new.tombstones,
                        versions: new.versions, liveBytes: new.liveBytes)
                ).frame
            }
        }
    }
}
