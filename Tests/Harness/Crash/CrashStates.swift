internal import TestSupport

/// Rebuilds what a crash may leave on a disk, at every moment of what was recorded.
///
/// At each moment some writes, truncations and changes of names are not durable yet. Each may have happened or not,
/// whatever became of the others; a write may have happened for some of its 512-byte sectors, the others being as
/// before, zeros, or garbage.
struct CrashStates {
    /// What becomes of one thing that is not durable.
    enum Fate {
        case kept
        case dropped
        /// The sectors that are kept; what the others become.
        case torn((Int) -> Bool, Fill)
    }

    enum Fill: CaseIterable { case old, zeros, garbage }

    private enum Change {
        case write(offset: Int, bytes: [UInt8])
        case truncate(size: Int)
    }

    private struct Pending {
        let inode: Int
        let change: Change
        /// A failed sync has given it up: no later one makes it durable.
        var isLost = false
        /// Kept in its place behind one that is lost.
        var isDurable = false

        var sectors: Int {
            guard case .write(let offset, let bytes) = change else { return 0 }
            return (offset + bytes.count + 511) / 512 - offset / 512
        }

        var isZeros: Bool {
            guard case .write(_, let bytes) = change else { return false }
            return bytes.contentCount == 0
        }
    }

    private var files: [Int: [UInt8]]
    private var names: [String: Int]
    private var pending: [Pending] = []
    private var pendingNames: [[(name: String, inode: Int?)]] = []
    private(set) var allowed: [Int] = []
    /// Whether a sync has failed and lost what it was to bring to the disk.
    private(set) var hasLost = false
    private var numbers: Numbers
    /// How many random states are made at each moment.
    let randoms: Int
    /// One in so many of the torn and garbled states is made.
    let share: Int

    init(start: [String: [UInt8]], numbers: Numbers, randoms: Int, share: Int) {
        let disk = Disk(start)
        files = disk.files
        names = disk.names
        self.numbers = numbers
        self.randoms = randoms
        self.share = share
    }

    // MARK: time

    /// Moves past an event. True if a crash can now leave what it could not before.
    mutating func apply(_ event: Disk.Event) -> Bool {
        switch event {
        case .create(let inode):
            files[inode] = []
            return false
        case .write(let inode, let offset, let bytes):
            pending.append(Pending(inode: inode, change: .write(offset: offset, bytes: bytes)))
            return true
        case .truncate(let inode, let size):
            pending.append(Pending(inode: inode, change: .truncate(size: size)))
            return true
        case .sync(let inode):
            for index in pending.indices where pending[index].inode == inode && !pending[index].isLost {
                pending[index].isDurable = true
            }
            settle()
            return false
        case .lose(let inode):
            hasLost = true
            for index in pending.indices where pending[index].inode == inode && !pending[index].isDurable {
                pending[index].isLost = true
            }
            return false
        case .names(let changes):
            pendingNames.append(changes)
            return true
        case .syncDirectory(let folder):
            // Names change within a folder.
            let isDurable = { (changes: [(name: String, inode: Int?)]) in
                changes.allSatisfy { Disk.folder($0.name) == folder }
            }
            for change in pendingNames.filter(isDurable).flatMap({ $0 }) { names[change.name] = change.inode }
            pendingNames.removeAll(where: isDurable)
            return false
        case .allowed(let states):
            allowed = states
            return true
        }
    }

    /// Durable changes that nothing uncertain comes before are part of the file.
    private mutating func settle() {
        var uncertain: Set<Int> = []
        var rest: [Pending] = []
        for one in pending {
            if one.isDurable, !uncertain.contains(one.inode) {
                Self.apply(one, .kept, to: &files[one.inode, default: []], &numbers)
            } else {
                uncertain.insert(one.inode)
                rest.append(one)
            }
        }
        pending = rest
    }

