internal import VaultBytes

/// What a compaction did.
public struct CompactionReport: Sendable {
    /// The file's length before.
    public let bytesBefore: UInt64
    /// The file's length after.
    public let bytesAfter: UInt64
}

/// A vault in figures, as its newest commit and its index have it.
public struct Statistics: Sendable {
    /// Items of one compartment.
    public struct Compartment: Sendable {
        /// The access group; empty for the default one.
        public let group: String
        /// When its secrets can be read.
        public let accessibility: Accessibility
        /// The device that it is for, if it is for one only.
        public let device: DeviceID?
        /// How many items it has.
        public let items: Int

        /// By the bytes of the group's name: the numbers of compartments are random.
        static func precedes(_ left: Compartment, _ right: Compartment) -> Bool {
            if left.group.utf8.elementsEqual(right.group.utf8) {
                return left.accessibility.rawValue < right.accessibility.rawValue
            }
            return left.group.utf8.lexicographicallyPrecedes(right.group.utf8)
        }
    }

    /// How many commits there were.
    public let generation: UInt64
    /// How many items there are.
    public let items: UInt64
    /// How many items of each class there are; classes without items are left out.
    public let itemsByClass: [(itemClass: ItemClass, count: Int)]
    /// How many tombstones there are.
    public let tombstones: UInt64
    /// How many earlier values there are.
    public let earlierValues: UInt64
    /// How many earlier values an item keeps.
    public let keptVersions: Int
    /// The compartments of items, also those without any, in the order of their groups; not the owners', which hold
    /// earlier values.
    public let compartments: [Compartment]
    /// The file's length.
    public let fileBytes: UInt64
    /// Bytes that the newest state uses.
    public let liveBytes: UInt64
    /// Bytes that compaction would free.
    public let deadBytes: UInt64
    /// How many levels of pages the index has; 0 if there are no items.
    public let treeHeight: Int
    /// Whether the memory for secrets could be kept from being swapped out.
    public let memoryLocked: Bool
    /// Why a compaction that was due did not happen, if so.
    public let compactionBlocked: String?
}

extension Vault {
    /// Rewrites the file without what is dead: removed secrets, replaced records and pages, and earlier values beyond
    /// the number that is kept. The handle goes on with the new file.
    ///
    /// Throws `cannotReplace` if the file has hard links, or an owner or attributes that a new file cannot be given;
    /// `notPermitted`, `busy`, `noSpace`, `io`.
    @discardableResult
    public func compact() throws(VaultError) -> CompactionReport {
        try withCore { (core) throws(VaultError) in
            try core.writing { () throws(VaultError) in
                let before = core.store.state.commit.end
                try Rebuild.compact(core)
                return CompactionReport(bytesBefore: before, bytesAfter: core.store.state.commit.end)
            }
        }
    }

    /// Keeps a damaged tail in a file beside the vault, `FILE.damaged-G`, and cuts it off, so that the vault can be
    /// changed again. Torn tails and incomplete generations are treated as any change would.
    ///
    /// - Returns: The path of the file that was made; nil if the tail was not damaged.
    public func repair() throws(VaultError) -> String? {
        try withCore { (core) throws(VaultError) in
            try core.requireOwner()
            defer { core.stateChanged() }
            return try core.store.repair(wait: core.lockWait) { () throws(VaultError) in
                try core.refuseReadOnlyExtensions()
            }
        }
    }

    /// Counts what is in the vault; reads the whole index, and no secret.
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
                tombstones: commit.tombstones, earlierValues: commit.versions,
                keptVersions: core.store.keyring.keeping.count,
                compartments: all.sorted(by: Statistics.Compartment.precedes), fileBytes: try core.store.file.size(),
                liveBytes: commit.liveBytes, deadBytes: core.deadBytes,
                treeHeight: commit.root.map { Int($0.level) + 1 } ?? 0, memoryLocked: Secret.isMemoryLocked,
                compactionBlocked: core.compactionBlocked)
        }
    }
}
