internal import VaultBytes

/// The result of a compaction.
public struct CompactionReport: Sendable {
    /// The file's length before the compaction.
    public let bytesBefore: UInt64
    /// The file's length after the compaction.
    public let bytesAfter: UInt64
}

/// Statistics of a vault, from its newest commit and its index.
public struct Statistics: Sendable {
    /// The items of one compartment.
    public struct Compartment: Sendable {
        /// The access group; empty for the default one.
        public let group: String
        /// The conditions under which the compartment's secrets can be read.
        public let accessibility: Accessibility
        /// The device that the compartment is bound to, if any.
        public let device: DeviceID?
        /// The number of items.
        public let items: Int

        /// Orders compartments by the bytes of the group's name, because the numbers of compartments are random.
        static func precedes(_ left: Compartment, _ right: Compartment) -> Bool {
            if left.group.utf8.elementsEqual(right.group.utf8) {
                return left.accessibility.rawValue < right.accessibility.rawValue
            }
            return left.group.utf8.lexicographicallyPrecedes(right.group.utf8)
        }
    }

    /// The number of commits.
    public let generation: UInt64
    /// The number of items.
    public let items: UInt64
    /// The number of items of each class; classes without items are omitted.
    public let itemsByClass: [(itemClass: ItemClass, count: Int)]
    /// The number of forgotten values that the vault lists.
    public let forgottenValues: UInt64
    /// The number of items that have earlier values, or values that a merge has left to settle.
    public let itemsWithPast: UInt64
    /// The number of earlier values that each field of an item keeps.
    public let keptVersions: Int
    /// The number of replica ids under which the vault was changed; nil if the vector is damaged.
    public let replicas: Int?
    /// The compartments for items, sorted by group, including empty ones but not the owners' compartments, which hold
    /// earlier values.
    public let compartments: [Compartment]
    /// The file's length.
    public let fileBytes: UInt64
    /// The number of bytes that the newest state uses.
    public let liveBytes: UInt64
    /// The number of bytes that compaction would free.
    public let deadBytes: UInt64
    /// The number of levels of the index; 0 if there are no items.
    public let treeHeight: Int
    /// True if the memory for secrets is locked against swapping.
    public let memoryLocked: Bool
    /// The reason why the last due compaction failed, if it did.
    public let compactionBlocked: String?
}

extension Vault {
    /// Rewrites the file without dead objects: removed secrets, and replaced records and pages. All contents of the
    /// vault are preserved. The handle continues with the new file.
    ///
    /// Throws `cannotReplace` if the file has hard links, or an owner or attributes that cannot be set on a new file;
    /// `notPermitted`, `busy`, `noSpace`, `io`.
    ///
    /// - Parameter progress: Called from time to time with the number of items done and the total.
    /// - Returns: The file's length before and after.
    /// - Throws: The errors listed above.
    @discardableResult
    public func compact(
        progress: ((_ done: UInt64, _ total: UInt64) -> Void)? = nil
    ) throws(VaultError) -> CompactionReport {
        try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let before = core.store.state.commit.end
                try Rebuild.compact(core, progress: progress)
                return CompactionReport(bytesBefore: before, bytesAfter: core.store.state.commit.end)
            }
        }
    }

    /// Moves a damaged tail to a file next to the vault, `FILE.damaged-G`, so that the vault can be changed again
    /// . Torn tails and incomplete generations are handled as in any change.
    ///
    /// - Returns: The path of the new file; nil if the tail was not damaged.
    public func repair() throws(VaultError) -> String? {
        try withCore { (core) throws(VaultError) in
            try core.requireOwner()
            defer { core.stateChanged() }
            return try core.store.repair(wait: core.lockWait) { () throws(VaultError) in
                try core.refuseReadOnlyExtensions()
            }
        }
    }

    /// Returns statistics of the vault. This reads the whole index, but no secrets.
    public func statistics() throws(VaultError) -> Statistics {
        try withCore { (core) throws(VaultError) in
            let commit = core.store.state.commit
            var classes: [ItemClass: Int] = [:]
            var compartments: [UInt64: Int] = [:]
            var cursor = ItemCursor(core, Query())
            while let item = try cursor.next() {
                classes[item.key.itemClass, default: 0] += 1
                compartments[item.entry.compartment, default: 0] += 1
            }
            let all = core.store.keyring.compartments.compactMap { info in
                core.view.compartment(info.number).flatMap { compartment -> Statistics.Compartment? in
                    guard !compartment.isOwners else { return nil }
                    return Statistics.Compartment(
                        group: compartment.group.name, accessibility: compartment.accessibility,
                        device: info.isDeviceBound ? DeviceID(info.device) : nil, items: compartments[info.number] ?? 0)
                }
            }
            return Statistics(
                generation: commit.generation, items: commit.items,
                itemsByClass: classes.sorted { $0.key < $1.key }.map { (itemClass: $0.key, count: $0.value) },
                forgottenValues: commit.forgotten, itemsWithPast: commit.pasts,
                keptVersions: core.store.keyring.keeping.count, replicas: try core.replicaCount(),
                compartments: all.sorted(by: Statistics.Compartment.precedes), fileBytes: try core.store.file.size(),
                liveBytes: commit.liveBytes, deadBytes: core.deadBytes,
                treeHeight: commit.root.map { Int($0.level) + 1 } ?? 0, memoryLocked: Secret.isMemoryLocked,
                compactionBlocked: core.compactionBlocked)
        }
    }
}

extension VaultCore {
    /// The number of rows of the vector; nil if the vector is damaged, which does not prevent reading.
    fileprivate func replicaCount() throws(VaultError) -> Int? {
        do throws(VaultError) { return try vector().rows.count } catch {
            guard error.code != .io else { throw error }
            return nil
        }
    }
}