    private static func apply(_ one: Pending, _ fate: Fate, to file: inout [UInt8], _ numbers: inout Numbers) {
        switch (one.change, fate) {
        case (_, .dropped): break
        case (.truncate(let size), _): file.resize(to: size)
        case (.write(let offset, let bytes), .kept): file.overwrite(at: offset, with: bytes)
        case (.write(let offset, let bytes), .torn(let isKept, let fill)):
            var sector = 0
            var start = offset
            while start < offset + bytes.count {
                let end = min((start / 512 + 1) * 512, offset + bytes.count)
                let part = bytes[start - offset..<end - offset]
                // A sector written with what it holds already stays as it is: sectors are taken to be written whole or
                // not at all.
                if isKept(sector) || file.holds(part, at: start) {
                    file.overwrite(at: start, with: part)
                } else if fill == .zeros {
                    file.overwrite(at: start, with: repeatElement(0, count: part.count))
                } else if fill == .garbage {
                    file.overwrite(at: start, with: numbers.bytes(part.count))
                }
                sector += 1
                start = end
            }
        }
    }

    // MARK: states

    /// Calls `body` with each state that is looked at for this moment. A state is what stands under each name.
    mutating func forEach(_ body: ([String: [UInt8]]) throws -> Void) rethrows {
        let all = [Fate](repeating: .kept, count: pending.count)
        let none = [Fate](repeating: .dropped, count: pending.count)
        let allNames = [Bool](repeating: true, count: pendingNames.count)
        for fates in pending.isEmpty ? [all] : [all, none] {
            try body(state(fates, allNames))
            for names in someNames() { try body(state(fates, names)) }
        }
        for index in pending.indices {
            var fates = all
            fates[index] = .dropped
            if pending.count > 1 { try body(state(fates, allNames)) }
            guard index == pending.count - 1 else { continue }
            for fate in tears(pending[index]) where share == 1 || numbers.chance(share) {
                fates[index] = fate
                try body(state(fates, allNames))
            }
        }
        guard !pending.isEmpty else { return }
        for _ in 0..<randoms { try body(state(randomFates(), allNames.map { _ in numbers.chance(2) })) }
    }

    /// Each prefix of the changed names, and each one missing.
    private func someNames() -> [[Bool]] {
        let count = pendingNames.count
        guard count > 0 else { return [] }
        var out = (0..<count).map { prefix in (0..<count).map { $0 < prefix } }
        if count > 1 { out += (0..<count - 1).map { missing in (0..<count).map { $0 != missing } } }
        return out
    }

    /// Torn at each sector from either side; each sector missing, as zeros or garbage. Of many sectors, some.
    private mutating func tears(_ one: Pending) -> [Fate] {
        let sectors = one.sectors
        guard sectors > 0 else { return [] }
        var places = Array(0..<sectors)
        let most = one.isZeros ? 8 : 80
        if sectors > most { places = (0..<most).map { _ in numbers.below(sectors) } }
        var out: [Fate] = [.torn({ _ in false }, .zeros), .torn({ _ in false }, .garbage)]
        for cut in places where cut > 0 {
            for fill in Fill.allCases { out.append(.torn({ $0 < cut }, fill)) }
            for fill in Fill.allCases { out.append(.torn({ $0 >= cut }, fill)) }
        }
        if sectors > 1 {
            for sector in places { for fill in Fill.allCases { out.append(.torn({ $0 != sector }, fill)) } }
        }
        return out
    }

    private mutating func randomFates() -> [Fate] {
        pending.map { one in
            switch numbers.below(4) {
            case 0: return .kept
            case 1: return .dropped
            default:
                let mask = numbers.next()
                return .torn({ mask >> UInt64($0 % 64) & 1 == 1 }, Fill.allCases[numbers.below(3)])
            }
        }
    }

    private mutating func state(_ fates: [Fate], _ isNamed: [Bool]) -> [String: [UInt8]] {
        var files = files
        for (index, one) in pending.enumerated() {
            Self.apply(one, one.isDurable ? .kept : fates[index], to: &files[one.inode, default: []], &numbers)
        }
        var names = names
        for (index, changes) in pendingNames.enumerated() where isNamed[index] {
            for change in changes { names[change.name] = change.inode }
        }
        return names.mapValues { files[$0] ?? [] }
    }
}

extension [UInt8] {
    /// Its length without the zeros at its end.
    var contentCount: Int {
        withUnsafeBytes { bytes in
            var end = bytes.count
            while end >= 8, bytes.loadUnaligned(fromByteOffset: end - 8, as: UInt64.self) == 0 { end -= 8 }
            while end > 0, bytes[end - 1] == 0 { end -= 1 }
            return end
        }
    }

    fileprivate func holds(_ bytes: ArraySlice<UInt8>, at offset: Int) -> Bool {
        offset + bytes.count <= count && self[offset..<offset + bytes.count] == bytes
    }
}
