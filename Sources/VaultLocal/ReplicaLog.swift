internal import VaultBytes
internal import VaultCrypto

/// The log of the replica ids that this machine has used for one vault during one run (section 7.5).
///
/// The file consists of a head, which is durable before the file appears under its name, and of appended entries.
/// Entries are not synced: a power failure can lose entries, but it also ends the run, so the ids are not used again.
struct ReplicaLog {
    /// One id.
    struct Replica: Equatable {
        /// The last revision that this machine made under the id; 0 if there is none yet.
        var last: UInt64 = 0
        /// The last revisions of all changes that this machine made under the id.
        var made: Set<UInt64> = []
        /// True if a change under this id has begun and has neither been committed nor abandoned.
        var isClaimed = false
        /// True if another machine also makes changes under this id.
        var isSplit = false
    }

    /// One entry of the file.
    struct Entry: Equatable {
        enum Kind: UInt64 {
            /// A change under the id begins. Other writers do not use the id until the change ends.
            case claim = 1
            /// The claimed change is about to be committed; the entry contains its last revision.
            case note = 2
            /// The claimed change was abandoned.
            case release = 3
            /// The id has two writers.
            case split = 4
        }

        let kind: Kind
        let id: UInt64
        var revision: UInt64 = 0
        /// The time at which the entry was appended, in milliseconds since 1970.
        var time: UInt64 = 0
    }

    /// The beginning of the file.
    struct Head: Equatable {
        let vault: Bytes16
        let run: MachineRun
        /// The device and inode of the file itself, by which a copy is detected.
        let device: UInt64
        let inode: UInt64
        /// The greatest known revision that this machine made before this run.
        let greatest: UInt64
        /// True if the file system updates the file's times when the file is written.
        var hasTimes = false
    }

    let head: Head
    private let seal: Bytes32
    private(set) var replicas: [UInt64: Replica] = [:]
    /// The ids in the order of their first claims.
    private(set) var order: [UInt64] = []
    private(set) var greatest: UInt64
    private(set) var count = 0
    /// The time at which the last entry was appended, in milliseconds since 1970; 0 if there is none.
    private(set) var last: UInt64 = 0

    static let headSize = 128
    static let entrySize = 32
    /// An entry's first number has its kind in the lowest bits, and its time in the others.
    private static let kindBits: UInt64 = 8
    /// The number of revisions under one id (section 7.5).
    static let mostRevisions = 4096
    /// The maximum number of entries in a file; after that, a new file with new ids is begun.
    static let mostEntries = 1 << 15
    private static let magic: [UInt8] = Array("vfmtRPL2".utf8)

    init(_ head: Head) {
        self.head = head
        seal = Self.seal(of: Self.contents(head))
        greatest = head.greatest
    }

    var isFull: Bool { count >= Self.mostEntries }

    /// Returns whether the id can be continued on a state whose row for the id has this revision (0 if there is no
    /// row).
    func canContinue(_ id: UInt64, from row: UInt64) -> Bool {
        guard let replica = replicas[id], !replica.isClaimed, !replica.isSplit else { return false }
        return replica.last == row && replica.made.count < Self.mostRevisions
    }

    /// Applies an entry; returns false if the entry is not valid at this position.
    mutating func apply(_ entry: Entry) -> Bool {
        guard entry.id != 0 else { return false }
        var replica = replicas[entry.id] ?? Replica()
        switch entry.kind {
        case .claim:
            guard !replica.isClaimed, entry.revision == 0 else { return false }
            if replicas[entry.id] == nil { order.append(entry.id) }
            replica.isClaimed = true
        case .note:
            guard replica.isClaimed, entry.revision > replica.last else { return false }
            replica.isClaimed = false
            replica.last = entry.revision
            replica.made.insert(entry.revision)
            greatest = max(greatest, entry.revision)
        case .release:
            guard replica.isClaimed, entry.revision == 0 else { return false }
            replica.isClaimed = false
        case .split:
            guard replicas[entry.id] != nil, entry.revision == 0 else { return false }
            replica.isSplit = true
        }
        replicas[entry.id] = replica
        count += 1
        last = entry.time
        return true
    }
}

// MARK: bytes

extension ReplicaLog {
    /// Encodes a head; returns 128 bytes.
    static func encode(_ head: Head) -> [UInt8] {
        var out = contents(head)
        out.append(seal(of: out))
        return out
    }

    private static func contents(_ head: Head) -> [UInt8] {
        var out = magic
        out.append(head.vault)
        out.append(head.run.system)
        out.append(u64: UInt64(bitPattern: head.run.difference))
        for number in [head.device, head.inode, head.greatest] { out.append(u64: number) }
        out.append(u64: head.hasTimes ? 1 : 0)
        return out
    }

    /// The hash that protects a head, and binds each entry to the head; the hash is not secret.
    private static func seal(of bytes: [UInt8]) -> Bytes32 { bytes.withUnsafeBytes { Blake2b.hash($0) } }

    /// Reads a head; returns nil if the head is damaged.
    init?(head bytes: [UInt8]) {
        guard bytes.count == Self.headSize, Array(bytes.prefix(Self.magic.count)) == Self.magic else { return nil }
        let span = bytes.span
        var cursor = Cursor(over: Self.magic.count..<bytes.count, of: Cursor(span, at: 0, else: .structureInvalid))
        do throws(FormatError) {
            let vault = try cursor.bytes16(span)
            let system = try cursor.bytes32(span)
            let difference = Int64(bitPattern: try cursor.u64(span))
            let (device, inode, greatest) = (try cursor.u64(span), try cursor.u64(span), try cursor.u64(span))
            let hasTimes = try cursor.u64(span) == 1
            self.init(
                Head(
                    vault: vault, run: MachineRun(system: system, difference: difference), device: device, inode: inode,
                    greatest: greatest, hasTimes: hasTimes))
        } catch { return nil }
        guard Self.encode(head) == bytes else { return nil }
    }

    /// Encodes the entry that will be appended next.
    func encode(_ entry: Entry) -> [UInt8] {
        var out: [UInt8] = []
        let kind = entry.kind.rawValue | entry.time << Self.kindBits
        for number in [kind, entry.id, entry.revision] { out.append(u64: number) }
        out.append(u64: check(out, at: count))
        return out
    }

    private func check(_ bytes: [UInt8], at index: Int) -> UInt64 {
        var hash = Blake2b()
        hash.update(seal)
        hash.update(UInt64(index))
        hash.update(bytes)
        return hash.finish().words.0
    }

    /// Reads the entries that follow those already read; returns false at the first damaged entry.
    mutating func read(_ bytes: [UInt8]) -> Bool {
        let span = bytes.span
        var cursor = Cursor(span, at: 0, else: .structureInvalid)
        while !cursor.isAtEnd {
            do throws(FormatError) {
                let (kind, id, revision) = (try cursor.u64(span), try cursor.u64(span), try cursor.u64(span))
                let time = kind >> Self.kindBits
                guard let kind = Entry.Kind(rawValue: kind & (1 << Self.kindBits - 1)) else { return false }
                let entry = Entry(kind: kind, id: id, revision: revision, time: time)
                let expected = Array(encode(entry).suffix(8))
                var check: [UInt8] = []
                check.append(u64: try cursor.u64(span))
                guard check == expected, apply(entry) else { return false }
            } catch { return false }
        }
        return true
    }
}
